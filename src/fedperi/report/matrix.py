"""What sites do differently, as a matrix of sites and variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .pictures.mechanism import mechanism_svg

if TYPE_CHECKING:
    from ..methods.parts import Difference
    from ..methods.result import Result

SHORT = {
    "shifted": "another level",
    "spread": "varies more or less",
    "strengths": "depends on its causes more or less strongly",
    "cut": "does not depend on some of its causes",
    "constant": "one value only",
    "same": "as at most sites, as far as the data show",
}
"""The meaning of a cell, in a few words."""


@dataclass(frozen=True)
class Cell:
    """One site and one variable.

    Attributes
    ----------
    site, variable : str
        The site and the variable.
    kind : str
        "same", or one of `fedperi.methods.parts.Difference`.
    words, evidence : str
        What is different and how strong the evidence is; empty if there is no difference.
    ask : str
        Question for the site.
    picture : str
        Picture of the mechanism here and elsewhere, as markup; empty if the sites' summaries are not available.
    elsewhere : tuple of str
        The sites for comparison.
    """

    site: str
    variable: str
    kind: str
    words: str = ""
    evidence: str = ""
    ask: str = ""
    picture: str = ""
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True)
class Matrix:
    """Variables with a difference at some site, the number of others, and a row of cells per site."""

    variables: tuple[str, ...]
    others: int
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that occur, in the order of `SHORT`."""
        seen = {cell.kind for _, cells in self.rows for cell in cells}
        return tuple(kind for kind in SHORT if kind in seen)


def site_matrix(result: Result) -> Matrix:
    """Collect the cells; variables without any difference have no column.

    Examples
    --------
    >>> import fedperi as fp
    >>> sim = fp.simulate(["a", "b"], clients=4, samples=1000, intervention="shift", seed=2)
    >>> matrix = site_matrix(fp.MPERI().fit(sim.sites))
    >>> [[cell.kind for cell in cells] for _, cells in matrix.rows]
    [['same', 'same'], ['strengths', 'same'], ['same', 'shifted'], ['shifted', 'same']]
    """
    found = {(one.site, one.variable): one for one in result.differences}
    names = tuple(name for name in result.graph.names if any(variable == name for _, variable in found))
    cells = {pair: _cell(result, one) for pair, one in found.items()}
    rows = tuple(
        (site, tuple(cells.get((site, name)) or Cell(site, name, "same") for name in names)) for site in result.sites
    )
    return Matrix(names, len(result.graph.names) - len(names), rows)


def _cell(result: Result, one: Difference) -> Cell:
    from .mechanisms import evidence_words

    group = next((group for group in result.groups if group.variable == one.variable), None)
    elsewhere = tuple(site for site in (group.groups[0] if group and group.groups else ()) if site != one.site)
    picture = ""
    if result.moments is not None:
        causes = result.dag.parents(one.variable)
        picture = mechanism_svg(result.moments, one.variable, causes, one.site, elsewhere, one.parents)
    return Cell(
        one.site, one.variable, one.kind, one.words, evidence_words(one.evidence), _ask(one, result), picture, elsewhere
    )


def _ask(one: Difference, result: Result) -> str:
    """Write the question for a site: the data show a difference, but not its reason."""
    if one.kind == "cut" and any(parent in result.graph.neighbors(one.variable) for parent in one.parents):
        return (
            f"Either a local policy sets {one.variable}, or an open link points the other way and something else "
            f"differs. Ask {one.site} what is done differently there."
        )
    if one.kind == "cut":
        return f"It looks as if a local policy set {one.variable}. Ask {one.site} whether there is one."
    if one.kind == "constant":
        return f"Ask {one.site} why {one.variable} has one value: a policy, a selection of patients, or an error."
    return (
        f"Ask {one.site} whether {one.variable} is measured, coded or handled differently there: "
        "the data do not say why."
    )
