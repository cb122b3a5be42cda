"""Warnings of hidden causes in runs of M-PERI: false alarms, and how often they name the right variables.

Without hidden causes: `fp.clinic`, its four graphs in turn, and random linear DAGs with policies of all kinds, dense
ones of 5 to 9 variables and sparse ones of 8 to 12. With one: the stroke clinic without its column bmi, and random DAGs
of which a variable with two effects or more is dropped.
A warning is right if it names two effects of the hidden one as the variables with a hidden common cause. A direction is
wrong if the true edge points the other way, and against the truth if the effect shown causes the cause shown, directly
or through others.

    python benchmarks/hidden_causes.py [clinic|random|sparse][-hidden] [cases] [first] [rows per site of a clinic]
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np

import fedperi as fp
from fedperi.graph import bits
from fedperi.graph.order import descendants

CLINICS = ("stroke", "diabetes", "sepsis", "random")
SIGNS = {
    "together": "change together",
    "by sites": "stays as elsewhere",
    "by variables": "does not reach",
    "three": "explain them",
    "unexplained": "does not explain",
}


def case(kind: str, seed: int, rows: int = 1000) -> tuple[list[object], fp.PDAG, str | None]:
    """Draw tables, their true DAG, and the name of the hidden variable; the rows are those of a clinic."""
    if kind.startswith("clinic"):
        hidden = "bmi" if kind.endswith("hidden") else None
        ward = fp.clinic(rows=rows, seed=seed, graph="stroke" if hidden else CLINICS[seed % 4])
        return [table.drop(columns=hidden) if hidden else table for table in ward.sites], ward.dag, hidden
    sim = sparse(seed) if kind.startswith("sparse") else dense(seed)
    common = [name for name in sim.dag.names if len(sim.dag.children(name)) >= 2]
    hidden = common[0] if kind.endswith("hidden") and common else None
    return [table.drop(columns=hidden) if hidden else table for table in sim.sites], sim.dag, hidden


def dense(seed: int) -> fp.Simulation:
    """Draw tables of a DAG with one to two edges per variable, and the parents of colliders joined."""
    rng = np.random.default_rng([seed, 5])
    p = int(rng.integers(5, 10))
    return fp.simulate(
        p,
        clients=int(rng.integers(3, 11)),
        samples=1000,
        edges=float(rng.uniform(1, 2) * p),
        weights=(0.3, 1.0),
        intervention=str(rng.choice(["varied", "shift", "strengths", "structural"])),
        shared_mechanisms=True,
        targets_per_client=int(rng.integers(1, 3)),
        seed=seed,
    )


def sparse(seed: int) -> fp.Simulation:
    """Draw tables of a DAG with about one edge per variable."""
    rng = np.random.default_rng([seed, 6])
    p = int(rng.integers(8, 13))
    return fp.simulate(
        p,
        clients=int(rng.integers(4, 13)),
        samples=1000,
        edges=float(rng.uniform(0.9, 1.3) * p),
        weights=(0.3, 1.0),
        intervention=str(rng.choice(["varied", "shift"])),
        shared_mechanisms=True,
        shield_colliders=False,
        targets_per_client=int(rng.integers(1, 4)),
        seed=seed,
    )


def main() -> None:
    kind = sys.argv[1] if len(sys.argv) > 1 else "clinic-hidden"
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 9000
    rows = int(sys.argv[4]) if len(sys.argv) > 4 else 1000
    alarms = right = named = wrong = against = runs = 0
    signs: Counter[str] = Counter()
    for seed in range(first, first + cases):
        tables, dag, hidden = case(kind, seed, rows)
        if kind.endswith("hidden") and hidden is None:
            continue
        result = fp.MPERI(progress=False).fit(tables)
        said = [words.split(" may have")[0] for words in result.warnings if "hidden common cause" in words]
        runs += 1
        alarms += bool(said)
        wrong += sum((b, a) in dag.directed for a, b in result.graph.directed)
        causes = [dag.names.index(a) for a, _ in result.graph.directed]
        effects_of = bits.rows(dag.adjacency)
        against += sum(
            descendants(effects_of, 1 << dag.names.index(b)) >> a & 1
            for a, (_, b) in zip(causes, result.graph.directed, strict=True)
        )
        signs.update({kind for kind, sign in SIGNS.items() if any(sign in words for words in result.warnings)})
        if hidden is not None:
            effects = dag.children(hidden)
            right += any(sum(name in words for name in effects) >= 2 for words in said)
            named += any("ldl" in words and "systolic" in words for words in said)
        print(
            f"{kind}, seeds {first} to {seed}: {runs} runs, {alarms} with a warning, {right} name two effects of the "
            f"hidden cause, {named} name ldl and systolic, {wrong / runs:.2f} wrong directions per run, "
            f"{against / runs:.2f} against the truth; signs {dict(signs)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
