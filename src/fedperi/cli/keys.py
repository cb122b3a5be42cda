"""`fedperi keys`: create certificates and site keys for a pilot, in folders to hand over."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import InputError
from . import app
from .common import arguments as arg
from .common.say import say

if TYPE_CHECKING:
    from ..pki.keys import Keys


@app.command()
def keys(
    out: Path | None = typer.Option(None, metavar="DIR", help="The folder of the pilot, new or made before."),
    host: list[str] = typer.Option([], metavar="NAME", help="A host name of the coordinator; may be repeated."),
    ip: list[str] = typer.Option([], metavar="ADDRESS", help="An IP address of the coordinator; may be repeated."),
    sites: str | None = typer.Option(None, metavar="A,B", help="Sites to create keys for."),
    days: int | None = typer.Option(None, help="Lifetime of the coordinator's certificate (default: 365)."),
    renew: bool = typer.Option(False, "--renew", help="Create a new coordinator's certificate; keep the old one."),
    withdraw: str | None = typer.Option(None, metavar="A,B", help="Shut out these sites from now on."),
    show: Path | None = typer.Option(None, metavar="PATH", help="Show names, fingerprints and lifetimes."),
    encrypt: Path | None = typer.Option(None, metavar="FILE", help="Encrypt a site's key, in place."),
    passphrase_file: arg.PassphraseFile = None,
) -> None:
    """Create a CA, the coordinator's certificate and a key per site; later: add sites, renew, withdraw, show."""
    making = out is not None and withdraw is None
    if sum([making, withdraw is not None, show is not None, encrypt is not None]) > 1:
        raise InputError("give one task: --out (with --withdraw to shut sites out), --show, or --encrypt")
    if show is not None:
        _show(show)
    elif encrypt is not None:
        _encrypt(encrypt, passphrase_file)
    elif out is None:
        raise InputError("give the folder to write: --out keys")
    elif withdraw is not None:
        _withdraw(out, _split(withdraw, "--withdraw"), bool(host or ip or sites or days or renew))
    else:
        from ..pki.keys import make_keys

        made = make_keys(out, hosts=host, addresses=ip, sites=_split(sites, "--sites"), days=days, renew=renew)
        for line in _lines(made):
            say(line)


def _show(place: Path) -> None:
    from ..pki.certificates import need_cryptography
    from ..pki.lifetimes import overview

    need_cryptography("reading certificates")
    for line in overview(place):
        say(line)


def _encrypt(key: Path, passphrase: Path | None) -> None:
    from ..pki.private import encrypt_key

    encrypt_key(key, passphrase)
    say(f"{key} is encrypted now. Without the passphrase it is lost; the public key and the fingerprint are the same.")


def _withdraw(folder: Path, names: list[str], more: bool) -> None:
    from ..pki.withdraw import withdraw

    if more:
        raise InputError("--withdraw is a separate task: omit --host, --ip, --sites, --days and --renew")
    for name, path in zip(names, withdraw(folder, names), strict=True):
        say(f"{name} is shut out: its key is in {path}.")
    say("A coordinator that uses this folder notices within seconds. At any other copy, run the same command.")


def _split(sites: str | None, option: str) -> list[str]:
    if sites is None:
        return []
    names = [part.strip() for part in sites.split(",")]
    if not all(names):
        raise InputError(f"{option} {sites!r} has an empty name: give names separated by commas, as in north,south")
    return names


def _lines(made: Keys) -> list[str]:
    """Say where everything is, what is secret, and what to do next."""
    coordinator = made.folder / "coordinator"
    lines: list[str] = []
    if made.until is not None:
        names = ", ".join((*made.hosts, *made.addresses)) or "this machine alone"
        lines += [f"{coordinator}: certificate for {names}, until {made.until:%Y-%m-%d}."]
        if made.replaced is not None:
            lines += [
                f"  The old one is in {made.replaced}.",
                "  Copy server.key and server.pem to the coordinator: one that is running uses them within seconds.",
            ]
        else:
            lines += ["  Copy this folder to the coordinator's machine."]
    for site, fingerprint in made.sites.items():
        lines += [f"{made.folder / 'sites' / site}: hand this folder to site {site}, by a confidential channel."]
        lines += [f"  key {fingerprint}"]
    if made.sites and made.until is None:
        lines += [f"Copy the new files of {coordinator / 'sites'} to the coordinator; it needs no restart."]
    if made.until is not None and made.replaced is None:
        lines += [
            f"{made.folder / 'ca'}: ca.key is the secret of the whole pilot. Keep it off the network; see README.txt."
        ]
    lines += [f"CA {made.ca}"]
    return [*lines, "Sites should compare these fingerprints by telephone before they begin."] if made.sites else lines
