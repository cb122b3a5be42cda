"""PC (Spirtes and Glymour, 1991), independent of the order of the variables, with a valid CPDAG as its result."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real

from ...errors import InputError
from ...graph.pdag import PDAG
from .colliders import orient
from .independence import IndependenceTest
from .skeleton import find_skeleton


@dataclass(frozen=True)
class PCResult:
    """Result of PC.

    Attributes
    ----------
    graph : PDAG
        A CPDAG.
    conflicts : tuple of str
        Findings on unshielded triples that the graph contradicts because of other findings, in words.
    tests : int
        Number of independence tests for the skeleton; conflicts need a few more.
    depth : int
        Size of the largest conditioning sets.
    complete : bool
        False if `max_depth`, or too few rows for larger sets, ended the search: there may then be too many edges.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.discovery.oracle import DSeparation
    >>> pc_fit(DSeparation(fp.PDAG.from_edges([("A", "B"), ("B", "C")])))
    PCResult(graph=PDAG('A -- B, B -- C', names=['A', 'B', 'C']), conflicts=(), tests=6, depth=1, complete=True)
    """

    graph: PDAG
    conflicts: tuple[str, ...]
    tests: int
    depth: int
    complete: bool


def pc_fit(test: IndependenceTest, alpha: float = 0.01, max_depth: int | None = None) -> PCResult:
    """Find the CPDAG that an independence test supports.

    Parameters
    ----------
    test : IndependenceTest
        `FisherZ`, `G2`, `ChiSquare`, or the oracle `DSeparation`.
    alpha : float
        Level of the tests: a p-value above it means independent.
    max_depth : int, optional
        Size of the largest conditioning set. If not given, as large as neighbourhoods and the number of rows allow.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.discovery.oracle import DSeparation
    >>> truth = fp.PDAG.from_edges([("A", "C"), ("B", "C"), ("C", "D")])
    >>> pc_fit(DSeparation(truth)).graph == fp.cpdag(truth)
    True
    """
    if isinstance(alpha, bool) or not isinstance(alpha, Real) or not 0 < alpha < 1:
        raise InputError(f"alpha must lie between 0 and 1, both excluded, not {alpha!r}; 0.01 is usual")
    if max_depth is not None and (isinstance(max_depth, bool) or not isinstance(max_depth, Integral) or max_depth < 0):
        raise InputError(f"max_depth must be a whole number of 0 or more, or None for no limit, not {max_depth!r}")
    limit = test.max_given if max_depth is None else min(int(max_depth), test.max_given)
    skeleton = find_skeleton(test, float(alpha), limit)
    graph, conflicts = orient(test, skeleton, float(alpha), limit)
    return PCResult(graph, conflicts, skeleton.tests, skeleton.depth, skeleton.complete)
