"""Describe what a run did, as in the methods section of a paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...phrases import span, with_noun
from ...scores.masking import INTERVENTION_PRICE, PARTIAL_PRICE
from ..privacy import Promise, promises
from ..privacy_words import methods_sentences, redrawn, rows_in_all
from .mechanisms import how_mechanisms_were_compared, what_mechanisms_showed

if TYPE_CHECKING:
    from ...methods.result import Result

PAPER = "F. Baldo and C. K. Assaad. Regret-Based Federated Causal Discovery with Unknown Interventions. 2026."
OURS = ("I-PERI", "PERI")
SCORES = {
    "linear": "the linear-Gaussian BIC",
    "nonlinear": "a Gaussian BIC on Legendre polynomials of degree 1 to 3, with indicators for categories",
    "mixed": "a Gaussian BIC with indicators for categories",
    "discrete": "the multinomial BIC",
    "auto": "BIC (linear-Gaussian for continuous columns, multinomial for categories, with indicators for a mix)",
}
# With noise, sites only answer with Gaussian scores of moments, not with counts of categories.
NOISY_SCORES = {**SCORES, "auto": "a Gaussian BIC, with indicators for categories"}
RELEASED_SCORES = "a Gaussian BIC of the columns as each site released them"
MASKINGS = {
    "adaptive": "A site scored only those parents of a candidate set that its own data support, so that an edge "
    f"removed there by an intervention cost little: {INTERVENTION_PRICE:g} nat for a variable with no influences left, "
    f"{PARTIAL_PRICE:g} nats for one that kept some of them.",
    "consensus": "A site scored only those parents of a candidate set that are parents or neighbours of the variable "
    "in its own graph, which it learned with {local}.",
    "none": "A site scored candidate parent sets without masking, as no interventions were assumed.",
}
AGGREGATES = {
    "sum": "the sum of the sites' regrets",
    "worst": "the largest regret of any site, then the next largest, and so on",
}


def methods_text(result: Result) -> str:
    """Describe a run as in the methods section of a paper, with its numbers.

    Examples
    --------
    >>> import fedperi as fp
    >>> result = fp.IPERI().fit(fp.simulate(3, clients=2, samples=100).sites)
    >>> print(methods_text(result))
    Causal structure was estimated with I-PERI (Baldo and Assaad, 2026) ...
    """
    method, promised = result.method, promises(result)
    regrets = [round(regret, 1) + 0.0 for regret in result.regrets.values()]
    parts = [
        _who(result, promised),
        *methods_sentences(promised),
        *(_how(result, promised) if method.get("name") in OURS else ()),
        *(how_mechanisms_were_compared(result) if result.groups else ()),
        "Background knowledge restricted the search." if method.get("knowledge") else "",
        what_mechanisms_showed(result) if result.groups else _found(result),
        f"Final regrets of the sites were {span(regrets)} nats." if regrets else "",
        _resampled(result, promised),
        "The run was interrupted before its end." if not result.complete else "",
        f"A limit ended the search early: {'; '.join(method['stopped'])}." if method.get("stopped") else "",
        f"The random seed was {method['seed']}." if "seed" in method else "",
    ]
    return " ".join(part for part in parts if part)


def _resampled(result: Result, promised: list[Promise]) -> str:
    if not result.replicates:
        return ""
    if any(one.noisy for one in promised):
        drawn = f"parametric bootstrap samples: {redrawn(promised)}"
    elif result.method.get("name") == "M-PERI":
        drawn = "parametric bootstrap samples, drawn from normal distributions with the sites' means and covariances"
    else:
        drawn = "bootstrap samples drawn within each site"
    return f"The stability of edges was assessed with {result.replicates} {drawn}."


def _who(result: Result, promised: list[Promise]) -> str:
    name = result.method.get("name", "a federated method")
    version = result.manifest.get("fedperi")
    rows = [site["n"] for site in result.manifest.get("sites", ()) if site.get("n") is not None]
    of_rows = f" with {sum(rows):,} rows in total ({span(rows)} each)" if rows else ""
    if promised:
        noisy = [one.rows for one in promised if one.rows is not None]
        total = rows_in_all(promised)
        of_rows = f" with {total} rows in total (noisy counts, {span(noisy)} each)" if total else ""
    source = " (Baldo and Assaad, 2026)" if name in OURS else ""
    return (
        f"Causal structure was estimated with {name}{source} as implemented in fedperi"
        f"{f' {version}' if version else ''}. {with_noun(len(result.sites), 'site')}{of_rows} took part, and "
        f"{with_noun(len(result.graph.names), 'variable')} were studied."
    )


def _how(result: Result, promised: list[Promise]) -> list[str]:
    method = result.method
    return [
        "No rows left a site: sites answered questions about candidate sets of causes with regrets, that is, how much "
        "worse than at the site's own optimum a variable is explained by them, in nats.",
        f"Local scores were {_score(method, promised)}{_penalty(method)}.",
        MASKINGS.get(str(method.get("masking")), "").format(local=_local(method)),
        f"The search minimised {AGGREGATES.get(str(method.get('aggregate')), AGGREGATES['sum'])}, over acyclic graphs, "
        f"in {with_noun(result.rounds, 'round')} of communication and with {result.queries:,} regrets from each site.",
    ]


def _found(result: Result) -> str:
    edges, directed = len(result.graph), len(result.graph.directed)
    common, phi = len(result.cpdag.directed), len(result.phi_cpdag.directed)
    if not result.regrets:
        return f"The graph has {with_noun(edges, 'edge')}, {directed} of them directed."
    text = f"The common graph (CPDAG) has {with_noun(edges, 'edge')}, {common} of them directed."
    if result.method.get("name") == "I-PERI":
        text += (
            f" Differences between sites directed {phi - common} more (Phi-CPDAG), and Meek's rules {directed - phi} "
            f"more, so that {directed} of {edges} edges have a direction."
        )
    return text


def citation(version: str) -> str:
    """Say how to cite the paper and the software.

    Examples
    --------
    >>> print(citation("0.1"))
    F. Baldo and C. K. Assaad. Regret-Based Federated Causal Discovery with Unknown Interventions. 2026.
    The fedperi developers. fedperi: federated causal discovery with unknown interventions. Version 0.1. Apache-2.0.
    """
    software = "The fedperi developers. fedperi: federated causal discovery with unknown interventions."
    return f"{PAPER}\n{software} Version {version}. Apache-2.0."


def bibtex(version: str, method: str) -> str:
    """Write BibTeX entries for the software and, for methods of the paper, for the paper.

    Examples
    --------
    >>> bibtex("0.1", "M-PERI").splitlines()[0]
    '@software{fedperi,'
    """
    software = [
        "@software{fedperi,",
        "  author  = {{The fedperi developers}},",
        "  title   = {fedperi: federated causal discovery with unknown interventions},",
        f"  version = {{{version}}},",
        "  license = {Apache-2.0},",
        "}",
    ]
    paper = [
        "@misc{baldo2026regret,",
        "  author = {Baldo, F. and Assaad, C. K.},",
        "  title  = {Regret-Based Federated Causal Discovery with Unknown Interventions},",
        "  year   = {2026},",
        "}",
    ]
    return "\n".join([*software, *(paper if method in (*OURS, "M-PERI") else ())])


def _score(method: Mapping[str, Any], promised: list[Promise]) -> str:
    data = str(method.get("data"))
    exact = SCORES.get(data, SCORES["auto"])
    if not any(one.noisy for one in promised):
        return exact
    noisy = NOISY_SCORES.get(data, NOISY_SCORES["auto"]) if method.get("privacy") else RELEASED_SCORES
    return noisy if all(one.noisy for one in promised) else f"{noisy}, and at sites without noise {exact}"


def _local(method: Mapping[str, Any]) -> str:
    local = method.get("local")
    if local == "pc":
        return f"PC (level {method.get('alpha', 0.01):g})"
    return "GES" if local == "ges" else f"the function {local}"


def _penalty(method: Mapping[str, Any]) -> str:
    penalty = method.get("penalty", 1.0)
    return "" if penalty == 1 else f", with a price of edges multiplied by {penalty:g}"
