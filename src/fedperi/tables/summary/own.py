"""Find the columns of the shared embedding that a site alone would use."""

from __future__ import annotations

from collections.abc import Container

from ..checks.profile import TableProfile
from ..embedding import Embedding, OneHot


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
