"""Find what a site alone would use of the embedding that all sites share, and its statistics to the last bit."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from ...errors import InputError
from ..checks.profile import TableProfile
from ..embedding import Embedding, OneHot
from ..moments import correlation_of
from ..statistics import Statistics
from .summary import Summary


def statistics_of(summary: Summary) -> Statistics:
    """Return the statistics that `summarize` gives: only the site's own levels, without curves.

    Raises
    ------
    InputError
        If a variable is constant at the site, because scores of one site cannot use it.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [41.5, 37.0, 60.25, 50.0], "arm": ["u", "v", "w", "v"]})
    >>> statistics_of(Summary.of(table)).blocks
    ((0,), (1, 2))
    """
    straight = summary.straight()
    own = straight.with_columns([_own_columns(straight, at) for at in range(len(straight.names))])
    constant = [
        name
        for name, block in zip(own.names, own.blocks, strict=True)
        if not np.diag(own.covariance)[list(block)].all()
    ]
    if constant:
        raise InputError(
            f"site {summary.site!r}, column {constant[0]!r}: all values are the same, and this method needs values "
            "that differ at every site; use M-PERI, or leave the column or the site out"
        )
    scatter = own.n * own.covariance if own.scatter is None else own.scatter
    return Statistics(
        own.names,
        own.blocks,
        int(own.n),
        own.mean,
        np.sqrt(np.diag(scatter) / own.n),
        correlation_of(scatter),
        tuple("categorical" if unit.startswith("OneHot") else "continuous" for unit in own.units),
        own.dropped,
        own.site,
    )


def _own_columns(summary: Summary, at: int) -> list[int]:
    """Return indicators of the levels that the site has, except the first; return other columns as they are."""
    block = list(summary.blocks[at])
    if not summary.units[at].startswith("OneHot"):
        return block
    present = [column for column in block if summary.mean[column] > 0]
    base = summary.n * (1 - summary.mean[block].sum()) > 0.5
    return (present if base else present[1:]) or block[:1]


def own_columns(embedding: Embedding, profile: TableProfile, names: Container[str] | None = None) -> list[int]:
    """Return the columns that `fit_embedding` would choose at a site: its own levels except the first, and no curves.

    If `names` is given, only columns of these variables are returned.
    """
    own: list[int] = []
    for block, columns in zip(embedding.blocks, embedding.positions, strict=True):
        if names is not None and block.column.name not in names:
            continue
        if isinstance(block, OneHot):
            counts = profile.columns[block.column.name].counts(block.column.levels or ())
            present = [level for level, count in enumerate(counts) if count][1:]
            own += [column for column, level in zip(columns, block.shown, strict=True) if level in present]
        else:
            own.append(columns[0])
    return own
