"""A site that is asked for its one statement: it sends it, refuses, or waits until its owner has decided.

The owner may decide at once, at a terminal (`ask_people`), or later, by a command (`OwnerDesk`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...protocol import wire
from ...protocol.fields import Refused
from ...protocol.policy import SitePolicy
from ...protocol.requests import Stating
from ...protocol.wire import Record
from ..approval import APPROVED, REFUSED, Item, Request, keep_item, moment, read_item
from .stating import kept_statement, statement_text, statement_words

if TYPE_CHECKING:
    from .source import AnswerSource

NOT_APPROVED = "the people at this site did not approve it"


class StatementSide:
    """Gives a site's statement.

    Parameters
    ----------
    held : AnswerSource
        The table or release.
    policy : SitePolicy
        What is allowed.
    key : callable, optional
        Returns the private key that signs the statement now.
    ask_people : callable, optional
        Gets a run, what is about to be sent and a function that says the price; raises if it may not be.
    asker : str, optional
        Where the coordinator is, if the owner decides later.
    """

    def __init__(
        self,
        held: AnswerSource,
        policy: SitePolicy,
        key: Callable[[], Any] | None,
        ask_people: Callable[[str, str, Callable[[], str]], None] | None,
        asker: str | None,
    ) -> None:
        self._held, self._policy, self._key, self._ask_people = held, policy, key, ask_people
        self._desk = desk = None if asker is None else OwnerDesk(held, asker)
        self.stated = False
        if desk is not None and (policy.channel == "regrets" or policy.methods):
            raise InputError(
                f"site {held.name!r}: the owner can approve one statement later, and not the answers of a run: leave "
                "--approve-later out (--approve asks at the terminal), or use --channel release or moments without "
                "--allow"
            )

    def state(self, message: Stating) -> tuple[Record, str]:
        """Answer ``state``; the words for the log are empty where nothing has changed since it was asked before."""
        self._policy.check_statement()
        self._held.check_columns(message.columns)
        if self._desk is not None and self._desk.waits_still(message.run):
            return wire.pending(), ""
        if self._held.fingerprint() != self._held.mark:
            raise Refused("the table has changed since this site was started: restart the site")
        channel = self._policy.channel
        what = "noisy means and covariances" if channel == "release" else "EXACT means and covariances, NOT PRIVATE"
        if self._desk is not None:
            return self._later(message.run, what, self._desk)
        if self._ask_people is not None:
            shown = statement_words(self._held, channel)
            self._ask_people(message.run, f"send this site's one statement: {what}. {shown}", self._held.quote_opening)
        again = kept_statement(self._held, channel) is not None
        return self._given(what, self._text(), again)

    def _text(self) -> str:
        return statement_text(self._held, self._policy.channel, None if self._key is None else self._key())

    def _given(self, what: str, text: str, again: bool) -> tuple[Record, str]:
        self.stated = True
        return wire.write_statement(text), f"gave our statement{', the same as before' * again}: {what}."

    def _later(self, run: str, what: str, desk: OwnerDesk) -> tuple[Record, str]:
        held, channel = self._held, self._policy.channel
        with held.place.locked():  # between what was approved and what is drawn nothing can change
            again = kept_statement(held, channel) is not None
            free = held.privacy is None or again
            made = self._text() if free else None  # free: nothing is drawn or paid for it
            if made is not None and desk.gave(made):
                return self._given(what, made, again)
            request = desk.request(f"{what}. {statement_words(held, channel)}", made)
            before = read_item(held.place)
            item = desk.put(request, run)
            if item.decision == REFUSED:
                raise Refused(NOT_APPROVED)
            if item.waits:
                command = request.command("approve", held.place.path.parent)
                other = before is not None and before != item and before.decision == APPROVED and not before.sent
                return wire.pending(), (
                    f"asks for our statement: {what}. {'Not what was approved: it has changed since. ' * other}"
                    f"It waits for the owner ({command})."
                )
            text = self._text()
            desk.sent(item, text)
        record, said = self._given(what, text, again)
        return record, f"{said} Approved by {item.by} {item.decided}."


class OwnerDesk:
    """Where a site's statement waits for its owner, on the site's disk.

    Parameters
    ----------
    held : AnswerSource
        The site's table or release.
    asker : str
        Where the coordinator is; another one needs an approval of its own.
    """

    def __init__(self, held: AnswerSource, asker: str) -> None:
        self._held, self._asker = held, asker
        self._waiting: tuple[str, str] | None = None  # the code that was put here by this process, and for which run

    def waits_still(self, run: str) -> bool:
        """Whether what this run asked for was put here before and is undecided; no row is read to find out."""
        if self._waiting is None or self._waiting[1] != run:
            return False
        item = read_item(self._held.place)
        return item is not None and item.waits and item.request.code == self._waiting[0]

    def request(self, what: str, made: str | None) -> Request:
        """Describe what would be sent; the terms change with everything that it depends on."""
        held = self._held
        how = "" if held.privacy is None else f"{held.privacy.decimal} {held.privacy.most_rows}"
        terms = _digest("\0".join((held.identity, how, "" if made is None else _said(made))))
        return Request(held.name, self._asker, what, held.quote_opening(), terms)

    def put(self, request: Request, run: str) -> Item:
        """Return what was decided about a request; put it here if it is a new one, in place of what waited before."""
        item = read_item(self._held.place)
        if item is None or item.request != request:
            item = Item(request, run, moment())
            keep_item(self._held.place, item)
        self._waiting = (request.code, run)
        return item

    def gave(self, text: str) -> bool:
        """Whether this very statement was approved for this coordinator, and sent: then it may be sent again."""
        item = read_item(self._held.place)
        return bool(item and item.sent and item.digest == _said(text) and item.request.asker == self._asker)

    def sent(self, item: Item, text: str) -> None:
        """Note that a statement is handed over."""
        keep_item(self._held.place, replace(item, sent=moment(), digest=_said(text)))


def _said(text: str) -> str:
    """Return the digest of a statement without its signature: a site's new key changes nothing that it says."""
    from ...privacy.statement import read_statement, write_statement

    return _digest(write_statement(replace(read_statement(text, "the statement of this site"), signature=None)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
