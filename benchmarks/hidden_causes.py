"""Warnings of hidden causes in runs of M-PERI: false alarms, and how often they name the right variables.

Without hidden causes: `fp.clinic`, and random linear DAGs with policies of all kinds. With one: the clinic without its
column bmi, and random DAGs of which a variable with two effects or more is dropped. A warning is right if
it names two effects of the hidden one as the variables with a hidden common cause.

    python benchmarks/hidden_causes.py [clinic|clinic-hidden|random|random-hidden] [cases] [first]
"""

from __future__ import annotations

import sys

import numpy as np

import fedperi as fp


def case(kind: str, seed: int) -> tuple[list[object], fp.PDAG, str | None]:
    """Draw tables, their true DAG, and the name of the hidden variable."""
    if kind.startswith("clinic"):
        ward = fp.clinic(seed=seed)
        hidden = "bmi" if kind.endswith("hidden") else None
        return [table.drop(columns=hidden) if hidden else table for table in ward.sites], ward.dag, hidden
    rng = np.random.default_rng([seed, 5])
    p = int(rng.integers(5, 10))
    sim = fp.simulate(
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
    common = [name for name in sim.dag.names if len(sim.dag.children(name)) >= 2]
    hidden = common[0] if kind.endswith("hidden") and common else None
    return [table.drop(columns=hidden) if hidden else table for table in sim.sites], sim.dag, hidden


def main() -> None:
    kind = sys.argv[1] if len(sys.argv) > 1 else "clinic-hidden"
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 9000
    alarms = right = named = wrong = runs = 0
    for seed in range(first, first + cases):
        tables, dag, hidden = case(kind, seed)
        if kind.endswith("hidden") and hidden is None:
            continue
        result = fp.MPERI(progress=False).fit(tables)
        said = [words.split(" may have")[0] for words in result.warnings if "hidden common cause" in words]
        runs += 1
        alarms += bool(said)
        wrong += sum((b, a) in dag.directed for a, b in result.graph.directed)
        if hidden is not None:
            effects = dag.children(hidden)
            right += any(sum(name in words for name in effects) >= 2 for words in said)
            named += any("ldl" in words and "systolic" in words for words in said)
        print(
            f"{kind}, seeds {first} to {seed}: {runs} runs, {alarms} with a warning, {right} name two effects of the "
            f"hidden cause, {named} name ldl and systolic, {wrong / runs:.2f} wrong directions per run",
            flush=True,
        )


if __name__ == "__main__":
    main()
