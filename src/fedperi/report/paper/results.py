"""Results and limitations of a run as sentences for a paper, from the numbers of the result alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...methods.certainty import WORDS
from ...methods.effects.words import number
from ...methods.tables import EdgeRow, edge_rows
from ...phrases import with_noun

if TYPE_CHECKING:
    from ...methods.result import Result
    from .mechanisms import Assumption

MOST = 12
"""Number of arrows that are described."""


def results_text(result: Result) -> str:
    """Write the results paragraph.

    Examples
    --------
    >>> import fedperi as fp
    >>> truth = fp.PDAG.from_edges([("dose", "pain")])
    >>> sim = fp.simulate(truth, clients=3, samples=1000, weights=(0.5, 1.0), intervention="shift", seed=3)
    >>> results_text(fp.MPERI().fit(sim.sites)).split(".")[0]
    'The graph has 1 edge, 1 of them with a direction'
    """
    rows = edge_rows(result)
    edges = with_noun(len(result.graph), "edge")
    parts = [f"The graph has {edges}, {len(result.graph.directed)} of them with a direction."]
    known = [row for row in rows if row.how_sure]
    if known:
        parts.append(_counted(known))
    parts += _arrows([row for row in rows if row.directed])
    if result.differences:
        parts.append(f"Sites differed: {' '.join(one.words for one in result.differences)}")
    return " ".join(parts)


def _counted(rows: Sequence[EdgeRow]) -> str:
    """Count the edges for each word of certainty, and explain the word."""
    count = Counter(row.how_sure for row in rows)
    named = [f"{count[word.word]} {word.word} (probability {word.least:g} or more)" for word in WORDS[:-1]]
    return f"By the stated probability of the direction, {', '.join(named)} and {count[WORDS[-1].word]} open."


def _arrows(rows: Sequence[EdgeRow]) -> list[str]:
    shown = sorted(rows, key=lambda row: -(row.probability or 0.0))[:MOST]
    words = [_arrow(row) for row in shown]
    if not words:
        return []
    more = len(rows) - len(shown)
    return [f"Arrows: {'; '.join(words)}{f'; and {more} more' if more > 0 else ''}."]


def _arrow(row: EdgeRow) -> str:
    about = [] if row.probability is None else [f"probability {row.probability:.2f}"]
    if row.effect is not None and row.effect_low is not None and row.effect_high is not None:
        low, high = number(row.effect_low), number(row.effect_high)
        about.append(f"direct effect {number(row.effect)}, 95 % interval {low} to {high}")
    if row.stability is not None:
        about.append(f"in {row.stability:.0%} of resampled runs")
    return f"{row.a} → {row.b}" + (f" ({', '.join(about)})" if about else "")


def limitations_text(result: Result, assumed: Sequence[Assumption]) -> str:
    """Write the limitations: what was assumed, and the warnings of the run."""
    named = "; ".join(one.name[:1].lower() + one.name[1:] for one in assumed)
    said = f"Arrows are causal claims only as far as the assumptions hold: {named}."
    return " ".join([said, *result.warnings])
