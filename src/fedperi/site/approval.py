"""What waits for a site's owner: one statement, in words, with its price, on the site's disk until somebody decides.

The decision holds for exactly what was shown. What is shown has a code, which depends on the table, on how it is read,
on the price, on who asks and, where it is made already, on every character of the statement. A site sends only what
has the code that was approved; if any of this changes, the owner is asked again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..strict import Unreadable, pack, unpack
from .log import SiteLog

if TYPE_CHECKING:
    from pathlib import Path

    from ..privacy.store import Place

FILE, FORMAT, VERSION = "approval.json", "fedperi.approval", 1

APPROVED, REFUSED = "approved", "refused"


@dataclass(frozen=True)
class Request:
    """What a coordinator asks for and a site would send, as its owner sees it; no row and no value of one.

    Parameters
    ----------
    site : str
        The site.
    asker : str
        Where the coordinator is.
    what, price : str
        What would be sent, and what it costs, in words.
    terms : str
        A digest of the table, of how it is read and, if it is made already, of the statement itself.

    Examples
    --------
    >>> one = Request("north", "host:9092", "one statement", "epsilon 1", "0" * 64)
    >>> len(one.code), one.code == replace(one, price="epsilon 2").code
    (12, False)
    """

    site: str
    asker: str
    what: str
    price: str
    terms: str

    @property
    def code(self) -> str:
        """A short name of exactly this, for a person to repeat."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode("utf-8", "replace")).hexdigest()[:12]

    def command(self, verb: str, store: Path) -> str:
        """Write the command that decides about exactly this, wherever it is given."""
        return f"fedperi {verb} {shlex.quote(self.site)} {self.code} --store {shlex.quote(str(store.resolve()))}"


@dataclass(frozen=True)
class Item:
    """A request, and what became of it.

    Parameters
    ----------
    request : Request
        What was asked for.
    run, asked : str
        The run that asked first, and when.
    decision, decided, by : str
        "approved", "refused" or, so far, ""; when that was, and by which account.
    sent, digest : str
        When the statement was handed over, and the SHA-256 of its text without its signature; empty until then.

    Examples
    --------
    >>> Item(Request("north", "host:9092", "one statement", "epsilon 1", "0" * 64), "r1", "2026-11-18").waits
    True
    """

    request: Request
    run: str
    asked: str
    decision: str = ""
    decided: str = ""
    by: str = ""
    sent: str = ""
    digest: str = ""

    @property
    def waits(self) -> bool:
        """Whether the owner is to decide."""
        return not self.decision

    @property
    def stands(self) -> str:
        """How things stand, in words."""
        if self.sent:
            return f"sent {self.sent}, approved by {self.by} {self.decided}"
        if self.decision == APPROVED:
            return f"approved by {self.by} {self.decided}; it is sent when the coordinator asks again"
        if self.decision == REFUSED:
            return f"refused by {self.by} {self.decided}"
        return f"waits for a decision since {self.asked}"


def read_item(place: Place) -> Item | None:
    """Return what waits at a site, or waited last; None if nothing ever did.

    Examples
    --------
    >>> from fedperi.privacy.store import Store
    >>> read_item(Store("nowhere").place("north", "0" * 64)) is None
    True
    """
    text = place.read(FILE)
    if text is None:
        return None
    try:
        values = unpack(text, FORMAT, VERSION)
        code, request = values.pop("code"), Request(**values.pop("request"))
        item = Item(request, **values)
        if code != request.code or not all(isinstance(value, str) for value in values.values()):
            raise ValueError("code")
        if item.decision not in ("", APPROVED, REFUSED) or (item.sent and item.decision != APPROVED):
            raise ValueError("decision")
    except (Unreadable, ValueError, KeyError, TypeError):
        raise InputError(
            f"{str(place.path / FILE)!r}, what waits for the site's owner, is damaged: delete it, and the site asks "
            "its owner again; nothing is sent"
        ) from None
    return item


def keep_item(place: Place, item: Item) -> None:
    """Write an item in place of what was there; on the disk for good when this returns."""
    values: dict[str, Any] = asdict(item) | {"code": item.request.code}
    place.write(FILE, pack(FORMAT, VERSION, values))


def items(root: Path) -> Iterator[tuple[Place, Item]]:
    """Find all that waits, or waited, in a store: of every site and table that is kept there."""
    from ..privacy.store import Place, explained

    with explained(root):
        folders = sorted(path for path in root.iterdir() if path.is_dir()) if root.exists() else []
    for folder in folders:
        place = Place(folder)
        item = read_item(place)
        if item is not None:
            yield place, item


def decide(place: Place, code: str, decision: str, by: str) -> Item:
    """Enter the owner's decision about what has this code; until it is sent, it may be changed.

    Raises
    ------
    InputError
        If something else waits there by now, or the statement has been sent.

    Examples
    --------
    >>> import tempfile
    >>> from fedperi.privacy.store import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Store(folder).place("north", "0" * 64)
    ...     item = Item(Request("north", "host:9092", "one statement", "epsilon 1", "0" * 64), "r1", "2026-11-18")
    ...     keep_item(place, item)
    ...     decide(place, item.request.code, APPROVED, "ann").waits
    False
    """
    _check_account(place)
    with place.locked():
        item = read_item(place)
        if item is None or item.request.code != code:
            waits = "nothing" if item is None else f"{item.request.code}"
            raise InputError(
                f"the code {code!r} is not what waits now, which is {waits}: what would be sent has changed, or the "
                "code is mistyped; look again (`fedperi pending`)"
            )
        if item.sent:
            raise InputError(
                f"the statement of site {item.request.site!r} was sent {item.sent}: it cannot be called back"
            )
        decided = replace(item, decision=decision, decided=moment(), by=by)
        SiteLog(place.path / "log.txt").write(item.run, f"{decision} by {by}: the statement with the code {code}.")
        keep_item(place, decided)
    return decided


def _check_account(place: Place) -> None:
    """Raise for an account that may write here and is not the site's: the site could not read what it writes."""
    if hasattr(os, "geteuid") and place.path.exists() and place.path.stat().st_uid != os.geteuid():
        raise InputError(
            f"{str(place.path)!r} belongs to another account, under which the site runs: decide as that account, as in "
            "`sudo -u fedperi fedperi approve ...`"
        )


def moment() -> str:
    """The time, as the site's log writes it."""
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
