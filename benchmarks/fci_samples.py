"""FCI on tables: `fp.FCI` on summaries of the sites against causal-learn's FCI on the pooled rows.

Random linear DAGs, five sites of 1,000 rows. Up to two variables without causes and with two effects or more are
hidden. Sites are alike, or differ by policies of all kinds. The truth is the PAG that FCI finds with a d-separation
oracle; beyond 15 variables, where that takes long, the MAG of the DAG. Skeletons are compared by F1. Precision is the
share of the arrowheads found that the MAG has, recall the share of the arrowheads of the truth that are found. The last
figure is the share of all arrowheads of the MAG that are found, also of those that independences cannot tell. Times are
CPU seconds of the same run, one thread each: from tables, and from summaries that the sites have made. Both programs
have the same level and no limit on the size of sets; `fp.FCI` says where it leaves larger ones out.

    python benchmarks/fci_samples.py [cases] [variables] [first] [edges per variable]
"""

from __future__ import annotations

import contextlib
import io
import sys
import time

import numpy as np
import pandas as pd
from causallearn.search.ConstraintBased.FCI import fci as causallearn_fci

import fedperi as fp
from fedperi.discovery.fci.fci import fci_search
from fedperi.discovery.oracle import DSeparation
from fedperi.graph.ancestral.mag import mag
from fedperi.graph.ancestral.pag import ARROW
from fedperi.graph.formats.pag import from_causallearn
from fedperi.tables.summary.summaries import summaries

ALPHA = 0.01


def case(seed: int, p: int, alike: bool, edges: float = 1.2) -> tuple[list[pd.DataFrame], fp.PAG, fp.PAG]:
    """Draw tables without the hidden variables, the true PAG and the true MAG."""
    sim = fp.simulate(
        p + 2,
        clients=5,
        samples=1000,
        edges=edges * (p + 2),
        weights=(0.4, 1.0),
        intervention="none" if alike else "varied",
        shared_mechanisms=True,
        shield_colliders=False,
        seed=seed,
    )
    common = [name for name in sim.dag.names if len(sim.dag.children(name)) >= 2 and not sim.dag.parents(name)]
    hidden = np.random.default_rng([seed, 7]).permutation(common)[:2].tolist()
    whole = mag(sim.dag, hidden)
    truth = whole if p > 15 else fci_search(DSeparation(sim.dag, hidden)).graph
    return [table.drop(columns=hidden) for table in sim.sites], truth, whole


def scores(truth: fp.PAG, whole: fp.PAG, found: fp.PAG) -> list[float]:
    """F1 of the skeleton; precision and recall of arrowheads, and the share of the MAG's arrowheads that are found."""
    one, other = truth.marks, found.reordered(truth.names).marks
    joined, said = np.triu(one) > 0, np.triu(other) > 0
    both = (joined & said).sum()
    heads, shown = one == ARROW, other == ARROW
    every = whole.reordered(truth.names).marks == ARROW
    right = shown & every
    return [
        2 * both / max(1, joined.sum() + said.sum()),
        right.sum() / shown.sum() if shown.any() else np.nan,
        (heads & shown).sum() / heads.sum() if heads.any() else np.nan,
        right.sum() / every.sum() if every.any() else np.nan,
    ]


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    p = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 9000
    edges = float(sys.argv[4]) if len(sys.argv) > 4 else 1.2
    for alike in (True, False):
        rows: dict[str, list[list[float]]] = {"fp.FCI": [], "fp.FCI(context=False)": [], "causal-learn, pooled": []}
        for seed in range(first, first + cases):
            tables, truth, whole = case(seed, p, alike, edges)
            pooled = pd.concat(tables)
            parts = summaries(tables)
            for name, method in (("fp.FCI", fp.FCI(ALPHA)), ("fp.FCI(context=False)", fp.FCI(ALPHA, context=False))):
                start = time.process_time()
                found = method.fit(tables).graph
                middle = time.process_time()
                method.fit(parts)
                took = [middle - start, time.process_time() - middle]
                rows[name].append([*scores(truth, whole, found), *took])
            start = time.process_time()
            with contextlib.redirect_stdout(io.StringIO()):
                graph, _ = causallearn_fci(
                    pooled.to_numpy(), "fisherz", ALPHA, show_progress=False, node_names=list(pooled.columns)
                )
            seconds = time.process_time() - start
            rows["causal-learn, pooled"].append([*scores(truth, whole, from_causallearn(graph)), seconds, seconds])
        print(f"{p} variables, {edges:g} edges each, {cases} cases from seed {first}")
        print(f"sites {'are alike' if alike else 'differ'}")
        theirs = np.array(rows["causal-learn, pooled"])[:, -1].mean()
        for name, some in rows.items():
            f1, precision, recall, share, *seconds = np.nanmean(some, axis=0)
            print(
                f"  {name:24s} skeleton F1 {f1:.2f}, arrowheads: precision {precision:.2f}, recall {recall:.2f}, "
                f"of the MAG {share:.2f}; from tables {seconds[0]:.3f} s ({theirs / seconds[0]:.1f} times faster), "
                f"from summaries {seconds[1]:.3f} s ({theirs / seconds[1]:.1f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
