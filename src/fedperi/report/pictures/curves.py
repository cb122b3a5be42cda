"""The curve of an edge through the points of a layout."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

Point = tuple[float, float]
STEEPEST = 0.9
"""Largest slope (sideways per step down) where an edge passes a layer, so that it does not touch boxes there."""
Curve = tuple[Point, Point, Point, Point]


def curves(points: Sequence[Point], short: float = 0.0) -> list[Curve]:
    """Write a route as cubic curves with control points; the ends are cut by `short`.

    The route begins and ends vertically, so that arrow heads point straight at boxes. In between it has the slope of
    the line through the neighbouring points, so that a long edge is one smooth curve without steps.

    Examples
    --------
    >>> curves([(0, 0), (4, 10)])
    [((0, 0.0), (0.0, 4.0), (4.0, 6.0), (4, 10.0))]
    """
    (x, y), (u, v) = points[0], points[-1]
    at = [(x, y + short), *points[1:-1], (u, v - short)]
    steps = [(b[0] - a[0]) / (b[1] - a[1]) for a, b in pairwise(at)]
    slopes = [0.0, *(_slope(a, b) for a, b in pairwise(steps)), 0.0]
    out: list[Curve] = []
    for k, ((x, y), (u, v)) in enumerate(pairwise(at)):
        one, two = (0.4 if end in (0, len(at) - 1) else 1 / 3 for end in (k, k + 1))
        one, two = one * (v - y), two * (v - y)
        out.append(((x, y), (x + slopes[k] * one, y + one), (u - slopes[k + 1] * two, v - two), (u, v)))
    return out


def _slope(before: float, after: float) -> float:
    """Compute the slope at a bend: zero where the edge turns back; limited, so that the curve does not touch boxes."""
    if before * after <= 0:
        return 0.0
    return float(np.clip(2 * before * after / (before + after), -STEEPEST, STEEPEST))


def midpoint(points: Sequence[Point]) -> Point:
    """Compute the middle of the curve in the middle of a route, for a mark."""
    parts = curves(points)
    a, b, c, d = np.array(parts[len(parts) // 2])
    x, y = (a + 3 * b + 3 * c + d) / 8
    return float(x), float(y)
