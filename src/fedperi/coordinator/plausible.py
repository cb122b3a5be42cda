"""Bounds on the answers of a site: a number that no table with its number of rows can give is refused.

Sites are not trusted. A regret of a million at one site would outweigh all other sites, and no table of a thousand rows
gives one. The bounds follow from the definition of the scores. Let a site have ``n`` rows, and let every variable have
at most ``d`` columns (or levels) in its score.

*Fit.* A Gaussian fit is ``-(n/2) log det cov(i | S)`` in units of the columns' standard deviations. The determinant is
a product of ``d`` residual variances. Each is at most 1, and at least `SINGULAR`, because a site refuses columns that
are closer to collinear. So fits lie in ``[0, d (n/2) log(1/SINGULAR)]``. In a score of counts each row has a
probability of at most 1, and under BDeu of at least ``1 / (d (1 + n q))`` with ``q <= d^16`` configurations of at most
`MAX_SET` parents. So these scores lie in ``[-n (log d + log(1 + n q)), 0]``. `_most_fit` is the larger of both ranges.

*Price.* BIC charges ``penalty * (d_i d_S / 2) log n``; ``S`` has at most `MAX_SET` variables of ``d`` columns.

*Regret.* It is the difference of two scores with their prices, and the adaptive mask lowers a score by at most
`PARTIAL_PRICE`. So its absolute value is at most the sum of the range of fits, the price and `PARTIAL_PRICE`. A regret
is infinite only if the columns of the set are more than half of the rows, so that the set cannot be judged. Under the
adaptive mask it is never infinite: a part of the set is judged instead.

*Shape.* Under the adaptive mask a set is judged by its best part. So one more parent raises a regret by at most
`PARTIAL_PRICE`, and any set is at most `INTERVENTION_PRICE` worse than no parents. Under the other masks one more
parent never worsens a Gaussian fit, so it raises a regret by at most its price, ``penalty * (d^2 / 2) log n``. Without
this check a site could forbid edges, at thousands of nats each. Scores of counts have no such bound: one more parent
can worsen BDeu.

*Discrepancy* (phase 2). It is the difference between the fits of two nested sets, so it is not negative. If too many
neighbours are judged one by one, it is a sum of at most ``p`` such differences.

*Noise.* A site that adds noise to each answer declares its scale. Laplace noise exceeds `ROOM` times its scale with
probability ``exp(-50)``. The scale is bounded, too: noise of a thousand times the range of all regrets hides them all.

A site within these bounds can still lie: it can answer from an invented table. The graph without each site
(`fedperi.methods.iperi.leave_out`) shows on which sites a graph depends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from ..errors import InputError
from ..protocol.messages import MAX_SET, Families, Floats, Question, Settings, Welcome
from ..scores.lattice import subset_sizes
from ..scores.masking import INTERVENTION_PRICE, PARTIAL_PRICE
from ..scores.regression import SINGULAR

MOST_ROWS = 1e12
"""Most rows of a table: one column of that length has 8 terabytes."""

WIDEST = 100
"""Most columns of a variable, if the number is not known: text with more levels is refused as an identifier."""

ROOM = 50.0
"""Largest accepted noise, in units of its scale."""

ROUNDING = 1e-5
"""Error of a fit, in nats per row: nearly collinear columns (`SINGULAR`) leave few correct digits in a residual."""

MOST_NOISE = 1e3
"""Largest accepted scale of noise, in units of the range of regrets."""


def check_rows(site: Welcome) -> None:
    """Raise unless a table can have a site's number of rows.

    Examples
    --------
    >>> check_rows(Welcome("north", ("a",), 1e300))
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: site 'north' says that it has 1e+300 rows: a table has between 1 and 1e+12; ...
    """
    n = site.n
    if isinstance(n, bool) or not isinstance(n, int | float) or not 0 < n <= MOST_ROWS:
        _refuse(site, f"says that it has {n!r:.40} rows: a table has between 1 and {MOST_ROWS:g}")
    if site.privacy is None and n != int(n):
        _refuse(site, f"says that it has {n!r:.40} rows, and no noise: without noise this is a whole number")


def check_answers(
    site: Welcome,
    settings: Settings,
    widest: int,
    questions: Sequence[Question],
    answers: Sequence[Floats],
    *,
    counted: bool = True,
) -> None:
    """Raise if an answer holds a number that no table of the site's size gives; see the module's docstring.

    Parameters
    ----------
    site : Welcome
        The site's number of rows, and the noise that it declares.
    settings : Settings
        The settings of the run.
    widest : int
        Largest number of columns or levels of a variable.
    questions, answers : sequences of equal length
        Answers have the shapes of their questions.
    counted : bool
        Whether scores may be computed from counts: then fewer bounds hold.

    Examples
    --------
    >>> question = Families(np.array([0]), np.empty((1, 0), int), np.array([[1]]))
    >>> site = Welcome("north", ("a", "b"), 1000)
    >>> check_answers(site, Settings("adaptive"), 1, [question], [np.array([[12.0, 0.0]])])
    >>> check_answers(site, Settings("adaptive"), 1, [question], [np.array([[1e6, 0.0]])])
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: site 'north' answered with a regret of 1e+06: a table of 1000 rows gives ...
    """
    noise = _noise_scale(site, settings, widest)
    slack = 1e-3 + 1e-8 * site.n + 2 * ROOM * noise
    for question, answer in zip(questions, answers, strict=True):
        if isinstance(question, Families):
            _check_regrets(site, settings, widest, question, answer, slack)
            if not noise:
                _check_shape(site, settings, widest, question, answer, slack, counted)
        else:
            most = len(site.names) * _most_fit(site.n, widest) + slack
            _check_range(site, "discrepancy", answer, -slack, most)


def largest_regret(n: float, widest: int, penalty: float) -> float:
    """Return the largest absolute value of a regret that a table of n rows gives, without noise.

    Examples
    --------
    >>> round(largest_regret(1000, widest=1, penalty=1.0))
    11571
    """
    price = penalty * widest * min(MAX_SET * widest, n / 2) / 2 * max(math.log(n), 0.0)
    return _most_fit(n, widest) + price + PARTIAL_PRICE


def _most_fit(n: float, widest: int) -> float:
    gaussian = widest / 2 * math.log(1 / SINGULAR)
    configurations = MAX_SET * math.log(widest)  # their logarithm
    counts = math.log(widest) + np.logaddexp(0.0, math.log(n) + configurations) if widest > 1 else 0.0
    return n * max(gaussian, float(counts))


def _check_regrets(
    site: Welcome, settings: Settings, widest: int, question: Families, answer: Floats, slack: float
) -> None:
    sizes = question.fixed.shape[1] + subset_sizes(question.free.shape[1])
    masked = _is_masked(site, settings)
    too_large = np.zeros(len(sizes), bool) if masked else (sizes > 0) & (2 * widest * (sizes + 1) > site.n)
    infinite = np.isposinf(answer)
    if (infinite & ~too_large).any():
        _refuse(site, "answered that it has too few rows for a set of parents, but it has enough")
    most = largest_regret(site.n, widest, settings.penalty) + slack
    _check_range(site, "regret", np.where(infinite, 0.0, answer), -most, most)


def _check_shape(
    site: Welcome, settings: Settings, widest: int, question: Families, answer: Floats, slack: float, counted: bool
) -> None:
    """Raise if one more parent raises a regret too much; to be called after `_check_regrets`."""
    masked = _is_masked(site, settings)
    if counted and not masked:
        return
    price = settings.penalty * widest**2 / 2 * max(math.log(site.n), 0.0)
    most = PARTIAL_PRICE + slack if masked else price + 1.0 + ROUNDING * site.n
    under = "under the adaptive mask" if masked else f"with a penalty of {settings.penalty:g}"
    for t in range(question.free.shape[1]):
        without, within = np.moveaxis(answer.reshape(len(answer), -1, 2, 1 << t), 2, 0)
        # An infinite regret (too few rows for the set) says nothing about the parent.
        _check_step(site, np.subtract(within, without, out=np.zeros_like(within), where=within < np.inf), most, under)
    if masked and not question.fixed.shape[1]:
        _check_step(site, answer - answer[:, :1], INTERVENTION_PRICE + slack, under)


def _is_masked(site: Welcome, settings: Settings) -> bool:
    """Whether a site judges sets by their best parts; a site with declared targets does not."""
    return settings.masking == "adaptive" and site.targets is None


def _check_step(site: Welcome, steps: Floats, most: float, under: str) -> None:
    worst = float(steps.max(initial=0.0))
    if worst > most:
        _refuse(
            site,
            f"answered that a further parent raises a regret by {worst:.6g}; {under} no table gives more than "
            f"{most:.3g}",
        )


def _check_range(site: Welcome, what: str, answer: Floats, least: float, most: float) -> None:
    highest, lowest = float(answer.max(initial=0.0)), float(answer.min(initial=0.0))
    for value, limit in ((highest, f"above {most:.6g}"), (lowest, f"below {least:.6g}")):
        if not least <= value <= most:
            _refuse(site, f"answered with a {what} of {value:.6g}: a table of {site.n:g} rows gives none {limit}")


def _noise_scale(site: Welcome, settings: Settings, widest: int) -> float:
    """Return the declared scale of the noise that a site adds to each answer; 0 if it adds none."""
    privacy = site.privacy
    if not isinstance(privacy, dict) or privacy.get("mechanism") != "regret":
        return 0.0
    scale = privacy.get("noise_scale")
    most = MOST_NOISE * largest_regret(site.n, widest, settings.penalty)
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 <= scale <= most:
        _refuse(
            site,
            f"declares noise of scale {scale!r:.40} on each answer, and nothing can be learned with a scale above "
            f"{most:.3g}; the site can choose a larger epsilon, or the mechanism 'statistics'",
        )
    return float(scale)


def _refuse(site: Welcome, why: str) -> NoReturn:
    raise InputError(f"site {site.site!r} {why}; ask the people there to check their table and their software")
