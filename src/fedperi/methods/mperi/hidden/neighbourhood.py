"""The part of a DAG around three variables, with and without a hidden common cause of them.

What lies before the three may cause them; what lies after them may be their effect. The run has one order, of which
little is sure: every neighbour after them may be moved before them, and the three may take any order. With a hidden
cause and without it, the best of all these is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from ....graph import bits
from ....graph.order import descendants
from ....scores.mechanisms import Mechanisms
from ....tables.summary.summary import Summary
from .latent import completed, first_guess, refined
from .versions import Versions, best_families, best_within

Floats = NDArray[np.float64]

MOST_AROUND = 6
"""Variables around the three that may cause them or be moved; those joined with most of the three come first."""

MOST_PARENTS = 8
"""Causes from which a variable is left as it is: its families would be too many to compare."""

ROUNDS, STEPS = 3, 10
"""How often the families around the hidden cause are chosen again, and steps of EM in between."""

HOPELESS = -15.0
"""Nats after the second round from which the hidden cause is given up."""


@dataclass(frozen=True)
class Neighbourhood:
    """Variables around three; all are numbered as in the run.

    Attributes
    ----------
    three : tuple of int
    before : tuple of int
        Others that come before all three.
    after : tuple of int
        Neighbours that come after one of the three, and may be moved.
    parents : tuple of int
        Causes of every variable in the DAG of the run, as bit sets.
    below : int
        Bit set of all that comes after one of the three.
    joined : tuple of int
        Neighbours of every variable, as bit sets.
    """

    three: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    parents: tuple[int, ...]
    below: int
    joined: tuple[int, ...]

    @classmethod
    def of(cls, three: tuple[int, ...], parents: Sequence[int], children: Sequence[int]) -> Neighbourhood:
        """Collect what lies around three variables of a DAG."""
        joined = tuple(above | under for above, under in zip(parents, children, strict=True))
        inside = sum(1 << v for v in three)
        below = descendants(children, inside) & ~inside
        near = (joined[three[0]] | joined[three[1]] | joined[three[2]]) & ~inside
        above = near & ~below
        for v in bits.members(near | inside):
            above |= parents[v]
        above &= ~below & ~inside
        order = sorted(
            bits.members(above | near), key=lambda v: (-(joined[v] & inside).bit_count(), below >> v & 1, v)
        )[:MOST_AROUND]
        return cls(
            three,
            tuple(v for v in order if not below >> v & 1),
            tuple(v for v in order if below >> v & 1 and (parents[v] | joined[v] & inside).bit_count() <= MOST_PARENTS),
            tuple(parents),
            below,
            joined,
        )

    def joined_from(self, v: int) -> int:
        """The effects of a variable among the three, as a bit set."""
        return sum(1 << w for w in self.three if self.parents[w] >> v & 1)

    def relaxed(self) -> Neighbourhood:
        """Let all that causes some of the three come before all of them: no hidden cause is ahead if it is not here."""
        above = tuple(v for v in self.after if self.joined_from(v))
        return replace(self, before=(*self.before, *above), after=())

    @property
    def variables(self) -> list[int]:
        """All that is scored or causes what is scored: the three, what is before them, what is after them, others."""
        first = [*self.three, *self.before, *self.after]
        others = 0
        for v in (*self.three, *self.after):
            others |= self.parents[v]
        return [*first, *bits.members(others & ~sum(1 << v for v in first))]


def gain_of_hidden_cause(said: Sequence[Summary], hood: Neighbourhood) -> float:
    """Nats by which a hidden common cause of the three is ahead of the best DAG, or minus infinity if it is far behind.

    Parameters
    ----------
    said : sequence of Summary
        One per site, with polynomials if effects may be curved.
    hood : Neighbourhood
    """
    relaxed = hood.relaxed()
    rough = Comparison(relaxed, Versions.of(said, relaxed.variables))
    if rough.with_cause(rough.around) < rough.found + HOPELESS:
        return -np.inf
    return Comparison(hood, Versions.of(said, hood.variables)).gain()


class Comparison:
    """Scores of a neighbourhood with and without a hidden cause. Variables are numbered by their place in `variables`.

    Parameters
    ----------
    hood : Neighbourhood
    versions : Versions
        The summaries of its variables.
    """

    def __init__(self, hood: Neighbourhood, versions: Versions) -> None:
        self.versions, self.mechanisms = versions, Mechanisms(versions.parts)
        self.three, self.around = list(range(3)), list(range(3, 3 + len(hood.before) + len(hood.after)))
        place = {v: i for i, v in enumerate(hood.variables)}
        self.first_after = 3 + len(hood.before)
        self.movable = self.around[len(hood.before) :]
        inside = sum(1 << v for v in hood.three)
        self.above_some = [place[v] for v in hood.after if hood.joined_from(v) & inside]
        self.found = sum(self._best(place[v], [place[w] for w in bits.members(hood.parents[v])]) for v in hood.three)
        # How well the movable ones are explained before the three, by which of the others there, and after them.
        self.before, self.after = {}, {}
        for v in hood.after:
            causes = [place[w] for w in bits.members(hood.parents[v] & ~inside)]
            among = [w for w in causes if w in self.movable]
            outside = [place[w] for w in bits.members(hood.parents[v] & ~inside & ~hood.below)]
            scores, _ = best_families(self.mechanisms, self.versions, place[v], (), [[*outside, *among]])
            self.before[place[v]] = among, best_within(scores).reshape(1 << len(among), -1)[:, -1]
            joined = [place[w] for w in bits.members(hood.parents[v] | hood.joined[v] & inside)]
            self.after[place[v]] = self._best(place[v], joined)
            self.found += self._best(place[v], [place[w] for w in bits.members(hood.parents[v])])

    def _best(self, node: int, causes: list[int]) -> float:
        return float(best_families(self.mechanisms, self.versions, node, (), [causes])[0].max())

    def moved(self, before: int) -> float:
        """How well the movable ones are explained if some of them, a bit set, come before the three."""
        total = 0.0
        for k, v in enumerate(self.movable):
            if before >> k & 1:
                among, scores = self.before[v]
                total += scores[sum(1 << i for i, w in enumerate(among) if before >> (w - self.first_after) & 1)]
            else:
                total += self.after[v]
        return float(total)

    def _sets(self) -> list[tuple[int, int]]:
        """For each choice of what is moved before the three: that, and all that may then cause them."""
        fixed = self.first_after - 3
        return [(moved, (1 << fixed) - 1 | moved << fixed) for moved in range(1 << len(self.movable))]

    def without(self) -> float:
        """Score the best DAG."""
        tables = {}
        for v in self.three:
            others = [w for w in self.three if w != v]
            scores, _ = best_families(self.mechanisms, self.versions, v, (), [others, self.around])
            tables[v] = others, best_within(scores)
        best = self.found
        for moved, causes in self._sets():
            orders = (
                sum(
                    float(tables[v][1][causes << 2 | sum(1 << tables[v][0].index(w) for w in order[:k])])
                    for k, v in enumerate(order)
                )
                for order in permutations(self.three)
            )
            best = max(best, self.moved(moved) + max(orders))
        return best

    def gain(self) -> float:
        """Nats by which a hidden common cause of the three is ahead of the best DAG."""
        # The first guess decides where EM ends: more of the movable ones are taken as causes while that helps.
        starts = [[v for v in self.around if v < self.first_after]]
        if self.above_some:
            starts.append([*starts[0], *self.above_some])
        best, causes = max((self.with_cause(start), start) for start in starts)
        left = [v for v in self.movable if v not in causes]
        while left and best > self.found + HOPELESS:
            score, v = max((self.with_cause([*causes, v]), v) for v in left)
            if score <= best:
                break
            best, causes = score, [*causes, v]
            left.remove(v)
        # Level and unit of a hidden cause are free, but its family counts them as two parameters.
        best += float(np.log(self.mechanisms.n.sum()))
        return best - (self.without() if best > self.found else self.found)

    def with_cause(self, others: list[int]) -> float:
        """Score the best hidden cause that EM finds from a first guess, with some others as its causes."""
        cause = first_guess(self.mechanisms, self.three, self.versions.choices(others)[-1])
        best = -np.inf
        for turn in range(ROUNDS):
            whole, entropy = completed(self.mechanisms, cause)
            score, families, own = self._with(whole)
            best = max(best, score + entropy)
            if turn == ROUNDS - 1 or (turn and best < self.found + HOPELESS):
                break
            last = len(self.mechanisms.names)
            grouped = {v: (causes, whole.groups(v, (*causes, last))[0].tolist()) for v, causes in families.items()}
            cause = refined(self.mechanisms, cause, grouped, own, STEPS)
        return best

    def _with(self, whole: Mechanisms) -> tuple[float, dict[int, list[int]], list[int]]:
        """Score the best families of the three and of the hidden cause; return also these families."""
        last = len(self.mechanisms.names)
        tables = {v: best_families(whole, self.versions, v, (last,), [self.around]) for v in self.three}
        tables[last] = best_families(whole, self.versions, last, (), [self.around])
        within = [best_within(scores) for scores, _ in tables.values()]
        score, causes = max(
            (self.moved(moved) + sum(float(scores[causes]) for scores in within), causes)
            for moved, causes in self._sets()
        )
        chosen = {v: _chosen(kinds, causes) for v, (_, kinds) in tables.items()}
        own = chosen.pop(last)
        return score, chosen, own


def _chosen(tables: list[tuple[list[int], Floats]], causes: int) -> list[int]:
    """The best family whose causes are all among some."""
    usable = np.array([at & ~causes == 0 for at in range(len(tables[0][1]))])
    variables, scores = max(tables, key=lambda table: table[1][usable].max())
    at = int(np.where(usable, scores, -np.inf).argmax())
    return [v for k, v in enumerate(variables) if at >> k & 1]
