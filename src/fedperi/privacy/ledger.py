"""The ledger: what a site has released about a table, at which price, and what it may still release.

The ledger is a folder ``ledger`` in the site's place. It has ``ledger.jsonl``, one readable line of JSON per release;
``key``, random; ``head``, the length of the file. Every line ends with an HMAC-SHA256 with this key of itself and the
line before, so that edited, added, removed or moved lines are noticed; the head shows if lines at the end were removed.
Ledgers of the same table under other names in the same store count as one, with one ceiling.

This prevents accidents and simple manipulation. Nothing on a disk can stop its owner from deleting the whole place,
from restoring an old copy, or from using another store.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..errors import InputError
from .accounting import ROUNDING, Price, Totals, spent, total
from .ledger_file import Ceiling, Entry, LedgerFile, account, damaged
from .store import Place

__all__ = ["Ceiling", "Entry", "Ledger"]


@dataclass(frozen=True)
class Ledger:
    """A site's ledger as it was when it was read; `charge` returns a new one.

    Parameters
    ----------
    place : Place
        Place in the store.
    site, table : str
        The site's name, and the fingerprint of its table, which never leaves this file.
    ceilings : tuple of (str, Ceiling)
        The ceilings that were set, each with its date; the last one is in force.
    releases : tuple of Entry
        All charges, under any name that the table had in this store.
    elsewhere : tuple of Place
        Places of the same table under other names.

    Examples
    --------
    >>> import tempfile
    >>> from fedperi.privacy.store import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Store(folder).place("h1", "0" * 64)
    ...     ledger = Ledger.open(place, site="h1", table="0" * 64, ceiling=Ceiling(1))
    ...     ledger = ledger.charge(Price(0.4, 0.0, laplace=(0.4, 1)), "one number")
    >>> ledger.spent, ledger.remaining
    (0.4, 0.6)
    """

    place: Place
    site: str
    table: str
    ceilings: tuple[tuple[str, Ceiling], ...]
    releases: tuple[Entry, ...] = ()
    elsewhere: tuple[Place, ...] = ()

    @classmethod
    def open(
        cls, place: Place, *, site: str, table: str, ceiling: Ceiling | None = None, raise_ceiling: bool = False
    ) -> Ledger:
        """Read the ledger of a site, or begin one.

        Parameters
        ----------
        place : Place
            Place in the store.
        site, table : str
            The site's name and its table's fingerprint; a ledger of another site or table is refused.
        ceiling : Ceiling, optional
            If not given, the one that the table has in this store; for a new table, the default. A lower ceiling is
            recorded and is in force from now on.
        raise_ceiling : bool
            Whether a ceiling above the one in the ledger is recorded too, instead of being refused.

        Examples
        --------
        >>> import tempfile
        >>> from fedperi.privacy.store import Store
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     place = Store(folder).place("h1", "0" * 64)
        ...     first = Ledger.open(place, site="h1", table="0" * 64, ceiling=Ceiling(1))
        ...     Ledger.open(place, site="h1", table="0" * 64, ceiling=Ceiling(2))
        Traceback (most recent call last):
        ...
        fedperi.errors.InputError: the ceiling of site 'h1' is epsilon 1 at delta 1e-06, and epsilon 2 at delta 1e-06
        would raise it: keep it, or have the site raise it knowingly (`fedperi release --raise-ceiling`), ...
        """
        with place.store_locked():
            own, files = account(place, site, table)
            old = _strictest(files) if files else None
            new = ceiling or old or Ceiling()
            if old is not None and (new.epsilon > old.epsilon or new.delta > old.delta) and not raise_ceiling:
                raise InputError(
                    f"the ceiling of site {site!r} is {_words(old)}, and {_words(new)} would raise it: keep it, or "
                    "have the site raise it knowingly (`fedperi release --raise-ceiling`), which its ledger records"
                )
            if new != old:  # in every ledger of the table: all names have one ceiling
                files = tuple(file.limited(new) for file in files)
            if own is None:
                files = (LedgerFile.create(place, site, table, new), *files)
            return _ledger(files, site, table, place)

    @classmethod
    def look(cls, place: Place, *, site: str, table: str) -> Ledger | None:
        """Read what a store has about a table, without creating anything; None if there is nothing.

        Examples
        --------
        >>> from fedperi.privacy.store import Store
        >>> Ledger.look(Store("nowhere").place("h1", "0" * 64), site="h1", table="0" * 64) is None
        True
        """
        if not place.path.exists() and not place.neighbours(table):
            return None
        with place.store_locked():
            files = account(place, site, table)[1]
            return _ledger(files, site, table, place) if files else None

    @property
    def ceiling(self) -> Ceiling:
        """The ceiling in force."""
        return self.ceilings[-1][1]

    @property
    def spent(self) -> float:
        """Epsilon of all releases together, at the ceiling's delta (see `fedperi.privacy.accounting.spent`)."""
        return spent(self._prices, self.ceiling.delta)

    @property
    def remaining(self) -> float:
        """Epsilon left below the ceiling, at its delta."""
        return max(0.0, self.ceiling.epsilon - self.spent)

    def totals(self) -> Totals:
        """Add up all releases, at the ceiling's delta."""
        return total(self._prices, self.ceiling.delta)

    @property
    def _prices(self) -> tuple[Price, ...]:
        return tuple(entry.price for entry in self.releases)

    def check(self, price: Price) -> None:
        """Raise if a release at this price would exceed the ceiling. Call it before anything is drawn.

        Examples
        --------
        >>> from fedperi.privacy.store import Store
        >>> ledger = Ledger(Store("x").place("h1", "0" * 64), "h1", "0" * 64, (("2026-11-16", Ceiling(1)),))
        >>> ledger.check(Price(1.0, 0.0, laplace=(1.0, 1)))
        """
        then = spent((*self._prices, price), self.ceiling.delta)
        if then > self.ceiling.epsilon * (1 + ROUNDING):
            raise InputError(
                f"site {self.site!r} has spent epsilon {self.spent:.4g}; a release at epsilon {price.epsilon:.4g}, "
                f"delta {price.delta:.4g} would bring it to {then:.4g}, above its ceiling of {_words(self.ceiling)}; "
                "nothing is released: ask for less, use what was released before, or have the site raise its ceiling"
            )

    def charge(self, price: Price, what: str) -> Ledger:
        """Add a release, if the ceiling allows it; it is safely on the disk when this returns.

        The files are read again first, with the lock of the store, so that two processes cannot overspend together.
        Call it *before* the noise is drawn: a crash between the two costs budget, but never privacy.

        Examples
        --------
        >>> import tempfile
        >>> from fedperi.privacy.store import Store
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     place = Store(folder).place("h1", "0" * 64)
        ...     ledger = Ledger.open(place, site="h1", table="0" * 64)
        ...     ledger.charge(Price(1.0, 0.0, laplace=(1.0, 1)), "one number").releases[0].what
        'one number'
        """
        if not isinstance(what, str) or not what.strip():
            raise InputError(f"the ledger of site {self.site!r} needs words for what is released, not {what!r:.80}")
        with self.place.store_locked():
            own, files = account(self.place, self.site, self.table)
            if own is None:
                raise damaged(self.place, self.site, "it is gone")
            _ledger(files, self.site, self.table, self.place).check(price)
            return _ledger((own.charged(price, what), *files[1:]), self.site, self.table, self.place)

    def summary(self) -> dict[str, Any]:
        """Return all that others may know about the ledger, as JSON values; it excludes the table's fingerprint.

        Examples
        --------
        >>> from fedperi.privacy.store import Store
        >>> ledger = Ledger(Store("x").place("h1", "0" * 64), "h1", "0" * 64, (("2026-11-16", Ceiling(1)),))
        >>> {key: value for key, value in ledger.summary().items() if key != "totals"}
        {'site': 'h1', 'ceiling': {'epsilon': 1.0, 'delta': 1e-06},
         'ceilings': [{'when': '2026-11-16', 'epsilon': 1.0, 'delta': 1e-06}],
         'releases': [], 'spent': 0.0, 'remaining': 1.0}
        """
        return {
            "site": self.site,
            "ceiling": asdict(self.ceiling),
            "ceilings": [{"when": when, **asdict(ceiling)} for when, ceiling in self.ceilings],
            "releases": [{"when": e.when, "what": e.what, "price": e.price.to_dict()} for e in self.releases],
            "totals": self.totals().to_dict(),
            "spent": self.spent,
            "remaining": self.remaining,
        }


def _ledger(files: tuple[LedgerFile, ...], site: str, table: str, place: Place) -> Ledger:
    """Add up all ledgers of one table."""
    ceilings = [one for file in files for one in file.ceilings]
    releases = [one for file in files for one in file.releases]
    if len(files) > 1:
        ceilings = sorted(dict.fromkeys(ceilings), key=lambda one: one[0])
        releases = sorted(releases, key=lambda one: one.when)
    strictest = _strictest(files)
    if ceilings[-1][1] != strictest:  # ledgers of version 0.1 each had their own ceiling
        ceilings.append((ceilings[-1][0], strictest))
    elsewhere = tuple(file.place for file in files if file.place != place)
    return Ledger(place, site, table, tuple(ceilings), tuple(releases), elsewhere)


def _strictest(files: tuple[LedgerFile, ...]) -> Ceiling:
    last = [file.ceilings[-1][1] for file in files]
    return Ceiling(min(one.epsilon for one in last), min(one.delta for one in last))


def _words(ceiling: Ceiling) -> str:
    return f"epsilon {ceiling.epsilon:g} at delta {ceiling.delta:g}"
