"""Draw the parameters of a structural equation model, and remove those of missing edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..graph.pdag import PDAG
from .mechanisms import FUNCTIONS, Matrix, Mechanism


def draw_mechanism(dag: PDAG, rng: np.random.Generator, *, weights: tuple[float, float], nonlinear: bool) -> Mechanism:
    """Draw the weights of the edges of a DAG, and their functions if the model is non-linear.

    Absolute weights are uniform in a range, and signs are random.

    Examples
    --------
    >>> import fedperi as fp
    >>> dag = fp.PDAG.from_edges([("A", "B")])
    >>> model = draw_mechanism(dag, np.random.default_rng(0), weights=(0.5, 1.0), nonlinear=False)
    >>> (model.weights != 0).tolist(), bool(0.5 <= abs(model.weights[0, 1]) <= 1.0)
    ([[False, True], [False, False]], True)
    """
    p = len(dag.names)
    drawn = signed_weights(rng, (p, p), weights)
    functions = rng.integers(1, len(FUNCTIONS), (p, p)) if nonlinear else np.zeros((p, p), dtype=np.int64)
    edges = dag.adjacency
    return Mechanism(np.where(edges, drawn, 0.0), np.where(edges, functions, 0), np.ones(p), np.ones(p))


def restrict(mechanism: Mechanism, dag: PDAG) -> Mechanism:
    """Intervene structurally: keep the edges of the site's DAG with their weights, drop the others.

    Examples
    --------
    >>> import fedperi as fp
    >>> model = Mechanism(np.array([[0, 2.0], [0, 0]]), np.zeros((2, 2), int), np.ones(2), np.ones(2))
    >>> restrict(model, fp.PDAG([[0, 0], [0, 0]])).weights.tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    edges = dag.adjacency
    return replace(
        mechanism,
        weights=np.where(edges, mechanism.weights, 0.0),
        functions=np.where(edges, mechanism.functions, 0),
    )


def signed_weights(rng: np.random.Generator, shape: tuple[int, ...], weights: tuple[float, float]) -> Matrix:
    """Draw weights whose absolute values are uniform in a range and whose signs are random."""
    return np.where(rng.random(shape) < 0.5, -1.0, 1.0) * rng.uniform(*weights, shape)
