"""The content of the status pages of a site and of a coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .page import StatusPage, StatusTable, ago, clock, size

if TYPE_CHECKING:
    from ...coordinator.tally import RunStatus, SiteState
    from ...site.status import SiteStatus

_LINKS = (("/healthz", "health"), ("/metrics", "metrics"))

_CHANNELS = {
    "release": "one private release",
    "moments": "one EXACT summary, not private",
    "regrets": "answers to questions",
}


def site_page(status: SiteStatus) -> StatusPage:
    """Make the page of a site: questions, answers and their prices, requests that wait for its owner."""
    budget = status.budget
    spent = "paid earlier" if status.private else "no noise, no promise"
    if budget is not None:
        spent = f"epsilon {budget.spent:.4g} of {budget.ceiling:g}"
    facts = (
        ("Coordinator", "connected" if status.connected else "out of reach"),
        ("Last contact", ago(status.contact)),
        ("May send", _CHANNELS[status.channel]),
        ("Statement", "sent" if status.stated or (status.item and status.item.sent) else "not sent"),
        ("Privacy spent", spent),
        ("Messages answered", f"{sum(status.messages.values())}, {status.refusals} refused"),
        ("Sent, received", f"{size(status.sent)}, {size(status.received)}"),
        ("Started", clock(status.begun)),
    )
    tables = [
        StatusTable(
            "Requests and answers",
            ("Time (UTC)", "Run", "What"),
            status.log,
            "No message has come yet.",
            "Newest first. The complete log, with the reasons for refusals, is in the store (log.txt).",
        )
    ]
    if status.item is not None and not status.waits:
        request = status.item.request
        row = (request.asker, request.what, request.price, status.item.stands)
        tables.insert(0, StatusTable("The owner's decision", ("Asked by", "What", "Price", "Decision"), (row,)))
    if budget is not None:
        rows = tuple(
            (_plain_time(when), what, f"{epsilon:.4g}", f"{delta:g}") for when, what, epsilon, delta in budget.releases
        )
        note = f"At most epsilon {budget.ceiling:g} at delta {budget.delta:g}, over all runs."
        head = ("Time (UTC)", "What", "Epsilon", "Delta")
        tables.insert(0, StatusTable("Releases and their prices", head, rows, "Nothing was released yet.", note))
    state, good = _site_state(status)
    return StatusPage("Site", status.site, state, good, facts, _site_asks(status), tuple(tables), _LINKS)


def _plain_time(when: str) -> str:
    """Write a time of the ledger like the others; it is in UTC."""
    return when.replace("T", " ").removesuffix("+00:00")


def _site_state(status: SiteStatus) -> tuple[str, bool]:
    if not status.alive:
        return "stuck: it does not respond", False
    if status.problem:
        return "the store cannot be read", False
    if status.waits:
        return "waits for its owner", False
    return ("connected", True) if status.connected else ("waiting for the coordinator", False)


def _site_asks(status: SiteStatus) -> tuple[tuple[str, ...], ...]:
    asks: list[tuple[str, ...]] = []
    if status.problem:
        asks.append(("A file in the store cannot be read", status.problem, ""))
    if status.item is not None and status.waits:
        request = status.item.request
        asks.append(
            (
                "A statement waits for your decision",
                f"Asked by {request.asker}, run {status.item.run}, {status.item.asked}.",
                f"Would send: {request.what.rstrip('.')}.",
                f"Price: {request.price}",
                "\n".join(request.command(verb, status.store) for verb in ("approve", "refuse")),
            )
        )
    return tuple(asks)


def run_page(status: RunStatus) -> StatusPage:
    """Make the page of a run: connected sites, their statements and prices, missing sites, the result."""
    connected = sum(one.connected for one in status.sites)
    stated = sum(bool(one.stated) for one in status.sites)
    facts = (
        ("Phase", status.phase),
        ("Sites connected", f"{connected} of {status.wanted}"),
        ("Statements here", f"{stated} of {status.wanted}"),
        ("Waiting for their owner", str(sum(one.waits for one in status.sites))),
        ("Rounds", str(status.rounds)),
        ("Sent, received", f"{size(status.sent)}, {size(status.received)}"),
        ("Refused keys", str(status.refused_keys)),
        ("Started", clock(status.begun)),
    )
    tables = [
        StatusTable(
            "Sites",
            ("Site", "State", "Last seen", "Statement", "Epsilon"),
            tuple(_site_row(one) for one in status.sites),
            "No site has connected yet.",
            tags=(1,),
        )
    ]
    if status.edges:
        note = f"The whole result is in {status.place}."
        head = ("Edge", "How sure", "Probability", "Direction")
        tables.insert(0, StatusTable("Result", head, status.edges, note=note))
    rows = tuple((line,) for line in status.log)
    tables.append(StatusTable("Events", ("Newest first",), rows))
    good = status.alive and not any(one.dropped for one in status.sites)
    state = status.phase if status.alive else "stuck: it does not respond"
    links = _LINKS if not status.edges else (("/report.html", "report"), *_LINKS)
    return StatusPage("Coordinator", f"Run {status.run}", state, good, facts, (), tuple(tables), links)


def _site_row(one: SiteState) -> tuple[str, ...]:
    if one.dropped:
        state = "dropped out"
    elif one.waits:
        state = "waits for its owner"
    elif one.stated:
        state = "stated"
    else:
        state = "connected" if one.connected else "not connected"
    epsilon = "" if one.epsilon is None else f"{one.epsilon:.4g}"
    return one.site, state, ago(one.seen), one.dropped or one.stated, epsilon
