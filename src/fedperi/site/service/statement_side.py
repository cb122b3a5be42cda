"""The reply to a request for a site's one statement: the statement, a refusal, or that the owner has not decided yet.

The owner may decide at once, at a terminal (`ask_people`), or later, by a command (`OwnerDesk`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...protocol import wire
from ...protocol.fields import Refused
from ...protocol.policy import SitePolicy
from ...protocol.requests import Stating
from ...protocol.wire import Record
from ..approval import APPROVED, REFUSED, Item, Request, keep_item, read_item
from ..log import moment
from .given import sha256
from .stating import kept_statement, statement_text, statement_words

if TYPE_CHECKING:
    from .source import AnswerSource

NOT_APPROVED = "the people at this site did not approve it"


class StatementSide:
    """Replies to requests for a site's statement.

    Parameters
    ----------
    source, policy
        The site's data, and what its owner allows.
    key : callable, optional
        Returns the current private key, which signs the statement.
    ask_people : callable, optional
        Gets a run, a description of what is about to be sent, and a function that says the price. Raises if the people
        at the site do not allow it.
    asker : str, optional
        The coordinator's address, if the owner decides later.
    """

    def __init__(
        self,
        source: AnswerSource,
        policy: SitePolicy,
        key: Callable[[], Any] | None,
        ask_people: Callable[[str, str, Callable[[], str]], None] | None,
        asker: str | None,
    ) -> None:
        self._source, self._policy, self._key, self._ask_people = source, policy, key, ask_people
        self._desk = desk = None if asker is None else OwnerDesk(source, asker)
        self.stated = False
        if desk is not None and (policy.channel == "regrets" or policy.methods):
            raise InputError(
                f"site {source.name!r}: the owner can approve a statement later, but not the answers of a run: leave "
                "--approve-later out (--approve asks at the terminal), or use --channel release or moments without "
                "--allow"
            )

    def state(self, message: Stating) -> tuple[Record, str]:
        """Answer ``state``. The words for the log are empty if nothing has changed since the last request."""
        self._policy.check_statement()
        self._source.check_columns(message.columns)
        if self._desk is not None and self._desk.still_waits(message.run):
            return wire.pending(), ""
        self._source.check_unchanged()
        channel = self._policy.channel
        what = "noisy means and covariances" if channel == "release" else "EXACT means and covariances, NOT PRIVATE"
        if self._desk is not None:
            return self._later(message.run, what, self._desk)
        if self._ask_people is not None:
            request = f"send this site's one statement: {what}. {statement_words(self._source, channel)}"
            self._ask_people(message.run, request, self._source.quote_opening)
        again = kept_statement(self._source, channel) is not None
        return self._reply(what, self._text(), again)

    def _text(self) -> str:
        return statement_text(self._source, self._policy.channel, None if self._key is None else self._key())

    def _reply(self, what: str, text: str, again: bool) -> tuple[Record, str]:
        self.stated = True
        return wire.write_statement(text), f"gave our statement{', the same as before' * again}: {what}."

    def _later(self, run: str, what: str, desk: OwnerDesk) -> tuple[Record, str]:
        source, channel = self._source, self._policy.channel
        with source.place.locked():  # nothing can change between the approval and the draw
            again = kept_statement(source, channel) is not None
            # Where a statement costs nothing it is made now, so that the owner approves every character of it.
            made = self._text() if source.privacy is None or again else None
            if made is not None and desk.was_sent(made):
                return self._reply(what, made, again)
            request = desk.request(f"{what}. {statement_words(source, channel)}", made)
            before = read_item(source.place)
            item = desk.submit(request, run)
            if item.decision == REFUSED:
                raise Refused(NOT_APPROVED)
            if item.waits:
                command = request.command("approve", source.place.path.parent)
                other = before is not None and before != item and before.decision == APPROVED and not before.sent
                return wire.pending(), (
                    f"asks for our statement: {what}. {'Not what was approved: it has changed since. ' * other}"
                    f"It waits for the owner ({command})."
                )
            text = self._text()
            desk.mark_sent(item, text)
        record, said = self._reply(what, text, again)
        return record, f"{said} Approved by {item.by} {item.decided}."


class OwnerDesk:
    """The request for a statement that waits for the owner, on the site's disk.

    `asker` is the coordinator's address; another coordinator needs its own approval.
    """

    def __init__(self, source: AnswerSource, asker: str) -> None:
        self._source, self._asker = source, asker
        self._waiting: tuple[str, str] | None = None  # the code that this process submitted, and its run

    def still_waits(self, run: str) -> bool:
        """Whether this run's request was submitted before and is undecided; no row is read to find out."""
        if self._waiting is None or self._waiting[1] != run:
            return False
        item = read_item(self._source.place)
        return item is not None and item.waits and item.request.code == self._waiting[0]

    def request(self, what: str, made: str | None) -> Request:
        """Describe what would be sent; the terms change with everything that it depends on."""
        source = self._source
        how = "" if source.privacy is None else f"{source.privacy.decimal} {source.privacy.most_rows}"
        terms = sha256(source.identity, how, "" if made is None else _unsigned_digest(made))
        return Request(source.name, self._asker, what, source.quote_opening(), terms)

    def submit(self, request: Request, run: str) -> Item:
        """Return the decision about a request; a new request replaces the one that waited before."""
        item = read_item(self._source.place)
        if item is None or item.request != request:
            item = Item(request, run, moment())
            keep_item(self._source.place, item)
        self._waiting = (request.code, run)
        return item

    def was_sent(self, text: str) -> bool:
        """Whether this statement was approved for this coordinator, and sent: then it may be sent again."""
        item = read_item(self._source.place)
        return bool(item and item.sent and item.digest == _unsigned_digest(text) and item.request.asker == self._asker)

    def mark_sent(self, item: Item, text: str) -> None:
        """Note on the disk that a statement is sent."""
        keep_item(self._source.place, replace(item, sent=moment(), digest=_unsigned_digest(text)))


def _unsigned_digest(text: str) -> str:
    """Return the digest of a statement without its signature, which changes when the site gets a new key."""
    from ...privacy.statement import read_statement, write_statement

    return sha256(write_statement(replace(read_statement(text, "the statement of this site"), signature=None)))
