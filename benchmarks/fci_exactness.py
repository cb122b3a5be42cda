"""FCI with a d-separation oracle: how often the PAG is exactly right, and how often causal-learn's is.

Random DAGs with 1 to 3 hidden variables and 4 to 10 observed ones. Both programs ask the same oracle. Where they differ,
every mark on which they differ is checked by definition: a circle is right if the Markov equivalence class has a MAG with
an arrowhead there and one with a tail; an arrowhead or a tail is right if no MAG of the class has the other mark.

    python benchmarks/fci_exactness.py [cases] [first]
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections import Counter

import networkx as nx
import numpy as np
from causallearn.search.ConstraintBased.FCI import fci as causallearn_fci

import fedperi as fp
from fedperi.discovery.fci.fci import fci_search
from fedperi.discovery.fci.oracle import HiddenSeparation
from fedperi.graph.ancestral import equivalents, mag
from fedperi.graph.formats.pag import from_causallearn
from fedperi.graph.pag import ARROW, CIRCLE, TAIL


def case(seed: int, most: int = 10) -> tuple[fp.PDAG, list[str]]:
    """Draw a DAG and the names of its hidden variables; every second one hides variables without causes."""
    rng = np.random.default_rng([seed, 26])
    p, hidden = int(rng.integers(4, most + 1)), int(rng.integers(1, 4))
    n = p + hidden
    upper = np.triu(rng.random((n, n)) < rng.uniform(1.0, 1.8) * n / (n * (n - 1) / 2), 1)
    first = list(range(hidden)) if seed % 2 else rng.permutation(n)[:hidden].tolist()
    shuffle = rng.permutation(n)
    dag = fp.PDAG(upper[np.ix_(shuffle, shuffle)])
    place = {int(old): new for new, old in enumerate(shuffle)}
    return dag, [dag.names[place[i]] for i in first]


def by_causallearn(dag: fp.PDAG, hidden: list[str]) -> fp.PAG:
    """Run causal-learn's FCI with the same oracle."""
    seen = [name for name in dag.names if name not in hidden]
    number = {name: k for k, name in enumerate([*seen, *hidden])}
    true_dag = nx.DiGraph([(number[a], number[b]) for a, b in dag.directed])
    true_dag.add_nodes_from(range(len(number)))
    with contextlib.redirect_stdout(io.StringIO()):
        graph, _ = causallearn_fci(
            np.zeros((50, len(seen))), "d_separation", 0.5, true_dag=true_dag, show_progress=False, node_names=seen
        )
    return from_causallearn(graph)


def disputed(truth: fp.PAG, ours: fp.PAG, theirs: fp.PAG) -> str:
    """Say who is right where two PAGs differ, by looking for MAGs of the class."""
    one, other = ours.marks, theirs.reordered(ours.names).marks
    if ((one == 0) != (other == 0)).any() or ((one == 0) != (truth.marks == 0)).any():
        same = ((one == 0) == (truth.marks == 0)).all()
        return "theirs has other edges than the MAG" if same else "ours has other edges than the MAG"
    places = [tuple(place) for place in np.argwhere(one != other).tolist()]
    seen: dict[tuple[int, int], set[int]] = {place: set() for place in places}
    for tried, marks in enumerate(equivalents(truth.reordered(ours.names))):
        for place in places:
            seen[place].add(int(marks[place]))
        if tried > 3000 or all(len(found) == 2 or one[place] != CIRCLE for place, found in seen.items()) and tried > 300:
            break
    right = {place: CIRCLE if len(found) == 2 else found.pop() for place, found in seen.items()}
    if any(right[place] != one[place] for place in places):
        return "ours is wrong"
    kinds = {CIRCLE: "circle", ARROW: "arrowhead", TAIL: "tail"}
    wrong = Counter(f"a {kinds[int(other[place])]} that is a {kinds[right[place]]}" for place in places)
    return "theirs has " + " and ".join(sorted(wrong))


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    outcomes: Counter[str] = Counter()
    for seed in range(first, first + cases):
        dag, hidden = case(seed)
        truth = mag(dag, hidden)
        ours = fci_search(HiddenSeparation(dag, hidden)).graph
        theirs = by_causallearn(dag, hidden)
        contradicts = ((ours.marks != truth.marks) & (ours.marks != CIRCLE)).any()
        outcome = "equal" if ours == theirs else disputed(truth, ours, theirs)
        outcomes[outcome] += 1
        outcomes["ours contradicts the MAG"] += int(contradicts)
        if outcome != "equal":
            print(f"seed {seed}, {len(ours.names)} observed: {outcome}", flush=True)
    for outcome, count in outcomes.most_common():
        print(f"{count:5d} of {cases}: {outcome}")


if __name__ == "__main__":
    main()
