"""What a site answers from: a table, with or without noise, or a release file; and what its owner declares about it.

How rows are read, bounded, binned and encoded is decided here, from the site's own schema and options, before anybody
connects. A message can only choose the order of the variables.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...option_values import COMPLETE, check_finite, check_one_of
from ...protocol.fields import Refused
from ...protocol.messages import Question, Settings
from ...protocol.requests import Card
from ...tables.reading import Reading
from ...tables.schema import Schema
from ...tables.summary.summary import Summary
from ..factory import as_statement, make_site, prepare_private_site
from ..kept import KeptSite
from ..respondent import Respondent, checked_targets
from .declared import declared_columns, promise_of, type_of_data
from .prices import price_words

if TYPE_CHECKING:
    from ...privacy import Privacy, Release
    from ...privacy.store import Place
    from ...tables.schema import Column
    from ...tables.table import Source, Table

OTHER_COLUMNS = (
    "the columns or the type of data of this run differ from this site's own schema and options, which no message can "
    "change: give every site the same schema file (--schema) and --data, then run again"
)
"""Why a run is refused: always in these words, so that a refusal reveals nothing about names, levels or rows."""


class AnswerSource:
    """A site's table or release, and how it is read.

    Parameters
    ----------
    source, name, store, schema, data, missing, targets, penalty, privacy
        Those of `fedperi.site.service.work.SiteWork`.
    required : bool
        Whether answers without noise are refused.

    Examples
    --------
    >>> import fedperi as fp
    >>> table = fp.simulate(3, clients=2, samples=200, seed=1).sites[0]
    >>> source = AnswerSource(table, name="north")
    >>> source.names, source.card.data, source.rows(["X2", "X0", "X1"], "x").shape
    (('X0', 'X1', 'X2'), 'linear', (200, 3))
    """

    def __init__(
        self,
        source: Source | Release,
        *,
        name: str | None = None,
        store: Any = None,
        schema: Any = None,
        data: str = "auto",
        missing: str = "error",
        targets: Iterable[str] | None = None,
        penalty: float = 1.0,
        privacy: Privacy | None = None,
        required: bool = False,
    ) -> None:
        from ...privacy.store import Store
        from ...tables import open_table
        from ...tables.preparing.prepared import prepared

        check_finite("penalty", penalty)
        check_one_of("missing", missing, COMPLETE)  # the number of complete rows leaves a site
        self.reading, self._penalty = Reading.of(schema, data, missing), float(penalty)
        self.targets = None if targets is None else tuple(targets)
        self._release = _release_of(source)
        self._table = open_table(cast(Any, source), name) if self._release is None else None
        if self._table is not None and privacy is None:  # with noise, the ledger belongs to the unprepared table
            self._table = prepared(self._table, self.reading.schema)
        self.name = name or (self.table.name if self._release is None else self._release.site)
        self.privacy = replace(privacy, store=store) if privacy is not None and privacy.store is None else privacy
        self._check_options(required)
        self.initial_fingerprint = self.fingerprint()
        root = store if self.privacy is None else self.privacy.store
        self.place: Place = Store(root).place(self.name, self.initial_fingerprint)
        self.card = self._make_card()
        if self.card.data == "discrete" and penalty != 1:
            raise InputError(
                f"site {self.name!r} has categories only, and their score has no penalty term that a penalty of "
                f"{penalty:g} could multiply; use --data mixed, or leave the penalty at 1"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in the site's own order."""
        return tuple(column.name for column in self.card.columns)

    @property
    def table(self) -> Table:
        """The site's table; a release has none."""
        assert self._table is not None
        return self._table

    @property
    def identity(self) -> str:
        """A hash of the data and of how they are read; it stays at the site."""
        card, columns = self.card, [asdict(column) for column in self.card.columns]
        options = [columns, card.data, card.penalty, card.promise, self.reading.missing, self.targets]
        return hashlib.sha256(json.dumps([self.initial_fingerprint, *options], sort_keys=True).encode()).hexdigest()

    @property
    def exact(self) -> bool:
        """Whether answers come from a table and have no noise."""
        return self._release is None and self.privacy is None

    @property
    def pays_per_answer(self) -> bool:
        """Whether every new answer has a price; otherwise the table is paid for once."""
        return self.privacy is not None and self.privacy.mechanism == "regret"

    def respondent(self, names: Sequence[str]) -> Respondent:
        """Make the site that answers questions about these variables; noise on statistics is drawn and paid."""
        if self._release is not None:
            return make_site(self._release, self.name)
        if self.privacy is not None:
            return prepare_private_site(self.table, self.privacy, self.reading, self.targets)()
        reading = Reading(self._ordered(names), cast(Any, self.card.data), self.reading.missing)
        return KeptSite(self.table, reading, self.targets, self.place, self.initial_fingerprint)

    def release(self) -> Release:
        """Return the given release, the one that was drawn before, or a new one, which is paid."""
        if self._release is not None:
            return self._release
        from ...privacy.release.site_release import release_table

        assert self.privacy is not None
        return release_table(self.table, self.privacy, targets=self.targets, **self.reading.arguments)[0]

    def rows(self, names: Sequence[str], method: str) -> NDArray[np.float64]:
        """Read the table as numbers, with the columns in this order."""
        from ...tables.readers.rows import numeric_rows

        if not self.exact:
            raise InputError(f"site {self.name!r} keeps a privacy promise, and gives no rows to {method}")
        tables: dict[str, Any] = {self.name: self.table}
        rows, found = numeric_rows(tables, self._ordered(names), self.reading.missing, method)
        return np.ascontiguousarray(rows[self.name][:, [found.index(name) for name in names]])

    def _ordered(self, names: Sequence[str]) -> Schema:
        """Return the site's own columns in the order of a run. A message can choose nothing else."""
        own = {column.name: column for column in self.card.columns}
        return Schema(tuple(own[name] for name in names))

    def fingerprint(self) -> str:
        """Return a hash of the data that the site answers from; it stays at the site."""
        from ...tables.bounded import fingerprint
        from ..released import ReleasedSite

        return fingerprint(self.table) if self._release is None else ReleasedSite(self._release).fingerprint()

    def check_unchanged(self) -> None:
        """Raise if the table is no longer the one with which the site was started."""
        if self.fingerprint() != self.initial_fingerprint:
            raise Refused("the table has changed since this site was started: restart the site")

    def check_columns(self, columns: Sequence[Column], data: str = "auto") -> None:
        """Raise unless a run has the columns and the type of data of this site; the reason never says what differs."""
        own = {column.name: column for column in self.card.columns}
        same = sorted(own) == sorted(column.name for column in columns) and all(
            (column.kind, column.levels) == (own[column.name].kind, own[column.name].levels)
            and column.bounds in (None, own[column.name].bounds)
            for column in columns
        )
        if not same or data not in ("auto", self.card.data):
            raise Refused(OTHER_COLUMNS)

    def check_penalty(self, settings: Settings) -> None:
        """Raise unless a run has the site's own penalty: with noise on answers, another one would be paid again."""
        if settings.penalty != self.card.penalty:
            raise Refused(
                f"this site scores with a penalty of {self.card.penalty:g}, and no message can change it: run with it, "
                "or have every site started with another --penalty"
            )

    def quote_opening(self) -> str:
        """Say the exact price of opening a run; nothing is drawn or paid."""
        if self.privacy is None:
            return self.price_ahead()
        from ...privacy.regret_noise import own_privacy
        from ...privacy.release.site_release import Budget, plan_release

        table, reading = self.table, self.reading
        budget = Budget.look(table, self.privacy)
        privacy = own_privacy(self.privacy) if self.pays_per_answer else self.privacy
        plan = plan_release(table, privacy, schema=reading.schema, data=reading.data)
        return price_words(budget.ledger, () if budget.holds(plan, reading.missing) else (plan.price,))

    def quote_answers(self, respondent: Respondent | None, questions: Sequence[Question]) -> str:
        """Say the exact price of answering; a respondent is needed only where every answer has a price."""
        if self.privacy is None:
            return self.price_ahead()
        if not self.pays_per_answer or respondent is None:
            return "nothing, answers are computed from noisy statistics that are paid for once."
        from ...privacy.release.site_release import Budget

        return price_words(Budget.look(self.table, self.privacy).ledger, respondent.prices(questions))

    def price_ahead(self) -> str:
        """Say what the next run would cost; nothing is drawn or paid."""
        if self._release is not None:
            return "nothing, the release is paid for."
        if self.privacy is None:
            return "no noise is added, so nothing is promised; what is sent reveals much about the table."
        if self.pays_per_answer:
            return (
                f"at most epsilon {self.privacy.epsilon:g}, delta {self.privacy.delta:g} for a run; to open it: "
                f"{self.quote_opening()}"
            )
        return self.quote_opening()

    def _check_options(self, required: bool) -> None:
        release = self._release
        if release is not None and (self.privacy is not None or self.targets is not None):
            raise InputError(f"site {self.name!r} is a release, and its price and targets are fixed; leave them out")
        if release is not None and self.reading.data not in ("auto", release.data):
            raise InputError(
                f"site {self.name!r} is a release of columns taken as {release.data!r}, not as "
                f"{self.reading.data!r}: leave the type of data out, or release the table again"
            )
        if required and self.exact:
            raise InputError(f"site {self.name!r} requires privacy, and none is set: give epsilon and bounds")
        if required and release is not None and not release.private:
            raise InputError(f"site {self.name!r} requires privacy, and its release is NOT PRIVATE: it is from a test")

    def _make_card(self) -> Card:
        """Describe the site by what its owner declares, and by the kinds of its columns."""
        reading = self.reading
        data: str
        if self._release is not None:
            columns, promise, data = self._release.schema.columns, promise_of(self._release), self._release.data
        elif self.privacy is not None:
            from ...privacy.release.site_release import plan_release

            plan = plan_release(self.table, self.privacy, schema=reading.schema, data=reading.data)
            columns, promise, data = plan.schema.columns, promise_of(self.privacy), plan.data
        else:
            self.targets = checked_targets(self.targets, self.table.columns, self.name)
            columns, promise = declared_columns(self.table, reading.schema, reading.missing), None
            data = type_of_data(reading.data, columns)
        return Card(self.name, columns, promise, data=data, penalty=self._penalty)


def _release_of(source: Any) -> Release | None:
    """Return the release that a site was given instead of its table, or None."""
    statement = as_statement(source)
    if isinstance(statement, Summary):
        raise InputError(
            f"site {statement.site!r}: an exact summary cannot answer a coordinator's messages; give its file to the "
            "coordinator (`fedperi run` takes it beside tables and releases), or start the site from its table"
        )
    return statement
