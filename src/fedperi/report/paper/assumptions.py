"""The assumptions of a run, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .mechanisms import SHARED, Assumption, form_of_relations

ONE_DAG = Assumption(
    "One graph, and no interventions",
    "All sites share one acyclic graph, and nobody intervened on its variables.",
    "Edges that an intervention removed at some site may be missed, and directions may be wrong: use I-PERI.",
)
NOISE = Assumption(
    "Noise of equal variance",
    "Noise is added to each variable, with about the same variance everywhere; the units of columns matter.",
    "Directions may be wrong, and change when a column is measured in another unit.",
)
BOUNDS = Assumption(
    "Bounds that fit, and enough rows for the noise",
    "Values outside the public bounds were moved to the nearest one, long rows were shortened, and noise was added.",
    "Edges that are weak against the noise are missed, and bounds that are too narrow distort relations.",
)
COMMON = (
    Assumption(
        "No hidden common causes",
        "Every common cause of two variables in the graph is itself in the graph (causal sufficiency). Rows were "
        "not selected by something that depends on these variables.",
        "An edge may stand for a cause that was not measured, and its direction may be wrong.",
    ),
    Assumption(
        "Nothing cancels out",
        "Two variables that are connected in the true graph are also dependent in the data (faithfulness), and "
        "there are enough rows to see it.",
        "Edges that are weak, or that cancel along two paths, are missed.",
    ),
)
KNOWLEDGE = Assumption(
    "Background knowledge is right",
    "Edges and orders that were required or forbidden are taken as true, whatever the data say.",
    "A wrong statement bends the graph around it.",
)
REGRETS = Assumption(
    "One graph, without cycles",
    "All sites share one acyclic graph. What differs between them are strengths, and edges that an "
    "intervention removed; no site has an additional edge.",
    "An edge of one site alone counts as chance or enters the common graph, depending on its strength.",
)
INTERVENTIONS = {
    "PERI": Assumption(
        "No interventions",
        "No site was changed by an intervention on a variable of the graph.",
        "Edges that an intervention removed at some site may be missed: use I-PERI.",
    ),
    "I-PERI": Assumption(
        "At least one observational site",
        "At one site at least, nobody intervened on the variables. It need not be known which. At the others, "
        "unknown interventions may have removed influences on some variables.",
        "Edges that are removed everywhere cannot be found, and colliders that they would shield are read "
        "as if the edge were not there.",
    ),
}
BASELINES = {
    "NOTEARS-ADMM": (
        ONE_DAG,
        Assumption(
            "One model for all sites",
            "Strengths are the same at all sites, too.",
            "Strengths of opposite sign cancel, and edges are missed.",
        ),
        NOISE,
    ),
    "FedDAG": (ONE_DAG, NOISE),
    "FedCDH": (
        Assumption(
            "One graph, changing mechanisms",
            "All sites share one acyclic graph; how a variable depends on its causes may change with the site, "
            "independently of other variables.",
            "Directions that come from changes may be wrong.",
        ),
    ),
}
"""Further assumptions of methods without regrets."""
FORMS = {
    "linear": "Each variable is a linear function of its causes plus noise; scores are those of Gaussian noise.",
    "nonlinear": "Each variable is a smooth function of its causes, the effects of which add up.",
    "mixed": "Categories enter as indicators, and relations are linear in these; an approximation.",
    "discrete": "Each category has its own distribution for every combination of its causes.",
    "auto": "If all columns are continuous, each is a linear function of its causes plus noise. If all are "
    "categories, each has its own distribution for every combination of its causes. In a mix of both, "
    "categories enter as indicators, and relations are linear in these.",
    "released": "Each variable is taken as its site released it: linear in its causes, or smooth with effects that "
    "add up; categories as indicators.",
    "noisy auto": "Each variable is a linear function of its causes plus noise; categories enter as indicators.",
}


def assumptions(method: Mapping[str, Any], noisy: bool = False) -> list[Assumption]:
    """List the assumptions of a method; `noisy` if statistics or answers had noise.

    Examples
    --------
    >>> [a.name for a in assumptions({"name": "I-PERI", "data": "linear"})][:2]
    ['No hidden common causes', 'Nothing cancels out']
    """
    name, data = str(method.get("name")), str(method.get("data", "auto"))
    if name in BASELINES:
        return [*COMMON, *BASELINES[name], _rows(method)]
    if name == "M-PERI":
        own = [*SHARED, form_of_relations(method)]
    else:
        form = data if not noisy else f"noisy {data}" if method.get("privacy") else "released"
        own = [REGRETS, *([INTERVENTIONS[name]] if name in INTERVENTIONS else []), _form(form)]
    bounds, knowledge = [BOUNDS] * noisy, [KNOWLEDGE] * bool(method.get("knowledge"))
    return [*COMMON, *own, *bounds, _rows(method), *knowledge]


def _rows(method: Mapping[str, Any]) -> Assumption:
    rows = "Rows are independent of each other, and each person, thing or case is in one table once."
    if method.get("missing") == "drop":
        rows += " Rows that lacked a value were left out, as if values were missing at random."
    elif method.get("missing") in ("auto", "em"):
        rows += " Incomplete rows were used as far as they are observed, as if values were missing at random."
    return Assumption("Independent rows", rows, "Evidence is overstated, and there are too many edges.")


def _form(data: str) -> Assumption:
    return Assumption(
        "The form of the relations",
        FORMS.get(data) or FORMS.get(data.removeprefix("noisy "), FORMS["auto"]),
        "Relations of another form, such as a U shape under a linear score, can be missed.",
    )
