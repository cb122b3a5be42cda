"""Find codes for "not known" among numbers, and single values that are impossible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .findings import Finding, Level
from .looks import CODES, Floats, NumberLook, spread_of

ROWS, SHARE = 5, 0.01
"""Least number of rows of a site, and their share, in which a code occurs. The value of one patient does not repeat."""

AWAY, GAP = 3.5, 1.0
"""Least distance of a well-known code from the middle, and from the nearest other value, in standard deviations.
Cholesterol 0 is 4.6 and 1.6 away. Zero cigarettes, of people who do not smoke, lie nearer."""

FAR_AWAY, FAR_GAP = 5.0, 2.0
"""The same for a number that is not a well-known code."""

IMPOSSIBLE, LONELY = 10.0, 3.0
"""Standard deviations from the middle beyond which a single value is called impossible, and how many times as far away
as all other values it must be."""

LEAST = 20
"""Least number of other values that tell what is usual."""

Looked = Mapping[str, NumberLook]
"""What a closer look at one column found, by site."""


def codes_of(looks: Looked, levels: Sequence[str] | None = None) -> tuple[int, ...]:
    """Return the well-known codes that lie apart from all other values or levels of a column, at all sites together."""
    repeated = [code for code in CODES if any(_repeats(look, look.codes.get(code, 0)) for look in looks.values())]
    if levels is not None:
        return tuple(code for code in repeated if _odd_level(code, levels))
    inner = np.concatenate([look.inner(CODES) for look in looks.values()])
    if len(inner) < LEAST:
        return ()
    middle, spread = spread_of(inner)
    low = min(look.inner_low for look in looks.values())
    high = max(look.inner_high for look in looks.values())
    return tuple(code for code in repeated if _apart(code, low, high, middle, spread))


def _repeats(look: NumberLook, rows: int) -> bool:
    return rows >= max(ROWS, SHARE * look.n)


def _apart(code: float, low: float, high: float, middle: float, spread: float) -> bool:
    gap = max(low - code, code - high)
    if gap <= 0 or not spread > 0:
        return False
    negative = code <= -7 and low >= 0 and gap >= GAP / 2 * spread
    return negative or (gap >= GAP * spread and abs(code - middle) >= AWAY * spread)


def _odd_level(code: int, levels: Sequence[str]) -> bool:
    """Whether a code stands out from the other levels, if all are numbers: 9 or 99 far above them, -9 below zero."""
    try:
        others = [float(level) for level in levels if float(level) != code]
    except ValueError:
        return False
    others = [level for level in others if level not in CODES or level in (-1, 0)]
    if len(others) < 2:
        return False
    return (code >= 9 and max(others) * 2 < code) or (code <= -7 and min(others) >= 0)


def sentinel_findings(name: str, looks: Looked, levels: Sequence[str] | None = None) -> list[Finding]:
    """List the codes for "not known" in a column, with one finding per code for all sites.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables.checks.looks import Looks
    >>> looks = Looks()
    >>> looks.add(pd.DataFrame({"chol": [180.5 + i % 80 for i in range(100)] + [0.0] * 20}))
    >>> print(sentinel_findings("chol", {"lyon": looks.result()["chol"]})[0])
    column 'chol': the value 0 at 'lyon' (20 of 120 rows) is far from all other values: probably a code for ...
    """
    # As a level of a category a code does no harm; among amounts it would count as a huge or a tiny one.
    level: Level = "error" if levels is None else "warning"
    found = []
    for code in codes_of(looks, levels):
        remedy = f"if so, declare missing_values = [{code}] for {name} in the schema"
        message = f"{_far_away(code, looks)}: probably a code for missing"
        found.append(Finding(level, None, (name,), message, remedy, "sentinel"))
    return found or ([] if levels is not None else _repeated_edges(name, looks))


def _far_away(code: int, looks: Looked) -> str:
    rows = {site: (look.codes[code], look.n) for site, look in looks.items() if look.codes.get(code)}
    where = " and ".join(f"{site!r} ({some} of {n} rows)" for site, (some, n) in rows.items())
    return f"the value {code} at {where} is far from all other values"


def zero_findings(name: str, looks: Looked) -> list[Finding]:
    """Say that zeros are taken as missing, if they lie apart from all other values.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables.checks.looks import Looks
    >>> looks = Looks()
    >>> looks.add(pd.DataFrame({"chol": [180.5 + i % 80 for i in range(100)] + [0.0] * 20}))
    >>> print(zero_findings("chol", {"lyon": looks.result()["chol"]})[0])
    column 'chol': the value 0 at 'lyon' (20 of 120 rows) is far from all other values, and is taken as missing; ...
    """
    if 0 not in codes_of(looks):
        return []
    message = f"{_far_away(0, looks)}, and is taken as missing"
    remedy = (
        f"declare missing_values = [0] for {name} in the schema to be explicit; if 0 is an amount, use --accept {name}"
    )
    return [Finding("warning", None, (name,), message, remedy, "sentinel")]


def _repeated_edges(name: str, looks: Looked) -> list[Finding]:
    """Find sites where the smallest or the largest value repeats and lies apart, without showing the value."""
    where = []
    for site, look in looks.items():
        for edge, rows, following in ((look.low, look.low_rows, look.above), (look.high, look.high_rows, look.below)):
            rest = look.inner((edge,))
            if not _repeats(look, rows) or len(rest) < LEAST:
                continue
            middle, spread = spread_of(rest)
            if abs(following - edge) >= FAR_GAP * spread > 0 and abs(edge - middle) >= FAR_AWAY * spread:
                which = "smallest" if edge == look.low else "largest"
                where.append(f"the {which} value at {site!r} occurs in {rows} of {look.n} rows")
    if not where:
        return []
    message = f"{' and '.join(where)} and lies far from all others: perhaps a code for missing, or a detection limit"
    remedy = f"check it there; if it is a code, declare missing_values for {name} in the schema"
    return [Finding("error", None, (name,), message, remedy, "sentinel")]


def impossible_findings(name: str, looks: Looked) -> list[Finding]:
    """Find sites where single values of a column are far from all others, without showing them.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables.checks.looks import Looks
    >>> looks = Looks()
    >>> looks.add(pd.DataFrame({"age": [40.5 + i % 50 for i in range(100)] + [640.0]}))
    >>> print(impossible_findings("age", {"lyon": looks.result()["age"]})[0])
    column 'age': a few values at 'lyon' are more than 10 standard deviations from the median; check the largest ...
    """
    codes = codes_of(looks)
    where = {site: sides for site, look in looks.items() if (sides := _impossible_sides(look, codes))}
    if not where:
        return []
    message = f"a few values at {', '.join(map(repr, where))} are more than {IMPOSSIBLE:g} standard deviations"
    which = " and ".join(dict.fromkeys(side for both in where.values() for side in both))
    remedy = f"check the {which} there: a slipped decimal point or another unit? Correct it, or mark it as missing"
    return [Finding("error", None, (name,), f"{message} from the median", remedy, "impossible")]


def _impossible_sides(look: NumberLook, codes: tuple[int, ...]) -> list[str]:
    """Say whether impossible values are among the smallest or the largest ones."""
    edges = [edge for edge in (look.low, look.high) if edge not in codes]  # the sample of a large table may miss them
    values = np.sort(np.concatenate([look.inner(codes), edges]))
    if len(values) < LEAST:
        return []
    scales = [(values, 1.0)]
    if values[0] > 0:  # values of a skewed column must be far away in logarithms too
        scales.append((np.log(values), 0.5))
    sides = ((-1, "smallest"), (1, "largest"))
    return [word for side, word in sides if all(_far_above(side * scale, factor) for scale, factor in scales)]


def _far_above(values: Floats, factor: float) -> bool:
    """Whether a few of the values are far above all others."""
    middle, spread = spread_of(values)
    if not spread > 0:
        return False
    distance = (values - middle) / spread
    beyond = distance > IMPOSSIBLE * factor
    few = max(3, 0.005 * len(values))
    if not 0 < int(beyond.sum()) <= few:
        return False
    rest = float(distance[~beyond].max())
    return bool(float(distance[beyond].max()) > max(IMPOSSIBLE, LONELY * rest) * factor)
