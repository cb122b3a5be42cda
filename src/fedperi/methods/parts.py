"""Parts of a result besides its graph: probabilities of pairs, differences between sites, robustness of directions."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["shifted", "spread", "strengths", "cut", "constant"]


class PairProbability(NamedTuple):
    """How probable it is that a causes b, that b causes a, and that neither causes the other directly."""

    a: str
    b: str
    forward: float
    backward: float
    none: float


class Robustness(NamedTuple):
    """What one direction depends on.

    Attributes
    ----------
    a, b : str
        Cause and effect.
    grade : str
        ``"confirmed"`` if the direction holds whichever site is left out; ``"one site"`` if it is lost without one of
        them, or if there are too few sites to leave one out; ``"straight lines"`` if it is lost when effects may be
        curved; ``"known"`` if background knowledge states it; empty if the graph does not direct the edge.
    site : str
        The site that it depends on, or the sites if it needs each of several; empty if there is no such site.
    flips : tuple of str
        What reverses a direction or leaves it open, in words.
    """

    a: str
    b: str
    grade: str
    site: str
    flips: tuple[str, ...]


class Difference(NamedTuple):
    """One variable whose mechanism differs at a site.

    Attributes
    ----------
    site, variable : str
        The site and the variable.
    kind : str
        ``"shifted"`` (another level), ``"spread"`` (varies more or less), ``"strengths"`` (depends on its causes
        more or less strongly), ``"cut"`` (does not depend on some of them at all), ``"constant"``.
    evidence : float
        How much worse the usual mechanism explains the site, in nats. Infinite for a number that is constant there.
    words : str
        The same in a sentence.
    parents : tuple of str
        The causes that it does not depend on, or whose strengths differ.
    """

    site: str
    variable: str
    kind: Kind
    evidence: float
    words: str
    parents: tuple[str, ...] = ()


class Groups(NamedTuple):
    """Groups of sites that share the mechanism of a variable, the largest first, and sites where it is constant."""

    variable: str
    groups: tuple[tuple[str, ...], ...]
    constant: tuple[str, ...]

    @property
    def share(self) -> float:
        """Share of the largest group among the sites where the variable is not constant."""
        sizes = [len(group) for group in self.groups]
        return max(sizes) / sum(sizes) if sizes else 1.0
