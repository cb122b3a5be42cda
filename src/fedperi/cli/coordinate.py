"""`fedperi coordinate`: wait for sites over a network, find the graph that they share, write the results."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import InputError
from . import app
from .common.options import BASELINES, DEFAULTS, PRIVACY, check_place, given_options, make_baseline, make_method
from .common.outcome import summarize
from .common.say import say
from .site import check_insecure

if TYPE_CHECKING:
    from ..coordinator.record import Journal
    from ..methods import Result
    from ..transports.flower.link import Certificates


@app.command()
def coordinate(
    out: Path = typer.Option(..., "--out", metavar="DIR", help="Where to write the results."),
    sites: int | None = typer.Option(
        None, "--sites", metavar="N", help="How many sites; as many as keys if not given."
    ),
    min_sites: int | None = typer.Option(None, "--min-sites", metavar="K", help="Go on with K if others drop out."),
    address: str | None = typer.Option(None, "--address", metavar="HOST:PORT", help="Where to listen [0.0.0.0:9092]."),
    keys: Path | None = typer.Option(
        None, "--keys", metavar="DIR", help="Folder that `fedperi keys` made for this end."
    ),
    cert: Path | None = typer.Option(None, "--cert", metavar="FILE", help="Certificate, in place of that in --keys."),
    key: Path | None = typer.Option(None, "--key", metavar="FILE", help="Its private key."),
    ca: Path | None = typer.Option(None, "--ca", metavar="FILE", help="Certificate of the authority that signed it."),
    site_keys: Path | None = typer.Option(None, "--site-keys", metavar="DIR", help="NAME.pub of every site."),
    journal: Path | None = typer.Option(
        None, "--journal", metavar="DIR", help="To continue after a stop; --out if not given."
    ),
    timeout: float = typer.Option(600.0, "--timeout", metavar="S", help="Longest wait for sites, and for a reply."),
    insecure: bool = typer.Option(False, "--insecure", help="No TLS, no keys; only on this machine."),
    force_insecure: bool = typer.Option(False, "--force-insecure", help="With --insecure: for other machines too."),
    method: str | None = typer.Option(
        None, metavar="NAME", help="iperi, peri; or, NOT PRIVATE, notears-admm, feddag, fedcdh."
    ),
    masking: str | None = typer.Option(None, metavar="adaptive|consensus|none", help="What a site is judged by."),
    aggregate: str | None = typer.Option(None, metavar="sum|worst", help="How the sites' regrets are added up."),
    local: str | None = typer.Option(None, metavar="ges|pc", help="How a site learns alone (masking consensus)."),
    data: str | None = typer.Option(
        None, "--data-type", metavar="TYPE", help="What all sites must have as their --data-type."
    ),
    knowledge: str | None = typer.Option(None, metavar="FILE", help="Forbidden and required edges, tiers (TOML)."),
    schema: str | None = typer.Option(None, metavar="FILE", help="What all sites must have as their --schema."),
    alpha: float | None = typer.Option(None, help="Level of the tests of --local pc."),
    penalty: float | None = typer.Option(None, help="What all sites must have as their --penalty [1]."),
    bootstrap: int | None = typer.Option(
        None, metavar="N", help="Stability of edges from N resampled runs, if all sites allow them (--bootstrap)."
    ),
    seed: int | None = typer.Option(None, help="Of the search and the bootstrap."),
    config: str | None = typer.Option(None, "--config", metavar="FILE", help="Options of the method from a TOML file."),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON as well."),
) -> None:
    """Find the causal graph that connected sites share."""
    given = {
        "method": method,
        "masking": masking,
        "aggregate": aggregate,
        "local": local,
        "data": data,
        "knowledge": knowledge,
        "schema": schema,
        "alpha": alpha,
        "penalty": penalty,
        "bootstrap": bootstrap,
        "seed": seed,
    }
    asked = given_options(config, given)
    options = {**DEFAULTS, **asked}
    if any(options[name] is not None for name in PRIVACY):
        raise InputError("every site decides about its own privacy; leave it out here (fedperi site --epsilon)")
    check_place(out, False, as_json)
    if timeout <= 0:
        raise InputError(f"--timeout is a number of seconds above 0, not {timeout:g}")

    from ..report.console import console as terminal

    console = terminal(stderr=True, soft_wrap=True)

    def note(line: str) -> None:
        console.print(line)

    host, port = _address(address, insecure)
    check_insecure(insecure, force_insecure, host, note)
    certificates, known = _keys(insecure, keys, cert, key, ca, site_keys)
    wanted = sites if sites is not None else len(known)
    if wanted < 1 or (known and wanted > len(known)):
        raise InputError(
            f"--sites {wanted}: give the number of sites" + (f", at most the {len(known)} with keys" if known else "")
        )
    if min_sites is not None and not 1 <= min_sites <= wanted:
        raise InputError(f"--min-sites {min_sites}: of {wanted} sites between 1 and {wanted} can be required")
    kept: Journal | None = None
    fit: Callable[[Any], Result]
    if options["method"] in BASELINES:
        if journal is not None:
            raise InputError(f"--journal: a run of {options['method']} cannot be continued; leave it out")
        fit = make_baseline(asked).fit
    else:
        fit = replace(make_method({**options, "schema": None}, BASELINES), progress=False).fit  # the transport tells
        repeated = {key: value for key, value in options.items() if key not in PRIVACY} | {"sites": wanted}
        kept = _journal(journal or out, repeated, note)
    _end_at_terminate()
    result = _run(fit, options, (host, port), certificates, known, wanted, min_sites, timeout, kept, note)
    result.save(out)
    if as_json:
        say(result.to_json())
        return
    summarize(terminal(), result, out)
    say_dropped(result, say)


def _journal(place: Path, of: dict[str, Any], say: Callable[[str], None]) -> Journal:
    from ..coordinator.record import Journal

    record = Journal(place / "journal.jsonl", of)
    if record.resumed:
        say(f"continuing run {record.run}: what its journal holds is not asked again.")
    return record


def _run(
    fit: Callable[[Any], Result],
    options: dict[str, Any],
    address: tuple[str, int],
    certificates: Certificates | None,
    known: dict[str, bytes],
    wanted: int,
    min_sites: int | None,
    timeout: float,
    journal: Journal | None,
    say: Callable[[str], None],
) -> Result:
    from ..coordinator.record import Journal
    from ..tables.infer import as_schema
    from ..transports.flower.exchange import Limits
    from ..transports.flower.link import superlink
    from ..transports.flower.transport import FlowerTransport, through_drops

    declared = as_schema(options["schema"])
    record = journal or Journal()
    with superlink(*address, certificates, known) as link, link.grid() as grid:
        say(f"listening at {address[0]}:{address[1]}{'' if certificates else ' WITHOUT TLS'}, run {record.run}.")
        transport = FlowerTransport(
            grid,
            sites=wanted,
            min_sites=min_sites,
            keys={key: name for name, key in known.items()} or None,
            schema=declared,
            data=options["data"],
            bootstrap=bool(options["bootstrap"]),
            journal=record,
            limits=Limits(timeout, timeout),
            note=say,
        )
        return through_drops(fit, transport)


def say_dropped(result: Result, say: Callable[[str], None]) -> None:
    """Say who did not take part, and what that means."""
    if not result.dropped:
        return
    for site, why in result.dropped.items():
        say(f"Did not take part: {site} ({why}).")
    who = f"{len(result.sites)} sites: {', '.join(result.sites)}"
    if not result.regrets:
        say(f"The graph is of {who}. It says nothing about the others.")
        return
    say(
        f"The graph and the worst regret are of {who}. They say nothing "
        "about the others: for these the graph may be worse than the worst regret tells."
    )


def _address(address: str | None, insecure: bool) -> tuple[str, int]:
    text = address or ("127.0.0.1:9092" if insecure else "0.0.0.0:9092")
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InputError(f"--address is host:port, such as 0.0.0.0:9092; not {text!r}")
    return host.strip("[]"), int(port)


def _keys(
    insecure: bool, folder: Path | None, cert: Path | None, key: Path | None, ca: Path | None, site_keys: Path | None
) -> tuple[Certificates | None, dict[str, bytes]]:
    """Find certificates and keys, in a folder or one by one."""
    if insecure:
        if any(path is not None for path in (folder, cert, key, ca, site_keys)):
            raise InputError("--insecure uses no keys; leave them out, or --insecure")
        return None, {}
    from ..transports.flower.link import Certificates, read_site_keys

    if folder is not None and (folder / "coordinator").is_dir():
        raise InputError(f"--keys {str(folder)!r}: give the coordinator's part of it, {str(folder / 'coordinator')!r}")
    if folder is None and None in (cert, key, ca, site_keys):
        raise InputError(
            "give the coordinator's keys: --keys keys/coordinator (`fedperi keys` makes them), or --cert, --key, --ca "
            "and --site-keys; or --insecure in a test on this machine"
        )
    base = folder or Path()
    certificates = Certificates(ca or base / "ca.pem", cert or base / "server.pem", key or base / "server.key")
    certificates.check()
    return certificates, read_site_keys(site_keys or base / "sites")


def _end_at_terminate() -> None:
    """Let a SIGTERM end this like Ctrl-C does, so that the SuperLink is stopped."""
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
