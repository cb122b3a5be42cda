"""A table's release is drawn once: if it is asked for again, it has the same noise and costs nothing more."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...tables.bounded import fingerprint
from ...tables.checks.profile import Missing
from ...tables.embedding import Data
from ...tables.infer import SchemaLike, as_schema
from ...tables.preparing.prepared import prepared, refuse_under_noise
from ...tables.table import Source, Table, open_table
from ..bounds import public_schema
from ..ledger import Ceiling, Ledger
from ..options import Privacy
from ..store import Place, Store
from .draw import TrueCounts, count_rows, draw_release
from .file import read_release, write_release
from .release import DEGREE, Plan, Release

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Budget:
    """A site's place on its disk, and its ledger there."""

    place: Place
    ledger: Ledger

    @classmethod
    def of(cls, table: Table, privacy: Privacy) -> Budget:
        """Find the place and the ledger of a table, or begin them."""
        identity = fingerprint(table)
        place = Store(privacy.store).place(table.name, identity)
        return cls(place, Ledger.open(place, site=table.name, table=identity, ceiling=_ceiling(privacy)))

    @classmethod
    def look(cls, table: Table, privacy: Privacy) -> Budget:
        """Read the ledger for a dry run: nothing is created, and no ceiling changed."""
        identity, asked = fingerprint(table), _ceiling(privacy)
        place = Store(privacy.store).place(table.name, identity)
        ledger = Ledger.look(place, site=table.name, table=identity)
        if ledger is None:
            return cls(place, Ledger(place, table.name, identity, (("", asked or Ceiling()),)))
        if asked is not None and asked.epsilon > ledger.ceiling.epsilon:
            raise InputError(
                f"a ceiling of {asked.epsilon:g} is above the {ledger.ceiling.epsilon:g} of site {table.name!r}, which "
                "its ledger keeps; ask for less, or let the site raise it (fedperi release --raise-ceiling)"
            )
        return cls(place, ledger if asked is None else replace(ledger, ceilings=(*ledger.ceilings, ("", asked))))

    def holds(self, plan: Plan, missing: Missing) -> bool:
        """Whether the release was drawn before, so that it costs nothing now."""
        return self.kept(_key(plan, missing)) is not None

    def kept(self, key: str) -> str | None:
        """Return the text kept under a key, here or under another name of the table; None if there is none."""
        texts = (place.kept(key) for place in (self.place, *self.ledger.elsewhere))
        return next((text for text in texts if text is not None), None)

    def again(self) -> Budget:
        """Read the ledger again: another process may have charged it meanwhile."""
        ledger = self.ledger
        return replace(self, ledger=Ledger.open(self.place, site=ledger.site, table=ledger.table))


def plan_release(
    source: Source,
    privacy: Privacy,
    *,
    schema: SchemaLike | None = None,
    data: Data = "auto",
    name: str | None = None,
) -> Plan:
    """Plan a release and its price; only the names of the columns are read.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi import Privacy
    >>> plan = plan_release(pd.DataFrame({"a": [1.5, 2.5]}), Privacy(1.0, bounds={"a": (0, 10)}))
    >>> round(plan.price.rho, 4), plan.limit
    (0.0244, 0.75)
    """
    declared = as_schema(schema)
    refuse_under_noise(declared)
    table = prepared(open_table(source, name), declared)
    known = public_schema(table.columns, privacy.bounds, declared, table.name)
    return Plan.of(known, data, privacy.epsilon, privacy.delta, privacy.decimal)


def release_table(
    source: Source,
    privacy: Privacy,
    *,
    schema: SchemaLike | None = None,
    data: Data = "auto",
    missing: Missing = "error",
    name: str | None = None,
    targets: Iterable[str] | None = None,
) -> tuple[Release, TrueCounts | None]:
    """Release a table's noisy moments: from the site's store if they exist, else new ones if the ledger allows.

    Parameters
    ----------
    source : DataFrame, path of a CSV or Parquet file, or Table
    privacy : Privacy
        The price, the public bounds, the ceiling, the store.
    schema, data, name
        As in `fedperi.tables.summarize`.
    missing : {"error", "drop"}
        "drop" leaves out rows with an unreadable cell; otherwise such a cell counts as its column's public default.
        `fedperi.privacy.owner.owner_findings` says how many there are.
    targets : iterable of str, optional
        Variables that the site declares as targets of interventions.

    Returns
    -------
    release : Release
    true_counts : TrueCounts or None
        Secrets of the site; None if the release was drawn before.

    Raises
    ------
    InputError
        Before anything is drawn: bounds missing, budget exhausted, ledger damaged or of another table. Never because of
        the contents of rows: see `fedperi.tables.readers.private`.

    Examples
    --------
    >>> import os, tempfile
    >>> import fedperi as fp
    >>> table = fp.simulate(3, clients=2, samples=500, seed=1).sites[0]
    >>> with tempfile.TemporaryDirectory() as place:
    ...     privacy = fp.Privacy(1.0, bounds=dict.fromkeys(table.columns, (-5, 5)), store=place)
    ...     first, _ = release_table(table, privacy)
    ...     again, _ = release_table(table, privacy)
    >>> (first.moments == again.moments).all()
    np.True_
    """
    return prepare_release(
        source, privacy, schema=schema, data=data, missing=missing, name=name, targets=targets
    ).draw()


def prepare_release(
    source: Source,
    privacy: Privacy,
    *,
    schema: SchemaLike | None = None,
    data: Data = "auto",
    missing: Missing = "error",
    name: str | None = None,
    targets: Iterable[str] | None = None,
) -> PreparedRelease:
    """Do everything that can fail before a release, so that either all sites of a run are charged or none."""
    table = open_table(source, name)
    plan = plan_release(table, privacy, schema=schema, data=data)
    declared = None if targets is None else tuple(targets)
    if privacy.test_seed is not None:
        return PreparedRelease(table, plan, privacy, missing, declared, None, count_rows(table, plan, missing)[0])
    budget = Budget.of(table, privacy)
    counts: dict[str, Integers] = {}
    if not budget.holds(plan, missing):
        budget.ledger.check(plan.price)
        counts = count_rows(table, plan, missing)[0]
    return PreparedRelease(table, plan, privacy, missing, declared, budget, counts)


@dataclass(frozen=True)
class PreparedRelease:
    """A release that has passed all checks and is not yet drawn."""

    table: Table
    plan: Plan
    privacy: Privacy
    missing: Missing
    targets: tuple[str, ...] | None
    budget: Budget | None
    counts: dict[str, Integers]

    @property
    def kept(self) -> bool:
        """Whether it was drawn before, so that it costs nothing now."""
        return self.budget is not None and self.budget.holds(self.plan, self.missing)

    def draw(self) -> tuple[Release, TrueCounts | None]:
        """Return the earlier release if there is one; else charge the ledger, draw a release, and keep it."""
        if self.budget is None:  # in a test: nothing is private, nothing is kept
            return self._draw()
        place, key = self.budget.place, _key(self.plan, self.missing)
        with place.locked():
            budget = self.budget.again()
            kept = budget.kept(key)
            if kept is not None:
                drawn = self._kept(kept)
                if place.kept(key) is None:  # drawn under another name: copy it to this place
                    place.keep(key, kept)
                # The table may have had another name, or other declared targets.
                ledger = budget.ledger.summary()
                return replace(drawn, site=self.table.name, targets=self.targets, ledger=ledger), None
            # Charged before it is drawn: a crash in between costs budget, but never privacy.
            charged = self.budget.ledger.charge(self.plan.price, "noisy moments of the table")
            drawn, true_counts = self._draw()
            release = replace(drawn, ledger=charged.summary())
            place.keep(key, write_release(release))
        return release, true_counts

    def _kept(self, text: str) -> Release:
        assert self.budget is not None
        try:
            return read_release(text, "it")
        except InputError as error:
            raise InputError(
                f"the release of site {self.table.name!r} that was kept in {str(self.budget.place.path)!r} is damaged "
                f"({error}), and another one would cost its price again; restore the folder from a backup. Nothing is "
                "released"
            ) from None

    def _draw(self) -> tuple[Release, TrueCounts]:
        noise = self.privacy.noise(self.table.name)
        return draw_release(self.table, self.plan, self.counts, noise, self.missing, self.targets)


def _ceiling(privacy: Privacy) -> Ceiling | None:
    return None if privacy.ceiling is None else Ceiling(privacy.ceiling)


def _key(plan: Plan, missing: Missing) -> str:
    """Return everything on which a release depends, except the rows."""
    columns = [[column.name, column.kind, column.levels, column.bounds] for column in plan.schema.columns]
    settled = ["statistics", 1, plan.epsilon, plan.delta, plan.data, DEGREE, missing, columns]
    return json.dumps(settled if plan.decimal is None else [*settled, plan.decimal], sort_keys=True)
