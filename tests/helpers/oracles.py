"""Federations of oracle sites: random DAGs, structural interventions, population covariances."""

from __future__ import annotations

import numpy as np

import fedperi as fp
from fedperi.simulation import implied_covariance
from helpers.graphs import random_dag

NOMINAL = 1e10


def intervened(rng: np.random.Generator, dag: fp.PDAG) -> fp.PDAG:
    """The DAG after one or two structural interventions, each removing all or some of the arrows into its target."""
    able = [name for name in dag.names if dag.parents(name)]
    lost: dict[str, list[str] | None] = {}
    for target in rng.permutation(able)[: int(rng.integers(1, 3))].tolist():
        parents = list(dag.parents(target))
        some = rng.permutation(parents)[: int(rng.integers(1, len(parents) + 1))].tolist()
        lost[target] = None if rng.random() < 0.5 else some
    return fp.mutilate(dag, lost)


def random_case(
    rng: np.random.Generator, low: int = 3, high: int = 8
) -> tuple[fp.PDAG, list[fp.PDAG], list[np.ndarray]]:
    """A DAG, the DAGs of one observational and three intervened sites, and their covariances."""
    p = int(rng.integers(low, high + 1))
    dag = random_dag(rng, p, rng.uniform(0.8, 2) * p)
    clients = [dag, *(intervened(rng, dag) for _ in range(3))]
    weights = rng.uniform(0.3, 1, (p, p)) * rng.choice([-1, 1], (p, p))
    return dag, clients, [implied_covariance(weights * c.adjacency, np.ones(p)) for c in clients]


def oracle_sites(
    clients: list[fp.PDAG], covariances: list[np.ndarray], *, told: bool = False, targets: list[list[str]] | None = None
) -> list[fp.OracleSite]:
    """Oracle sites; `told` gives each its CPDAG instead of letting it learn one."""
    return [
        fp.OracleSite(
            covariance,
            NOMINAL,
            client.names,
            fp.cpdag(client) if told else None,
            name=f"site {k}",
            targets=None if targets is None else targets[k],
        )
        for k, (client, covariance) in enumerate(zip(clients, covariances, strict=True))
    ]
