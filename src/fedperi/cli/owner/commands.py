"""`fedperi pending`, `approve`, `refuse`: the owner of a site decides about its statement, even days later."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ...errors import InputError
from .. import app
from ..common import arguments as arg
from ..common.say import confirm, say

if TYPE_CHECKING:
    from ...privacy.store import Place
    from ...site.approval import Item

_NAME = typer.Argument(..., metavar="NAME", help="The site.", show_default=False)
_CODE = typer.Argument(None, metavar="CODE", help="The code that `fedperi pending` shows; asked for if not given.")


@app.command()
def pending(
    name: str | None = typer.Argument(None, metavar="NAME", help="One site; by default all in the store."),
    store: arg.Store = None,
    as_json: arg.AsJson = False,
) -> None:
    """Show statements that wait for a site's owner (fedperi site --approve-later). Exit code 0 in any case."""
    found = _found(store, name)
    if as_json:
        from dataclasses import asdict

        from ...strict import write_json

        say(write_json([asdict(item) | {"code": item.request.code} for _, item in found], indent=2))
        return
    for at, (_, item) in enumerate(found):
        for line in ([""] if at else []) + _shown(item):
            say(line)
    if not found:
        say(f"No statement was requested from a site in {str(_root(store))!r}.")


@app.command()
def approve(name: str = _NAME, code: str | None = _CODE, store: arg.Store = None) -> None:
    """Allow a site to send the statement with this code. It is sent when the coordinator asks again."""
    from ...site.approval import APPROVED

    _decide(name, code, store, APPROVED, "approve", "Send it?")


@app.command()
def refuse(name: str = _NAME, code: str | None = _CODE, store: arg.Store = None) -> None:
    """Refuse to send the statement with this code. The coordinator is told that it was not approved."""
    from ...site.approval import REFUSED

    _decide(name, code, store, REFUSED, "refuse", "Refuse it?")


def _decide(name: str, code: str | None, store: str | None, decision: str, verb: str, question: str) -> None:
    from ...site.approval import decide

    place, item = _chosen(name, code, store)
    if code is None:
        for line in _shown(item):
            say(line)
        command = item.request.command(verb, place.path.parent)
        # Without a terminal the code must be given, so that nothing else is approved by mistake.
        no_terminal = f"there is no terminal to ask at: repeat the code, as in `{command}`"
        confirm(f"{question} [y]es, [n]o: ", no_terminal=no_terminal, denied="nothing was decided")
    for line in _shown(decide(place, code or item.request.code, decision, _account())):
        say(line)


def _chosen(name: str, code: str | None, store: str | None) -> tuple[Place, Item]:
    """Find the one statement that the arguments name."""
    found = _found(store, name)
    if not found:
        raise InputError(
            f"no statement was requested from a site {name!r} in {str(_root(store))!r}: check that the name and the "
            "folder (--store) are those that the site was started with"
        )
    fitting = [(place, item) for place, item in found if code in (None, item.request.code)]
    if len(fitting) > 1:
        codes = ", ".join(item.request.code for _, item in fitting)
        raise InputError(
            f"statements of {len(fitting)} tables of site {name!r} were requested: add the code of one of them, {codes}"
        )
    return (fitting or found)[0]  # a code that fits nothing is refused where the decision is entered


def _found(store: str | None, name: str | None) -> list[tuple[Place, Item]]:
    from ...site.approval import items

    return [(place, item) for place, item in items(_root(store)) if name in (None, item.request.site)]


def _root(store: str | None) -> Path:
    from ...privacy.store import Store

    return Store(store).root


def _shown(item: Item) -> list[str]:
    request = item.request
    return [
        f"Site {request.site!r}, code {request.code}: {item.stands}.",
        f"  asked by    {request.asker}, run {item.run}",
        f"  would send  {request.what}",
        f"  price       {request.price}",
    ]


def _account() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):  # an account without a name, as in a container
        import os

        return f"account {os.getuid()}"
