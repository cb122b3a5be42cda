"""Reading tables: CPU time of a schema for all sites and a statistic for each, against pandas reading the files alone.

The yardstick reads every file once with pandas and does nothing else; for tables in memory it copies their values.
We read a file of numbers twice, once for the schema and once for the statistic, and other files three times.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/reading.py
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from fedperi.tables import infer_schema, summarize

Sources = list[pd.DataFrame] | list[Path]


def numbers(rng: np.random.Generator, rows: int, columns: int) -> pd.DataFrame:
    return pd.DataFrame(rng.normal(size=(rows, columns)), columns=[f"X{i}" for i in range(columns)])


def mixed(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Numbers, categories as words, codes and truth values, dates of a year as text; one number in 50 is missing."""
    table = numbers(rng, rows, 8)
    table = table.mask(rng.random(table.shape) < 0.02)
    months = np.array([f"2024-{month:02d}-01" for month in range(1, 13)])
    for i in range(3):
        table[f"word{i}"] = np.array(["low", "middle", "high"])[rng.integers(0, 3, rows)]
        table[f"code{i}"] = rng.integers(0, 5, rows)
        table[f"truth{i}"] = rng.random(rows) < 0.3
    table["month"] = months[rng.integers(0, 12, rows)]
    return table


def cpu(work: Callable[[], object]) -> float:
    """Return the least of three times."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def ours(sources: Sources) -> None:
    schema = infer_schema({f"site {i}": source for i, source in enumerate(sources)})
    for source in sources:
        summarize(source, schema, missing="drop")


def alone(sources: Sources) -> None:
    for source in sources:
        if isinstance(source, pd.DataFrame):
            source.copy()
        elif source.suffix == ".csv":
            pd.read_csv(source)
        else:
            pd.read_parquet(source)


def cases(folder: Path) -> list[tuple[str, int, Sources]]:
    """Write the files; return what each case is called, its rows, and its sources."""
    rng = np.random.default_rng(0)
    small = [numbers(rng, 2000, 50) for _ in range(10)]
    varied = [mixed(rng, 20_000) for _ in range(2)]
    files = [folder / f"small{i}.csv" for i in range(10)]
    for table, file in zip(small, files, strict=True):
        table.to_csv(file, index=False)
    others = [folder / f"varied{i}.csv" for i in range(2)]
    for table, file in zip(varied, others, strict=True):
        table.to_csv(file, index=False)
    numbers(rng, 200_000, 20).to_csv(folder / "long.csv", index=False)
    numbers(rng, 1_000_000, 20).to_parquet(folder / "long.parquet")
    return [
        ("DataFrame, 10 x (2,000 x 50)", 20_000, small),
        ("CSV, 10 x (2,000 x 50)", 20_000, files),
        ("CSV, 200,000 x 20", 200_000, [folder / "long.csv"]),
        ("Parquet, 1,000,000 x 20", 1_000_000, [folder / "long.parquet"]),
        ("DataFrame, mixed, 2 x (20,000 x 18)", 40_000, varied),
        ("CSV, mixed, 2 x (20,000 x 18)", 40_000, others),
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'':36} {'CPU s':>8} {'rows/s':>10} {'pandas, s':>10} {'times':>7}")
        for label, rows, sources in cases(Path(folder)):
            mine, theirs = cpu(lambda: ours(sources)), cpu(lambda: alone(sources))  # noqa: B023
            print(f"{label:36} {mine:8.3f} {rows / mine:10,.0f} {theirs:10.3f} {mine / theirs:7.1f}", flush=True)


if __name__ == "__main__":
    main()
