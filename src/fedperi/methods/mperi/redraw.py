"""A parametric bootstrap without rows: summaries that a site might have stated with other rows and other noise.

Rows are drawn as normal with the means and covariances that the site stated (Wishart). Privacy noise of the stated size
is added once more. So stability includes sampling and noise, no site is asked, and it costs no privacy.
"""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np

from ...tables.summary.summary import Summary
from ..effects.noise import bartlett, repaired


def redrawn_summary(part: Summary, draw: int) -> Summary:
    """Draw a summary that the site might have stated.

    Parameters
    ----------
    part : Summary
        The summary that the site stated; for a release, with the noise removed as far as possible.
    draw : int
        The seed. Sites draw independently of each other, by their names.

    Examples
    --------
    >>> import fedperi as fp
    >>> part = fp.Summary.of(fp.simulate(3, clients=2, samples=10_000, seed=1).sites[0], name="north")
    >>> other = redrawn_summary(part, 1)
    >>> other.n, bool(np.allclose(other.covariance, part.covariance, rtol=0.1, atol=0.1))
    (10000, True)
    >>> bool((other.covariance == part.covariance).any()), bool((other.mean == redrawn_summary(part, 1).mean).all())
    (False, True)
    """
    rng = np.random.default_rng([draw, zlib.crc32(part.site.encode(errors="surrogatepass"))])
    rows = part.n if part.noise is None else part.noise.whole_rows or part.rows
    values, vectors = np.linalg.eigh(part.covariance)
    # Constants at a site stay constant: their rows and columns of the root are zero.
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    root[np.diag(part.covariance) == 0] = 0.0
    lower = bartlett(len(values), float(rows) - 1, 1, rng)[0]
    covariance = root @ (lower @ lower.T / rows) @ root.T
    mean = part.mean + root @ rng.standard_normal(len(values)) / np.sqrt(rows)
    if part.noise is not None and part.noise.covariance is not None and part.noise.mean is not None:
        upper = np.triu(rng.standard_normal(covariance.shape) * part.noise.covariance)
        covariance = repaired(covariance + upper + np.triu(upper, 1).T)
        mean = mean + rng.standard_normal(len(mean)) * part.noise.mean
    return replace(part, mean=mean, covariance=(covariance + covariance.T) / 2, scatter=None)
