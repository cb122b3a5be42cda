"""Probabilities of edges: sums over all DAGs against a list of all DAGs, and samples against sums."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from math import log

import numpy as np
import pytest
from helpers.kernels import both, needs_loops
from helpers.kernels import loops as compiled
from numpy.typing import NDArray

import fedperi as fp
from fedperi.graph import bits
from fedperi.scores.lattice import subset_sizes
from fedperi.search.chains import SIZES, Chain, tables
from fedperi.search.layers import LN2_HIGH, LN2_LOW, NO_POWER, add_subsets, add_supersets, two_to, weights
from fedperi.search.posterior import MOST_EXACT, Lattice, best_under, exact_posterior, sampled_posterior

Floats = NDArray[np.float64]


def is_acyclic(parents: Sequence[int]) -> bool:
    left = (1 << len(parents)) - 1
    while left:
        sources = sum(1 << i for i in bits.members(left) if not parents[i] & left)
        if not sources:
            return False
        left ^= sources
    return True


@cache
def all_dags(p: int) -> NDArray[np.int64]:
    """Every DAG over p variables: one a row, bit sets of parents."""

    def choices(node: int) -> Iterator[int]:
        return (s for s in range(1 << p) if not s >> node & 1)

    return np.array([dag for dag in product(*(choices(i) for i in range(p))) if is_acyclic(dag)])


def full_scores(lattices: Sequence[Lattice]) -> Floats:
    out = np.full((len(lattices), 1 << len(lattices)), -np.inf)
    for i, (free, scores) in enumerate(lattices):
        for b, score in enumerate(scores):
            out[i, sum(1 << v for t, v in enumerate(free) if b >> t & 1)] = score
    return out


def listed(lattices: Sequence[Lattice]) -> tuple[Floats, float]:
    """Probabilities and log total by listing every DAG."""
    p = len(lattices)
    dags = all_dags(p)
    scores = full_scores(lattices)[np.arange(p), dags].sum(axis=1)
    top = scores.max()
    weight = np.exp(scores - top)
    total = weight.sum()
    edges = np.array([[weight[dags[:, j] >> i & 1 == 1].sum() / total for j in range(p)] for i in range(p)])
    return edges, float(top + log(total))


def random_lattices(p: int, rng: np.random.Generator, *, scale: float, banned: float, share: float) -> list[Lattice]:
    """Lattices of random candidates with random scores, some of them not allowed; the empty sets are allowed."""
    out = []
    for i in range(p):
        free = tuple(v for v in range(p) if v != i and rng.random() < share)
        scores = rng.normal(scale=scale, size=1 << len(free))
        scores[rng.random(len(scores)) < banned] = -np.inf
        scores[0] = rng.normal(scale=scale)
        out.append(Lattice(free, scores))
    return out


def test_numbers_of_dags() -> None:
    """The list is complete, and with equal scores the total counts DAGs (OEIS A003024)."""
    assert [len(all_dags(p)) for p in (1, 2, 3, 4)] == [1, 3, 25, 543]
    known = [1, 3, 25, 543, 29281, 3781503, 1138779265, 783702329343, 1213442454842881, 4175098976430598143]
    for p, count in enumerate(known, start=1):
        flat = [Lattice(tuple(v for v in range(p) if v != i), np.zeros(1 << (p - 1))) for i in range(p)]
        found = exact_posterior(flat)
        assert found.log_total == pytest.approx(log(count), abs=1e-12)
        apart = found.edges[~np.eye(p, dtype=bool)]
        assert found.edges.diagonal().max() == 0.0 and np.ptp(apart) < 1e-13 if p > 1 else True


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e4, 1e8])
@pytest.mark.parametrize("banned", [0.0, 0.5])
def test_sums_are_those_of_a_list(p: int, scale: float, banned: float) -> None:
    for seed in range(3 if p == 5 else 10):
        rng = np.random.default_rng([seed, p])
        lattices = random_lattices(p, rng, scale=scale, banned=banned, share=rng.choice([0.5, 0.8, 1.0]))
        edges, log_total = listed(lattices)
        for found in both(lambda given=lattices: exact_posterior(given)):  # type: ignore[misc]
            np.testing.assert_allclose(found.edges, edges, rtol=0, atol=max(1e-11, 1e-15 * scale))
            assert found.log_total == pytest.approx(log_total, rel=1e-14, abs=1e-11)
            assert found.exact and found.chains_differ == 0.0


def test_a_tie_far_below_what_single_nodes_would_like() -> None:
    """Both directions gain millions, but only one is possible; a third variable decides by a small difference."""
    for gain in (1e3, 1e6, 1e8):
        a = Lattice((1,), np.array([0.0, gain]))
        b = Lattice((0,), np.array([0.0, gain]))
        c = Lattice((0, 1), np.array([-gain, -gain, log(3.0), -np.inf]))
        for found in both(lambda given=(a, b, c): exact_posterior(given)):  # type: ignore[misc]
            np.testing.assert_allclose(found.edges, [[0, 0.5, 0], [0.5, 0, 1], [0, 0, 0]], atol=1e-12)
            assert found.log_total == pytest.approx(gain + log(6.0), rel=1e-15)


def test_scores_that_follow_an_order_make_every_state_unlikely_but_one() -> None:
    """A chain of twelve variables that gain 1e7 by each edge, and lose as much by edges of other orders."""
    p = MOST_EXACT
    rng = np.random.default_rng(5)
    order = rng.permutation(p)
    lattices: list[Lattice] = [Lattice((), np.zeros(1))] * p
    expected = np.zeros((p, p))
    for at, node in enumerate(order.tolist()):
        free = tuple(v for v in range(p) if v != node)
        scores = rng.uniform(-1e8, -1e7, size=1 << (p - 1))
        best = 0 if at == 0 else 1 << free.index(int(order[at - 1]))
        scores[best] = 0.0
        if at > 2:  # one more edge with probability 0.2
            scores[best | 1 << free.index(int(order[at - 3]))] = log(0.25)
            expected[order[at - 3], node] = 0.2
        if at:
            expected[order[at - 1], node] = 1.0
        lattices[node] = Lattice(free, scores)
    np.testing.assert_allclose(exact_posterior(lattices).edges, expected, atol=1e-12)


def test_names_do_not_matter() -> None:
    """Relabelled variables have relabelled probabilities, at eleven variables."""
    p = 11
    rng = np.random.default_rng(1)
    lattices = random_lattices(p, rng, scale=10.0, banned=0.3, share=0.8)
    new = rng.permutation(p)
    moved: list[Lattice] = [Lattice((), np.zeros(1))] * p
    for i, (free, scores) in enumerate(lattices):
        names = [int(new[v]) for v in free]
        sort = np.argsort(names)
        places = sum((np.arange(len(scores)) >> t & 1) << int(s) for s, t in enumerate(sort))
        relabelled = np.empty_like(scores)
        relabelled[places] = scores
        moved[new[i]] = Lattice(tuple(sorted(names)), relabelled)
    one, other = exact_posterior(lattices), exact_posterior(moved)
    np.testing.assert_allclose(other.edges[np.ix_(new, new)], one.edges, atol=1e-12)
    assert other.log_total == pytest.approx(one.log_total, abs=1e-9)


def test_parts_that_do_not_touch() -> None:
    """Two parts of four variables, without candidates across: each part is as if alone."""
    rng = np.random.default_rng(2)
    parts = [random_lattices(4, rng, scale=3.0, banned=0.2, share=1.0) for _ in range(2)]
    whole = parts[0] + [Lattice(tuple(v + 4 for v in free), scores) for free, scores in parts[1]]
    found = exact_posterior(whole)
    (first, one), (second, other) = (listed(part) for part in parts)
    np.testing.assert_allclose(found.edges[:4, :4], first, atol=1e-12)
    np.testing.assert_allclose(found.edges[4:, 4:], second, atol=1e-12)
    assert found.edges[:4, 4:].max() == found.edges[4:, :4].max() == 0.0
    assert found.log_total == pytest.approx(one + other, abs=1e-10)


@needs_loops
@pytest.mark.parametrize("p", [1, 6, 9])
def test_both_kernels_agree(p: int) -> None:
    lattices = random_lattices(p, np.random.default_rng(p), scale=20.0, banned=0.2, share=0.9)
    one, other = both(lambda: exact_posterior(lattices))
    np.testing.assert_allclose(one.edges, other.edges, rtol=0, atol=1e-13)
    assert one.log_total == pytest.approx(other.log_total, abs=1e-12)


def test_knowledge_that_leaves_no_dag() -> None:
    must = np.array([-np.inf, 0.0])
    cycle = [Lattice((1,), must), Lattice((2,), must), Lattice((0,), must)]
    nothing = [Lattice((), np.array([-np.inf])), Lattice((0,), np.zeros(2))]
    for lattices in (cycle, nothing):
        with pytest.raises(fp.InputError, match="no DAG is allowed"):
            both(lambda given=lattices: exact_posterior(given))  # type: ignore[misc]
    forced = [Lattice((1,), must), Lattice((2,), must), Lattice((0,), np.array([0.0, 0.0]))]
    for found in both(lambda: exact_posterior(forced)):
        assert found.edges.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]] and found.log_total == 0.0


@pytest.mark.parametrize(
    ("lattices", "match"),
    [
        ([], "no lattices"),
        ([Lattice((), np.zeros(1))] * (MOST_EXACT + 1), "too many"),
        ([Lattice((), np.zeros(1)), Lattice((1,), np.zeros(2))], "candidate parents of variable 1"),
        ([Lattice((2, 1), np.zeros(4)), Lattice((), np.zeros(1)), Lattice((), np.zeros(1))], "ascending"),
        ([Lattice((1,), np.zeros(2)), Lattice((2,), np.zeros(2))], "from 0 to 1"),
        ([Lattice((1,), np.zeros(4)), Lattice((), np.zeros(1))], "give 2 scores"),
        ([Lattice((), np.array([np.nan]))], "is nan"),
        ([Lattice((), np.array([np.inf]))], "is inf"),
        ([Lattice((), np.array([-1e300]))], "is -1e\\+300"),
    ],
)
def test_bad_lattices(lattices: list[Lattice], match: str) -> None:
    with pytest.raises(fp.InputError, match=match):
        exact_posterior(lattices)


def test_weights_far_from_one() -> None:
    scores = np.array([-1e8, -745.2, -1e-9, 0.0, 1.0, 1e8, -np.inf])
    value, power = weights(scores)
    assert ((value >= 1) & (value <= 2))[:-1].all() and value[-1] == 0.0 and power[-1] == NO_POWER
    back = np.log(value[:-1]) + power[:-1] * LN2_LOW + power[:-1] * LN2_HIGH
    np.testing.assert_allclose(back, scores[:-1], rtol=2e-16, atol=1e-15)
    assert log(2.0) == LN2_HIGH + LN2_LOW
    assert two_to(np.array([0, -3, -1022, -1023, NO_POWER])).tolist() == [1.0, 0.125, 2.0**-1022, 0.0, 0.0]


def test_sums_over_subsets_and_supersets() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(scale=5.0, size=32)
    scores[rng.random(32) < 0.3] = -np.inf
    one, other = both(lambda: add_subsets(weights(scores)))
    assert one.value.tolist() == other.value.tolist() and one.power.tolist() == other.power.tolist()
    value, power = one
    for s in range(32):
        inside = sum(np.exp(scores[t]) for t in range(32) if not t & ~s)
        assert np.ldexp(value[s], max(int(power[s]), -1000)) == pytest.approx(inside, rel=1e-14)
    grows = np.bitwise_count(np.arange(32)).astype(np.int64) * 3
    sums = add_supersets(np.ones(32), grows)
    for s in range(32):
        assert sums[s] == pytest.approx(sum(2.0 ** (grows[s] - grows[t]) for t in range(32) if not s & ~t))


@needs_loops
def test_the_loop_checks_its_arrays() -> None:
    assert compiled is not None
    one = np.ones((2, 1))
    whole = np.zeros((2, 1), dtype=np.int64)
    with pytest.raises(ValueError, match="every set"):
        compiled.layers(np.ones((3, 1)), whole, whole[:, 0], one, one, np.ones(1))
    with pytest.raises(ValueError, match="shape"):
        compiled.layers(one, whole, np.zeros(3, dtype=np.int64), one, one, np.ones(1))
    with pytest.raises(IndexError):
        compiled.subset_sums(np.ones(3), np.zeros(3, dtype=np.int64))


# -- samples ----------------------------------------------------------------------------------------------------------


def gaussian_lattices(p: int, degree: float, n: int, seed: int) -> list[Lattice]:
    """BIC scores of a sample of a linear Gaussian model; every other variable is a candidate."""
    rng = np.random.default_rng(seed)
    shape = np.triu(rng.random((p, p)) < degree / (p - 1), 1)
    weight = shape * rng.uniform(0.3, 1.0, (p, p)) * rng.choice([-1, 1], (p, p))
    x = rng.normal(size=(n, p)) @ np.linalg.inv(np.eye(p) - weight)
    correlation = np.corrcoef(x[:, rng.permutation(p)].T)
    size = subset_sizes(p)
    logdet = np.zeros(1 << p)
    for s in range(1, 1 << p):
        inside = list(bits.members(s))
        logdet[s] = np.linalg.slogdet(correlation[np.ix_(inside, inside)])[1]
    out = []
    for i in range(p):
        free = tuple(v for v in range(p) if v != i)
        places = np.array([sum(1 << v for t, v in enumerate(free) if b >> t & 1) for b in range(1 << (p - 1))])
        residual = logdet[places | 1 << i] - logdet[places]
        out.append(Lattice(free, -n / 2 * residual - size[places] * log(n) / 2))
    return out


def some_orders(p: int, count: int, seed: int) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.permutation(p).tolist() for _ in range(count)]


@needs_loops
@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("degree", [2, 3])
def test_samples_agree_with_sums(n: int, degree: int) -> None:
    """From random starts, on data; the largest difference of all edges."""
    lattices = gaussian_lattices(10, degree, n, seed=n + degree)
    exact = exact_posterior(lattices)
    found = sampled_posterior(lattices, some_orders(10, 4, 0), seed=1, sweeps=8000)
    assert np.abs(found.edges - exact.edges).max() < 0.03
    assert found.chains_differ < 0.06 and not found.exact and found.log_total is None


@needs_loops
@pytest.mark.parametrize("seed", range(6))
def test_samples_agree_with_sums_under_knowledge(seed: int) -> None:
    """Half of all sets banned, candidates on one side only, moderate scores."""
    lattices = random_lattices(8, np.random.default_rng(seed), scale=2.0, banned=0.5, share=0.6)
    found = sampled_posterior(lattices, some_orders(8, 3, seed), seed=seed, sweeps=8000)
    assert np.abs(found.edges - exact_posterior(lattices).edges).max() < 0.02


@needs_loops
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_every_size_of_blocks_visits_dags_in_proportion(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All 543 DAGs over four variables: the visits of each, against its weight."""
    monkeypatch.setattr("fedperi.search.chains.SIZES", np.where(np.arange(6) < size - 1, 0.0, 1.0))
    lattices = random_lattices(4, np.random.default_rng(8), scale=1.0, banned=0.1, share=1.0)
    dags = all_dags(4)
    weight = np.exp(full_scores(lattices)[np.arange(4), dags].sum(axis=1))
    chain = Chain(tables(*zip(*lattices, strict=True)), [0] * 4, np.random.SeedSequence(size))
    visits: dict[tuple[int, ...], int] = {}
    turns = 40_000
    for _ in range(turns):
        chain.run(1)
        dag = tuple(
            sum(1 << lattices[i].free[t] for t in bits.members(place)) for i, place in enumerate(chain.now.tolist())
        )
        visits[dag] = visits.get(dag, 0) + 1
    share = np.array([visits.pop(tuple(dag), 0) for dag in dags.tolist()]) / turns
    assert not visits  # all of them are DAGs
    assert not share[weight == 0].any()
    assert np.abs(share - weight / weight.sum()).sum() / 2 < 0.06


@needs_loops
def test_chains_are_the_same_without_compiled_loops() -> None:
    for seed in range(5):
        p = 4 + 2 * seed
        lattices = random_lattices(p, np.random.default_rng(seed), scale=3.0, banned=0.3, share=0.7)
        starts = some_orders(p, 2, seed)
        one, other = both(lambda given=lattices, at=starts: sampled_posterior(given, at, seed=3, sweeps=15))  # type: ignore[misc]
        np.testing.assert_allclose(one.edges, other.edges, rtol=0, atol=1e-9)
        assert one.chains_differ == pytest.approx(other.chains_differ, abs=1e-9)


def test_samples_depend_on_the_seed_alone() -> None:
    lattices = random_lattices(7, np.random.default_rng(4), scale=2.0, banned=0.1, share=0.8)
    starts = some_orders(7, 3, 0)
    one, same, other = (
        sampled_posterior(lattices, starts, seed=seed, sweeps=30, threads=threads)
        for seed, threads in ((1, 1), (1, 3), (2, 1))
    )
    assert one.edges.tolist() == same.edges.tolist() != other.edges.tolist()
    assert one.chains_differ > 0.0
    assert sampled_posterior(lattices, starts[:1], seed=1, sweeps=30).chains_differ == 0.0


def test_a_run_can_be_continued() -> None:
    """Two runs in a row are one longer run."""
    made = tables(*zip(*random_lattices(6, np.random.default_rng(4), scale=2.0, banned=0.1, share=0.8), strict=True))
    for once, twice in both(lambda: [Chain(made, [0] * 6, np.random.SeedSequence(1)) for _ in range(2)]):
        whole = once.run(20)
        halves = (twice.run(10) + twice.run(10)) / 2
        np.testing.assert_allclose(whole, halves, atol=1e-12)
        assert once.now.tolist() == twice.now.tolist()


def test_scores_far_apart_do_not_stop_a_chain() -> None:
    """Both directions gain millions: pairs of nodes must turn at once."""
    for gain in (1e3, 1e8):
        a = Lattice((1,), np.array([0.0, gain]))
        b = Lattice((0,), np.array([0.0, gain]))
        c = Lattice((0, 1), np.array([-gain, -gain, log(3.0), -np.inf]))
        for found in both(lambda given=(a, b, c): sampled_posterior(given, [(0, 1, 2)], seed=1, sweeps=400)):  # type: ignore[misc]
            np.testing.assert_allclose(found.edges, [[0, 0.5, 0], [0.5, 0, 1], [0, 0, 0]], atol=0.1)


def test_few_variables_and_no_candidates() -> None:
    alone = [Lattice((), np.array([-3.0]))]
    apart = [Lattice((), np.zeros(1)) for _ in range(3)] + [Lattice((1,), np.array([0.0, log(3.0)]))]
    for found in both(lambda: sampled_posterior(alone, [(0,)], seed=0, sweeps=3)):
        assert found.edges.tolist() == [[0.0]]
    for found in both(lambda: sampled_posterior(apart, [(0, 1, 2, 3)], seed=0, sweeps=3)):
        assert found.edges[1, 3] == pytest.approx(0.75) and found.edges.sum() == pytest.approx(0.75)


def test_starts_wait_for_required_parents() -> None:
    must = np.array([-np.inf, 0.0])
    lattices = [
        Lattice((1,), must),
        Lattice((2,), must),
        Lattice((0,), np.zeros(2)),
        Lattice((0,), np.array([0.0, 1.0])),
    ]
    assert best_under(lattices, (0, 3, 1, 2)) == [1, 1, 0, 0]
    assert best_under(lattices, (0, 1, 2, 3)) == [1, 1, 0, 1]
    cycle = [Lattice((1,), must), Lattice((0,), must)]
    with pytest.raises(fp.InputError, match="no DAG is allowed"):
        sampled_posterior(cycle, [(0, 1)], seed=0, sweeps=1)


@pytest.mark.parametrize(
    ("starts", "settings", "match"),
    [
        ([], {}, "no starts"),
        ([(0, 0)], {}, r"a start is \[0, 0\]"),
        ([(0,)], {}, "from 0 to 1"),
        ([(0, 1)], {"sweeps": 0}, "sweeps 0"),
        ([(0, 1)], {"threads": 0}, "threads 0"),
        ([(0, 1)], {"seed": -1}, "seed -1"),
    ],
)
def test_bad_starts(starts: list[tuple[int, ...]], settings: dict[str, int], match: str) -> None:
    lattices = [Lattice((), np.zeros(1)), Lattice((0,), np.zeros(2))]
    with pytest.raises(fp.InputError, match=match):
        sampled_posterior(lattices, starts, **{"seed": 0, "sweeps": 1, **settings})


def test_tables_list_the_sets_with_a_weight_the_best_first() -> None:
    lattices = random_lattices(6, np.random.default_rng(0), scale=4.0, banned=0.3, share=0.8)
    for made in both(lambda: tables(*zip(*lattices, strict=True))):
        for node, (_, scores) in enumerate(lattices):
            own = slice(*made.set_first[node : node + 2])
            sets = made.sets[own]
            assert sorted(sets.tolist()) == np.flatnonzero(np.isfinite(scores)).tolist()
            assert (np.diff(scores[sets]) <= 0).all()
            weight = np.ldexp(made.set_value[own], made.set_power[own])
            np.testing.assert_allclose(weight, np.exp(scores[sets] - scores.max()), rtol=1e-12)
            sums = slice(*made.begin[node : node + 2])
            inside = [weight[(sets & ~s) == 0].sum() for s in range(len(scores))]
            np.testing.assert_allclose(np.ldexp(made.value[sums], made.power[sums]), inside, rtol=1e-12)


def test_sizes_of_blocks_fit_the_loops() -> None:
    assert len(SIZES) == 6 and SIZES[-1] == pytest.approx(1.0) and (np.diff(SIZES) >= 0).all()
