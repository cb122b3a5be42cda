"""M-PERI from private releases: docs/results/private.md.

Total epsilon 1, delta 1e-6. Simulated sites share their mechanisms; in every other run targets are cut off, in the
others they are shifted. Five sites, public bounds of -10 to 10. Beside M-PERI without noise, I-PERI with and without,
and the limit of the Phi-CPDAG. Then sites that do not differ at all, where every difference is false; and hospital-like
tables, whose bounds are what an instrument can show, also without policies and with one case mix.

Noise comes from a seed: an experiment on simulated tables, repeatable, and private to nobody.

Run: python benchmarks/mperi_private.py [--seeds 8100 20] [--jobs 2]

Started again, the script computes only what is missing.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from mperi_cases import GRAPHS, Record, arguments, counts, fingerprint, markdown, mean, seeds_of

import fedperi as fp
from fedperi.privacy import Privacy, release_table

EPSILON, DELTA, SITES, LIMIT = 1.0, 1e-6, 5, 10.0
VARIABLES, ROWS = (5, 10), (1000, 2000, 5000, 20000)
WARD = 5000
METHODS = ("M-PERI, noise", "M-PERI", "I-PERI, noise", "I-PERI", "Phi limit")
Task = tuple[str, int, int, int]
"""What ("policies", "no policies", or a graph of the clinic, also with ", no policies"), variables, rows, seed."""
NOBODY = ", no policies"


def solve(task: Task) -> dict[str, Record]:
    """Run one task."""
    warnings.simplefilter("ignore")
    what, p, n, seed = task
    if what.removesuffix(NOBODY) in GRAPHS:
        return _ward(what, n, seed)
    kind = "none" if what == "no policies" else ("structural", "shift")[seed % 2]
    sim = fp.simulate(p, clients=SITES, samples=n, intervention=kind, seed=seed)
    releases = _released(sim.sites, dict.fromkeys(sim.dag.names, (-LIMIT, LIMIT)), seed)
    out = {"M-PERI, noise": _compared(fp.MPERI(progress=False).fit(releases), sim)}
    if what == "policies":
        tables = {f"site {k}": table for k, table in enumerate(sim.sites)}
        out["M-PERI"] = _compared(fp.MPERI(progress=False).fit(tables), sim)
        out["I-PERI, noise"] = _compared(fp.IPERI(progress=False).fit(releases), sim)
        out["I-PERI"] = _compared(fp.IPERI(progress=False).fit(tables), sim)
        out["Phi limit"] = _scored(fp.meek_closure(sim.phi_cpdag), sim)
    return out


def _ward(graph: str, n: int, seed: int) -> dict[str, Record]:
    alone = graph.endswith(NOBODY)
    clinic = fp.clinic(
        sites=6, rows=n, graph=graph.removesuffix(NOBODY), policies=0 if alone else 4, case_mix=not alone, seed=seed
    )
    releases = _released(clinic.sites, instrument_bounds(clinic), seed)
    tables = {f"site {k}": table for k, table in enumerate(clinic.sites)}
    return {
        "M-PERI, noise": _compared(fp.MPERI(progress=False).fit(releases), clinic),
        "M-PERI": _compared(fp.MPERI(progress=False).fit(tables), clinic),
    }


def instrument_bounds(clinic: fp.Clinic) -> dict[str, Any]:
    """What is known of the columns of a clinic without looking at its tables."""

    def bounds(one: Any) -> Any:
        if one.role == "yes/no":
            return ["0", "1"]
        lowest = one.typical - 5 * one.scale if one.role == "measured" else 0.0
        highest = {
            "measured": one.typical + 5 * one.scale,
            "count": 10 * one.typical,
            "skewed": one.typical * math.exp(5 * one.scale),
        }[one.role]
        return max(lowest, float(one.least)), min(highest, float(one.most))

    found = {one.name: bounds(one) for one in clinic.models[0]}
    return {name: found[name] for name in clinic.names}


def _released(tables: Sequence[Any], bounds: dict[str, Any], seed: int) -> dict[str, Any]:
    privacy = Privacy(EPSILON, DELTA, bounds=bounds, test_seed=seed)
    return {f"site {k}": release_table(table, privacy, name=f"site {k}")[0] for k, table in enumerate(tables)}


def _scored(graph: fp.PDAG, truth: Any) -> Record:
    return {**counts(graph, truth.dag), "f1": fp.skeleton_f1(graph, truth.dag)}


def _compared(result: fp.Result, truth: Any) -> Record:
    true = {(f"site {k}", name) for k, names in enumerate(truth.targets) for name in names}
    found = {(one.site, one.variable) for one in result.differences or ()}
    if isinstance(truth, fp.Clinic):  # the case mix makes these differ everywhere
        found = {pair for pair in found if pair[1] not in ("age", "sex")}
    return {**_scored(result.graph, truth), "named": len(found & true), "false": len(found - true)}


def run(tasks: Sequence[Task], given: Any) -> Callable[[Task], dict[str, Record]]:
    """Run what has not been run before with this code; return a function that looks a task up."""
    file, code = given.keep.with_name("mperi-private.jsonl"), fingerprint("MPERI()")
    file.parent.mkdir(parents=True, exist_ok=True)
    kept = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    found = {tuple(one["task"]): one["record"] for one in kept if one["code"] == code}
    todo = [task for task in tasks if task not in found]
    with file.open("a", encoding="utf-8") as out, ProcessPoolExecutor(given.jobs) as pool:
        for done, (task, record) in enumerate(zip(todo, pool.map(solve, todo), strict=True), 1):
            found[task] = record
            out.write(json.dumps({"task": task, "code": code, "record": record}) + "\n")
            out.flush()
            if done % 20 == 0 or done == len(todo):
                print(f"{done} of {len(todo)} runs", file=sys.stderr, flush=True)
    return found.__getitem__


def _row(records: Iterable[Record]) -> tuple[float, ...]:
    some = list(records)
    return tuple(mean(some, what) for what in ("f1", "right", "wrong", "shd"))


if __name__ == "__main__":
    parser = arguments(__doc__, 20)
    parser.set_defaults(seeds=(8100, 20))
    given = parser.parse_args()
    seeds = seeds_of(given)
    cells = [("policies", p, n) for p in VARIABLES for n in ROWS]
    alone = [("no policies", p, n) for p in VARIABLES for n in ROWS]
    wards = [(graph, 0, WARD) for graph in GRAPHS]
    quiet = [(graph + NOBODY, 0, WARD) for graph in GRAPHS]
    few = seeds[: max(1, len(seeds) // 4)]
    tasks: list[Task] = [(*cell, seed) for cell in reversed(cells + alone) for seed in seeds]
    look = run(tasks + [(*cell, seed) for cell in wards + quiet for seed in few], given)
    head = ("p", "n", "method", "skeleton F1", "right", "wrong", "SHD", "policies named", "false differences")
    rows: list[Sequence[object]] = []
    for cell in cells:
        for method in METHODS:
            some = [look((*cell, seed))[method] for seed in seeds]
            said = (mean(some, "named"), mean(some, "false")) if method.startswith("M") else ("", "")
            rows.append((*cell[1:], method, *_row(some), *said))
    markdown(f"Policies at {SITES - 1} of {SITES} sites, {len(seeds)} runs each", head, rows)
    rows = [(p, n, mean([look((what, p, n, s))["M-PERI, noise"] for s in seeds], "false")) for what, p, n in alone]
    some = [look((*cell, seed))["M-PERI, noise"] for cell in quiet for seed in few]
    rows.append(("hospital-like", WARD, mean(some, "false")))
    markdown("No policies: false differences per run", ("p", "n", "false differences"), rows)
    rows = []
    for method in ("M-PERI, noise", "M-PERI"):
        for graphs in [*([cell] for cell in wards), wards]:
            some = [look((*cell, seed))[method] for cell in graphs for seed in few]
            label = graphs[0][0] if len(graphs) == 1 else "**all**"
            rows.append((method, label, len(some), *_row(some), mean(some, "named"), mean(some, "false")))
    markdown(f"Hospital-like tables, 6 sites of {WARD:,} rows", ("method", "graph", "runs", *head[3:]), rows)
