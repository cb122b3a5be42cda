"""Serve the status of a running site or coordinator at an address of this machine (`--status-port`)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import InputError

if TYPE_CHECKING:
    from ...coordinator.tally import RunTally
    from ...methods import Result
    from ...site.service.work import SiteWork
    from ...transports.status import Answer

STATUS = "Status page"
"""Heading of `--help` for these options."""

StatusPort = Annotated[
    int | None,
    typer.Option(
        "--status-port", metavar="PORT", help="Port for a status page, /healthz and /metrics.", rich_help_panel=STATUS
    ),
]
StatusHost = Annotated[
    str,
    typer.Option(
        "--status-host",
        metavar="ADDRESS",
        help="Address for them; by default this machine only.",
        rich_help_panel=STATUS,
    ),
]


@contextmanager
def showing_site(work: SiteWork, port: int | None, host: str, note: Callable[[str], None]) -> Iterator[None]:
    """Serve the pages of a site while the block runs; without a port, do nothing."""
    from ...report.status.metrics import TYPE, site_metrics, write_metrics
    from ...report.status.page import render_status
    from ...report.status.views import site_page
    from ...site.status import site_status
    from ...transports.status import Answer

    def health() -> Answer:
        status = site_status(work)
        facts = {"role": "site", "site": status.site, "connected": status.connected, "pending": int(status.waits)}
        return _health(status.alive and not status.problem, status.contact, facts)

    pages = {
        "/": lambda: Answer(render_status(site_page(site_status(work)))),
        "/healthz": health,
        "/metrics": lambda: Answer(write_metrics(site_metrics(site_status(work))), TYPE),
    }
    with _serving(pages, port, host, note):
        yield


@contextmanager
def showing_run(tally: RunTally, port: int | None, host: str, out: Path, note: Callable[[str], None]) -> Iterator[None]:
    """Serve the pages of a coordinator's run while the block runs; without a port, do nothing."""
    from ...report.status.metrics import TYPE, run_metrics, write_metrics
    from ...report.status.page import render_status
    from ...report.status.views import run_page
    from ...transports.status import Answer

    def health() -> Answer:
        status = tally.status()
        facts = {
            "role": "coordinator",
            "run": status.run,
            "phase": status.phase,
            "connected": sum(one.connected for one in status.sites),
            "pending": sum(one.waits for one in status.sites),
        }
        return _health(status.alive, status.contact, facts)

    def report() -> Answer:
        try:
            text = (out / "report.html").read_text(encoding="utf-8")
            return Answer(text, policy="frame-ancestors 'none'")  # the report has a policy of its own for its script
        except OSError:
            return Answer("There is no result yet.\n", "text/plain", 404)

    pages = {
        "/": lambda: Answer(render_status(run_page(tally.status()))),
        "/healthz": health,
        "/metrics": lambda: Answer(write_metrics(run_metrics(tally.status())), TYPE),
        "/report.html": report,
    }
    with _serving(pages, port, host, note):
        yield


def _health(fine: bool, contact: float | None, facts: Mapping[str, Any]) -> Answer:
    from ...transports.status import Answer

    since = None if contact is None else round(time.time() - contact, 1)
    text = json.dumps({"status": "ok" if fine else "failing", **facts, "seconds_since_contact": since})
    return Answer(f"{text}\n", "application/json", 200 if fine else 503)


@contextmanager
def _serving(
    pages: Mapping[str, Callable[[], Answer]], port: int | None, host: str, note: Callable[[str], None]
) -> Iterator[None]:
    from ...transports.status import check_host, is_local, status_server

    check_host(host)
    if port is None:
        yield
        return
    if not 0 < port < 65536:
        raise InputError(f"--status-port is a port between 1 and 65535, not {port}")
    with status_server(host, port, pages):
        at = f"[{host}]" if ":" in host else host
        note(f"status at http://{at}:{port}")
        if not is_local(host):
            note("WARNING: --status-host: anyone who reaches that address can read the status; it has no password.")
        yield


def finished(tally: RunTally, result: Result) -> None:
    """Show the result on the status page."""
    from ...coordinator.tally import DONE
    from ..common.outcome import edges_in_words

    rows = []
    for row, direction in edges_in_words(result):
        edge = f"{row.a} {'→' if row.directed else '—'} {row.b}"
        probability = "" if row.probability is None else f"{row.probability:.2f}"
        rows.append((edge, row.how_sure or "", probability, direction if result.groups else ""))
    tally.edges, tally.phase = tuple(rows), DONE


def stay(note: Callable[[str], None]) -> None:
    """Wait until the program is stopped."""
    from .. import Interrupted

    note("the status page stays up; end it with Ctrl-C.")
    with suppress(Interrupted):
        while True:
            time.sleep(3600)
