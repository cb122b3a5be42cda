"""Compiled loops and numpy code compute the same, and loops refuse arrays that they cannot use."""

import math
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.kernels import both, loops, needs_loops
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import fedperi as fp
from fedperi.discovery.optimum import MOST_STEPS, hill_climb
from fedperi.graph import bits
from fedperi.graph.knowledge import Knowledge, unconstrained
from fedperi.graph.order import topological_order
from fedperi.scores import _kernel as kernel
from fedperi.scores.gaussian import GaussianScore
from fedperi.scores.lattice import best_of_subsets, extremes_of, subset_sizes
from fedperi.scores.masking import INTERVENTION_PRICE, PARTIAL_PRICE, adaptive_mask
from fedperi.scores.score import RESOLUTION
from fedperi.search.families import ParentSets
from fedperi.search.orders import Order
from fedperi.search.sums import total_regret

Floats = NDArray[np.float64]


def blocks_of(p: int, seed: int) -> tuple[Floats, list[list[int]]]:
    """Correlations of variables of one to three columns each, and their columns, in a random order."""
    rng = np.random.default_rng(seed)
    widths = rng.integers(1, 4, size=p)
    columns = rng.permutation(int(widths.sum())).tolist()
    ends = np.cumsum(widths).tolist()
    return correlations(len(columns), seed), [
        columns[end - width : end] for end, width in zip(ends, widths, strict=True)
    ]


def score_by_definition(matrix: Floats, blocks: list[list[int]], n: float, node: int, parents: list[int]) -> float:
    """-(n/2) log det cov(node | parents) - (d_i d_S / 2) log n."""
    given_ = [c for parent in parents for c in blocks[parent]]
    both_ = np.ix_([*given_, *blocks[node]], [*given_, *blocks[node]])
    log_det = np.linalg.slogdet(matrix[both_])[1] - np.linalg.slogdet(matrix[np.ix_(given_, given_)])[1]
    return float(-n / 2 * log_det - len(given_) * len(blocks[node]) * np.log(n) / 2)


def runs_of_rows(p: int, m: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Runs of rows that differ in their last candidate only, the node last."""
    rows = []
    for _ in range(3):
        *shared, node = rng.permutation(p)[:m].tolist()
        rows += [[*shared, last, node] for last in range(p) if last not in (*shared, node)]
    return np.array(rows)


def correlations(p: int, seed: int, rows: int = 60) -> Floats:
    """Correlations of a random SEM: some variables nearly determined by others, some independent."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, p))
    for i in range(1, p):
        x[:, i] += x[:, :i] @ (rng.normal(size=i) * (rng.random(i) < 0.4))
    return np.atleast_2d(np.corrcoef(x.T))


def test_loops_are_compiled_where_there_is_a_compiler() -> None:
    """If this fails, the package was installed without them, and is a few times slower than it could be."""
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        pytest.skip("no C compiler here")
    assert kernel.kind() == "compiled"


@pytest.mark.parametrize(("value", "kind"), [("numpy", "numpy"), ("", kernel.kind())])
def test_an_environment_variable_turns_them_off(value: str, kind: str) -> None:
    code = "import fedperi.scores._kernel as k; print(k.kind(), isinstance(k.loops, k.NoLoops))"
    out = subprocess.run(
        [sys.executable, "-c", code], env={"FEDPERI_KERNEL": value, "PATH": ""}, capture_output=True, text=True
    )
    assert out.stdout.split() == [kind, str(kind == "numpy")]


def test_a_run_without_them_says_once_what_that_costs() -> None:
    code = (
        "import sys; sys.modules['fedperi.scores._kernel._loops'] = None; import fedperi as fp; "
        "sites = fp.simulate(3, clients=2, samples=100, seed=1).sites; fp.IPERI().fit(sites); fp.IPERI().fit(sites)"
    )
    out = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True)
    assert out.returncode == 0 and out.stderr.count(kernel.SLOWER) == 1


@pytest.mark.skipif(not kernel.version_of(Path(kernel.__file__).parent), reason="an installed package has no sources")
@pytest.mark.parametrize("old", ["", "0", "12345"])
def test_loops_of_other_sources_are_not_used_and_a_run_says_once_what_to_do(old: str) -> None:
    """As after `git pull`: those of older versions have no number at all."""
    code = (
        "import sys, types; old = types.ModuleType('fedperi.scores._kernel._loops'); "
        f"{f'old.version = {old}; ' if old else ''}sys.modules[old.__name__] = old; "
        "import fedperi as fp, fedperi.scores._kernel as k; k._loops = old; print(k.kind()); "
        "sites = fp.simulate(3, clients=2, samples=100, seed=1).sites; fp.IPERI().fit(sites); fp.IPERI().fit(sites)"
    )
    out = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True)
    assert out.returncode == 0 and out.stdout.split() == ["numpy"]
    assert out.stderr.count(kernel.OUTDATED) == 1 and "pip install -e ." in kernel.OUTDATED


def test_every_change_of_a_source_is_another_version(tmp_path: Path) -> None:
    numbers = {kernel.version_of(tmp_path)}
    for name, text in (("a.c", "int a;"), ("a.c", "int b;"), ("b.h", "int c;")):
        (tmp_path / name).write_text(text)
        numbers.add(kernel.version_of(tmp_path))
    assert len(numbers) == 4 and 0 in numbers


def test_a_run_notes_which_it_was() -> None:
    sites = fp.simulate(3, clients=2, samples=100, seed=1).sites
    noted = both(lambda: fp.IPERI().fit(sites).manifest["kernel"])
    assert noted == [kernel.kind(), "numpy"]


@needs_loops
@given(st.integers(1, 7), st.integers(0, 2**32 - 1), st.booleans(), st.data())
def test_lattices_and_single_sets_are_scored_by_definition(p: int, seed: int, wide: bool, data: st.DataObject) -> None:
    m = data.draw(st.integers(0, p - 1))
    rng = np.random.default_rng(seed)
    matrix, blocks = blocks_of(p, seed) if wide else (correlations(p, seed), [[i] for i in range(p)])
    score = GaussianScore(matrix, 60, blocks=blocks)
    rows = np.array([rng.permutation(p)[: m + 1] for _ in range(3)])
    queries = [
        (node, [v for t, v in enumerate(row) if at >> t & 1]) for *row, node in rows.tolist() for at in range(1 << m)
    ]
    expected = np.array([score_by_definition(matrix, blocks, 60, *query) for query in queries])
    for found in both(lambda: score.lattice(rows[:, -1], rows[:, :-1])):
        assert found.ravel() == pytest.approx(expected, abs=1e-7)
    for found in both(lambda: score.local([(node, sum(1 << v for v in parents)) for node, parents in queries])):
        assert found == pytest.approx(expected, abs=1e-7)


@needs_loops
@given(st.integers(2, 8), st.integers(0, 2**32 - 1), st.booleans(), st.data())
def test_extremes_are_those_of_the_lattice(p: int, seed: int, wide: bool, data: st.DataObject) -> None:
    table = runs_of_rows(p, data.draw(st.integers(1, p - 1)), np.random.default_rng(seed))
    matrix, blocks = blocks_of(p, seed) if wide else (correlations(p, seed), None)
    score = GaussianScore(matrix, 60, blocks=blocks)
    expected = extremes_of(score.lattice(table[:, -1], table[:, :-1]))
    for found in both(lambda: score.extremes(table[:, -1], table[:, :-1])):
        for one, other in zip(found, expected, strict=True):
            assert one == pytest.approx(other, abs=1e-8)


@needs_loops
def test_long_runs_of_rows_of_several_widths() -> None:
    """More additional variables than lanes, so that the last group is not full."""
    for wide in (False, True):
        matrix, blocks = blocks_of(40, 5) if wide else (correlations(40, 5, rows=500), None)
        matrix = 0.9 * matrix + 0.1 * np.eye(len(matrix))  # more columns than rows there
        score = GaussianScore(matrix, 1000, blocks=blocks)
        table = runs_of_rows(40, 4, np.random.default_rng(1))
        found, by_numpy = both(lambda: score.extremes(table[:, -1], table[:, :-1]))  # noqa: B023
        for one, other in zip(found, by_numpy, strict=True):
            assert one == pytest.approx(other, abs=1e-7)


@needs_loops
@pytest.mark.parametrize("n", [4, 9, 14])
def test_with_few_rows_large_sets_are_left_out(n: int) -> None:
    """Those with more than half as many columns as rows: minus infinity, by loops and by numpy."""
    for wide in (False, True):
        matrix, blocks = blocks_of(6, 3) if wide else (correlations(6, 3), [[i] for i in range(6)])
        score = GaussianScore(matrix, n, blocks=blocks)
        table = runs_of_rows(6, 4, np.random.default_rng(1))
        for ask in (score.lattice, score.extremes):
            found, by_numpy = both(lambda: np.array(ask(table[:, -1], table[:, :-1])))  # noqa: B023
            assert found == pytest.approx(by_numpy, abs=1e-8)
        lattice = score.lattice(table[:, -1], table[:, :-1])
        for row, (*candidates, node) in zip(lattice, table.tolist(), strict=True):
            for at, value in enumerate(row.tolist()):
                inside = [v for t, v in enumerate(candidates) if at >> t & 1]
                assert np.isfinite(value) == (2 * sum(len(blocks[v]) for v in [*inside, node]) <= n)


@needs_loops
@given(st.integers(0, 7), st.integers(0, 2**32 - 1))
def test_the_adaptive_mask_is_by_definition(m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lattice = np.where(rng.random((3, 1 << m)) < 0.1, -np.inf, 5 * rng.normal(size=(3, 1 << m)))
    lattice[:, 0] = 0.0
    before = lattice.copy()
    for found in both(lambda: adaptive_mask(lattice)):
        for at in range(1 << m):
            best = lattice[:, [s for s in range(1 << m) if not s & ~at]].max(axis=1)
            expected = np.maximum(lattice[:, at], np.maximum(lattice[:, 0] - INTERVENTION_PRICE, best - PARTIAL_PRICE))
            assert found[:, at].tolist() == expected.tolist()
        assert lattice.tolist() == before.tolist()
    masked = adaptive_mask(lattice).tolist()
    for own, found in both(lambda: [one := lattice.copy(), adaptive_mask(one, out=one)]):
        assert found is own and found.tolist() == masked


@needs_loops
@given(st.integers(1, 40), st.integers(0, 2**32 - 1), st.integers(-300, 150))
def test_sums_over_sites_are_exact_and_know_no_order(sites: int, seed: int, power: int) -> None:
    rng = np.random.default_rng(seed)
    regrets = rng.normal(size=(sites, 7)) * 10.0 ** (power + rng.integers(-12, 13, size=(sites, 7)))
    regrets[:, 5], regrets[rng.integers(sites), 6] = 0.0, rng.choice([np.inf, 1e250, -1e250])
    compiled, plain = both(lambda: total_regret(regrets))
    assert compiled.tolist() == plain.tolist() == total_regret(regrets[rng.permutation(sites)]).tolist()
    for at in range(6):
        assert compiled[at] == pytest.approx(
            math.fsum(regrets[:, at]), rel=1e-15, abs=1e-28 * np.abs(regrets[:, at]).max()
        )
    assert compiled[6] == np.inf


@needs_loops
def test_sums_over_many_cells() -> None:
    """More than are added up at a time."""
    regrets = np.random.default_rng(0).normal(size=(3, 5, 1000))
    compiled, plain = both(lambda: total_regret(regrets))
    assert compiled.tolist() == plain.tolist() == total_regret(regrets[::-1]).tolist()
    assert compiled == pytest.approx(regrets.sum(axis=0))


@needs_loops
@given(st.integers(0, 7), st.integers(0, 2**32 - 1))
def test_the_best_of_subsets_is_by_definition(m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lattice = np.where(rng.random((2, 3, 1 << m)) < 0.1, -np.inf, rng.normal(size=(2, 3, 1 << m)))
    before = lattice.copy()
    for found in both(lambda: best_of_subsets(lattice)):
        for at in range(1 << m):
            expected = lattice[..., [s for s in range(1 << m) if not s & ~at]].max(axis=-1)
            assert found[..., at].tolist() == expected.tolist()
    assert lattice.tolist() == before.tolist()


@needs_loops
@given(st.integers(1, 14), st.integers(0, 2**32 - 1), st.booleans())
def test_a_climb_ends_at_the_same_dag_where_no_change_gains(p: int, seed: int, wide: bool) -> None:
    matrix, blocks = blocks_of(p, seed) if wide else (correlations(p, seed, rows=200), None)
    score = GaussianScore(matrix, 200, blocks=blocks)
    climbed, by_numpy = both(lambda: hill_climb(score))
    assert climbed == by_numpy
    assert score.climb(RESOLUTION, MOST_STEPS * p * p) == climbed
    total = sum(score.local(list(enumerate(climbed))))
    for head in range(p):
        for tail in range(p):
            if head == tail:
                continue
            changed = list(climbed)
            changed[head] ^= 1 << tail
            turned = list(changed)
            turned[tail] ^= 1 << head
            turns = climbed[head] >> tail & 1
            for other in (changed, turned) if turns else (changed,):
                if topological_order(other) is not None:
                    assert sum(score.local(list(enumerate(other)))) <= total + 3 * RESOLUTION


@needs_loops
def test_climbs_that_take_parents_away_are_the_same() -> None:
    """Many parents are added and removed: factorisations outgrow their memory and are computed again."""
    for seed in range(20):
        sim = fp.simulate(40, clients=2, samples=400, edges=150, seed=seed)
        score = GaussianScore(np.corrcoef(sim.sites[1].to_numpy().T), 400)
        climbed, by_numpy = both(lambda: hill_climb(score))  # noqa: B023
        assert climbed == by_numpy
    assert max(into.bit_count() for into in climbed) > 8


@needs_loops
@pytest.mark.parametrize("rows", [3, 5, 12])
def test_a_climb_with_few_rows_is_left_to_numpy(rows: int) -> None:
    score = GaussianScore(correlations(15, 1, rows=40), rows)
    climbed, by_numpy = both(lambda: hill_climb(score))
    assert climbed == by_numpy


@pytest.mark.parametrize("kind", [loops, kernel.NoLoops()])
def test_collinear_columns_are_named(kind: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "loops", kind)
    x = np.random.default_rng(0).normal(size=(100, 14))
    x[:, 3] = x[:, 0] - x[:, 1]
    score = GaussianScore(np.corrcoef(x.T), 100, [f"v{i}" for i in range(14)], site="north")
    expected = r"the columns v0, v1, v3 at site 'north' are exactly collinear"
    with pytest.raises(fp.InputError, match=expected):
        score.lattice(np.array([3]), np.array([[0, 1]]))
    with pytest.raises(fp.InputError, match=expected):
        score.extremes(np.array([3, 3]), np.array([[0, 1], [0, 2]]))
    with pytest.raises(fp.InputError, match=expected):
        score.local([(0, 0b10), (3, 0b11)])
    with pytest.raises(fp.InputError, match="are exactly collinear"):
        hill_climb(score)
    pairs = GaussianScore(
        np.corrcoef(x.T), 100, [f"w{i}" for i in range(7)], blocks=[[2 * i, 2 * i + 1] for i in range(7)], site="north"
    )
    expected = r"the columns w0, w1 at site 'north' are exactly collinear"
    with pytest.raises(fp.InputError, match=expected):
        pairs.lattice(np.array([1]), np.array([[0]]))
    with pytest.raises(fp.InputError, match=expected):
        pairs.extremes(np.array([1]), np.array([[0]]))
    with pytest.raises(fp.InputError, match=expected):
        pairs.local([(1, 0b1)])
    with pytest.raises(fp.InputError, match="are exactly collinear"):
        hill_climb(pairs)


class Table:
    """Lattices of random numbers, some sets forbidden by knowledge."""

    def __init__(self, p: int, rng: np.random.Generator) -> None:
        self.names = tuple(f"v{i}" for i in range(p))
        self._rng = rng

    def regrets(self, families: Any) -> Any:
        return [self._rng.normal(size=(2, len(nodes), 1 << free.shape[1])) for nodes, _, free in families]


@needs_loops
@given(st.integers(2, 9), st.integers(0, 2**32 - 1), st.booleans())
def test_orders_are_improved_by_the_same_moves(p: int, seed: int, knows: bool) -> None:
    rng = np.random.default_rng(seed)
    oracle = Table(p, rng)
    known = unconstrained(oracle.names)
    if knows:
        known = Knowledge(required=[("v0", "v1")], forbidden=[("v1", f"v{p - 1}")]).constraints(oracle.names)
    sets = ParentSets(oracle, 0.1, known)
    for _ in range(2):
        some = rng.random((p, p)) < 0.5
        np.fill_diagonal(some, False)
        sets.fetch((node, 0, free | known.required[node]) for node, free in enumerate(bits.rows(some)))
    start = rng.permutation(p).tolist()
    compiled, plain = both(lambda: Order(sets, start))
    assert (compiled._loops is loops) and isinstance(plain._loops, kernel.NoLoops)
    draws = [np.random.default_rng(seed) for _ in range(2)]
    for step in range(4):
        kept = [order.state() for order in (compiled, plain)]
        for order, draw in zip((compiled, plain), draws, strict=True):
            order.improve(order.shake(draw), draw)
        if step == 2:
            compiled.restore(kept[0])
            plain.restore(kept[1])
        for one, other in zip(compiled.state(), plain.state(), strict=True):
            assert one.tolist() == other.tolist()


@needs_loops
@pytest.mark.parametrize("method", [fp.IPERI(), fp.PERI(), fp.IPERI(masking="consensus", aggregate="worst")])
def test_runs_find_the_same_graph(method: fp.IPERI) -> None:
    for p, seed in ((8, 0), (14, 1), (20, 2), (30, 3), (40, 4)):
        sim = fp.simulate(p, clients=3, samples=600, seed=seed)
        compiled, plain = both(lambda: method.fit(sim.sites))  # noqa: B023
        assert (compiled.graph, compiled.dag, compiled.queries) == (plain.graph, plain.dag, plain.queries)
        for site, regret in compiled.regrets.items():
            assert regret == pytest.approx(plain.regrets[site], abs=1e-6)


@needs_loops
@pytest.mark.parametrize("data", ["nonlinear", "mixed"])
def test_runs_over_blocks_of_columns_find_the_same_graph(data: Any) -> None:
    for p, seed in ((8, 0), (16, 1), (24, 2)):
        sites = fp.simulate(p, clients=3, samples=600, mechanism="nonlinear", seed=seed).sites
        if data == "mixed":
            for table in sites:
                for name in table.columns[::2]:
                    table[name] = np.where(table[name] > 0.7, "high", np.where(table[name] < -0.7, "low", "middle"))
        compiled, plain = both(lambda: fp.IPERI(data=data).fit(sites))  # noqa: B023
        assert (compiled.graph, compiled.dag, compiled.queries) == (plain.graph, plain.dag, plain.queries)
        for site, regret in compiled.regrets.items():
            assert regret == pytest.approx(plain.regrets[site], abs=1e-6)


# -- what loops refuse -------------------------------------------------------------------------------------------------


FIRST = np.arange(4)  # three variables of one column each


@needs_loops
@pytest.mark.parametrize(
    ("correlation", "first", "variables", "out", "smallest", "error", "says"),
    [
        (np.eye(3), FIRST, [[0, 1]], (1, 2), 1, TypeError, "bytes-like"),
        (np.eye(3, dtype=np.float32), FIRST, np.array([[0, 1]]), (1, 2), 1, TypeError, "type 'f'"),
        (np.eye(3), FIRST, np.array([[0, 1]], np.int32), (1, 2), 1, TypeError, "type 'i'"),
        (np.eye(6)[::2, ::2], FIRST, np.array([[0, 1]]), (1, 2), 1, ValueError, "contiguous"),
        (np.ones((3, 2)), FIRST, np.array([[0, 1]]), (1, 2), 1, ValueError, "square"),
        (np.eye(3), np.arange(3), np.array([[0, 1]]), (1, 2), 1, ValueError, "the columns of each variable"),
        (np.eye(3), np.array([0, 1, 1, 3]), np.array([[0, 1]]), (1, 2), 1, ValueError, "the columns of each variable"),
        (np.eye(3), np.array([0, 9, 1, 3]), np.array([[0, 1]]), (1, 2), 1, ValueError, "the columns of each variable"),
        (np.eye(3), np.array([1, 2, 3]), np.array([[0, 1]]), (1, 2), 1, ValueError, "the columns of each variable"),
        (np.eye(3), np.array([], int), np.array([[0, 1]]), (1, 2), 1, ValueError, "the columns of each variable"),
        (np.eye(3), FIRST, np.array([[0, 1]]), (1, 4), 1, ValueError, "shape"),
        (np.eye(3), FIRST, np.array([[0, 1]]), (1, 2), 2, ValueError, "shape"),
        (np.eye(3), FIRST, np.array([0, 1]), (1, 2), 1, ValueError, "shape"),
        (np.eye(3), FIRST, np.array([[0, 3]]), (1, 2), 1, IndexError, "not there"),
        (np.eye(3), FIRST, np.array([[-1, 0]]), (1, 2), 1, IndexError, "not there"),
        (np.eye(40), np.arange(41), np.arange(40)[None], (1, 2), 1, ValueError, "at most 30 variables"),
    ],
)
def test_loops_over_subsets_refuse_other_arrays(
    correlation: Any, first: Any, variables: Any, out: Any, smallest: int, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        loops.scores(correlation, first, 100.0, 1.0, 1e-10, variables, np.empty(out), np.empty(smallest))


TABLE = (np.eye(3), FIRST, 100.0, 1.0, 1e-10)


@needs_loops
def test_loops_do_not_write_to_what_is_not_theirs() -> None:
    with pytest.raises(ValueError, match="read-only"):
        loops.scores(*TABLE, np.array([[0, 1]]), np.frombuffer(bytes(16)).reshape(1, 2), np.empty(1))


@needs_loops
@pytest.mark.parametrize(
    ("variables", "starts", "error"),
    [
        ([0, 1], [0, 1], ValueError),
        ([0, 1], [1, 2], ValueError),
        ([0, 1], [0, 0, 2], ValueError),
        ([0, 1], [0, 3, 2], ValueError),
        ([], [], ValueError),
        ([0, 3], [0, 2], IndexError),
        ([-1, 0], [0, 2], IndexError),
    ],
)
def test_a_loop_over_sets_refuses_queries_that_are_none(
    variables: list[int], starts: list[int], error: type[Exception]
) -> None:
    count = max(len(starts) - 1, 0)
    with pytest.raises(error):
        loops.local(*TABLE, np.array(variables, int), np.array(starts, int), np.empty(count), np.empty(count))


@needs_loops
def test_other_loops_refuse_other_arrays() -> None:
    with pytest.raises(ValueError, match="shape"):
        loops.climb(*TABLE, 1e-4, 10, np.zeros((2, 3), dtype=bool))
    with pytest.raises(ValueError, match="square"):
        loops.climb(np.ones((3, 2)), *TABLE[1:], 1e-4, 10, np.zeros((3, 3), dtype=bool))
    with pytest.raises(ValueError, match="power of two"):
        loops.best_of_subsets(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="power of two"):
        loops.adaptive(np.zeros((2, 0)), 1.0, 3.0)
    with pytest.raises(ValueError, match="shape"):
        loops.add_up(np.zeros((2, 3)), np.zeros(2))
    with pytest.raises(ValueError, match="at most"):
        loops.extremes(*TABLE, np.array([[0]]), np.empty((3, 1)), np.empty(1))  # no candidate at all
    with pytest.raises(ValueError):
        loops.move("no order", 0, 0, np.zeros(2, dtype=bool))
    sets = ParentSets(Table(3, np.random.default_rng(0)), 0.1, unconstrained("abc"))
    sets.fetch((node, 0, 0b111 ^ 1 << node) for node in range(3))
    order = Order(sets, [0, 1, 2])
    stale = np.zeros(3, dtype=bool)
    for node, to in ((3, 0), (0, 3), (-1, 0), (0, -1)):
        with pytest.raises(IndexError):
            order._move(node, to, stale)
    for some, behind in ((3, 0), (-1, 0), (0, 3), (0, -2)):
        with pytest.raises(IndexError):
            order._move_in_turn(np.array([some]), np.array([behind]), stale)
    with pytest.raises(IndexError):
        order._best_places(np.array([3]))
    assert order.nodes.tolist() == [0, 1, 2]


def test_a_call_with_too_many_arrays_is_refused(tmp_path: Path) -> None:
    """No call takes more than there is room for, so the loops are compiled again with room for two."""
    compiler = shutil.which("cc")
    if compiler is None or not Path(sysconfig.get_path("include"), "Python.h").is_file():
        pytest.skip("no C compiler here, or no headers of Python")
    folder = Path(__file__).parents[2] / "src/fedperi/scores/_kernel"  # an installed package has no sources
    sources = sorted(str(path) for path in folder.glob("*.c"))
    flags = ["-O0", "-shared", "-fPIC", "-DMOST_ARRAYS=2", "-DPy_LIMITED_API=0x030B0000"]
    if sys.platform == "darwin":
        flags += ["-undefined", "dynamic_lookup"]
    built = str(tmp_path / "_loops.abi3.so")
    include = f"-I{sysconfig.get_path('include')}"
    subprocess.run([compiler, *flags, include, *sources, "-o", built, "-lm"], check=True)
    code = (
        "import numpy as np, _loops; print(_loops.add_up(np.ones((2, 1)), np.empty(1)))\n"
        "try: _loops.layers(*[np.zeros((2, 1))] + [np.zeros((2, 1), int)] + [np.zeros(2, int)] * 4)\n"
        "except ValueError as error: print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert out.stdout.splitlines() == ["True", "a loop takes at most 2 arrays"]


@needs_loops
def test_sizes_of_subsets_fit_the_loops() -> None:
    """The loops take sets of 30; what may be asked is less."""
    from fedperi.protocol.messages import MAX_SET

    assert MAX_SET <= 30
    assert subset_sizes(3).tolist() == [0, 1, 1, 2, 1, 2, 2, 3]
