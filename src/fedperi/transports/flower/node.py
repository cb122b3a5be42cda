"""A site as a Flower node, in one process: it pulls messages, answers them by `SiteWork`, and runs no code but ours.

A SuperNode of Flower fetches the app bundle of every run from the SuperLink and executes it; whoever controls the
SuperLink controls what runs at the site. This node speaks the same network interface, never asks for the bundle, and
answers the six messages of our protocol. Connections go out from the site only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from ...errors import InputError
from ...pki.certificates import read_site_key
from ...protocol import wire
from ...protocol.fields import Refused
from ...site.work import SiteWork
from . import need_flower
from .address import Address, Away, check_reachable
from .fleet import HEARTBEAT, FleetNode, RunOver, Unauthorized, connected

BUSY = 120.0
"""Seconds after a message during which a site looks often for the next one; then a site that waits looks less often."""

UNKNOWN_KEY = 3 * HEARTBEAT
"""Seconds for which a site whose key is refused tries again: the coordinator may be just registering it, or may not
have noticed yet that this site was killed and started anew, which takes it two heartbeats."""


def serve(
    work: SiteWork,
    address: Address,
    *,
    wait: float = 3600.0,
    note: Callable[[str], None],
    stop: threading.Event | None = None,
    poll: float = 0.25,
) -> None:
    """Answer messages until stopped; connect again whenever the connection is lost.

    Parameters
    ----------
    work : SiteWork
        What answers.
    address : Address
        Where the coordinator is.
    wait : float
        For how many seconds in a row the coordinator may be out of reach before the site gives up.
    note : callable
        Gets a line of words whenever there is news.
    stop : threading.Event, optional
        Ends the site when set.
    poll : float
        Seconds between two looks for messages.

    Raises
    ------
    InputError
        If the coordinator cannot be reached for too long, is not who it should be, or does not know the site's key.
    """
    address.check()
    need_flower()
    key = None if address.key is None else read_site_key(address.key)
    stop = stop or threading.Event()
    lost = time.monotonic()
    refused: float | None = None
    told = ""
    while not stop.is_set():
        joined, heard = False, threading.Event()
        try:
            check_reachable(address)
            with connected(address, key) as node:
                note(f"connected to {address.coordinator} as site {work.name!r}, waiting for messages.")
                told, refused, joined = "", None, True
                _answer_all(work, node, stop, poll, heard)
            return
        except Unauthorized as error:
            refused = refused or time.monotonic()
            if time.monotonic() - refused > UNKNOWN_KEY:
                raise InputError(str(error)) from None
            reason = str(error)
        except Away as error:
            reason, refused = str(error), None
        now = time.monotonic()
        if joined:
            lost = now  # there was a connection, so the patience begins anew
            reason += "" if heard.is_set() else _UNHEARD
        if now - lost > wait:
            raise InputError(f"{reason}; gave up after {wait:g} s") from None
        if reason != told:
            note(f"{reason}; trying again.")
            told = reason
        stop.wait(1.0)


_UNHEARD = "; no message came: a run that has begun goes on without this site, which waits for the next one"


def _answer_all(work: SiteWork, node: FleetNode, stop: threading.Event, poll: float, heard: threading.Event) -> None:
    from flwr.app import Error, Message
    from flwr.supercore.inflatable.inflatable_utils import ObjectPullError

    from .records import from_records, to_records

    busy = time.monotonic()
    while not stop.is_set():
        try:
            message = node.receive()
        except (ObjectPullError, RunOver):
            continue  # the run ended while its message was on the way
        if message is None:
            stop.wait(poll if time.monotonic() < busy + BUSY else 8 * poll)
            continue
        heard.set()
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
            reply = work.reply(kind, record)
        with suppress(RunOver):
            node.send(Message(to_records(reply), reply_to=message), time.monotonic() - began)
