"""Signs of hidden common causes in a run of M-PERI, each with its evidence, as sentences that name the variables.

M-PERI assumes that there are none. Three things should then not happen. Each has a threshold that was set on
simulations without hidden causes (docs/guides/hidden-causes.md), so that all together are seldom a false alarm. What
the graph does not explain at all is said besides: that may be a hidden cause or a missing edge.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....graph.pdag import PDAG
from ....tables.summary.summary import Summary
from ...parts import Groups
from .reach import untold_changes
from .sign import Sign
from .three import common_cause_of_three
from .together import changing_together
from .unexplained import repaired, unexplained

MOST_NAMED = 5


def hidden_causes(said: Sequence[Summary], dag: PDAG, groups: Sequence[Groups]) -> list[str]:
    """List the sentences about hidden causes, the strongest signs of each kind first, and what the graph leaves open.

    Thresholds are those of exact summaries: under privacy noise nothing is said.
    """
    if not all(part.exact for part in said):
        return []
    signs = [sign.words for sign in find_signs(said, dag, groups)]
    return [*signs, *unexplained(said, dag.reordered(said[0].names))]


def find_signs(said: Sequence[Summary], dag: PDAG, groups: Sequence[Groups]) -> list[Sign]:
    """Look for all three signs.

    Parameters
    ----------
    said : sequence of Summary
        One per site.
    dag : PDAG
        A DAG that agrees with the graph of the run.
    groups : sequence of Groups
        Which sites share the mechanism of each variable.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.tables.summary.summaries import summaries
    >>> chain = fp.PDAG.from_edges([("A", "B"), ("B", "C")])
    >>> sim = fp.simulate(chain, clients=3, samples=500, weights=(0.5, 1.0), seed=1)
    >>> find_signs(summaries(sim.sites), chain, [])
    []
    """
    parts = [part.straight() for part in said]
    ordered = dag.reordered(parts[0].names)
    kinds = (
        changing_together(parts, groups),
        untold_changes(parts, ordered),
        common_cause_of_three(said, repaired(said, ordered)),
    )
    return [sign for kind in kinds for sign in sorted(kind, key=lambda sign: -sign.evidence)[:MOST_NAMED]]
