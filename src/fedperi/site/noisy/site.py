"""A site that adds noise to every number: the paper's mechanism, with an account of its price.

`fedperi.privacy.regret_noise` proves how much one row can change an answer, and explains how the budget is divided.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...graph import bits
from ...graph.pdag import PDAG
from ...privacy.accounting import Price
from ...privacy.regret_noise import (
    CLIP_ANSWERS,
    EXACT,
    LEAST_RIDGE,
    RegretPlan,
    chosen_ridge,
    most_answers,
    own_privacy,
    proven_sensitivity,
    ridge_covariance,
)
from ...privacy.release.site_release import prepare_release
from ...privacy.zcdp import zcdp_rho
from ...protocol.messages import Families, Floats, Question, Settings, Welcome
from ...scores.score import LatticeScore
from ...tables.bounded import CONSTANT, GRID, bounded_moments
from ..respondent import Respondent, checked_targets, digest
from .answer_book import AnswerBook
from .ridge_score import RidgeScore, best_of_all

if TYPE_CHECKING:
    from ...privacy.options import Privacy
    from ...tables.checks.profile import Missing
    from ...tables.embedding import Data
    from ...tables.schema import Schema
    from ...tables.table import Table


class NoisySite(Respondent):
    """A site that adds Laplace noise to every regret, and keeps a ledger of their prices.

    The same question gets the same noisy answer in later rounds, runs and processes, and is paid only once. Two
    questions that differ only in variables that the mask ignores count as the same. The site's own graph, the units
    and the number of rows come from a private release, which gets a share of the budget and is not sent.

    Parameters
    ----------
    table : Table
        One row per patient.
    privacy : Privacy
        With ``mechanism="regret"``.
    schema, data, missing
        As in `fedperi.privacy.release_table`.
    targets : iterable of str, optional
        Variables that the site declares to have set.
    local : callable, optional
        Learns the site's own graph from statistics, instead of the method that the settings name.

    Raises
    ------
    InputError
        Before anything is drawn: if `fedperi.privacy.release_table` would refuse the table, or if there are more than
        12 variables and `privacy` does not say into how many answers the budget is divided.
    """

    def __init__(
        self,
        table: Table,
        privacy: Privacy,
        *,
        schema: Schema | None = None,
        data: Data = "auto",
        missing: Missing = "error",
        targets: Iterable[str] | None = None,
        local: Callable[..., PDAG] | None = None,
    ) -> None:
        self.name = table.name
        self._table, self._protection, self._missing, self.local = table, privacy, missing, local
        self.targets = checked_targets(targets, table.columns, table.name)
        self._prepared = prepare_release(
            table, own_privacy(privacy), schema=schema, data=data, missing=missing, targets=self.targets
        )
        p = len(self.names)
        if p > EXACT and privacy.answers is None:
            raise InputError(
                f"site {self.name!r} has {p} variables; with more than {EXACT} it is not known beforehand how many "
                "answers a run needs. Say into how many the budget is divided, such as Privacy(..., answers=20000), "
                "or use mechanism='statistics', which answers any number of questions at one price"
            )
        budget = self._prepared.budget
        if budget is not None and not budget.holds(self._prepared.plan, missing):
            # The price of the whole run is checked before its first part is paid: as one Gaussian with the same rho.
            whole = zcdp_rho(privacy.epsilon, privacy.delta)
            budget.ledger.check(Price(privacy.epsilon, privacy.delta, gaussian=whole))
        self._exact: NDArray[np.int64] | None = None
        self._book = AnswerBook(self.name, privacy, budget)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are publicly known."""
        return self._prepared.plan.schema.names

    def open(self, settings: Settings, names: Sequence[str]) -> Welcome:
        """Begin a run: draw the release that is not sent, if there is none yet, and divide the rest of the budget."""
        if settings.resample is not None:
            raise InputError(
                f"site {self.name!r}: a bootstrap under mechanism='regret' would cost the whole budget again for every "
                "replicate; set bootstrap=0, or use mechanism='statistics', where it costs nothing"
            )
        self._prepare(settings, names)
        self._release = self._prepared.draw()[0]
        self._statistics = self._release.statistics()
        # A site that declares targets needs no graph of its own: the coordinator's DAG is enough.
        by_targets = self.targets is not None and settings.masking != "consensus"
        self._graph = None if by_targets else self._own_graph(settings).reordered(self._names)
        self._score, self._fit, n = self._scores(settings, self._names)
        self._reference = best_of_all(self._score, len(self._names))
        self._remember()
        return Welcome(self.name, self._names, n, self.targets, self.privacy)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the release that stays at the site. A hash of the rows could reveal them."""
        return digest(self.names, self._release.noise, self._release.moments)

    # -- what answers come from -----------------------------------------------------------------------------------

    def _scores(self, settings: Settings, names: tuple[str, ...]) -> tuple[LatticeScore, LatticeScore, float]:
        release, privacy = self._release, self._protection
        n = float(round(release.rows))
        columns = sum(release.embedding.widths)
        if n < 2 * columns:
            raise InputError(
                f"site {self.name!r} has {n:g} rows by its noisy count, too few for {columns} columns; choose a larger "
                "epsilon, leave variables out, or leave the site out"
            )
        planned = privacy.answers if privacy.answers is not None else self._most_answers()
        self._plan = RegretPlan(privacy.epsilon, privacy.delta, self._prepared.plan.price, planned)
        limit = CLIP_ANSWERS * math.sqrt(columns)
        row = math.hypot(CONSTANT, limit)
        if privacy.sensitivity is None:
            self._ridge = chosen_ridge(n, row, self._plan.each)
            self._sensitivity = proven_sensitivity(n, row, self._ridge)
        else:
            self._ridge, self._sensitivity = LEAST_RIDGE, privacy.sensitivity
        self._proven = proven_sensitivity(n, row, self._ridge)
        if self._exact is None:
            read = bounded_moments(self._table, release.embedding, limit, self._missing, privacy.decimal)
            self._exact = read.total
        covariance = ridge_covariance(self._exact / GRID**2, n, self._ridge)
        blocks = [release.embedding.positions[self.names.index(name)] for name in names]
        score, fit = (
            RidgeScore(covariance, n, names, blocks=blocks, penalty=penalty, site=self.name)
            for penalty in (settings.penalty, 0.0)
        )
        return score, fit, n

    # -- what is the same question --------------------------------------------------------------------------------

    def _counting(self, node: int) -> int:
        """Return the bit set of the variables that the mask allows as parents of a node."""
        others = (1 << len(self._names)) - 1 ^ 1 << node
        if self._settings.masking == "consensus" and self.targets is None:
            assert self._graph is not None
            return bits.columns(self._graph.adjacency)[node]
        return 0 if self._settings.masking != "none" and node in self._intervened else others

    def _most_answers(self) -> int:
        p = len(self._names)
        if self._settings.masking == "none":
            neighbours = [0] * p
        elif self._graph is None:
            neighbours = [p - 1] * p
        else:
            adjacent = self._graph.adjacency | self._graph.adjacency.T
            neighbours = adjacent.sum(axis=1).tolist()
        return most_answers([self._counting(node).bit_count() for node in range(p)], neighbours)

    def _key(self, kind: str, node: int, *sets: int) -> str:
        """Name a question by the positions of its variables at the site, so that every run gives it the same name."""
        at = self._positions
        own = [sum(1 << at[j] for j in bits.members(one)) for one in sets]
        return ":".join([kind, str(at[node]), *map(str, own)])

    def _question_keys(self, families: Families) -> Iterator[str]:
        supported = self._settings.masking == "adaptive" and self.targets is None
        for node, fixed, free in zip(
            families.nodes.tolist(), families.fixed.tolist(), families.free.tolist(), strict=True
        ):
            counting = self._counting(node)
            sets = [sum(1 << j for j in fixed)]
            for j in free:
                sets += [one | 1 << j for one in sets]
            yield from (self._key("best" if supported else "set", node, one & counting) for one in sets)

    def prices(self, questions: Sequence[Question]) -> tuple[Price, ...]:
        """Return what the ledger will be charged for answering, one price per entry; nothing is drawn or paid."""
        known, charged = set(self._book.kept()), []
        for question in questions:
            if isinstance(question, Families):
                new = set(self._question_keys(question)) - known
            else:
                new = set(self._gap_keys(self._compared(question)).values()) - known
            if new:
                charged.append(self._plan.price(len(new)))
            known |= new
        return tuple(charged)

    def _gap_keys(self, queries: list[tuple[int, int]]) -> dict[int, str]:
        """Name the gaps between two sets that differ; the keys are positions in the answer."""
        return {
            at // 2: self._key("gap", *queries[at], queries[at + 1][1])
            for at in range(0, len(queries), 2)
            if queries[at] != queries[at + 1]
        }

    # -- answers with noise ---------------------------------------------------------------------------------------

    def _regrets(self, families: Families) -> Floats:
        exact = super()._regrets(families)
        return self._noisy(list(self._question_keys(families)), exact.ravel()).reshape(exact.shape)

    def _gaps(self, nodes: NDArray[np.int64], queries: list[tuple[int, int]]) -> Floats:
        """Add noise to the gaps. Two equal sets have a gap of zero for any rows, so that answer costs nothing."""
        exact = super()._gaps(nodes, queries)
        keys = self._gap_keys(queries)
        gaps, differ = np.zeros(len(nodes)), list(keys)
        gaps[differ] = self._noisy(list(keys.values()), exact[differ])
        return gaps

    def _noisy(self, keys: list[str], exact: Floats) -> Floats:
        """Return the kept answers. If one is new: charge, draw, keep, and only then answer."""
        if not self._book.has(keys):
            self._book.add(dict(zip(keys, exact.tolist(), strict=True)))
            self.privacy = self._told()
        return self._book.values(keys)

    @property
    def _scale(self) -> float:
        return self._sensitivity / self._plan.each

    def _remember(self) -> None:
        """Find the answers that were given before under the same plan."""
        self._positions = [self.names.index(name) for name in self._names]
        plan = self._plan
        settled = [self._release.identifier, plan.epsilon, plan.delta, plan.each, self._scale, self._ridge]
        key = json.dumps(["regret", 1, *settled, CLIP_ANSWERS, self._settings.penalty])
        self._book.open(key, plan, self._scale)
        self.privacy = self._told()

    def _told(self) -> dict[str, Any]:
        """Return what a result says about this site's privacy: plain values."""
        claimed = self._protection.sensitivity is not None
        plan = self._plan
        return {
            "mechanism": "regret",
            "private": self._release.private,
            "epsilon": plan.epsilon,
            "delta": plan.delta,
            "rho": plan.own.rho + plan.price(plan.answers).rho,
            "neighbours": "one row added or removed; the number of rows is protected",
            "rows": round(self._release.rows),
            "worth": self._statistics.n,
            "release": self._release.identifier,
            "epsilon_per_answer": plan.each,
            "answers_used": self._book.given,
            "answers_planned": plan.answers,
            "sensitivity": self._sensitivity,
            "sensitivity_is": "as claimed, not proven" if claimed else "proven for clipped rows and a ridge",
            "sensitivity_proven": self._proven,
            "noise_scale": self._scale,
            "ridge": self._ridge,
            "epsilon_own_graph": plan.own.epsilon,
            "ledger": None if self._book.ledger is None else self._book.ledger.summary(),
        }
