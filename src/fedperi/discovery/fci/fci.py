"""FCI (Spirtes and others; Zhang, 2008): skeleton, possible d-separators, orientation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...graph import bits
from ...graph.ancestral.pag import ARROW, PAG, TAIL
from ...graph.knowledge import Constraints, unconstrained
from ..pc.independence import IndependenceTest
from .ends import Ends, Proposal
from .neighbours import unshielded
from .possible import blocks, possible_d_separators
from .rules import orient, rule_0
from .skeleton import Separated, find_skeleton, prune_further
from .triples import Triples, weigh_triples

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class FCISearch:
    """What FCI found.

    Attributes
    ----------
    graph : PAG
        Over the variables of the test, contexts included.
    separators : dict
        For every pair of names that is not joined, the names that separate it.
    tests : int
        How many independence tests were made.
    complete : bool
        False if a limit on the size of conditioning sets ended the search: some edges may then be superfluous.
    """

    graph: PAG
    separators: dict[tuple[str, str], tuple[str, ...]]
    tests: int
    complete: bool


def fci_search(
    test: IndependenceTest,
    alpha: float = 0.01,
    *,
    max_depth: int | None = None,
    constraints: Constraints | None = None,
    contexts: int = 0,
    selection: bool = True,
    stricter: IndependenceTest | None = None,
    lone: float = 0.0,
    evidence: float = 3.0,
) -> FCISearch:
    """Find the PAG that an independence test supports.

    Parameters
    ----------
    test : IndependenceTest
        Its last variables may be contexts.
    alpha : float
        Variables with a p-value above it are taken as independent.
    max_depth : int, optional
        The largest conditioning set. Without it, as large as the graph and the number of rows allow.
    constraints : Constraints, optional
        Edges that cannot or must be there; without contexts.
    contexts : int
        How many of the last variables are contexts: caused by nothing, not joined, and in no separating set.
    selection : bool
        Whether rows may be selected by the variables.
    stricter : IndependenceTest, optional
        A test that must agree where a dependence gives directions, for example one that allows for curves.
    lone : float
        Share of the sets of neighbours below which a separation may be chance, and gives no direction. 0 for an oracle.
    evidence : float
        Nats by which a node must be more likely a collider than none, or the other way round, before a rule uses that.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.discovery.oracle import DSeparation
    >>> dag = fp.PDAG.from_edges([("A", "B"), ("H", "B"), ("H", "C"), ("D", "C")])
    >>> fci_search(DSeparation(dag, hidden=["H"])).graph
    PAG('A o-> B, B <-> C, D o-> C', names=['A', 'B', 'C', 'D'])
    """
    p, variables = len(test.names), len(test.names) - contexts
    known, usable = constraints or unconstrained(test.names[:variables]), (1 << variables) - 1
    limit = test.max_given if max_depth is None else min(max_depth, test.max_given)
    found = _with_required(find_skeleton(test, alpha, limit, _allowed(known, p), usable), known)
    # Possible d-separators are found with the colliders of the first skeleton, as the search saw them.
    first = _oriented(found, known, _as_found(found), variables)
    reach = [possible_d_separators(first.adjacent, first.arrow, x) for x in range(p)]
    joined = blocks(found.adjacent)

    def near(x: int, y: int) -> int:
        return reach[x] & joined.get((min(x, y), max(x, y)), 0)

    found = _with_required(prune_further(test, alpha, limit, found, near, usable), known)
    triples, found = weigh_triples(test, alpha, limit, found, usable, stricter, lone, evidence)
    ends = _oriented(found, known, triples, variables)
    orient(ends, found, triples, selection)
    return FCISearch(PAG(ends.marks(), test.names), _named(found, test.names), found.tests, found.complete)


def _named(found: Separated, names: Sequence[str]) -> dict[tuple[str, str], tuple[str, ...]]:
    return {
        (names[x], names[y]): tuple(names[z] for z in bits.members(inside))
        for (x, y), inside in sorted(found.separators.items())
    }


def _allowed(known: Constraints, p: int) -> Bools:
    """Which edges may be there at all.

    A hidden cause may join two variables neither of which causes the other, so that knowledge about causes forbids no
    edge; contexts are not joined with each other.
    """
    allowed = ~np.eye(p, dtype=bool)
    allowed[len(known.names) :, len(known.names) :] = False
    return allowed


def _with_required(found: Separated, known: Constraints) -> Separated:
    """Put edges back that knowledge requires."""
    adjacent, separators = list(found.adjacent), dict(found.separators)
    for b, causes in enumerate(known.required):
        for a in bits.members(causes):
            adjacent[a] |= 1 << b
            adjacent[b] |= 1 << a
            separators.pop((min(a, b), max(a, b)), None)
    return Separated(adjacent, separators, found.tests, found.complete)


def _as_found(found: Separated) -> Triples:
    """Colliders by the separators of the search alone."""
    return Triples(frozenset(t for t in unshielded(found) if not found.separators[t[0], t[2]] >> t[1] & 1), frozenset())


def _oriented(found: Separated, known: Constraints, triples: Triples, variables: int) -> Ends:
    """Marks before the ten rules: background knowledge, contexts, and colliders (R0)."""
    ends = Ends(found.adjacent)
    ends.apply(_known_marks(found.adjacent, known, variables))
    ends.apply(rule_0(triples))
    return ends


def _known_marks(adjacent: Sequence[int], known: Constraints, variables: int) -> list[Proposal]:
    """An arrowhead at a variable that cannot cause the other; out of a context, and of a required cause, an arrow.

    A forbidden cause gives no tail at the other end: a hidden cause may join the two.
    """
    out = [
        (a, b, mark)
        for context in range(variables, len(adjacent))
        for v in bits.members(adjacent[context])
        for a, b, mark in ((context, v, ARROW), (v, context, TAIL))
    ]
    for effect, causes in enumerate(known.forbidden):
        out += [(effect, cause, ARROW) for cause in bits.members(causes & adjacent[effect])]
    for effect, causes in enumerate(known.required):
        for cause in bits.members(causes):
            out += [(cause, effect, ARROW), (effect, cause, TAIL)]
    return out
