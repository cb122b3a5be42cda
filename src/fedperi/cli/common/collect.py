"""The default way of `fedperi coordinate`: collect one statement per site, then compute with what is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...coordinator.tally import COMPUTING, RunTally
from ...errors import TemporaryError
from .run_log import RunLog, now
from .statements import statement_kind

if TYPE_CHECKING:
    from ...coordinator.statements import Statements
    from ...methods import Result
    from ...transports.flower.link import Certificates


@dataclass(frozen=True)
class Link:
    """Where sites connect to, and which sites are known.

    Parameters
    ----------
    address : tuple of str and int
    certificates : Certificates, optional
        None without TLS.
    known : mapping of str to bytes
        The sites' public keys, by name, as the link needs them; they may change in a run.
    keys : path, optional
        Their folder: statements are checked against it.
    """

    address: tuple[str, int]
    certificates: Certificates | None
    known: Mapping[str, bytes]
    keys: Path | None


def collect_and_fit(
    fit: Callable[[Any], Result],
    options: dict[str, Any],
    link: Link,
    place: Path,
    wanted: int,
    min_sites: int | None,
    timeout: float,
    note: RunLog,
    tally: RunTally,
) -> Result:
    """Collect the statements that are missing, and find the graph from all of them.

    Statements are kept in the folder `statements` of `place`. With all of them there, no site is asked, so that any
    other method or option can be tried later; late sites are added by running again.
    """
    from ...coordinator.record import Journal
    from ...coordinator.statements import Statements
    from ...privacy.release.signature import read_roster
    from ...transports.flower.link import surviving
    from ...transports.flower.live.site_keys import SiteKeys

    signers = link.known.signers if isinstance(link.known, SiteKeys) else None
    if signers is None and link.keys is not None:
        signers = dict(read_roster(link.keys))
    box = Statements(place / "statements", signers)
    least = wanted if min_sites is None else min_sites
    dropped: list[dict[str, str]] = []
    run, begun = Journal().run, now()
    tally.run, tally.stated = run, partial(_stated, box)
    if box.sites:
        note(f"{len(box.sites)} statements are here already, and are not asked for again: {', '.join(box.sites)}.")
    if len(box.sites) < wanted:
        dropped = surviving(lambda: _collect(box, options, link, wanted, least, timeout, note, tally), note)
    least = min(least, len(link.known) or least)  # keys may have been withdrawn meanwhile
    if len(box.sites) < least:
        raise TemporaryError(
            f"{len(box.sites)} of {wanted} sites gave a statement, and {least} are needed (--min-sites)"
        )
    for statement in box.all():
        note(f"{statement.site}: {statement_kind(statement)}.")
    tally.phase, tally.dropped = COMPUTING, dropped
    result = fit(box.all())
    return dated(replace(result, manifest={**result.manifest, "dropped": dropped}), run, begun)


def _stated(box: Statements) -> dict[str, tuple[str, float | None]]:
    """What each site has stated, in words, and the epsilon that it paid for it."""
    found: dict[str, tuple[str, float | None]] = {}
    for one in box.all():
        paid = getattr(one, "epsilon", None) if getattr(one, "private", False) else None
        found[one.site] = (statement_kind(one), paid)
    return found


def dated(result: Result, run: str, begun: str) -> Result:
    """Note in the manifest which run a result is of, when it began, and when it ended."""
    return replace(result, manifest={**result.manifest, "run": {"id": run, "begun": begun, "ended": now()}})


def _collect(
    box: Statements,
    options: dict[str, Any],
    link: Link,
    wanted: int,
    least: int,
    timeout: float,
    note: RunLog,
    tally: RunTally,
) -> list[dict[str, str]]:
    from ...coordinator.agreement import Wishes
    from ...coordinator.record import Journal
    from ...tables.infer import as_schema
    from ...transports.flower.collect import collect_statements
    from ...transports.flower.exchange import Limits
    from ...transports.flower.link import superlink
    from ...transports.flower.live.site_keys import names_of
    from ...transports.flower.roster import Roster
    from ...transports.flower.watched import WatchedGrid

    run, keys = tally.run, names_of(link.known)
    known = len(box.sites)
    declared = as_schema(options["schema"]) or next((s.schema for s in box.all() if s.schema is not None), None)
    log = note.path.with_name("superlink.log")
    with superlink(*link.address, link.certificates, link.known, log, note) as server, server.grid() as grid:
        where = f"{link.address[0]}:{link.address[1]}"
        note(f"listening at {where}{'' if link.certificates else ' WITHOUT TLS'}, run {run}.")
        roster = Roster(
            WatchedGrid(grid, tally, keys),
            sites=wanted - known,
            min_sites=max(least - known, 0),
            keys=keys,
            wishes=Wishes(declared, options["data"], False),
            journal=Journal(run=run),
            limits=Limits(timeout, timeout),
            note=note,
            done=box.sites,
        )
        tally.dropped, tally.traffic = roster.dropped, roster.net.traffic

        def waiting(sites: tuple[str, ...]) -> None:
            tally.waiting = sites

        with roster.closing(run):
            collect_statements(roster, box, run, waiting)
        return list(roster.dropped)
