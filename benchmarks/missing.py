"""Missing values: EM beside complete tables, complete rows only, and means in the gaps.

Three worlds. "linear": 10 variables with policies of all kinds (``intervention="varied"``) at 5 sites of 1,000 rows.
"clinic": the stroke graph of `fp.clinic`, numbers and categories, 6 sites of 1,000 rows. "nobody": as linear, and no
site differs, so that every difference is false; each is counted per site. Of the cells 5, 20 or 40 % are taken away.
"completely at random": every cell alike. "at random": every third column is always there; whether a value of another
column is missing depends on one of these, from about 0.2 to 1.8 times the mean share between its ends.

Directions are right, wrong (reversed, or no edge there) and open, means per run; SHD is against the true DAG. A
difference is false if the site has no policy at this variable (in clinics age and sex do not count, because patients
differ). "refused" counts runs that were refused because too few complete rows were left.

Run: python benchmarks/missing.py [--seeds 100 20] [--worlds linear nobody clinic] [--shares 0.05 0.2 0.4] [--ways em]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from mperi_cases import counts, make, markdown, mean, simulated, triple, ward

import fedperi as fp
from fedperi.errors import InputError

WORLDS: dict[str, Callable[[int], dict[str, Any]]] = {
    "linear": lambda seed: {**simulated("shift", 10, 5, seed), "intervention": "varied"},
    "nobody": lambda seed: simulated("no policy", 10, 5, seed),
    "clinic": lambda seed: ward("stroke", seed),
}
WAYS = ("em", "drop", "means")
Record = dict[str, Any]


def punch(table: pd.DataFrame, share: float, completely: bool, rng: np.random.Generator) -> pd.DataFrame:
    """Take values away."""
    columns = list(table.columns)
    kept = [] if completely else columns[::3]
    out = table.copy()
    for name in columns:
        if name in kept:
            continue
        chance = np.full(len(table), share)
        if kept:
            driver = table[kept[int(rng.integers(len(kept)))]]
            codes = pd.Series(pd.factorize(driver, sort=True)[0] if driver.dtype == object else driver)
            place = codes.rank(pct=True).to_numpy()
            wanted = share * len(columns) / (len(columns) - len(kept))
            chance = np.clip(wanted * (0.2 + 1.6 * place), 0, 0.95)
        out[name] = out[name].astype(object).where(rng.random(len(table)) >= chance, None).infer_objects()
    return out


def filled(table: pd.DataFrame) -> pd.DataFrame:
    """Put means, or the most frequent level, into the gaps."""
    return table.apply(lambda c: c.fillna(c.mean() if pd.api.types.is_float_dtype(c) else c.mode()[0]))


def differences(world: Any, result: fp.Result) -> int:
    """Count the differences that are none."""
    if isinstance(world, fp.Clinic):
        true = {(f"site {policy.site}", policy.variable) for site in world.policies for policy in site}
    else:
        true = {(f"site {k}", name) for k, some in enumerate(world.targets) for name in some}
    found = {(one.site, one.variable) for one in result.differences}
    return sum(name not in ("age", "sex") for _, name in found - true)


def fit(world: Any, tables: dict[str, pd.DataFrame], missing: str) -> Record:
    """Fit M-PERI, and compare with the truth."""
    try:
        result = fp.MPERI(missing=missing, progress=False).fit(tables)
    except InputError:
        return {"failed": "too few complete rows"}
    if result.graph.names != world.dag.names:
        return {"failed": "columns were left out"}
    return {**counts(result.graph, world.dag), "false": differences(world, result)}


def records(world_name: str, seed: int, shares: list[float], ways: list[str]) -> dict[tuple[str, float, str], Record]:
    """All ways on one data set."""
    world = make(WORLDS[world_name](seed))
    tables = {f"site {k}": table for k, table in enumerate(world.sites)}
    found = {("", 0.0, "complete"): fit(world, tables, "error")}
    for at, how in enumerate(("completely at random", "at random")):
        for share in shares:
            rng = np.random.default_rng([seed, at, round(1000 * share)])
            holed = {name: punch(table, share, at == 0, rng) for name, table in tables.items()}
            for way in ways:
                given = {name: filled(table) for name, table in holed.items()} if way == "means" else holed
                found[how, share, way] = fit(world, given, {"means": "error"}.get(way, way))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=[100, 20], metavar=("FIRST", "COUNT"))
    parser.add_argument("--worlds", nargs="+", default=[*WORLDS], choices=[*WORLDS])
    parser.add_argument("--shares", type=float, nargs="+", default=[0.05, 0.2, 0.4])
    parser.add_argument("--ways", nargs="+", default=[*WAYS], choices=[*WAYS])
    given = parser.parse_args()
    first, count = given.seeds
    for name in given.worlds:
        runs = [records(name, seed, given.shares, given.ways) for seed in range(first, first + count)]
        rows = []
        for how, share, way in runs[0]:
            some = [run[how, share, way] for run in runs]
            refused = sum("failed" in one for one in some)
            shown = (triple(some), mean(some, "shd"), mean(some, "false")) if refused < count else ("-", "-", "-")
            rows.append((how or "-", f"{share:.0%}", way, *shown, refused))
        head = ("missing", "share", "way", "right / wrong / open", "SHD", "false differences", "refused")
        markdown(f"{name}, seeds {first} to {first + count - 1}", head, rows)


if __name__ == "__main__":
    main()
