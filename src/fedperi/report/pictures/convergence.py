"""The convergence of a search, as small SVG pictures."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ...search.phase1 import Step

WIDTH, HEIGHT = 420, 170
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 14, 34


def convergence_svg(history: Sequence[Step], what: str) -> str:
    """Draw one quantity after each step of a search.

    Parameters
    ----------
    history : sequence of Step
        At least two steps.
    what : {"objective", "worst_regret"}
        The quantity.

    Examples
    --------
    >>> from fedperi.search.phase1 import Step
    >>> steps = [Step("first search", 1, 9.0, 4.0), Step("restart 1", 2, 7.0, 3.0)]
    >>> convergence_svg(steps, "objective").count("<circle")
    2
    """
    values = [float(getattr(step, what)) for step in history]
    low, high = min(values), max(values)
    room = (high - low) or max(1.0, abs(high) * 0.1)  # a horizontal line is in the middle
    low, high = (low - 0.08 * room, high + 0.08 * room) if high > low else (low - room, high + room)
    across = (WIDTH - LEFT - RIGHT) / (len(values) - 1)
    at = [
        (LEFT + k * across, TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM))
        for k, value in enumerate(values)
    ]
    points = list(zip(values, at, strict=True))
    extremes = {round(value, 9): y for value, (_, y) in (min(points), max(points))}  # one tick if they are equal
    ticks = "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 8}" y="{y:.1f}" dy="0.35em" text-anchor="end">{value:,.{1 if room >= 1 else 3}f}</text>'
        for value, y in extremes.items()
    )
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"><title>step {k}, {escape(step.what)}, after {step.rounds} rounds: '
        f"{value:,.2f}</title></circle>"
        for k, ((x, y), step, value) in enumerate(zip(at, history, values, strict=True), 1)
    )
    ends = "".join(
        f'<text x="{at[k][0]:.1f}" y="{HEIGHT - 12}" text-anchor="{anchor}">{label}</text>'
        for k, anchor, label in ((0, "start", "step 1"), (-1, "end", f"step {len(values)}"))
    )
    name = "objective" if what == "objective" else "worst regret"
    unit = " nats" if history[0].worst_regret is not None else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{name} after each of {len(values)} steps, from {values[0]:,.1f} to {values[-1]:,.1f}{unit}">'
        f'{ticks}<polyline points="{line}"/>{dots}{ends}</svg>'
    )
