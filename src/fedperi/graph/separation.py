"""d-separation in a DAG."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..errors import InputError
from . import bits
from .equivalence import parents_of
from .order import descendants
from .pdag import PDAG


def d_separated(dag: PDAG, x: str | Iterable[str], y: str | Iterable[str], given: str | Iterable[str] = ()) -> bool:
    """Whether `given` blocks every path between `x` and `y` in a DAG.

    Parameters
    ----------
    dag : PDAG
        A graph without undirected edges.
    x, y, given : str or iterable of str
        Disjoint sets of variables; `given` may be empty.

    Examples
    --------
    >>> import fedperi as fp
    >>> collider = fp.PDAG.from_edges(directed=[("A", "C"), ("B", "C")])
    >>> fp.d_separated(collider, "A", "B"), fp.d_separated(collider, "A", "B", given="C")
    (True, False)
    """
    parents, children = parents_of(dag), bits.rows(dag.adjacency)
    xs, ys, zs = (_as_set(dag, s) for s in (x, y, given))
    for shared in (xs & ys, xs & zs, ys & zs):
        if shared:
            name = dag.names[next(bits.members(shared))]
            raise InputError(f"{name!r} is in two of the sets x, y and given: they must not overlap")
    return not reachable(parents, children, xs, zs) & ys


def reachable(parents: Collection[int], children: Collection[int], start: int, given: int) -> int:
    """Return the nodes with an open path from `start` given `given`, as a bit set (Bayes ball, for sets of nodes)."""
    above, below = list(parents), list(children)
    opens_colliders = descendants(above, given)  # given nodes and their ancestors
    seen_up, seen_down = 0, 0  # reached against an arrow (from a child), reached along one (from a parent)
    up, down = start, 0
    while up or down:
        seen_up |= up
        seen_down |= down
        through = up & ~given
        next_up = bits.union(above, through) | bits.union(above, down & opens_colliders)
        next_down = bits.union(below, through | down & ~given)
        up, down = next_up & ~seen_up, next_down & ~seen_down
    return (seen_up | seen_down) & ~given


def _as_set(dag: PDAG, names: str | Iterable[str]) -> int:
    out = 0
    for name in [names] if isinstance(names, str) else names:
        out |= 1 << dag.index(name)
    return out
