"""Random graphs for the tests, as hypothesis strategies and from a numpy generator."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import factorial
from typing import TypeVar

import numpy as np
from hypothesis import strategies as st

import fedperi as fp


def random_dag(rng: np.random.Generator, p: int, edges: float) -> fp.PDAG:
    """Erdos-Renyi DAG with this expected number of edges; the index order is not a topological order."""
    upper = np.triu(rng.random((p, p)) < min(1.0, edges / max(1, p * (p - 1) / 2)), 1)
    shuffle = rng.permutation(p)
    return fp.PDAG(upper[np.ix_(shuffle, shuffle)])


Thing = TypeVar("Thing")


def some_of(draw: st.DrawFn, things: Sequence[Thing]) -> list[Thing]:
    """Draw a subset, with one number per 20 things: one draw per thing takes longer than most tests.

    Not one number for all: among numbers with more than 24 bits, hypothesis prefers small ones.
    """
    out: list[Thing] = []
    for first in range(0, len(things), 20):
        part = things[first : first + 20]
        chosen = draw(st.integers(0, 2 ** len(part) - 1))
        out += [thing for k, thing in enumerate(part) if chosen >> k & 1]
    return out


def any_order(draw: st.DrawFn, count: int) -> list[int]:
    """Draw an order of 0, ..., count - 1, with one draw."""
    number, left, out = draw(st.integers(0, factorial(count) - 1)), list(range(count)), []
    for size in range(count, 0, -1):
        number, at = divmod(number, size)
        out.append(left.pop(at))
    return out


@st.composite
def dags(draw: st.DrawFn, min_nodes: int = 1, max_nodes: int = 7) -> fp.PDAG:
    """A DAG with any edges, in any topological order."""
    p = draw(st.integers(min_nodes, max_nodes))
    matrix = np.zeros((p, p), dtype=bool)
    for i, j in some_of(draw, list(combinations(any_order(draw, p), 2))):
        matrix[i, j] = True
    return fp.PDAG(matrix)


@st.composite
def subdags(draw: st.DrawFn, dag: fp.PDAG) -> fp.PDAG:
    """A DAG after full or partial structural interventions on any targets."""
    lost: dict[str, list[str]] = {}
    for tail, head in some_of(draw, sorted(dag.directed)):
        lost.setdefault(head, []).append(tail)
    return fp.mutilate(dag, lost)


@st.composite
def federations(draw: st.DrawFn, max_nodes: int = 6, max_clients: int = 4) -> tuple[fp.PDAG, list[fp.PDAG]]:
    """A DAG and the DAGs of its sites, the first one observational."""
    dag = draw(dags(2, max_nodes))
    clients = [draw(subdags(dag)) for _ in range(draw(st.integers(0, max_clients)))]
    return dag, [dag, *clients]


@st.composite
def pdags(draw: st.DrawFn, max_nodes: int = 7) -> fp.PDAG:
    """Any PDAG: a DAG with some edges made undirected. It need not have a consistent extension."""
    dag = draw(dags(1, max_nodes))
    edges = sorted(dag.directed)
    blurred = set(some_of(draw, edges))
    return fp.PDAG.from_edges([e for e in edges if e not in blurred], blurred, dag.names)


@st.composite
def relabellings(draw: st.DrawFn, names: tuple[str, ...]) -> list[str]:
    """A permutation of the names."""
    return [names[i] for i in any_order(draw, len(names))]


def permuted(graph: fp.PDAG, order: list[str]) -> fp.PDAG:
    """The same matrix under permuted names: an isomorphic graph over the same variables."""
    return fp.PDAG(graph.adjacency, order)
