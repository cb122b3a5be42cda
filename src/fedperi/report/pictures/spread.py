"""Horizontal positions in a layered graph: straight long edges, boxes near their neighbours, no overlap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .layers import Layered

PASSES = 30
BEND = 14.0
"""Width that is reserved for an edge that passes a layer."""


def spread(shape: Layered, widths: Sequence[float], between: float) -> list[float]:
    """Compute the position of every vertex, for nodes of these widths with free space between boxes.

    The target of each vertex is the weighted mean of its neighbours, with more weight for bends than for boxes, so that
    long edges are straight. Given the targets, the positions of one layer are the exact least-squares solution that
    keeps order and distance (isotonic regression). Layers are processed in turn, down and up.

    Examples
    --------
    >>> from fedperi.report.pictures.layers import layered
    >>> [round(x) for x in spread(layered(3, [(0, 2), (1, 2)]), [40, 40, 40], 20)]
    [0, 60, 30]
    """
    total = sum(len(row) for row in shape.rows)
    half = np.full(total, BEND / 2)
    half[: shape.count] = np.asarray(widths) / 2
    offsets = [_offsets(row, half, shape.count, between) for row in shape.rows]
    pull = np.zeros((total, total))
    for upper, lower in shape.links:
        bends = (upper >= shape.count) + (lower >= shape.count)
        pull[upper, lower] = pull[lower, upper] = (1.0, 3.0, 10.0)[bends]
    depth = np.zeros(total, dtype=int)
    x = np.zeros(total)
    for d, (row, offset) in enumerate(zip(shape.rows, offsets, strict=True)):
        depth[row] = d
        x[row] = offset - offset.mean()
    upward = np.where(depth[:, None] > depth[None, :], pull, 0.0)
    for k in range(PASSES):
        both = k >= PASSES // 2  # first use the neighbours of one side, which moves far; then those of both sides
        rows = list(zip(shape.rows, offsets, strict=True))
        for row, offset in rows if k % 2 == 0 else rows[::-1]:
            forces = (pull if both else upward if k % 2 == 0 else pull - upward)[row]
            weight = forces.sum(axis=1)
            wanted = np.where(weight > 0, forces @ x / np.maximum(weight, 1e-9), x[row])
            x[row] = offset + isotonic(wanted - offset, np.maximum(weight, 0.1))
    return [float(value) for value in x - x.min()]


def isotonic(wanted: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find the non-decreasing sequence nearest to a given one in weighted squares (pool adjacent violators).

    Examples
    --------
    >>> isotonic(np.array([1.0, 3.0, 2.0]), np.ones(3)).tolist()
    [1.0, 2.5, 2.5]
    """
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(wanted.tolist(), weights.tolist(), strict=True):
        blocks.append((value, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, wa, na), (b, wb, nb) = blocks.pop(-2), blocks.pop()
            blocks.append(((a * wa + b * wb) / (wa + wb), wa + wb, na + nb))
    return np.repeat([block[0] for block in blocks], [block[2] for block in blocks])


def _offsets(row: Sequence[int], half: NDArray[np.float64], count: int, between: float) -> NDArray[np.float64]:
    """Compute the smallest positions of a layer's vertices, with the first at zero."""
    out = np.zeros(len(row))
    for k in range(1, len(row)):
        free = between if row[k] < count or row[k - 1] < count else 0.0
        out[k] = out[k - 1] + half[row[k - 1]] + half[row[k]] + free
    return out
