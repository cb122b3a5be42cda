"""The report: one self-contained HTML file, without any request to a network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..methods.certainty import WORDS, meaning
from .answers import answers
from .contributions import contributions
from .edges import VIEWS, ShownEdge, drawn_graph, shown_edges
from .matrix import SHORT
from .mechanisms import GradedEdge, MechanismView, mechanism_view
from .paper.assumptions import assumptions
from .paper.mechanisms import when_directed
from .paper.methods import bibtex, citation, methods_text
from .paper.results import limitations_text, results_text
from .pictures.convergence import convergence_svg
from .pictures.layout import Layout, layout
from .pictures.svg import edge_parts, node_parts, svg
from .privacy import Promise, promises, shown_number
from .privacy_words import alarm, cautions, pledge, redrawn, rows_in_all, rows_worth
from .totals import total_effects

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from ..methods.result import Result

WIDE = 850
"""A wider picture has the whole width of the page, and evidence is shown on top of it."""
MOST_OTHERS = 30
"""Most pairs without an edge that the report lists because bootstrap runs had one."""


def render_report(result: Result) -> str:
    """Write the report of a result.

    Parameters
    ----------
    result : Result
        A result of any method; it may be read from JSON.

    Returns
    -------
    str
        An HTML document. It has no links to other files and works from disk.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.report import render_report
    >>> page = render_report(fp.IPERI().fit(fp.simulate(4, clients=3, samples=500, seed=1).sites))
    >>> page.startswith("<!doctype html>"), "http://" in page.replace("http://www.w3.org/2000/svg", "")
    (True, False)
    """
    from markupsafe import Markup

    from ..methods.effects.table import effects_of

    picture = layout(drawn_graph(result))
    edges = shown_edges(result, list(picture.routes))
    promised = promises(result)
    effects = effects_of(result)
    view = mechanism_view(result, edges, effects) if result.groups else None
    totals = () if effects is None else total_effects(effects)
    style = template("report.css")
    if view is not None or result.warnings:
        style += template("mechanisms.css")
    if promised:
        style += template("privacy.css")
    script = "".join(map(template, ("report.js", "explore.js", "move.js")))
    html = environment().get_template("report.html")
    page = html.render(
        result=result,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=Markup(style),
        script=Markup(script),
        view=view,
        totals=totals,
        when_directed=when_directed(result.method),
        answers=() if view is None else answers(edges, view, effects, totals, result),
        words=WORDS,
        meaning=meaning(),
        short=SHORT,
        curves=[Markup(convergence_svg(result.history, what)) for what in _watched(result)],
        **_graph(picture, edges, view),
        **_numbers(result),
        **_privacy(promised),
        **_texts(result, promised),
    )
    return page.lstrip()  # the template begins with macros


def _graph(picture: Layout, edges: list[ShownEdge], view: MechanismView | None) -> dict[str, Any]:
    """Collect the graph as a picture, and lists of its edges."""
    from markupsafe import Markup

    return {
        "picture": Markup(_picture(picture, edges, view)),
        "wide": picture.width > WIDE,
        "names": [box.name for box in picture.boxes],
        "edges": edges,
        "listed": sorted(range(len(edges)), key=lambda k: (edges[k].first.casefold(), edges[k].second.casefold())),
        "neighbours": [
            [k for k, edge in enumerate(edges) if box.name in (edge.upper, edge.lower)] for box in picture.boxes
        ],
    }


@cache
def template(name: str) -> str:
    """Read a file of the folder of templates."""
    return (files("fedperi.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    """Return the template environment: everything is escaped, and a missing name is an error.

    There is only one: it keeps the compiled templates, and to compile them takes longer than to fill them in.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(template),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    environment.filters["breakable"] = _breakable
    environment.filters["price"] = shown_number
    return environment


def _numbers(result: Result) -> dict[str, Any]:
    """Collect counts and regrets."""
    directed, common, phi = (len(graph.directed) for graph in (result.graph, result.cpdag, result.phi_cpdag))
    return {
        "counts": {
            "edges": len(result.graph),
            "directed": directed,
            "common": common,
            "phi": phi - common,
            "closed": directed - phi,
            "alone": sum(not result.graph.adjacent(name) for name in result.graph.names),
        },
        "rows": sum(site["n"] for site in result.manifest.get("sites", ()) if site.get("n")),
        "worst": max(result.regrets, key=result.regrets.__getitem__, default=None),
        "sites": contributions(result),
        "widest": max((abs(regret) for regret in result.regrets.values()), default=0.0) or 1.0,
        "judged": bool(result.regrets),  # baselines have no regrets, and no evidence for single edges
        "others": _others(result),
    }


def _privacy(promised: list[Promise]) -> dict[str, Any]:
    """Collect the sites' privacy guarantees, and their meaning for the run."""
    return {
        "privacy": {one.site: one for one in promised},
        "alarm": alarm(promised),
        "cautions": cautions(promised),
        "pledge": pledge(promised),
        "noisy_rows": rows_in_all(promised),
        "worth_rows": rows_worth(promised),
        "redrawn": redrawn(promised),
        "free_answers": bool(promised) and all(one.mechanism == "statistics" for one in promised),
    }


def _texts(result: Result, promised: list[Promise]) -> dict[str, Any]:
    """Collect assumptions, methods, citation and configuration."""
    version = str(result.manifest.get("fedperi", __version__))
    configuration = {"method": result.method, "manifest": result.manifest}
    assumed = assumptions(result.method, any(one.noisy for one in promised))
    return {
        "assumptions": assumed,
        "methods": methods_text(result),
        "results": results_text(result),
        "limitations": limitations_text(result, assumed),
        "citation": citation(version),
        "bibtex": bibtex(version, str(result.method.get("name"))),
        "version": version,
        "configuration": json.dumps(configuration, indent=2, ensure_ascii=False),
    }


def _watched(result: Result) -> tuple[str, ...]:
    """Return the quantities with numbers in the history; none if it has a single step."""
    if len(result.history) < 2:
        return ()
    whole = all(step.worst_regret is not None for step in result.history)
    return ("objective", "worst_regret") if whole else ("objective",)


def _picture(picture: Layout, edges: list[ShownEdge], view: MechanismView | None) -> str:
    """Draw the graph, with all data that the script needs to show each of three graphs."""
    number = {box.name: k for k, box in enumerate(picture.boxes)}
    drawn = []
    for k, (edge, points) in enumerate(zip(edges, picture.routes.values(), strict=True)):
        marks = " ".join(f'data-{view}="{edge.marks[view]}"' for view in VIEWS)
        sure = '"' if view is None else _sure(view.edges[k])
        phi = edge.extra if edge.marks["phi"] in ("down", "up") else ""
        drawn.append(
            f'<g class="edge item {edge.marks["closed"]} {edge.extra}{sure} data-edge="{k}" {marks} '
            f'data-cpdag-extra="" data-phi-extra="{phi}" data-closed-extra="{edge.extra}" '
            f'data-ends="{number[edge.upper]} {number[edge.lower]}" '
            f'role="button" tabindex="-1" aria-controls="details" '
            f'aria-label="edge between {escape(edge.upper)} and {escape(edge.lower)}">'
            f"{edge_parts(points, edge.marks['closed'], everything=True)}</g>"
        )
    nodes = [
        f'<g class="node item" data-node="{k}" data-sites="{_sites(view, box.name)}" role="button" tabindex="-1" '
        f'aria-controls="details" aria-label="variable {escape(box.name)}">{node_parts(box)}</g>'
        for k, box in enumerate(picture.boxes)
    ]
    about = f"causal graph of {len(nodes)} variables; arrow keys walk through variables and edges"
    kind = "" if view is None else ' class="graded"'
    return svg(picture, drawn, nodes, f'id="graph"{kind} data-view="closed" role="group" aria-label="{about}"')


def _sure(graded: GradedEdge) -> str:
    """Write how certain an edge is, for its class attribute and for filters."""
    suspect = " suspect" if graded.hidden else ""
    if graded.sure is None:
        return f'{suspect}"'
    return f'{suspect} sure-{graded.sure.name}" data-chance="{graded.shares[0].share:.4f}"'


def _sites(view: MechanismView | None, variable: str) -> str:
    """List the sites that differ in a variable, for the filter by site."""
    cells = () if view is None else (cell for _, row in view.matrix.rows for cell in row)
    sites = [cell.site for cell in cells if cell.variable == variable and cell.words]
    return escape(json.dumps(sites))


def _others(result: Result) -> list[tuple[str, str, float]]:
    """List pairs without an edge that have one in some bootstrap run, the most frequent first."""
    found = [
        (edge.a, edge.b, 1 - edge.absent)
        for edge in result.stability
        if edge.b not in result.graph.adjacent(edge.a) and edge.absent < 1
    ]
    return sorted(found, key=lambda pair: -pair[2])[:MOST_OTHERS]


def _breakable(name: str) -> Markup:
    """Allow line breaks in a long name after an underscore, a dot or a hyphen."""
    from markupsafe import Markup

    return Markup(re.sub(r"(?<=[^&#;])([_./-])(?=\w)", r"\1<wbr>", str(escape(name))))


def _number(value: float, digits: int = 1) -> str:
    return f"{round(value, digits) + 0.0:,.{digits}f}".replace("-", "\N{MINUS SIGN}")
