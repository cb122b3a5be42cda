"""A site's connection to a SuperLink, without the part of Flower that fetches and runs programs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def connected(address: Address, key: Any) -> Iterator[inner.FleetNode]:
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
                yield inner.FleetNode(client, node)
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
    message = error_text(error.response.text) or f"HTTP {status}"
    if status in (401, 403, 404) or "activat" in message.lower() or "regist" in message.lower():
        remedy = (
            "it is not registered there (its .pub file belongs in the coordinator's folder of keys), or a site with "
            "the same key is connected"
            if keyed
            else "give the site's key: --key site.key"
        )
        raise Unauthorized(f"the coordinator does not accept this site's key ({message}): {remedy}")
    if "version" in message.lower():
        raise InputError(f"the coordinator runs another version of Flower ({message}): install the same on both sides")
    raise Away(f"{address.coordinator} answered {message}")
