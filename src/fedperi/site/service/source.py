"""What a site answers from: a table, with or without noise, or a release file; and what it declares about it.

How rows are read, bounded, binned and encoded is settled here, from the site's own schema and options, before anybody
connects. A message can name the variables and their order, and nothing else about them.
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
from ...tables.summary.summary import Summary
from ..factory import as_statement, make_site, prepare_private_site
from ..kept import KeptSite
from ..respondent import Respondent
from .declared import declared_columns, promise_of, settled_data
from .quote import Quote

if TYPE_CHECKING:
    from ...privacy import Privacy, Release
    from ...privacy.store import Place
    from ...tables import Schema
    from ...tables.schema import Column
    from ...tables.table import Source, Table

OTHERWISE = (
    "the run does not take the columns as this site's own schema and options do, and a site takes none of this from a "
    "message: give every site the same schema file (--schema) and --data, then run again"
)
"""Why an opening is refused: always in these words, so that a refusal tells nothing of names, levels or rows."""


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
    >>> held = AnswerSource(table, name="north")
    >>> held.names, held.card.data, held.rows(["X2", "X0", "X1"], "x").shape
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
        check_one_of("missing", missing, COMPLETE)  # what leaves a site are counts of complete rows
        self._reading, self._penalty = Reading.of(schema, data, missing), float(penalty)
        self._targets = None if targets is None else tuple(targets)
        self._release = _release_of(source)
        self._table = open_table(cast(Any, source), name) if self._release is None else None
        if self._table is not None and privacy is None:  # with noise, the ledger belongs to the table as it is
            self._table = prepared(self._table, self._reading.schema)
        self.name = name or (self._own_table.name if self._release is None else self._release.site)
        self.privacy = replace(privacy, store=store) if privacy is not None and privacy.store is None else privacy
        self._check_options(required)
        self.mark = self.fingerprint()
        self.place: Place = Store(store if self.privacy is None else self.privacy.store).place(self.name, self.mark)
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
    def _own_table(self) -> Table:
        assert self._table is not None  # there is no release
        return self._table

    @property
    def identity(self) -> str:
        """Identify what the site answers from and how it is read; it stays here."""
        card = self.card
        columns = [asdict(column) for column in card.columns]
        told = [self.mark, columns, card.data, card.penalty, card.promise, self._reading.missing, self._targets]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    @property
    def bare(self) -> bool:
        """Whether this is a table, answered from without noise."""
        return self._release is None and self.privacy is None

    @property
    def pays_per_answer(self) -> bool:
        """Whether every new answer has a price, rather than the table once."""
        return self.privacy is not None and self.privacy.mechanism == "regret"

    def respondent(self, names: Sequence[str]) -> Respondent:
        """Make what answers questions about the variables in this order; noise on statistics is drawn, and paid."""
        if self._release is not None:
            return make_site(self._release, self.name)
        if self.privacy is not None:
            return prepare_private_site(self._own_table, self.privacy, self._reading, self._targets)()
        reading = Reading(self._ordered(names), cast(Any, self.card.data), self._reading.missing)
        return KeptSite(self._own_table, reading, self._targets, self.place, self.mark)

    @property
    def table(self) -> Table:
        """The site's table."""
        return self._own_table

    @property
    def schema(self) -> Schema:
        """What the site declares about its columns."""
        from ...tables.schema import Schema

        return Schema(self.card.columns)

    @property
    def reading(self) -> Reading:
        """How the table is read."""
        return self._reading

    @property
    def targets(self) -> tuple[str, ...] | None:
        """What the site declares to have set."""
        return self._targets

    def release(self) -> Release:
        """Return the site's release: the one it was given, the one drawn before, or a new one, which is paid."""
        if self._release is not None:
            return self._release
        from ...privacy.release.site_release import release_table

        assert self.privacy is not None
        return release_table(self.table, self.privacy, targets=self._targets, **self._reading.arguments)[0]

    def rows(self, names: Sequence[str], method: str) -> NDArray[np.float64]:
        """Read the table as numbers, with the columns in this order."""
        from ...tables.readers.rows import numeric_rows

        if not self.bare:
            raise InputError(f"site {self.name!r} keeps a privacy promise, and gives no rows to {method}")
        source: dict[str, Any] = {self.name: self._table}
        rows, found = numeric_rows(source, self._ordered(names), self._reading.missing, method)
        return np.ascontiguousarray(rows[self.name][:, [found.index(name) for name in names]])

    def _ordered(self, names: Sequence[str]) -> Schema:
        """The site's own columns, in the order of a run: all that a message may choose."""
        from ...tables.schema import Schema

        own = {column.name: column for column in self.card.columns}
        return Schema(tuple(own[name] for name in names))

    def fingerprint(self) -> str:
        """Identify what the site answers from; it stays here."""
        from ...tables.bounded import fingerprint
        from ..released import ReleasedSite

        return fingerprint(self._own_table) if self._release is None else ReleasedSite(self._release).fingerprint()

    def check_columns(self, columns: Sequence[Column], data: str = "auto") -> None:
        """Raise unless a run takes the columns as this site does; the reason never says what differs."""
        own = {column.name: column for column in self.card.columns}
        same = sorted(own) == sorted(column.name for column in columns) and all(
            (column.kind, column.levels) == (own[column.name].kind, own[column.name].levels)
            and column.bounds in (None, own[column.name].bounds)
            for column in columns
        )
        if not same or data not in ("auto", self.card.data):
            raise Refused(OTHERWISE)

    def check_penalty(self, settings: Settings) -> None:
        """Raise unless a run takes the site's own price of an edge: under noise on answers another one pays again."""
        if settings.penalty != self.card.penalty:
            raise Refused(
                f"this site scores with a penalty of {self.card.penalty:g}, and takes no other from a message: run "
                "with it, or have every site started with another --penalty"
            )

    def quote_opening(self) -> str:
        """Say what opening a run costs, exactly; nothing is drawn or paid."""
        if self.privacy is None:
            return self.price_ahead()
        from ...privacy.regret_noise import own_privacy
        from ...privacy.release.site_release import Budget, plan_release

        table, reading = self._own_table, self._reading
        budget = Budget.look(table, self.privacy)
        asked = own_privacy(self.privacy) if self.pays_per_answer else self.privacy
        plan = plan_release(table, asked, schema=reading.schema, data=reading.data)
        return Quote(budget.ledger, () if budget.holds(plan, reading.missing) else (plan.price,)).words

    def quote_answers(self, respondent: Respondent | None, questions: Sequence[Question]) -> str:
        """Say what answering costs, exactly; without a respondent, where answers cost nothing by themselves."""
        if self.privacy is None:
            return self.price_ahead()
        if not self.pays_per_answer or respondent is None:
            return "nothing, answers are computed from noisy statistics that are paid for once."
        from ...privacy.release.site_release import Budget

        return Quote(Budget.look(self._own_table, self.privacy).ledger, respondent.prices(questions)).words

    def price_ahead(self) -> str:
        """Say what the next run would cost; nothing is drawn or paid."""
        if self._release is not None:
            return "nothing, the release is paid for."
        if self.privacy is None:
            return "no noise is added, so nothing is promised; what is sent tells much of a table."
        if self.pays_per_answer:
            return (
                f"at most epsilon {self.privacy.epsilon:g}, delta {self.privacy.delta:g} for a run; to open it: "
                f"{self.quote_opening()}"
            )
        return self.quote_opening()

    def _check_options(self, required: bool) -> None:
        if self._release is not None and (self.privacy is not None or self._targets is not None):
            raise InputError(f"site {self.name!r} is a release, and its price and targets are settled; leave them out")
        if self._release is not None and self._reading.data not in ("auto", self._release.data):
            raise InputError(
                f"site {self.name!r} is a release of columns taken as {self._release.data!r}, not as "
                f"{self._reading.data!r}: leave the type of data out, or release the table again"
            )
        if required and self.bare:
            raise InputError(f"site {self.name!r} requires privacy, and none is set: give epsilon and bounds")
        if required and self._release is not None and not self._release.private:
            raise InputError(f"site {self.name!r} requires privacy, and its release is NOT PRIVATE: it is of a test")

    def _make_card(self) -> Card:
        """Describe the site by what is declared, and by the kinds of its columns."""
        price, reading = self._penalty, self._reading
        if self._release is not None:
            columns = self._release.schema.columns
            return Card(self.name, columns, promise_of(self._release), data=self._release.data, penalty=price)
        table = self._own_table
        if self.privacy is not None:
            from ...privacy.release.site_release import plan_release

            plan = plan_release(table, self.privacy, schema=reading.schema, data=reading.data)
            return Card(self.name, plan.schema.columns, promise_of(self.privacy), data=plan.data, penalty=price)
        from ..respondent import checked_targets

        self._targets = checked_targets(self._targets, table.columns, self.name)
        declared = declared_columns(table, reading.schema, reading.missing)
        return Card(self.name, declared, data=settled_data(reading.data, declared), penalty=price)


def _release_of(source: Any) -> Release | None:
    """Return the release that a site was given instead of its table, if it was."""
    statement = as_statement(source)
    if isinstance(statement, Summary):
        raise InputError(
            f"site {statement.site!r}: an exact summary is all that its site says; hand its file to the coordinator "
            "(`fedperi run` takes it beside tables and releases), or start the site from its table"
        )
    return statement
