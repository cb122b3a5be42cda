"""Messages to sites and their replies, over a Flower grid: every wait has a limit, and a reply may be missing."""

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


class LinkLost(TemporaryError):
    """The SuperLink beside the coordinator is gone, or has given up on a coordinator that was frozen."""


COURTESY = 3.0
"""Seconds that sites get to take a message whose reply is not needed."""


class Grid(Protocol):
    """What we use of Flower's grid (`flwr.serverapp.Grid`)."""

    def get_nodes(self) -> Iterable[Any]:
        """Return the nodes that are connected: `node_id`, `public_key`, `last_activated_at`."""

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Send messages, and return their identifiers."""

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Return the replies to these messages that have arrived."""


@dataclass(frozen=True)
class Limits:
    """How long to wait, in seconds: for sites to connect, for a reply or a lost site to return; how often to look."""

    connect: float = 600.0
    reply: float = 600.0
    poll: float = 0.1


@dataclass(frozen=True)
class Peer:
    """A site as the grid knows it."""

    node: int
    label: str
    since: str = ""


@dataclass
class Traffic:
    """What has been exchanged so far.

    `rounds` counts rounds of questions or steps, `seconds` has an entry for every round trip that a result needs: the
    introduction, the opening, which may carry the first round, and the further rounds.
    """

    rounds: int = 0
    sent: int = 0
    received: int = 0
    seconds: list[float] = field(default_factory=list)

    @property
    def words(self) -> str:
        """The last round trip and the sizes so far, for people."""
        return f"{self.seconds[-1]:.1f} s, {_size(self.sent)} out, {_size(self.received)} in so far"


class Exchange:
    """Knows the sites on a grid, sends to them, and collects what they reply.

    Parameters
    ----------
    grid : Grid
        The grid.
    keys : mapping of bytes to str, optional
        Public keys of the sites and their names; they may change at any time.
    limits : Limits
        How long to wait.
    note : callable
        Gets a line of words whenever there is news.
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
            name = None if self._keys is None else self._keys.get(bytes(info.public_key))
            if self._keys is not None and name is None:
                continue
            peers.append(Peer(info.node_id, name or f"node {info.node_id}", str(info.last_activated_at)))
        return sorted(peers, key=lambda peer: (peer.label, peer.node))

    def _nodes(self) -> list[Any]:
        return list(self._reached(self._grid.get_nodes))

    def send(self, kind: str, records: Mapping[str, Record]) -> dict[str, Record | str]:
        """Send each site its message and collect the replies; instead of a reply, the reason why there is none."""
        if not records:
            return {}
        begun = time.monotonic()
        out = self._exchanged(kind, records, self.limits.reply)
        self.traffic.seconds.append(time.monotonic() - begun)
        return out

    def tell(self, kind: str, records: Mapping[str, Record]) -> None:
        """Send each site a message whose reply nobody needs; sites get a moment to take it, and it is no round trip."""
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
        # Sites that were disconnected; they may come back as long as a reply may take.
        away = set(records) - set(waiting.values())
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
                self._tell_of_late()
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
        return out | dict.fromkeys(away, _GONE)

    def _push(self, kind: str, records: Mapping[str, Record]) -> dict[str, str]:
        """Send messages; return who was sent which. The SuperLink takes none for a site that was just shut out."""
        from flwr.app import Message

        sites = list(records)
        # Lives longer than we wait: the SuperLink reports an expired message like a node that is gone.
        life = self.limits.reply + 60
        messages = [
            Message(to_records(records[site]), self.peers[site].node, f"query.{kind}", ttl=life) for site in sites
        ]
        self.traffic.sent += sum(wire.size(record) for record in records.values())
        keys = list(self._reached(self._grid.push_messages, messages))
        if len(keys) != len(sites) or not any(keys):
            raise LinkLost(f"the coordinator's own SuperLink did not take the {kind!r} messages: see its log")
        return {key: site for key, site in zip(keys, sites, strict=True) if key}

    def _restarted(self, waiting: set[str], away: Collection[str] = (), tell: bool = True) -> list[str]:
        """Sites that connected again since we looked last: what they were asked was lost with the old connection.

        Those that were away are back as soon as they are listed: after a short cut they need no new connection.
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
        """Whether a node is that of a site: by its number, or, if the site got another key, by the name of that."""
        named = None if self._keys is None else self._keys.get(bytes(info.public_key))
        return info.node_id == self.peers[site].node if named is None else named == site

    def _withdrawn(self, sites: set[str]) -> set[str]:
        """Sites of these that have no key any more."""
        return set() if self._keys is None else sites - set(self._keys.values())

    def _tell_of_late(self) -> None:
        for peer in self.online():
            if peer.node not in self._met:
                self._met.add(peer.node)
                self._note(f"{peer.label} connected after the run began, and waits for the next one.")

    def _content(self, site: str, reply: Message) -> Record | str:
        if reply.has_error():
            code, reason = reply.error.code, reply.error.reason or "no reason given"
            told = " ".join(visible(reason[:300]).split())  # the other side wrote it, and it goes to a terminal
            return _GONE if _unavailable(reply) else f"failed (Flower error {code}: {told})"
        try:
            record = from_records(reply.content, self.peers[site].label)
        except InputError as error:
            return str(error)
        self.traffic.received += wire.size(record)
        return record

    def _reached(self, call: Callable[..., T], *arguments: Any) -> T:
        """Call the grid; a SuperLink that is gone is an error with words."""
        import httpx

        try:
            return call(*arguments)
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            raise LinkLost(f"the coordinator's own SuperLink does not know this run any more ({status})") from None
        except httpx.HTTPError as error:
            raise LinkLost(f"the coordinator's own SuperLink does not answer ({error})") from None


def clock(end: float) -> str:
    """Say a moment of `time.monotonic` as people read it, with the option that decides it."""
    return f"{datetime.now() + timedelta(seconds=end - time.monotonic()):%H:%M:%S} (--timeout)"


_GONE = "was disconnected"


def _unavailable(reply: Message) -> bool:
    """Whether the SuperLink says that a node is gone, in place of a reply."""
    return reply.has_error() and "navailable" in (reply.error.reason or "")


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"
