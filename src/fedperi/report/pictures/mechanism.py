"""A small picture of a mechanism at one site and elsewhere: a line per group of sites, or a mean and a spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from ...methods.effects.moments import Moments
from ...methods.effects.words import number
from ...names import visible

Floats = NDArray[np.float64]

WIDTH, HEIGHT = 300, 170
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 12, 34


@dataclass(frozen=True, eq=False)
class Line:
    """How a variable depends on its causes in a group of sites.

    Attributes
    ----------
    strengths : array
        Coefficients of the columns of its causes.
    centre : array
        Means of these columns.
    mean, spread : float
        Mean of the variable, and its spread around the line.
    """

    strengths: Floats
    centre: Floats
    mean: float
    spread: float

    def at(self, columns: Floats) -> float:
        """Compute the expected value of the variable, given the values of its causes."""
        return self.mean + float(self.strengths @ (columns - self.centre))


def fitted(moments: Moments, sites: Sequence[str], variable: str, causes: Sequence[str]) -> Line:
    """Fit the line of a variable to the pooled rows of some sites, from their means and covariances.

    Examples
    --------
    >>> import fedperi as fp
    >>> sim = fp.simulate(fp.PDAG.from_edges([("dose", "pain")]), clients=2, samples=5000, intervention="none", seed=1)
    >>> moments = Moments.of([fp.Summary.of(table, name=str(k)) for k, table in enumerate(sim.sites)])
    >>> line = fitted(moments, ("0", "1"), "pain", ("dose",))
    >>> bool(abs(line.strengths[0] - sim.weights[0][0, 1]) < 0.05)
    True
    """
    own = moments.blocks[moments.names.index(variable)][0]
    before = [column for cause in causes for column in moments.blocks[moments.names.index(cause)]]
    chosen = [one for one in moments.sites if one.site in sites]
    rows = np.array([one.n for one in chosen])
    centre = np.average([one.mean for one in chosen], axis=0, weights=rows)
    inside = [one.covariance + np.outer(one.mean - centre, one.mean - centre) for one in chosen]
    spread = np.average(inside, axis=0, weights=rows)
    strengths = np.linalg.lstsq(spread[np.ix_(before, before)], spread[before, own], rcond=1e-9)[0]
    left = float(spread[own, own] - spread[before, own] @ strengths)
    return Line(np.asarray(strengths), centre[before], float(centre[own]), max(left, 0.0) ** 0.5)


def mechanism_svg(
    moments: Moments,
    variable: str,
    causes: Sequence[str],
    here: str,
    elsewhere: Sequence[str],
    shown: Sequence[str] = (),
) -> str:
    """Draw a mechanism at a site and elsewhere.

    Parameters
    ----------
    moments : Moments
        The sites' moments.
    variable, causes : str, sequence of str
        The mechanism.
    here, elsewhere : str, sequence of str
        The site, and the sites with the most common mechanism.
    shown : sequence of str
        Causes of which one should be on the axis, if any.

    Returns
    -------
    str
        An ``<svg>`` element; empty if the variable is a category with several levels, which has no single line.
    """
    blocks = dict(zip(moments.names, moments.blocks, strict=True))
    if len(blocks[variable]) > 1 or not elsewhere:
        return ""
    lines = [fitted(moments, sites, variable, causes) for sites in ((here,), elsewhere)]
    share = moments.shares[moments.names.index(variable)]
    axis = _axis(blocks, causes, shown, lines)
    if axis is None:
        return _levels(variable, here, lines, share)
    cause, column = axis
    own = blocks[cause][0]
    usual = [one for one in moments.sites if one.site in elsewhere]
    wide = 2 * max(float(one.covariance[own, own]) for one in usual) ** 0.5
    middle = float(lines[1].centre[column])
    yes_no = moments.shares[moments.names.index(cause)]
    ends = (0.0, 1.0) if yes_no else (middle - wide, middle + wide)
    at = np.tile(lines[1].centre, (2, 1))  # for both lines, the other causes have their values elsewhere
    at[:, column] = ends
    values = [[line.at(columns) for columns in at] for line in lines]
    return _frame(variable, cause, here, ends, values, [0.0 if share else line.spread for line in lines])


def _axis(
    blocks: dict[str, tuple[int, ...]], causes: Sequence[str], shown: Sequence[str], lines: Sequence[Line]
) -> tuple[str, int] | None:
    """Choose the cause on the axis, a numeric one of those that differ, and its column among those of all causes."""
    column, found = 0, []
    for cause in causes:
        if len(blocks[cause]) == 1:
            change = abs(float(lines[0].strengths[column] - lines[1].strengths[column]))
            found.append((cause not in shown, -change, cause, column))
        column += len(blocks[cause])
    return None if not found else min(found)[2:]


def _levels(variable: str, here: str, lines: Sequence[Line], share: bool) -> str:
    """Draw two marks, each a mean with the spread around it."""
    around = [0.0 if share else line.spread for line in lines]
    low = min(line.mean - s for line, s in zip(lines, around, strict=True))
    high = max(line.mean + s for line, s in zip(lines, around, strict=True))
    low, high = (low, high) if high > low else (low - 1, high + 1)
    scale = (WIDTH - LEFT - RIGHT) / (high - low)
    parts = []
    for k, (line, s, name) in enumerate(zip(lines, around, (here, "elsewhere"), strict=True)):
        y = 52 + 52 * k
        left, at, right = (LEFT + (value - low) * scale for value in (line.mean - s, line.mean, line.mean + s))
        kind = "elsewhere" if k else "here"
        parts.append(
            f'<text x="{LEFT}" y="{y - 12}">{escape(visible(name))}</text>'
            f'<path class="{kind}" d="M{left:.1f},{y} H{right:.1f}"/>'
            f'<circle class="{kind}" cx="{at:.1f}" cy="{y}" r="5"/>'
        )
    about = f"{variable}: mean {number(lines[0].mean)} here, {number(lines[1].mean)} elsewhere"
    return _svg(about, "".join(parts) + _ends(low, high) + _titles("", f"{variable}{'' if share else ', mean ± SD'}"))


def _frame(
    variable: str,
    cause: str,
    here: str,
    ends: tuple[float, float],
    values: Sequence[Sequence[float]],
    spreads: Sequence[float],
) -> str:
    low = min(value - s for line, s in zip(values, spreads, strict=True) for value in line)
    high = max(value + s for line, s in zip(values, spreads, strict=True) for value in line)
    low, high = (low, high) if high > low else (low - 1, high + 1)

    def y(value: float) -> float:
        return TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM)

    right = WIDTH - RIGHT
    parts = []
    for kind, line, s in reversed(list(zip(("here", "elsewhere"), values, spreads, strict=True))):
        band = f"M{LEFT},{y(line[0] - s):.1f} L{right},{y(line[1] - s):.1f} V{y(line[1] + s):.1f} "
        parts.append(f'<path class="band {kind}" d="{band}L{LEFT},{y(line[0] + s):.1f} Z"/>')
        parts.append(f'<path class="{kind}" d="M{LEFT},{y(line[0]):.1f} L{right},{y(line[1]):.1f}"/>')
    ticks = "".join(
        f'<text x="{LEFT - 6}" y="{at}" dy="0.35em" text-anchor="end">{number(value)}</text>'
        for value, at in ((low, HEIGHT - BOTTOM), (high, TOP))
    )
    slopes = [(line[1] - line[0]) / (ends[1] - ends[0]) for line in values]
    about = (
        f"{variable} against {cause}: slope {number(slopes[0])} at {here}, {number(slopes[1])} elsewhere, "
        "for the same other causes"
    )
    return _svg(about, "".join(parts) + ticks + _ends(*ends) + _titles(variable, cause))


def _ends(low: float, high: float) -> str:
    y = HEIGHT - BOTTOM + 14
    return (
        f'<text x="{LEFT}" y="{y}">{number(low)}</text>'
        f'<text x="{WIDTH - RIGHT}" y="{y}" text-anchor="end">{number(high)}</text>'
    )


def _titles(up: str, along: str) -> str:
    y = HEIGHT - 6
    return (
        f'<path class="axis" d="M{LEFT},{TOP} V{HEIGHT - BOTTOM} H{WIDTH - RIGHT}"/>'
        f'<text x="{LEFT + 4}" y="{TOP + 8}" class="name">{escape(visible(up[:34]))}</text>'
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{y}" text-anchor="middle" class="name">'
        f"{escape(visible(along[:40]))}</text>"
    )


def _svg(about: str, content: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="mechanism" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" aria-label="{escape(visible(about))}">{content}</svg>'
    )
