"""Local scores: by hand, their invariances, score equivalence, and other programs' numbers."""

import numpy as np
import pandas as pd
import pytest
from helpers.graphs import random_dag
from helpers.networks import ASIA, sample
from helpers.refusals import assert_refused

import fedperi as fp
from fedperi.graph import bits
from fedperi.scores import gaussian_numpy
from fedperi.scores.discrete import DiscreteScore
from fedperi.scores.gaussian import GaussianScore
from fedperi.scores.score import LatticeScore, Score, ScoreCache
from fedperi.tables import summarize

pytestmark = pytest.mark.usefixtures("each_kernel")


def linear_data(rng: np.random.Generator, dag: fp.PDAG, n: int) -> np.ndarray:
    p = len(dag.names)
    weights = dag.adjacency * rng.uniform(0.3, 1.2, (p, p)) * rng.choice([-1, 1], (p, p))
    return rng.standard_normal((n, p)) @ np.linalg.inv(np.eye(p) - weights)


def frame(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(values, columns=[f"X{i}" for i in range(values.shape[1])])


def all_queries(p: int) -> list[tuple[int, int]]:
    return [(i, s) for i in range(p) for s in range(1 << p) if not s >> i & 1]


def test_bic_by_hand() -> None:
    r = 0.6
    score = GaussianScore([[4, 2 * r], [2 * r, 1]], n=50)
    expected = -25 * np.log(1 - r**2) - np.log(50) / 2
    assert score.local([(0, 0), (0, 2), (1, 1)]) == pytest.approx([0, expected, expected])
    assert GaussianScore([[1, r], [r, 1]], n=50, penalty=3).local([(0, 2)]) == pytest.approx(expected - np.log(50))


def test_residual_variances_agree_with_regression() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((200, 6)) @ rng.standard_normal((6, 6))
    score = GaussianScore(np.corrcoef(x.T), n=200)
    z = (x - x.mean(0)) / x.std(0)
    for node, parents in all_queries(6):
        inside = list(bits.members(parents))
        fitted = z[:, inside] @ np.linalg.lstsq(z[:, inside], z[:, node], rcond=None)[0] if inside else 0
        variance = ((z[:, node] - fitted) ** 2).mean()
        expected = -100 * np.log(variance) - len(inside) * np.log(200) / 2
        assert score.local([(node, parents)])[0] == pytest.approx(expected)


def test_a_batch_is_its_single_answers() -> None:
    rng = np.random.default_rng(2)
    score = GaussianScore(np.corrcoef(rng.standard_normal((6, 100))), n=100)
    queries = all_queries(6)
    rng.shuffle(queries)
    assert score.local(queries) == pytest.approx([score.local([q])[0] for q in queries])
    assert len(score.local([])) == 0


def test_differences_agree_with_ges() -> None:
    from ges.scores import GaussObsL0Pen

    rng = np.random.default_rng(3)
    x = linear_data(rng, random_dag(rng, 6, 7), 500)
    theirs = GaussObsL0Pen(x)
    ours = GaussianScore(np.corrcoef(x.T), n=500)
    for node, parents in all_queries(6):
        gap = theirs.local_score(node, set(bits.members(parents))) - theirs.local_score(node, set())
        assert ours.local([(node, parents)])[0] == pytest.approx(gap, abs=1e-6)


def test_invariant_to_shift_scale_and_column_order() -> None:
    rng = np.random.default_rng(4)
    x = linear_data(rng, random_dag(rng, 5, 6), 300)
    base = GaussianScore.of(summarize(frame(x)))
    moved = GaussianScore.of(summarize(frame(x * [1e6, 1e-6, -3, 1, 50] + [1e8, 0, -5, 7, 1e3])))
    queries = all_queries(5)
    assert moved.local(queries) == pytest.approx(base.local(queries), abs=1e-4)
    order = [3, 0, 4, 1, 2]
    shuffled = GaussianScore.of(summarize(frame(x)[[f"X{i}" for i in order]]))
    at = {old: new for new, old in enumerate(order)}
    translated = [(at[i], sum(1 << at[j] for j in bits.members(s))) for i, s in queries]
    assert shuffled.local(translated) == pytest.approx(base.local(queries))


def mixed_table(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Text categories with three and two levels between continuous columns."""
    a = rng.standard_normal(n)
    b = np.where(a + rng.standard_normal(n) > 0.5, "high", np.where(a + rng.standard_normal(n) > -0.5, "mid", "low"))
    c = (b == "high") * 1.0 + rng.standard_normal(n)
    d = np.where(c + rng.standard_normal(n) > 0, "yes", "no")
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d})


def discrete(kind: str) -> Score:
    rng = np.random.default_rng(6)
    table = sample(ASIA, 500, rng)[["smoke", "bronc", "dysp", "xray"]]
    table["extra"] = rng.choice(["u", "v", "w"], 500)
    return DiscreteScore(summarize(table), kind)


@pytest.mark.parametrize(
    "score",
    [
        GaussianScore(np.corrcoef(np.random.default_rng(5).standard_normal((5, 50))), n=50),
        GaussianScore.of(summarize(mixed_table(np.random.default_rng(5), 400))),
        GaussianScore.of(summarize(frame(np.random.default_rng(5).standard_normal((300, 4))), data="nonlinear")),
        discrete("bic"),
        discrete("bdeu"),
    ],
    ids=["gaussian", "mixed", "nonlinear", "bic", "bdeu"],
)
def test_score_equivalence(score: Score) -> None:
    """All members of a Markov equivalence class have the same score."""
    rng = np.random.default_rng(7)
    p = len(score.names)
    cache = ScoreCache(score)
    for _ in range(40):
        members = list(fp.members(fp.cpdag(random_dag(rng, p, p))))
        totals = [cache.total(bits.columns(member.adjacency)) for member in members]
        assert totals == pytest.approx([totals[0]] * len(totals))


@pytest.mark.parametrize("kind", ["linear", "mixed", "nonlinear", "bic", "few rows"])
def test_lattices_are_their_single_answers(kind: str) -> None:
    rng = np.random.default_rng(13)
    score: LatticeScore = {  # type: ignore[assignment]
        "linear": lambda: GaussianScore(np.corrcoef(rng.standard_normal((5, 50))), n=50),
        "mixed": lambda: GaussianScore.of(summarize(mixed_table(rng, 400))),
        "nonlinear": lambda: GaussianScore.of(summarize(frame(rng.standard_normal((300, 4))), data="nonlinear")),
        "bic": lambda: discrete("bic"),
        "few rows": lambda: GaussianScore.of(summarize(frame(rng.standard_normal((6, 5))))),
    }[kind]()
    p = len(score.names)
    nodes = np.arange(p)
    candidates = np.array([rng.permutation([j for j in range(p) if j != i])[:3] for i in range(p)])
    lattice = score.lattice(nodes, candidates)
    for i in range(p):
        sets = [sum(1 << int(c) for t, c in enumerate(candidates[i]) if index >> t & 1) for index in range(8)]
        assert lattice[i] == pytest.approx(score.local([(i, s) for s in sets]))
    assert score.lattice(nodes, np.zeros((p, 0), dtype=int)).shape == (p, 1)


def test_mixed_blocks_count_their_parameters() -> None:
    statistics = summarize(mixed_table(np.random.default_rng(8), 500))
    score = GaussianScore.of(statistics)
    b, a = statistics.names.index("b"), statistics.names.index("a")
    columns = [*statistics.blocks[a], *statistics.blocks[b]]
    gram = statistics.correlation[np.ix_(columns, columns)]
    gain = -250 * (np.log(np.linalg.det(gram)) - np.log(np.linalg.det(gram[1:, 1:])))
    value = score.local([(b, 1 << a)])[0] - score.local([(b, 0)])[0]
    assert value == pytest.approx(gain - 2 * 1 / 2 * np.log(500))


def test_discrete_by_hand() -> None:
    table = pd.DataFrame({"a": list("xxyyy"), "b": list("uvuuu")})
    bic = DiscreteScore(summarize(table), "bic")
    # a: 2 x, 3 y; given b=u: 1 x, 3 y; given b=v: 1 x
    alone = 2 * np.log(2 / 5) + 3 * np.log(3 / 5) - np.log(5) / 2
    given = 1 * np.log(1 / 4) + 3 * np.log(3 / 4) - 2 * np.log(5) / 2
    assert bic.local([(0, 0), (0, 2)]) == pytest.approx([alone, given])


def test_discrete_agrees_with_causallearn() -> None:
    from causallearn.score.LocalScoreFunction import local_score_BDeu

    rng = np.random.default_rng(9)
    table = sample(ASIA, 300, rng)[["smoke", "lung", "bronc", "dysp", "xray"]]
    codes = table.apply(lambda c: (c == "yes").astype(int)).to_numpy()
    ours = DiscreteScore(summarize(table), "bdeu")
    # Theirs carries a structure prior (one expected parent), which ours leaves to the search.
    for node in range(5):
        for parents in ([], [(node + 1) % 5], [(node + 1) % 5, (node + 3) % 5]):
            prior = len(parents) * np.log(1 / 4) + (4 - len(parents)) * np.log(3 / 4)
            value = ours.local([(node, sum(1 << j for j in parents))])[0]
            assert value == pytest.approx(float(local_score_BDeu(codes, node, parents)) - prior, abs=1e-6)


def test_many_parents_of_many_levels_do_not_overflow() -> None:
    rng = np.random.default_rng(10)
    table = pd.DataFrame({f"v{i}": rng.integers(0, 10, 400).astype(str) for i in range(40)})
    counts = summarize(table)
    everyone = (1 << 40) - 2
    for kind in ("bic", "bdeu"):
        value = DiscreteScore(counts, kind).local([(0, everyone), (0, 0)])
        assert np.isfinite(value).all()
        # By hand: every row has a parent configuration of its own, where BDeu leaves a uniform guess of 10 levels.
        assert value[0] < value[1] if kind == "bic" else value[0] == pytest.approx(400 * np.log(1 / 10))


def test_more_parameters_than_rows_score_minus_infinity() -> None:
    rng = np.random.default_rng(11)
    score = GaussianScore.of(summarize(frame(rng.standard_normal((5, 8)))))
    values = score.local([(0, 0b10), (0, 0b11111110), (0, 0b11110)])
    assert np.isfinite(values[0])
    assert values[1] == -np.inf
    assert not np.isnan(values).any()


@pytest.mark.parametrize("parents", [0b110, 0b1110, 0b10])
def test_exact_collinearity_is_an_error_that_names_the_columns(parents: int) -> None:
    rng = np.random.default_rng(12)
    x = rng.standard_normal((100, 4))
    x[:, 0] = 2 * x[:, 1] - (x[:, 2] if parents != 0b10 else 0)
    score = GaussianScore.of(summarize(frame(x), name="north"))
    with pytest.raises(fp.InputError) as caught:
        score.local([(3, 0), (0, parents)])
    assert "X0" in str(caught.value)
    assert "at site 'north' are exactly collinear" in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianScore([[1, 2, 3]], 10), "the covariance must be a square matrix; got 1 x 3"),
        (lambda: GaussianScore([[1, np.nan], [np.nan, 1]], 10), "the covariance holds values that are not finite"),
        (lambda: GaussianScore([[1, 0.5], [0.1, 1]], 10), "the covariance is not symmetric"),
        (
            lambda: GaussianScore([[1, 0], [0, 0]], 10, site="a"),
            "the covariance at site 'a' has a variance that is not positive, in row 1",
        ),
        (lambda: GaussianScore([[1]], 1), "a score needs more than one row; got n = 1"),
        (lambda: GaussianScore([[1]], 10, penalty=-1), "penalty must be zero or positive, not -1"),
        (lambda: GaussianScore([[1]], 10, ["a", "b"]), "2 names for 1 variables"),
        (lambda: discrete("aic"), "a discrete score is 'bdeu' or 'bic', not 'aic'"),
    ],
)
def test_bad_input(make: object, message: str) -> None:
    assert_refused(lambda: make(), message)


def test_one_more_parent_is_scored_as_if_asked_alone() -> None:
    rng = np.random.default_rng(8)
    for _ in range(200):
        p, n = int(rng.integers(2, 9)), int(rng.choice([10, 40, 1000]))
        x = rng.standard_normal((1000, p)) @ rng.standard_normal((p, p))
        wide = p > 3 and rng.random() < 0.3
        blocks = [[0, 1], *([i] for i in range(2, p))] if wide else None
        score = GaussianScore(np.corrcoef(x.T), n, blocks=blocks)
        count = p - 1 if wide else p
        node = int(rng.integers(count))
        parents = int(rng.integers(1 << count)) & ~(1 << node)
        others = np.array([j for j in range(count) if j != node and not parents >> j & 1], dtype=np.int64)
        expected = score.local([(node, parents | 1 << j) for j in others.tolist()])
        np.testing.assert_allclose(score.with_one_more(node, parents, others), expected, rtol=1e-9, atol=1e-7)


def test_parents_that_come_and_go_are_scored_as_if_asked_alone() -> None:
    rng = np.random.default_rng(9)
    for _ in range(100):
        p, n = int(rng.integers(2, 9)), int(rng.choice([6, 10, 40, 1000]))
        x = rng.standard_normal((1000, p)) @ rng.standard_normal((p, p))
        wide = p > 3 and rng.random() < 0.3
        blocks = [[1, 0], *([i] for i in range(2, p))] if wide else [[int(i)] for i in rng.permutation(p)]
        score = GaussianScore(np.corrcoef(x.T), n, blocks=blocks)
        node, parents = int(rng.integers(len(blocks))), 0
        others = [j for j in range(len(blocks)) if j != node]
        flips = score.flips()[node]
        for _ in range(12):
            found = flips.scores()
            assert found[node] == -np.inf
            expected = score.local([(node, parents ^ 1 << j) for j in others])
            np.testing.assert_allclose(found[others], expected, rtol=1e-9, atol=1e-7)
            other = int(rng.choice(others))
            flips.flip(other)
            parents ^= 1 << other


def test_a_parent_that_is_a_copy_is_named_while_parents_change() -> None:
    together = np.array([[1, 0.5, 0.5, 0.2], [0.5, 1, 1, 0.3], [0.5, 1, 1, 0.3], [0.2, 0.3, 0.3, 1.0]])
    flips = GaussianScore(together, 100, ["a", "b", "copy", "d"]).flips()[0]
    flips.flip(1)
    with pytest.raises(fp.InputError, match="the columns b, copy, a are exactly collinear"):
        flips.scores()


@pytest.mark.parametrize("cells", [1, 1 << 6, 1 << 17])
def test_extremes_are_those_of_the_lattice(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaussian_numpy, "LATTICE_CELLS", cells)
    rng = np.random.default_rng(10)
    for _ in range(100):
        p, n = int(rng.integers(3, 9)), int(rng.choice([12, 40, 1000]))
        x = rng.standard_normal((1000, p)) @ rng.standard_normal((p, p))
        blocks = [[0, 1], *([i] for i in range(2, p))] if rng.random() < 0.2 else [[i] for i in range(p)]
        score = GaussianScore(np.corrcoef(x.T), n, blocks=blocks)
        size = int(rng.integers(0, len(blocks)))
        rows: list[list[int]] = []  # runs with the same node and set, of any length; each row is [node, *set, last]
        while len(rows) < 12:
            order = rng.permutation(len(blocks)).tolist()
            inside, others = order[: 1 + max(0, size - 1)], order[1 + max(0, size - 1) :]
            rows += [[*inside, other] for other in others[: int(rng.integers(1, 9))]] if size else [inside]
        table = np.array(rows)
        lattice = score.lattice(table[:, 0], table[:, 1:])
        expected = lattice[:, 0], lattice[:, -1], lattice.max(axis=1)
        for found, one in zip(score.extremes(table[:, 0], table[:, 1:]), expected, strict=True):
            np.testing.assert_allclose(found, one, rtol=1e-9, atol=1e-7)


def test_a_whole_set_that_is_collinear_is_named() -> None:
    together = np.array([[1, 0.5, 0.5, 0.2], [0.5, 1, 1, 0.3], [0.5, 1, 1, 0.3], [0.2, 0.3, 0.3, 1.0]])
    score = GaussianScore(together, 100, ["a", "b", "copy", "d"])
    with pytest.raises(fp.InputError, match="the columns b, copy, a are exactly collinear"):
        score.extremes(np.array([0, 0]), np.array([[1, 3], [1, 2]]))


def test_one_more_parent_that_is_a_copy_is_named() -> None:
    together = np.array([[1, 0.5, 0.5, 0.2], [0.5, 1, 1, 0.3], [0.5, 1, 1, 0.3], [0.2, 0.3, 0.3, 1.0]])
    score = GaussianScore(together, 100, ["a", "b", "copy", "d"])
    with pytest.raises(fp.InputError, match="the columns b, copy, a are exactly collinear"):
        score.with_one_more(0, 0b0010, np.array([2, 3]))
