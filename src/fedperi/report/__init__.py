"""Presentation of results: reports, pictures, sentences."""

from .page import render_report
from .pictures.plot import draw
from .pictures.svg import graph_svg

__all__ = ["draw", "graph_svg", "render_report"]
