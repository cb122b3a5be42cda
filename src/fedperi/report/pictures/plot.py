"""Pictures of graphs on matplotlib axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...graph.pdag import PDAG
from .curves import curves
from .labels import FONT
from .layout import LINE, Box, Layout, layout
from .svg import SHORT, drawn_mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import FancyBboxPatch, Polygon
    from matplotlib.path import Path

UNITS_PER_INCH = 96.0


def draw(graph: PDAG, ax: Axes | None = None, color: str | None = None) -> Axes:
    """Draw a graph: arrows are solid, undirected edges dashed without a head, causes above effects.

    Text is drawn as outlines, so that it stays in the boxes at any size of the axes.

    Parameters
    ----------
    graph : PDAG
        Any graph.
    ax : matplotlib Axes, optional
        Where to draw. If not given, new axes of a suitable size.
    color : str, optional
        Colour of lines and text; matplotlib's text colour if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import fedperi as fp
    >>> from fedperi.report import draw
    >>> axes = draw(fp.PDAG.from_edges([("A", "B")], [("B", "C")]))
    >>> [line.get_linestyle() for line in axes.patches[:3]]         # an arrow, its head, an undirected edge
    ['solid', 'solid', 'dashed']
    """
    from matplotlib.patches import PathPatch

    picture = layout(graph)
    ax, ink = axes_for(picture, ax), ink_of(color)
    for (upper, lower), points in picture.routes.items():
        mark = drawn_mark(graph, upper, lower)
        style = "dashed" if mark == "line" else "solid"
        ax.add_patch(PathPatch(route(points), fill=False, edgecolor=ink, linewidth=1.2, linestyle=style))
        if mark != "line":
            ax.add_patch(head(*points[-1], -1, ink) if mark == "down" else head(*points[0], 1, ink))
    for box in picture.boxes:
        ax.add_patch(box_outline(box, ink))
        for path in _letters(box):
            ax.add_patch(PathPatch(path, facecolor=ink, linewidth=0))
    return ax


def axes_for(picture: Layout, ax: Axes | None) -> Axes:
    """Prepare axes for a picture; new ones of its size if none are given."""
    from matplotlib import pyplot as plt

    if ax is None:
        size = (picture.width / UNITS_PER_INCH, picture.height / UNITS_PER_INCH)
        ax = plt.figure(figsize=size).add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_xlim(0, picture.width)
    ax.set_ylim(picture.height, 0)
    ax.set_aspect("equal")
    ax.axis("off")
    return ax


def ink_of(color: str | None) -> str:
    """Return the colour of lines and text."""
    import matplotlib as mpl

    return color or str(mpl.rcParams["text.color"])


def head(x: float, y: float, back: int, ink: str) -> Polygon:
    """Make an arrow head with its tip at a point; `back` is the side of its base, below (1) or above (-1)."""
    from matplotlib.patches import Polygon

    tip = [(x, y), (x - 4.6, y + 10 * back), (x, y + 8 * back), (x + 4.6, y + 10 * back)]
    return Polygon(tip, closed=True, facecolor=ink, edgecolor="none")


def box_outline(box: Box, ink: str) -> FancyBboxPatch:
    """Make the outline of a box, with round corners."""
    from matplotlib.patches import FancyBboxPatch

    corner = (box.x - box.width / 2, box.y - box.height / 2)
    shape = "round,pad=0,rounding_size=7"
    return FancyBboxPatch(corner, box.width, box.height, shape, fill=False, edgecolor=ink, linewidth=0.9)


def route(points: tuple[tuple[float, float], ...]) -> Path:
    """Make the curve of an edge."""
    from matplotlib.path import Path

    pieces = curves(points, short=SHORT)
    vertices = [pieces[0][0], *(point for piece in pieces for point in piece[1:])]
    return Path(vertices, [Path.MOVETO, *[Path.CURVE4] * (3 * len(pieces))])


def _letters(box: Box) -> list[Path]:
    """Make the lines of a label, centred in its box. The y axis points down, so the outlines are flipped."""
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    first = box.y - (len(box.lines) - 1) * LINE / 2
    out: list[Path] = []
    for k, line in enumerate(box.lines):
        if not line.strip():
            continue
        text = TextPath((0, 0), line.replace("$", r"\$"), size=FONT)  # a dollar sign would start a formula
        width = text.get_extents().x1
        out.append(
            Affine2D().scale(1, -1).translate(box.x - width / 2, first + k * LINE + 0.36 * FONT).transform_path(text)
        )
    return out
