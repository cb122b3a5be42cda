"""Every number twice: as a straight line, and with its polynomials. A family takes whichever explains more."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....scores.mechanisms import Mechanisms
from ....tables.summary.summary import Summary

Floats = NDArray[np.float64]


class Versions(NamedTuple):
    """Summaries of some variables, with a second version of those that may have curved effects.

    Attributes
    ----------
    parts : tuple of Summary
        One per site. First all variables as they are or as straight lines, then the curved versions.
    curved : dict of int to int
        For every variable with two versions, where the curved one is.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables.summary.summaries import summaries
    >>> said = summaries([pd.DataFrame({"age": [41.5, 37.0, 60.25], "sex": ["f", "m", "m"]})])
    >>> versions = Versions.of(said, [1, 0])
    >>> versions.parts[0].names, versions.curved
    (('sex', 'age', 'age, curved'), {1: 2})
    """

    parts: tuple[Summary, ...]
    curved: dict[int, int]

    @classmethod
    def of(cls, said: Sequence[Summary], variables: Sequence[int]) -> Versions:
        """Take some variables of summaries, in the order given."""
        first = said[0]
        numbers = [i for i, v in enumerate(variables) if first.units[v].startswith("Curve")]
        lines = [first.blocks[v][:1] if i in numbers else first.blocks[v] for i, v in enumerate(variables)]
        blocks = [*lines, *(first.blocks[variables[i]] for i in numbers)]
        columns = [column for block in blocks for column in block]
        places = [tuple(range(*ends)) for ends in pairwise(accumulate(map(len, blocks), initial=0))]
        names = [first.names[v] for v in variables]
        names += [f"{names[i]}, curved" for i in numbers]
        kinds = [first.kinds[v] for v in variables] + [first.kinds[variables[i]] for i in numbers]
        parts = tuple(
            Summary(
                part.site,
                tuple(names),
                tuple(places),
                part.n,
                part.mean[columns],
                part.covariance[np.ix_(columns, columns)],
                kinds=tuple(kinds),
                targets=part.targets,
            )
            for part in said
        )
        return cls(parts, {i: len(variables) + k for k, i in enumerate(numbers)})

    def choices(self, variables: Sequence[int]) -> list[list[int]]:
        """Both ways to take some variables as causes: as lines, and with curves; one way if these are the same."""
        lines, curves = list(variables), [self.curved.get(v, v) for v in variables]
        return [lines] if lines == curves else [lines, curves]


def best_families(
    mechanisms: Mechanisms, versions: Versions, node: int, fixed: Sequence[int], free: Sequence[Sequence[int]]
) -> tuple[Floats, list[tuple[list[int], Floats]]]:
    """Score a node with `fixed` and every subset of the `free` variables, in the best versions of each group of them.

    Returns the best score of every subset, and for each choice of versions its causes and all scores.
    """
    choices: list[list[int]] = [[]]
    for group in free:
        choices = [[*before, *taken] for before in choices for taken in versions.choices(group)]
    tables = [(choice, mechanisms.lattice(node, tuple(fixed), choice)) for choice in choices]
    return np.max([scores for _, scores in tables], axis=0), tables


def best_within(scores: Floats) -> Floats:
    """For every set of causes the best score of its subsets.

    Examples
    --------
    >>> best_within(np.array([1.0, 3.0, 0.0, 2.0])).tolist()
    [1.0, 3.0, 1.0, 3.0]
    """
    out = scores.copy()
    count = len(scores).bit_length() - 1
    for bit in range(count):
        halves = out.reshape(-1, 2, 1 << bit)
        np.maximum(halves[:, 1], halves[:, 0], out=halves[:, 1])
    return out


def columns_of(mechanisms: Mechanisms, variables: Sequence[int]) -> list[int]:
    """Columns of some variables among the moments, of which the first is the constant."""
    first = mechanisms.first
    return list(chain.from_iterable(range(int(first[v]), int(first[v + 1])) for v in variables))
