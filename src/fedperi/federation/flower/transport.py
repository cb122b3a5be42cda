"""The protocol on a Flower grid: who is there, questions out, answers in, and never a wait without a limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import InputError
from .. import wire
from ..agreement import agree
from ..fields import Refused
from ..journal import Journal, settings_key
from ..messages import Floats, Question, Settings, Welcome
from ..wire import Asking, Card, Closing, Hello, Opening, Record
from .exchange import Exchange, Limits, Peer, Traffic

if TYPE_CHECKING:
    from flwr.serverapp import Grid

    from ...data.schema import Column, Schema

T = TypeVar("T")


class SitesChanged(Exception):
    """A site has dropped out, and enough are left: begin the search again; what is known is not asked again."""


class FlowerTransport:
    """A federation of sites that are connected to a Flower SuperLink.

    Parameters
    ----------
    grid : flwr.serverapp.Grid
        The grid.
    sites : int
        How many sites to wait for.
    min_sites : int, optional
        With how many the run may go on if others are late, refuse, or drop out; all of them if not given.
    keys : mapping of bytes to str, optional
        Public keys (PEM) of the sites and their names. Nodes with other keys are ignored, and a site that gives itself
        another name than that of its key is refused. Without it, whoever is connected takes part.
    schema : Schema, optional
        Columns that the coordinator declares.
    data : str
        How columns are taken.
    journal : Journal, optional
        What is known already, and where answers are kept.
    limits : Limits
        How long to wait.
    note : callable, optional
        Gets a line of words whenever there is news.
    """

    def __init__(
        self,
        grid: Grid,
        *,
        sites: int,
        min_sites: int | None = None,
        keys: Mapping[bytes, str] | None = None,
        schema: Schema | None = None,
        data: str = "auto",
        journal: Journal | None = None,
        limits: Limits | None = None,
        note: Callable[[str], None] | None = None,
    ) -> None:
        self._keys, self._schema, self._data = keys, schema, data
        self.wanted, self.least = sites, sites if min_sites is None else min_sites
        if not 1 <= self.least <= sites:
            raise InputError(f"of {sites} sites between 1 and {sites} can be required, not {min_sites}")
        self.journal = journal or Journal()
        self.limits = limits or Limits()
        self._note = note or (lambda line: None)
        self._net = Exchange(grid, keys, self.limits, self._note)
        self._columns: tuple[Column, ...] | None = None
        self._current = ""
        self.dropped: list[dict[str, str]] = []

    # -- what a coordinator asks of a transport -------------------------------------------------------------------

    def open(self, settings: Settings) -> list[Welcome]:
        """Begin a run at every site; the first time, wait for them and find out whether they fit together."""
        first = self._columns is None
        columns = self._connect() if self._columns is None else self._columns
        self._current = settings_key(settings)
        names = [column.name for column in columns]
        message = Opening(self._run, settings, columns, self._data)
        unknown = [site for site in self._net.peers if self.journal.welcome(self._current, site) is None]
        replies = self._net.send("open", dict.fromkeys(unknown, wire.write(message)))

        def reading(site: str, reply: Record) -> Welcome:
            welcome = wire.read_welcome(reply, f"site {site!r}", names)
            if welcome.site != site:
                raise Refused(f"site {site!r} now calls itself {welcome.site!r}")
            return welcome

        def keep(site: str, welcome: Welcome) -> None:
            self.journal.welcomed(self._current, welcome)

        self._read(replies, reading, keep, changing=not first)
        welcomes = [self.journal.welcome(self._current, site) for site in self._net.peers]
        return [welcome for welcome in welcomes if welcome is not None]

    def ask(self, questions: Sequence[Question]) -> list[list[Floats]]:
        """Put the same questions to every site, each only where it has not been answered before."""
        unknown = {site: self._unknown(site, questions) for site in self._net.peers}
        waiting = {site: new for site, new in unknown.items() if new}
        if waiting:
            number = self.traffic.rounds + 1
            run = self._run
            messages = {site: wire.write(Asking(run, number, tuple(new))) for site, new in waiting.items()}
            replies = self._net.send("ask", messages)
            self.traffic.rounds += 1

            def reading(site: str, reply: Record) -> list[Floats]:
                return wire.read_answers(reply, f"site {site!r}", waiting[site])

            def keep(site: str, answers: list[Floats]) -> None:
                self.journal.answered(self._current, site, waiting[site], answers)

            self._read(replies, reading, keep, changing=True)
            self._say_round()
        return [[self._known(site, question) for question in questions] for site in self._net.peers]

    def privacy(self) -> list[dict[str, Any] | None]:
        """Close the run at every site and return what each tells about its privacy; its welcome, if it is gone."""
        replies = self._net.send("close", dict.fromkeys(self._net.peers, wire.write(Closing(self._run))))
        told: list[dict[str, Any] | None] = []
        for site in self._net.peers:
            welcome = self.journal.welcome(self._current, site)
            last = None if welcome is None else welcome.privacy
            reply = replies[site]
            if not isinstance(reply, str):
                try:
                    last = wire.read_farewell(reply, f"site {site!r}")
                except InputError as error:
                    self._note(str(error))
            told.append(last)
        return told

    @property
    def traffic(self) -> Traffic:
        """What has been exchanged so far."""
        return self._net.traffic

    @property
    def sites(self) -> tuple[str, ...]:
        """Who takes part, in the order of their names."""
        return tuple(self._net.peers)

    # -- connecting -----------------------------------------------------------------------------------------------

    @property
    def _run(self) -> str:
        """The name of the run at the sites: every bootstrap draw is a run of its own."""
        known = self.journal.settings
        at = known.index(self._current) if self._current in known else len(known)
        return f"{self.journal.run}.{at}"

    def _connect(self) -> tuple[Column, ...]:
        peers = self._gather()
        hello = wire.write(Hello(self.journal.run))
        self._net.peers = {peer.label: peer for peer in peers}
        replies = self._net.send("hello", dict.fromkeys(self._net.peers, hello))
        cards: dict[str, Card] = {}
        self._read(replies, lambda label, reply: wire.read_card(reply, label), cards.__setitem__, changing=False)
        for label, card in cards.items():
            self._check_name(label, card)
        columns_first = sorted(cards.values(), key=lambda card: card.site)
        self._columns = agree(columns_first, self._schema)
        by_name = sorted((card.site, self._net.peers[label]) for label, card in cards.items())
        self._net.peers = {site: Peer(peer.node, f"site {site!r}", peer.since) for site, peer in by_name}
        for site, why in self.journal.lost.items():
            if self._net.peers.pop(site, None) is not None:
                self.dropped.append({"site": site, "why": why})
        if len(self._net.peers) < self.least:
            raise InputError(
                f"the run that is continued went on without {', '.join(self.journal.lost)}, and {self.least} sites are "
                "needed: allow fewer (--min-sites), or begin a new run (--journal)"
            )
        self._note(f"{len(self._net.peers)} sites take part: {', '.join(self._net.peers)}.")
        return self._columns

    def _check_name(self, label: str, card: Card) -> None:
        if self._keys is not None and card.site != label:
            raise InputError(
                f"the site with the key of {label!r} calls itself {card.site!r}: give it the name of its key "
                f"(--name {label}), or make a key for that name"
            )

    def _gather(self) -> list[Peer]:
        """Wait until as many sites are connected as are wanted; for as few as are enough when time is up."""
        end = time.monotonic() + self.limits.connect
        seen: list[str] | None = None
        while True:
            peers = self._net.online()
            labels = sorted(peer.label for peer in peers)
            if labels != seen:
                seen = labels
                absent = sorted(set((self._keys or {}).values()) - set(labels))
                missing = f"; waiting for {', '.join(absent)}" if absent and len(peers) < self.wanted else ""
                connected = f"{': ' * bool(labels)}{', '.join(labels)}"
                self._note(f"{len(peers)} of {self.wanted} sites connected{connected}{missing}.")
            if len(peers) > self.wanted and self._keys is None:
                raise InputError(
                    f"{len(peers)} nodes are connected and {self.wanted} sites are wanted: without keys nobody can say "
                    "which ones; set the number, or use keys"
                )
            if len(peers) >= self.wanted:
                return peers
            if time.monotonic() > end:
                break
            time.sleep(self.limits.poll)
        if len(peers) < self.least:
            absent = sorted(set((self._keys or {}).values()) - set(labels))
            who = f" (not: {', '.join(absent)})" if absent else ""
            raise InputError(
                f"{len(peers)} of {self.wanted} sites connected within {self.limits.connect:g} s{who}, and "
                f"{self.least} are needed; start the others, wait longer (--timeout), or allow fewer (--min-sites)"
            )
        for absent_site in sorted(set((self._keys or {}).values()) - set(labels)):
            self.dropped.append({"site": absent_site, "why": "did not connect in time"})
        self._note(f"going on with {len(peers)} of {self.wanted} sites.")
        return peers

    # -- who stays ------------------------------------------------------------------------------------------------

    def _read(
        self,
        replies: Mapping[str, Record | str],
        reading: Callable[[str, Record], T],
        keep: Callable[[str, T], None],
        *,
        changing: bool,
    ) -> None:
        """Read replies and keep the good ones; a site without one drops out, if enough are left, or ends the run.

        With `changing`, who has counted on that site must begin again.
        """
        bad: dict[str, str] = {}
        for site, reply in replies.items():
            label = self._net.peers[site].label
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
            self._drop(site, why)
        if bad and changing:
            raise SitesChanged

    def _drop(self, site: str, why: str) -> None:
        del self._net.peers[site]
        if len(self._net.peers) < self.least:
            few = f"{len(self._net.peers)} of {self.wanted} sites are left, and {self.least} are needed"
            raise InputError(f"{why}; {few} (--min-sites allows fewer)")
        self.dropped.append({"site": site, "why": why})
        self.journal.lose(site, why)
        self._note(f"{why}; going on with {len(self._net.peers)} sites.")

    def _unknown(self, site: str, questions: Sequence[Question]) -> list[Question]:
        return [q for q in questions if self.journal.known(self._current, site, q) is None]

    def _known(self, site: str, question: Question) -> Floats:
        answer = self.journal.known(self._current, site, question)
        assert answer is not None
        return answer

    def _say_round(self) -> None:
        traffic, p = self.traffic, len(self._columns or ())
        from ...search.screening import FULL

        most = 2 if p <= FULL else 10
        left = max(0, most - traffic.rounds)
        eta = f"; at most {left} more, about {left * traffic.seconds[-1]:.0f} s" if left else ""
        self._note(
            f"round {traffic.rounds}: {traffic.seconds[-1]:.1f} s, {_size(traffic.sent)} out, "
            f"{_size(traffic.received)} in so far{eta}."
        )


def through_drops(fit: Callable[[FlowerTransport], T], transport: FlowerTransport) -> T:
    """Run a search; whenever a site drops out and enough are left, run it again without that site."""
    while True:  # ends: every turn but the last has lost a site
        try:
            return fit(transport)
        except SitesChanged:
            continue


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"
