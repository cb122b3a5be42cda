"""The two ways of `fedperi coordinate` over a network: one statement per site, or questions in rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...coordinator.tally import COMPUTING, RunTally, told_so_far
from ...errors import TemporaryError
from .run_log import RunLog, now
from .statements import statement_kind

if TYPE_CHECKING:
    from ...coordinator.record import Journal
    from ...coordinator.statements import Statements
    from ...methods import Result
    from ...transports.flower.exchange import Limits
    from ...transports.flower.link import Certificates
    from ...transports.flower.watched import WatchedGrid

Fit = Callable[[Any], "Result"]


@dataclass(frozen=True)
class Network:
    """Where sites connect to, which sites are known, and how long a run waits for how many of them.

    Parameters
    ----------
    address : tuple of str and int
    certificates : Certificates, optional
        None without TLS.
    known : mapping of str to bytes
        The sites' public keys, by name; they may change in a run. Empty without TLS.
    wanted : int
        Number of sites.
    min_sites : int, optional
        Number of sites that are enough if others drop out; by default all.
    timeout : float
        Seconds to wait for sites, and for each reply.
    note : RunLog
        Gets lines for people.
    tally : RunTally
        What the status page shows.
    """

    address: tuple[str, int]
    certificates: Certificates | None
    known: Mapping[str, bytes]
    wanted: int
    min_sites: int | None
    timeout: float
    note: RunLog
    tally: RunTally

    @property
    def names(self) -> Mapping[bytes, str] | None:
        """The names of the sites by their keys; None without keys."""
        from ...transports.flower.live.site_keys import names_of

        return names_of(self.known)

    @property
    def limits(self) -> Limits:
        """The timeout, for the connection and for each reply."""
        from ...transports.flower.exchange import Limits

        return Limits(self.timeout, self.timeout)

    @contextmanager
    def listening(self, run: str, *, rounds: bool) -> Iterator[WatchedGrid]:
        """Let sites connect while the block runs; `rounds` says whether they are asked more than once."""
        from ...transports.flower.link import superlink
        from ...transports.flower.watched import WatchedGrid

        (host, port), log = self.address, self.note.path.with_name("superlink.log")
        with superlink(host, port, self.certificates, self.known, log, self.note) as link, link.grid() as grid:
            self.note(f"listening at {host}:{port}{'' if self.certificates else ' WITHOUT TLS'}, run {run}.")
            yield WatchedGrid(grid, self.tally, self.names, rounds=rounds)


def collect_and_fit(fit: Fit, options: dict[str, Any], network: Network, place: Path) -> Result:
    """Collect the statements that are missing, and find the graph from all of them.

    Statements are kept in the folder `statements` of `place`. If all of them are there, no site is asked, so that any
    other method or option can be tried later; late sites are added by running again.
    """
    from ...coordinator.record import Journal
    from ...coordinator.statements import Statements
    from ...transports.flower.link import surviving
    from ...transports.flower.live.site_keys import SiteKeys

    wanted, note, tally = network.wanted, network.note, network.tally
    box = Statements(place / "statements", network.known.signers if isinstance(network.known, SiteKeys) else None)
    least = wanted if network.min_sites is None else network.min_sites
    dropped: list[dict[str, str]] = []
    run, begun = Journal().run, now()
    tally.run, tally.stated = run, partial(_stated, box)
    if box.sites:
        note(f"{len(box.sites)} statements are here already, and are not asked for again: {', '.join(box.sites)}.")
    if len(box.sites) < wanted:
        dropped = surviving(lambda: _collect(box, options, network, least, run), note)
    least = min(least, len(network.known) or least)  # keys may have been withdrawn meanwhile
    if len(box.sites) < least:
        raise TemporaryError(
            f"{len(box.sites)} of {wanted} sites gave a statement, and {least} are needed (--min-sites)"
        )
    for statement in box.all():
        note(f"{statement.site}: {statement_kind(statement)}.")
    tally.phase, tally.dropped = COMPUTING, dropped
    result = fit(box.all())
    return _dated(replace(result, manifest={**result.manifest, "dropped": dropped}), run, begun)


def _stated(box: Statements) -> dict[str, tuple[str, float | None]]:
    """Return what each site has stated, in words, and the epsilon that it paid for it."""
    found: dict[str, tuple[str, float | None]] = {}
    for one in box.all():
        paid = getattr(one, "epsilon", None) if getattr(one, "private", False) else None
        found[one.site] = (statement_kind(one), paid)
    return found


def _collect(box: Statements, options: dict[str, Any], network: Network, least: int, run: str) -> list[dict[str, str]]:
    """Ask the sites whose statements are missing; return the sites that dropped out, with reasons."""
    from ...coordinator.agreement import Wishes
    from ...coordinator.record import Journal
    from ...tables.infer import as_schema
    from ...transports.flower.collect import collect_statements
    from ...transports.flower.roster import Roster

    tally, known = network.tally, len(box.sites)
    declared = as_schema(options["schema"]) or next((s.schema for s in box.all() if s.schema is not None), None)
    with network.listening(run, rounds=False) as grid:
        roster = Roster(
            grid,
            sites=network.wanted - known,
            min_sites=max(least - known, 0),
            keys=network.names,
            wishes=Wishes(declared, options["data"], False),
            journal=Journal(run=run),
            limits=network.limits,
            note=network.note,
            done=box.sites,
        )
        tally.dropped, tally.traffic = roster.dropped, roster.net.traffic
        with roster.closing(run):
            collect_statements(roster, box, run, lambda sites: setattr(tally, "waiting", sites))
        return list(roster.dropped)


def ask_and_fit(fit: Fit, options: dict[str, Any], network: Network, journal: Journal | None) -> Result:
    """Ask the sites in rounds, as the method needs; a run with a journal survives the loss of its SuperLink."""
    from ...coordinator.record import Journal
    from ...tables.infer import as_schema
    from ...transports.flower.link import surviving
    from ...transports.flower.transport import FlowerTransport, through_drops

    declared, tally = as_schema(options["schema"]), network.tally
    record, begun = journal or Journal(), now()
    tally.run, tally.stated = record.run, partial(told_so_far, record)

    def attempt() -> Result:
        with network.listening(record.run, rounds=True) as grid:
            transport = FlowerTransport(
                grid,
                sites=network.wanted,
                min_sites=network.min_sites,
                keys=network.names,
                schema=declared,
                data=options["data"],
                bootstrap=bool(options["bootstrap"]),
                journal=record,
                limits=network.limits,
                note=network.note,
            )
            tally.dropped, tally.traffic = transport.dropped, transport.traffic
            with transport.closing():
                return through_drops(fit, transport)

    # Steps of a baseline change the sites' state and are not kept: only a journal lets a run survive its SuperLink.
    result = attempt() if journal is None else surviving(attempt, network.note)
    return _dated(result, record.run, begun)


def _dated(result: Result, run: str, begun: str) -> Result:
    """Note in the manifest the name of the run, when it began, and when it ended."""
    return replace(result, manifest={**result.manifest, "run": {"id": run, "begun": begun, "ended": now()}})
