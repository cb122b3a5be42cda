"""One statement per site over Flower: who is there, one request, one reply; then the sites may go.

A site whose owner has not decided yet says so, and is asked again: often at first, then once a minute.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ...coordinator.statements import Statements
from ...errors import InputError
from ...protocol import wire
from ...protocol.fields import Pending
from ...protocol.requests import Stating
from ...protocol.wire import Record
from .exchange import clock
from .roster import Roster

if TYPE_CHECKING:
    from ...privacy.statement import Statement

FIRST_PAUSE, LONGEST_PAUSE = 2.0, 60.0
"""Seconds between two questions to a site whose owner has not decided yet: it begins with the first, and doubles."""

UNDECIDED = "waits for its owner, who has not approved its statement yet; run again, and it is asked again"
"""Why a site drops out whose owner takes longer than the coordinator waits."""


def collect_statements(
    roster: Roster, box: Statements, run: str, waiting: Callable[[tuple[str, ...]], None] = lambda sites: None
) -> list[Statement]:
    """Ask every connected site for its statement, unless it is in the box already; return all in the box.

    A site whose statement is refused, or that is lost, drops out with the reason, if enough are left.

    Parameters
    ----------
    roster : Roster
        The sites.
    box : Statements
        Where statements are kept.
    run : str
        The name of the run.
    waiting : callable
        Gets the names of the sites that wait for their owner, whenever they were asked.
    """
    columns = roster.connect()
    asked = [site for site in roster.net.peers if site not in box.sites]
    roster.net.traffic.rounds += bool(asked)
    roster.owed = set(asked)
    message = wire.write(Stating(run, columns))

    def reading(site: str, reply: Record) -> str:
        text = wire.read_statement(reply, f"site {site!r}")
        box.add(site, text, columns)
        roster.owed.discard(site)
        return text

    end, pause = time.monotonic() + roster.net.limits.reply, FIRST_PAUSE
    told: list[str] = []
    while asked:
        replies = roster.net.send("state", dict.fromkeys(asked, message))
        asked = _undecided(replies)
        waiting(tuple(asked))
        roster.read({site: replies[site] for site in replies if site not in asked}, reading, lambda site, text: None)
        if not asked:
            break
        left = end - time.monotonic()
        if left <= 0:
            roster.read(dict.fromkeys(asked, UNDECIDED), reading, lambda site, text: None)
            break
        if asked != told:
            told = asked
            who = "its owner has" if len(asked) == 1 else "their owners have"
            roster.note(f"{', '.join(asked)}: {who} not decided yet; waiting until {clock(end)}.")
        time.sleep(min(pause, left))
        pause = min(2 * pause, LONGEST_PAUSE)
    return box.all()


def _undecided(replies: Mapping[str, Record | str]) -> list[str]:
    """Sites that say that their owner has not decided yet."""
    found = []
    for site, reply in replies.items():
        try:
            if not isinstance(reply, str):
                wire.read_statement(reply, site)
        except Pending:
            found.append(site)
        except InputError:  # said where the others are read
            pass
    return sorted(found)
