"""What every site does in a run: it opens the run, and answers questions with regrets."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..discovery.optimum import own_optimum
from ..errors import InputError
from ..graph import bits
from ..graph.equivalence import complete, consistent_extension
from ..graph.pdag import PDAG
from ..protocol.messages import Families, Floats, Orientations, Question, Settings, Welcome
from ..scores.gaussian import GaussianScore
from ..scores.masking import adaptive_mask, adaptive_mask_of, consensus_mask, supported_subsets
from ..scores.score import LatticeScore
from ..search.families import as_arrays
from ..search.phase2 import CHILD, LINE, PARENT

if TYPE_CHECKING:
    from ..privacy.accounting import Price
    from ..tables import Counts, Statistics
    from ..tables.table import Table


class Respondent(ABC):
    """A site that opens runs and answers questions. Subclasses say where the scores come from.

    `local` learns the site's own graph from statistics; if it is None, the settings of a run name the method.
    """

    name: str
    targets: tuple[str, ...] | None
    privacy: dict[str, Any] | None = None
    local: Callable[..., PDAG] | None = None
    _statistics: Statistics | Counts  # of the open run
    _population = False  # whether the answers come from population moments, for which a search can be exact

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The variables of the site, in its own order."""

    @abstractmethod
    def _scores(self, settings: Settings, names: tuple[str, ...]) -> tuple[LatticeScore, LatticeScore, float]:
        """Return the score with its penalty, the score without (the fit) and the number of rows.

        The variables are in the given order.
        """

    def _own_graph(self, settings: Settings, table: Table | None = None) -> PDAG:
        """Learn the site's own CPDAG; some methods need the rows."""
        from ..discovery.discover import local_graph

        method = self.local or settings.local
        return local_graph(method, self._statistics, table, alpha=settings.alpha, penalty=settings.penalty)

    def fingerprint(self) -> str:
        """Return the SHA-256 of what the answers come from: the statistics of the open run."""
        arrays = [value for value in vars(self._statistics).values() if isinstance(value, np.ndarray)]
        return digest(self._statistics.names, self._statistics.n, *arrays)

    def open(self, settings: Settings, names: Sequence[str]) -> Welcome:
        """Begin a run: compute what the answers need, and introduce the site."""
        self._prepare(settings, names)
        self._score, self._fit, n = self._scores(settings, self._names)
        self._graph: PDAG | None = None
        if settings.masking == "consensus":
            self._graph = self._own_graph(settings).reordered(self._names)
            dag = consistent_extension(self._graph)
        else:
            dag = own_optimum(self._score, exact=self._population)
        # The reference is the score of a DAG, so that a regret of zero can be reached. If undirected neighbours counted
        # as parents on both sides, no DAG could reach it.
        self._reference = self._score.local(list(enumerate(bits.columns(dag.adjacency))))
        return Welcome(self.name, self._names, n, self.targets, self.privacy)

    def _prepare(self, settings: Settings, names: Sequence[str]) -> None:
        self._settings, self._names = settings, tuple(names)
        self._intervened = [] if self.targets is None else [self._names.index(t) for t in self.targets]
        self._restricted: tuple[bytes, list[int], list[int]] | None = None

    @property
    def widest(self) -> int:
        """Largest number of columns or levels of a variable, in the scores of the open run."""
        return self._score.widest

    @property
    def counted(self) -> bool:
        """Whether the scores of the open run are computed from counts."""
        return not isinstance(self._score, GaussianScore)

    def prices(self, questions: Sequence[Question]) -> tuple[Price, ...]:
        """Return what the ledger will be charged for answering, one price per entry; nothing is drawn or paid."""
        return ()

    def answer(self, question: Question) -> Floats:
        """Answer a question of the coordinator."""
        question.check(len(self._names))
        if isinstance(question, Families):
            return self._regrets(question)
        return self._discrepancies(question)

    # -- phase 1 --------------------------------------------------------------------------------------------------

    def _regrets(self, families: Families) -> Floats:
        """Compute how much worse than in the site's own optimum each node is under each parent set, after masking."""
        nodes, fixed = families.nodes, families.fixed.shape[1]
        if not families.free.shape[1] and self._settings.masking == "adaptive" and self.targets is None:
            values = adaptive_mask_of(*self._score.extremes(nodes, families.fixed))[:, None]
        else:
            values = self._masked(nodes, np.column_stack([families.fixed, families.free]))
            if not fixed:  # in place: answers are large, and to allocate memory takes time
                return np.subtract(self._reference[nodes][:, None], values, out=values)
            values = values[:, (1 << fixed) - 1 :: 1 << fixed]  # the sets with all fixed variables
        regrets: Floats = self._reference[nodes][:, None] - values
        return regrets

    def _masked(self, nodes: NDArray[np.int64], candidates: NDArray[np.int64]) -> Floats:
        lattice = self._score.lattice(nodes, candidates)
        if self._settings.masking == "none":
            return lattice
        if self.targets is not None:
            # A declared target was set regardless of its causes, so none of its parents counts. A site that declares
            # targets also states that all other mechanisms are intact, so all their parents count.
            at_target = np.isin(nodes, self._intervened)[:, None]
            return np.where(at_target, lattice[:, :1], lattice)
        if self._settings.masking == "adaptive":
            return adaptive_mask(lattice, out=lattice)
        assert self._graph is not None
        into = self._graph.adjacency.T  # [i, j]: an edge j -> i or j - i
        return consensus_mask(lattice, into[nodes[:, None], candidates])

    # -- phase 2 --------------------------------------------------------------------------------------------------

    def _discrepancies(self, orientations: Orientations) -> Floats:
        """Compute how far A_nu, a node's parents and neighbours in nu(H, C_k), are from A_k, those in C_k.

        The discrepancy is fit(A_nu or A_k) - fit(A_nu and A_k), the fit without penalty. It is zero if and only if the
        sets agree, and smaller whenever one more edge is directed as at the site, whatever the other edges are. The
        paper's difference of penalised scores, fit(A_nu) - fit(A_k), has neither property: a missing parent can
        compensate an extra child, and then a false direction looks like an improvement.
        """
        return self._gaps(orientations.nodes, self._compared(orientations))

    def _compared(self, orientations: Orientations) -> list[tuple[int, int]]:
        """Return two queries per node, one after the other: the union of the two sets, and their intersection."""
        parents, lines = self._own_directions(orientations.dag)
        children = bits.transpose(parents)
        marks = [bits.rows(orientations.marks == mark) for mark in (PARENT, CHILD, LINE)]
        queries = []
        for node, into, out, line in zip(orientations.nodes.tolist(), *marks, strict=True):
            # nu has an edge if both graphs have it, not in opposite directions; j counts for i unless both have i -> j.
            kept = into & (parents[node] | lines[node]) | out & lines[node]
            kept |= line & (parents[node] | lines[node] | children[node])
            own = parents[node] | lines[node]
            queries += [(node, kept | own), (node, kept & own)]
        return queries

    def _gaps(self, nodes: NDArray[np.int64], queries: list[tuple[int, int]]) -> Floats:
        """Compute how much better the first query of each pair fits than the second, whose set is a part of it.

        If a node has too many neighbours for the number of rows, they are judged one by one.
        """
        distinct = dict.fromkeys(queries)
        known = dict(zip(distinct, self._fit.local(list(distinct)).tolist(), strict=True))
        larger, smaller = np.array([known[query] for query in queries]).reshape(-1, 2).T
        large = np.isin(nodes, nodes[~np.isfinite(larger)])
        gaps = np.zeros(len(nodes))
        gaps[~large] = larger[~large] - smaller[~large]
        for at in np.flatnonzero(large).tolist():
            (node, union), (_, common) = queries[2 * at : 2 * at + 2]
            alone = self._fit.local([(node, 0), *((node, 1 << j) for j in bits.members(union & ~common))])
            gaps[at] = float((alone[1:] - alone[0]).sum())
        return gaps

    def _own_directions(self, dag: NDArray[np.bool_]) -> tuple[list[int], list[int]]:
        """Return the site's CPDAG as bit sets of parents and of undirected neighbours.

        A site without a graph of its own takes the coordinator's DAG without the edges that its data do not support.
        """
        if self._graph is not None:
            a = self._graph.adjacency
            return bits.columns(a & ~a.T), bits.rows(a & a.T)
        key = dag.tobytes()
        if self._restricted is None or self._restricted[0] != key:
            self._restricted = (key, *complete(self._supported(bits.columns(dag))))
        return self._restricted[1], self._restricted[2]

    def _supported(self, parents: list[int]) -> list[int]:
        """Return for every node the parents that count at this site."""
        if self.targets is not None:
            return [0 if node in self._intervened else into for node, into in enumerate(parents)]
        out = list(parents)
        by_size: dict[int, list[int]] = {}
        for node, into in enumerate(parents):
            by_size.setdefault(into.bit_count(), []).append(node)
        for same_size in by_size.values():
            nodes, inside, _ = as_arrays([(node, parents[node], 0) for node in same_size])
            best = supported_subsets(self._score.lattice(nodes, inside)).tolist()
            for node, members, at in zip(same_size, inside.tolist(), best, strict=True):
                out[node] = sum(1 << parent for t, parent in enumerate(members) if at >> t & 1)
        return out


def digest(names: tuple[str, ...], n: float, *arrays: NDArray[Any]) -> str:
    """Return the SHA-256 of names, a number and arrays."""
    found = hashlib.sha256(repr((names, n)).encode())
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def checked_targets(targets: Iterable[str] | None, names: Iterable[str], site: str) -> tuple[str, ...] | None:
    """Return the targets that a site declares, or raise if one is not among its variables."""
    if targets is None:
        return None
    known = tuple(names)
    if not isinstance(targets, Iterable):
        raise InputError(f"the targets of site {site!r} must be a list of variables, not {targets!r}")
    chosen = (targets,) if isinstance(targets, str) else tuple(targets)
    for target in chosen:
        if target not in known:
            raise InputError(f"site {site!r} declares the target {target!r}, which is not one of its variables")
    return chosen
