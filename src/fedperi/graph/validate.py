"""Checks of graphs from users; the messages say what is wrong and where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError

Pair = tuple[str, str]


def checked_pair(edge: Pair) -> Pair:
    """Return an edge as a pair of names."""
    if isinstance(edge, str) or not isinstance(edge, Sequence) or len(edge) != 2:
        raise InputError(f"an edge is a pair of names, not {edge!r}")
    for name in edge:
        if not isinstance(name, str):
            raise InputError(f"an edge is a pair of names; {edge!r} holds {name!r}, which is not a string")
    return edge[0], edge[1]


def checked_matrix(adjacency: ArrayLike) -> NDArray[np.bool_]:
    """Return a square boolean matrix with an empty diagonal."""
    raw = square(adjacency, "adjacency", "is")
    if raw.dtype != bool:
        if raw.dtype.kind not in "iuf":
            raise InputError(f"adjacency must hold booleans or 0 and 1, not {raw.dtype} values")
        odd = np.argwhere((raw != 0) & (raw != 1))
        if len(odd):
            i, j = odd[0]
            raise InputError(
                f"adjacency[{i}, {j}] is {raw[i, j]}; only 0 and 1 are edges (threshold weights first, e.g. "
                "abs(w) > 0.1; for other tools' codes see PDAG.from_causallearn and its neighbours)"
            )
    matrix: NDArray[np.bool_] = raw.astype(bool)
    refuse_loops(matrix, "adjacency")
    return matrix


def square(value: ArrayLike, what: str, verb: str) -> NDArray[Any]:
    """Return a square array; `what` and `verb` ("adjacency", "is") are for error messages."""
    try:
        raw = np.asarray(value)
    except ValueError:
        raise InputError(f"{what} {verb} not a matrix: its rows have different lengths") from None
    if raw.ndim == 1 and raw.size == 0:
        raw = raw.reshape(0, 0)
    if raw.ndim != 2 or raw.shape[0] != raw.shape[1]:
        shape = " x ".join(map(str, raw.shape)) or "a scalar"
        raise InputError(f"{what} must be a square matrix, one row and one column per variable; got {shape}")
    return raw


def refuse_loops(matrix: NDArray[Any], what: str) -> None:
    """Raise if a variable has an edge to itself."""
    loops = np.flatnonzero(np.diag(matrix))
    if len(loops):
        raise InputError(f"{what}[{loops[0]}, {loops[0]}] is set: a variable cannot have an edge to itself")


def position(positions: Mapping[str, int], name: str) -> int:
    """Position of a variable; an unknown name is an error that lists the known ones."""
    try:
        return positions[name]
    except (KeyError, TypeError):
        raise InputError(f"unknown variable {name!r}; known: {', '.join(positions) or 'none'}") from None


def checked_names(names: Iterable[str] | None, p: int | None = None) -> tuple[str, ...]:
    """Return distinct, non-empty names, p of them if p is given; the default ones if there are none."""
    if names is None:
        return tuple(f"X{i}" for i in range(p or 0))
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"names must be a list of strings, not {names!r}")
    labels = tuple(names)
    for i, name in enumerate(labels):
        if not isinstance(name, str) or not name:
            raise InputError(f"names must be non-empty strings; position {i} holds {name!r}")
    if p is not None and len(labels) != p:
        raise InputError(f"{len(labels)} names for {p} variables")
    if len(set(labels)) < len(labels):
        twice = next(n for n in labels if labels.count(n) > 1)
        raise InputError(f"duplicate variable name {twice!r}: names must be unique")
    return tuple(str(n) for n in labels)
