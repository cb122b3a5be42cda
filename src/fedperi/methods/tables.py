"""Write a result as a table of edges, and as a few lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..phrases import with_noun
from .certainty import how_sure, meaning

if TYPE_CHECKING:
    from .effects.estimates import Effects
    from .result import Result


class EdgeRow(NamedTuple):
    """One edge; values that a method does not compute are None.

    Attributes
    ----------
    a, b : str
        Its ends: cause and effect; for an open edge the more probable cause first.
    directed : bool
        Whether the graph directs it.
    probability, reverse, none : float or None
        Probabilities of ``a -> b``, of ``b -> a``, of no edge.
    grade, rests_on : str or None
        What the direction depends on, see `fedperi.methods.parts.Robustness`.
    evidence : float or None
        How much worse the data fit without the edge, in nats.
    how_sure : str or None
        The probability of ``a -> b`` as one of the four words of `fedperi.methods.certainty`.
    changes_if : str or None
        What reverses an arrow, leaves it open or removes it.
    effect, effect_low, effect_high : float or None
        For an arrow: its pooled direct effect, with a 95 % interval; None if there is one per level of a category.
    unit : str or None
        Unit of the effect: which change of `b` for which change of `a`.
    stability : float or None
        Share of bootstrap runs in which the pair had the same edge.
    """

    a: str
    b: str
    directed: bool
    probability: float | None
    reverse: float | None
    none: float | None
    grade: str | None
    rests_on: str | None
    evidence: float | None
    how_sure: str | None
    changes_if: str | None
    effect: float | None
    effect_low: float | None
    effect_high: float | None
    unit: str | None
    stability: float | None


def edge_rows(result: Result, *, effects: bool = True) -> list[EdgeRow]:
    """List the edges; without `effects` those columns are None, which saves their computation."""
    from .effects.table import effects_of

    chances: dict[tuple[str, str], tuple[float | None, ...]] = {}
    for one in result.probable:
        chances[one.a, one.b] = one.forward, one.backward, one.none
        chances[one.b, one.a] = one.backward, one.forward, one.none
    resting = {frozenset((one.a, one.b)): one for one in result.robustness}
    gains = {frozenset((one.a, one.b)): one.gain for one in result.edges}
    strong = effects_of(result) if effects else None
    rows = []
    for a, b, directed in _edges(result):
        pair = frozenset((a, b))
        forward, backward, none = chances.get((a, b), (None, None, None))
        robust = resting.get(pair)
        rows.append(
            EdgeRow(
                a,
                b,
                directed,
                forward,
                backward,
                none,
                None if robust is None else robust.grade,
                None if robust is None else robust.site,
                gains.get(pair),
                None if forward is None else how_sure(forward, directed).word,
                None if robust is None else "; ".join(robust.flips),
                *(_effect(strong, a, b) if strong is not None and directed else (None,) * 4),
                _stability(result, a, b, directed),
            )
        )
    return rows


def _effect(effects: Effects, a: str, b: str) -> tuple[float | None, float | None, float | None, str | None]:
    """Return the pooled direct effect, its interval and its unit; no numbers if there is one effect per level."""
    common = [one for one in effects.of(a, b) if one.pooled]
    direct = common[0].direct
    if len(common) > 1 or direct is None or np.isnan(direct.value):
        return None, None, None, common[0].unit
    return direct.value, direct.low, direct.high, common[0].unit


def _stability(result: Result, a: str, b: str, directed: bool) -> float | None:
    one = next((one for one in result.stability if {one.a, one.b} == {a, b}), None)
    if one is None:
        return None
    return one.undirected if not directed else one.forward if one.a == a else one.backward


def _edges(result: Result) -> list[tuple[str, str, bool]]:
    likely = {(one.a, one.b) if one.forward >= one.backward else (one.b, one.a) for one in result.probable}
    lines = [(a, b) if not likely or (a, b) in likely else (b, a) for a, b in sorted(result.graph.undirected)]
    return [(a, b, True) for a, b in sorted(result.graph.directed)] + [(a, b, False) for a, b in lines]


def edge_csv(result: Result) -> str:
    """Write the table of edges as CSV: one row per edge, empty where the method gives no number.

    Names that a spreadsheet could take for a formula have a single quote before them, as in graph.csv.
    """
    import pandas as pd

    from ..names import guarded

    frame = pd.DataFrame(edge_rows(result), columns=list(EdgeRow._fields))
    for name in ("a", "b", "rests_on", "changes_if", "unit"):
        frame[name] = [guarded(text) if isinstance(text, str) else None for text in frame[name]]
    return frame.to_csv(index=False, lineterminator="\n")


def summary_text(result: Result) -> str:
    """Describe the result, line by line."""
    graph = result.graph
    grades = [one.grade for one in result.robustness]
    lines = [
        f"{result.method['name']}: {with_noun(len(graph), 'edge')} among {with_noun(len(graph.names), 'variable')} at "
        f"{with_noun(len(result.sites), 'site')}, {len(graph.directed)} directed."
    ]
    lines += [f"Warning: {warning}" for warning in result.warnings]
    if result.robustness:
        lines.append(
            f"Directions confirmed whichever site is left out: {grades.count('confirmed')}; resting on one site: "
            f"{grades.count('one site')}."
        )
    rows = edge_rows(result)
    lines += [_line(row) for row in rows]
    if any(row.how_sure for row in rows):
        lines.append(meaning())
    lines += [one.words for one in result.differences]
    return "\n".join(lines)


def _line(row: EdgeRow) -> str:
    from .effects.words import number

    sure = "" if row.probability is None else f"  {row.probability:.2f} {row.how_sure}"
    effect = ""
    if row.effect is not None and row.effect_low is not None and row.effect_high is not None:
        effect = f"  effect {number(row.effect)} ({number(row.effect_low)} to {number(row.effect_high)})"
    rest = f"  rests on {row.rests_on}" if row.grade == "one site" and row.rests_on else ""
    return f"  {row.a} {'->' if row.directed else '--'} {row.b}{sure}{effect}{rest}"
