"""The report of FCI: one self-contained HTML file, without scripts and without any request to a network."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..._version import __version__
from ..page import environment, template
from ..paper.methods import citation
from ..pictures.pag import pag_svg
from ..privacy import promises
from .words import ASSUMPTIONS, change_words, counted, edge_words, methods_text

if TYPE_CHECKING:
    from ...methods.fci.result import FCIResult


def render_pag_report(result: FCIResult) -> str:
    """Write the report of a result of FCI.

    Examples
    --------
    >>> import fedperi as fp
    >>> page = render_pag_report(fp.FCI().fit(fp.simulate(4, clients=3, samples=500, seed=1).sites))
    >>> page.startswith("<!doctype html>"), "<script" in page
    (True, False)
    """
    from markupsafe import Markup

    html = environment().get_template("pag.html")
    return html.render(
        result=result,
        version=__version__,
        style=Markup(template("report.css") + template("mechanisms.css")),
        picture=Markup(pag_svg(result.graph)),
        counted=counted(result.graph),
        edges=[(edge, edge_words(*edge)) for edge in result.graph.edges],
        changes=change_words(result.changes),
        promises=promises(result),
        assumptions=ASSUMPTIONS,
        methods=methods_text(result),
        citation=citation(__version__),
        manifest=json.dumps(result.manifest, indent=2, ensure_ascii=False),
    )
