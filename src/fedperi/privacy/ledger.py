"""What a site has released of a table, at which price, and what it may still release.

The ledger is a folder ``ledger`` in the site's place: ``ledger.jsonl``, one line of JSON a release, to be read by
people; ``key``, random; ``head``, how long the file is. Every line ends with an HMAC-SHA256, under the key, of itself
and the line before, so that a line that is edited, added, cut out or moved is noticed; the head tells of lines cut off
at the end. This stops accidents and tempting edits. It cannot stop the owner of the disk from deleting the whole
folder, or from putting an old copy of it back: no file can.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from ..errors import InputError
from .accounting import ROUNDING, Price, Totals, positive, probability, spent, total
from .store import Place

FORMAT, VERSION = "fedperi.ledger", 1
_FOLDER = "ledger"
_LINES, _KEY, _HEAD = f"{_FOLDER}/ledger.jsonl", f"{_FOLDER}/key", f"{_FOLDER}/head"


@dataclass(frozen=True)
class Ceiling:
    """The most that a site gives away of one row, over all runs: epsilon at a delta.

    The default, epsilon 10 at delta 1e-6, is no recommendation: it is there so that a site that sets none is still
    stopped somewhere. A site should set its own, from what its law and its patients expect.

    Examples
    --------
    >>> Ceiling(2)
    Ceiling(epsilon=2.0, delta=1e-06)
    """

    epsilon: float = 10.0
    delta: float = 1e-6

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon of a ceiling"))
        object.__setattr__(self, "delta", probability(self.delta, "delta of a ceiling"))


@dataclass(frozen=True)
class Entry:
    """One release: when (UTC), what in words, and its price."""

    when: str
    what: str
    price: Price


@dataclass(frozen=True)
class Ledger:
    """A site's ledger as it was when it was read; `charge` returns a new one.

    Parameters
    ----------
    place : Place
        Where it is kept.
    site, table : str
        Whose it is: the site's name, and the fingerprint of its table, which never leaves this file.
    ceilings : tuple of (str, Ceiling)
        The ceilings that were set, each with its date; the last one holds.
    releases : tuple of Entry
        All that was charged.

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

    @classmethod
    def open(
        cls, place: Place, *, site: str, table: str, ceiling: Ceiling | None = None, raise_ceiling: bool = False
    ) -> Ledger:
        """Read the ledger of a site, or begin one.

        Parameters
        ----------
        place : Place
            Where it is kept.
        site, table : str
            The site's name and its table's fingerprint; a ledger of another site or table is refused.
        ceiling : Ceiling, optional
            Without it, the one in the ledger; in a new ledger, the default. A lower one than in the ledger is recorded
            and holds from now on.
        raise_ceiling : bool
            Whether a ceiling above the one in the ledger is recorded as well, instead of being refused.

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
        with place.locked():
            file = _File.read(place, site)
            if file is None:
                file = _File.create(place, site, table, ceiling or Ceiling())
            ledger = file.ledger(site, table)
            if ceiling is None or ceiling == ledger.ceiling:
                return ledger
            old = ledger.ceiling
            if (ceiling.epsilon > old.epsilon or ceiling.delta > old.delta) and not raise_ceiling:
                raise InputError(
                    f"the ceiling of site {site!r} is {_words(old)}, and {_words(ceiling)} would raise it: keep it, or "
                    "have the site raise it knowingly (`fedperi release --raise-ceiling`), which its ledger records"
                )
            return file.append({"when": _now(), "ceiling": asdict(ceiling)}).ledger(site, table)

    @property
    def ceiling(self) -> Ceiling:
        """The ceiling that holds."""
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
        """Raise if a release at this price would pass the ceiling. Ask before anything is drawn.

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
        """Enter a release, if the ceiling allows it; on the disk for good when this returns.

        The file is read again first, under the lock of the place, so that two processes cannot overspend together. To
        be called *before* the noise is drawn: a crash between the two costs budget, and never privacy.

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
            raise InputError(
                f"what site {self.site!r} releases is called {what!r:.80}: say it in words, for its ledger"
            )
        with self.place.locked():
            file = _File.read(self.place, self.site)
            if file is None:
                raise _damaged(self.place, self.site, "it is gone")
            file.ledger(self.site, self.table).check(price)
            line = {"when": _now(), "what": what, "price": price.to_dict()}
            return file.append(line).ledger(self.site, self.table)

    def summary(self) -> dict[str, Any]:
        """Return all that others may know of the ledger, as JSON values; the table's fingerprint is not among it.

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


@dataclass(frozen=True)
class _File:
    """The three files, read and verified: the site's place, the key, the lines with their marks."""

    place: Place
    key: str
    lines: tuple[str, ...]

    @classmethod
    def create(cls, place: Place, site: str, table: str, ceiling: Ceiling) -> _File:
        header = {"format": FORMAT, "version": VERSION, "site": site, "table": table}
        header |= {"when": _now(), "ceiling": asdict(ceiling)}
        key = secrets.token_hex(32)
        file = cls(place, key, (_sealed(key, "", header),))
        # All at once: were they written one by one, a crash would look like two of three files deleted.
        contents = {_LINES: file.text, _KEY: key + "\n", _HEAD: _head(key, file.lines)}
        place.create(_FOLDER, {path.removeprefix(f"{_FOLDER}/"): text for path, text in contents.items()})
        return file

    @classmethod
    def read(cls, place: Place, site: str) -> _File | None:
        """Read and verify; None if there is no ledger yet. Only under the lock."""
        if not (place.path / _FOLDER).exists():
            return None
        try:
            texts = [place.read(name) for name in (_LINES, _KEY, _HEAD)]
        except InputError as error:
            raise _damaged(place, site, str(error)) from None
        for name, text in zip((_LINES, _KEY, _HEAD), texts, strict=True):
            if text is None:
                raise _damaged(place, site, f"{name} is missing")
        text, key, head = (text or "" for text in texts)
        key, lines = key.removesuffix("\n"), tuple(text.split("\n")[:-1])
        if lines:
            _known_version(lines[0], site)
        previous = ""
        for number, line in enumerate(lines, 1):
            body, mark = _split(line)
            if not hmac.compare_digest(_mark(key, previous, body).encode(), mark.encode("utf-8", "surrogatepass")):
                raise _damaged(place, site, f"line {number} does not carry its mark")
            previous = mark
        file = cls(place, key, lines)
        if not lines or file.text != text:
            raise _damaged(place, site, "its last line is not whole")
        if head != _head(key, lines):
            # A crash between the two writes of `append` leaves one line more than the head knows. It carries its mark,
            # so it was charged: it counts, though what it was charged for may never have been drawn. Whatever else
            # the head says, lines are missing or were added.
            if len(lines) < 2 or head != _head(key, lines[:-1]):
                raise _damaged(place, site, "its length is not the one that was recorded")
            place.write(_HEAD, _head(key, lines))
        return file

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)

    def append(self, body: dict[str, Any]) -> _File:
        longer = _File(self.place, self.key, (*self.lines, _sealed(self.key, _split(self.lines[-1])[1], body)))
        # The lines first: a head without its line would look like a line cut off, a line without its head is a charge.
        self.place.write(_LINES, longer.text)
        self.place.write(_HEAD, _head(self.key, longer.lines))
        return longer

    def ledger(self, site: str, table: str) -> Ledger:
        try:
            header, *bodies = (json.loads(_split(line)[0]) for line in self.lines)
            _same(self.place, header["site"], site, header["table"] == table)
            ceilings = [(b["when"], Ceiling(**b["ceiling"])) for b in (header, *bodies) if "ceiling" in b]
            releases = [Entry(b["when"], b["what"], Price.from_dict(b["price"])) for b in bodies if "price" in b]
        except (KeyError, TypeError, json.JSONDecodeError, RecursionError):  # written by hand, with the key
            raise _damaged(self.place, site, "its lines do not say what they should") from None
        return Ledger(self.place, site, table, tuple(ceilings), tuple(releases))


def _same(place: Place, owner: str, site: str, same_table: bool) -> None:
    """Raise for a ledger of another site or table."""
    where = str(place.path / _FOLDER)
    if owner != site and not place.of_table:
        raise InputError(
            f"the ledger in {where!r} is that of site {owner!r}, not of site {site!r}: give the site the name it had, "
            "or another store"
        )
    if not same_table:
        raise InputError(
            f"the ledger of site {site!r} in {where!r} is that of another table; nothing is released, because for a "
            "person who is in both tables the prices add up: restore the table as it was or, only if no person is in "
            "both, begin a new store"
        )


def _known_version(header: str, site: str) -> None:
    """Raise for a header of another version, whose marks may be made in another way."""
    try:
        values = json.loads(header)
    except (ValueError, RecursionError):
        return
    if isinstance(values, dict) and values.get("format") == FORMAT and values.get("version") != VERSION:
        raise InputError(
            f"the ledger of site {site!r} has version {values.get('version')!r:.20}, and this fedperi reads version "
            f"{VERSION}; nothing is released: use the fedperi that wrote it, or a newer one"
        )


def _sealed(key: str, previous: str, body: dict[str, Any]) -> str:
    text = json.dumps(body, allow_nan=False)
    return f'{text[:-1]}, "mac": "{_mark(key, previous, text)}"}}'


def _split(line: str) -> tuple[str, str]:
    """Undo `_sealed`: the body, and its mark; no mark if the line does not look like one."""
    body, found, mark = line.rpartition(', "mac": "')
    return (body + "}", mark.removesuffix('"}')) if found and mark.endswith('"}') else (line, "")


def _mark(key: str, previous: str, text: str) -> str:
    message = f"{previous}\n{text}".encode("utf-8", "surrogatepass")
    return hmac.new(key.encode("utf-8", "surrogatepass"), message, hashlib.sha256).hexdigest()


def _head(key: str, lines: tuple[str, ...]) -> str:
    body = {"lines": len(lines), "last": _split(lines[-1])[1]}
    return _sealed(key, "head", body) + "\n"


def _damaged(place: Place, site: str, why: str) -> InputError:
    return InputError(
        f"the ledger of site {site!r} in {str(place.path / _FOLDER)!r} is damaged or was edited ({why}); nothing is "
        "released, because what was spent is not known: restore the folder as it was after the last release"
    )


def _words(ceiling: Ceiling) -> str:
    return f"epsilon {ceiling.epsilon:g} at delta {ceiling.delta:g}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
