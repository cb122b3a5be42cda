"""What a site answers from: a table, with or without noise, or a release file; and what it declares about it.

How rows are read, bounded, binned and encoded is settled here, from the site's own schema and options, before anybody
connects. A message can name the variables and their order, and nothing else about them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..protocol import wire
from ..protocol.fields import Refused
from ..protocol.messages import Question, Settings
from ..protocol.wire import Card
from .declared import as_release, declared_columns, promise_of, settled_data
from .kept import KeptSite
from .quote import Quote
from .respondent import Respondent
from .site import Reading

if TYPE_CHECKING:
    from ..privacy import Privacy, Release
    from ..privacy.store import Place
    from ..tables import Schema
    from ..tables.schema import Column
    from ..tables.table import Source, Table

T = TypeVar("T")

OTHERWISE = (
    "the run does not take the columns as this site's own schema and options do, and a site takes none of this from a "
    "message: give every site the same schema file (--schema) and --data-type, then run again"
)
"""Why an opening is refused: always in these words, so that a refusal tells nothing of names, levels or rows."""


@dataclass(frozen=True)
class Manner:
    """How a site takes its table: declared types, kind of data, incomplete rows, declared targets, price of an edge."""

    schema: Schema | None
    data: Any
    missing: Any
    targets: tuple[str, ...] | None
    penalty: float


class Holding:
    """A site's table or release, and how it is taken.

    Parameters
    ----------
    source, name, store, schema, data, missing, targets, penalty, privacy
        Those of `fedperi.site.work.SiteWork`.
    required : bool
        Whether answers without noise are refused.

    Examples
    --------
    >>> import fedperi as fp
    >>> table = fp.simulate(3, clients=2, samples=200, seed=1).sites[0]
    >>> held = Holding(table, name="north")
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
        from ..privacy.store import Store
        from ..tables.infer import as_schema

        self._how = Manner(as_schema(schema), data, missing, None if targets is None else tuple(targets), penalty)
        self._release = as_release(source)
        self._table = _opened(source, name) if self._release is None else None
        self.name = name or (self._table.name if self._table is not None else _there(self._release).site)
        self.privacy = replace(privacy, store=store) if privacy is not None and privacy.store is None else privacy
        self._check_options(required)
        self.mark = self.fingerprint()
        self.place: Place = Store(store if self.privacy is None else self.privacy.store).place(self.name, self.mark)
        self.card = self._make_card()
        if self.card.data == "discrete" and penalty != 1:
            raise InputError(
                f"site {self.name!r} has categories only, and their score has no price that a penalty of {penalty:g} "
                "could multiply; use --data-type mixed, or leave the penalty at 1"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in the site's own order."""
        return tuple(column.name for column in self.card.columns)

    @property
    def reading(self) -> str:
        """Identify what the site answers from and how it takes it; it stays here."""
        card, how = self.card, self._how
        columns = [asdict(column) for column in card.columns]
        told = [self.mark, columns, card.data, card.penalty, card.promise, how.missing, how.targets]
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
        from .released import ReleasedSite

        if self._release is not None:
            site = ReleasedSite(self._release)
            site.name = self.name
            return site
        table, how = _there(self._table), self._how
        if self.privacy is None:
            data: Any = self.card.data
            return KeptSite(table, Reading(self._ordered(names), data, how.missing), how.targets, self.place, self.mark)
        if self.pays_per_answer:
            from .noisy import NoisySite

            return NoisySite(
                table, self.privacy, schema=how.schema, data=how.data, missing=how.missing, targets=how.targets
            )
        from ..privacy.release.site_release import release_table

        drawn, _ = release_table(
            table, self.privacy, schema=how.schema, data=how.data, missing=how.missing, targets=how.targets
        )
        return ReleasedSite(drawn)

    def rows(self, names: Sequence[str], method: str) -> NDArray[np.float64]:
        """Read the table as numbers, with the columns in this order."""
        from ..tables.readers.rows import numeric_rows

        if not self.bare:
            raise InputError(f"site {self.name!r} keeps a privacy promise, and gives no rows to {method}")
        source: dict[str, Any] = {self.name: self._table}
        rows, found = numeric_rows(source, self._ordered(names), self._how.missing, method)
        return np.ascontiguousarray(rows[self.name][:, [found.index(name) for name in names]])

    def _ordered(self, names: Sequence[str]) -> Schema:
        """The site's own columns, in the order of a run: all that a message may choose."""
        from ..tables.schema import Schema

        own = {column.name: column for column in self.card.columns}
        return Schema(tuple(own[name] for name in names))

    def fingerprint(self) -> str:
        """Identify what the site answers from; it stays here."""
        from ..tables.bounded import fingerprint
        from .released import ReleasedSite

        return (
            fingerprint(self._table) if self._table is not None else ReleasedSite(_there(self._release)).fingerprint()
        )

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
        from ..privacy.regret_noise import own_privacy
        from ..privacy.release.site_release import Budget, plan_release

        table, how = _there(self._table), self._how
        budget = Budget.look(table, self.privacy)
        asked = own_privacy(self.privacy) if self.pays_per_answer else self.privacy
        plan = plan_release(table, asked, schema=how.schema, data=how.data)
        return Quote(budget.ledger, () if budget.holds(plan, how.missing) else (plan.price,)).words

    def quote_answers(self, respondent: Respondent | None, questions: Sequence[Question]) -> str:
        """Say what answering costs, exactly; without a respondent, where answers cost nothing by themselves."""
        if self.privacy is None:
            return self.price_ahead()
        if not self.pays_per_answer or respondent is None:
            return "nothing, answers are computed from noisy statistics that are paid for once."
        from ..privacy.release.site_release import Budget

        return Quote(Budget.look(_there(self._table), self.privacy).ledger, respondent.prices(questions)).words

    def price_ahead(self) -> str:
        """Say what the next run would cost; nothing is drawn or paid."""
        if self._release is not None:
            return "nothing, the release is paid for."
        if self.privacy is None:
            return "no noise is added, so no promise is kept; regrets without noise tell much of a table."
        if self.pays_per_answer:
            return (
                f"at most epsilon {self.privacy.epsilon:g}, delta {self.privacy.delta:g} for a run; to open it: "
                f"{self.quote_opening()}"
            )
        return self.quote_opening()

    def _check_options(self, required: bool) -> None:
        if self._how.data not in wire.DATA:
            raise InputError(f"the type of data is one of {', '.join(wire.DATA)}; not {self._how.data!r}")
        penalty = self._how.penalty
        if isinstance(penalty, bool) or not isinstance(penalty, int | float) or not 0 <= penalty < math.inf:
            raise InputError(f"penalty must be a finite number, zero or positive, not {penalty!r}")
        if self._how.missing not in ("error", "drop"):
            raise InputError(f"missing is error or drop, not {self._how.missing!r}")
        if self._release is not None and (self.privacy is not None or self._how.targets is not None):
            raise InputError(f"site {self.name!r} is a release, and its price and targets are settled; leave them out")
        if self._release is not None and self._how.data not in ("auto", self._release.data):
            raise InputError(
                f"site {self.name!r} is a release of columns taken as {self._release.data!r}, not as "
                f"{self._how.data!r}: leave the type of data out, or release the table again"
            )
        if required and self.bare:
            raise InputError(f"site {self.name!r} requires privacy, and none is set: give epsilon and bounds")
        if required and self._release is not None and not self._release.private:
            raise InputError(f"site {self.name!r} requires privacy, and its release is NOT PRIVATE: it is of a test")

    def _make_card(self) -> Card:
        """Describe the site by what is declared, and by the kinds of its columns."""
        price = float(self._how.penalty)
        if self._release is not None:
            columns = self._release.schema.columns
            return Card(self.name, columns, promise_of(self._release), data=self._release.data, penalty=price)
        table, how = _there(self._table), self._how
        if self.privacy is not None:
            from ..privacy.release.site_release import plan_release

            plan = plan_release(table, self.privacy, schema=how.schema, data=how.data)
            return Card(self.name, plan.schema.columns, promise_of(self.privacy), data=plan.data, penalty=price)
        from .respondent import checked_targets

        self._how = replace(how, targets=checked_targets(how.targets, table.columns, self.name))
        declared = declared_columns(table, how.schema, how.missing)
        return Card(self.name, declared, data=settled_data(how.data, declared), penalty=price)


def _there(value: T | None) -> T:
    assert value is not None
    return value


def _opened(source: Any, name: str | None) -> Table:
    from ..tables import open_table

    return open_table(source, name)
