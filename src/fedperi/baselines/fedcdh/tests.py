"""Random-feature tests of many pairs at once, from the answers of sites: within sites, or on sums over sites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...coordinator.work import WorkCoordinator
from ...errors import InputError
from ..baseline import total
from .layout import Batch, Floats, Ints, Widths, groups, site_key
from .random_features import SINGLE, null_moments, p_values, random_features, triangle
from .regression import ResidualTests, regress

MESSAGE = 1 << 20
"""Most numbers in one answer of a site (8 MB); a single conditioning set or test may need more."""


@dataclass(frozen=True)
class Features:
    """Numbers of random features (of two variables alone, of x and y given Z, and of Z), and their seed."""

    marginal: int
    conditional: int
    given: int
    seed: int
    faithful: bool

    def widths(self, depth: int) -> Widths:
        """Widths of x, y (with Z) and Z, for sets Z of this size."""
        few, many = self.marginal, self.conditional
        return Widths(many, many, self.given) if depth else Widths(few, few, 0)


class FeatureTests:
    """Asks sites for statistics, and computes p-values from the answers.

    Parameters
    ----------
    coordinator : WorkCoordinator
        The coordinator of the run.
    features : Features
        The features that sites compute.
    """

    def __init__(self, coordinator: WorkCoordinator, features: Features) -> None:
        self.coordinator, self.features = coordinator, features
        self.rows: Floats = np.array([site.n for site in coordinator.sites], dtype=float)
        self.tests = 0
        self._medians: dict[tuple[int, ...], float] = {}
        self._moments()

    def _moments(self) -> None:
        """Means and standard deviations over the rows of all sites together."""
        p = len(self.coordinator.names)
        answers = self.coordinator.perform("moments", {}, {"mean": (p,), "scatter": (p,)})
        means = np.array([answer["mean"] for answer in answers])
        n = self.rows.sum()
        self.centre = total([r * mean for r, mean in zip(self.rows, means, strict=True)]) / n
        between = [r * (mean - self.centre) ** 2 for r, mean in zip(self.rows, means, strict=True)]
        self.scale = np.sqrt(total([a["scatter"] + b for a, b in zip(answers, between, strict=True)]) / n)
        flat = [name for name, scale in zip(self.coordinator.names, self.scale, strict=True) if not scale > 0]
        if flat:
            raise InputError(f"column {flat[0]!r} is the same in all rows of all sites; drop it")

    def within(self, tests: Batch) -> Floats:
        """Test x and y given Z and the site: statistics of the sites are added, as are their means and variances."""
        self.tests += len(tests)
        out = []
        for start, stop in runs((3 * np.bincount(tests.group)).tolist()):
            part = tests.part(start, stop)
            m = (len(part),)
            answers = self.coordinator.perform("within", self._payload(part), {"statistic": m, "trace": m, "norm": m})
            sums = (total([answer[name] for answer in answers]) for name in ("statistic", "trace", "norm"))
            out.append(p_values(*sums))
        return np.concatenate(out) if out else np.zeros(0)

    def pooled(self, tests: Batch) -> Floats:
        """Test x and y given Z on the rows of all sites together, from sums over the sites."""
        self.tests += len(tests)
        out = []
        sizes = [sum(self._widths(tests).sizes(group).values()) for group in groups(tests)]
        for start, stop in runs(sizes):
            part = tests.part(start, stop)
            found = self._regressions(part)
            trace, norm = self._null(part, found)
            out.append(p_values(np.concatenate([one.statistic for one in found]), trace, norm))
        return np.concatenate(out) if out else np.zeros(0)

    def _regressions(self, tests: Batch) -> list[ResidualTests]:
        """Remove from x and y what Z explains, for every set Z, from sums of features and of products of two."""
        every, widths = groups(tests), self._widths(tests)
        sizes = {part: [widths.sizes(group)[part] for group in every] for part in ("sums", "given", "own", "cross")}
        shapes = {part: (sum(size),) for part, size in sizes.items()}
        answers = self.coordinator.perform("sums", self._payload(tests), shapes)
        cut = {
            part: np.split(total([answer[part] for answer in answers]), np.cumsum(size)[:-1])
            for part, size in sizes.items()
        }
        n = float(self.rows.sum())
        return [
            regress(group, widths, n, *(cut[part][at] for part in ("sums", "given", "own", "cross")))
            for at, group in enumerate(every)
        ]

    def _null(self, tests: Batch, found: list[ResidualTests]) -> tuple[Floats, Floats]:
        """Mean and half variance of the statistics under independence, from sums of products of four residuals."""
        trace, norm = [], []
        n = float(self.rows.sum())
        for start, stop in runs([int(one.sizes.sum()) for one in found]):
            some = found[start:stop]
            payload = self._payload(tests.part(start, stop))
            payload["ranks"] = np.array([each.shape[1] for one in some for each in one.maps])
            payload["maps"] = np.concatenate([each.ravel() for one in some for each in one.maps])
            sizes = np.concatenate([one.sizes for one in some])
            answers = self.coordinator.perform("fourth", payload, {"fourth": (int(sizes.sum()),)})
            pieces = np.split(total([answer["fourth"] for answer in answers]) / n, np.cumsum(sizes)[:-1])
            for piece, (x, y) in zip(pieces, np.concatenate([one.ranks for one in some]).tolist(), strict=True):
                moments = null_moments(piece.reshape(triangle(x), triangle(y)), x, y)
                trace.append(moments[0])
                norm.append(moments[1])
        return np.array(trace), np.array(norm)

    def _widths(self, tests: Batch) -> Widths:
        widths = self.features.widths(tests.given.shape[1])
        return replace(widths, x=self._surrogate(widths).shape[1]) if self._compares_sites(tests) else widths

    def _compares_sites(self, tests: Batch) -> bool:
        return bool((tests.x == len(self.coordinator.names)).any())

    def _surrogate(self, widths: Widths) -> Floats:
        """Features of the site as a variable, one row per site: an indicator, or (faithful) features of its number."""
        count = len(self.rows)
        if not self.features.faithful:
            return np.eye(count)
        numbers = np.arange(count, dtype=float)
        mean = float(self.rows @ numbers / self.rows.sum())
        deviation = float(np.sqrt(self.rows @ (numbers - mean) ** 2 / self.rows.sum()))
        scaled = (numbers - mean) / (deviation or 1.0)
        return random_features(scaled[:, None], widths.x, 1.0, self.features.seed, SINGLE, faithful=True)

    def _payload(self, tests: Batch) -> dict[str, Any]:
        widths, depth = self._widths(tests), tests.given.shape[1]
        p = len(self.coordinator.names)
        sites: dict[str, Any] = {}
        if self._compares_sites(tests):
            sites["surrogate"] = self._surrogate(self.features.widths(depth))
            sites["sites"] = np.array([site_key(site.site) for site in self.coordinator.sites])
        joint = np.column_stack([tests.y, tests.given[tests.group]])
        return {
            **tests.payload(),
            **sites,
            "centre": self.centre,
            "scale": self.scale,
            "seed": self.features.seed,
            "faithful": self.features.faithful,
            "widths": np.array([widths.x, widths.y, widths.given]),
            "singles": self._bandwidths(np.arange(p)[:, None]),
            "sets": self._bandwidths(tests.given),
            "joints": self._bandwidths(joint),
        }

    def _bandwidths(self, columns: Ints) -> Floats:
        """Compute bandwidths of the kernels for sets of variables.

        The median distance between rows if these variables were independent and Gaussian. Faithful: the median
        distance between the first rows of the first site, in the units of the table.
        """
        if not columns.shape[1]:
            return np.ones(len(columns))
        if not self.features.faithful:
            from scipy.special import chdtri

            return np.full(len(columns), float(np.sqrt(2 * chdtri(columns.shape[1], 0.5))))
        keys = [tuple(row) for row in columns.tolist()]
        new = sorted({key for key in keys if key not in self._medians})
        if new:
            answers = self.coordinator.perform("bandwidths", {"columns": np.array(new)}, {"median": (len(new),)})
            self._medians |= dict(zip(new, answers[0]["median"].tolist(), strict=True))
        return np.array([self._medians[key] or 1.0 for key in keys])


def runs(sizes: Sequence[int], limit: int = MESSAGE) -> Iterator[tuple[int, int]]:
    """Cut a sequence into runs whose sizes add up to at most the limit; a larger item is a run of its own.

    Examples
    --------
    >>> list(runs([3, 3, 9, 1, 1], limit=6))
    [(0, 2), (2, 3), (3, 5)]
    """
    start, held = 0, 0
    for at, size in enumerate(sizes):
        if held and held + size > limit:
            yield start, at
            start, held = at, 0
        held += size
    if len(sizes):
        yield start, len(sizes)
