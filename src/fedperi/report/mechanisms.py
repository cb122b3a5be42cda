"""The content of the report that comes from the comparison of mechanisms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isinf
from typing import TYPE_CHECKING

from ..methods.certainty import Word, how_sure
from .edges import Share, ShownEdge
from .grades import count_grades, grade_words, what_they_rest_on
from .hidden import Suspicion, suspicions
from .matrix import Matrix, site_matrix
from .strengths import Strength, strength

if TYPE_CHECKING:
    from ..methods.effects.estimates import Effects
    from ..methods.parts import Groups, Robustness
    from ..methods.result import Result

WEAK, STRONG = 3.0, 7.0
"""Evidence below the first number (in nats) is called weak, above the second strong: odds of 20 and of 1,100 to 1."""

NOTABLE = 0.05
"""A pair without an edge is listed if the probability of an edge is at least this."""


@dataclass(frozen=True)
class GradedEdge:
    """How certain an edge is.

    Attributes
    ----------
    shares : tuple of Share
        Probabilities: of the direction as written, of the reverse, of no edge.
    words : str
        What the direction depends on: "confirmed", "rests on Lyon alone", "open".
    grade : {"confirmed", "alone", "open"}
        The same for style sheets.
    flips : tuple of str
        What reverses it or leaves it open; for an open edge, what makes the other direction more probable, or removes
        it.
    strength : str
        Strength of the evidence for the edge; empty if the result has none.
    differences : tuple of str
        What sites do differently at its ends.
    sure : Word or None
        The probability of the direction as written, as one of four words.
    effects : tuple of (str, Strength)
        The effect along the arrow, for an open edge in both directions; empty if the sites' summaries are not
        available.
    hidden : tuple of str
        Warnings that its ends may have a hidden common cause, with their evidence.
    """

    shares: tuple[Share, ...]
    words: str
    grade: str
    flips: tuple[str, ...]
    strength: str
    differences: tuple[str, ...]
    sure: Word | None
    effects: tuple[tuple[str, Strength], ...]
    hidden: tuple[str, ...] = ()

    @property
    def tried(self) -> bool:
        """Whether further runs tested the edge; not for open edges, nor for background knowledge."""
        return bool(self.flips) or self.words not in ("open", "known beforehand")


@dataclass(frozen=True)
class Said:
    """One difference at a site: a sentence, and the strength of the evidence."""

    words: str
    evidence: str


@dataclass(frozen=True)
class SharedBy:
    """A variable and the sites that share its mechanism, group by group; sites where it has one value."""

    variable: str
    groups: tuple[tuple[str, ...], ...]
    constant: tuple[str, ...]
    tied: bool


@dataclass(frozen=True)
class MechanismView:
    """All that the report shows of a result that compares mechanisms.

    Attributes
    ----------
    edges : tuple of GradedEdge
        One for every edge of the report.
    sites : dict of str to tuple of Said
        What each site does differently; only sites with a difference.
    alike : tuple of str
        The other sites.
    variables : dict of str to tuple of str
        For every variable, how sites differ in it.
    shared : tuple of SharedBy
        Which sites share the mechanism of each variable.
    pairs : tuple of (str, str, float)
        Pairs without an edge that may have one, and how probable it is.
    confirmed, resting, lines : int
        Number of edges of each grade.
    rest_on : str
        What edges that are neither confirmed nor open depend on.
    matrix : Matrix
        Sites and variables.
    suspected : tuple of Suspicion
        Variables that may have a hidden common cause.
    """

    edges: tuple[GradedEdge, ...]
    sites: dict[str, tuple[Said, ...]]
    alike: tuple[str, ...]
    variables: dict[str, tuple[str, ...]]
    shared: tuple[SharedBy, ...]
    pairs: tuple[tuple[str, str, float], ...]
    confirmed: int
    resting: int
    lines: int
    rest_on: str
    matrix: Matrix
    suspected: tuple[Suspicion, ...] = ()


def mechanism_view(result: Result, edges: Sequence[ShownEdge], effects: Effects | None = None) -> MechanismView:
    """Collect the content of the report; with `effects` also the strengths of arrows.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.report.edges import drawn_graph, shown_edges
    >>> result = fp.MPERI().fit(fp.simulate(["a", "b"], clients=4, samples=1000, intervention="shift", seed=2).sites)
    >>> view = mechanism_view(result, shown_edges(result, sorted(drawn_graph(result).directed)))
    >>> view.alike
    ('site 1',)
    """
    resting = {frozenset((one.a, one.b)): one for one in result.robustness}
    by_site = {
        site: tuple(Said(one.words, evidence_words(one.evidence)) for one in result.differences if one.site == site)
        for site in result.sites
        if any(one.site == site for one in result.differences)
    }
    confirmed, rest, lines = count_grades(result)
    suspected = suspicions(result)
    graded = (_graded(result, edge, resting.get(frozenset((edge.first, edge.second))), effects) for edge in edges)
    return MechanismView(
        tuple(
            replace(one, hidden=tuple(sign.words for sign in suspected if sign.about(edge.first, edge.second)))
            for one, edge in zip(graded, edges, strict=True)
        ),
        by_site,
        tuple(site for site in result.sites if site not in by_site),
        {name: tuple(one.words for one in result.differences if one.variable == name) for name in result.graph.names},
        tuple(_shared(one) for one in result.groups),
        _pairs(result),
        confirmed,
        rest,
        lines,
        what_they_rest_on(result),
        site_matrix(result),
        suspected,
    )


def evidence_words(nats: float) -> str:
    """Say how strong evidence is.

    Examples
    --------
    >>> evidence_words(2.04), evidence_words(35), evidence_words(float("inf"))
    ('weak evidence (2.0 nats)', 'strong evidence (35 nats)', 'certain')
    """
    if isinf(nats):
        return "certain"
    word = "weak" if nats < WEAK else "moderate" if nats < STRONG else "strong"
    return f"{word} evidence ({nats:,.{1 if abs(nats) < 10 else 0}f} nats)"


def _graded(result: Result, edge: ShownEdge, robust: Robustness | None, effects: Effects | None) -> GradedEdge:
    chance = next((one for one in result.probable if {one.a, one.b} == {edge.first, edge.second}), None)
    shares: tuple[Share, ...] = ()
    if chance is not None:
        ways = (chance.forward, chance.backward)
        forward, backward = ways if chance.a == edge.first else ways[::-1]
        shares = (
            Share(f"{edge.first} → {edge.second}", forward, "forward"),
            Share(f"{edge.first} ← {edge.second}", backward, "backward"),
            Share("no edge", chance.none, "absent"),
        )
    words = grade_words(robust, len(result.sites))
    return GradedEdge(
        shares,
        words,
        {"confirmed": words, "open": words, "known beforehand": "confirmed"}.get(words, "alone"),
        _flips(robust),
        "" if edge.evidence is None else evidence_words(edge.evidence.gain),
        tuple(one.words for one in result.differences if one.variable in (edge.first, edge.second)),
        how_sure(shares[0].share, edge.marks["closed"] != "line") if shares else None,
        () if effects is None else _strengths(edge, effects),
    )


def _strengths(edge: ShownEdge, effects: Effects) -> tuple[tuple[str, Strength], ...]:
    """Return the effect along an arrow; for an open edge the direct effects in both directions, if each were true."""
    first, second = edge.first, edge.second
    if edge.marks["closed"] != "line":
        return ((f"{first} → {second}", strength(effects, first, second)),)
    return tuple((f"{a} → {b}", strength(effects, a, b).only_direct()) for a, b in ((first, second), (second, first)))


def _flips(robust: Robustness | None) -> tuple[str, ...]:
    """Return what changes an edge. An open edge has no arrow that could be reversed or become open."""
    if robust is None or robust.grade:
        return () if robust is None else robust.flips
    other = (flip.replace("the arrow is reversed", "the other direction is more probable") for flip in robust.flips)
    return tuple(flip for flip in other if not flip.endswith("the direction is open"))


def _shared(one: Groups) -> SharedBy:
    tied = len(one.groups) > 1 and len(one.groups[0]) == len(one.groups[1])
    return SharedBy(one.variable, one.groups, one.constant, tied)


def _pairs(result: Result) -> tuple[tuple[str, str, float], ...]:
    """List pairs without an edge that may have one, the most probable first."""
    found = [
        (one.a, one.b, 1 - one.none)
        for one in result.probable
        if one.b not in result.graph.adjacent(one.a) and 1 - one.none >= NOTABLE
    ]
    return tuple(sorted(found, key=lambda pair: -pair[2]))
