"""Describe what a run of M-PERI assumed and did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ...methods.mperi.directions import OVERWHELMING, TEMPER, allowed_doubt
from ...phrases import with_noun
from ..grades import count_grades, what_they_rest_on

if TYPE_CHECKING:
    from ...methods.result import Result


class Assumption(NamedTuple):
    """An assumption: its name, its meaning, and what happens if it fails."""

    name: str
    says: str
    fails: str


SHARED = (
    Assumption(
        "One graph, without cycles",
        "All sites share one acyclic graph. Some mechanisms may differ at a site: another level, another spread, "
        "other strengths, or no influence of some causes at all. No site has an additional edge.",
        "An edge of a single site is treated as chance, or enters the common graph, depending on its strength.",
    ),
    Assumption(
        "Most mechanisms are the same at most sites",
        "For each variable, many sites share one mechanism; which ones need not be known. Sites differ in few "
        "mechanisms, and independently of each other.",
        "Comparing mechanisms says little about directions. A warning says so if little is shared. A change that is "
        "the same at all sites cannot be seen.",
    ),
)

MODELS = {
    "nonlinear": "Each variable is a smooth function of its causes, the effects of which add up, with Gaussian noise. "
    "Categories enter as indicators.",
    "linear": "Each variable is a linear function of its causes plus Gaussian noise, in the same units at all sites.",
    "auto": "Each variable is a linear function of its causes plus Gaussian noise, in the same units at all sites. "
    "Categories enter as indicators, an approximation.",
}

SHARING = {
    "auto": "Sites could share the mechanism of a variable within a tolerance that the data chose",
    "exact": "Sites could share the mechanism of a variable exactly",
    "none": "No two sites shared a mechanism, so that directions came only from influences that are missing at a site",
}


def form_of_relations(method: Mapping[str, Any]) -> Assumption:
    """Say which form of relations M-PERI assumes."""
    return Assumption(
        "The form of the relations",
        MODELS.get(str(method.get("data")), MODELS["auto"]),
        "Curved relations look different at sites with different patients: false differences may be reported, "
        "and directions may be wrong.",
    )


def how_mechanisms_were_compared(result: Result) -> list[str]:
    """Describe the method, for the methods section of a paper.

    Examples
    --------
    >>> import fedperi as fp
    >>> result = fp.MPERI().fit(fp.simulate(["a", "b"], clients=3, samples=500, seed=1).sites)
    >>> how_mechanisms_were_compared(result)[0]
    'Each site gave one statement: its row count and the means and covariances of its columns. No rows left a site.'
    """
    method = result.method
    exact = result.sampling.get("exact", True)
    summed = "summed over all acyclic graphs" if exact else "estimated from samples of acyclic graphs"
    return [
        "Each site gave one statement: its row count and the means and covariances of its columns"
        f"{', with the noise described above' if result.privacy else ''}. No rows left a site.",
        "How each variable depends on its causes (its mechanism) was compared between the sites with a Gaussian BIC. "
        f"{SHARING.get(str(method.get('sharing')), SHARING['auto'])}.",
        f"Probabilities of edges were {summed}, with all sites, with each site left out, and with rows that count for "
        f"a third; the stated probability is their mean, with odds raised to the power {TEMPER:g}. Pairs are joined if "
        f"the stated probability of an edge is at least one half. They are directed {when_directed(method)}",
    ]


def when_directed(method: Mapping[str, Any]) -> str:
    """Say when an edge gets an arrow, with the numbers that follow from `confidence`.

    Examples
    --------
    >>> print(when_directed({"confidence": 0.95}))
    if the direction has a probability of at least 0.99 with all sites and 0.9 with rows that count for a third, ...
    """
    confidence = float(method.get("confidence", 0.95))
    whole, third = 1 - allowed_doubt(confidence), max(1 - 2 * (1 - confidence), 0.0)
    return (
        f"if the direction has a probability of at least {whole:.4g} with all sites and {third:.4g} with rows that "
        "count for a third, and depends on at most one site, or on more sites if there is hardly any doubt "
        f"({OVERWHELMING:g}); also if background knowledge says so, or the other direction would close a cycle."
    )


def what_mechanisms_showed(result: Result) -> str:
    """Count the findings, for the methods section of a paper."""
    confirmed, resting, lines = count_grades(result)
    sites = len({one.site for one in result.differences})
    return (
        f"The graph has {with_noun(len(result.graph), 'edge')}: {confirmed} with a direction that holds whichever site "
        f"is left out, {resting} with one that rests on {what_they_rest_on(result)}, and {lines} with an open "
        f"direction. {with_noun(len(result.differences), 'mechanism')} differed from those of most sites, at "
        f"{with_noun(sites, 'site')}."
    )
