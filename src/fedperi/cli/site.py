"""`fedperi site`: take part in a federation over a network. A site connects outwards, answers, and keeps a log."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from . import app
from .common import arguments as arg
from .common.methods import make_privacy
from .common.options import split_names
from .common.say import say
from .common.tables import table_and_type
from .status.serving import StatusHost, StatusPort, showing_site

if TYPE_CHECKING:
    from ..pki.certificates import OwnKey
    from ..privacy import Privacy
    from ..site.service.work import SiteWork
    from ..transports.flower.address import Address


@app.command()
def site(
    context: typer.Context,
    table: str | None = typer.Argument(
        None, metavar="FILE", help="The site's table (CSV, Parquet) or a release file.", show_default=False
    ),
    coordinator: str | None = typer.Option(None, metavar="HOST:PORT", help="The coordinator's address."),
    name: str | None = typer.Option(None, help="The site's name; by default that of its key or file."),
    ca: arg.Authority = None,
    key: arg.SiteKey = None,
    passphrase_file: arg.PassphraseFile = None,
    store: arg.Store = None,
    schema: str | None = typer.Option(
        None, metavar="FILE", help="Types and levels of columns (TOML); the same file at every site."
    ),
    data: arg.DataType = None,
    data_type: Annotated[str | None, typer.Option("--data-type", hidden=True)] = None,
    missing: arg.SiteMissing = "error",
    targets: arg.Targets = None,
    penalty: float = typer.Option(1.0, help="Factor of the BIC penalty of an edge; the same at every site."),
    epsilon: arg.Epsilon = None,
    delta: arg.Delta = None,
    mechanism: arg.Mechanism = None,
    bounds: arg.Bounds = None,
    most_rows: arg.MostRows = None,
    decimal: arg.DecimalMark = None,
    ceiling: arg.Ceiling = None,
    require_privacy: bool = typer.Option(False, "--require-privacy", help="Send nothing without noise."),
    bootstrap: bool = typer.Option(
        False, "--bootstrap/--no-bootstrap", help="Allow the coordinator to request bootstrap resampling."
    ),
    most_openings: int = typer.Option(200, metavar="N", help="Limit over all runs: distinct opening messages."),
    most_messages: int = typer.Option(20_000, metavar="N", help="Limit over all runs: rounds and steps answered."),
    most_numbers: int = typer.Option(100_000_000, metavar="N", help="Limit over all runs: numbers sent."),
    channel: str = typer.Option(
        "release", metavar="release|moments|regrets", help="What may be sent: noisy or EXACT moments once, or answers."
    ),
    allow: str | None = typer.Option(
        None, metavar="A,B", help="Allow methods that are NOT PRIVATE: notears-admm, feddag, fedcdh."
    ),
    approve: bool = typer.Option(False, "--approve", help="Ask here before anything is sent."),
    approve_later: bool = typer.Option(
        False, "--approve-later", help="The statement waits until it is approved (fedperi pending, approve, refuse)."
    ),
    wait: float | None = typer.Option(
        None, metavar="S", help="Give up after S seconds without contact (default: never)."
    ),
    insecure: arg.Insecure = False,
    force_insecure: arg.ForceInsecure = False,
    status_port: StatusPort = None,
    status_host: StatusHost = "127.0.0.1",
    dry_run: arg.DryRun = False,
) -> None:
    """Take part in a federation with one table, until stopped. No row leaves this machine."""
    from ..console import console as terminal
    from ..pki.certificates import OwnKey, warnings_of

    note = terminal(stderr=True, soft_wrap=True).print
    if approve and approve_later:
        raise InputError("--approve asks here, --approve-later waits for a command: give one of the two")
    given = {**context.params, **table_and_type(table, data, data_type, note)}
    given["privacy"] = _privacy(given)
    asking = _Approval() if approve else None
    stop = threading.Event()
    address = None if dry_run else _address(coordinator, ca, key, insecure, force_insecure, note)
    own_key = None if key is None else OwnKey(key, passphrase_file)
    if ca is not None and not dry_run:
        for line in warnings_of([ca]):  # its certificate ends soon
            note(line)
    made = _work(given, own_key, asking, note, stop)
    if address is None:
        for line in (*made.dry_run(), *_noticed(given, name)):
            say(line)
        return
    for line in _greeting(made, given):
        note(line)
    with showing_site(made, status_port, status_host, note):
        _serve(made, address, wait, note, asking, stop, own_key)


def _work(
    given: Mapping[str, Any],
    own_key: OwnKey | None,
    asking: _Approval | None,
    note: Callable[[str], None],
    stop: threading.Event,
) -> SiteWork:
    """Make the site's service from the options."""
    from ..protocol.policy import SitePolicy
    from ..site.service.work import SiteWork

    targets = given["targets"]
    limits = {limit: given[limit] for limit in ("bootstrap", "most_openings", "most_messages", "most_numbers")}
    same = {option: given[option] for option in ("store", "schema", "data", "missing", "penalty", "privacy")}
    return SiteWork(
        given["table"],
        name=given["name"] or (Path(given["key"]).stem if given["key"] else None),
        targets=None if targets is None else split_names(targets),
        policy=SitePolicy(
            given["channel"],
            privacy_required=given["require_privacy"],
            methods=tuple(split_names(given["allow"])),
            **limits,
        ),
        key=None if own_key is None else own_key.current,
        finished=stop.set,
        approve=asking,
        later_for=_asker(given) if given["approve_later"] else None,
        tell=note,
        **same,
    )


def _asker(given: Mapping[str, Any]) -> str:
    """Name the coordinator: its address, and the authority that certifies it."""
    where = given["coordinator"] or "no coordinator"
    if given["ca"] is None or not Path(given["ca"]).is_file():
        return str(where)
    from hashlib import sha256

    return f"{where} (authority {sha256(Path(given['ca']).read_bytes()).hexdigest()[:16]})"


def _privacy(given: Mapping[str, Any]) -> Privacy | None:
    """Return the privacy promise. Without an epsilon, a store, a mechanism or a delta does not ask for privacy."""
    unasked = dict.fromkeys(("store", "mechanism", "delta")) if given["epsilon"] is None else {}
    return make_privacy({**given, **unasked})


def _address(
    coordinator: str | None,
    ca: Path | None,
    key: Path | None,
    insecure: bool,
    forced: bool,
    note: Callable[[str], None],
) -> Address:
    """Return the address to connect to; refuse a connection that is not protected."""
    if coordinator is None:
        raise InputError("give the coordinator's address: --coordinator host:9092 (or --dry-run to see what is sent)")
    from ..transports.flower.address import Address

    address = Address(coordinator, ca, key, insecure)
    address.check()
    check_insecure(insecure, forced, address.host, note)
    if not insecure and key is None:
        raise InputError("give this site's key: --key site.key (`fedperi keys` makes one), or --insecure in a test")
    return address


def _greeting(made: SiteWork, given: Mapping[str, Any]) -> list[str]:
    """List what the owner should know before the site connects."""
    from ..protocol.policy import CHANNEL_WORDS

    lines = [
        f"site {made.name!r}: every message is written to {made.log.path}",
        f"It gives {CHANNEL_WORDS[made.policy.channel]}.",
        *_noticed(given, made.name),
    ]
    if given["approve_later"]:
        lines.append("Nothing is sent before its owner has approved it: fedperi pending, approve, refuse.")
    if given["privacy"] is None and made.card.promise is None:
        lines.append("NOT PRIVATE: what it sends carries no noise (--epsilon, --bounds).")
    if made.policy.methods:
        allowed = ", ".join(made.policy.methods)
        lines.append(
            f"NOT PRIVATE: {allowed} may run here, and reveal much of a table (docs/explanation/baselines.md)."
        )
    return lines


def _noticed(given: Mapping[str, Any], name: str | None) -> list[str]:
    """List what is odd in the rows, for the owner, before the site connects: later nothing is refused."""
    if given["privacy"] is None:
        return []
    from ..privacy.owner import owner_findings

    how = {option: given[option] for option in ("schema", "data", "missing")}
    found = owner_findings(given["table"], given["privacy"], name=name, **how)
    head = "For this site only; with noise none of this stops a run, so correct the table first:"
    return [head, *(f"  {finding}" for finding in found)] if found else []


def _serve(
    made: SiteWork,
    address: Address,
    wait: float | None,
    note: Callable[[str], None],
    asking: _Approval | None,
    stop: threading.Event,
    key: OwnKey | None,
) -> None:
    from ..transports.flower.node import serve

    def end(number: int, frame: object) -> None:
        stop.set()
        if asking is not None and asking.open:
            raise EOFError  # ends the question without an answer, so nothing is sent

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    serve(made, address, wait=wait, note=note, stop=stop, key=key)
    done = "its statement is with the coordinator; it may go offline." if made.stated else "stopped."
    note(f"site {made.name!r}: {done}")


class _Approval:
    """Ask the person at the terminal before every message; no answer is a no."""

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


def check_insecure(insecure: bool, forced: bool, host: str, note: Callable[[str], None]) -> None:
    """Allow a connection without TLS on this machine only, unless it is forced; warn in any case."""
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
            f"--insecure sends everything unencrypted, readable by anyone on the way, and {host!r} is not this "
            "machine; use keys (`fedperi keys`), or, if the network itself is protected, add --force-insecure"
        )
    note("WARNING: --insecure: nothing is encrypted, and no one's identity is checked.")
