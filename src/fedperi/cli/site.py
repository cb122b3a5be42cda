"""`fedperi site`: a site's end of a federation over a network. It connects outwards, answers, and keeps a log."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import InputError
from . import app
from .common.say import say

if TYPE_CHECKING:
    from ..privacy import Privacy
    from ..site.work import SiteWork


@app.command()
def site(
    data: str = typer.Option(..., "--data", metavar="FILE", help="The site's table (CSV, Parquet) or a release file."),
    coordinator: str | None = typer.Option(None, "--coordinator", metavar="HOST:PORT", help="Whom to connect to."),
    name: str | None = typer.Option(None, "--name", help="The site's name: that of its key, or else of its file."),
    ca: Path | None = typer.Option(None, "--ca", metavar="FILE", help="Certificate of the coordinator's authority."),
    key: Path | None = typer.Option(None, "--key", metavar="FILE", help="The site's private key."),
    store: str | None = typer.Option(None, "--store", metavar="DIR", help="Where ledger, noise and log are kept."),
    schema: str | None = typer.Option(
        None, "--schema", metavar="FILE", help="Types, and levels of categories: the same file at every site."
    ),
    data_type: str = typer.Option(
        "auto", "--data-type", metavar="TYPE", help="auto, linear, nonlinear, discrete, mixed; the site decides alone."
    ),
    missing: str = typer.Option(
        "error",
        "--missing",
        metavar="error|drop",
        help="Refuse gaps (with noise: count as a default), or drop rows.",
    ),
    targets: str | None = typer.Option(None, "--targets", metavar="A,B", help="Columns that the site has set itself."),
    penalty: float = typer.Option(1.0, "--penalty", help="Multiplies the price of an edge; the same at every site."),
    epsilon: float | None = typer.Option(None, "--epsilon", help="Differential privacy: the price of this table."),
    delta: float = typer.Option(1e-6, "--delta", help="And the probability that it fails."),
    mechanism: str = typer.Option(
        "statistics", "--mechanism", metavar="statistics|regret", help="Where noise is added."
    ),
    bounds: str | None = typer.Option(None, "--bounds", metavar="FILE", help="Public limits and levels (TOML)."),
    most_rows: int | None = typer.Option(
        None, "--most-rows", metavar="N", help="For a larger delta: a public number of rows that no table exceeds."
    ),
    decimal: str | None = typer.Option(
        None, "--decimal", metavar="MARK", help="Decimal mark of numbers in text: . or ,"
    ),
    ceiling: float | None = typer.Option(None, "--ceiling", help="Largest total epsilon, over all runs."),
    require_privacy: bool = typer.Option(False, "--require-privacy", help="Never answer without noise."),
    bootstrap: bool = typer.Option(
        False, "--bootstrap/--no-bootstrap", help="Whether the coordinator may have rows resampled."
    ),
    most_openings: int = typer.Option(
        200, "--most-openings", metavar="N", help="Distinct openings answered, over all runs."
    ),
    most_messages: int = typer.Option(
        20_000, "--most-messages", metavar="N", help="Rounds and steps answered, over all runs."
    ),
    most_numbers: int = typer.Option(100_000_000, "--most-numbers", metavar="N", help="Numbers given, over all runs."),
    allow: str | None = typer.Option(
        None, "--allow", metavar="A,B", help="Methods that are NOT PRIVATE and may run: notears-admm, feddag, fedcdh."
    ),
    approve: bool = typer.Option(False, "--approve", help="Ask here before anything is sent."),
    wait: float = typer.Option(3600.0, "--wait", metavar="S", help="Give up when out of reach for so many seconds."),
    insecure: bool = typer.Option(False, "--insecure", help="No TLS, no keys; only to this machine."),
    force_insecure: bool = typer.Option(False, "--force-insecure", help="With --insecure: to other machines too."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Show what would be sent; connect nowhere."),
) -> None:
    """Take part in a federation with one table, until stopped. No row leaves this machine."""
    from ..protocol.policy import SitePolicy
    from ..report.console import console as terminal
    from ..site.work import SiteWork

    console = terminal(stderr=True, soft_wrap=True)
    protection = _privacy(epsilon, delta, mechanism, bounds, ceiling, store, most_rows, decimal)
    asking = _Approval() if approve else None

    def note(line: str) -> None:
        console.print(line)

    def work() -> SiteWork:
        return SiteWork(
            data,
            name=name or (key.stem if key is not None else None),
            store=store,
            schema=schema,
            data=data_type,
            missing=missing,
            targets=None if targets is None else _listed(targets),
            penalty=penalty,
            privacy=protection,
            policy=SitePolicy(
                privacy_required=require_privacy,
                bootstrap=bootstrap,
                most_openings=most_openings,
                most_messages=most_messages,
                most_numbers=most_numbers,
                methods=tuple(_listed(allow or "")),
            ),
            approve=asking,
            tell=note,
        )

    if dry_run:
        for line in work().dry_run():
            say(line)
        for line in _noticed(data, protection, schema, data_type, missing, name):
            say(line)
        return
    if coordinator is None:
        raise InputError("give the coordinator's address: --coordinator host:9092 (or --dry-run to see what is sent)")
    from ..transports.flower.address import Address

    address = Address(coordinator, ca, key, insecure)
    address.check()
    check_insecure(insecure, force_insecure, address.host, note)
    if not insecure and key is None:
        raise InputError("give this site's key: --key site.key (`fedperi keys` makes one), or --insecure in a test")
    made = work()
    note(f"site {made.name!r}: every message is written to {made.log.path}")
    for line in _noticed(data, protection, schema, data_type, missing, made.name):
        note(line)
    if protection is None and made.card.promise is None:
        note("NOT PRIVATE: answers carry no noise, and regrets tell much of a table (--epsilon, --bounds).")
    if made.policy.methods:
        note(
            f"NOT PRIVATE: {', '.join(made.policy.methods)} may run here, and tell much of a table (docs/baselines.md)."
        )
    _serve(made, address, wait, note, asking)


def _noticed(
    data: str, protection: Privacy | None, schema: str | None, data_type: str, missing: str, name: str | None
) -> list[str]:
    """Say to the owner what the rows hold that is odd, before anybody is connected to: later nothing is refused."""
    if protection is None:
        return []
    from ..privacy.owner import owner_findings

    how: dict[str, Any] = {"schema": schema, "data": data_type, "missing": missing, "name": name}
    found = owner_findings(data, protection, **how)
    head = "For this site only; with noise nothing of it is refused, so mend the table first:"
    return [head, *(f"  {finding}" for finding in found)] if found else []


def _listed(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _serve(made: SiteWork, address: object, wait: float, say: Callable[[str], None], asking: _Approval | None) -> None:
    from ..transports.flower.node import serve

    stop = threading.Event()

    def end(number: int, frame: object) -> None:
        stop.set()
        if asking is not None and asking.open:
            raise EOFError  # nobody answered, so nothing is sent

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    serve(made, address, wait=wait, note=say, stop=stop)  # type: ignore[arg-type]
    say(f"site {made.name!r}: stopped.")


class _Approval:
    """Asks the person at the terminal; no answer is a no."""

    def __init__(self) -> None:
        self._all: set[str] = set()
        self.open = False

    def __call__(self, what: str) -> bool:
        run = what.split()[1]
        if run in self._all:
            return True
        say(what)
        self.open = True
        try:
            answer = input("Send it? [y]es, [n]o, yes to [a]ll of this run: ").strip().lower()
        except EOFError:
            answer = "n"
        finally:
            self.open = False
        if answer in ("a", "all"):
            self._all.add(run)
        return answer in ("y", "yes", "a", "all")


def check_insecure(insecure: bool, forced: bool, host: str, say: Callable[[str], None]) -> None:
    """Allow a connection without TLS on this machine alone, unless it is forced; warn of it in any case."""
    import ipaddress

    if not insecure:
        if forced:
            raise InputError("--force-insecure goes with --insecure")
        return
    try:
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    if not local and not forced:
        raise InputError(
            f"--insecure sends everything in the clear, to whoever is there, and {host!r} is not this machine; "
            "use keys (`fedperi keys`), or, if the network itself is protected, add --force-insecure"
        )
    say("WARNING: --insecure: nothing is encrypted, and nobody proves who they are.")


def _privacy(
    epsilon: float | None,
    delta: float,
    mechanism: str,
    bounds: str | None,
    ceiling: float | None,
    store: str | None,
    most_rows: int | None,
    decimal: str | None,
) -> Privacy | None:
    if epsilon is None:
        given = {"--bounds": bounds, "--ceiling": ceiling, "--most-rows": most_rows, "--decimal": decimal}
        about = next((option for option, value in given.items() if value is not None), None)
        if about is not None:
            raise InputError(f"{about} is about privacy, which needs a price: add --epsilon 1")
        return None
    from ..privacy import Privacy

    kinds: dict[str, Any] = {"mechanism": mechanism, "decimal": decimal}
    return Privacy(epsilon, delta, bounds=bounds, ceiling=ceiling, store=store, most_rows=most_rows, **kinds)
