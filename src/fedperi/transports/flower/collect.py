"""One statement per site over Flower: who is there, one request, one reply; then the sites may go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...coordinator.statements import Statements
from ...protocol import wire
from ...protocol.requests import Stating
from ...protocol.wire import Record
from .roster import Roster

if TYPE_CHECKING:
    from ...privacy.statement import Statement


def collect_statements(roster: Roster, box: Statements, run: str) -> list[Statement]:
    """Ask every connected site for its statement, unless it is in the box already; return all in the box.

    A site whose statement is refused, or that is lost, drops out with the reason, if enough are left.
    """
    columns = roster.connect()
    asked = [site for site in roster.net.peers if site not in box.sites]
    message = wire.write(Stating(run, columns))
    replies = roster.net.send("state", dict.fromkeys(asked, message))
    roster.net.traffic.rounds += bool(asked)

    def reading(site: str, reply: Record) -> str:
        text = wire.read_statement(reply, f"site {site!r}")
        box.add(site, text, columns)
        return text

    roster.read(replies, reading, lambda site, text: None)
    return box.all()
