"""What a site answers from: a table, with or without noise, or a release file; and what it declares about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from . import wire
from .fields import Refused
from .kept import KeptSite
from .site import Reading, Respondent
from .wire import Card, Opening

if TYPE_CHECKING:
    from ..data import Schema
    from ..data.schema import Column
    from ..data.table import Source, Table
    from ..privacy import Privacy, Release
    from ..privacy.store import Place

T = TypeVar("T")


@dataclass(frozen=True)
class Manner:
    """How a site takes its table: declared types, kind of data, incomplete rows, declared targets."""

    schema: Schema | None
    data: str
    missing: Any
    targets: tuple[str, ...] | None


class Holding:
    """A site's table or release, and how it is taken.

    Parameters
    ----------
    source, name, store, schema, data, missing, targets, privacy
        Those of `fedperi.federation.sitework.SiteWork`.
    required : bool
        Whether answers without noise are refused.

    Examples
    --------
    >>> import fedperi as fp
    >>> table = fp.simulate(3, clients=2, samples=200, seed=1).sites[0]
    >>> held = Holding(table, name="north")
    >>> [column.name for column in held.card.columns], held.rows(held.card.columns, "x").shape
    (['X0', 'X1', 'X2'], (200, 3))
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
        privacy: Privacy | None = None,
        required: bool = False,
    ) -> None:
        from ..data.infer import as_schema
        from ..privacy.store import Store

        self._how = Manner(as_schema(schema), data, missing, None if targets is None else tuple(targets))
        self._release = _release(source)
        self._table = None if self._release is not None else _table(source, name)
        self.name = name or (self._table.name if self._table is not None else _there(self._release).site)
        self.privacy = replace(privacy, store=store) if privacy is not None and privacy.store is None else privacy
        self._check_options(required)
        self.mark = self.fingerprint()
        self.place: Place = Store(store if self.privacy is None else self.privacy.store).place(self.name, self.mark)
        self.card = self._make_card()

    @property
    def bare(self) -> bool:
        """Whether this is a table, answered from without noise."""
        return self._release is None and self.privacy is None

    def respondent(self, message: Opening) -> Respondent:
        """Make what answers questions of a run; under noise on statistics, this draws it and pays."""
        from ..data.schema import Schema
        from .released import ReleasedSite

        if self._release is not None:
            site = ReleasedSite(self._release)
            site.name = self.name
            return site
        table, how = _there(self._table), self._how
        data: Any = how.data if how.data != "auto" else message.data
        if self.privacy is None:
            reading = Reading(Schema(message.columns), data, how.missing)
            return KeptSite(table, reading, how.targets, self.place, self.mark)
        options: dict[str, Any] = {**vars(how), "data": data}
        if self.privacy.mechanism == "regret":
            from .noisy import NoisySite

            return NoisySite(table, self.privacy, **options)
        from ..privacy.site_release import release_table

        return ReleasedSite(release_table(table, self.privacy, **options)[0])

    def rows(self, columns: Sequence[Column], method: str) -> NDArray[np.float64]:
        """Read the table as numbers, with the columns in this order."""
        from ..data.rows import numeric_rows
        from ..data.schema import Schema

        if not self.bare:
            raise InputError(f"site {self.name!r} keeps a privacy promise, and gives no rows to {method}")
        source: dict[str, Any] = {self.name: self._table}
        rows, names = numeric_rows(source, Schema(tuple(columns)), self._how.missing, method)
        return np.ascontiguousarray(rows[self.name][:, [names.index(column.name) for column in columns]])

    def fingerprint(self) -> str:
        """Identify what the site answers from; it stays here."""
        from ..data.bounded import fingerprint
        from .released import ReleasedSite

        return (
            fingerprint(self._table) if self._table is not None else ReleasedSite(_there(self._release)).fingerprint()
        )

    def check_columns(self, columns: Sequence[Column], data: str = "auto") -> None:
        """Raise unless a run takes the columns as they are here."""
        own = {column.name: column for column in self.card.columns}
        if sorted(own) != sorted(column.name for column in columns):
            raise Refused("the run is about other columns than this site has")
        for column in columns:
            if column.kind != own[column.name].kind:
                raise Refused(
                    f"the run takes the column {column.name!r} as {column.kind}, and it is {own[column.name].kind} "
                    "here: agree on a schema"
                )
            if column.kind == "categorical" and column.levels is None and self.card.promise is None:
                raise Refused(f"the levels of the column {column.name!r} are not declared: agree on a schema")
        if data not in ("auto", self._how.data) and self._how.data != "auto":
            raise Refused(f"the run takes the columns as {data!r}, and this site as {self._how.data!r}")

    def price_ahead(self) -> str:
        """Say what the next run would cost; nothing is drawn or paid."""
        if self._release is not None:
            return "nothing, the release is paid for."
        if self.privacy is None:
            return "no noise is added, so no promise is kept; regrets without noise tell much of a table."
        from ..privacy.site_release import Budget, plan_release

        table = _there(self._table)
        budget = Budget.look(table, self.privacy)
        ledger = budget.ledger
        left = f"ledger: spent {ledger.spent:.4g} of {ledger.ceiling.epsilon:g}."
        if self.privacy.mechanism == "regret":
            return f"at most epsilon {self.privacy.epsilon:g}, delta {self.privacy.delta:g}; {left}"
        options: dict[str, Any] = {"schema": self._how.schema, "data": self._how.data}
        if budget.holds(plan_release(table, self.privacy, **options), self._how.missing):
            return f"nothing, the noise was drawn before; {left}"
        return f"epsilon {self.privacy.epsilon:g}, delta {self.privacy.delta:g}, once; {left}"

    def _check_options(self, required: bool) -> None:
        if self._how.data not in wire.DATA:
            raise InputError(f"the type of data is one of {', '.join(wire.DATA)}; not {self._how.data!r}")
        if self._how.missing not in ("error", "drop"):
            raise InputError(f"missing is error or drop, not {self._how.missing!r}")
        if self._release is not None and (self.privacy is not None or self._how.targets is not None):
            raise InputError(f"site {self.name!r} is a release, and its price and targets are settled; leave them out")
        if required and self.bare:
            raise InputError(f"site {self.name!r} requires privacy, and none is set: give epsilon and bounds")
        if required and self._release is not None and not self._release.private:
            raise InputError(f"site {self.name!r} requires privacy, and its release is NOT PRIVATE: it is of a test")

    def _make_card(self) -> Card:
        """Describe the site by what is declared, and by the kinds of its columns."""
        if self._release is not None:
            return Card(self.name, self._release.schema.columns, _promise(self._release))
        table, how = _there(self._table), self._how
        if self.privacy is not None:
            from ..privacy.bounds import public_schema

            known = public_schema(table.columns, self.privacy.bounds, how.schema, self.name)
            return Card(self.name, known.columns, _promise(self.privacy))
        from .site import _checked_targets

        self._how = replace(how, targets=_checked_targets(how.targets, table.columns, self.name))
        return Card(self.name, _declared(table, how.schema, how.missing))


def _there(value: T | None) -> T:
    assert value is not None
    return value


def _release(source: Any) -> Release | None:
    from os import PathLike

    from ..privacy import Release, is_release, load_release

    if isinstance(source, Release):
        return source
    if isinstance(source, str | PathLike) and is_release(source):
        return load_release(source)
    return None


def _table(source: Any, name: str | None) -> Table:
    from ..data import open_table

    return open_table(source, name)


def _declared(table: Table, schema: Schema | None, missing: Any) -> tuple[Column, ...]:
    """Columns with their kinds, which the table shows, and with levels and bounds only if the schema declares them."""
    from ..data.findings import raise_errors
    from ..data.infer import unify
    from ..data.profile import scan
    from ..data.schema import Column

    found, findings = unify([scan(table, missing, schema=schema)], schema)
    raise_errors(findings)
    return tuple(
        schema[c.name] if schema is not None and c.name in schema else Column(c.name, c.kind) for c in found.columns
    )


def _promise(of: Privacy | Release) -> dict[str, Any]:
    return {
        "mechanism": getattr(of, "mechanism", "statistics"),
        "epsilon": of.epsilon,
        "delta": of.delta,
    }
