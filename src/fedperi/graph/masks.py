"""The paper's masks of a server graph by a client's graph, and the inclusion that they are based on.

With the convention that ``[i, j]`` is an edge from i towards j and an undirected edge sets both entries, the three
definitions become set algebra on adjacency matrices:

- ``mu = H & C``: an edge is kept if both graphs have it; it is directed if at least one graph directs it;
- ``nu = (H | C)`` on the edges of mu: an edge is directed only if both graphs direct it;
- ``includes(C, H)`` is ``C`` a subset of ``H``, which is the same as ``mu(H, C) == C``.

The paper leaves one case open: edges that the two graphs direct oppositely. They agree on no direction, so the edge is
missing from both masks (algebraically, ``H & C`` is empty there).
"""

from __future__ import annotations

from .pdag import PDAG, aligned


def mu(server: PDAG, client: PDAG) -> PDAG:
    """Directed-consensus mask (Definition "Directed-consensus masking" of the paper): what phase 1 compares.

    An edge is kept if both graphs have it; if one of them directs it, the mask does too; if they direct it
    oppositely, it is missing. For CPDAGs and DAGs the result never has a directed cycle: a cycle would be partially
    directed in one of them. The variables are in the order of `server`.

    Examples
    --------
    >>> import fedperi as fp
    >>> server = fp.PDAG.from_edges(undirected=[("A", "B"), ("B", "C")])
    >>> client = fp.PDAG.from_edges(directed=[("A", "B")], names=["A", "B", "C"])
    >>> fp.mu(server, client)
    PDAG('A -> B', names=['A', 'B', 'C'])
    """
    h, c = aligned(server, client)
    return PDAG(h & c, server.names)


def nu(server: PDAG, client: PDAG) -> PDAG:
    """Undirected-consensus mask (Definition "Undirected-consensus masking" of the paper): what phase 2 compares.

    An edge is kept if both graphs have it; it is directed only if both direct it the same way; if they direct it
    oppositely, it is missing. The variables are in the order of `server`.

    Examples
    --------
    >>> import fedperi as fp
    >>> server = fp.PDAG.from_edges(undirected=[("A", "B"), ("B", "C")])
    >>> client = fp.PDAG.from_edges(directed=[("A", "B")], names=["A", "B", "C"])
    >>> fp.nu(server, client)
    PDAG('A -- B', names=['A', 'B', 'C'])
    """
    h, c = aligned(server, client)
    agreed = h & c
    return PDAG((h | c) & (agreed | agreed.T), server.names)


def includes(smaller: PDAG, larger: PDAG) -> bool:
    """Whether `smaller` is included in `larger` (Definition "Inclusion between CPDAGs" of the paper).

    A directed edge is included in the same directed edge and in an undirected one; an undirected edge only in an
    undirected one. (The paper's sentence speaks of directed edges only; read literally, any undirected graph would be
    included in the empty one. This reading is the one for which ``includes(c, h)`` holds exactly when
    ``mu(h, c) == c``.)

    Examples
    --------
    >>> import fedperi as fp
    >>> arrow, line = fp.PDAG.from_edges([("A", "B")]), fp.PDAG.from_edges(undirected=[("A", "B")])
    >>> fp.includes(arrow, line), fp.includes(line, arrow)
    (True, False)
    """
    small, large = aligned(smaller, larger)
    return not (small & ~large).any()
