"""How results are shown to a person."""

from .page import render_report
from .plot import draw
from .svg import graph_svg

__all__ = ["draw", "graph_svg", "render_report"]
