"""Pictures of graphs as SVG text: without scripts, style sheets or identifiers, so that they work anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ...graph.pdag import PDAG
from ...names import visible
from .curves import Point, curves, midpoint
from .labels import FONT
from .layout import LINE, Box, Layout, layout
from .text import edge_mark

FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"
DRAWN = {"--": "line", "->": "down", "<-": "up", "": "none"}
SHORT = 2.5
"""Distance between edges and boxes, so that the tips of arrows stay sharp."""


def graph_svg(graph: PDAG) -> str:
    """Draw a graph as a small SVG picture, for notebooks: arrows are solid, undirected edges dashed without a head.

    Parameters
    ----------
    graph : PDAG
        Any graph. The picture has the colour of the surrounding text.

    Returns
    -------
    str
        An ``<svg>`` element.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.report import graph_svg
    >>> picture = graph_svg(fp.PDAG.from_edges([("A", "B")], [("B", "C")]))
    >>> picture.count("<rect"), picture.count("stroke-dasharray")
    (3, 1)
    """
    picture = layout(graph)
    edges = [
        f"<g>{edge_parts(points, drawn_mark(graph, upper, lower))}</g>"
        for (upper, lower), points in picture.routes.items()
    ]
    about = f"graph of {len(graph.names)} variables with {len(graph)} edges"
    return svg(
        picture, edges, [f"<g>{node_parts(box)}</g>" for box in picture.boxes], f'role="img" aria-label="{about}"'
    )


def drawn_mark(graph: PDAG, upper: str, lower: str) -> str:
    """Name the edge of a graph between two variables, as drawn downwards: ``down``, ``up``, ``line`` or ``none``.

    Examples
    --------
    >>> import fedperi as fp
    >>> drawn_mark(fp.PDAG.from_edges([("A", "B")]), "B", "A")
    'up'
    """
    return DRAWN[edge_mark(graph, upper, lower)]


def svg(picture: Layout, edges: Sequence[str], nodes: Sequence[str], attributes: str) -> str:
    """Wrap drawn edges and nodes in an ``<svg>`` element; `attributes` is markup."""
    width, height = round(picture.width), round(picture.height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="{escape(FONTS)}" font-size="{FONT:g}" {attributes}>'
        f"<g>{''.join(edges)}</g><g>{''.join(nodes)}</g></svg>"
    )


def edge_parts(points: Sequence[Point], mark: str, everything: bool = False) -> str:
    """Draw an edge.

    Parameters
    ----------
    points : sequence of points
        Its route in a `Layout`.
    mark : {"down", "up", "line", "none"}
        Its direction.
    everything : bool
        Draw both arrow heads, the signs for "differs" and "follows", and a wide transparent line for the pointer; a
        style sheet shows or hides them.
    """
    path = route_path(points)
    (x, y), (u, v) = points[0], points[-1]
    dashed = ' stroke-dasharray="6 4"' if mark == "line" and not everything else ""
    line = f'<path class="stroke" d="{path}" fill="none" stroke="currentColor" stroke-width="1.6"{dashed}/>'
    heads = {"up": head_part("head-up", x, y + 0.5, 1), "down": head_part("head-down", u, v - 0.5, -1)}
    if not everything:
        return "" if mark == "none" else line + heads.get(mark, "")
    at = midpoint(points)
    hit = f'<path class="hit" d="{path}" fill="none" stroke="transparent" stroke-width="14"/>'
    return hit + line + "".join(heads.values()) + _diamond("differs", at) + _diamond("follows", at)


def node_parts(box: Box) -> str:
    """Draw a variable: its box, the lines of its name, and the whole name as a tooltip."""
    left, top = box.x - box.width / 2, box.y - box.height / 2
    first = box.y - (len(box.lines) - 1) * LINE / 2
    text = "".join(
        f'<text x="{box.x:.1f}" y="{first + k * LINE:.1f}" dy="0.35em" text-anchor="middle" fill="currentColor">'
        f"{escape(line)}</text>"
        for k, line in enumerate(box.lines)
    )
    return (
        f"<title>{escape(visible(box.name))}</title>"
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="7" '
        f'fill="none" stroke="currentColor" stroke-width="1.2"/>{text}'
    )


def route_path(points: Sequence[Point]) -> str:
    """Write the data of an SVG path along a route."""
    pieces = curves(points, short=SHORT)
    return f"M{_xy(pieces[0][0])} " + " ".join(f"C{_xy(b)} {_xy(c)} {_xy(d)}" for _, b, c, d in pieces)


def head_part(css: str, x: float, y: float, back: int) -> str:
    """Draw an arrow head with its tip at a point; `back` is the side of its base, below (1) or above (-1)."""
    base = y + 10 * back
    return (
        f'<path class="{css}" d="M{x:.1f},{y:.1f} L{x - 4.6:.1f},{base:.1f} L{x:.1f},{base - 2 * back:.1f} '
        f'L{x + 4.6:.1f},{base:.1f} Z" fill="currentColor"/>'
    )


def _xy(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"


def _diamond(name: str, at: Point) -> str:
    return f'<path class="{name}" d="M{at[0]:.1f},{at[1] - 6:.1f} l6,6 l-6,6 l-6,-6 Z"/>'
