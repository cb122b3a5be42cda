"""M-PERI on real tables: proteins of Sachs et al. (a usual truth exists), and heart disease at four hospitals (none).

DIR has the folders `sachs` (one CSV per condition, and truth.csv with columns from, to) and `heart` (cleveland.csv,
hungarian.csv, switzerland.csv, va.csv, as the UCI repository publishes them). A missing folder is left out.

Heart: in `chol`, 0 means not measured. A column that lacks more than half of its values at some site is left out at
all sites, because M-PERI needs the same columns everywhere; then rows that lack a value are left out. `num`, a grade
from 0 to 4 that hospitals recorded differently, becomes `disease`: 1 if it is above 0. Chest pain (`cp`) and
electrocardiogram (`restecg`) are categories.

Run: python benchmarks/mperi_real.py DIR
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from pathlib import Path

import pandas as pd
from mperi_cases import counts, markdown

import fedperi as fp

LEVELS = (0.75, 0.9, 0.95, 0.99)
MOSTLY = 0.5
CATEGORIES = ("cp", "restecg")


def remarks(result: fp.Result) -> None:
    """Print warnings, sharing, and what sites do differently."""
    print("\nWarnings:\n" + "\n".join(f"- {text}" for text in result.warnings or ("none",)))
    print("\nShare of sites with the common mechanism: ", end="")
    print(", ".join(f"{name} {share:.2f}" for name, share in result.sharing.items()))


def sachs(folder: Path) -> None:
    tables = {file.stem: pd.read_csv(file) for file in sorted(folder.glob("*.csv")) if file.stem != "truth"}
    names = list(next(iter(tables.values())).columns)
    truth = fp.PDAG.from_edges(list(pd.read_csv(folder / "truth.csv").itertuples(index=False, name=None)), names=names)
    print(f"\n## Sachs: {len(tables)} conditions, {len(names)} proteins, {len(truth)} edges in the usual truth")
    rows, results = [], {}
    for level in LEVELS:
        start = time.process_time()
        results[level] = result = fp.MPERI(confidence=level, progress=False).fit(tables)
        seconds = time.process_time() - start
        found = counts(result.graph, truth)
        true = len(result.graph.skeleton.undirected & truth.skeleton.undirected)
        rows.append(
            (f"{level:g}", *(found[what] for what in ("right", "wrong", "open")), len(result.graph), true, seconds)
        )
    other = counts(fp.IPERI(progress=False).fit(tables).graph, truth)
    rows.append(("I-PERI", other["right"], other["wrong"], other["open"], "", "", ""))
    head = ("confidence", "right", "wrong", "open", "edges", "of these true", "CPU s")
    markdown("Directions against the truth", head, rows)
    result = results[LEVELS[0]]
    for pair in sorted(result.graph.directed):
        note = "right" if pair in truth.directed else "reversed" if pair[::-1] in truth.directed else "no edge there"
        print(f"- {pair[0]} -> {pair[1]} at {LEVELS[0]:g}: {note}")
    remarks(result)


def heart_tables(folder: Path) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """The tables with the columns that are there everywhere, and those that were left out."""
    tables = {file.stem: pd.read_csv(file) for file in sorted(folder.glob("*.csv"))}
    for table in tables.values():
        table["chol"] = table["chol"].replace(0, float("nan"))
        table["disease"] = (table.pop("num") > 0).astype(int)
    gone = sorted({name for table in tables.values() for name in table if table[name].isna().mean() > MOSTLY})
    return {site: table.drop(columns=gone) for site, table in tables.items()}, gone


def heart(folder: Path) -> None:
    tables, gone = heart_tables(folder)
    print(f"\n## Heart: {len(tables)} hospitals; left out, mostly missing at some site: {', '.join(gone)}")
    for name in CATEGORIES:  # the same words in all files, whether 1 or 1.0 is written
        for table in tables.values():
            table[name] = table[name].map(lambda value: None if pd.isna(value) else f"{int(value)}")
    for site, table in tables.items():
        print(f"- {site}: {len(table)} rows, {len(table.dropna())} complete")
    start = time.process_time()
    result = fp.MPERI(missing="drop", progress=False).fit(tables)
    print(f"\nM-PERI, confidence .95, {time.process_time() - start:.2f} CPU s")
    frame = result.to_frame()
    rows = [
        (f"{a} {'->' if directed else '--'} {b}", f"{to:.2f}", f"{back:.2f}", grade or "", site or "")
        for a, b, directed, to, back, _, grade, site, _ in frame.itertuples(index=False)
    ]
    markdown("Edges", ("edge", "this way", "other way", "grade", "rests on"), rows)
    for level in LEVELS:
        graph = fp.MPERI(missing="drop", confidence=level, progress=False).fit(tables).graph
        into = sorted(f"{a} -> {b}" for a, b in graph.directed if b in ("age", "sex"))
        print(f"\nAt {level:g}: {len(graph.directed)} directed; into age or sex: {', '.join(into) or 'nothing'}")
    likely = result.probabilities
    into = [
        (f"{cause} -> {effect}", f"{chance:.2f}")
        for one in likely.itertuples(index=False)
        for cause, effect, chance in ((one.a, one.b, one.forward), (one.b, one.a, one.backward))
        if effect in ("age", "sex") and chance >= 0.1
    ]
    if into:
        markdown("Probabilities of 0.1 or more for arrows into age or sex", ("arrow", "probability"), into)
    remarks(result)
    print("\nDifferences:\n" + "\n".join(f"- {one.words} ({one.evidence:.0f} nats)" for one in result.differences))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIR")
    given = parser.parse_args()
    for name, work in (("sachs", sachs), ("heart", heart)):
        if (given.directory / name).is_dir():
            work(given.directory / name)
        else:
            print(f"\nno folder {name}: left out")


if __name__ == "__main__":
    main()
