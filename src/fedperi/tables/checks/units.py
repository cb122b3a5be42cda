"""Whether one site measures a column in another unit than the rest: pounds for kilograms, mg/dl for mmol/l.

A unit multiplies mean and spread by the same factor. A policy that shifts a variable changes the mean alone, one that
spreads it the spread alone. So a site is named if both ratios to the other sites agree and are far from 1, or if both
follow the one usual unit with an offset, degrees Fahrenheit for Celsius.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .findings import Finding

if TYPE_CHECKING:
    from ..summary.summary import Summary

FAR = 1.8
"""Ratio from which on a unit is suspected: the smallest usual factor is 1.8, degrees Fahrenheit."""

AGREE = 1.25
"""Mean and spread must change by the same factor, up to this: case mix changes both a little."""

AWAY = 2.0
"""Standard deviations that a mean must be away from zero at every site, or its ratio says nothing."""

FACTORS = (
    (2.2046, "pounds and kilograms"),
    (2.54, "inches and centimetres"),
    (7.5006, "mmHg and kPa"),
    (10.0, "a factor of ten"),
    (18.016, "glucose in mg/dl and mmol/l"),
    (38.67, "cholesterol in mg/dl and mmol/l"),
    (88.42, "creatinine in mg/dl and \N{MICRO SIGN}mol/l, or triglycerides in mg/dl and mmol/l"),
    (100.0, "a factor of a hundred, such as percent and shares"),
    (1000.0, "a factor of a thousand"),
)
"""Usual factors between two units of one quantity."""


def unit_findings(parts: Sequence[Summary]) -> list[Finding]:
    """Name columns that one site seems to measure in another unit than the others: warnings.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> import fedperi as fp
    >>> rng = np.random.default_rng(0)
    >>> tables = {name: pd.DataFrame({"weight": rng.normal(80, 12, 200)}) for name in ("north", "south", "west")}
    >>> tables["west"] *= 2.2046
    >>> for finding in unit_findings([fp.Summary.of(table, name=name) for name, table in tables.items()]):
    ...     print(finding)
    site 'west', column 'weight': mean and spread are both about 2.22 times those elsewhere, as between pounds and ...
    """
    if len(parts) < 3:  # with two sites nobody can say which one is different
        return []
    found = []
    for at, (name, block) in enumerate(zip(parts[0].names, parts[0].blocks, strict=True)):
        if any(part.kinds[at] == "categorical" for part in parts):
            continue
        means = np.array([part.mean[block[0]] for part in parts])
        spreads = np.array([np.sqrt(part.covariance[block[0], block[0]]) for part in parts])
        if (spreads <= 0).any() or (np.abs(means) < AWAY * spreads).any():
            continue
        for k, part in enumerate(parts):
            others = np.arange(len(parts)) != k
            words = _other_unit(means[k], spreads[k], np.median(means[others]), np.median(spreads[others]))
            if words and not _spread_out(means[others], spreads[others]):
                remedy = "convert the column at this site, or ask the site which unit it uses"
                found.append(Finding("warning", part.site, (name,), words, remedy))
    return found


def _other_unit(mean: float, spread: float, usual_mean: float, usual_spread: float) -> str:
    """Say which other unit a column seems to have, or nothing."""
    by_mean, by_spread = mean / usual_mean, spread / usual_spread
    scales = ((True, "degrees Fahrenheit instead of Celsius"), (False, "degrees Celsius instead of Fahrenheit"))
    for warm, words in scales:
        expected = 1.8 * usual_mean + 32 if warm else (usual_mean - 32) / 1.8
        factor = 1.8 if warm else 1 / 1.8
        # A temperature of the body varies by a degree, so the mean must fit closely: half a standard deviation.
        if abs(mean - expected) < 0.5 * spread and _near(by_spread, factor) and 30 <= min(mean, usual_mean) <= 45:
            return f"mean and spread are as if it were in {words}"
    if by_mean <= 0 or max(by_mean, 1 / by_mean) < FAR or not _near(by_mean, by_spread):
        return ""
    both = float(np.sqrt(by_mean * by_spread))
    ratio = max(both, 1 / both)
    factor, usual = min(FACTORS, key=lambda entry: abs(log(ratio / entry[0])))
    hint = f", as between {usual}" if _near(ratio, factor) else ""
    times = f"{both:.3g} times" if both > 1 else f"1/{1 / both:.3g} of"
    return f"mean and spread are both about {times} those elsewhere{hint}"


def _near(a: float, b: float) -> bool:
    return bool(1 / AGREE < a / b < AGREE)


def _spread_out(means: NDArray[np.float64], spreads: NDArray[np.float64]) -> bool:
    """Whether the other sites differ among themselves as much: then none of them is the usual one."""
    if means.min() * means.max() <= 0:
        return True
    sizes = np.abs(means)
    return bool(sizes.max() / sizes.min() > FAR or spreads.max() / spreads.min() > FAR)
