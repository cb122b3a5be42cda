"""Questions of a coordinator: by hand, and random ones as hypothesis strategies."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from fedperi.protocol.messages import Families, Orientations


def families(nodes: ArrayLike, fixed: ArrayLike, free: ArrayLike) -> Families:
    return Families(np.array(nodes), np.array(fixed), np.array(free))


def all_families(p: int = 3) -> Families:
    """Every parent set of every node."""
    others = np.array([[j for j in range(p) if j != i] for i in range(p)], dtype=np.int64)
    return Families(np.arange(p), np.zeros((p, 0), dtype=np.int64), others)


def one_family(node: int, *candidates: int) -> Families:
    """Every parent set of one node, among these candidates."""
    free = np.array([candidates], dtype=np.int64).reshape(1, -1)
    return Families(np.array([node]), np.zeros((1, 0), dtype=np.int64), free)


def one_parent_set(node: int, *parents: int) -> Families:
    """One node with these parents."""
    fixed = np.array([parents], dtype=np.int64).reshape(1, -1)
    return Families(np.array([node]), fixed, np.zeros((1, 0), dtype=np.int64))


def open_orientations(p: int = 3) -> Orientations:
    """The first node of a graph without edges, and no neighbour to orient."""
    return Orientations(np.zeros((p, p), dtype=bool), np.array([0]), np.zeros((1, p), dtype=np.int64))


@st.composite
def any_families(draw: st.DrawFn, p: int = 5) -> Families:
    fixed, free = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    rows = [draw(st.permutations(range(p)))[: 1 + fixed + free] for _ in range(draw(st.integers(0, 4)))]
    table = np.array(rows, np.int64).reshape(len(rows), 1 + fixed + free)
    return Families(table[:, 0], table[:, 1 : 1 + fixed], table[:, 1 + fixed :])


@st.composite
def any_orientations(draw: st.DrawFn, p: int = 5) -> Orientations:
    order = draw(st.permutations(range(p)))
    upper = np.triu(np.array(draw(st.lists(st.booleans(), min_size=p * p, max_size=p * p))).reshape(p, p), 1)
    dag = upper[np.ix_(np.argsort(order), np.argsort(order))]
    nodes = np.array(draw(st.lists(st.integers(0, p - 1), max_size=4)), np.int64)
    marks = np.array(draw(st.lists(st.integers(0, 3), min_size=p * len(nodes), max_size=p * len(nodes))), np.int64)
    marks = marks.reshape(len(nodes), p)
    marks[np.arange(len(nodes)), nodes] = 0
    return Orientations(dag, nodes, marks)
