"""A closer look at the numbers of a database's table for the checks, by aggregate queries: no row is fetched.

The engine counts codes, finds the ends of the range, and counts values in intervals. Values spread over these intervals
replace the sample that is taken from a file: the checks only use its quartiles, its tails, and its size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ..checks.looks import CODES, FIRST_DATE, LAST_DATE, SAMPLE, Floats, NumberLook, may_be_dates, spread_of
from ..checks.profile import TableProfile
from .columns import Stored, cleaned, stored_columns
from .connection import Connection

INTERVALS, REACH = 256, 8.0
"""The number of intervals in which values are counted, and how many standard deviations they cover on each side."""

WIDE, HEAVY, FEW = 0.125, 0.005, 4
"""An interval is divided again if it is wider than `WIDE` times the spread, and holds more than the share `HEAVY` of
the rows and more than `FEW` rows: because of one extreme value, all others may lie in a single interval."""

DIVISIONS = 12
"""The most often that an interval of a column is divided again."""

COMPARED = 1_000_000
"""The most rows among which equal values are counted, in a column that may be an identifier."""

_EQUAL = 1e-12  # numbers this close are equal: a number that is written into a query may lose its last digit
Facts = Mapping[str, Any]


@dataclass(frozen=True)
class _Interval:
    rows: int
    low: float
    high: float


def looks_of(connection: Connection, names: Sequence[str], profile: TableProfile) -> dict[str, NumberLook]:
    """Look at the columns of numbers as `fedperi.tables.checks.looks.Looks` does while a file is read."""
    source = connection.rows
    columns = [one for one in stored_columns(source, names) if one.storage in ("integer", "number")]
    if not columns:
        return {}
    rows = _finite(source, columns)
    facts = _known(columns, profile) if not profile.dropped else _asked(connection, rows, columns, _ranges)
    columns = [column for column in columns if facts[column.place]["n"]]
    edges = _asked(connection, rows, columns, lambda value, place: _edges(value, facts[place]))
    coded = [column for column in columns if edges[column.place]["coded"]]
    inner = _asked(connection, rows, coded, lambda value, place: _inner(value, facts[place]))
    looks = {}
    for one in columns:
        values = _finite(source, [one])  # a question about one column is written faster without the others
        known = {**facts[one.place], **edges[one.place], **inner.get(one.place, {})}
        looks[one.name] = _look(connection, values, one.place, known)
    return looks


def _known(columns: Sequence[Stored], profile: TableProfile) -> dict[str, dict[str, Any]]:
    """Return the answers to `_ranges` from the profile, if it is one of all rows."""
    found = {}
    for one in columns:
        held = profile.columns[one.name]
        found[one.place] = {
            "n": profile.total - held.missing - held.infinite,
            "low": held.low,
            "high": held.high,
            "whole": held.whole,
            "mean": held.origin + held.offset,
            "deviation": held.scale,
        }
    return found


def _finite(source: Any, columns: Sequence[Stored]) -> Any:
    rows = cleaned(source, columns, drop=False)
    return rows.select(**{one.place: rows[one.place].isinf().ifelse(None, rows[one.place]) for one in columns})


def _asked(connection: Connection, rows: Any, columns: Sequence[Stored], questions: Any) -> dict[str, dict[str, Any]]:
    """Ask the same questions about all columns; return the answers by column."""
    asked = {
        f"{name}_{column.place}": question
        for column in columns
        for name, question in questions(rows[column.place], column.place).items()
    }
    answers = connection.numbers(rows, asked) if asked else {}
    found: dict[str, dict[str, Any]] = {column.place: {} for column in columns}
    for key, answer in answers.items():
        name, _, place = key.rpartition("_")
        found[place][name] = answer
    return found


def _ranges(value: Any, _: str) -> dict[str, Any]:
    return {
        "n": value.count(),
        "low": value.min(),
        "high": value.max(),
        "whole": (value == value.floor()).ifelse(1, 0).min(),
        "mean": value.mean(),
        "deviation": value.std(how="pop"),
    }


def _is_code(value: Any, facts: Facts) -> Any:
    """Return a condition: a value is one of the codes in the range. Testing for whole numbers first halves the time."""
    codes = [float(code) for code in CODES if facts["low"] <= code <= facts["high"]]
    return (value == value.floor()) & value.isin(codes) if codes else value.isnull() & value.notnull()


def _edges(value: Any, facts: Facts) -> dict[str, Any]:
    step = _EQUAL * max(abs(facts["low"]), abs(facts["high"]))
    at_low, at_high = value <= facts["low"] + step, value >= facts["high"] - step
    asked = {
        "coded": _is_code(value, facts).ifelse(1, 0).sum(),
        "low_rows": at_low.ifelse(1, 0).sum(),
        "above": at_low.ifelse(None, value).min(),
        "high_rows": at_high.ifelse(1, 0).sum(),
        "below": at_high.ifelse(None, value).max(),
    }
    if facts["whole"] and facts["low"] >= FIRST_DATE and facts["high"] <= LAST_DATE:
        asked["dates"] = (may_be_dates(value) | value.isnull()).ifelse(1, 0).min()
    return asked


def _inner(value: Any, facts: Facts) -> dict[str, Any]:
    """Ask about the values that are not codes. This is needed only for columns in which there are codes."""
    inner = _is_code(value, facts).ifelse(None, value)
    return {
        "inner_low": inner.min(),
        "inner_high": inner.max(),
        "mean": inner.mean(),
        "deviation": inner.std(how="pop"),
    }


def _look(connection: Connection, rows: Any, place: str, facts: Facts) -> NumberLook:
    codes = _codes(connection, rows, place, facts) if facts["coded"] else {}
    inner = _intervals(connection, rows, place, facts, codes) if facts["n"] > sum(codes.values()) else []
    sample = _spread_over([*inner, *(_Interval(count, code, code) for code, count in codes.items())], facts["whole"])
    return NumberLook(
        n=int(facts["n"]),
        low=float(facts["low"]),
        low_rows=int(facts["low_rows"]),
        above=float(np.inf if facts["above"] is None else facts["above"]),
        high=float(facts["high"]),
        high_rows=int(facts["high_rows"]),
        below=float(-np.inf if facts["below"] is None else facts["below"]),
        inner_low=float(facts.get("inner_low", facts["low"])) if inner else np.inf,
        inner_high=float(facts.get("inner_high", facts["high"])) if inner else -np.inf,
        codes=MappingProxyType(codes),
        sample=sample,
        whole=bool(facts["whole"]),
        distinct=_distinct(connection, rows, place, facts, sample),
        dates=bool(facts.get("dates")),
        rising=False,
        falling=False,
    )


def _codes(connection: Connection, rows: Any, place: str, facts: Facts) -> dict[int, int]:
    """Count the rows of each code."""
    some = rows.filter(_is_code(rows[place], facts))
    found = connection.ask(some.group_by(value=some[place]).aggregate(rows=some.count()), len(CODES))
    return {int(one["value"]): int(one["rows"]) for one in found}


def _intervals(
    connection: Connection, rows: Any, place: str, facts: Facts, codes: Mapping[int, int]
) -> list[_Interval]:
    """Count the values that are not codes in intervals; divide intervals again that are too wide and too full."""
    inner = rows.filter(rows[place].notnull())
    inner = inner.filter(~inner[place].isin([float(code) for code in codes])) if codes else inner
    middle, reach = float(facts["mean"]), REACH * float(facts["deviation"] or 0.0)
    least, most = float(facts.get("inner_low", facts["low"])), float(facts.get("inner_high", facts["high"]))
    low, high = max(least, middle - reach), min(most, middle + reach)
    found = _counted(connection, inner, place, low, high)
    for _ in range(DIVISIONS):
        total = sum(one.rows for one in found)
        _, spread = spread_of(_spread_over(found, whole=False))
        wide = [one for one in found if one.high - one.low > WIDE * spread > 0 and one.rows > max(FEW, HEAVY * total)]
        if not wide:
            break
        one = max(wide, key=lambda interval: interval.rows)
        step = _EQUAL * max(abs(one.low), abs(one.high))
        part = inner.filter(inner[place].between(one.low - step, one.high + step))
        finer = _counted(connection, part, place, one.low, one.high)
        if len(finer) < 2:
            break
        found = [other for other in found if other is not one] + finer
    return found


def _counted(connection: Connection, rows: Any, place: str, low: float, high: float) -> list[_Interval]:
    """Count the values in intervals of one width between two limits, and those outside, with their ranges."""
    value, width = rows[place], (high - low) / INTERVALS
    if width > 0:
        share = (value - low) / width
        at = (share < 0).ifelse(-1, (share > INTERVALS).ifelse(INTERVALS, share.floor()))
    else:
        at = (value < low).ifelse(-1, (value > low).ifelse(1, 0))
    some = rows.select(at=at, value=value)
    question = some.group_by("at").aggregate(rows=some.count(), low=some.value.min(), high=some.value.max())
    found = connection.ask(question, INTERVALS + 2)
    return [_Interval(int(one["rows"]), float(one["low"]), float(one["high"])) for one in found]


def _spread_over(intervals: Sequence[_Interval], whole: bool) -> Floats:
    """Return values spread evenly over intervals, at most `SAMPLE` of them, in order."""
    if not intervals:
        return np.empty(0)
    ordered = sorted(intervals, key=lambda one: one.low)
    counts = np.array([one.rows for one in ordered])
    lows, highs = np.array([one.low for one in ordered]), np.array([one.high for one in ordered])
    ends = np.cumsum(counts)
    size = min(int(ends[-1]), SAMPLE)
    ranks = ((np.arange(size) + 0.5) * (ends[-1] / size)).astype(np.int64)
    at = np.searchsorted(ends, ranks, side="right")
    share = (ranks - (ends - counts)[at]) / np.maximum(counts[at] - 1, 1)
    values: Floats = lows[at] + share * (highs - lows)[at]
    return np.sort(np.rint(values) if whole else values)


def _distinct(connection: Connection, rows: Any, place: str, facts: Facts, sample: Floats) -> bool:
    """Whether so few whole numbers are equal that a sample of `SAMPLE` rows would hold no two equal ones.

    If there are more than `COMPARED` rows, equal ones are counted among the smallest values.
    """
    n = int(facts["n"])
    if not facts["whole"] or facts["high"] - facts["low"] + 1 < n:  # more rows than values
        return False
    value = rows[place]
    if n > COMPARED:
        value = (value <= float(sample[len(sample) * COMPARED // n])).ifelse(value, None)
    found = connection.numbers(rows, {"rows": value.count(), "different": value.nunique()})
    equal = (found["rows"] - found["different"]) * n / max(found["rows"], 1)
    return bool(equal * (min(n, SAMPLE) / n) ** 2 < 1)
