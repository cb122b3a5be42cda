"""The true partition of the sites for each variable: which sites have exactly the same mechanism."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from ..mechanisms import Mechanism

Groups = dict[str, tuple[tuple[int, ...], ...]]


def site_groups(mechanisms: Sequence[Mechanism], names: Sequence[str]) -> Groups:
    """Group the sites, for each variable, by equal parameters; groups follow their first site.

    Examples
    --------
    >>> from dataclasses import replace
    >>> model = Mechanism(np.array([[0, 2.0], [0, 0]]), np.zeros((2, 2), int), np.ones(2), np.ones(2))
    >>> site_groups([model, replace(model, weights=np.zeros((2, 2))), model], ["A", "B"])
    {'A': ((0, 1, 2),), 'B': ((0, 2), (1,))}
    """
    return {name: grouped([_parameters(m, j) for m in mechanisms]) for j, name in enumerate(names)}


def grouped(keys: Sequence[Hashable]) -> tuple[tuple[int, ...], ...]:
    """Group positions by equal keys; groups follow their first position.

    Examples
    --------
    >>> grouped(["a", "b", "a"])
    ((0, 2), (1,))
    """
    found: dict[Hashable, list[int]] = {}
    for position, key in enumerate(keys):
        found.setdefault(key, []).append(position)
    return tuple(tuple(group) for group in found.values())


def _parameters(mechanism: Mechanism, j: int) -> tuple[float, ...]:
    """List all that the mechanism of one variable depends on."""
    parents = np.flatnonzero(mechanism.weights[:, j])
    edges = [
        (int(i), float(mechanism.weights[i, j]), int(mechanism.functions[i, j]), float(mechanism.input_scales[i]))
        for i in parents
    ]
    return (float(mechanism.means[j]), float(mechanism.noise_scales[j]), *(number for edge in edges for number in edge))
