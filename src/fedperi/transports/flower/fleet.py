"""A site's connection to a SuperLink, without the part of Flower that fetches and runs programs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn

from ...errors import InputError
from .address import Address, Away
from .inner import fleet as inner
from .inner.control import error_text
from .inner.superlink import CLOCKS

HEARTBEAT = 10.0
"""Seconds, about, after which the coordinator regards a silent site as lost; the shortest time that Flower allows."""


class Unauthorized(Exception):
    """The coordinator does not accept the site's key."""


class RunOver(Exception):
    """The run of a message has ended: nobody waits for the reply."""


@contextmanager
def _run_over_at_403() -> Iterator[None]:
    import httpx

    try:
        yield
    except httpx.HTTPStatusError as error:
        if error.response.status_code == 403:
            raise RunOver from None
        raise


@dataclass
class FleetNode:
    """A connection that is registered with the SuperLink."""

    client: Any
    node: Any
    _whole: bool = True  # whether the last message came in one piece; a coordinator that sends parts expects parts

    def receive(self) -> Any:
        """Return the next message, or None."""
        with _run_over_at_403():
            message, self._whole = inner.pull_message(self.client, self.node)
            return message

    def send(self, reply: Any, seconds: float) -> None:
        """Send the reply to the last message, and how long it took."""
        with _run_over_at_403():
            inner.push_reply(self.client, self.node, reply, seconds, self._whole)


@contextmanager
def connected(address: Address, key: Any) -> Iterator[FleetNode]:
    """Register with the SuperLink, send heartbeats in the background, and sign off at the end."""
    import httpx

    ca = None if address.ca is None else str(address.ca)
    private = inner.new_key() if key is None else key

    def client_of() -> Any:
        return inner.fleet_client(address.coordinator, ca, address.insecure, private)

    with client_of() as client:
        try:
            try:
                node = inner.activate_node(client, private, HEARTBEAT, register=key is None)
            except httpx.HTTPStatusError as error:
                _raise_explained(error, address, key is not None)
            with inner.kept_alive(client, client_of(), node, HEARTBEAT, unregister=key is None):
                yield FleetNode(client, node)
        except httpx.HTTPError as error:
            raise Away(f"the connection to {address.coordinator} was lost ({error})") from None


def _ahead(date: str) -> float:
    """Return the seconds by which this machine's clock is ahead of an HTTP date; 0 if the date is missing."""
    try:
        return time.time() - parsedate_to_datetime(date).timestamp()
    except ValueError:
        return 0.0


def _raise_explained(error: Any, address: Address, keyed: bool) -> NoReturn:
    """Raise an error that explains what an HTTP status of the SuperLink means for a site."""
    status = error.response.status_code
    ahead = _ahead(error.response.headers.get("date", ""))
    if status == 401 and abs(ahead) > CLOCKS - 5:
        raise Unauthorized(
            f"this machine's clock is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the coordinator's, "
            f"and {CLOCKS} s are allowed: set the clock of the one that is wrong"
        )
    said = error_text(error.response.text) or f"HTTP {status}"
    if status in (401, 403, 404) or "activat" in said.lower() or "regist" in said.lower():
        remedy = (
            "it is not registered there (its .pub file belongs in the coordinator's folder of keys), or a site with "
            "the same key is connected"
            if keyed
            else "give the site's key: --key site.key"
        )
        raise Unauthorized(f"the coordinator does not accept this site's key ({said}): {remedy}")
    if "version" in said.lower():
        raise InputError(f"the coordinator runs another version of Flower ({said}): install the same on both sides")
    raise Away(f"{address.coordinator} answered {said}")
