"""Membership inference against our own releases: an attacker who knows all but the noise compares two tables.

The attacker knows a table, one additional row (the *canary*, as extreme as a row can be), the code, and all public
values. A release is of the table with or without this row, and the attacker computes a score for "with". Many releases
of both tables give two lower bounds on epsilon, which hold together with the stated confidence. A bound above the claim
is a violation.

- *Assumption-free*: the false positive and false negative rates of one threshold, chosen on other runs, each with a
  Clopper-Pearson bound. An (epsilon, delta)-private mechanism has ``1 - delta - FNR <= exp(epsilon) FPR``, and the same
  with the rates exchanged. This holds for every mechanism, but is loose: no feasible number of runs can show rates as
  small as delta = 1e-6.
- *Shaped*: runs are paired, one of each table, and we count how often the larger table has the higher score. No attack
  on a mu-GDP mechanism wins more than ``Phi(mu / sqrt 2)`` of the pairs. So a Clopper-Pearson bound on this share
  bounds mu, and the exact curve of Gaussian noise converts mu into epsilon at delta. This bound is tight. It assumes
  that the trade-off between both errors has the shape that the noise should give: Gaussian, or Laplace for single
  answers. It needs no threshold, and one binomial share instead of two rates needs 1.6 times fewer runs for the same
  confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..privacy.noise import Noise, SecureNoise, noise_scale
from ..privacy.options import check_delta
from ..privacy.regret_noise import proven_sensitivity, ridge_covariance
from ..privacy.release.draw import count_rows, draw_release
from ..privacy.release.release import BESIDE, DIAGONAL, Plan, Release
from ..privacy.release.units import SENSITIVITY, choices_of, median_scores, radius_scores
from ..privacy.zcdp import positive, probability
from ..tables.bounded import CONSTANT, GRID, clipped_rows
from ..tables.readers.private import private_rows
from ..tables.schema import Column
from ..tables.table import Table
from .bounds import Audit, Claim, check_runs, measure
from .pairs import ROWS, FileNeighbours, Neighbours, worst_case

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CALIBRATION = 0.2
"""Runs for choosing the threshold, as a share of the runs that are counted."""


def audit_statistics(
    epsilon: float = 1.0,
    delta: float = 1e-6,
    *,
    runs: int = 4000,
    confidence: float = 0.999,
    noise: Noise | None = None,
    neighbours: Neighbours | FileNeighbours | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Attack the `statistics` mechanism: many releases of a table and of its neighbour, each with fresh noise.

    Parameters
    ----------
    epsilon, delta : float
        The claim under attack.
    runs : int
        Releases of each of the two tables that are counted; a fifth as many more choose the threshold.
    confidence : float
        Confidence of both bounds together.
    noise : Noise, optional
        Source of the noise; OpenDP if not given. With a wrong source one can check that the audit fails.
    neighbours : Neighbours or FileNeighbours, optional
        The two tables; `worst_case` if not given. If one is answered and the other refused, the attacker always wins.
    progress : callable, optional
        Called with the number of releases done and the total.

    Examples
    --------
    >>> audit_statistics(8.0, 1e-6, runs=60, confidence=1 - 1e-10).violated
    False
    """
    pair = worst_case() if neighbours is None else neighbours
    check_runs(runs, confidence)
    check_delta(probability(delta), ROWS + 1)
    plan = Plan.of(pair.schema, "auto", positive(epsilon, "epsilon"), delta)
    calibration = math.ceil(runs * CALIBRATION)
    counts = [_counts(table, plan) for table in pair.tables]
    if (counts[0] is None) != (counts[1] is None):
        scores = np.repeat([[0.0], [1.0]], calibration + runs, axis=1)
    else:
        source = SecureNoise() if noise is None else noise
        scores = _attack(pair, plan, calibration + runs, source, progress)
    return measure(scores[:, :calibration], scores[:, calibration:], release_claim(epsilon, delta, plan), confidence)


def release_claim(epsilon: float, delta: float, plan: Plan | None = None) -> Claim:
    """Return the claim for a release of two numeric columns, or for the given plan.

    Examples
    --------
    >>> round(release_claim(1.0, 1e-6).half, 2)      # standard deviations between two tables, were the noise half
    0.42
    """
    plan = Plan.of(worst_case().schema, "auto", epsilon, delta) if plan is None else plan
    return Claim("statistics", plan.epsilon, plan.delta, 2 * math.sqrt(2 * plan.price.gaussian))


def _counts(table: Table, plan: Plan) -> dict[str, Integers] | None:
    """The counts from which a table's units are selected; None if the table is refused, which is an outcome too."""
    try:
        return count_rows(table, plan, "error")[0]
    except InputError:
        return None


def _attack(
    pair: Neighbours | FileNeighbours,
    plan: Plan,
    runs: int,
    source: Noise,
    progress: Callable[[int, int], None] | None,
) -> Floats:
    """Draw releases of both tables, and compute the attacker's score of each."""
    tables = pair.tables
    counts = [count_rows(table, plan, "error")[0] for table in tables]
    attacker = Attacker(pair, plan, counts)
    scores = np.empty((2, runs))
    for run in range(runs):
        for world, (table, cells) in enumerate(zip(tables, counts, strict=True)):
            scores[world, run] = attacker.score(draw_release(table, plan, cells, source, "error")[0])
        if progress is not None:
            progress(run + 1, runs)
    return scores


def audit_answer(
    epsilon: float = 1.0,
    *,
    runs: int = 4000,
    confidence: float = 0.999,
    noise: Noise | None = None,
    rows: int = 2000,
) -> Audit:
    """Attack a single answer of the `regret` mechanism, for which pure `epsilon` is claimed.

    A run gives many answers, each with a share of the budget; this tests the noise of one answer.

    Parameters
    ----------
    epsilon : float
        The claim for one answer.
    runs, confidence, noise
        As in `audit_statistics`.
    rows : int
        Rows of the smaller table.

    Examples
    --------
    >>> audit_answer(1.0, runs=500, confidence=1 - 1e-10).violated
    False
    """
    epsilon = positive(epsilon, "epsilon")
    check_runs(runs, confidence)
    source = SecureNoise() if noise is None else noise
    answers, sensitivity = worst_regrets(rows)
    calibration = math.ceil(runs * CALIBRATION)
    # The row makes this regret smaller; with negative answers as scores, the larger table has the higher score.
    scores = -np.stack(
        [source.laplace(np.full(calibration + runs, answer), sensitivity / epsilon) for answer in answers]
    )
    claim = Claim("regret", epsilon, 0.0, 2 * epsilon * (answers[0] - answers[1]) / sensitivity)
    return measure(scores[:, :calibration], scores[:, calibration:], claim, confidence)


def worst_regrets(rows: int, limit: float = 2.0, ridge: float = 0.01) -> tuple[tuple[float, float], float]:
    """Return a regret before and after adding a row that changes it nearly as much as possible, and the bound.

    Two columns agree in all rows; in the additional row they are opposite. The regret is that of one column without
    the other as its parent, as `fedperi.site.noisy` computes it: moments with a ridge, the best set as reference.

    Examples
    --------
    >>> (before, after), bound = worst_regrets(2000)
    >>> round(before - after), round(bound)
    (181, 182)
    """
    row = np.array([0.0, limit, limit]) / math.sqrt(2)
    total = rows * np.outer(row, row)  # singular without the ridge; the additional row is orthogonal to all others
    regrets = []
    for moments in (total, total + np.outer(row * [1, 1, -1], row * [1, 1, -1])):
        covariance = ridge_covariance(moments, rows, ridge)
        squared = covariance[0, 1] ** 2 / covariance[0, 0] / covariance[1, 1]
        regrets.append(max(0.0, -rows / 2 * math.log1p(-squared) - math.log(rows) / 2))
    return (regrets[0], regrets[1]), proven_sensitivity(rows, limit, ridge)


class Attacker:
    """An attacker who knows two tables and the mechanism, and sees a release of one of them.

    Parameters
    ----------
    pair : Neighbours or FileNeighbours
    plan : Plan
    counts : list of dict
        For both tables, the number of rows in each cell of every numeric column, from which units are selected.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import Column, Schema
    >>> schema = Schema((Column("u", "categorical", ("0", "1")),))
    >>> pair = Neighbours(schema, pd.DataFrame({"u": [0, 1, 0, 1]}), {"u": 1})
    >>> plan = Plan.of(schema, "auto", 1e5, 1e-6)                       # next to no noise, and no units to choose
    >>> table = pair.tables[1]
    >>> release, _ = draw_release(table, plan, count_rows(table, plan, "error")[0], SecureNoise(), "error")
    >>> Attacker(pair, plan, [{}, {}]).score(release) > 0
    True
    """

    def __init__(self, pair: Neighbours | FileNeighbours, plan: Plan, counts: list[dict[str, Integers]]) -> None:
        self._rows = np.concatenate(list(private_rows(pair.tables[1], plan.schema, plan.data, "error", plan.decimal)))
        self._plan = plan
        at = np.triu_indices(plan.columns + 1)
        self._at = at
        # Standard deviations of the noise in standard units, as claimed: the attacker knows no others.
        self._spread = np.where(at[0] == at[1], 1.0, DIAGONAL / BESIDE) * plan.noise
        self._counts = counts
        self._evidence: dict[tuple[str, int], tuple[float, Floats]] = {}
        self._scale = noise_scale(SENSITIVITY, plan.price.selections[0] ** 2 / 8) if plan.numeric else 1.0

    def score(self, release: Release) -> float:
        """Return the log-likelihood ratio of the larger table against the smaller one."""
        exact, change = self._moments(release)
        seen = release.moments[self._at] - exact
        gaussian = float(((seen - change / 2) * change / self._spread**2).sum())
        return gaussian + math.fsum(self.units_evidence(column, release) for column in self._plan.numeric)

    def _moments(self, release: Release) -> tuple[Floats, Floats]:
        """The smaller table's moments in the release's units, without noise, and the contribution of the last row."""
        z, _ = clipped_rows(release.embedding.embed(self._rows), release.limit)
        rows = np.column_stack([np.full(len(z), CONSTANT), z / GRID])
        table, canary = rows[:-1], rows[-1]
        return (table.T @ table)[self._at], np.outer(canary, canary)[self._at]

    def units_evidence(self, column: Column, release: Release) -> float:
        """Evidence from the choice of a column's unit: its probabilities under both tables are known exactly."""
        middle, radius = choices_of(column, *release.units[column.name])
        without, with_row = (world[column.name] for world in self._counts)
        key = column.name, middle
        if key not in self._evidence:
            self._evidence[key] = (
                self._odds(median_scores(with_row), median_scores(without))[middle - 1],
                self._odds(radius_scores(with_row, middle), radius_scores(without, middle)),
            )
        first, second = self._evidence[key]
        return float(first + second[radius - 1])

    def _odds(self, larger: Integers, smaller: Integers) -> Floats:
        return _log_chances(larger / self._scale) - _log_chances(smaller / self._scale)


def _log_chances(exponents: Floats) -> Floats:
    """Log-probabilities of the exponential mechanism."""
    from scipy.special import log_softmax

    out: Floats = log_softmax(exponents)
    return out
