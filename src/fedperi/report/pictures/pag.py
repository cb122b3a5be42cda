"""Pictures of PAGs: circles, arrowheads and tails at the ends of edges, as SVG text and on matplotlib axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...graph.ancestral.pag import ARROW, CIRCLE, PAG
from ...graph.pdag import PDAG
from .curves import Point
from .layout import Layout, layout
from .svg import SHORT, head_part, node_parts, route_path, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RADIUS = 4.0
"""Size of the circles at the ends of edges."""


def pag_svg(graph: PAG) -> str:
    """Draw a PAG as an SVG picture in the colour of the surrounding text.

    Examples
    --------
    >>> import fedperi as fp
    >>> picture = pag_svg(fp.PAG.from_edges([("A", "o->", "B"), ("B", "<->", "C")]))
    >>> picture.count("<circle"), picture.count("head")
    (1, 3)
    """
    picture = _layout(graph)
    edges = []
    for points, above, below in _drawn(graph, picture):
        path = route_path(_line(points, above, below))
        line = f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="1.6"/>'
        ends = _end(above, points[0], 1) + _end(below, points[-1], -1)
        edges.append(f"<g>{line}{ends}</g>")
    about = f'role="img" aria-label="PAG of {len(graph.names)} variables with {len(graph)} edges"'
    return svg(picture, edges, [f"<g>{node_parts(box)}</g>" for box in picture.boxes], about)


def draw_pag(graph: PAG, ax: Axes | None = None, color: str | None = None) -> Axes:
    """Draw a PAG on matplotlib axes; new axes of a suitable size if none are given.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import fedperi as fp
    >>> len(draw_pag(fp.PAG.from_edges([("A", "o->", "B")])).patches)         # a line, a circle, a head, two boxes
    5
    """
    from matplotlib.patches import Circle, PathPatch

    from .plot import axes_for, box_outline, head, ink_of, route

    picture = _layout(graph)
    ax, ink = axes_for(picture, ax), ink_of(color)
    for points, above, below in _drawn(graph, picture):
        ax.add_patch(PathPatch(route(_line(points, above, below)), fill=False, edgecolor=ink, linewidth=1.2))
        for mark, (x, y), back in ((above, points[0], 1), (below, points[-1], -1)):
            if mark == ARROW:
                ax.add_patch(head(x, y, back, ink))
            elif mark == CIRCLE:
                ax.add_patch(Circle((x, y + RADIUS * back), RADIUS, fill=False, edgecolor=ink))
    for box in picture.boxes:
        ax.add_patch(box_outline(box, ink))
        ax.text(box.x, box.y, "\n".join(box.lines).replace("$", r"\$"), ha="center", va="center", color=ink)
    return ax


def _layout(graph: PAG) -> Layout:
    """Lay out the edges in an order in which arrows point down as far as possible."""
    order: list[int] = []
    left = set(range(len(graph.names)))
    while left:
        # The variable with the fewest arrowheads from remaining variables comes next; ties by number.
        order.append(min(left, key=lambda v: (sum(graph.marks[u, v] == ARROW for u in left), v)))
        left.remove(order[-1])
    rank = np.empty(len(order), dtype=int)
    rank[order] = np.arange(len(order))
    down = (graph.marks > 0) & (rank[:, None] < rank[None, :])
    return layout(PDAG(down, graph.names))


def _drawn(graph: PAG, picture: Layout) -> Iterator[tuple[tuple[Point, ...], int, int]]:
    """Yield the route of each edge, and the marks at its upper and its lower end."""
    for (upper, lower), points in picture.routes.items():
        i, j = graph.index(upper), graph.index(lower)
        yield points, int(graph.marks[j, i]), int(graph.marks[i, j])


def _line(points: Sequence[Point], above: int, below: int) -> tuple[Point, ...]:
    """Return the route of an edge without the parts inside circles, which are not filled."""
    (x, y), *between, (u, v) = points
    room = 2 * RADIUS + 0.5 - SHORT
    return (x, y + room * (above == CIRCLE)), *between, (u, v - room * (below == CIRCLE))


def _end(mark: int, at: Point, back: int) -> str:
    """Draw the mark at an end; `back` is the side of the edge, below (1) or above (-1)."""
    x, y = at[0], at[1] + 0.5 * back
    if mark == ARROW:
        return head_part("head", x, y, back)
    if mark == CIRCLE:
        return (
            f'<circle cx="{x:.1f}" cy="{y + RADIUS * back:.1f}" r="{RADIUS:g}" fill="none" stroke="currentColor" '
            'stroke-width="1.4"/>'
        )
    return ""
