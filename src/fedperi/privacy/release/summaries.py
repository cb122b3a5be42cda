"""Convert private releases into comparable summaries. This is post-processing, so it costs no privacy.

A release has noisy sums of products of rows in units that the site chose, with each row clipped to a norm. M-PERI
compares means, spreads and strengths between sites, so three errors must not look like policies:

- *Clipping* shrinks means and spreads. It is undone for numeric tables, assuming normal rows.
- *The scale of a site*: after clipping, the length of rows is hardly visible, so all spreads of a site can be too large
  or too small by one factor. It is estimated from all available evidence: the noisy number of rows, the length of the
  clipped rows, the units (in which variances should be near 1), and the other sites (`align_scales`).
- *Noise* on every entry: the moments count with their effective number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...tables.bounded import CONSTANT, SPREAD
from ...tables.readers.private import is_number
from ...tables.summary.qualities import Noise
from ...tables.summary.summary import Summary
from ...tables.summary.units import one_hot_unit
from .pooling import MOST_MOVED, ReleaseEstimate, align_scales, borrow_drowned
from .release import Release, undoes_clipping
from .repair import clipped_eigenvalues
from .units import is_rough, units_error

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LEAST_UNITS_ERROR = 0.01
"""Smallest standard error of a site's log variance estimated from its units: columns are not exactly normal."""

STEP = 0.2
"""Step of the log variance for the linear approximation of the implied number of rows."""

DROWNED = 2.5
"""A clipped numeric column counts as hidden by noise if its variance is below this multiple of that of noise alone."""


def released_summaries(releases: Sequence[Release]) -> list[Summary]:
    """Turn the releases of all sites into summaries in common units.

    Raises
    ------
    InputError
        If a release contains polynomials: their units differ between sites.

    Examples
    --------
    >>> import warnings
    >>> import fedperi as fp
    >>> sim = fp.simulate(4, clients=2, samples=5000, seed=1)
    >>> privacy = fp.Privacy(1.0, bounds=dict.fromkeys(sim.dag.names, (-10, 10)), test_seed=1)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     releases = [fp.privacy.release_table(table, privacy)[0] for table in sim.sites]
    >>> [(summary.exact, summary.rows < summary.n) for summary in released_summaries(releases)]
    [(False, True), (False, True)]
    """
    for release in releases:
        if release.data == "nonlinear":
            raise InputError(
                f"site {release.site!r} released polynomials (data='nonlinear'), which every site takes in units of "
                "its own; M-PERI cannot compare them. Release with data='linear' or 'mixed'"
            )
    found = borrow_drowned(align_scales([estimate(release) for release in releases]))
    return [_summary(release, one) for release, one in zip(releases, found, strict=True)]


def estimate(release: Release) -> ReleaseEstimate:
    """Estimate the number of rows, the means and the covariances from one release alone."""
    moments, columns = release.moments, len(release.moments) - 1
    counted = max(float(moments[0, 0]) / CONSTANT**2, 2.0)
    scatter = moments[1:, 1:] - np.outer(moments[0, 1:], moments[0, 1:]) / CONSTANT**2 / counted
    centre, scale, number = _units(release)
    values, vectors = np.linalg.eigh(scatter)
    floor = max(release.noise * math.sqrt(columns), 1e-6 * counted)
    values = np.maximum(values, floor)
    drowned = number & (np.diag(scatter) < DROWNED * floor)
    known = next((some for some in (~drowned & ~_rough(release), ~drowned) if some.any()), np.ones(columns, dtype=bool))
    rows, level, error = _rows_and_level(release, values, vectors, known, counted)
    kept = values / rows
    found = kept if level is None else unclipped(values, vectors, release.limit, level, known)[0]
    # The factor by which a row is clipped counts once in a mean and twice in a covariance.
    mean = vectors @ (np.sqrt(found / kept) * (vectors.T @ (moments[0, 1:] / CONSTANT / rows)))
    noise = release.noise_beside / rows
    # Noise has the same size in all directions, so it matters most where there is little variance: given its causes, a
    # column has only part of its variance. The smallest variances may be noise, at half of what noise alone would show.
    clipped = ((vectors * kept) @ vectors.T)[np.ix_(known, known)]
    return ReleaseEstimate(
        rows,
        centre + scale * mean,
        (vectors * found) @ vectors.T * np.outer(scale, scale),
        number,
        drowned,
        float(noise * np.mean(1 / (np.linalg.eigvalsh(clipped) - floor / rows / 2))) ** 2,
        error,
        *_noise_of_entries(release, rows, scale * np.sqrt(vectors**2 @ (found / kept))),
    )


def _noise_of_entries(release: Release, rows: float, scale: Floats) -> tuple[Floats, Floats]:
    """Return the noise in means and covariances: that of the sums, in units that grew when the clipping was undone."""
    entries = np.full((len(scale), len(scale)), release.noise_beside / rows)
    np.fill_diagonal(entries, release.noise / rows)
    return release.noise_beside / CONSTANT / rows * scale, entries * np.outer(scale, scale)


def _rows_and_level(
    release: Release, values: Floats, vectors: Floats, known: Bools, counted: float
) -> tuple[float, float | None, float]:
    """Return the number of rows, the mean log variance of columns before clipping, and the error of the latter.

    The level implies a number of rows, nearly linearly, and the release has a noisy number of rows. Also, units are
    those of the middle half of the rows, so the level should be near zero. Both are combined by weighted least squares.
    If clipping cannot be undone there is no level, and the noisy number of rows determines the scale.
    """
    error = release.noise / CONSTANT**2
    if not undoes_clipping(release.schema, release.data):
        return counted, None, error / counted
    implied, more = (unclipped(values, vectors, release.limit, level, known)[1] for level in (0.0, STEP))
    slope = (more - implied) / STEP / error
    units = units_error(release, counted) ** 2 / int(known.sum()) + LEAST_UNITS_ERROR**2
    level = (counted - implied) / error * slope / (slope**2 + 1 / units)
    level = float(np.clip(level, -MOST_MOVED * math.sqrt(units), MOST_MOVED * math.sqrt(units)))
    rows = unclipped(values, vectors, release.limit, level, known)[1]
    return rows, level, 1 / math.sqrt(slope**2 + 1 / units)


def unclipped(
    values: Floats, vectors: Floats, limit: float, level: float, known: Bools | slice = slice(None)
) -> tuple[Floats, float]:
    """Return the eigenvalues of the covariance of normal rows before clipping.

    Parameters
    ----------
    values, vectors : array
        Eigenvalues and eigenvectors of the sum over the clipped rows.
    limit : float
        The norm to which rows were clipped.
    level : float
        The mean log variance of columns before clipping. The clipped rows hardly show it, so it must be given.
    known : array of bool
        Columns for the mean; all if not given.

    Returns
    -------
    eigenvalues : array
    rows : float
        The number of rows that this implies.

    Examples
    --------
    >>> true = np.array([0.5, 1.0, 2.0])
    >>> found, rows = unclipped(1000 * clipped_eigenvalues(true, 1.3), np.eye(3), 1.3, level=0.0)
    >>> found.round(3).tolist(), round(rows)
    ([0.5, 1.0, 2.0], 1000)
    """
    share = values / values.sum()
    found = share * len(share)
    for _ in range(100):
        found = found * math.exp(level - float(np.log((vectors**2) @ found)[known].mean()))
        clipped = clipped_eigenvalues(found, limit)
        step = np.clip(share / (clipped / clipped.sum()), 0.5, 2.0)
        if np.abs(step - 1).max() < 1e-5:
            break
        found = found * step
    return found, float(values.sum() / clipped.sum())


def _rough(release: Release) -> Bools:
    """Return which columns have units that are not informative about their spread."""
    found: list[bool] = []
    for column, width in zip(release.schema.columns, release.embedding.widths, strict=True):
        unit = release.units.get(column.name)
        found += [unit is not None and is_rough(column, unit[1])] * width
    return np.array(found)


def _units(release: Release) -> tuple[Floats, Floats, Bools]:
    """Return the centre and scale of every embedded column, and whether it is a number."""
    entries: list[tuple[float, float, bool]] = []
    for column in release.schema.columns:
        if is_number(column, release.data):
            entries.append((*release.units[column.name], True))
        else:
            levels = len(column.levels or ())
            entries += [(1 / levels, SPREAD, False)] * (levels - 1)
    centre, scale, number = zip(*entries, strict=True)
    return np.array(centre), np.array(scale), np.array(number)


def _summary(release: Release, found: ReleaseEstimate) -> Summary:
    number = [is_number(column, release.data) for column in release.schema.columns]
    blocks = zip(release.schema.names, release.embedding.positions, strict=True)
    hidden = [name for name, block in blocks if found.drowned[list(block)].any()]
    # Clipped rows count as if they kept only their direction: q / (q + 2) is the efficiency of Tyler's estimator of a
    # normal covariance, which uses directions but not lengths.
    q = len(found.mean)
    clipped_rows = found.rows * (q / (q + 2))
    return Summary(
        release.site,
        release.schema.names,
        release.embedding.positions,
        round(found.rows),
        found.mean,
        found.covariance,
        tuple("continuous" if one else "categorical" for one in number),
        tuple(
            "Linear" if one else one_hot_unit(column.levels or ())
            for one, column in zip(number, release.schema.columns, strict=True)
        ),
        release.targets,
        schema=release.schema,
        noise=Noise(found.worth, tuple(hidden), found.mean_noise, found.covariance_noise, clipped_rows),
        release=release,
    )
