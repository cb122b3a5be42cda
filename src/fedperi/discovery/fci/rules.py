"""The orientation rules of FCI: R0, and the ten of Zhang (2008), "On the completeness of orientation rules".

Every rule looks at the graph as it is and yields proposals. They are carried out together (`Ends.apply`), so that no
result depends on the order of the variables. In the comments ``*`` stands for any mark.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ...graph import bits
from ...graph.ancestral.pag import ARROW, TAIL
from .ends import Ends, Proposal
from .paths import circle_cycles, discriminated, first_steps
from .skeleton import Separated
from .triples import Triples


def orient(ends: Ends, found: Separated, triples: Triples, selection: bool = True) -> None:
    """Apply R1 to R10 until nothing changes; R0, and what is known beforehand, come before.

    Parameters
    ----------
    ends : Ends
        Changed in place.
    found : Separated
        What separates the pairs that are not joined.
    triples : Triples
        What is known of the unshielded ones.
    selection : bool
        Whether rows may be selected by the variables. If not, R5 to R7 are left out.
    """
    while True:
        if any(ends.apply(rule(ends, triples)) for rule in (rule_1, rule_2, rule_3)):
            continue
        if ends.apply(rule_4(ends, triples, found)):
            continue
        if selection and any(ends.apply(rule(ends, triples)) for rule in (rule_5, rule_6, rule_7)):
            continue
        if not any(ends.apply(rule(ends, triples)) for rule in (rule_8, rule_9, rule_10)):
            return


def rule_0(triples: Triples) -> Iterator[Proposal]:
    """R0: a *-* b *-* c with a and c not joined, and b not in what separates them: a *-> b <-* c."""
    for a, b, c in triples.colliders:
        yield a, b, ARROW
        yield c, b, ARROW


def rule_1(ends: Ends, triples: Triples) -> Iterator[Proposal]:
    """R1: a *-> b o-* c with a and c not joined, and b clearly no collider: b --> c."""
    for b, arrows in enumerate(ends.arrow):
        for c in bits.members(ends.circle[b] if arrows else 0):
            if triples.clear(c, b, arrows & ~ends.adjacent[c] & ~(1 << c)) and not ends.tail[c] >> b & 1:
                yield c, b, TAIL
                yield b, c, ARROW


def rule_2(ends: Ends, _triples: Triples) -> Iterator[Proposal]:
    """R2: a --> b *-> c or a *-> b --> c, and a *-o c: a *-> c."""
    for c, circles in enumerate(ends.circle):
        for a in bits.members(circles):
            for b in bits.members(ends.arrow[c] & ends.adjacent[a]):
                if ends.arrow[b] >> a & 1 and (ends.tail[a] >> b & 1 or ends.tail[b] >> c & 1):
                    yield a, c, ARROW
                    break


def rule_3(ends: Ends, triples: Triples) -> Iterator[Proposal]:
    """R3: a *-> b <-* c, a *-o d o-* c, a and c not joined, d *-o b: d *-> b."""
    for b, circles in enumerate(ends.circle):
        for d in bits.members(circles):
            both = ends.arrow[b] & ends.circle[d]
            if any(triples.clear(a, d, both & ~ends.adjacent[a] & ~(1 << a)) for a in bits.members(both)):
                yield d, b, ARROW


def rule_4(ends: Ends, triples: Triples, found: Separated) -> Iterator[Proposal]:
    """R4: A path from d discriminates b from its neighbour c, b o-* c.

    If b is in what separates d and c: b --> c; otherwise a <-> b <-> c, with a before b on the path.
    """
    for b, circles in enumerate(ends.circle):
        for c in bits.members(circles):
            for a, d in discriminated(ends, b, c):
                separator = found.separator(d, c)
                if separator is None or not triples.clear(d, b, 1 << c):
                    continue
                if separator >> b & 1:
                    yield c, b, TAIL
                    yield b, c, ARROW
                else:
                    yield a, b, ARROW
                    yield c, b, ARROW
                    yield b, c, ARROW


def rule_5(ends: Ends, triples: Triples) -> Iterator[Proposal]:
    """R5: a o-o b, and an uncovered path of o-o edges from a to b: all these edges are undirected.

    The second node of the path must not be joined with b, nor the last but one with a.
    """
    for path in circle_cycles(ends, triples):
        for u, v in zip(path, (*path[1:], path[0]), strict=True):
            yield u, v, TAIL
            yield v, u, TAIL


def rule_6(ends: Ends, _triples: Triples) -> Iterator[Proposal]:
    """R6: a --- b o-* c: b --* c."""
    for b, tails in enumerate(ends.tail):
        if any(ends.tail[a] >> b & 1 for a in bits.members(tails)):
            for c in bits.members(ends.circle[b]):
                yield c, b, TAIL


def rule_7(ends: Ends, triples: Triples) -> Iterator[Proposal]:
    """R7: a --o b o-* c with a and c not joined: b --* c."""
    for b, circles in enumerate(ends.circle):
        out = sum(1 << a for a in bits.members(circles) if ends.tail[a] >> b & 1)
        for c in bits.members(circles):
            if triples.clear(c, b, out & ~ends.adjacent[c] & ~(1 << c)):
                yield c, b, TAIL


def rule_8(ends: Ends, _triples: Triples) -> Iterator[Proposal]:
    """R8: a --> b --> c or a --o b --> c, and a o-> c: a --> c."""
    for a, c in _half_arrows(ends):
        between = ends.parents(c) & ends.adjacent[a]
        if any(ends.tail[a] >> b & 1 and not ends.tail[b] >> a & 1 for b in bits.members(between)):
            yield c, a, TAIL


def rule_9(ends: Ends, triples: Triples) -> Iterator[Proposal]:
    """R9: a o-> c, and an uncovered path from a to c that may be directed: a --> c.

    Its second node must not be joined with c.
    """
    steps = first_steps(ends, triples)
    for a, c in _half_arrows(ends):
        if triples.clear(c, a, steps(a, c) & ~ends.adjacent[c] & ~(1 << c)):
            yield c, a, TAIL


def rule_10(ends: Ends, triples: Triples) -> Iterator[Proposal]:
    """R10: a o-> c, b --> c <-- d, and uncovered paths from a to b and to d that may be directed: a --> c.

    Their second nodes must be different and not joined.
    """
    steps = first_steps(ends, triples)
    for a, c in _half_arrows(ends):
        second = [steps(a, b) for b in bits.members(ends.parents(c) & ~(1 << a))]
        if any(
            triples.clear(v, a, one & ~ends.adjacent[v] & ~(1 << v))
            for one, other in combinations(second, 2)
            for v in bits.members(other)
        ):
            yield c, a, TAIL


def _half_arrows(ends: Ends) -> Iterator[tuple[int, int]]:
    """The edges a o-> c."""
    for c, arrows in enumerate(ends.arrow):
        for a in bits.members(arrows):
            if ends.circle[a] >> c & 1:
                yield a, c
