"""Run a site as a Flower node in one process: pull messages, and answer them with `SiteWork`.

A SuperNode of Flower fetches the app bundle of every run from the SuperLink and executes it; anyone who controls the
SuperLink controls what runs at the site. This node uses the same network interface, never asks for the bundle, and
answers the six messages of our protocol. Connections go out from the site only.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from ...errors import InputError, TemporaryError
from ...pki.certificates import OwnKey, ending
from ...protocol import wire
from ...protocol.fields import Refused
from ...site.service.work import SiteWork
from . import need_flower
from .address import Address, Away, check_reachable
from .fleet import HEARTBEAT, Unauthorized, connected
from .inner.fleet import FleetNode, RunOver
from .live.repeat import Daily

BUSY = 120.0
"""Seconds after a message during which a site looks often for the next one; later it looks less often."""

UNKNOWN_KEY = 3 * HEARTBEAT
"""Seconds for which a site whose key is refused tries again: the coordinator may just be registering the key, or has
not noticed yet that this site was killed and restarted, which takes two heartbeats."""

UNTOLD = 5.0
"""Seconds for which a refused key is not reported: a coordinator that has just started is still registering keys."""

LONGEST_PAUSE = 15.0
"""Largest number of seconds between two attempts to connect."""

UNHEARD = "; no message came: a run that has begun continues without this site, which waits for the next one"
"""Added to the reason why a connection was lost on which no message came."""


def serve(
    work: SiteWork,
    address: Address,
    *,
    wait: float | None = None,
    note: Callable[[str], None],
    stop: threading.Event | None = None,
    poll: float = 0.25,
    key: OwnKey | None = None,
) -> None:
    """Answer messages until stopped; connect again whenever the connection is lost.

    Raises `TemporaryError` if the coordinator cannot be reached for too long, and `InputError` if its certificate is
    not accepted or it does not accept the site's key.

    Parameters
    ----------
    work : SiteWork
        Answers the messages.
    address : Address
        Where the coordinator is.
    wait : float, optional
        How many seconds in a row the coordinator may be out of reach before the site gives up. By default the site
        never gives up: an idle site waits for the next run.
    note : callable
        Called with a sentence whenever there is news.
    stop : threading.Event, optional
        Ends the site when set.
    poll : float
        Seconds between two looks for messages.
    key : OwnKey, optional
        The site's key, if the caller uses it too; by default, that of the address.

    """
    address.check()
    need_flower()
    key = key if key is not None or address.key is None else OwnKey(address.key, address.passphrase)
    stop = stop or threading.Event()
    patience, daily = _Patience(wait, note), Daily()
    while not stop.is_set():
        session = _Session()
        try:
            until = check_reachable(address)
            words = None if until is None else ending("the coordinator's certificate", until)
            if words is not None and daily.due():  # so that the coordinator's owner hears it from several sites
                note(f"{words}: tell the people who run the coordinator.")
            with connected(address, None if key is None else key.next()) as node:
                if key is not None:
                    key.accepted()
                note(f"connected to {address.coordinator} as site {work.name!r}, waiting for messages.")
                patience.restart()
                work.tally.reached()
                session.connected = True
                _answer_all(work, node, stop, poll, session)
            return
        except (Unauthorized, Away) as error:
            work.tally.lost()
            over = Away(f"the run is over; waiting for the next one at {address.coordinator}")
            unheard = UNHEARD if session.connected and not session.heard else ""
            patience.use(over if session.closed else error, unheard)
        stop.wait(patience.pause)


@dataclass
class _Session:
    """Whether a connection was made, whether a message came, and whether the last message closed the run."""

    connected: bool = False
    heard: bool = False
    closed: bool = False


class _Patience:
    """Decides how long a site tries to connect again, and reports each reason for a failure once."""

    def __init__(self, wait: float | None, note: Callable[[str], None]) -> None:
        self._wait, self._note = wait, note
        self._failures = 0
        self._lost: float | None = time.monotonic()
        self._refused: float | None = None
        self._said = ""

    def restart(self) -> None:
        """Forget all failures: there is a connection."""
        self._lost, self._refused, self._said, self._failures = None, None, "", 0

    @property
    def pause(self) -> float:
        """Seconds until the next attempt: longer after every failure, and random, so that sites do not synchronise."""
        longest = min(LONGEST_PAUSE, 2.0 ** min(self._failures, 10) / 2)
        return longest * (0.5 + random.random() / 2)

    def use(self, error: Exception, more: str) -> None:
        """Report a failure; raise if there have been failures for too long."""
        now, reason = time.monotonic(), f"{error}{more}"
        self._failures += 1
        self._lost = now if self._lost is None else self._lost
        self._refused = (self._refused or now) if isinstance(error, Unauthorized) else None
        if self._refused is not None and now - self._refused > UNKNOWN_KEY:
            raise InputError(reason) from None
        if self._wait is not None and now - self._lost > self._wait:
            raise TemporaryError(f"{reason}; gave up after {self._wait:g} s") from None
        if self._refused is not None and now - self._refused < UNTOLD:
            return
        if reason != self._said:
            self._note(f"{reason}; trying again.")
            self._said = reason


def _answer_all(work: SiteWork, node: FleetNode, stop: threading.Event, poll: float, session: _Session) -> None:
    from flwr.app import Error, Message

    from .records import from_records, to_records

    busy = time.monotonic()
    while not stop.is_set():
        try:
            message = node.receive()
        except RunOver:
            continue
        work.tally.reached()
        if message is None:
            stop.wait(poll if time.monotonic() < busy + BUSY else 8 * poll)
            continue
        session.heard = True
        began = busy = time.monotonic()
        group, _, kind = message.metadata.message_type.partition(".")
        if not message.has_content() or group != "query":
            with suppress(RunOver):
                node.send(Message(Error(code=0, reason="no message of the protocol"), reply_to=message), 0.0)
            continue
        try:
            record = from_records(message.content, "the coordinator")
        except Refused as error:
            reply = wire.refusal(str(error))
        else:
            work.tally.add(received=wire.size(record))
            reply = work.reply(kind, record)
            session.closed = kind == "close"
        with suppress(RunOver):
            node.send(Message(to_records(reply), reply_to=message), time.monotonic() - began)
