"""`fedperi benchmark exactness`: on population moments, how often C(G) and Phi(G) are found exactly.

One observational site, and three with structural interventions on one or two targets, which lose all or some of their
incoming edges. Weights of size 0.3 to 1, unit noise, nominal n = 10^10. With the consensus mask each site is given its
true CPDAG, which is not learned from data.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .grid import Cell, write_table
from .page import Page, Request, markdown_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..graph.pdag import PDAG
    from ..site.site import OracleSite

ROWS = 1e10
CASES, BATCH = 2000, 100
SETTINGS = (("adaptive", "sum"), ("adaptive", "worst"), ("consensus", "worst"), ("consensus", "sum"))


def cells(request: Request) -> list[Cell]:
    """List batches of cases; seeds are not used, cases are numbered from 0."""
    count = 200 if request.quick else CASES
    return [
        {"task": "exactness", "masking": masking, "aggregate": aggregate, "first": first, "cases": BATCH}
        for masking, aggregate in SETTINGS
        for first in range(0, count, BATCH)
    ]


def work(cell: Cell) -> dict[str, Any]:
    """Run a batch of cases; those that are not exact are listed."""
    import fedperi as fp

    method = fp.IPERI(masking=cell["masking"], aggregate=cell["aggregate"], progress=False)
    common = phi = 0
    wrong = []
    start = time.process_time()
    for number in range(cell["first"], cell["first"] + cell["cases"]):
        dag, clients, moments = case(number)
        result = method.fit(oracle_sites(dag, clients, moments))
        right = result.cpdag == fp.cpdag(dag), result.phi_cpdag == fp.phi_cpdag(dag, clients)
        common, phi = common + right[0], phi + right[1]
        wrong += [] if all(right) else [number]
    return {"cpdag": common, "phi": phi, "wrong": wrong, "cpu_s": time.process_time() - start}


def write(found: Sequence[Cell], out: Path, request: Request) -> Page:
    """Add the batches up."""
    rows = []
    for masking, aggregate in SETTINGS:
        mine = [row for row in found if (row["masking"], row["aggregate"]) == (masking, aggregate)]
        fine = [row for row in mine if "error" not in row]
        rows.append(
            {
                "masking": masking,
                "aggregate": aggregate,
                "cases": sum(row["cases"] for row in fine),
                "cpdag": sum(row["cpdag"] for row in fine),
                "phi": sum(row["phi"] for row in fine),
                "failed": sum(row["cases"] for row in mine) - sum(row["cases"] for row in fine),
                "wrong": " ".join(str(number) for row in fine for number in row["wrong"]),
                "cpu_s": sum(row["cpu_s"] for row in fine),
            }
        )
    write_table(rows, out / "exactness.csv")
    heads = ("masking", "aggregate", "cases", "C(G) found", "Phi(G) found", "failed", "not exact")
    names = ("masking", "aggregate", "cases", "cpdag", "phi", "failed")
    table = markdown_table(heads, [[*(str(row[name]) for name in names), row["wrong"] or "-"] for row in rows])
    text = (
        "Random DAGs with 3 to 8 nodes; population moments, weights of size 0.3 to 1, nominal n = 10^10. One "
        "observational site, three with interventions on one or two targets that lose all or some of their arrows.\n\n"
    )
    return Page("Exactness in the population", text + table, ())


def case(seed: int) -> tuple[PDAG, list[PDAG], list[NDArray[np.float64]]]:
    """Draw one true DAG with 3 to 8 nodes, the DAGs of four sites, and their covariances."""
    import numpy as np

    import fedperi as fp

    from ..simulation import implied_covariance

    rng = np.random.default_rng(seed)
    p = int(rng.integers(3, 9))
    share = min(1.0, rng.uniform(0.8, 2) * p / (p * (p - 1) / 2))
    upper = np.triu(rng.random((p, p)) < share, 1)
    shuffle = rng.permutation(p)
    dag = fp.PDAG(upper[np.ix_(shuffle, shuffle)])
    clients = [dag] + [_intervened(dag, rng) for _ in range(3)]
    weights = rng.uniform(0.3, 1, (p, p)) * rng.choice([-1, 1], (p, p))
    return dag, clients, [implied_covariance(weights * client.adjacency, np.ones(p)) for client in clients]


def oracle_sites(dag: PDAG, clients: Sequence[PDAG], moments: Sequence[NDArray[np.float64]]) -> list[OracleSite]:
    """Make the sites; each knows its own CPDAG, which only the consensus mask uses."""
    import fedperi as fp

    return [
        fp.OracleSite(m, ROWS, dag.names, fp.cpdag(client), name=f"site {k}")
        for k, (m, client) in enumerate(zip(moments, clients, strict=True))
    ]


def _intervened(dag: PDAG, rng: np.random.Generator) -> PDAG:
    """Remove all or some edges into one or two variables that have any."""
    import fedperi as fp

    targets = [name for name in dag.names if dag.parents(name)]
    if not targets:
        return dag
    lost = {}
    for target in rng.choice(targets, size=min(len(targets), int(rng.integers(1, 3))), replace=False):
        parents = list(dag.parents(str(target)))
        some = rng.choice(parents, size=int(rng.integers(1, len(parents) + 1)), replace=False)
        lost[str(target)] = None if rng.random() < 0.5 else [str(name) for name in some]
    return fp.mutilate(dag, lost)
