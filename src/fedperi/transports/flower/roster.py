"""The sites that take part: wait for them, ask who they are, and record those that are lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ...coordinator.agreement import Disagreement, Wishes, agree_most
from ...coordinator.record import Journal
from ...errors import InputError, TemporaryError
from ...protocol import wire
from ...protocol.requests import WITHOUT, Card, Closing, Hello
from ...protocol.wire import Record
from .exchange import Exchange, Grid, Limits, LinkLost, Peer, clock

if TYPE_CHECKING:
    from ...tables.schema import Column

T = TypeVar("T")

LATE = "it connected after the run began"


class Roster:
    """The sites of a federation on a Flower grid.

    Parameters
    ----------
    grid, sites, min_sites, keys, journal, limits, note
        As in `fedperi.transports.flower.transport.FlowerTransport`.
    wishes : Wishes
        What the coordinator expects of all sites.
    done : collection of str
        Sites that are not needed any more; if there are some, `min_sites` may be 0.

    Attributes
    ----------
    net : Exchange
        Sends messages to the sites.
    columns : tuple of Column, or None
        The columns that the sites have agreed on, once they are connected.
    data : str
        How all sites treat their columns, once they are connected.
    dropped : list of dict
        The sites that dropped out, and the reasons.
    owed : set of str
        Sites that were asked for a statement which has not arrived yet.
    """

    def __init__(
        self,
        grid: Grid,
        *,
        sites: int,
        min_sites: int | None,
        keys: Mapping[bytes, str] | None,
        wishes: Wishes,
        journal: Journal,
        limits: Limits,
        note: Callable[[str], None],
        done: Collection[str] = (),
    ) -> None:
        self._keys, self._wishes, self._journal, self._limits, self.note = keys, wishes, journal, limits, note
        self._done = frozenset(done)
        self._sites, self._least = sites, sites if min_sites is None else min_sites
        self._all = keys is not None and sites == len(set(keys.values()) - self._done)
        if not (0 if done else 1) <= self.least <= sites:
            raise InputError(f"of {sites} sites between 1 and {sites} can be required, not {min_sites}")
        self.net = Exchange(grid, keys, limits, note)
        self.columns: tuple[Column, ...] | None = None
        self.data = "auto"
        self.dropped: list[dict[str, str]] = []
        self.owed: set[str] = set()

    @property
    def wanted(self) -> int:
        """Number of sites to wait for: if that was the number of keys, it changes with the keys."""
        return len(set((self._keys or {}).values()) - self._done) if self._all else self._sites

    @property
    def least(self) -> int:
        """Number of sites that are enough: if that was `sites`, it changes with `wanted`."""
        return self.wanted if self._least == self._sites else self._least

    def connect(self, penalty: float | None = None) -> tuple[Column, ...]:
        """Wait for the sites and agree on the columns, the first time; return the columns."""
        if self.columns is not None:
            return self.columns
        peers = self._gather()
        if not peers:
            return ()
        hello = wire.write(Hello(self._journal.run))
        self.net.peers = {peer.label: peer for peer in peers}
        replies = self.net.send("hello", dict.fromkeys(self.net.peers, hello))
        cards: dict[str, Card] = {}
        self.read(replies, lambda label, reply: wire.read_card(reply, label), cards.__setitem__)
        for label, card in cards.items():
            self._check_name(label, card)
        columns = self._agree(cards, penalty)
        by_name = sorted((card.site, self.net.peers[label]) for label, card in cards.items())
        self.net.peers = {site: Peer(peer.node, f"site {site!r}", peer.since) for site, peer in by_name}
        for site, why in self._journal.lost.items():
            if self.net.peers.pop(site, None) is not None:
                self.dropped.append({"site": site, "why": why})
        if len(self.net.peers) < self.least:
            raise InputError(
                f"the run that is resumed continued without {', '.join(self._journal.lost)}, and {self.least} sites "
                "are needed: allow fewer (--min-sites), or begin a new run (--journal)"
            )
        who = "1 site takes part" if len(self.net.peers) == 1 else f"{len(self.net.peers)} sites take part"
        self.note(f"{who}: {', '.join(self.net.peers)}.")
        self.columns = columns
        return columns

    def closing(self, run: str) -> AbstractContextManager[None]:
        """Tell the sites at the end of the `with` block that the run is over, and why."""
        return announced_end(partial(self.farewell, run))

    def farewell(self, run: str, why: str) -> None:
        """Tell all connected sites why the run is over; those that took no part, why they did not."""
        nodes = {peer.node for peer in self.net.peers.values()}
        # `WITHOUT` says that the statement has not arrived: otherwise the site would assume it has, and leave.
        reasons = {site: WITHOUT + why if site in self.owed else why for site in self.net.peers}
        lost = {entry["site"]: entry["why"] for entry in self.dropped}
        with suppress(LinkLost):
            for peer in self.net.online():
                if peer.node in nodes or peer.label in reasons:
                    continue
                # Sites that were done before this run may not know it: a connection was lost at the time.
                out = self.columns is not None and peer.label not in self._done
                reasons[peer.label] = WITHOUT + lost.get(peer.label, LATE) if out else why
                self.net.peers[peer.label] = peer
        self.net.tell("close", {site: wire.write(Closing(run, reason)) for site, reason in reasons.items()})

    def _agree(self, cards: dict[str, Card], penalty: float | None) -> tuple[Column, ...]:
        """Return the columns of the run; a site that does not fit the others drops out, if enough are left."""
        in_order = sorted(cards.values(), key=lambda card: card.site)
        try:
            columns, others = agree_most(in_order, self._wishes, penalty, self.least)
        except InputError as error:
            raise Disagreement(str(error), in_order) from None
        for label in [label for label, card in cards.items() if card.site in others]:
            self._drop(label, others[cards.pop(label).site], lost=False)
        self.data = next(card.data for card in in_order if card.site not in others)
        return columns

    def read(
        self,
        replies: Mapping[str, Record | str],
        reading: Callable[[str, Record], T],
        keep: Callable[[str, T], None],
    ) -> bool:
        """Read replies and keep the valid ones; return whether a site has dropped out.

        A site without a valid reply drops out if enough are left; otherwise the run reasons with an error.
        """
        bad: dict[str, str] = {}
        for site, reply in replies.items():
            label = self.net.peers[site].label
            if isinstance(reply, str):
                bad[site] = reply if label in reply else f"{label} {reply}"
                continue
            try:
                read = reading(site, reply)
            except InputError as error:
                bad[site] = str(error)
            else:
                keep(site, read)
        for site, why in bad.items():
            self._drop(site, why, lost=isinstance(replies[site], str))
        return bool(bad)

    def _drop(self, site: str, why: str, lost: bool) -> None:
        del self.net.peers[site]
        if len(self.net.peers) < self.least:
            few = f"{len(self.net.peers)} of {self.wanted} sites are left, and {self.least} are needed"
            kind = TemporaryError if lost else InputError
            raise kind(f"{why}; {few} (--min-sites allows fewer)")
        self.dropped.append({"site": site, "why": why})
        self._journal.lose(site, why)
        self.note(f"{why}; continuing with {len(self.net.peers)} sites.")

    def _check_name(self, label: str, card: Card) -> None:
        if self._keys is not None and card.site != label:
            raise InputError(
                f"the site with the key of {label!r} calls itself {card.site!r}: give it the name of its key "
                f"(--name {label}), or make a key for that name"
            )

    def _absent(self, labels: Collection[str]) -> list[str]:
        """Return the sites that have a key and are neither connected nor done; without keys, none are known."""
        return sorted(set((self._keys or {}).values()) - set(labels) - self._done)

    def _gather(self) -> list[Peer]:
        """Wait until all wanted sites are connected; when time is up, accept fewer if they are enough."""
        end = time.monotonic() + self._limits.connect
        seen: tuple[int, list[str]] | None = None  # `wanted` may change: keys are added and withdrawn
        while True:
            peers = [peer for peer in self.net.online() if peer.label not in self._done]
            labels = sorted(peer.label for peer in peers)
            if (self.wanted, labels) != seen:
                seen = (self.wanted, labels)
                who = ", ".join(self._absent(labels)) or "the others"
                missing = f"; waiting for {who} until {clock(end)}" if len(peers) < self.wanted else ""
                connected = f"{': ' * bool(labels)}{', '.join(labels)}"
                self.note(f"{len(peers)} of {self.wanted} sites connected{connected}{missing}.")
            if len(peers) > self.wanted and self._keys is None:
                raise InputError(
                    f"{len(peers)} nodes are connected and {self.wanted} sites are wanted: without keys it is not "
                    "known which ones; set the number, or use keys"
                )
            if len(peers) >= self.wanted:
                return peers
            if time.monotonic() > end:
                break
            time.sleep(self._limits.poll)
        if len(peers) < self.least:
            absent = self._absent(labels)
            who = f" (not: {', '.join(absent)})" if absent else ""
            raise TemporaryError(
                f"{len(peers)} of {self.wanted} sites connected within {self._limits.connect:g} s{who}, and "
                f"{self.least} are needed; start the others, wait longer (--timeout), or allow fewer (--min-sites)"
            )
        self.dropped += [{"site": site, "why": "did not connect in time"} for site in self._absent(labels)]
        self.note(f"continuing with {len(peers)} of {self.wanted} sites.")
        return peers


@contextmanager
def announced_end(announce: Callable[[str], None]) -> Iterator[None]:
    """At the end of the `with` block, announce that it is complete, or the reason why not."""
    why = "stopped by the coordinator"
    try:
        yield
        why = "complete"
    except LinkLost:  # without a link nobody can be told
        why = ""
        raise
    except InputError as error:
        why = str(error)
        raise
    finally:
        if why:
            announce(why)
