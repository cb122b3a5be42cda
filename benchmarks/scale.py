"""Speed and scale of `IPERI()`: growth with variables, sites and rows; rounds and numbers; memory; other packages.

Everything is CPU time of one process (`time.process_time`), one site at a time and one BLAS thread, on `fp.simulate`
with its defaults. `looked at` counts the distinct parent sets that the search read; `asked` counts all numbers that a
site sent.

`jobs` compares wall times, one site at a time against two, in turns.

Run: python benchmarks/scale.py [--tables variables,accuracy,...] [--plot docs/scale.png]
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fedperi as fp
from fedperi.scores import _kernel as kernel
from fedperi.search.families import Family, ParentSets
from fedperi.search.orders import Order
from fedperi.search.screening import FULL

TABLES = ("variables", "kinds", "accuracy", "sites", "rows", "rounds", "others", "jobs", "memory")
MOST_ASKED = 20  # times what the search looks at
FASTER = 10  # times than the fastest of the others, on all data sets together
Points = list[tuple[float, float]]


class Run(NamedTuple):
    """What one run cost and how good its graph is."""

    seconds: float
    result: fp.Result
    looked_at: int
    shd: int
    limit: int


def run(p: int, clients: int, samples: int, seed: int, *, count: bool = True) -> Run:
    """Simulate and fit; if asked to, twice more for the time, and once to count what was looked at."""
    sim = fp.simulate(p, clients=clients, samples=samples, seed=seed)
    result = fp.IPERI().fit(sim.sites)
    seconds = min(cpu(lambda: fp.IPERI(jobs=1).fit(sim.sites)) for _ in range(2)) if count else np.nan
    limit = fp.meek_closure(sim.phi_cpdag)
    looked = looked_at(sim) if count else 0
    return Run(seconds, result, looked, fp.shd(result.graph, sim.dag), fp.shd(limit, sim.dag))


def looked_at(sim: fp.Simulation) -> int:
    """Count the distinct numbers that the search looks at: in lattices, one by one, and all of the first round."""
    seen: dict[int, tuple[Family, Any]] = {}
    singly = 0
    begin, read, gains = Order.__init__, Order._read, ParentSets.gains
    where: dict[int, list[Family]] = {}

    def counting_begin(self: Order, sets: ParentSets, nodes: Sequence[int]) -> None:
        where[id(self)] = [lattice for node in range(len(nodes)) for lattice in sets.lattices(node)]
        for lattice in where[id(self)]:
            seen.setdefault(id(lattice), (lattice, np.zeros(len(lattice.best), dtype=bool)))
        begin(self, sets, nodes)

    def counting_read(self: Order, index: Any) -> Any:
        flat = np.unique(index)
        lattice = np.searchsorted(self._begin, flat, side="right") - 1
        for one in np.unique(lattice).tolist():
            seen[id(where[id(self)][one])][1][flat[lattice == one] - self._begin[one]] = True
        return read(self, index)

    def counting_gains(self: ParentSets, wanted: Any) -> Any:
        nonlocal singly
        found = gains(self, wanted)
        singly += len(found[0])  # each gain is compared with the others
        return found

    # With numpy alone: it looks at the same numbers, and can be watched.
    loops, kernel.loops = kernel.loops, kernel.NoLoops()  # type: ignore[assignment]
    Order.__init__, Order._read, ParentSets.gains = counting_begin, counting_read, counting_gains  # type: ignore
    try:
        result = fp.IPERI().fit(sim.sites)
    finally:
        Order.__init__, Order._read, ParentSets.gains = begin, read, gains  # type: ignore[method-assign]
        kernel.loops = loops
    p = len(sim.dag.names)
    if p <= FULL:  # the exact search looks at everything
        return result.queries
    first = result.transcript.rounds[0][0][0].answers  # single parents: all are compared
    return sum(int(places.sum()) for _, places in seen.values()) + singly + first


def exponent(points: Points) -> float:
    """Slope of the least-squares line through the logarithms."""
    x, y = np.log(np.array(points)).T
    return float(np.polyfit(x, y, 1)[0])


def head(title: str, columns: Sequence[str]) -> None:
    print(f"\n{title}\n\n| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|", flush=True)


def row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


COLUMNS = ("p", "K", "n", "seed", "CPU s", "rounds", "asked", "asked / looked at", "MB a site", "SHD", "limit")


def line(p: int, clients: int, samples: int, seed: int) -> Run:
    """Run once and print the row."""
    done = run(p, clients, samples, seed)
    r = done.result
    ratio = r.queries / done.looked_at
    row(
        p, clients, f"{samples:,}", seed, f"{done.seconds:.2f}", r.rounds, f"{r.queries:,}", f"{ratio:.1f}",
        f"{r.bytes / 1e6:.2f}", done.shd, done.limit,
    )  # fmt: skip
    assert ratio <= MOST_ASKED, f"p = {p}, K = {clients}, seed {seed}: {ratio:.1f} times what was looked at"
    return done


def by_variables(largest: int) -> Points:
    head("Variables", COLUMNS)
    sizes = [(p, 2000) for p in (20, 50, 100)] + ([(200, 5000)] if largest >= 200 else [])
    points = [(float(p), line(p, 10, n, 1).seconds) for p, n in sizes]
    print(f"\nCPU time grows as p to the power {exponent(points):.2f}", flush=True)
    return points


def tables_of(kind: str, p: int, clients: int = 10) -> tuple[list[Any], dict[str, Any]]:
    """Sites of 2,000 rows with data of some kind, and the options that they call for."""
    if kind == "non-linear":
        sim = fp.simulate(p, clients=clients, samples=2000, mechanism="nonlinear", seed=1)
        return sim.sites, {"data": "nonlinear"}
    sim = fp.simulate(p, clients=clients, samples=2000, discretize=3 if kind == "categories" else None, seed=1)
    if kind == "mixed":
        for table in sim.sites:
            for name in table.columns[::3]:
                table[name] = np.where(table[name] > 0.7, "high", np.where(table[name] < -0.7, "low", "middle"))
    return sim.sites, {}


def by_kind(largest: int) -> None:
    """Numbers, numbers and categories, polynomials of numbers, categories alone: with loops, and with numpy alone."""
    head("Kinds of data, 10 sites of 2,000 rows", ("p", "kind", "rounds", "CPU s", "numpy alone", "times"))
    loops = kernel.loops
    for p in (20, 50, 100):
        for kind in ("numbers", "mixed", "non-linear", "categories"):
            if p > min(largest, 50 if kind == "categories" else 100):
                continue
            sites, options = tables_of(kind, p)
            fits = [cpu(lambda: fp.IPERI(**options).fit(sites)) for _ in range(2)]  # noqa: B023
            rounds = fp.IPERI(**options).fit(sites).rounds
            kernel.loops = kernel.NoLoops()
            alone = cpu(lambda: fp.IPERI(**options).fit(sites))  # noqa: B023
            kernel.loops = loops
            row(p, kind, rounds, f"{min(fits):.2f}", f"{alone:.2f}", f"{alone / min(fits):.1f}")


def accuracy(first: int, count: int, largest: int) -> None:
    """SHD over the limit's, on seeds that nothing was chosen on."""
    head("Accuracy, 10 sites of 5,000 rows", ("p", "seeds", "SHD", "limit", "together", "each"))
    for p in (20, 50, 100, 200):
        if p <= largest:
            runs = [run(p, 10, 5000, seed, count=False) for seed in range(first, first + count)]
            shd, limit = sum(one.shd for one in runs), sum(one.limit for one in runs)
            each = ", ".join(f"{one.shd / one.limit:.2f}" for one in runs)
            row(p, f"{first}-{first + count - 1}", shd, limit, f"{shd / limit:.2f}", each)


def by_sites() -> Points:
    head("Sites", COLUMNS)
    points = [(float(k), line(20, k, 2000, 1).seconds) for k in (1, 2, 5, 10, 20, 50, 100, 200)]
    print(f"\nCPU time grows as K to the power {exponent(points[3:]):.2f} from K = 10 on", flush=True)
    return points


def rounds_and_numbers(seeds: int) -> None:
    head(
        "Rounds and numbers",
        ("p", "K", "runs", "most rounds", "most asked / looked at", "MB a site, most", "SHD / limit"),
    )
    for p, n, allowed, count in ((20, 2000, 10, seeds), (50, 2000, 10, seeds), (100, 2000, 15, max(2, seeds // 3))):
        for clients in (3, 10):
            runs = [run(p, clients, n, seed) for seed in range(count)]
            most = max(one.result.rounds for one in runs)
            ratio = max(one.result.queries / one.looked_at for one in runs)
            sent = max(one.result.bytes for one in runs) / 1e6
            shd = sum(one.shd for one in runs) / sum(one.limit for one in runs)
            row(p, clients, count, most, f"{ratio:.1f}", f"{sent:.1f}", f"{shd:.2f}")
            assert most <= allowed and ratio <= MOST_ASKED


def cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def against_others() -> None:
    """The others get the pooled rows, and search them in one place."""
    import warnings

    import ges
    import pandas as pd
    from causallearn.search.ConstraintBased.PC import pc
    from causallearn.search.ScoreBased.GES import ges as causallearn_ges

    warnings.simplefilter("ignore")
    levels = (0.05, 0.01)  # its default, and ours for PC
    head(
        "p = 50, K = 10, n = 2000 each: CPU s, causal-learn's PC on the pooled rows",
        ("seed", "edges", "fedperi, 10 sites", *(c for level in levels for c in (f"PC, alpha = {level}", "times"))),
    )
    totals = np.zeros(3)
    for seed in range(1, 9):
        sim = fp.simulate(50, clients=10, samples=2000, seed=seed)
        pooled = pd.concat(sim.sites).to_numpy()
        ours, theirs = [cpu(lambda: fp.IPERI().fit(sim.sites))], []  # noqa: B023
        for level in levels:  # ours before, between and after: the machine varies
            theirs.append(cpu(lambda: pc(pooled, level, show_progress=False)))  # noqa: B023
            ours.append(cpu(lambda: fp.IPERI().fit(sim.sites)))  # noqa: B023
        times = np.array([np.mean(ours), *theirs])
        totals += times
        row(seed, len(sim.dag.directed), *compared(times))
    row("all", "", *compared(totals))
    assert kernel.kind() == "numpy" or (totals[1:] >= FASTER * totals[0]).all()
    sim = fp.simulate(50, clients=10, samples=2000, seed=1)
    pooled = pd.concat(sim.sites).to_numpy()
    head("Seed 1", ("", "CPU s", "times ours"))
    ours = cpu(lambda: fp.IPERI().fit(sim.sites))
    row("fedperi, 10 sites", f"{ours:.2f}", 1)
    others: tuple[tuple[str, Callable[[], object]], ...] = (
        ("causal-learn GES, pooled", lambda: causallearn_ges(pooled, "local_score_BIC_from_cov")),
        ("ges, pooled", lambda: ges.fit_bic(pooled)),
    )
    for label, work in others:
        theirs = cpu(work)
        row(label, f"{theirs:.2f}", f"{theirs / ours:.1f}")


def compared(times: Any) -> list[str]:
    """Our time, and for each of the others its time and how many times ours that is."""
    return [f"{times[0]:.3f}", *(f"{t:.2f} | {t / times[0]:.1f}" for t in times[1:])]


def with_jobs() -> None:
    """Wall times with one site at a time and with two, in turns, so that both see the same machine."""
    head("Two at a time", ("", "jobs=1, s", "jobs=2, s", "times faster"))
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"site{k}.parquet" for k in range(4)]
        for file in files:
            write_rows(file, 2_000_000)
        rows = [Path(folder) / f"site{k}.csv" for k in range(4)]
        for file in rows:
            np.savetxt(
                file,
                np.random.default_rng(0).normal(size=(200_000, 20)),
                delimiter=",",
                header=",".join(f"X{i}" for i in range(20)),
                comments="",
            )
        cases: list[tuple[str, Any, dict[str, Any]]] = [
            (f"p = {p}, {k} sites of 2,000 rows", fp.simulate(p, clients=k, samples=2000, seed=1).sites, {})
            for p, k in ((50, 10), (50, 50), (100, 50), (200, 50))
        ]
        cases += [
            (f"p = {p}, {k} sites of 2,000 rows, {kind}", *tables_of(kind, p, k))
            for p, k, kind in ((50, 10, "non-linear"), (100, 20, "mixed"), (50, 10, "categories"))
        ]
        own = fp.simulate(50, clients=20, samples=2000, seed=1).sites
        cases += [("p = 50, 20 sites that learn graphs by GES", own, {"masking": "consensus"})]
        cases += [("p = 20, 4 Parquet files of 2,000,000 rows", files, {})]
        cases += [("p = 20, 4 CSV files of 200,000 rows", rows, {})]
        for label, sites, options in cases:
            times: dict[int, list[float]] = {1: [], 2: []}
            for _ in range(2):
                for jobs, seen in times.items():
                    start = time.perf_counter()
                    fp.IPERI(jobs=jobs, **options).fit(sites)
                    seen.append(time.perf_counter() - start)
            one, two = min(times[1]), min(times[2])
            row(label, f"{one:.2f}", f"{two:.2f}", f"{one / two:.2f}")


def write_rows(path: Path, rows: int, p: int = 20) -> None:
    """A Parquet file of correlated columns, written in chunks."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rng = np.random.default_rng(0)
    mix = np.eye(p) + np.triu(rng.normal(scale=0.3, size=(p, p)), 1)
    names = [f"X{i}" for i in range(p)]
    with parquet.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for start in range(0, rows, 250_000):
            block = rng.normal(size=(min(250_000, rows - start), p)) @ mix
            writer.write_table(pa.table(dict(zip(names, block.T, strict=True))))


def apart(*arguments: str) -> tuple[float, float]:
    """Run one job of this script in a process of its own: CPU seconds and peak memory in MiB."""
    out = subprocess.run([sys.executable, __file__, *arguments], check=True, capture_output=True, text=True).stdout
    seconds, peak = out.split()
    return float(seconds), float(peak)


def job(kind: str, argument: str) -> None:
    """What `apart` runs."""
    if kind == "read":
        from fedperi.tables import summarize

        seconds = cpu(lambda: summarize(argument))
    else:
        sim = fp.simulate(100, clients=int(argument), samples=500, seed=1)
        seconds = cpu(lambda: fp.IPERI(jobs=1).fit(sim.sites))
    print(seconds, peak_memory())


def peak_memory() -> float:
    """Peak resident memory of this process, in MiB. What `getrusage` says includes what its parent held before it."""
    status = Path("/proc/self/status")
    if status.exists():
        found = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(found.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def by_rows(largest: int) -> Points:
    head("Rows: one Parquet site of 20 columns, read in a stream", ("n", "CPU s", "peak MiB"))
    points = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in (10**power for power in range(3, largest + 1)):
            path = Path(folder) / "site.parquet"
            write_rows(path, rows)
            seconds, peak = apart("--job", "read", str(path))
            row(f"{rows:,}", f"{seconds:.2f}", f"{peak:.0f}")
            assert peak < 1024
            points.append((float(rows), seconds))
    print(f"\nCPU time grows as n to the power {exponent(points[-3:]):.2f} over the last three", flush=True)
    return points


def coordinator_memory() -> None:
    head("Memory: coordinator and all sites in one process, p = 100, 500 rows each", ("K", "CPU s", "peak MiB"))
    for clients in (10, 200):
        seconds, peak = apart("--job", "sites", str(clients))
        row(clients, f"{seconds:.0f}", f"{peak:.0f}")
        assert peak < 2048


def plot(curves: dict[str, Points], path: str) -> None:
    """Draw each growth on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import LogLocator

    figure, axes = plt.subplots(1, len(curves), figsize=(4 * len(curves), 3.2), squeeze=False)
    for axis, (label, points) in zip(axes[0], curves.items(), strict=True):
        axis.loglog(*zip(*points, strict=True), "o-", color="#1f4e79")
        places = [x for x, _ in points]
        axis.set_xticks(places, [f"{x:,.0f}" if x < 1e4 else f"$10^{{{np.log10(x):.0f}}}$" for x in places], fontsize=8)
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.minorticks_off()
        axis.set_xlabel(label)
        axis.set_ylabel("CPU seconds")
        axis.grid(True, which="major", alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--seeds", type=int, default=8, help="for the table of rounds")
    parser.add_argument("--first", type=int, default=10, help="first seed for accuracy")
    parser.add_argument("--count", type=int, default=4, help="seeds for accuracy")
    parser.add_argument("--largest", type=int, default=200, help="most variables")
    parser.add_argument("--power", type=int, default=7, help="most rows, as a power of ten")
    parser.add_argument("--plot")
    parser.add_argument("--job", nargs=2)
    given = parser.parse_args()
    if given.job:
        job(*given.job)
        return
    wanted = given.tables.split(",")
    fp.IPERI().fit(fp.simulate(3, 2, 100).sites)  # imports are not what is measured
    curves: dict[str, Points] = {}
    if "variables" in wanted:
        curves["variables (10 sites)"] = by_variables(given.largest)
    if "kinds" in wanted:
        by_kind(given.largest)
    if "accuracy" in wanted:
        accuracy(given.first, given.count, given.largest)
    if "sites" in wanted:
        curves["sites (20 variables)"] = by_sites()
    if "rows" in wanted:
        curves["rows (20 columns, Parquet)"] = by_rows(given.power)
    if "rounds" in wanted:
        rounds_and_numbers(given.seeds)
    if "others" in wanted:
        against_others()
    if "jobs" in wanted:
        with_jobs()
    if "memory" in wanted:
        coordinator_memory()
    if given.plot and curves:
        plot(curves, given.plot)


if __name__ == "__main__":
    main()
