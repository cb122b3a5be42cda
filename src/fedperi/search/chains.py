"""Samples of DAGs, where there are too many variables to sum over all DAGs.

A Markov chain over DAGs, in which every allowed DAG appears in proportion to its weight, however many orders or layers
it has. One move takes a few nodes that are near each other (a block), removes all their parents, and draws new parents
from their joint distribution, given the parents of all other nodes. This is block Gibbs sampling, as in Goudie and
Mukherjee (2016); there is no acceptance step. One move can reverse edges, paths and triangles together with the
other parents that this requires.

Here the joint distribution is exact for any block size. Let U be the nodes of the block that are placed first. The
possible parents of a node i are then the nodes of U, and the variables outside the block that are no descendants of
the rest of the block. This is one position in the lattice of i, where the table of sums over subsets holds A_i(U). So
the sum over all ways to connect the block is a sum over its layers (see `layers`), with 3^k states for a block of k
nodes. The layers are drawn from these sums, the last one first. Then each node draws its parent set: a set that U
allows, but that the layers before the last one of U do not allow.
The probability that a node is in a block does not depend on the DAG. Nodes that seem to be linked, by the scores alone,
are taken together more often.

The same tables give the probability of each parent of a node given the parents of all other nodes. The estimate is the
mean of these probabilities over the chain. Its variance is smaller than that of the share of DAGs with an edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..scores import _kernel as kernel
from .layers import add_subsets, two_to, weights
from .walk import Walk

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SIZES = np.cumsum([0.0, 0.1, 0.2, 0.4, 0.3, 0.0])
"""Cumulative probabilities that a block has one node, two, ... six nodes. The effective number of DAGs per second
hardly depends on them, as long as blocks of four or five nodes are common."""

LEAST_LINK = 0.05
"""Lower bound of the probability of a link between two nodes, for choosing blocks."""


class Tables(NamedTuple):
    """Tables that chains use: lists by node, one after the other, and the position where each begins.

    A weight is ``value * 2**power`` (see `layers`), relative to the best set of its node.
    """

    first: Ints  # start of a node's candidates
    free: Ints
    begin: Ints  # start of a node's sums
    value: Floats  # sums of weights over all subsets of a set
    power: Ints
    set_first: Ints  # start of a node's sets with positive weight
    sets: Ints  # the best first: few have most of the weight
    set_value: Floats
    set_power: Ints
    near_first: Ints  # start of the nodes near a node
    near: Ints
    reach: Floats  # cumulative probabilities that each is taken


def tables(free: Sequence[Sequence[int]], scores: Sequence[Floats]) -> Tables:
    """Prepare lattices for chains. Every node needs at least one allowed set.

    Examples
    --------
    >>> made = tables([(1,), (0,)], [np.array([0.0, np.log(2.0)]), np.array([0.0, -np.inf])])
    >>> np.ldexp(made.value, made.power).round(12).tolist()  # of all subsets, node by node
    [0.5, 1.5, 1.0, 1.0]
    >>> made.sets.tolist(), made.set_first.tolist()
    ([1, 0, 0], [0, 2, 3])
    """
    single = [weights(own - own.max()) for own in scores]
    sums = [add_subsets(part) for part in single]
    sets = [_ranked(own) for own in scores]
    link = np.zeros((len(free), len(free)))
    for node, (candidates, (value, power)) in enumerate(zip(free, sums, strict=True)):
        without = len(value) - 1 ^ 1 << np.arange(len(candidates))  # probability of a parent if cycles were allowed
        share = 1.0 - value[without] * two_to(power[without] - power[-1]) / value[-1]
        link[node, list(candidates)] = np.maximum(share, LEAST_LINK)
    link = np.maximum(link, link.T)
    near = [np.flatnonzero(row) for row in link]
    reach = [np.cumsum(row[some]) / row.sum() for row, some in zip(link, near, strict=True) if len(some)]
    return Tables(
        _starts(free),
        _joined(free),
        _starts([value for value, _ in sums]),
        np.concatenate([value for value, _ in sums]),
        np.concatenate([power for _, power in sums]),
        _starts(sets),
        np.concatenate(sets),
        np.concatenate([value[some] for (value, _), some in zip(single, sets, strict=True)]),
        np.concatenate([power[some] for (_, power), some in zip(single, sets, strict=True)]),
        _starts(near),
        _joined(near),
        np.concatenate([np.empty(0), *reach]),
    )


def _ranked(scores: Floats) -> Ints:
    """List the allowed sets, the best first."""
    some = np.flatnonzero(scores > -np.inf)
    return some[np.argsort(-scores[some], kind="stable")]


def _starts(lists: Sequence[Sequence[int] | Ints | Floats]) -> Ints:
    return np.cumsum([0, *map(len, lists)], dtype=np.int64)


def _joined(lists: Sequence[Sequence[int] | Ints]) -> Ints:
    return np.concatenate([np.asarray(one, dtype=np.int64) for one in lists])


class Chain:
    """A chain of DAGs.

    Parameters
    ----------
    tables : Tables
        Shared by all chains.
    start : sequence of int
        The first DAG: the position of each node's parent set in its lattice.
    seed : SeedSequence
        Seed of this chain; chains need different seeds.

    Examples
    --------
    >>> made = tables([(1,), (0,)], [np.array([0.0, np.log(2.0)]), np.array([0.0, np.log(7.0)])])
    >>> chain = Chain(made, [0, 0], np.random.SeedSequence(1))
    >>> chain.run(4000).round(1)  # no edge weighs 1, B -> A 2, A -> B 7
    array([[0. , 0.7],
           [0.2, 0. ]])
    """

    def __init__(self, tables: Tables, start: Sequence[int], seed: np.random.SeedSequence) -> None:
        self.tables = tables
        self.now = np.array(start, dtype=np.int64)
        self.random = seed.generate_state(4, np.uint64).view(np.int64)

    def run(self, sweeps: int) -> Floats:
        """Continue for some sweeps; a sweep has one move per node.

        Returns
        -------
        array
            ``[i, j]``: probability of i -> j, the mean over these sweeps.
        """
        made, p = self.tables, len(self.now)
        sums = np.zeros(len(made.free))
        if not kernel.loops.chain(*made, SIZES, self.random, self.now, sums, sweeps):
            walk = Walk(made, SIZES, self.now.tolist(), self.random.view(np.uint64).tolist())
            sums += walk.run(sweeps)
            self.now[:] = walk.now
            self.random.view(np.uint64)[:] = walk.words
        edges = np.zeros((p, p))
        edges[made.free, np.repeat(np.arange(p), np.diff(made.first))] = sums / max(sweeps, 1)
        return edges
