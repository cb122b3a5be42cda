"""What the benchmarks of M-PERI have in common: simulated cases, methods, and runs that resume where they stopped.

A task is a case (the arguments of `fp.simulate` or `fp.clinic`) and the name of a method. Its record is kept as one
line of JSON in a file, under a fingerprint of the code, so that a script that is started again computes only what is
missing, and what another version of the code computed does not count. All scripts share the file.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import hashlib
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import fedperi as fp
from fedperi.benchmark import contenders, settings
from fedperi.benchmark.contenders import CONTENDERS, Problem, TooSlowError

Case = dict[str, Any]
Task = dict[str, Any]
Record = dict[str, Any]

SHARED = ("cut", "some cut", "strengths", "shift", "scale")
MISSPECIFIED = ("uniform noise", "heavy tails", "curved", "drift", "hidden cause", "measurement error")
GRAPHS = settings.GRAPHS
PEERS = {one.label: name for name, one in CONTENDERS.items() if one.kind == "pooled"}
"""Other packages, which see the rows of all sites."""

OURS: dict[str, Callable[[], Any]] = {
    "MPERI()": lambda: fp.MPERI(progress=False),
    "MPERI(confidence=0.75)": lambda: fp.MPERI(confidence=0.75, progress=False),
    "IPERI()": lambda: fp.IPERI(progress=False),
    "PERI()": lambda: fp.PERI(progress=False),
}


def simulated(setting: str, p: int, clients: int, seed: int, samples: int = 1000) -> Case:
    """A case of a setting that has nothing but options of `fp.simulate`; a hidden variable is one more."""
    options = dict(settings.setting(setting).options)
    variables = p + options.get("hidden", 0)
    return {"variables": variables, "clients": clients, "samples": samples, "seed": seed, **options}


def ward(graph: str, seed: int, **options: Any) -> Case:
    """A case of `fp.clinic`: six sites of 1,000 rows without drift, unless said otherwise."""
    return {"sites": 6, "rows": 1000, "drift": 0.0, **options, "graph": graph, "seed": seed}


def make(case: Case) -> fp.Simulation | fp.Clinic:
    """Draw the tables of a case."""
    return fp.clinic(**case) if "graph" in case and "sites" in case else fp.simulate(**case)


def counts(graph: fp.PDAG, truth: fp.PDAG) -> Record:
    """SHD; directions right, wrong (reversed, or no edge there), and open (edges without direction)."""
    return {
        "shd": fp.shd(graph, truth),
        "right": len(graph.directed & truth.directed),
        "wrong": len(graph.directed - truth.directed),
        "open": len(graph.undirected),
    }


def solve(task: Task) -> Record:
    """Run one task."""
    warnings.simplefilter("ignore")
    world = make(task["case"])
    name = task["method"]
    if name == "limits":
        phi = fp.shd(fp.meek_closure(world.phi_cpdag), world.dag)
        return {"phi": phi, "targets": fp.shd(fp.i_cpdag(world.dag, world.targets), world.dag), "edges": len(world.dag)}
    tables = {f"site {k}": table for k, table in enumerate(world.sites)}
    if name in PEERS:
        return _peer(task, list(tables.values()), world.dag)
    method = OURS[name]()
    start = time.process_time()
    result = method.fit(tables)
    record: Record = {"cpu": time.process_time() - start, **counts(result.graph, world.dag)}
    return record | _mechanisms(result, world.dag) if name.startswith("MPERI") else record


def _peer(task: Task, tables: list[Any], truth: fp.PDAG) -> Record:
    try:
        found, seconds = contenders.solve(PEERS[task["method"]], Problem(tables), task.get("limit"))
    except TooSlowError as error:
        return {"failed": str(error), "cpu": task["limit"]}
    except Exception as error:  # a package may fail in its own ways; the table says so
        return {"failed": f"{type(error).__name__}: {error}"}
    return {"cpu": seconds, **counts(found.graph, truth)}


def _mechanisms(result: fp.Result, truth: fp.PDAG) -> Record:
    """What only M-PERI says."""
    confirmed = {(one.a, one.b) for one in result.robustness if one.grade == "confirmed"}
    stated = []
    for a, b, forward, backward, _ in result.probabilities.itertuples(index=False):
        chance, pair = max((forward, (a, b)), (backward, (b, a)))
        if chance >= 0.5:
            stated.append((round(float(chance), 6), pair in truth.directed))
    return {
        "confirmed_right": len(confirmed & truth.directed),
        "confirmed_wrong": len(confirmed - truth.directed),
        "stated": stated,
        "differences": sorted({(one.site, one.variable) for one in result.differences}),
        "chains_differ": float(result.sampling["chains_differ"]),
        "warnings": len(result.warnings),
    }


def able(names: Iterable[str]) -> list[str]:
    """Those of some methods that run here; says why for the others."""
    found = []
    for name in names:
        why = CONTENDERS[PEERS[name]].missing() if name in PEERS else ""
        if why:
            print(f"\n{name} is left out: {why}")
        else:
            found.append(name)
    return found


def arguments(text: str | None, count: int) -> argparse.ArgumentParser:
    """The options that all scripts have."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, count), metavar=("FIRST", "COUNT"))
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    place = Path(tempfile.gettempdir()) / "fedperi-benchmarks" / "mperi.jsonl"
    parser.add_argument("--keep", type=Path, default=place, help=f"file of finished runs [{place}]")
    return parser


def seeds_of(given: argparse.Namespace) -> range:
    first, count = given.seeds
    return range(first, first + count)


def run(tasks: Sequence[Task], given: argparse.Namespace) -> Callable[[Task], Record]:
    """Run what has not been run before; return a function that looks a task up."""
    found = _kept(given.keep)
    todo = {_key(task): task for task in tasks if _key(task) not in found}
    given.keep.parent.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    with given.keep.open("a", encoding="utf-8") as file:
        for done, (task, record) in enumerate(_solved(list(todo.values()), given.jobs), 1):
            found[_key(task)] = record
            file.write(json.dumps({"task": task, "code": fingerprint(task["method"]), "record": record}) + "\n")
            file.flush()
            if done % 20 == 0 or done == len(todo):
                print(f"{done} of {len(todo)} runs, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    return lambda task: found[_key(task)]


def _solved(tasks: Sequence[Task], jobs: int) -> Iterable[tuple[Task, Record]]:
    if jobs == 1:
        yield from ((task, solve(task)) for task in tasks)
        return
    with ProcessPoolExecutor(jobs) as pool:
        waiting = {pool.submit(solve, task): task for task in tasks}
        for one in as_completed(waiting):
            yield waiting[one], one.result()


def _kept(file: Path) -> dict[str, Record]:
    if not file.exists():
        return {}
    found = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:  # a line that an interrupted run left behind
            continue
        if entry["code"] == fingerprint(entry["task"]["method"]):
            found[_key(entry["task"])] = entry["record"]
    return found


def _key(task: Task) -> str:
    return json.dumps(task, sort_keys=True)


@cache
def fingerprint(method: str) -> str:
    """What a run depends on: for our methods all of the package and this file, for peers how tables are drawn."""
    package, here = Path(fp.__file__).parent, Path(__file__)
    if method in PEERS:
        files = [*sorted((package / "simulation").glob("*.py")), package / "benchmark" / "contenders" / "peers.py"]
    else:
        files = [*sorted(f for f in package.rglob("*") if f.suffix in (".py", ".c", ".h", ".so")), here]
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def mean(records: Iterable[Record], what: str) -> float:
    """Mean of a number over the runs that did not fail; not a number if all failed."""
    values = [record[what] for record in records if "failed" not in record]
    return float(np.mean(values)) if values else float("nan")


def triple(records: Sequence[Record], prefix: str = "") -> str:
    """Directions right / wrong / open, means per run."""
    parts = ("right", "wrong") if prefix else ("right", "wrong", "open")
    return " / ".join(f"{mean(records, prefix + part):.2f}" for part in parts)


def failures(label: str, records: Iterable[Record]) -> None:
    """Say which runs of a peer failed."""
    why = [record["failed"] for record in records if "failed" in record]
    for text in sorted(set(why)):
        print(f"\n{label} failed in {why.count(text)} runs: {text}")


def markdown(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table."""
    print(f"\n{title}\n\n| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for row in rows:
        print("| " + " | ".join(f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row) + " |")
    sys.stdout.flush()


def cpu_times(records: dict[str, Sequence[Record]]) -> None:
    """Print what the runs of each method cost, whenever they ran."""
    rows = []
    for name, some in records.items():
        used = [record["cpu"] for record in some if "cpu" in record]
        if used:
            rows.append((name, len(used), sum(used), float(np.mean(used)), max(used)))
    markdown("CPU seconds", ("", "runs", "all", "mean", "largest"), rows)
