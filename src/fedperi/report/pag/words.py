"""The meaning of a PAG, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from ...graph.ancestral.pag import PAG
from ...phrases import with_noun
from ..paper.mechanisms import Assumption

if TYPE_CHECKING:
    from ...methods.fci.result import FCIResult

_MEANINGS = {
    "-->": "{a} causes {b}, perhaps through others; they may have a hidden common cause as well.",
    "<->": "Neither causes the other: they have a hidden common cause.",
    "o->": "{b} does not cause {a}. {a} causes {b}, or they have a hidden common cause, or both.",
    "o-o": "They are connected; the tables do not say how.",
    "---": "Both influence which rows are in the tables.",
    "--o": "{a} causes {b}, or influences which rows are in the tables.",
    "o--": "{b} causes {a}, or influences which rows are in the tables.",
}

ASSUMPTIONS = (
    Assumption(
        "One graph, hidden causes allowed",
        "All sites share one acyclic graph over measured and unmeasured variables.",
        "Arrowheads may be wrong.",
    ),
    Assumption(
        "Nothing cancels out",
        "Every independence in the tables follows from the graph, and every dependence is strong enough to be "
        "detected.",
        "A dependence that is missed removes an edge, and can cause a false arrowhead elsewhere.",
    ),
    Assumption(
        "Straight lines",
        "Effects are straight lines with Gaussian residuals.",
        "Nonlinear effects look like differences between sites, and some edges are oriented wrongly.",
    ),
    Assumption(
        "Site differences come from outside",
        "No variable in the tables causes a site to differ from another.",
        "Arrowheads that come from differences between sites may be wrong.",
    ),
)


def edge_words(a: str, symbol: str, b: str) -> str:
    """Say what an edge of a PAG means.

    Examples
    --------
    >>> edge_words("age", "o->", "dose")
    'dose does not cause age. age causes dose, or they have a hidden common cause, or both.'
    """
    return _MEANINGS[symbol].format(a=a, b=b)


def counted(graph: PAG) -> str:
    """Count the edges of each kind.

    Examples
    --------
    >>> import fedperi as fp
    >>> counted(fp.PAG.from_edges([("A", "o->", "B"), ("B", "<->", "C")]))
    '2 edges: 0 known causes, 1 hidden common cause, 1 partly or wholly open.'
    """
    causes, hidden = len(graph.directed), len(graph.bidirected)
    return (
        f"{with_noun(len(graph), 'edge')}: {with_noun(causes, 'known cause')}, "
        f"{with_noun(hidden, 'hidden common cause')}, {len(graph) - causes - hidden} partly or wholly open."
    )


def change_words(changes: Sequence[tuple[str, str, str]]) -> list[str]:
    """Say, for each variable, between which sites it differs although no measured variable explains it.

    Sites that differ from many others come first.

    Examples
    --------
    >>> change_words([("lyon", "nice", "dose"), ("metz", "nice", "dose"), ("lyon", "metz", "age")])
    ['dose differs between nice and lyon, metz.', 'age differs between lyon and metz.']
    """
    by_variable: dict[str, list[tuple[str, str]]] = {}
    for first, second, variable in changes:
        by_variable.setdefault(variable, []).append((first, second))
    return [f"{variable} differs {', and '.join(_between(pairs))}." for variable, pairs in by_variable.items()]


def _between(pairs: Sequence[tuple[str, str]]) -> list[str]:
    left, out = list(pairs), []
    while left:
        often = Counter(chain.from_iterable(left))
        most = max(often, key=lambda site: often[site])
        others = [site for pair in left if most in pair for site in pair if site != most]
        out.append(f"between {most} and {', '.join(others)}")
        left = [pair for pair in left if most not in pair]
    return out


def methods_text(result: FCIResult) -> str:
    """Describe a run as in the methods section of a paper."""
    sites, alpha = len(result.sites), result.method.get("alpha")
    contexts = (
        " Differences between sites entered as context variables without measured causes (joint causal inference)."
        if result.method.get("context")
        else ""
    )
    return (
        f"Causes were sought with FCI (Spirtes et al., 2000; rules of Zhang, 2008), which allows hidden common causes, "
        f"from one summary of each of {with_noun(sites, 'site')}. Independence was tested within each site at level "
        f"{alpha}, and the tests were combined ({with_noun(result.tests, 'test')}); rows were not pooled.{contexts}"
    )
