"""The site's half of FedCDH: sums of random features of its rows, and tests within the site."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

import numpy as np

from ...errors import InputError
from ...protocol.worker import Payload, State, StepKind, Worker
from .features import StepFeatures
from .layout import Floats, groups
from .random_features import pair_products
from .within import within_site

FIRST_ROWS = 500
"""Number of rows that the published rule for bandwidths uses."""

TESTS = "given group x y sites surrogate centre scale seed faithful widths singles sets joints"
"""Fields that describe tests and their features."""


class FedCDHWorker(Worker):
    """Answers the steps of FedCDH. It keeps no state: every step brings what it needs.

    What leaves the site, by step:

    - ``moments``: the mean of every column, and its sum of squared deviations.
    - ``within``: three numbers per test: the statistic on this site's rows alone, and the mean and half the variance
      that it would have under independence. They say how strongly x and y depend on each other here given Z.
    - ``sums``: sums of random features over the rows, and of products of two features. They describe the joint
      distribution of a few variables at the resolution of the features, and are **not private**: 100 features give
      5,150 sums, and a site of 1,000 rows has 2,000 values of two variables. Smooth features overlap, so most of these
      sums add little, but nobody has shown that rows are safe. Either the coordinator is trusted with them, or it
      sees only the sums over all sites (secure summation).
    - ``fourth``: sums of products of four residuals of these features; not private for the same reason.
    - ``change``: means of 5 smooth functions of each variable and pair that the coordinator asks for.
    - ``bandwidths`` (only with ``faithful=True``): medians of distances between rows.
    """

    kinds: ClassVar = {
        "moments": StepKind("", {"mean": "means of the columns", "scatter": "sums of squared deviations"}),
        "bandwidths": StepKind("columns", {"median": "medians of distances between rows"}),
        "within": StepKind(
            TESTS,
            {
                "statistic": "statistics of tests on the site's rows",
                "trace": "their means by chance",
                "norm": "half their variances by chance",
            },
        ),
        "sums": StepKind(
            TESTS,
            {
                "sums": "sums of random features over the rows",
                "given": "sums of their products with those of Z",
                "own": "sums of their products within a variable",
                "cross": "sums of their products between x and y",
            },
        ),
        "fourth": StepKind(f"{TESTS} ranks maps", {"fourth": "sums of products of four residuals over the rows"}),
        "change": StepKind(
            "columns landmarks centre scale gamma", {"mean": "means of smooth functions of variables and pairs"}
        ),
    }

    def perform(self, kind: str, payload: Payload, state: State) -> tuple[Payload, State]:
        """Answer a step."""
        steps: dict[str, Callable[[Payload], Payload]] = {
            "moments": self._moments,
            "bandwidths": self._bandwidths,
            "within": self._within,
            "sums": self._sums,
            "fourth": self._fourth,
            "change": self._change,
        }
        if kind not in steps:
            raise InputError(f"FedCDH has no step {kind!r}; it has {', '.join(steps)}")
        return steps[kind](payload), state

    def _moments(self, payload: Payload) -> Payload:
        mean = self.rows.mean(axis=0)
        return {"mean": mean, "scatter": ((self.rows - mean) ** 2).sum(axis=0)}

    def _bandwidths(self, payload: Payload) -> Payload:
        from scipy.spatial.distance import pdist

        first = self.rows[:FIRST_ROWS]
        return {"median": np.array([np.median(pdist(first[:, columns])) for columns in payload["columns"]])}

    def _within(self, payload: Payload) -> Payload:
        features = StepFeatures.read(self.rows, self.site, payload)
        out = np.zeros((3, len(features.tests)))
        for group in groups(features.tests, merge=True):
            out[:, group.tests] = within_site(group, *features.of(group))
        return {"statistic": out[0], "trace": out[1], "norm": out[2]}

    def _sums(self, payload: Payload) -> Payload:
        features = StepFeatures.read(self.rows, self.site, payload)
        cross = np.zeros((len(features.tests), features.widths.x, features.widths.y))
        sums, given, own = [], [], []
        for group in groups(features.tests):
            z, x, lazy = features.of(group)
            y = list(lazy)
            every = np.hstack([z, *x, *y])
            sums.append(every.sum(axis=0))
            given.append((z.T @ every).ravel())
            own += [(block.T @ block).ravel() for block in (*x, *y)]
            for test, (i, j) in zip(group.tests, group.pairs, strict=True):
                cross[test] = x[i].T @ y[j]
        return {
            "sums": np.concatenate(sums),
            "given": np.concatenate(given),
            "own": np.concatenate(own),
            "cross": cross.ravel(),
        }

    def _fourth(self, payload: Payload) -> Payload:
        features = StepFeatures.read(self.rows, self.site, payload)
        maps = _residual_maps(payload, features)
        out: list[Floats] = [np.zeros(0)] * len(features.tests)
        for group in groups(features.tests):
            z, x, y = features.of(group)
            products = []
            for block in (*x, *y):
                offset, *linear = next(maps)
                products.append(pair_products(np.hstack([z, block]) @ np.array(linear) - offset))
            for test, (i, j) in zip(group.tests, group.pairs, strict=True):
                out[test] = (products[i].T @ products[len(x) + j]).ravel()
        return {"fourth": np.concatenate(out)}

    def _change(self, payload: Payload) -> Payload:
        values = (self.rows - payload["centre"]) / payload["scale"]
        return {
            "mean": np.array(
                [
                    kernel_means(values[:, columns[columns >= 0]], landmarks[:, columns >= 0], float(payload["gamma"]))
                    for columns, landmarks in zip(payload["columns"], payload["landmarks"], strict=True)
                ]
            )
        }


def _residual_maps(payload: Payload, features: StepFeatures) -> Iterator[Floats]:
    """Read from a message the matrices that turn features into residuals: a row to subtract, then a linear map."""
    start = 0
    widths, ranks = features.widths, iter(payload["ranks"])
    for group in groups(features.tests):
        for width in [widths.x] * len(group.x) + [widths.y] * len(group.y):
            shape = (1 + widths.given + width, int(next(ranks)))
            stop = start + shape[0] * shape[1]
            yield payload["maps"][start:stop].reshape(shape)
            start = stop


def kernel_means(values: Floats, landmarks: Floats, gamma: float) -> Floats:
    """Mean over rows of a Gaussian kernel at each landmark.

    Examples
    --------
    >>> import numpy as np
    >>> kernel_means(np.array([[0.0], [1.0]]), np.array([[0.0]]), gamma=1.0).round(3)  # (1 + exp(-1)) / 2
    array([0.684])
    """
    distance = ((values[:, None, :] - landmarks[None, :, :]) ** 2).sum(axis=2)
    out: Floats = np.exp(-gamma * distance).mean(axis=0)
    return out
