"""Random graphs for the tests, as hypothesis strategies and from a numpy generator."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import fedperi as fp


def random_dag(rng: np.random.Generator, p: int, edges: float) -> fp.PDAG:
    """Erdos-Renyi DAG with this expected number of edges; the index order is not a topological order."""
    upper = np.triu(rng.random((p, p)) < min(1.0, edges / max(1, p * (p - 1) / 2)), 1)
    shuffle = rng.permutation(p)
    return fp.PDAG(upper[np.ix_(shuffle, shuffle)])


@st.composite
def dags(draw: st.DrawFn, min_nodes: int = 1, max_nodes: int = 7) -> fp.PDAG:
    """A DAG with any edges, in any topological order."""
    p = draw(st.integers(min_nodes, max_nodes))
    pairs = [(i, j) for i in range(p) for j in range(i + 1, p)]
    chosen = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    order = draw(st.permutations(range(p)))
    matrix = np.zeros((p, p), dtype=bool)
    for (i, j), keep in zip(pairs, chosen, strict=True):
        matrix[order[i], order[j]] = keep
    return fp.PDAG(matrix)


@st.composite
def subdags(draw: st.DrawFn, dag: fp.PDAG) -> fp.PDAG:
    """DAGs that can remain after structural interventions, full or partial, on any targets."""
    edges = sorted(dag.directed)
    removed = draw(st.lists(st.sampled_from(edges), unique=True)) if edges else []
    lost: dict[str, list[str]] = {}
    for tail, head in removed:
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
    blurred = set(draw(st.lists(st.sampled_from(edges), unique=True))) if edges else set()
    return fp.PDAG.from_edges([e for e in edges if e not in blurred], blurred, dag.names)


@st.composite
def relabellings(draw: st.DrawFn, names: tuple[str, ...]) -> list[str]:
    """A permutation of the names."""
    return list(draw(st.permutations(names)))


def permuted(graph: fp.PDAG, order: list[str]) -> fp.PDAG:
    """The same matrix under permuted names: an isomorphic graph over the same variables."""
    return fp.PDAG(graph.adjacency, order)
