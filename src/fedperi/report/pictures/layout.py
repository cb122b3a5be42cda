"""The layout of a graph's picture: boxes in layers, causes above effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...graph import bits
from ...graph.members import components
from ...graph.pdag import PDAG
from .curves import Point
from .labels import FONT, wrapped
from .layers import Layered, Pair, layered
from .order import downward
from .spread import spread

LINE = FONT * 1.25
MARGIN = 12.0
BETWEEN = 26.0
"""Free space between boxes of a layer."""
PORTS = 15.0
"""Space between the ends of edges at one side of a box, if it is wide enough."""


@dataclass(frozen=True)
class Box:
    """A variable: its name, the lines to write, the centre and size of its box."""

    name: str
    lines: tuple[str, ...]
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """A picture of a graph.

    Attributes
    ----------
    width, height : float
        Its size, including margins; y grows downwards.
    boxes : tuple of Box
        One per variable, in the order of the graph's names.
    routes : dict
        For every edge, as (upper, lower) names, the points of its route, downwards; `fedperi.report.pictures.curves`
        joins them.
    """

    width: float
    height: float
    boxes: tuple[Box, ...]
    routes: dict[tuple[str, str], tuple[Point, ...]]


def layout(graph: PDAG) -> Layout:
    """Lay out a graph: arrows point down; connected parts are side by side, variables without edges at the end.

    Parameters
    ----------
    graph : PDAG
        Undirected edges are laid out along `fedperi.report.pictures.order.probable_order`.

    Examples
    --------
    >>> import fedperi as fp
    >>> picture = layout(fp.PDAG.from_edges([("A", "B")], names=["A", "B", "C"]))
    >>> [box.name for box in picture.boxes], list(picture.routes)
    (['A', 'B', 'C'], [('A', 'B')])
    >>> picture.boxes[0].y < picture.boxes[1].y
    True
    """
    edges = downward(graph)
    labels = [wrapped(name) for name in graph.names]
    height = LINE * max((len(label.lines) for label in labels), default=1) + 12
    ends = Counter((node, side) for edge in edges for side, node in enumerate(edge))
    widths = [
        max(44.0, label.width + 18, min(170.0, 11 * max(ends[i, 0], ends[i, 1]) + 8)) for i, label in enumerate(labels)
    ]
    parts = _parts(len(labels), edges)
    placed = [_place(part, edges, widths, height) for part in parts if len(part) > 1]
    alone = [
        _Part({node: (widths[node] / 2, height / 2)}, {}, (widths[node], height))
        for node, *others in parts
        if not others
    ]
    at, routes, size = _packed(placed, alone)
    boxes = tuple(Box(name, labels[i].lines, *at[i], widths[i], height) for i, name in enumerate(graph.names))
    return Layout(*size, boxes, {(graph.names[i], graph.names[j]): points for (i, j), points in routes.items()})


@dataclass(frozen=True)
class _Part:
    """A connected part, with its own origin: centres of boxes, routes, size."""

    at: dict[int, Point]
    routes: dict[Pair, tuple[Point, ...]]
    size: Point


def _parts(count: int, edges: Iterable[Pair]) -> list[list[int]]:
    """Find the connected parts, the largest first."""
    lines = [0] * count
    for i, j in edges:
        lines[i] |= 1 << j
        lines[j] |= 1 << i
    parts = [list(bits.members(part)) for part in components(lines, (1 << count) - 1)]
    return sorted(parts, key=lambda part: (-len(part), part[0]))


def _place(part: Sequence[int], edges: Sequence[Pair], widths: Sequence[float], height: float) -> _Part:
    """Lay out one connected part."""
    number = {node: k for k, node in enumerate(part)}
    inner = [(number[i], number[j]) for i, j in edges if i in number]
    shape = layered(len(part), inner)
    wide = [widths[node] for node in part]
    x = spread(shape, wide, BETWEEN)
    y = _depths(shape, x, height)
    ports = _ports(shape, x, wide)
    routes = {}
    for (tail, head), chain in shape.chains.items():
        points = [(ports[tail, chain[1], 1], y[tail] + height / 2)]
        for bend in chain[1:-1]:
            points.append((x[bend], y[bend]))
        points.append((ports[head, chain[-2], -1], y[head] - height / 2))
        routes[part[tail], part[head]] = tuple(points)
    across = [x[k] + side * wide[k] / 2 for k in range(len(part)) for side in (-1, 1)]
    across += [point[0] for points in routes.values() for point in points]
    left = min(across)
    return _Part(
        {node: (x[k] - left, y[k]) for k, node in enumerate(part)},
        {pair: tuple((px - left, py) for px, py in points) for pair, points in routes.items()},
        (max(across) - left, max(y) + height / 2),
    )


def _depths(shape: Layered, x: Sequence[float], height: float) -> list[float]:
    """Compute the centres of the layers, further apart where the edges between them go far to the side."""
    depth = {vertex: d for d, row in enumerate(shape.rows) for vertex in row}
    longest = [0.0] * len(shape.rows)
    for upper, lower in shape.links:
        longest[depth[lower]] = max(longest[depth[lower]], abs(x[upper] - x[lower]))
    centre, centres = height / 2, []
    for d in range(len(shape.rows)):
        centre += height + 44 + min(64.0, 0.16 * longest[d]) if d else 0
        centres.append(centre)
    return [centres[depth[vertex]] for vertex in range(len(depth))]


def _ports(shape: Layered, x: Sequence[float], widths: Sequence[float]) -> dict[tuple[int, int, int], float]:
    """Compute where edges meet boxes: in the order of their other ends. Keys: node, other end, side."""
    ends: dict[tuple[int, int], list[int]] = {}
    for upper, lower in shape.links:
        ends.setdefault((upper, 1), []).append(lower)
        ends.setdefault((lower, -1), []).append(upper)
    out = {}
    for (node, side), others in ends.items():
        if node >= shape.count:
            continue
        others.sort(key=lambda other: x[other])
        step = min(PORTS, (widths[node] - 18) / max(1, len(others) - 1))
        for k, other in enumerate(others):
            out[node, other, side] = x[node] + (k - (len(others) - 1) / 2) * step
    return out


def _packed(
    placed: Sequence[_Part], alone: Sequence[_Part]
) -> tuple[dict[int, Point], dict[Pair, tuple[Point, ...]], Point]:
    """Arrange the parts in centred rows of similar width; a row is as high as its highest part."""
    area = sum((part.size[0] + 2 * BETWEEN) * (part.size[1] + 2 * BETWEEN) for part in [*placed, *alone])
    full = max([560.0, (1.7 * area) ** 0.5, *(part.size[0] for part in placed)])
    rows = _shelves(placed, full, 2 * BETWEEN) + _shelves(alone, full, BETWEEN)
    widest = max((width for _, width in rows), default=0.0)
    at: dict[int, Point] = {}
    routes: dict[Pair, tuple[Point, ...]] = {}
    top = MARGIN
    for parts, width in rows:
        left = MARGIN + (widest - width) / 2
        for part, shift in parts:
            dx = left + shift
            at |= {node: (x + dx, y + top) for node, (x, y) in part.at.items()}
            routes |= {pair: tuple((x + dx, y + top) for x, y in points) for pair, points in part.routes.items()}
        top += max(part.size[1] for part, _ in parts) + (2 if parts[0][0].routes else 1) * BETWEEN
    return at, routes, (widest + 2 * MARGIN, max(top - BETWEEN, MARGIN) + MARGIN)


def _shelves(parts: Sequence[_Part], full: float, gap: float) -> list[tuple[list[tuple[_Part, float]], float]]:
    """Fill rows from left to right. For each row: its parts with their positions, and its width."""
    rows: list[tuple[list[tuple[_Part, float]], float]] = []
    for part in parts:
        if rows and rows[-1][1] + gap + part.size[0] <= full:
            row, width = rows.pop()
            rows.append(([*row, (part, width + gap)], width + gap + part.size[0]))
        else:
            rows.append(([(part, 0.0)], part.size[0]))
    return rows
