"""The contribution of each site to a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..methods.evidence import EdgeEvidence
    from ..methods.result import Result


class Contribution(NamedTuple):
    """One site's contribution.

    Attributes
    ----------
    site : str
        Its name.
    rows : int or None
        Its number of rows, if known.
    regret : float or None
        Its final regret, in nats; None if the method computes none.
    supports, lacks : tuple of str
        Edges that its own data support, and those that they do not.
    directs : tuple of str
        Edges that have their direction because this site differs.
    targets : tuple of str or None
        The targets that it declared, if any.
    """

    site: str
    rows: int | None
    regret: float | None
    supports: tuple[str, ...]
    lacks: tuple[str, ...]
    directs: tuple[str, ...]
    targets: tuple[str, ...] | None


def contributions(result: Result) -> list[Contribution]:
    """Collect the contribution of every site from the evidence.

    Examples
    --------
    >>> import fedperi as fp
    >>> sim = fp.simulate(5, clients=3, samples=2000, seed=3)
    >>> [site.rows for site in contributions(fp.IPERI().fit(sim.sites))]
    [2000, 2000, 2000]
    """
    known = {entry["site"]: entry for entry in result.manifest.get("sites", ())}
    out = []
    for site in result.sites:
        entry = known.get(site, {})
        targets = entry.get("targets")
        out.append(
            Contribution(
                site,
                entry.get("n"),
                result.regrets.get(site),
                tuple(edge_name(edge) for edge in result.edges if site in edge.sites),
                tuple(edge_name(edge) for edge in result.edges if site not in edge.sites),
                tuple(edge_name(edge) for edge in result.edges if site in edge.differing),
                None if targets is None else tuple(targets),
            )
        )
    return out


def edge_name(edge: EdgeEvidence) -> str:
    """Write an edge: ``a → b`` or ``a — b``."""
    return f"{edge.a} {'→' if edge.directed else '—'} {edge.b}"
