"""The three files of a ledger: one line of JSON per release, chained by codes with a key; the key; the length.

A store may have several ledgers of one table, one for each name of the table. They are one account: `account` finds
them all.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from ..errors import InputError
from ..strict import Unreadable, read_json, write_json
from .accounting import Price
from .store import Place
from .zcdp import positive, probability

FORMAT, VERSION = "fedperi.ledger", 1
FOLDER = "ledger"
_LINES, _KEY, _HEAD = f"{FOLDER}/ledger.jsonl", f"{FOLDER}/key", f"{FOLDER}/head"
_RELEASE = '{\n  "format": "fedperi.release"'  # how a kept release begins


@dataclass(frozen=True)
class Ceiling:
    """The largest privacy loss of one row that a site accepts, over all runs: epsilon at a delta.

    The default, epsilon 10 at delta 1e-6, is not a recommendation: it only ensures that a site without its own ceiling
    has a limit. A site should set its own, according to its law and the expectations of its patients.

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
class LedgerFile:
    """A ledger on the disk, read and verified: its place, the key, the lines with their codes, and what these say."""

    place: Place
    key: str
    lines: tuple[str, ...]
    bodies: tuple[dict[str, Any], ...]

    @classmethod
    def create(cls, place: Place, site: str, table: str, ceiling: Ceiling) -> LedgerFile:
        """Begin a ledger."""
        header = {"format": FORMAT, "version": VERSION, "site": site, "table": table}
        header |= {"when": now(), "ceiling": asdict(ceiling)}
        key = secrets.token_hex(32)
        file = cls(place, key, (_sealed(key, "", header),), (header,))
        # All at once: otherwise after a crash it would look as if some of the three files had been deleted.
        contents = {_LINES: file.text, _KEY: key + "\n", _HEAD: _head(key, file.lines)}
        place.create(FOLDER, {path.removeprefix(f"{FOLDER}/"): text for path, text in contents.items()})
        return file

    @classmethod
    def read(cls, place: Place, site: str) -> LedgerFile | None:
        """Read and verify; None if there is no ledger yet. Only under the lock."""
        if not (place.path / FOLDER).exists():
            return None
        text, key, head = _texts(place, site)
        key, lines = key.removesuffix("\n"), tuple(text.split("\n")[:-1])
        if lines:
            _known_version(lines[0], site)
        previous = ""
        for number, line in enumerate(lines, 1):
            body, mac = _split(line)
            if not hmac.compare_digest(_mac(key, previous, body).encode(), mac.encode("utf-8", "surrogatepass")):
                raise damaged(place, site, f"line {number} does not carry its code")
            previous = mac
        if not lines or "".join(f"{line}\n" for line in lines) != text:
            raise damaged(place, site, "its last line is not whole")
        if head != _head(key, lines):
            # A crash between the two writes of `_append` leaves one line more than the head says. The line has a valid
            # code, so it was charged: it counts, even if nothing was drawn for it. With any other difference, lines are
            # missing or were added.
            if len(lines) < 2 or head != _head(key, lines[:-1]):
                raise damaged(place, site, "its length is not the one that was recorded")
            place.write(_HEAD, _head(key, lines))
        return cls(place, key, lines, _bodies(place, site, lines))

    @property
    def text(self) -> str:
        """The file of lines."""
        return "".join(f"{line}\n" for line in self.lines)

    @property
    def site(self) -> str:
        """The name under which the ledger was begun."""
        return str(self.bodies[0]["site"])

    @property
    def table(self) -> str:
        """The fingerprint of the table."""
        return str(self.bodies[0]["table"])

    @property
    def ceilings(self) -> tuple[tuple[str, Ceiling], ...]:
        """The ceilings that were set, each with its date."""
        return tuple((body["when"], Ceiling(**body["ceiling"])) for body in self.bodies if "ceiling" in body)

    @property
    def releases(self) -> tuple[Entry, ...]:
        """All charges."""
        priced = (body for body in self.bodies if "price" in body)
        return tuple(Entry(body["when"], body["what"], Price.from_dict(body["price"])) for body in priced)

    def charged(self, price: Price, what: str) -> LedgerFile:
        """Add a release."""
        return self._append({"when": now(), "what": what, "price": price.to_dict()})

    def limited(self, ceiling: Ceiling) -> LedgerFile:
        """Add a ceiling."""
        return self._append({"when": now(), "ceiling": asdict(ceiling)})

    def _append(self, body: dict[str, Any]) -> LedgerFile:
        lines = (*self.lines, _sealed(self.key, _split(self.lines[-1])[1], body))
        longer = LedgerFile(self.place, self.key, lines, (*self.bodies, body))
        # Lines first: a head without its line would look like a removed line; a line without its head is a charge.
        self.place.write(_LINES, longer.text)
        self.place.write(_HEAD, _head(self.key, longer.lines))
        return longer


def account(place: Place, site: str, table: str) -> tuple[LedgerFile | None, tuple[LedgerFile, ...]]:
    """Read the ledger of a site, and all ledgers of its table in the store, its own first. Only under the lock.

    Raises
    ------
    InputError
        If one of them is damaged, or was deleted while its releases still exist: it is then not known what was spent,
        nor to which table a deleted ledger belonged.
    """
    own = LedgerFile.read(place, site)
    if own is not None:
        _check_same(own, site, table)
    elif place.keeps(_RELEASE):
        raise _deleted(place, site)
    files = [] if own is None else [own]
    for other in place.neighbours(table):
        file = LedgerFile.read(other, site)
        if file is None and other.keeps(_RELEASE):
            raise _deleted(other, site)
        if file is not None and file.table == table:
            files.append(file)
    return own, tuple(files)


def _check_same(file: LedgerFile, site: str, table: str) -> None:
    """Raise for a ledger of another site or table."""
    where = str(file.place.path / FOLDER)
    if file.site != site and not file.place.of_table:
        raise InputError(
            f"the ledger in {where!r} is that of site {file.site!r}, not of site {site!r}: give the site the name it "
            "had, or another store"
        )
    if file.table != table:
        raise InputError(
            f"the ledger of site {site!r} in {where!r} is that of another table; nothing is released, because for a "
            "person who is in both tables the prices add up: restore the table as it was or, only if no person is in "
            "both, begin a new store"
        )


def damaged(place: Place, site: str, why: str) -> InputError:
    """Return the error for a ledger that is not reliable."""
    return InputError(
        f"the ledger of site {site!r} in {str(place.path / FOLDER)!r} is damaged or was edited ({why}); nothing is "
        "released, because what was spent is not known: restore the folder as it was after the last release"
    )


def _deleted(place: Place, site: str) -> InputError:
    return InputError(
        f"site {site!r}: {str(place.path)!r} keeps a release that was paid for, and has no ledger; nothing is "
        f"released, because what was spent is not known: restore the folder {FOLDER!r} there from a backup. If there "
        "is none, add up what was released in all results so far, move the folder away, and set --ceiling to what "
        "remains"
    )


def now() -> str:
    """Return the time as ledgers write it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _texts(place: Place, site: str) -> list[str]:
    found = []
    for name in (_LINES, _KEY, _HEAD):
        try:
            text = place.read(name)
        except InputError as error:
            raise damaged(place, site, str(error)) from None
        if text is None:
            raise damaged(place, site, f"{name} is missing")
        found.append(text)
    return found


def _bodies(place: Place, site: str, lines: tuple[str, ...]) -> tuple[dict[str, Any], ...]:
    """Return the contents of the lines, after checking that all of them are usable."""
    try:
        bodies = tuple(read_json(_split(line)[0]) for line in lines)
        file = LedgerFile(place, "", lines, bodies)
        if isinstance(bodies[0]["site"], str) and isinstance(bodies[0]["table"], str) and file.ceilings:
            _ = file.releases
            return bodies
    except (Unreadable, InputError, KeyError, TypeError):  # someone with the key wrote it by hand
        pass
    raise damaged(place, site, "its lines do not say what they should")


def _known_version(header: str, site: str) -> None:
    """Raise for a header of another version, whose codes may be made in another way."""
    try:
        values = read_json(header)
    except Unreadable:
        return
    if isinstance(values, dict) and values.get("format") == FORMAT and values.get("version") != VERSION:
        raise InputError(
            f"the ledger of site {site!r} has version {values.get('version')!r:.20}, and this fedperi reads version "
            f"{VERSION}; nothing is released: use the fedperi that wrote it, or a newer one"
        )


def _sealed(key: str, previous: str, body: dict[str, Any]) -> str:
    text = write_json(body)
    return f'{text[:-1]}, "mac": "{_mac(key, previous, text)}"}}'


def _split(line: str) -> tuple[str, str]:
    """Undo `_sealed`: the body, and its code; no code if the line does not look like one."""
    body, found, mac = line.rpartition(', "mac": "')
    return (body + "}", mac.removesuffix('"}')) if found and mac.endswith('"}') else (line, "")


def _mac(key: str, previous: str, text: str) -> str:
    message = f"{previous}\n{text}".encode("utf-8", "surrogatepass")
    return hmac.new(key.encode("utf-8", "surrogatepass"), message, hashlib.sha256).hexdigest()


def _head(key: str, lines: tuple[str, ...]) -> str:
    body = {"lines": len(lines), "last": _split(lines[-1])[1]}
    return _sealed(key, "head", body) + "\n"
