"""Compiled loops and numpy's code compute the same, and loops refuse arrays that are not what they take for granted."""

import shutil
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import fedperi as fp
from fedperi import kernel
from fedperi.graph import bits
from fedperi.graph.knowledge import Knowledge, unconstrained
from fedperi.graph.order import topological_order
from fedperi.local import GaussianScore
from fedperi.local.lattice import best_of_subsets, extremes_of, residuals, subset_sizes
from fedperi.local.optimum import MOST_STEPS, hill_climb
from fedperi.local.score import RESOLUTION
from fedperi.search.families import ParentSets
from fedperi.search.orders import make_order

Floats = NDArray[np.float64]

loops = kernel.loops
needs_loops = pytest.mark.skipif(loops is None, reason="the loops were not compiled: there is no C compiler")


@pytest.fixture(autouse=True)
def _put_back() -> Iterator[None]:
    yield
    kernel.loops = loops


def both(compute):  # type: ignore[no-untyped-def]
    """The results with compiled loops and without."""
    found = [compute() for kernel.loops in (loops, None)]
    kernel.loops = loops
    return found


def correlations(p: int, seed: int, rows: int = 60) -> Floats:
    """Of a random SEM: some variables nearly determined by others, some independent."""
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
    code = "import fedperi.kernel as k; print(k.kind(), k.loops is None)"
    out = subprocess.run(
        [sys.executable, "-c", code], env={"FEDPERI_KERNEL": value, "PATH": ""}, capture_output=True, text=True
    )
    assert out.stdout.split() == [kind, str(kind == "numpy")]


def test_a_run_notes_which_it_was() -> None:
    for kernel.loops in (loops, None):
        manifest = fp.IPERI().fit(fp.simulate(3, clients=2, samples=100, seed=1).sites).manifest
        assert manifest["kernel"] == ("numpy" if kernel.loops is None else "compiled")


@needs_loops
@given(st.integers(2, 8), st.integers(0, 2**32 - 1), st.data())
def test_lattices_are_equal_to_the_last_bit(p: int, seed: int, data: st.DataObject) -> None:
    m = data.draw(st.integers(0, p - 1))
    matrix, rng = correlations(p, seed), np.random.default_rng(seed)
    columns = np.array([rng.permutation(p)[: m + 1] for _ in range(3)])
    (one, least), (other, least_by_numpy) = both(lambda: residuals(matrix, columns))
    assert one.tolist() == other.tolist()
    assert np.minimum(least, 1).tolist() == np.minimum(least_by_numpy, 1).tolist()
    for row, (*given_, node) in enumerate(columns.tolist()):  # and they are what they should be
        inside = np.linalg.inv(matrix[np.ix_([*given_, node], [*given_, node])])
        assert one[row, -1] == pytest.approx(1 / inside[-1, -1], rel=1e-6)


@needs_loops
@given(st.integers(2, 8), st.integers(0, 2**32 - 1), st.data())
def test_extremes_are_those_of_the_lattice(p: int, seed: int, data: st.DataObject) -> None:
    m = data.draw(st.integers(1, p - 1))
    score, rng = GaussianScore(correlations(p, seed), 60), np.random.default_rng(seed)
    rows = []
    for _ in range(3):  # runs of rows that differ in their last candidate only
        *shared, node = rng.permutation(p)[:m].tolist()
        rows += [[*shared, last, node] for last in range(p) if last not in (*shared, node)]
    table = np.array(rows)
    expected = extremes_of(score.lattice(table[:, -1], table[:, :-1]))
    for found in both(lambda: score.extremes(table[:, -1], table[:, :-1])):
        for one, other in zip(found, expected, strict=True):
            assert one == pytest.approx(other, abs=1e-9)


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
@given(st.integers(1, 14), st.integers(0, 2**32 - 1))
def test_a_climb_ends_at_the_same_dag_where_no_change_gains(p: int, seed: int) -> None:
    score = GaussianScore(correlations(p, seed, rows=200), 200)
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
    """Parents that join and leave, many of them: factorisations that grow beyond their room and are made anew."""
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


@pytest.mark.parametrize("kind", [loops, None])
def test_collinear_columns_are_named(kind: object) -> None:
    kernel.loops = kind  # type: ignore[assignment]
    x = np.random.default_rng(0).normal(size=(100, 14))
    x[:, 3] = x[:, 0] - x[:, 1]
    score = GaussianScore(np.corrcoef(x.T), 100, [f"v{i}" for i in range(14)], site="north")
    expected = r"the columns v0, v1, v3 at site 'north' are exactly collinear"
    with pytest.raises(fp.InputError, match=expected):
        score.lattice(np.array([3]), np.array([[0, 1]]))
    with pytest.raises(fp.InputError, match=expected):
        score.extremes(np.array([3, 3]), np.array([[0, 1], [0, 2]]))
    with pytest.raises(fp.InputError, match="are exactly collinear"):
        hill_climb(score)


class Table:
    """Lattices of random numbers, some sets forbidden by knowledge."""

    def __init__(self, p: int, rng: np.random.Generator) -> None:
        self.names = tuple(f"v{i}" for i in range(p))
        self._rng = rng

    def regrets(self, families):  # type: ignore[no-untyped-def]
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
    compiled, plain = both(lambda: make_order(sets, start))
    assert type(compiled) is not type(plain)
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


# -- what loops refuse -------------------------------------------------------------------------------------------------


@needs_loops
@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ((np.eye(3), [[0, 1]], np.empty((1, 2)), np.empty(1)), TypeError, "bytes-like"),
        ((np.eye(3, dtype=np.float32), np.array([[0, 1]]), np.empty((1, 2)), np.empty(1)), TypeError, "type 'f'"),
        ((np.eye(3), np.array([[0, 1]], np.int32), np.empty((1, 2)), np.empty(1)), TypeError, "type 'i'"),
        ((np.eye(6)[::2, ::2], np.array([[0, 1]]), np.empty((1, 2)), np.empty(1)), ValueError, "contiguous"),
        ((np.ones((3, 2)), np.array([[0, 1]]), np.empty((1, 2)), np.empty(1)), ValueError, "square"),
        ((np.eye(3), np.array([[0, 1]]), np.empty((1, 4)), np.empty(1)), ValueError, "shape"),
        ((np.eye(3), np.array([[0, 1]]), np.empty((1, 2)), np.empty(2)), ValueError, "shape"),
        ((np.eye(3), np.array([0, 1]), np.empty((1, 2)), np.empty(1)), ValueError, "shape"),
        ((np.eye(3), np.array([[0, 3]]), np.empty((1, 2)), np.empty(1)), IndexError, "not there"),
        ((np.eye(3), np.array([[-1, 0]]), np.empty((1, 2)), np.empty(1)), IndexError, "not there"),
        ((np.eye(3), np.array([[0, 1]]), np.frombuffer(bytes(16)).reshape(1, 2), np.empty(1)), ValueError, "read-only"),
        ((np.eye(40), np.arange(40)[None], np.empty((1, 2)), np.empty(1)), ValueError, "at most 30 columns"),
    ],
)
def test_loops_over_subsets_refuse_other_arrays(arguments: tuple, error: type[Exception], says: str) -> None:
    assert loops is not None
    with pytest.raises(error, match=says):
        loops.lattices(*arguments)


@needs_loops
def test_other_loops_refuse_other_arrays() -> None:
    assert loops is not None
    with pytest.raises(ValueError, match="shape"):
        loops.climb(np.eye(3), 100.0, 1.0, 1e-4, 1e-10, 10, np.zeros((2, 3), dtype=bool))
    with pytest.raises(ValueError, match="square"):
        loops.climb(np.ones((3, 2)), 100.0, 1.0, 1e-4, 1e-10, 10, np.zeros((3, 3), dtype=bool))
    with pytest.raises(ValueError, match="power of two"):
        loops.best_of_subsets(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="at most"):
        loops.least_residuals(np.eye(2), np.array([[0]]), np.empty((1, 1)), np.empty(1))  # no candidate at all
    with pytest.raises(ValueError):
        loops.move("no order", 0, 0, np.zeros(2, dtype=bool))
    sets = ParentSets(Table(3, np.random.default_rng(0)), 0.1, unconstrained("abc"))
    sets.fetch((node, 0, 0b111 ^ 1 << node) for node in range(3))
    order = make_order(sets, [0, 1, 2])
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


@needs_loops
def test_sizes_of_subsets_fit_the_loops() -> None:
    """The loops take sets of 30; what may be asked is less."""
    from fedperi.federation.messages import MAX_SET

    assert MAX_SET <= 30
    assert subset_sizes(3).tolist() == [0, 1, 1, 2, 1, 2, 2, 3]
