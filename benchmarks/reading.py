"""Time and memory of reading large tables, as ratios to pandas reading the same file once.

Five sites of a million rows and 30 columns (24 numbers, 4 codes, 2 texts), as CSV, Parquet and DuckDB tables. Each case
runs in a process of its own: pandas reads the sites' files one after the other, and forgets them; fedperi checks and
summarises them as `fedperi run` does before the search.

    OPENBLAS_NUM_THREADS=1 python benchmarks/reading.py [ROWS]
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SITES = ("brest", "lyon", "metz", "nice", "tours")
FORMATS = ("csv", "parquet", "duckdb")
LIMIT = 1 << 30  # bytes of memory at most


def columns(site: int) -> str:
    """Thirty columns in SQL: a common cause, numbers that follow from it with noise, codes and texts."""
    noise = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
    numbers = [f"round({1 + k} + {0.1 * k} * c + {noise}, 4) AS x{k}" for k in range(23)]
    codes = [f"CAST(floor({k + 2} * random()) AS INTEGER) AS k{k}" for k in range(4)]
    texts = [
        "CASE WHEN random() < 0.5 THEN 'f' ELSE 'm' END AS sex",
        "chr(97 + CAST(floor(5 * random()) AS INT)) AS ward",
    ]
    return ", ".join([f"round(c + {0.1 * site}, 4) AS c", *numbers, *codes, *texts])


def write(folder: Path, rows: int) -> None:
    """Write the sites' tables in all formats."""
    import duckdb

    noise = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
    with duckdb.connect(folder / "sites.db") as database:
        database.execute("SET threads = 1; SET memory_limit = '1GB'; SELECT setseed(0.5)")
        for number, site in enumerate(SITES):
            source = f"(SELECT {noise} AS c FROM range({rows}))"
            database.execute(f"CREATE TABLE {site} AS SELECT {columns(number)} FROM {source}")
            for ending in ("csv", "parquet"):
                database.execute(f"COPY {site} TO '{folder / f'{site}.{ending}'}'")


def sources(folder: Path, kind: str) -> list[str]:
    """Return what a user would give."""
    if kind == "duckdb":
        return [f"duckdb://{folder / 'sites.db'}?table={site}" for site in SITES]
    return [str(folder / f"{site}.{kind}") for site in SITES]


def read_with_pandas(folder: Path, kind: str) -> None:
    import pandas as pd

    for site in SITES:
        if kind == "csv":
            pd.read_csv(folder / f"{site}.csv")
        else:
            pd.read_parquet(folder / f"{site}.parquet")


def read_with_fedperi(folder: Path, kind: str) -> None:
    from fedperi.tables import check
    from fedperi.tables.summary.summaries import summaries

    begin, first = time.perf_counter(), list[float]()
    report = check(sources(folder, kind), tell=lambda words: first.append(time.perf_counter() - begin))
    assert report.ok, report.findings
    assert sum(summary.n for summary in summaries(report.tables)) == sum(site.rows for site in report.sites)
    print(f"first progress after {first[0]:.2f} s" if first else "no progress is shown", file=sys.stderr)


def measure(who: str, folder: Path, kind: str) -> tuple[float, float, int]:
    """Return seconds, CPU seconds and the peak of memory of one case in a process of its own."""
    command = [sys.executable, __file__, who, str(folder), kind]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    wall, cpu, memory = json.loads(done.stdout)
    return wall, cpu, memory


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    missed = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, rows)
        print("| format | pandas, CPU s | fedperi, CPU s | ratio | pandas, MiB | fedperi, MiB |")
        print("|---|---|---|---|---|---|", flush=True)
        for kind in FORMATS:
            _, other, most = measure("pandas", folder, "csv" if kind == "csv" else "parquet")
            _, own, memory = measure("fedperi", folder, kind)
            print(
                f"| {kind} | {other:.1f} | {own:.1f} | {own / other:.1f} | {most >> 20} | {memory >> 20} |", flush=True
            )
            missed += [kind] if memory > LIMIT else []
    if missed:
        sys.exit(f"more than {LIMIT >> 20} MiB: {', '.join(missed)}")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        start = time.perf_counter()
        {"pandas": read_with_pandas, "fedperi": read_with_fedperi}[sys.argv[1]](Path(sys.argv[2]), sys.argv[3])
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(json.dumps([time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024]))
    else:
        main()
