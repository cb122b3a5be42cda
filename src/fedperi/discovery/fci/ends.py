"""The marks of a PAG while it is being oriented, and proposals to change them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ...graph import bits
from ...graph.ancestral.pag import ARROW, CIRCLE, TAIL, Marks

Proposal = tuple[int, int, int]
"""(a, b, mark): the mark that the edge between a and b gets at b."""


class Ends:
    """For every node b and every mark, the bit set of the nodes a whose edge with b has that mark at b.

    Parameters
    ----------
    adjacent : sequence of int
        Bit sets of neighbours. All marks are circles at first.

    Examples
    --------
    >>> ends = Ends([0b10, 0b01])
    >>> ends.apply([(0, 1, ARROW)]), ends.marks().tolist()
    (True, [[0, 2], [1, 0]])
    """

    def __init__(self, adjacent: Sequence[int]) -> None:
        self.adjacent = list(adjacent)
        self.circle = list(adjacent)
        self.arrow = [0] * len(adjacent)
        self.tail = [0] * len(adjacent)

    def apply(self, proposals: Iterable[Proposal]) -> bool:
        """Turn circles into what is proposed for them; where proposals contradict each other, the circle stays.

        All proposals are made before any is carried out, so that their order has no influence. Returns whether a mark
        changed.
        """
        arrows, tails = [0] * len(self.adjacent), [0] * len(self.adjacent)
        for a, b, mark in proposals:
            (arrows if mark == ARROW else tails)[b] |= 1 << a
        changed = False
        for b, circles in enumerate(self.circle):
            arrow, tail = arrows[b] & ~tails[b] & circles, tails[b] & ~arrows[b] & circles
            self.arrow[b] |= arrow
            self.tail[b] |= tail
            self.circle[b] &= ~(arrow | tail)
            changed |= bool(arrow | tail)
        return changed

    @staticmethod
    def seen_from(sets: Sequence[int], b: int) -> int:
        """Nodes a whose edge with b has, at a, the mark that `sets` (`arrow`, `tail` or `circle`) lists."""
        return sum(1 << a for a, inside in enumerate(sets) if inside >> b & 1)

    def parents(self, b: int) -> int:
        """Nodes a with a --> b."""
        return sum(1 << a for a in bits.members(self.arrow[b]) if self.tail[a] >> b & 1)

    def marks(self) -> Marks:
        """The matrix of a `PAG`."""
        p = len(self.adjacent)
        out = np.zeros((p, p), dtype=np.int8)
        for mark, sets in ((CIRCLE, self.circle), (ARROW, self.arrow), (TAIL, self.tail)):
            out[bits.matrix(sets).T] = mark
        return out
