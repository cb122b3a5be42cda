"""The score of families when sites share mechanisms: compiled loops against numpy, numpy against the definition."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import fedperi as fp
from fedperi.methods.mperi.oracle import ScoreOracle
from fedperi.scores import _kernel as kernel
from fedperi.scores import mechanisms_numpy
from fedperi.scores.mechanisms import SKEPTICAL, USUAL, Mechanisms, Prices
from fedperi.scores.mechanisms_groups import MANY
from fedperi.tables.summary.summaries import summaries
from fedperi.tables.summary.summary import Summary


def tables(kind: str, sites: int, seed: int) -> list[Any]:
    if kind == "clinic":
        return fp.clinic(sites=sites, rows=300, seed=seed).sites
    how = {"cut": {}, "drift": {"drift": 0.1, "intervention": "varied"}, "nothing": {"shared_mechanisms": "nothing"}}
    return fp.simulate(6, clients=sites, samples=200, seed=seed, **how[kind]).sites


def partition(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())}


@pytest.mark.skipif(kernel.kind() == "numpy", reason="no compiled loops here")
@pytest.mark.parametrize("kind", ["cut", "drift", "nothing", "clinic"])
@pytest.mark.parametrize("sites", [1, 4, 7, 14])
@pytest.mark.parametrize("prices", [USUAL, SKEPTICAL], ids=["usual", "skeptical"])
def test_loops_agree_with_numpy(kind: str, sites: int, prices: Prices) -> None:
    if kind == "clinic" and sites == 1:
        given = fp.clinic(sites=1, rows=300, policies=0, seed=5).sites
    else:
        given = tables(kind, sites, seed=sites)
    if sites == 4:  # a constant column, and a site with fewer rows than variables
        given = [table.copy() for table in given]
        given[1][given[1].columns[2]] = 3
        given[2] = given[2][:5]
    mechanisms = Mechanisms(summaries(given), prices=prices)
    rng = np.random.default_rng(sites)
    p = len(mechanisms.names)
    for _ in range(4):
        node = int(rng.integers(p))
        parents = rng.permutation([j for j in range(p) if j != node])[:4]
        without, fewer = np.empty((len(given), 8)), np.empty((len(given), 8))
        scores, groups, tolerances = mechanisms._scores(node, parents[:1], parents[1:], None, without)
        expected = mechanisms_numpy.score_families(mechanisms, node, parents, 1, None, fewer)
        np.testing.assert_allclose(without, fewer, rtol=1e-12, atol=1e-7)
        np.testing.assert_allclose(scores, expected[0], rtol=0, atol=1e-8)
        np.testing.assert_array_equal(tolerances, expected[2])
        for one, other in zip(groups, expected[1], strict=True):
            assert partition(one) == partition(other)


@pytest.mark.skipif(kernel.kind() == "numpy", reason="no compiled loops here")
def test_loops_agree_with_numpy_where_several_sites_leave_at_a_time() -> None:
    sites = MANY + 12
    sim = fp.simulate(4, clients=sites, samples=100, seed=2, intervention="shift", shift=2.0)
    mechanisms = Mechanisms(summaries(sim.sites), tolerances=(0.0,))
    moved = {frozenset(partition(mechanisms.groups(node, ())[0])) for node in range(4)}
    assert max(map(len, moved)) > 1  # some do leave
    for node in range(2):
        parents = np.array([(node + 1) % 4])
        scores, groups, _ = mechanisms._scores(node, parents, ())
        expected = mechanisms_numpy.score_families(mechanisms, node, parents, 1)
        np.testing.assert_allclose(scores, expected[0], rtol=0, atol=1e-7)
        assert partition(groups[0]) == partition(expected[1][0])


@pytest.mark.parametrize("kind", ["cut", "clinic"])
def test_known_scores_are_taken_as_they_are(kind: str) -> None:
    mechanisms = Mechanisms(summaries(tables(kind, 4, seed=1)))
    whole = mechanisms.lattice(0, (), (1, 2, 3))
    some = np.where(np.arange(8) % 3, np.nan, whole)
    assert mechanisms.lattice(0, (), (1, 2, 3), known=some).tolist() == whole.tolist()
    oracle = ScoreOracle(Mechanisms(summaries(tables(kind, 4, seed=1))))
    asked = [(np.array([0]), np.empty((1, 0), dtype=np.int64), np.array([free])) for free in ([1, 2, 3, 4, 5],) * 2]
    first, again = oracle.regrets(asked)
    assert first.tolist() == again.tolist() == (-mechanisms.lattice(0, (), (1, 2, 3, 4, 5)))[None, None].tolist()


def best_partition(mechanisms: Mechanisms, node: int, parents: list[int], tau: float) -> float:
    """The score by definition: the best of all partitions of the sites into groups."""
    sites = list(range(len(mechanisms.n)))

    def score(group: tuple[int, ...], some: tuple[int, ...]) -> float:
        return mechanisms_numpy.group_score(mechanisms, node, some, group, tau)

    def value(group: tuple[int, ...]) -> tuple[float, float]:
        full = score(group, tuple(parents))
        if len(group) > 1 and not mechanisms.spread[node]:
            return full, full - mechanisms.prices.own
        cut = [score(group, ()) - mechanisms.prices.cut] if parents else []
        price = mechanisms.prices.some
        some = [score(group, t) - price for size in range(1, len(parents)) for t in combinations(parents, size)]
        return full, max([full - mechanisms.prices.own, *cut, *some])

    def partitions(rest: list[int]) -> list[list[tuple[int, ...]]]:
        if not rest:
            return [[]]
        first, others = rest[0], rest[1:]
        out = []
        for size in range(len(others) + 1):
            for chosen in combinations(others, size):
                left = [k for k in others if k not in chosen]
                out += [[(first, *chosen), *more] for more in partitions(left)]
        return out

    known: dict[tuple[int, ...], tuple[float, float]] = {}

    def total(parts: list[tuple[int, ...]]) -> float:
        found = [known.setdefault(part, value(part)) if part not in known else known[part] for part in parts]
        return sum(v for _, v in found) + max(s - v for s, v in found)

    return max(total(parts) for parts in partitions(sites))


@pytest.mark.parametrize("prices", [USUAL, SKEPTICAL], ids=["usual", "skeptical"])
@pytest.mark.parametrize("kind", ["cut", "drift", "nothing", "clinic"])
def test_groups_are_nearly_the_best_partition(kind: str, prices: Prices) -> None:
    gaps = []
    for seed in range(3):
        mechanisms = Mechanisms(summaries(tables(kind, 4, seed)), tolerances=(0.0,), prices=prices)
        rng = np.random.default_rng(seed)
        for _ in range(8):
            node = int(rng.integers(len(mechanisms.names)))
            others = [j for j in range(len(mechanisms.names)) if j != node]
            parents = [int(j) for j in rng.permutation(others)[: rng.integers(0, 4)]]
            found = mechanisms.lattice(node, parents, ())[0]
            best = best_partition(mechanisms, node, parents, 0.0)
            assert found <= best + 1e-7
            gaps.append(best - found)
    assert np.mean(gaps) < 0.5  # nats; fixed seeds: no false alarm
    assert np.median(gaps) < 1e-7


@pytest.mark.parametrize("kind", ["cut", "drift", "nothing"])
def test_leaving_a_site_out_is_nearly_a_run_without_it(kind: str) -> None:
    given = summaries(tables(kind, 5, seed=4))
    whole, gaps = Mechanisms(given), []
    for node in range(6):
        free = tuple(j for j in range(6) if j != node)[:4]
        without, _ = whole.lattices_changed(node, free)
        for k in range(5):
            alone = Mechanisms([part for at, part in enumerate(given) if at != k]).lattice(node, (), free)
            gap = (alone - alone[0]) - (without[k] - without[k][0])  # units differ, which moves all scores alike
            gaps += np.abs(gap).tolist()
    assert np.median(gaps) < 1e-6  # fixed seeds: no false alarm
    assert np.mean(gaps) < 1.0


def test_one_site_is_plain_bic() -> None:
    table = fp.simulate(4, clients=1, samples=500, seed=2).sites[0]
    mechanisms = Mechanisms(summaries([table], data="linear"))
    scores = mechanisms.lattice(2, (), (0, 1, 3))
    x = (table - table.mean()) / table.std(ddof=0)
    for at, score in enumerate(scores):
        chosen = [j for t, j in enumerate((0, 1, 3)) if at >> t & 1]
        design = np.column_stack([np.ones(500), *(x.iloc[:, j] for j in chosen)])
        residual = x.iloc[:, 2] - design @ np.linalg.lstsq(design, x.iloc[:, 2], rcond=None)[0]
        bic = -250 * (np.log(np.mean(residual**2)) + 1) - (len(chosen) + 2) / 2 * np.log(500)
        assert score == pytest.approx(bic, abs=1e-8)


def moments(mean: list[float], covariance: list[list[float]], n: float, site: str) -> Summary:
    blocks = tuple((i,) for i in range(len(mean)))
    return Summary(site, tuple("ABCDEFG"[: len(mean)]), blocks, n, np.array(mean), np.array(covariance))


def test_the_order_of_sites_does_not_matter() -> None:
    given = summaries(dict(zip("abcdef", tables("drift", 6, seed=1), strict=True)))
    one, other = Mechanisms(given), Mechanisms(given[::-1])
    for node in range(3):
        free = tuple(j for j in range(6) if j != node)
        np.testing.assert_allclose(one.lattice(node, (), free), other.lattice(node, (), free), atol=1e-7)


def test_a_site_that_set_a_variable_says_nothing_about_it() -> None:
    usual = [moments([0.0, 0.0], [[1.0, 0.8], [0.8, 1.64]], 1000, name) for name in "ab"]
    fixed = moments([0.5, 3.0], [[1.0, 0.0], [0.0, 0.0]], 1000, "c")
    mechanisms = Mechanisms([*usual, fixed])
    assert mechanisms.constant.tolist() == [[False, False], [False, False], [False, True]]
    without = Mechanisms(usual)
    # In its own units nothing but the unit of B changes, which moves all scores alike.
    gains = [np.diff(m.lattice(1, (), (0,)))[0] for m in (mechanisms, without)]
    assert gains[0] == pytest.approx(gains[1], abs=1e-6)


def test_a_declared_target_needs_no_price() -> None:
    usual = [moments([0.0, 0.0], [[1.0, 0.8], [0.8, 1.64]], 1000, name) for name in "abc"]
    cut = moments([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], 1000, "d")
    from dataclasses import replace

    told = replace(cut, targets=("B",))
    gain = Mechanisms([*usual, told]).lattice(1, (0,), ())[0] - Mechanisms([*usual, cut]).lattice(1, (0,), ())[0]
    assert gain == pytest.approx(USUAL.cut, abs=1e-9)


def test_units_do_not_matter() -> None:
    plain = tables("cut", 4, seed=3)
    stretched = [table * np.arange(1, 7) * 10 + 5 for table in plain]
    one, other = Mechanisms(summaries(plain)), Mechanisms(summaries(stretched))
    free = (0, 2, 4)
    np.testing.assert_allclose(one.lattice(1, (), free), other.lattice(1, (), free), atol=1e-6)


@pytest.mark.parametrize("kind", ["cut", "drift", "clinic"])
def test_other_tolerances_are_tried_alone(kind: str) -> None:
    """In the pass without each site: the same scores as with that tolerance only, to the last bit."""
    parts = summaries(tables(kind, 5, seed=3))
    both = Mechanisms(parts, others=(0.0, 0.2))
    for node in range(3):
        free = [v for v in range(6) if v != node][:3]
        without, others = both.lattices_changed(node, free)
        np.testing.assert_array_equal(without, Mechanisms(parts).lattices_changed(node, free)[0])
        for tolerance, found in zip((0.0, 0.2), others, strict=True):
            np.testing.assert_array_equal(found, Mechanisms(parts, tolerances=(tolerance,)).lattice(node, (), free))


@pytest.mark.skipif(kernel.kind() == "numpy", reason="no compiled loops here")
@pytest.mark.parametrize("kind", ["cut", "drift", "nothing"])
def test_tolerances_that_are_passed_over_could_not_pay(kind: str) -> None:
    """The loops skip a tolerance that a bound excludes; tried alone, it never scores more than what was taken."""
    parts = summaries(tables(kind, 7, seed=11))
    mechanisms = Mechanisms(parts, others=(0.03, 0.1))
    for node in range(6):
        free = [v for v in range(6) if v != node][:4]
        best = mechanisms.lattice(node, (), free)
        _, others = mechanisms.lattices_changed(node, free)
        assert (others <= best + 1e-9).all()
