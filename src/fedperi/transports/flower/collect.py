"""Collect one statement per site over Flower: one request and one reply.

A site replies that its owner has not decided yet, if so. It is then asked again: often at first, later once a minute.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...coordinator.statements import Statements
from ...protocol import wire
from ...protocol.fields import Pending
from ...protocol.requests import Stating
from ...protocol.wire import Record
from .exchange import clock
from .roster import Roster

if TYPE_CHECKING:
    from ...privacy.statement import Statement

FIRST_PAUSE, LONGEST_PAUSE = 2.0, 60.0
"""Seconds between two requests to a site whose owner has not decided yet: the pause doubles every time."""

UNDECIDED = "waits for its owner, who has not approved its statement yet; run again, and it is asked again"
"""Why a site drops out if its owner takes longer than the coordinator waits."""


def collect_statements(
    roster: Roster, box: Statements, run: str, waiting: Callable[[tuple[str, ...]], None] = lambda sites: None
) -> list[Statement]:
    """Ask every connected site for its statement, unless it is in the box already; return all in the box.

    A site whose statement is refused, or that is lost, drops out with the reason, if enough are left. After every
    round of requests, `waiting` is called with the names of the sites that wait for their owner.
    """
    columns = roster.connect()
    asked = [site for site in roster.net.peers if site not in box.sites]
    roster.net.traffic.rounds += bool(asked)
    roster.owed = set(asked)
    message = wire.write(Stating(run, columns))

    def decided(site: str, reply: Record) -> bool:
        try:
            box.add(site, wire.read_statement(reply, f"site {site!r}"), columns)
        except Pending:
            return False
        roster.owed.discard(site)
        return True

    def keep(site: str, done: bool) -> None:
        if not done:
            asked.append(site)

    end, pause = time.monotonic() + roster.net.limits.reply, FIRST_PAUSE
    noted: list[str] = []
    while asked:
        replies = roster.net.send("state", dict.fromkeys(asked, message))
        asked.clear()
        roster.read(replies, decided, keep)
        asked.sort()
        waiting(tuple(asked))
        if not asked:
            break
        left = end - time.monotonic()
        if left <= 0:
            roster.read(dict.fromkeys(asked, UNDECIDED), decided, keep)
            break
        if asked != noted:
            noted = list(asked)
            who = "its owner has" if len(asked) == 1 else "their owners have"
            roster.note(f"{', '.join(asked)}: {who} not decided yet; waiting until {clock(end)}.")
        time.sleep(min(pause, left))
        pause = min(2 * pause, LONGEST_PAUSE)
    return box.all()
