"""A column with a single value at a site: a policy, or chance if the site is small and other values are rare."""

from __future__ import annotations

import numpy as np

from ...scores.mechanisms import USUAL, Mechanisms


def constant_evidence(mechanisms: Mechanisms, node: int, site: int) -> float:
    """Return the evidence, in nats, that a constant column at a site is not due to chance, given the other sites.

    A number that never varies is never due to chance. A site of 30 rows without a stroke may be: with strokes in 5 of
    100 rows elsewhere, one of five such sites has none.

    Parameters
    ----------
    mechanisms : Mechanisms
        The sites.
    node : int
        The variable.
    site : int
        A site where it is constant.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables.summary.summaries import summaries
    >>> north = pd.DataFrame({"age": range(100), "stroke": ["no"] * 90 + ["yes"] * 10})
    >>> for rows in (30, 300):
    ...     south = pd.DataFrame({"age": range(rows), "stroke": ["no"] * rows})
    ...     print(f"{constant_evidence(Mechanisms(summaries([north, south])), 1, 1):.1f}")
    0.5
    27.8
    """
    if mechanisms.spread[node]:
        return np.inf
    block = list(mechanisms.summaries[site].blocks[node])
    here = mechanisms.summaries[site].mean[block]
    # The indicator of the value that all rows have here is one column; for the first level it is all columns together.
    weights = (here > 0.5).astype(float) if len(block) > 1 and (here > 0.5).any() else np.ones(len(block))
    others = [k for k in range(len(mechanisms.n)) if k != site]
    rows = mechanisms.n[others]
    means = np.array([weights @ mechanisms.summaries[k].mean[block] for k in others])
    variances = [weights @ mechanisms.summaries[k].covariance[np.ix_(block, block)] @ weights for k in others]
    apart = float(rows @ means) / rows.sum() - float(weights @ here)
    variance = float(rows @ (np.array(variances) + means**2)) / rows.sum() - (float(rows @ means) / rows.sum()) ** 2
    if variance <= 0:  # the others are constant too, with another value
        return np.inf
    # With two values, the share follows from the variance and the distance between the mean and this value.
    share = variance / (variance + apart**2)
    n = float(mechanisms.n[site])
    return float(-n * np.log(share) - 0.5 * len(block) * np.log(n) - USUAL.own)
