"""The evidence for an edge and for its direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph import bits
from ..graph.equivalence import v_structures
from ..graph.meek import MeekStep, meek_steps
from ..graph.pdag import PDAG
from ..scores.score import RESOLUTION
from ..search.families import ParentSets
from ..search.phase2 import Direction


class EdgeEvidence(NamedTuple):
    """One edge of the result.

    Attributes
    ----------
    a, b : str
        Its ends; the cause first if it is directed.
    directed : bool
        Whether it has a direction.
    gain : float
        Increase of the sum of the sites' regrets without the edge, in nats.
    sites : tuple of str
        The sites whose own data support it.
    reason : str
        Why it is directed: "v-structure" (in the common CPDAG), "difference" (of sites), "target" (declared by a site),
        "knowledge", or "Meek" (it follows from the others); empty if it is not directed.
    words : str
        The same in a sentence.
    differing : tuple of str
        The sites whose own graphs give the direction, if the reason is "difference".

    Examples
    --------
    >>> import fedperi as fp
    >>> truth = fp.PDAG.from_edges([("age", "weight"), ("sex", "weight")])
    >>> edge = fp.IPERI().fit(fp.simulate(truth, clients=2, samples=5000, seed=1).sites).edges[0]
    >>> edge.a, edge.b, edge.reason, edge.words
    ('age', 'weight', 'v-structure', 'age and sex are both causes of weight and are not adjacent')
    """

    a: str
    b: str
    directed: bool
    gain: float
    sites: tuple[str, ...]
    reason: str
    words: str
    differing: tuple[str, ...] = ()


class Reason(NamedTuple):
    """Why an edge is directed: the kind of reason, a sentence, and the sites that differ."""

    kind: str = ""
    words: str = ""
    differing: tuple[str, ...] = ()


Reasons = dict[tuple[str, str], Reason]
"""(tail, head) -> reason."""


def reasons_in_cpdag(cpdag: PDAG) -> Reasons:
    """Say for every arrow of a CPDAG whether it is in a v-structure or follows from those by Meek's rules."""
    out: Reasons = {}
    for a, c, b in sorted(v_structures(cpdag)):
        for tail, other in ((a, b), (b, a)):
            out.setdefault(
                (tail, c), Reason("v-structure", f"{tail} and {other} are both causes of {c} and are not adjacent")
            )
    pattern = PDAG.from_edges(
        [pair for pair in cpdag.directed if pair in out],
        [*cpdag.undirected, *(pair for pair in cpdag.directed if pair not in out)],
        cpdag.names,
    )
    return out | reasons_by_meek(meek_steps(pattern))


def reasons_by_meek(steps: Sequence[MeekStep]) -> Reasons:
    """Put applications of Meek's rules into words."""
    out: Reasons = {}
    for step in steps:
        others = " and ".join(step.witnesses)
        why = {
            1: f"otherwise {step.tail} would be a collider of {others} and {step.head}, which it is not",
            2: f"otherwise there would be a cycle through {others}",
        }.get(step.rule, f"otherwise there would be a cycle or a new collider with {others}")
        out[step.tail, step.head] = Reason("Meek", f"Meek's rule {step.rule}: {why}")
    return out


def reasons_by_difference(directions: Sequence[Direction], names: Sequence[str], sites: Sequence[str]) -> Reasons:
    """Name, for each edge that phase 2 directs, the sites whose own graphs give the direction."""
    out: Reasons = {}
    for d in directions:
        who = tuple(site for site, gain in zip(sites, d.sites, strict=True) if gain > RESOLUTION)
        named = ", ".join(who)
        words = (
            f"at {named} a link is missing, as if a local policy set a variable; if so, the arrow points this way: "
            f"ask {named}"
        )
        out[names[d.tail], names[d.head]] = Reason("difference", words, who)
    return out


def gather(
    graph: PDAG, parents: Sequence[int], sets: ParentSets, sites: Sequence[str], reasons: Reasons
) -> tuple[EdgeEvidence, ...]:
    """Collect the evidence for every edge of a graph, in the order of the variables."""
    out = []
    children = bits.transpose(parents)
    pairs = [(*pair, True) for pair in graph.directed] + [(*pair, False) for pair in graph.undirected]
    for a, b, directed in sorted(pairs, key=lambda pair: (graph.index(pair[0]), graph.index(pair[1]))):
        i, j = graph.index(a), graph.index(b)
        tail, head = (i, j) if children[i] >> j & 1 else (j, i)  # as in the member DAG
        lost = _loss(sets, head, parents[head], tail)
        who = tuple(site for site, loss in zip(sites, lost, strict=True) if loss > RESOLUTION)
        reason = reasons.get((a, b), Reason()) if directed else Reason()
        gain = float(np.sort(lost).sum()) - sets.edge_price
        out.append(EdgeEvidence(a, b, directed, gain, who, *reason))
    return tuple(out)


def _loss(sets: ParentSets, node: int, parents: int, parent: int) -> NDArray[np.float64]:
    """Increase of each site's regret if one parent of a node is removed."""
    whole, less = sets.regrets(node, parents), sets.regrets(node, parents & ~(1 << parent))
    assert whole is not None
    assert less is not None  # a lattice with a set has all its subsets
    return less - whole
