"""What the four words of certainty are worth: the share of directions in each word that are right.

The cases of mperi_calibration.py. Of every edge of the graph, the direction that is written first counts (the arrow,
or the likelier one of an open edge), with the word that report, `edges.csv` and terminal show. It is right if that
arrow is in the true DAG.

Run: python benchmarks/certainty_words.py [--seeds 11000 11004] [--cpu 600]

Cases are taken seed by seed; the run stops after `--cpu` seconds of computing and says how many cases it did.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict

import numpy as np
from mperi_calibration import groups, interval
from mperi_cases import GRAPHS, Case, make, markdown

import fedperi as fp
from fedperi.methods.certainty import WORDS
from fedperi.methods.tables import edge_rows

NAMED = [word.word for word in WORDS]
Found = dict[str, list[bool]]


def said(case: Case) -> list[tuple[str, bool]]:
    """For each edge its word, and whether the direction written first is right."""
    world = make(case)
    tables = {f"site {k}": table for k, table in enumerate(world.sites)}
    edges = edge_rows(fp.MPERI(progress=False).fit(tables), effects=False)
    return [(row.how_sure or "", (row.a, row.b) in world.dag.directed) for row in edges]


def rows(found: dict[str, Found]) -> list[list[object]]:
    """A line per group: for each word the count and the share right."""
    out: list[list[object]] = []
    for group, words in found.items():
        cells: list[object] = [group]
        for word in NAMED:
            right = words[word]
            low, high = interval(float(np.mean(right)), len(right)) if right else (np.nan, np.nan)
            cells.append(f"{np.mean(right):.3f} ({low:.3f} to {high:.3f}) of {len(right)}" if right else "-")
        out.append(cells)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(11000, 11004))
    parser.add_argument("--cpu", type=float, default=600.0, help="seconds after which no case is begun")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, Found] = defaultdict(lambda: defaultdict(list))
    done = 0
    for seed in range(*asked.seeds):
        for group, settings in groups([seed]).items():
            for case in (case for part in settings.values() for case in part):
                if time.process_time() > asked.cpu:
                    break
                done += 1
                for word, right in said(case):
                    found["all together"][word].append(right)
                    found[group][word].append(right)
    print(f"Seeds {asked.seeds[0]} to {asked.seeds[1] - 1}; {done} cases, {time.process_time():.0f} s")
    print(f"(graphs of the clinic: {', '.join(GRAPHS)})")
    markdown("Share right, with 95 % intervals", ("cases", *NAMED), rows(found))


if __name__ == "__main__":
    main()
