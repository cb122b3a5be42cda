"""Distances and scores between graphs. All compare a guess with the truth, over the same variables."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .pdag import PDAG, aligned


def shd(guess: PDAG, truth: PDAG, *, reversal: Literal[1, 2] = 2) -> int:
    """Return the structural Hamming distance, as the paper counts it.

    A missing or extra adjacency costs 1, an undirected edge against a directed one 1, a reversed edge 2. With
    ``reversal=1`` it is the usual one, where a reversed edge costs 1 as well.

    Parameters
    ----------
    guess, truth : PDAG
        Graphs over the same variables.
    reversal : {2, 1}
        The price of a reversed edge.

    Examples
    --------
    >>> import fedperi as fp
    >>> ab, ba = fp.PDAG.from_edges([("A", "B")]), fp.PDAG.from_edges([("B", "A")])
    >>> fp.shd(ab, ba), fp.shd(ab, ba, reversal=1)
    (2, 1)
    """
    if reversal not in (1, 2):
        raise InputError(f"reversal is the price of a reversed edge, 1 or 2, not {reversal!r}")
    a, b = aligned(guess, truth)
    differ = a != b
    pairs = np.triu(differ.astype(np.int64) + differ.T)  # per pair: 0, 1 or 2 entries differ
    same_adjacency = (a | a.T) == (b | b.T)
    return int(np.where(same_adjacency, np.minimum(pairs, reversal), np.minimum(pairs, 1)).sum())


def f1(guess: PDAG, truth: PDAG) -> float:
    """Return the F1 over the entries of the adjacency matrices, as in the paper; an undirected edge is two entries.

    It is between 0 and 1. Two graphs without edges agree: 1.

    Examples
    --------
    >>> import fedperi as fp
    >>> line, arrow = fp.PDAG.from_edges(undirected=[("A", "B")]), fp.PDAG.from_edges([("A", "B")])
    >>> round(fp.f1(line, arrow), 3)
    0.667
    """
    return _f1(*aligned(guess, truth))


def skeleton_f1(guess: PDAG, truth: PDAG) -> float:
    """Return the F1 over adjacencies; directions are ignored.

    Examples
    --------
    >>> import fedperi as fp
    >>> fp.skeleton_f1(fp.PDAG.from_edges([("A", "B")]), fp.PDAG.from_edges([("B", "A")]))
    1.0
    """
    a, b = aligned(guess, truth)
    return _f1(np.triu(a | a.T), np.triu(b | b.T))


def arrowhead_f1(guess: PDAG, truth: PDAG) -> float:
    """Return the F1 over directed edges only: an undirected edge claims no arrowhead.

    Examples
    --------
    >>> import fedperi as fp
    >>> fp.arrowhead_f1(fp.PDAG.from_edges(undirected=[("A", "B")]), fp.PDAG.from_edges([("A", "B")]))
    0.0
    """
    a, b = aligned(guess, truth)
    return _f1(a & ~a.T, b & ~b.T)


def adjustment_distance(
    guess: PDAG, truth: PDAG, *, strategy: Literal["ancestor", "parent", "oset"] = "ancestor"
) -> tuple[float, int]:
    """Return the share and number of wrong causal effects if one adjusts by the guessed graph (Henckel et al., 2024).

    Computed by gadjid, which accepts DAGs and CPDAGs (a Phi-CPDAG must be closed by `meek_closure`, and even then may
    be refused as no CPDAG: its error is passed on).

    Parameters
    ----------
    guess, truth : PDAG
        Graphs over the same variables.
    strategy : {"ancestor", "parent", "oset"}
        How the adjustment set is read off the guess.

    Returns
    -------
    (share, number)
        Wrong effects as a share of the p(p-1) ordered pairs, and their number.

    Examples
    --------
    >>> import fedperi as fp
    >>> ab, ba = fp.PDAG.from_edges([("A", "B")]), fp.PDAG.from_edges([("B", "A")])
    >>> fp.adjustment_distance(ab, ba.reordered(["A", "B"]))
    (1.0, 2)
    """
    strategies = ("ancestor", "parent", "oset")
    if strategy not in strategies:
        raise InputError(f"strategy must be one of {', '.join(strategies)}, not {strategy!r}")
    try:
        import gadjid
    except ImportError:
        remedy = "pip install gadjid (the extra 'metrics' brings it)"
        raise InputError(f"adjustment_distance needs gadjid; {remedy}") from None
    a, b = aligned(guess, truth)
    distance = getattr(gadjid, f"{strategy}_aid")
    try:
        share, number = distance(_gadjid_matrix(b), _gadjid_matrix(a), edge_direction="from row to column")
    except BaseException as error:  # gadjid panics (a BaseException of its Rust binding) on graphs that are no CPDAG
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        raise InputError(f"gadjid accepts DAGs and CPDAGs only: {str(error).splitlines()[0]}") from None
    return float(share), int(number)


def _gadjid_matrix(adjacency: NDArray[np.bool_]) -> NDArray[np.int8]:
    """1 in ``[i, j]`` for i -> j; 2 once, above the diagonal, for i -- j."""
    undirected = np.triu(adjacency & adjacency.T)
    return (adjacency & ~adjacency.T).astype(np.int8) + 2 * undirected.astype(np.int8)


def _f1(guess: NDArray[np.bool_], truth: NDArray[np.bool_]) -> float:
    claimed = int(guess.sum()) + int(truth.sum())
    return 2 * int((guess & truth).sum()) / claimed if claimed else 1.0
