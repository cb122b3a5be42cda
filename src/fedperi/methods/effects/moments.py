"""The numbers from which effects are computed: rows, means and covariances of each site, in common units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...strict import Unreadable, read_json, write_json
from ...tables.frozen import frozen
from ...tables.summary.units import unit_levels

if TYPE_CHECKING:
    from ...tables.summary.summary import Summary

Floats = NDArray[np.float64]

FORMAT, VERSION = "fedperi.summaries", 1

YES_NO = 1e-6
"""A column counts as yes/no if its variance differs by at most this from that of a yes/no with the same mean."""


@dataclass(frozen=True, eq=False)
class SiteMoments:
    """What one site states.

    Parameters
    ----------
    site : str
        Its name.
    n : float
        Number of rows; rows of a private release count as if they had not been clipped.
    mean, covariance : array
        Of the embedded columns; covariances are divided by n. Read-only.
    targets : tuple of str
        Variables that the site declares as targets.
    noise : array or None
        Standard deviation of the noise for privacy in each entry of `covariance`; None if the numbers are exact.
    """

    site: str
    n: float
    mean: Floats
    covariance: Floats
    targets: tuple[str, ...] = ()
    noise: Floats | None = None

    def __post_init__(self) -> None:
        for name in ("mean", "covariance", "noise"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name), np.float64))
        q = len(self.mean)
        for name in ("covariance", "noise"):
            value = getattr(self, name)
            if value is not None and (value.shape != (q, q) or not np.isfinite(value).all()):
                raise InputError(f"site {self.site!r}: {name} must be {q} x {q} finite numbers")


@dataclass(frozen=True, eq=False)
class Moments:
    """What all sites state, about the same variables in the same units.

    Parameters
    ----------
    names : tuple of str
        The variables.
    blocks : tuple of tuple of int
        For every variable, its columns.
    levels : tuple of tuple of str
        For every variable the levels that its columns stand for, without the first; empty for numbers.
    shares : tuple of bool
        Whether a variable is a yes/no or a category, so that effects on it are differences in probability.
    sites : tuple of SiteMoments
        The sites.

    Examples
    --------
    >>> import pandas as pd
    >>> import fedperi as fp
    >>> summary = fp.Summary.of(pd.DataFrame({"age": [41.5, 37.0, 60.25], "sex": ["f", "m", "m"]}), name="north")
    >>> moments = Moments.of([summary])
    >>> moments.levels, moments.shares
    (((), ('m',)), (False, True))
    >>> Moments.from_json(moments.to_json()).to_json() == moments.to_json()
    True
    """

    names: tuple[str, ...]
    blocks: tuple[tuple[int, ...], ...]
    levels: tuple[tuple[str, ...], ...]
    shares: tuple[bool, ...]
    sites: tuple[SiteMoments, ...]

    @classmethod
    def of(cls, summaries: Sequence[Summary]) -> Moments:
        """Collect the moments from summaries. Polynomials of numbers are omitted: effects are taken as linear."""
        parts = [summary.straight() for summary in summaries]
        first = parts[0]
        noises = [None if part.noise is None else part.noise.covariance for part in parts]
        sites = tuple(
            SiteMoments(
                part.site,
                float(part.rows if part.noise is None else part.noise.whole_rows or part.rows),
                part.mean,
                part.covariance,
                part.targets or (),
                noise,
            )
            for part, noise in zip(parts, noises, strict=True)
        )
        levels = tuple(unit_levels(unit)[1:] for unit in first.units)
        shares = tuple(
            kind == "categorical" and (bool(shown) or _zero_or_one(sites, block[0]))
            for kind, shown, block in zip(first.kinds, levels, first.blocks, strict=True)
        )
        return cls(first.names, first.blocks, levels, shares, sites)

    def deviation(self, name: str) -> float:
        """Standard deviation of a variable within sites, pooled; of a category that of its second level."""
        column = self.blocks[self.names.index(name)][0]
        rows = np.array([site.n for site in self.sites])
        return float(np.sqrt(rows @ [site.covariance[column, column] for site in self.sites] / rows.sum()))

    def to_json(self) -> str:
        """Write everything as JSON text. It holds exact means and covariances of the sites."""
        sites = [
            {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(one).items()}
            for one in self.sites
        ]
        return write_json({"format": FORMAT, "version": VERSION, **vars(self), "sites": sites})

    @classmethod
    def from_json(cls, text: str) -> Moments:
        """Read what `to_json` wrote."""
        try:
            record = read_json(text)
            if record["format"] != FORMAT or record["version"] != VERSION:
                raise InputError(f"these are not summaries of fedperi, version {VERSION}")
            values: dict[str, Any] = {name: _tuples(record[name]) for name in ("names", "blocks", "levels", "shares")}
            sites = tuple(SiteMoments(**{**one, "targets": tuple(one["targets"])}) for one in record["sites"])
        except (Unreadable, KeyError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError("these are not summaries of fedperi: the text is damaged") from None
        return cls(**values, sites=sites)


def _zero_or_one(sites: Sequence[SiteMoments], column: int) -> bool:
    """Whether a column has only the values 0 and 1: only then is its variance mean times (1 - mean)."""
    exact = [one for one in sites if one.noise is None]
    means = np.array([one.mean[column] for one in exact])
    variances = np.array([one.covariance[column, column] for one in exact])
    return bool((np.abs(variances - means * (1 - means)) <= YES_NO).all())


def _tuples(entry: Any) -> Any:
    return tuple(map(_tuples, entry)) if isinstance(entry, list) else entry
