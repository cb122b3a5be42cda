"""The second phase of PC: directions, from what separates the ends of unshielded triples. Always a valid CPDAG."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from ..errors import InputError
from ..graph import bits
from ..graph.equivalence import consistent_extension, cpdag, v_structures
from ..graph.order import descendants
from ..graph.pdag import PDAG
from .independence import IndependenceTest
from .pc_evidence import Triple, evidence, unshielded_triples
from .skeleton import Skeleton


def orient(test: IndependenceTest, skeleton: Skeleton, limit: int) -> tuple[PDAG, tuple[str, ...]]:
    """Direct the edges of a skeleton.

    An unshielded x - z - y is a collider if z is in none of the sets that separated x and y. Sampling errors can make
    these findings contradict each other. Then colliders are taken in order of their `evidence` (ties: by name), and one
    that would direct an edge both ways or close a cycle is left out. If what is taken still fits no DAG, a DAG on this
    skeleton is built that overrules few triples. No step depends on the order of the variables.

    Parameters
    ----------
    test : IndependenceTest
        Asked again only if findings contradict each other.
    skeleton : Skeleton
    limit : int
        The largest conditioning set.

    Returns
    -------
    graph : PDAG
        A CPDAG.
    conflicts : tuple of str
        The findings that the graph overrules, in words; empty when all agree.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.local.independence import DSeparation
    >>> from fedperi.local.skeleton import find_skeleton
    >>> test = DSeparation(fp.PDAG.from_edges([("A", "C"), ("B", "C")]))
    >>> orient(test, find_skeleton(test, 0.01, 2), 2)
    (PDAG('A -> C, B -> C', names=['A', 'C', 'B']), ())
    """
    names, triples = test.names, unshielded_triples(skeleton)
    taken, parents = _take([t for t in triples if t.collider], len(names))
    dag = _extension(skeleton, parents, names) if taken else None
    if dag is not None and not _overruled(triples, dag):
        return cpdag(dag), ()
    strength = evidence(test, skeleton, triples, limit).tolist()
    rank = {name: i for i, name in enumerate(sorted(names))}

    def weakest_last(at: int) -> tuple[float, int, list[int]]:
        t = triples[at]
        return -strength[at], rank[names[t.z]], sorted((rank[names[t.x]], rank[names[t.y]]))

    ranked = sorted((at for at, t in enumerate(triples) if t.collider), key=weakest_last)
    _, parents = _take([triples[at] for at in ranked], len(names))
    dag = _extension(skeleton, parents, names)
    if dag is None:
        dag = _nearest_dag(skeleton, triples, strength, parents, names)
    graph = cpdag(dag)
    return graph, tuple(sorted(_in_words(triples[at], strength[at], names) for at in _overruled(triples, graph)))


def _take(colliders: Sequence[Triple], p: int) -> tuple[bool, list[int]]:
    """Direct colliders in turn, but those that contradict an earlier one; return whether all fit, and the parents."""
    parents, children = [0] * p, [0] * p
    fit = True
    for x, z, y, _ in colliders:
        ends = 1 << x | 1 << y
        # A path from z to an end would become a cycle; an edge already directed the other way is the shortest one.
        if descendants(children, 1 << z) & ends:
            fit = False
            continue
        parents[z] |= ends
        children[x] |= 1 << z
        children[y] |= 1 << z
    return fit, parents


def _extension(skeleton: Skeleton, parents: list[int], names: tuple[str, ...]) -> PDAG | None:
    """Return a DAG with these arrows and no further v-structure, or None if there is none."""
    arrows = bits.matrix(parents).T if parents else skeleton.adjacent
    try:
        # The CPDAG of the result is the pattern closed under Meek's rules.
        return consistent_extension(PDAG._known_acyclic(skeleton.adjacent & ~arrows.T, names))
    except InputError:
        return None


def _nearest_dag(
    skeleton: Skeleton, triples: list[Triple], strength: list[float], parents: list[int], names: tuple[str, ...]
) -> PDAG:
    """Dor and Tarsi's construction, with the sink that overrules least where none fits.

    Least is the fewest triples, then the smallest sum of their p-values, then the first name: no order of columns.
    """
    colliders = {t[:3] for t in triples if parents[t.z] >> t.x & parents[t.z] >> t.y & 1}
    touching: list[list[int]] = [[] for _ in names]
    for at, t in enumerate(triples):
        for node in t[:3]:
            touching[node].append(at)
    adjacent = bits.rows(skeleton.adjacent)

    def cost(sink: int, left: int) -> tuple[int, float, str]:
        # As a sink, a node in the middle makes a collider, and a node at an end makes none.
        wrong = [
            strength[at]
            for at in touching[sink]
            for t in [triples[at]]
            if left >> t.x & left >> t.z & left >> t.y & 1 and (t.z == sink) != (t[:3] in colliders)
        ]
        return len(wrong), fsum(wrong), names[sink]

    oriented = [0] * len(names)
    left = (1 << len(names)) - 1
    while left:
        sink = min(bits.members(left), key=lambda node: cost(node, left))
        left ^= 1 << sink
        oriented[sink] = adjacent[sink] & left
    return PDAG._known_acyclic(bits.matrix(oriented).T, names)


def _overruled(triples: list[Triple], graph: PDAG) -> list[int]:
    """Positions of the triples of which the graph says something else."""
    final = {tuple(map(graph.index, names)) for names in v_structures(graph)}
    return [at for at, t in enumerate(triples) if t.collider != (t[:3] in final)]


def _in_words(t: Triple, p_value: float, names: tuple[str, ...]) -> str:
    (a, b), z = sorted((names[t.x], names[t.y])), names[t.z]
    why = "left out" if t.collider else "forced"
    how = "without" if t.collider else "given"
    return (
        f"{a} -> {z} <- {b} {why} by other findings, though {a} and {b} were separated {how} {z} "
        f"(largest p-value given neighbours: {p_value:.3g})"
    )
