"""The request that waits for a site's owner: one statement, in words, with its price, on the site's disk.

A decision is valid only for what was shown. Every request has a code, which depends on the table, on how it is read, on
the price, on the coordinator and, if the statement exists already, on every character of it. A site sends only a
statement whose code was approved; if anything changes, the owner must decide again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from ..errors import InputError
from ..strict import Unreadable, pack, unpack
from .log import SiteLog, moment

if TYPE_CHECKING:
    from pathlib import Path

    from ..privacy.store import Place

FILE, FORMAT, VERSION = "approval.json", "fedperi.approval", 1

APPROVED, REFUSED = "approved", "refused"


@dataclass(frozen=True)
class Request:
    """A coordinator's request as the owner sees it; it holds no row and no value of a table.

    Parameters
    ----------
    site : str
        The name of the site.
    asker : str
        The coordinator's address.
    what, price : str
        What would be sent, and its price, in words.
    terms : str
        A digest of the table, of how it is read and, if the statement exists already, of the statement.

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
        """A short hash of this request, which people type in."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode("utf-8", "replace")).hexdigest()[:12]

    def command(self, verb: str, store: Path) -> str:
        """Return the command that decides about this request; it works from any folder."""
        return f"fedperi {verb} {shlex.quote(self.site)} {self.code} --store {shlex.quote(str(store.resolve()))}"


@dataclass(frozen=True)
class Item:
    """A request and its state.

    Parameters
    ----------
    request : Request
        The request.
    run, asked : str
        The run that asked first, and when.
    decision, decided, by : str
        "approved", "refused" or "" (not decided yet); when that was, and by which account.
    sent, digest : str
        When the statement was sent, and the SHA-256 of its text without its signature; empty until then.

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
        """Whether the owner has not decided yet."""
        return not self.decision

    @property
    def stands(self) -> str:
        """The state of the request, in words."""
        if self.sent:
            return f"sent {self.sent}, approved by {self.by} {self.decided}"
        if self.decision == APPROVED:
            return f"approved by {self.by} {self.decided}; it is sent when the coordinator asks again"
        if self.decision == REFUSED:
            return f"refused by {self.by} {self.decided}"
        return f"waiting for a decision since {self.asked}"


def read_item(place: Place) -> Item | None:
    """Return the last request at a site, decided or not; None if there was none.

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
            f"{str(place.path / FILE)!r}, the request that waits for the site's owner, is damaged: delete it, and the "
            "site asks its owner again; nothing is sent"
        ) from None
    return item


def keep_item(place: Place, item: Item) -> None:
    """Write a request in place of the last one; it is on the disk for good when this returns."""
    place.write(FILE, pack(FORMAT, VERSION, {**asdict(item), "code": item.request.code}))


def items(root: Path) -> Iterator[tuple[Place, Item]]:
    """Find the last request of every site and table in a store."""
    from ..privacy.store import Place, explained

    with explained(root):
        folders = sorted(path for path in root.iterdir() if path.is_dir()) if root.exists() else []
    for folder in folders:
        place = Place(folder)
        item = read_item(place)
        if item is not None:
            yield place, item


def decide(place: Place, code: str, decision: str, by: str) -> Item:
    """Record the owner's decision about the request with this code; it may be changed until the statement is sent.

    Raises
    ------
    InputError
        If another request waits there now, or the statement has been sent.

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
            other = "none waits at all" if item is None else f"the one that waits has the code {item.request.code}"
            raise InputError(
                f"no request with the code {code!r} waits; {other}. What would be sent has changed, or the code is "
                "mistyped: look again (`fedperi pending`)"
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
    """Raise if this is not the site's account: the site could not read the files that another account writes."""
    if hasattr(os, "geteuid") and place.path.exists() and place.path.stat().st_uid != os.geteuid():
        raise InputError(
            f"{str(place.path)!r} belongs to the account under which the site runs: decide as that account, as in "
            "`sudo -u fedperi fedperi approve ...`"
        )
