"""The three maskings: which members of a candidate parent set count in a site's score.

Each turns a lattice of local scores (all subsets of a candidate set) into the value of each set under the mask.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from . import _kernel as kernel
from .lattice import best_of_subsets

Floats = NDArray[np.float64]

MASKINGS = ("none", "consensus", "adaptive")

INTERVENTION_PRICE = 1.0
"""Penalty of a site, in nats, if an intervention removed all parents of a variable there."""

PARTIAL_PRICE = 3.0
"""The same if it removed some parents and kept others.

Without a penalty, every weak edge that a site's BIC happens to miss looks like an intervention; with ten sites there
are several in every run, and each can cause a false v-structure. The penalties are prior odds of about 1 to 3 and 1 to
20, and do not grow with n, while a true removal gains half the logarithm of n per edge: in the limit they change
nothing. docs/explanation/paper-methods.md has the experiment that chose them.
"""


def consensus_mask(lattice: Floats, allowed: NDArray[np.bool_]) -> Floats:
    """Score a set by its members that are parents or neighbours in the site's own graph (the paper's mu).

    Parameters
    ----------
    lattice : array, shape (b, 2^m)
    allowed : bool array, shape (b, m)
        Whether candidate t of row r may count.
    """
    m = allowed.shape[1]
    kept = (allowed * (1 << np.arange(m))).sum(axis=1).astype(np.int64)
    at = np.arange(1 << m)[None, :] & kept[:, None]
    return np.take_along_axis(lattice, at, axis=1)


def adaptive_mask(lattice: Floats, out: Floats | None = None) -> Floats:
    """Score a set by the part of it that the site's data support; leaving parents out has a penalty.

    An edge that an intervention removed costs a site at most this penalty, and no local graph is needed.

    Parameters
    ----------
    lattice : array, shape (b, 2^m)
    out : array, optional
        Where to put the values: the lattice itself, if it is not needed any more.
    """
    in_place = out is lattice and lattice.flags.c_contiguous
    if in_place and kernel.loops.adaptive(lattice, INTERVENTION_PRICE, PARTIAL_PRICE):
        return lattice
    value = best_of_subsets(lattice)
    value -= PARTIAL_PRICE
    np.maximum(value, lattice[..., :1] - INTERVENTION_PRICE, out=value)
    return np.maximum(value, lattice, out=value if out is None else out)


def adaptive_mask_of(none: Floats, whole: Floats, best: Floats) -> Floats:
    """Compute `adaptive_mask` for whole candidate sets only, from the extremes of their lattices."""
    return np.maximum(np.maximum(whole, none - INTERVENTION_PRICE), best - PARTIAL_PRICE)


def supported_subsets(lattice: Floats) -> NDArray[np.int64]:
    """Return, for each row, the index of the subset by which `adaptive_mask` scores the whole candidate set."""
    priced = lattice - PARTIAL_PRICE
    priced[..., 0] = lattice[..., 0] - INTERVENTION_PRICE
    priced[..., -1] = lattice[..., -1]
    return np.asarray(np.argmax(priced, axis=-1))
