"""Send messages to sites and collect their replies, over a Flower grid: every wait has a limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ...errors import InputError, TemporaryError
from ...names import visible
from ...protocol import wire
from ...protocol.wire import Record
from .records import from_records, to_records

if TYPE_CHECKING:
    from flwr.app import Message

T = TypeVar("T")


COURTESY = 3.0
"""Seconds that sites get to receive a message whose reply is not needed."""

GONE = "was disconnected"
"""Why there is no reply."""


class LinkLost(TemporaryError):
    """The coordinator's SuperLink has ended, or regards this coordinator as dead because it was frozen."""


class Grid(Protocol):
    """The part of Flower's grid (`flwr.serverapp.Grid`) that we use."""

    def get_nodes(self) -> Iterable[Any]:
        """Return the nodes that are connected: `node_id`, `public_key`, `last_activated_at`."""

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Send messages, and return their identifiers."""

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Return the replies to these messages that have arrived."""


@dataclass(frozen=True)
class Limits:
    """How long to wait for sites to connect, and for a reply or a lost site; and how often to look (in seconds)."""

    connect: float = 600.0
    reply: float = 600.0
    poll: float = 0.1


@dataclass(frozen=True)
class Peer:
    """A site as the grid knows it: its node, its name in messages, and when it connected."""

    node: int
    label: str
    since: str = ""


@dataclass
class Traffic:
    """Counts of the exchange so far.

    `rounds` counts rounds of questions or steps. `seconds` has an entry for every round trip that a result needs: the
    introduction, the opening (which may contain the first round), and the later rounds.
    """

    rounds: int = 0
    sent: int = 0
    received: int = 0
    seconds: list[float] = field(default_factory=list)

    @property
    def words(self) -> str:
        """The duration of the last round trip and the sizes so far, in words."""
        return f"{self.seconds[-1]:.1f} s, {_size(self.sent)} out, {_size(self.received)} in so far"


class Exchange:
    """Knows the sites on a grid, sends them messages, and collects their replies.

    `keys` are the public keys of the sites with their names, and may change at any time; `note` gets a sentence
    whenever there is news.
    """

    def __init__(
        self, grid: Grid, keys: Mapping[bytes, str] | None, limits: Limits, note: Callable[[str], None]
    ) -> None:
        self._grid, self._keys, self.limits, self._note = grid, keys, limits, note
        self.peers: dict[str, Peer] = {}
        self._met: set[int] = set()  # nodes that take or took part, and late ones that were reported
        self.traffic = Traffic()

    def online(self) -> list[Peer]:
        """Return the sites that are connected, in the order of their names; nodes with unknown keys are ignored."""
        peers = []
        for info in self._nodes():
            name = f"node {info.node_id}" if self._keys is None else self._keys.get(bytes(info.public_key))
            if name is not None:
                peers.append(Peer(info.node_id, name, str(info.last_activated_at)))
        return sorted(peers, key=lambda peer: (peer.label, peer.node))

    def _nodes(self) -> list[Any]:
        return list(self._reached(self._grid.get_nodes))

    def send(self, kind: str, records: Mapping[str, Record]) -> dict[str, Record | str]:
        """Send each site its message; return the reply of each, or the reason why there is none."""
        if not records:
            return {}
        begun = time.monotonic()
        out = self._exchanged(kind, records, self.limits.reply)
        self.traffic.seconds.append(time.monotonic() - begun)
        return out

    def tell(self, kind: str, records: Mapping[str, Record]) -> None:
        """Send each site a message whose reply is not needed: wait briefly, and do not count it as a round trip."""
        try:
            if records:
                self._exchanged(kind, records, min(COURTESY, self.limits.reply), patient=False)
        except InputError as error:
            self._note(str(error))

    def _exchanged(
        self, kind: str, records: Mapping[str, Record], seconds: float, patient: bool = True
    ) -> dict[str, Record | str]:
        self._met |= {peer.node for peer in self.peers.values()}
        self._restarted(set(records), tell=False)
        begun = time.monotonic()
        end = begun + seconds
        out: dict[str, Record | str] = {}
        waiting = self._push(kind, records)
        away = set(records) - set(waiting.values())  # disconnected sites, which may come back until `end`
        look = begun
        while (waiting or away) and time.monotonic() < end:
            for reply in self._reached(self._grid.pull_messages, list(waiting)) if waiting else ():
                site = waiting.pop(reply.metadata.reply_to_message_id, None)
                if site is None:
                    continue
                if patient and self._keys is not None and _unavailable(reply):
                    away.add(site)
                    self._note(f"{self.peers[site].label} was disconnected; waiting for it until {clock(end)}.")
                else:
                    out[site] = self._content(site, reply)
            if (waiting or away) and time.monotonic() > look + 1:
                look = time.monotonic()
                self._report_late()
                for site in self._withdrawn({*waiting.values(), *away}):
                    waiting = {key: other for key, other in waiting.items() if other != site}
                    away.discard(site)
                    out[site] = "was shut out: its key was withdrawn"
                again = {site: records[site] for site in self._restarted({*waiting.values(), *away}, away)}
                if again:
                    waiting = {key: site for key, site in waiting.items() if site not in again}
                    taken = self._push(kind, again)
                    away -= set(taken.values())
                    waiting |= taken
            if waiting or away:
                time.sleep(self.limits.poll)
        for site in waiting.values():
            out[site] = f"did not reply within {seconds:g} s"
        return out | dict.fromkeys(away, GONE)

    def _push(self, kind: str, records: Mapping[str, Record]) -> dict[str, str]:
        """Send messages; return the site of each message's key. The SuperLink gives no key for a withdrawn site."""
        from flwr.app import Message

        # The message must live longer than we wait: the SuperLink reports an expired one as a disconnected node.
        life = self.limits.reply + 60
        messages = [
            Message(to_records(record), self.peers[site].node, f"query.{kind}", ttl=life)
            for site, record in records.items()
        ]
        self.traffic.sent += sum(wire.size(record) for record in records.values())
        keys = list(self._reached(self._grid.push_messages, messages))
        if len(keys) != len(records) or not any(keys):
            raise LinkLost(f"the coordinator's own SuperLink did not accept the {kind!r} messages: see its log")
        return {key: site for key, site in zip(keys, records, strict=True) if key}

    def _restarted(self, waiting: set[str], away: Collection[str] = (), tell: bool = True) -> list[str]:
        """Find sites that connected again since the last look: the old connection was lost, and the message with it.

        Sites that were away are back as soon as they are listed: after a short cut they need no new connection.
        """
        found = []
        for info in self._nodes():
            for site in waiting:
                peer = self.peers[site]
                since = str(info.last_activated_at)
                if self._is_of(info, site) and (since != peer.since or site in away):
                    self.peers[site] = Peer(info.node_id, peer.label, since)
                    if tell:
                        self._note(f"{peer.label} is back (restarted, or after a network cut); asking it again.")
                    found.append(site)
        return found

    def _is_of(self, info: Any, site: str) -> bool:
        """Whether a node is that of a site: by the name of its key (which may be new), or else by its number."""
        named = None if self._keys is None else self._keys.get(bytes(info.public_key))
        return info.node_id == self.peers[site].node if named is None else named == site

    def _withdrawn(self, sites: set[str]) -> set[str]:
        """Return those of these sites that no longer have a key."""
        return set() if self._keys is None else sites - set(self._keys.values())

    def _report_late(self) -> None:
        for peer in self.online():
            if peer.node not in self._met:
                self._met.add(peer.node)
                self._note(f"{peer.label} connected after the run began, and waits for the next one.")

    def _content(self, site: str, reply: Message) -> Record | str:
        if reply.has_error():
            code, reason = reply.error.code, reply.error.reason or "no reason given"
            shown = " ".join(visible(reason[:300]).split())  # written by the other side, and shown on a terminal
            return GONE if _unavailable(reply) else f"failed (Flower error {code}: {shown})"
        try:
            record = from_records(reply.content, self.peers[site].label)
        except InputError as error:
            return str(error)
        self.traffic.received += wire.size(record)
        return record

    def _reached(self, call: Callable[..., T], *arguments: Any) -> T:
        """Call the grid; raise `LinkLost` if the SuperLink has ended or does not know the run."""
        import httpx

        try:
            return call(*arguments)
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            raise LinkLost(f"the coordinator's own SuperLink does not know this run any more ({status})") from None
        except httpx.HTTPError as error:
            raise LinkLost(f"the coordinator's own SuperLink does not answer ({error})") from None


def clock(end: float) -> str:
    """Return a moment of `time.monotonic` as a time of day, with the option that decides it."""
    return f"{datetime.now() + timedelta(seconds=end - time.monotonic()):%H:%M:%S} (--timeout)"


def _unavailable(reply: Message) -> bool:
    """Whether the SuperLink reports that the node is disconnected, in place of a reply."""
    return reply.has_error() and "navailable" in (reply.error.reason or "")


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"
