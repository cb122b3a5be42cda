"""`fedperi coordinate`: wait for sites over a network, find the graph that they share, write the results."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..coordinator.tally import RunTally
from ..errors import InputError
from . import app
from .common import arguments as arg
from .common.methods import BASELINES, NETWORK, PRIVACY, STATED, known_options, make_method
from .common.network import Network, ask_and_fit, collect_and_fit
from .common.options import check_place, given_options
from .common.outcome import say_dropped, summarize
from .common.run_log import RunLog
from .common.say import say
from .schema.explaining import explaining
from .site import check_insecure
from .status.serving import STATUS, StatusHost, StatusPort, finished, showing_run, stay

if TYPE_CHECKING:
    from ..coordinator.record import Journal
    from ..transports.flower.link import Certificates


DEFAULTS: dict[str, Any] = {
    "method": "mperi",
    "sharing": "auto",
    "confidence": 0.95,
    "masking": None,
    "aggregate": None,
    "local": "ges",
    "data": "auto",
    "knowledge": None,
    "schema": None,
    "missing": "error",
    "alpha": 0.01,
    "penalty": 1.0,
    "bootstrap": 0,
    "seed": 0,
}
"""Values that a journal records for options that were not given, so that a run resumes only with the same options."""


@app.command()
def coordinate(
    context: typer.Context,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write the results.")],
    sites: int | None = typer.Option(None, metavar="N", help="Number of sites; by default the number of keys."),
    min_sites: int | None = typer.Option(None, metavar="K", help="Continue with K sites if others drop out."),
    address: str | None = typer.Option(None, metavar="HOST:PORT", help="Where to listen [0.0.0.0:9092]."),
    keys: Path | None = typer.Option(None, metavar="DIR", help="The coordinator's folder, made by `fedperi keys`."),
    cert: Path | None = typer.Option(None, metavar="FILE", help="TLS certificate; by default that in --keys."),
    key: Path | None = typer.Option(None, metavar="FILE", help="Its private key."),
    ca: arg.Authority = None,
    site_keys: arg.SiteKeys = None,
    journal: Path | None = typer.Option(
        None, metavar="DIR", help="Folder from which a stopped run resumes; by default --out."
    ),
    timeout: float = typer.Option(600.0, metavar="S", help="Seconds to wait for sites, and for each reply."),
    insecure: arg.Insecure = False,
    force_insecure: arg.ForceInsecure = False,
    channel: str | None = typer.Option(
        None, metavar="statements|regrets", help="One statement per site (the default), or questions in rounds."
    ),
    method: str | None = typer.Option(
        None, metavar="NAME", help="mperi, iperi, peri; or, NOT PRIVATE, notears-admm, feddag, fedcdh."
    ),
    sharing: arg.Sharing = None,
    confidence: arg.Confidence = None,
    masking: arg.Masking = None,
    aggregate: arg.Aggregate = None,
    local: arg.Local = None,
    data: Annotated[
        str | None, typer.Option("--data", "--data-type", metavar="TYPE", help="The --data that every site must use.")
    ] = None,
    knowledge: arg.Knowledge = None,
    schema: str | None = typer.Option(None, metavar="FILE", help="The --schema that every site must use."),
    alpha: arg.Alpha = None,
    penalty: float | None = typer.Option(None, help="The --penalty that every site must use [1]."),
    bootstrap: arg.Bootstrap = None,
    seed: arg.Seed = None,
    config: arg.Config = None,
    log_format: str = typer.Option("text", metavar="text|json", help="Format of the log lines."),
    status_port: StatusPort = None,
    status_host: StatusHost = "127.0.0.1",
    status_stay: bool = typer.Option(
        False, "--status-stay", help="After the run, keep serving the page until stopped.", rich_help_panel=STATUS
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON as well."),
) -> None:
    """Find the causal graph that connected sites share."""
    options_known = tuple(dict.fromkeys((*known_options(STATED), *known_options(NETWORK), "missing", *PRIVACY)))
    asked, said = given_options(config, context.params, options_known)
    if any(option in PRIVACY for option in asked):
        raise InputError("every site decides about its own privacy; leave the option out here (fedperi site --epsilon)")
    remedy = f"choose another; to add a site or change an option, add --journal {out}, so that no site is asked twice"
    check_place(out, False, as_json, remedy=remedy)
    if timeout <= 0:
        raise InputError(f"--timeout must be a number of seconds above 0, not {timeout:g}")

    from ..console import console as terminal

    host, port = _address(address, insecure)
    certificates, known = _keys(insecure, keys, cert, key, ca, site_keys)
    wanted = _wanted(sites, min_sites, len(known))
    stated = _is_stated(channel, asked)
    if not stated:
        asked.setdefault("method", "iperi")
    place = journal or out
    shown = terminal(stderr=True, soft_wrap=True).print
    check_insecure(insecure, force_insecure, host, shown)
    # A site decides about missing values. Files written for `fedperi run` may say what sites do by default.
    own = {option: value for option, value in asked.items() if option != "missing"}
    # The network shows progress, and knows the schema.
    fit = replace(make_method(own, said, STATED if stated else NETWORK), progress=False, schema=None).fit
    options = {**DEFAULTS, **asked}
    kept = None if stated else _journal(options, wanted, place, resume=journal is not None)
    if kept is not None and kept.resumed:
        shown(f"resuming run {kept.run}: answers in its journal are not requested again.")
    tally = RunTally(wanted, list(known), place=str(out))
    note = RunLog(place, log_format, partial(shown, highlight=log_format == "text"), tally.note)
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))  # like Ctrl-C, so that the SuperLink is stopped
    network = Network((host, port), certificates, known, wanted, min_sites, timeout, note, tally)
    with showing_run(tally, status_port, status_host, out, note), note.ending(), explaining(place, note):
        result = collect_and_fit(fit, options, network, place) if stated else ask_and_fit(fit, options, network, kept)
        result.save(out)
        note(f"the result is in {str(out)!r}.")
        if as_json:
            say(result.to_json())
        else:
            summarize(terminal(), result, out)
            say_dropped(result)
        finished(tally, result)
        if status_stay:
            stay(note)


def _is_stated(channel: str | None, asked: dict[str, Any]) -> bool:
    """Whether each site gives one statement, and no answers."""
    methods = dict.fromkeys((*STATED, *NETWORK))
    if asked.get("method", "mperi") not in methods:
        raise InputError(f"method must be one of {', '.join(methods)}; not {asked['method']!r}")
    baseline = asked.get("method") in BASELINES
    if channel not in (None, "statements", "regrets"):
        raise InputError(f"--channel is statements or regrets, not {channel!r}")
    if channel == "statements" and baseline:
        raise InputError(
            f"{asked['method']} sends steps to the sites, and needs more than statements: --channel regrets"
        )
    return channel != "regrets" and not baseline


def _wanted(sites: int | None, min_sites: int | None, known: int) -> int:
    """Return how many sites take part."""
    wanted = sites if sites is not None else known
    if wanted < 1 or (known and wanted > known):
        raise InputError(
            f"--sites {wanted}: give the number of sites" + (f", at most the {known} with keys" if known else "")
        )
    if min_sites is not None and not 1 <= min_sites <= wanted:
        raise InputError(f"--min-sites {min_sites}: of {wanted} sites between 1 and {wanted} can be required")
    return wanted


def _journal(options: Mapping[str, Any], wanted: int, place: Path, *, resume: bool) -> Journal | None:
    """Open the journal of a run in rounds; None for a baseline, which cannot be resumed."""
    from ..coordinator.record import Journal

    if options["method"] not in BASELINES:
        return Journal(place / "journal.jsonl", {**options, "sites": wanted})
    if resume:
        raise InputError(f"--journal: a run of {options['method']} cannot be resumed; leave it out")
    return None


def _address(address: str | None, insecure: bool) -> tuple[str, int]:
    text = address or ("127.0.0.1:9092" if insecure else "0.0.0.0:9092")
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InputError(f"--address is host:port, such as 0.0.0.0:9092; not {text!r}")
    return host.strip("[]"), int(port)


def _keys(
    insecure: bool, folder: Path | None, cert: Path | None, key: Path | None, ca: Path | None, site_keys: Path | None
) -> tuple[Certificates | None, Mapping[str, bytes]]:
    """Find certificates and keys, in a folder or one by one."""
    if insecure:
        if any(path is not None for path in (folder, cert, key, ca, site_keys)):
            raise InputError("--insecure uses no keys; omit the keys or --insecure")
        return None, {}
    from ..transports.flower.link import Certificates
    from ..transports.flower.live.site_keys import SiteKeys

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
    return certificates, SiteKeys(site_keys or base / "sites")
