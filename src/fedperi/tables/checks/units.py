"""Find columns that one site measures in another unit than the others: pounds for kilograms, mg/dl for mmol/l.

A unit multiplies mean and spread by the same factor. A policy that shifts a variable changes only the mean, a policy
that spreads it changes only the spread. So a site is named if both ratios to the other sites agree and are far from 1,
or if both fit the one usual unit with an offset: degrees Fahrenheit for Celsius.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .findings import Finding

if TYPE_CHECKING:
    from ..summary.summary import Summary

FAR = 1.8
"""Ratio from which on another unit is suspected: the smallest usual factor is 1.8, degrees Fahrenheit."""

AGREE = 1.25
"""Largest ratio between the factors of mean and spread: they differ a little because sites have different patients."""

ROUGHLY, LARGE = 1.5, 3.0
"""The same for a median and quartiles, if the factor is large."""

AWAY = 2.0
"""Least distance of a mean from zero at every site, in standard deviations; otherwise its ratio says nothing."""

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


def unit_warnings(parts: Sequence[Summary]) -> list[Finding]:
    """List columns that one site seems to measure in another unit than the others, as warnings.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> import fedperi as fp
    >>> rng = np.random.default_rng(0)
    >>> tables = {name: pd.DataFrame({"weight": rng.normal(80, 12, 200)}) for name in ("north", "south", "west")}
    >>> tables["west"] *= 2.2046
    >>> for finding in unit_warnings([fp.Summary.of(table, name=name) for name, table in tables.items()]):
    ...     print(finding)
    site 'west', column 'weight': mean and spread are both about 2.22 times those elsewhere, as with pounds and ...
    """
    found = []
    for at, (name, block) in enumerate(zip(parts[0].names, parts[0].blocks, strict=True)):
        if any(part.kinds[at] == "categorical" for part in parts):
            continue
        means = np.array([part.mean[block[0]] for part in parts])
        spreads = np.array([np.sqrt(part.covariance[block[0], block[0]]) for part in parts])
        for site, words, _ in other_units([part.site for part in parts], means, spreads):
            remedy = "convert the column at this site, or ask the site which unit it uses"
            found.append(Finding("warning", site, (name,), words, remedy, "unit"))
    return found


def other_units(
    sites: Sequence[str], means: NDArray[np.float64], spreads: NDArray[np.float64], word: str = "mean"
) -> Iterator[tuple[str, str, float]]:
    """Yield each site that has another unit than the others, in words too, and the factor to the usual unit.

    The factor is zero if the unit has an offset.

    Examples
    --------
    >>> list(other_units(["a", "b", "c"], np.array([1.0, 1.0, 100.0]), np.array([0.1, 0.1, 10.0])))[0][::2]
    ('c', 0.01)
    """
    if len(sites) < 3 or (spreads <= 0).any() or (np.abs(means) < AWAY * spreads).any():
        return  # of two sites nobody can say which one is different
    for k, site in enumerate(sites):
        others = np.arange(len(sites)) != k
        usual = np.median(means[others]), np.median(spreads[others])
        words, factor = _other_unit(means[k], spreads[k], *usual, word)
        if words and not _spread_out(means[others], spreads[others]):
            yield site, words, factor


def _other_unit(mean: float, spread: float, usual_mean: float, usual_spread: float, word: str) -> tuple[str, float]:
    """Describe the other unit that a column seems to have, or return no text; also the factor between the two units."""
    by_mean, by_spread = mean / usual_mean, spread / usual_spread
    scales = (
        (1.8 * usual_mean + 32, 1.8, "degrees Fahrenheit instead of Celsius"),
        ((usual_mean - 32) / 1.8, 1 / 1.8, "degrees Celsius instead of Fahrenheit"),
    )
    for expected, factor, words in scales:
        # A temperature of the body varies by a degree, so the mean must fit closely: half a standard deviation.
        if abs(mean - expected) < 0.5 * spread and _near(by_spread, factor) and 30 <= min(mean, usual_mean) <= 45:
            return f"{word} and spread are as if it were in {words}", 0.0
    if by_mean <= 0 or max(by_mean, 1 / by_mean) < FAR:
        return "", 0.0
    # Quartiles of a few hundred rows are less exact than moments. No policy changes both by more than LARGE.
    loose = word == "median" and max(by_mean, 1 / by_mean) > LARGE
    if not _near(by_mean, by_spread, ROUGHLY if loose else AGREE):
        return "", 0.0
    both = float(np.sqrt(by_mean * by_spread))
    ratio = max(both, 1 / both)
    factor, usual = min(FACTORS, key=lambda entry: abs(log(ratio / entry[0])))
    hint = f", as with {usual}" if _near(ratio, factor) else ""
    times = f"{both:.3g} times" if both > 1 else f"1/{1 / both:.3g} of"
    near = factor if hint else ratio
    return f"{word} and spread are both about {times} those elsewhere{hint}", 1 / near if both > 1 else near


def _near(a: float, b: float, agree: float = AGREE) -> bool:
    return bool(1 / agree < a / b < agree)


def _spread_out(means: NDArray[np.float64], spreads: NDArray[np.float64]) -> bool:
    """Whether the other sites differ among themselves as much, so that no unit is the usual one."""
    if means.min() * means.max() <= 0:
        return True
    sizes = np.abs(means)
    return bool(sizes.max() / sizes.min() > FAR or spreads.max() / spreads.min() > FAR)
