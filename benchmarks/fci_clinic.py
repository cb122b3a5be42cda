"""FCI on hospital-like tables: how many arrowheads and tails are right.

`fp.clinic`, its four graphs in turn, with nothing hidden; and the stroke clinic without its column bmi. The truth is
the MAG of the DAG. Means per run.

    python benchmarks/fci_clinic.py [cases] [first]
"""

from __future__ import annotations

import sys

import numpy as np

import fedperi as fp
from fedperi.graph.ancestral.mag import mag
from fedperi.graph.ancestral.pag import ARROW, TAIL
from fedperi.tables.summary.summaries import summaries

CLINICS = ("stroke", "diabetes", "sepsis", "random")


def scores(truth: fp.PAG, found: fp.PAG) -> list[int]:
    """Edges: true ones found, shown, of the truth; arrowheads: right, shown, at the end of a cause; tails: the same."""
    one, other = truth.marks, found.reordered(truth.names).marks
    joined, said = np.triu(one) > 0, np.triu(other) > 0
    out = [(joined & said).sum(), said.sum(), joined.sum()]
    for mark, opposite in ((ARROW, TAIL), (TAIL, ARROW)):
        shown = other == mark
        out += [(shown & (one == mark)).sum(), shown.sum(), (shown & (one == opposite)).sum()]
    return [int(value) for value in out]


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    rows: dict[str, list[list[int]]] = {}
    for seed in range(first, first + cases):
        for hidden in ([], ["bmi"]):
            ward = fp.clinic(seed=seed, graph="stroke" if hidden else CLINICS[seed % 4])
            parts, truth = summaries([table.drop(columns=hidden) for table in ward.sites]), mag(ward.dag, hidden)
            for name, method in (("fp.FCI", fp.FCI()), ("fp.FCI(context=False)", fp.FCI(context=False))):
                key = f"{'without bmi' if hidden else 'nothing hidden'}: {name}"
                rows.setdefault(key, []).append(scores(truth, method.fit(parts).graph))
    print(f"clinics, {cases} cases from seed {first}")
    for key, some in rows.items():
        m = np.mean(some, axis=0)
        print(
            f"  {key:40s} edges {m[0]:.1f} true of {m[1]:.1f}, {m[2]:.1f} in truth; arrowheads {m[3]:.1f} right of "
            f"{m[4]:.1f}, {m[5]:.1f} at a cause; tails {m[6]:.1f} right of {m[7]:.1f}, {m[8]:.1f} wrong"
        )


if __name__ == "__main__":
    main()
