"""A result as a table of edges, and in a few lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .result import Result


def edge_rows(result: Result) -> list[tuple[Any, ...]]:
    """One row per edge, in the order of `EDGE_COLUMNS`; numbers that a method does not give are None."""
    chances = {frozenset((one.a, one.b)): one for one in result.probable}
    resting = {frozenset((one.a, one.b)): one for one in result.robustness}
    gains = {frozenset((one.a, one.b)): one.gain for one in result.edges}
    rows = []
    for a, b, directed in _edges(result):
        pair = frozenset((a, b))
        one, robust = chances.get(pair), resting.get(pair)
        forward, backward = (None, None) if one is None else (one.forward, one.backward)
        if one is not None and one.a != a:
            forward, backward = backward, forward
        rows.append(
            (
                a,
                b,
                directed,
                forward,
                backward,
                None if one is None else one.none,
                None if robust is None else robust.grade,
                None if robust is None else robust.site,
                gains.get(pair),
            )
        )
    return rows


def _edges(result: Result) -> list[tuple[str, str, bool]]:
    likely = {(one.a, one.b) if one.forward >= one.backward else (one.b, one.a) for one in result.probable}
    lines = [(a, b) if not likely or (a, b) in likely else (b, a) for a, b in sorted(result.graph.undirected)]
    return [(a, b, True) for a, b in sorted(result.graph.directed)] + [(a, b, False) for a, b in lines]


def summary_text(result: Result) -> str:
    """Say what was found, line by line."""
    graph = result.graph
    grades = [one.grade for one in result.robustness]
    lines = [
        f"{result.method['name']}: {_count(len(graph), 'edge')} among {_count(len(graph.names), 'variable')} at "
        f"{_count(len(result.sites), 'site')}, {len(graph.directed)} directed."
    ]
    if result.robustness:
        lines.append(
            f"Directions confirmed whichever site is left out: {grades.count('confirmed')}; resting on one site: "
            f"{grades.count('one site')}."
        )
    for a, b, directed, forward, _, _, grade, site, _ in edge_rows(result):
        chance = "" if forward is None else f"  {forward:.2f}"
        rest = f"  rests on {site}" if grade == "one site" and site else ""
        lines.append(f"  {a} {'->' if directed else '--'} {b}{chance}{rest}")
    lines += [one.words for one in result.differences]
    lines += [f"Warning: {warning}" for warning in result.warnings]
    return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
