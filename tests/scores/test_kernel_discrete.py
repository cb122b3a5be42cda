"""Scores of categories: by definition, the same in compiled loops and with numpy, at the edges of what floats hold."""

import math
import threading
from collections import Counter
from typing import Any

import mpmath
import numpy as np
import pytest
from helpers.kernels import both, loops, needs_loops
from hypothesis import given, settings
from hypothesis import strategies as st

import fedperi as fp
from fedperi.discovery.ges.ges import ges_fit
from fedperi.discovery.optimum import hill_climb
from fedperi.graph import bits
from fedperi.scores import _kernel as kernel
from fedperi.scores.discrete import DiscreteScore
from fedperi.scores.score import AddingScore, FlippingScore, FlipsByQueries, ScoreCache, flips
from fedperi.tables.counts import Counts, distinct_rows


def table_of(codes: np.ndarray, weights: np.ndarray, sizes: list[int]) -> Counts:
    rows, counts = distinct_rows(codes, weights, tuple(sizes))
    levels = tuple(tuple(map(str, range(size))) for size in sizes)
    return Counts(tuple(f"v{i}" for i in range(len(sizes))), levels, rows, counts, int(counts.sum()))


def random_table(rng: np.random.Generator, p: int, most_levels: int, most_rows: int, most_count: int) -> Counts:
    """Levels that do not occur, variables of one level, copies of others, rows that occur more than once."""
    sizes = rng.integers(1, most_levels + 1, p)
    used = np.array([rng.integers(1, size + 1) for size in sizes])
    codes = rng.integers(0, used, (rng.integers(1, most_rows + 1), p))
    for variable in range(1, p):
        if rng.random() < 0.4:
            source = rng.integers(variable)
            copied = rng.random(len(codes)) < rng.random()
            codes[copied, variable] = codes[copied, source] % used[variable]
    return table_of(codes, rng.integers(1, most_count + 1, len(codes)), sizes.tolist())


@st.composite
def scores(draw: st.DrawFn, most_levels: int = 6, most_count: int = 5) -> tuple[DiscreteScore, np.random.Generator]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p = draw(st.integers(1, 9))
    rows = draw(st.sampled_from([3, 20, 150]))
    return random_score(rng, random_table(rng, p, most_levels, rows, most_count)), rng


def random_score(rng: np.random.Generator, table: Counts) -> DiscreteScore:
    if rng.random() < 0.5:
        return DiscreteScore(table, "bic", penalty=float(rng.choice([0.0, 0.5, 1.0, 3.0])))
    return DiscreteScore(table, "bdeu", equivalent_sample_size=float(rng.choice([1e-3, 1.0, 7.5, 1e3])))


def by_definition(score: DiscreteScore, node: int, parents: int) -> float:
    """One factor of the likelihood after the other."""
    inside = list(bits.members(parents))
    cells: Counter[tuple[tuple[int, ...], int]] = Counter()
    totals: Counter[tuple[int, ...]] = Counter()
    for row, count in zip(score._rows.tolist(), score._times.tolist(), strict=True):
        given_ = tuple(row[j] for j in inside)
        cells[given_, row[node]] += count
        totals[given_] += count
    configurations, size = math.prod(score._sizes[j] for j in inside), score._sizes[node]
    if score._kind == "bic":
        fit = sum(c * math.log(c / totals[given_]) for (given_, _), c in cells.items())
        return fit - score._price * configurations * (size - 1)  # type: ignore[no-any-return]

    def rising(count: int, shares: int) -> float:
        first = math.log(score._prior) - math.log(shares)
        return first + math.fsum(math.log(score._prior / shares + i) for i in range(1, count))

    row_by_row = math.fsum(rising(total, configurations) for total in totals.values())
    return math.fsum(rising(count, configurations * size) for count in cells.values()) - row_by_row


def assert_close(found: object, expected: object) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-8)  # type: ignore[call-overload]


# -- the definition ----------------------------------------------------------------------------------------------------


@given(scores(), st.data())
def test_single_answers_are_by_definition(
    drawn: tuple[DiscreteScore, np.random.Generator], data: st.DataObject
) -> None:
    score, rng = drawn
    p = len(score.names)
    queries = [(int(rng.integers(p)), int(rng.integers(1 << p))) for _ in range(4)]  # a node may be its own parent
    expected = [by_definition(score, *query) for query in queries]
    for found in both(lambda: score.local(queries)):
        assert_close(found, expected)


@given(scores(), st.integers(0, 8))
@settings(max_examples=400)
def test_lattices_are_by_definition(drawn: tuple[DiscreteScore, np.random.Generator], m: int) -> None:
    score, rng = drawn
    p = len(score.names)
    m = min(m, p - 1)
    shared = rng.permutation(p)
    rows = [shared, *(np.append(shared[:m], other) for other in shared[m:]), rng.permutation(p)]  # runs, and others
    nodes, candidates = np.array([row[0] for row in rows]), np.array([row[1:][:m] for row in rows], dtype=np.int64)
    compiled, plain = both(lambda: score.lattice(nodes, candidates))
    assert_close(compiled, plain)
    assert compiled.shape == (len(rows), 1 << m)
    for row, node in enumerate(nodes.tolist()):
        for index in rng.integers(0, 1 << m, 3).tolist():
            parents = sum(1 << int(c) for t, c in enumerate(candidates[row]) if index >> t & 1)
            assert_close(compiled[row, index], by_definition(score, node, parents))
    for one, other in zip(*both(lambda: score.extremes(nodes, candidates)), strict=True):
        assert_close(one, other)


@given(scores())
@settings(max_examples=400)
def test_candidates_may_be_there_twice(drawn: tuple[DiscreteScore, np.random.Generator]) -> None:
    score, rng = drawn
    p = len(score.names)
    nodes, candidates = rng.integers(0, p, 3), rng.integers(0, p, (3, int(rng.integers(0, 7))))
    assert_close(*both(lambda: score.lattice(nodes, candidates)))


@given(scores(most_levels=60, most_count=2000))
@settings(max_examples=400)
def test_many_levels_and_large_counts(drawn: tuple[DiscreteScore, np.random.Generator]) -> None:
    """More combinations of levels than can be numbered, and counts beyond the tables."""
    score, rng = drawn
    p = len(score.names)
    node, *others = rng.permutation(p).tolist()
    queries = [(node, int(rng.integers(1 << p))) for _ in range(4)]
    assert_close(*both(lambda: score.local(queries)))
    candidates = np.array([others[:6]], dtype=np.int64)
    assert_close(*both(lambda: score.lattice(np.array([node]), candidates)))
    assert_close(score.local(queries[:1])[0], by_definition(score, *queries[0]))


@needs_loops
def test_more_pairs_than_numbers() -> None:
    """Rows are numbered as they occur, level by level, in lattices and for single sets; also where all rows differ."""
    rng = np.random.default_rng(5)
    for rows, size in ((3000, 40), (3000, 3000), (300, 7)):
        codes = rng.integers(0, size, (rows, 9))
        codes[:, 0] = np.arange(rows) % size
        table = table_of(codes, rng.integers(1, 4, rows), [size] * 9)
        for score in (DiscreteScore(table), DiscreteScore(table, "bic", penalty=0.1)):
            queries = [(node, int(rng.integers(1 << 9)) & ~(1 << node)) for node in range(9)]
            assert_close(*both(lambda: score.local(queries)))  # noqa: B023
            nodes, candidates = np.array([0, 0, 8]), np.array([[1, 2, 3, 4, 5], [1, 2, 3, 4, 6], [0, 1, 2, 3, 4]])
            assert_close(*both(lambda: score.lattice(nodes, candidates)))  # noqa: B023
            assert_close(*both(lambda: score.with_one_more(2, 0b1000_0011, np.array([3, 4, 8]))))  # noqa: B023


# -- changes of one parent ---------------------------------------------------------------------------------------------


@given(scores())
@settings(max_examples=300)
def test_changes_of_one_parent_are_single_answers(drawn: tuple[DiscreteScore, np.random.Generator]) -> None:
    score, rng = drawn
    p = len(score.names)
    assert isinstance(score, FlippingScore) and isinstance(score, AddingScore)
    node, parents = int(rng.integers(p)), 0
    followed = flips(score)[node]
    assert not isinstance(followed, FlipsByQueries)
    others = [j for j in range(p) if j != node]
    for _ in range(4):
        expected = [-np.inf if j == node else score.local([(node, parents ^ 1 << j)])[0] for j in range(p)]
        for found in both(followed.scores):
            assert_close(found, expected)
        more = rng.permutation(others).astype(np.int64)
        expected = score.local([(node, parents | 1 << j) for j in more.tolist()])  # type: ignore[assignment]  # some are parents already
        for found in both(lambda: score.with_one_more(node, parents, more)):  # noqa: B023
            assert_close(found, expected)
        outside = more[[not parents >> j & 1 for j in more.tolist()]] if len(more) else more
        expected = score.local([(node, parents | 1 << j) for j in outside.tolist()])  # type: ignore[assignment]
        for found in both(lambda: score.with_one_more(node, parents, outside)):  # noqa: B023
            assert_close(found, expected)
        if not others:
            break
        other = int(rng.choice(others))
        parents ^= 1 << other
        followed.flip(other)


@needs_loops
def test_searches_end_at_the_same_graph() -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        table = random_table(rng, int(rng.integers(1, 10)), 4, 300, 3)
        for score in (DiscreteScore(table), DiscreteScore(table, "bic")):
            climbed, by_numpy = both(lambda: hill_climb(score))  # noqa: B023
            assert climbed == by_numpy
            compiled, plain = both(lambda: ges_fit(score))  # noqa: B023
            assert compiled.graph == plain.graph
            assert ScoreCache(score).total(climbed) == pytest.approx(sum(score.local(list(enumerate(climbed)))))


@needs_loops
@pytest.mark.parametrize("method", [fp.IPERI(), fp.PERI(), fp.IPERI(masking="consensus")])
def test_runs_find_the_same_graph(method: fp.IPERI) -> None:
    for p, levels, seed in ((5, 2, 0), (8, 3, 1), (14, 3, 2), (20, 4, 3)):
        sim = fp.simulate(p, clients=3, samples=400, discretize=levels, seed=seed)
        compiled, plain = both(lambda: method.fit(sim.sites))  # noqa: B023
        assert (compiled.graph, compiled.queries) == (plain.graph, plain.queries)
        assert compiled.dag == plain.dag
        for site, regret in compiled.regrets.items():
            assert regret == pytest.approx(plain.regrets[site], abs=1e-6)


# -- at the edges of what floats hold ----------------------------------------------------------------------------------


def exact_bdeu(counts: list[int], prior: float) -> float:
    """Of one variable without parents, with 60 digits."""
    with mpmath.workdps(60):
        row, cell = mpmath.mpf(prior), mpmath.mpf(prior) / len(counts)
        found = mpmath.loggamma(row) - mpmath.loggamma(row + sum(counts))
        return float(found + sum(mpmath.loggamma(cell + c) - mpmath.loggamma(cell) for c in counts if c))


MAGNITUDES = [1, 2, 5, 63, 64, 65, 126, 127, 128, 129, 130, 200, 1000, 12345, 10**6, 10**9, 10**12]
PRIORS = [5e-324, 1e-310, 1e-300, 1e-100, 1e-12, 1e-3, 0.5, 1.0, 2.0, 10.0, 127.5, 1e3, 1e6, 1e9, 1e15]


@pytest.mark.parametrize("prior", PRIORS)
def test_gammas_of_all_magnitudes(prior: float) -> None:
    for first in MAGNITUDES:
        for second in (0, 1, 77, 128, 10**5):
            counts = [c for c in (first, second) if c]
            table = table_of(np.arange(len(counts))[:, None], np.array(counts), [2])
            score = DiscreteScore(table, equivalent_sample_size=prior)
            expected = exact_bdeu([first, second], prior)
            compiled, plain = both(lambda: score.local([(0, 0)])[0])  # noqa: B023
            scale = sum(counts) * (1 + abs(math.log(prior)))
            if kernel.kind() == "compiled":
                assert compiled == pytest.approx(expected, rel=1e-13, abs=1e-13 * (800 + scale))
            # Without loops gammas of about the prior itself are subtracted: large priors lose digits.
            lost = max(prior, 1) * (1 + abs(math.log(max(prior, 1))))
            assert plain == pytest.approx(expected, rel=1e-12, abs=1e-12 * (800 + scale) + 1e-14 * lost)


def test_priors_that_no_float_holds() -> None:
    """Of more configurations than a float can count, the logarithm is still known."""
    rng = np.random.default_rng(10)
    p, size, rows = 400, 10, 60
    table = table_of(rng.integers(0, size, (rows, p)), np.ones(rows, dtype=np.int64), [size] * p)
    everyone = (1 << p) - 2
    sets = [everyone, everyone & ~2, (1 << 301) - 2, (1 << 320) - 2, 0]
    for found in both(lambda: DiscreteScore(table).local([(0, parents) for parents in sets])):
        # All rows differ in their parents: each leaves a uniform guess of 10 levels.
        assert_close(found[:-1], [rows * math.log(1 / size)] * 4)
    for found in both(lambda: DiscreteScore(table, "bic").local([(0, parents) for parents in sets])):
        assert np.isneginf(found).tolist() == [True, True, False, True, False]  # priced out
    for found in both(lambda: DiscreteScore(table, "bic", penalty=0).local([(0, parents) for parents in sets])):
        assert_close(found[:-1], [0.0] * 4)
    # Two rows that agree in all parents: (row prior / 10)^2 / row prior is smaller by many orders.
    codes = np.zeros((2, p), dtype=np.int64)
    codes[:, 0] = 0, 1
    twins = DiscreteScore(table_of(codes, np.array([3, 1]), [size] * p))
    row = -(p - 1) * math.log(size)
    expected = 2 * (row - math.log(size)) + math.log(2) - row - math.log(6)
    for found in both(lambda: twins.local([(0, everyone)])):
        assert_close(found, [expected])
    for found in both(lambda: twins.flips()[0].scores()[1:]):
        assert np.isfinite(found).all()


def test_a_variable_of_one_level_costs_nothing() -> None:
    rng = np.random.default_rng(3)
    table = table_of(rng.integers(0, 10, (50, 400)) * (np.arange(400) > 0), np.ones(50, int), [1, *[10] * 399])
    for kind in ("bic", "bdeu"):
        score = DiscreteScore(table, kind)
        for found in both(lambda: score.local([(0, 0), (0, 0b110), (0, (1 << 400) - 2)])):  # noqa: B023
            assert_close(found, [0.0] * 3)


@pytest.mark.parametrize("size", [0.0, -1.0, math.nan, math.inf])
def test_a_prior_is_positive_and_finite(size: float) -> None:
    with pytest.raises(fp.InputError, match="equivalent_sample_size must be positive and finite"):
        DiscreteScore(table_of(np.zeros((1, 1), int), np.ones(1, int), [2]), equivalent_sample_size=size)


def test_nothing_asked_is_nothing_answered() -> None:
    score = random_score(np.random.default_rng(0), random_table(np.random.default_rng(0), 3, 3, 10, 2))
    none = np.zeros(0, dtype=np.int64)
    for found in both(lambda: [score.local([]), score.with_one_more(0, 0, none)]):
        assert [len(one) for one in found] == [0, 0]
    for found in both(lambda: score.lattice(none, np.zeros((0, 3), dtype=np.int64))):  # type: ignore[assignment]
        assert found.shape == (0, 8)  # type: ignore[attr-defined]


@needs_loops
def test_threads_share_a_table() -> None:
    rng = np.random.default_rng(1)
    score = DiscreteScore(random_table(rng, 9, 4, 500, 3))
    nodes, candidates = np.arange(9), np.array([[j for j in range(9) if j != i] for i in range(9)])
    expected, found = score.lattice(nodes, candidates).tolist(), []
    threads = [
        threading.Thread(target=lambda: found.append(score.lattice(nodes, candidates).tolist())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


# -- what loops refuse -------------------------------------------------------------------------------------------------

CODES, COUNTS, LEVELS = np.array([[0, 1], [1, 0]]), np.array([2, 3]), np.array([2, 3])


@needs_loops
@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (([[0, 1]], COUNTS, LEVELS), TypeError, "bytes-like"),
        ((CODES.astype(np.int32), COUNTS, LEVELS), TypeError, "type 'i'"),
        ((CODES, COUNTS.astype(float), LEVELS), TypeError, "type 'd'"),
        ((CODES[:, ::2], COUNTS, LEVELS), ValueError, "contiguous"),
        ((CODES[0], COUNTS, LEVELS), ValueError, "shape"),
        ((CODES, COUNTS[:1].copy(), LEVELS), ValueError, "shape"),
        ((CODES, COUNTS, np.array([2, 3, 4])), ValueError, "shape"),
        ((CODES, COUNTS, np.array([2, 1])), ValueError, "codes from 0"),
        ((CODES - 1, COUNTS, LEVELS), ValueError, "codes from 0"),
        ((CODES, np.array([0, 3]), LEVELS), ValueError, "positive counts"),
        ((CODES, np.array([-2, 3]), LEVELS), ValueError, "positive counts"),
        ((CODES, np.array([2**62, 2**62]), LEVELS), ValueError, "positive counts"),
        ((CODES, np.array([2**63 - 1, 2**63 - 1]), LEVELS), ValueError, "positive counts"),
        ((CODES[:0], COUNTS[:0], np.array([0, 2])), ValueError, "codes from 0"),
        ((CODES, COUNTS, np.array([2**62, 2])), MemoryError, "^$"),
    ],
)
def test_tables_that_loops_refuse(arguments: tuple[Any, ...], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        loops.discrete(*arguments)


@needs_loops
def test_questions_that_loops_refuse() -> None:
    table = loops.discrete(CODES, COUNTS, LEVELS)
    ints, one = (lambda *some: np.array(some, dtype=np.int64)), np.empty(1)
    loops.discrete_scores(table, 1.0, 0.0, ints(0), ints(0, 1), ints(1), one)
    for nodes, first, parents in (
        (ints(2), ints(0, 1), ints(1)),
        (ints(-1), ints(0, 1), ints(1)),
        (ints(0), ints(0, 1), ints(2)),
        (ints(0), ints(0, 1), ints(-1)),
        (ints(0), ints(0, 2), ints(1)),
        (ints(0), ints(-1, 1), ints(1)),
        (ints(0), ints(1, 0), ints(1)),
    ):
        with pytest.raises(IndexError):
            loops.discrete_scores(table, 1.0, 0.0, nodes, first, parents, one)
    with pytest.raises(ValueError, match="shape"):
        loops.discrete_scores(table, 1.0, 0.0, ints(0), ints(0), ints(1), one)
    with pytest.raises(ValueError, match="shape"):
        loops.discrete_scores(table, 1.0, 0.0, ints(0), ints(0, 1), ints(1), np.empty(2))
    for node, parents, others in (
        (2, ints(), ints(1)),
        (-1, ints(), ints(1)),
        (0, ints(2), ints(1)),
        (0, ints(), ints(2)),
    ):
        with pytest.raises(IndexError):
            loops.discrete_flips(table, 1.0, 0.0, node, parents, others, one)
    with pytest.raises(ValueError, match="shape"):
        loops.discrete_flips(table, 1.0, 0.0, 0, ints(), ints(1), np.empty(2))
    for nodes, candidates in ((ints(2), ints(1)), (ints(0), ints(2)), (ints(-1), ints(1)), (ints(0), ints(-1))):
        with pytest.raises(IndexError):
            loops.discrete_lattices(table, 1.0, 0.0, nodes, candidates[None], np.empty((1, 2)))
    with pytest.raises(ValueError, match="shape"):
        loops.discrete_lattices(table, 1.0, 0.0, ints(0), ints(1)[None], np.empty((1, 4)))
    with pytest.raises(ValueError, match="shape"):
        loops.discrete_lattices(table, 1.0, 0.0, ints(0, 1), ints(1)[None], np.empty((1, 2)))
    with pytest.raises(ValueError, match="at most 30 candidates"):
        loops.discrete_lattices(table, 1.0, 0.0, ints(0), np.zeros((1, 31), dtype=np.int64), np.empty((1, 2)))
    for ask in (loops.discrete_scores, loops.discrete_lattices):
        with pytest.raises((ValueError, TypeError)):
            ask("no table", 1.0, 0.0, ints(0), ints(1)[None], np.empty((1, 2)))


@needs_loops
def test_loops_accept_an_empty_table() -> None:
    table = loops.discrete(CODES[:0], COUNTS[:0], LEVELS)
    out = np.empty((1, 2))
    loops.discrete_lattices(table, 1.0, 0.0, np.array([0]), np.array([[1]]), out)
    assert out.tolist() == [[0.0, 0.0]]
    loops.discrete_scores(table, 1.0, 0.0, np.array([0]), np.array([0, 1]), np.array([1]), out[0, :1])
    assert out[0, 0] == 0.0
    loops.discrete(np.zeros((3, 0), dtype=np.int64), np.ones(3, dtype=np.int64), np.zeros(0, dtype=np.int64))


@needs_loops
def test_loops_accept_any_score_parameters() -> None:
    """A prior or a price that is no number, or no sane one, gives what the formulas give, in every cell."""
    table = random_table(np.random.default_rng(2), 6, 4, 50, 300)
    levels = np.array([len(levels) for levels in table.levels])
    made = loops.discrete(table.codes, table.counts, levels)

    def lattice(prior: float, price: float) -> np.ndarray:
        out: np.ndarray = np.full((1, 32), 7.0)  # no log score is positive
        assert loops.discrete_lattices(made, prior, price, np.array([0]), np.array([[1, 2, 3, 4, 5]]), out)
        return out.reshape(-1)

    # A prior that is not above zero means BIC, where only the price counts; with one above zero it does not.
    assert lattice(math.nan, 1.0).tolist() == lattice(0.0, 1.0).tolist()
    assert lattice(1.0, math.nan).tolist() == lattice(1.0, 0.0).tolist()
    parameters = [(levels[0] - 1) * math.prod(levels[1 + t] for t in range(5) if at >> t & 1) for at in range(32)]
    assert_close(lattice(0.0, -1.0), lattice(0.0, 0.0) + parameters)
    assert np.isneginf(lattice(0.0, math.inf)).all()
    assert np.isnan(lattice(math.inf, 0.0)).all()
