"""FCI with a d-separation oracle: how often the PAG is exactly right, and how often causal-learn's is.

Random DAGs with 1 to 3 hidden variables and 4 to 10 observed ones. Both programs ask the same oracle. Where they
differ, a PAG that contradicts the true MAG is wrong. Otherwise every mark on which they differ is checked by
definition: a circle is right if the Markov equivalence class has a MAG with an arrowhead there and one with a
tail; an arrowhead or a tail is right if no MAG of the class has the other mark. Beyond 27 edges
there are too many MAGs to look at. There the ten rules are applied to causal-learn's own PAG: it stopped too early if
that gives ours.

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
from fedperi.discovery.fci.ends import Ends
from fedperi.discovery.fci.fci import FCISearch, fci_search
from fedperi.discovery.fci.rules import orient
from fedperi.discovery.fci.skeleton import Separated
from fedperi.discovery.fci.triples import Triples
from fedperi.discovery.oracle import DSeparation
from fedperi.graph.ancestral.mag import equivalents, mag
from fedperi.graph.ancestral.pag import ARROW, CIRCLE, TAIL
from fedperi.graph.formats.pag import from_causallearn

MOST_EDGES = 27
"""Edges up to which all MAGs of a class can be looked at."""


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


def stopped_early(found: FCISearch, theirs: fp.PAG) -> bool:
    """Whether the ten rules turn a PAG with the same edges into ours."""
    number = {name: k for k, name in enumerate(found.graph.names)}
    marks = theirs.reordered(found.graph.names).marks
    ends = Ends([sum(1 << int(v) for v in np.flatnonzero(row)) for row in marks])
    ends.apply((a, b, int(marks[a, b])) for a, b in np.argwhere((marks == ARROW) | (marks == TAIL)).tolist())
    separators = {
        (number[a], number[b]): sum(1 << number[v] for v in given) for (a, b), given in found.separators.items()
    }
    orient(ends, Separated(ends.adjacent, separators, 0, True), Triples(frozenset(), frozenset()))
    return bool((ends.marks() == found.graph.marks).all())


def disputed(truth: fp.PAG, found: FCISearch, theirs: fp.PAG) -> str:
    """Say who is right where two PAGs differ, by looking for MAGs of the class."""
    ours = found.graph
    one, other = ours.marks, theirs.reordered(ours.names).marks
    if ((one == 0) != (other == 0)).any() or ((one == 0) != (truth.marks == 0)).any():
        same = ((one == 0) == (truth.marks == 0)).all()
        return "theirs has other edges than the MAG" if same else "ours has other edges than the MAG"
    wrong = (other != truth.reordered(ours.names).marks) & (other != CIRCLE)
    if wrong.any():
        undirected = bool(((other == TAIL) & (other.T == TAIL))[wrong].any())
        return f"theirs contradicts the MAG{', with undirected edges' if undirected else ''}"
    if len(ours) > MOST_EDGES:
        return "theirs stopped before the rules did" if stopped_early(found, theirs) else "undecided: too many edges"
    places = [(a, b) for a, b in np.argwhere(one != other).tolist()]
    right = {place: right_mark(truth.reordered(ours.names), place) for place in places}
    if any(right[place] != one[place] for place in places):
        return "ours is wrong"
    kinds = {CIRCLE: "circle", ARROW: "arrowhead", TAIL: "tail"}
    counts = Counter(f"a {kinds[int(other[place])]} that is a {kinds[right[place]]}" for place in places)
    return "theirs has " + " and ".join(sorted(counts))


def right_mark(truth: fp.PAG, place: tuple[int, int]) -> int:
    """The mark of the true PAG: that of the MAG, or a circle if an equivalent MAG has the other one."""
    own = int(truth.marks[place])
    fixed = np.zeros_like(truth.marks)
    fixed[place] = TAIL if own == ARROW else ARROW
    return own if next(equivalents(truth, fixed=fixed), None) is None else CIRCLE


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    outcomes: Counter[str] = Counter()
    for seed in range(first, first + cases):
        dag, hidden = case(seed)
        truth = mag(dag, hidden)
        found = fci_search(DSeparation(dag, hidden))
        ours = found.graph
        theirs = by_causallearn(dag, hidden)
        contradicts = ((ours.marks != truth.marks) & (ours.marks != CIRCLE)).any()
        outcome = "equal" if ours == theirs else disputed(truth, found, theirs)
        outcomes[outcome] += 1
        outcomes["ours contradicts the MAG"] += int(contradicts)
        if outcome != "equal":
            print(f"seed {seed}, {len(ours.names)} observed: {outcome}", flush=True)
    for outcome, count in outcomes.most_common():
        print(f"{count:5d} of {cases}: {outcome}")


if __name__ == "__main__":
    main()
