"""A ClientApp and a ServerApp, for people who run Flower's own SuperLink, SuperNodes and ``flwr run``.

A SuperNode starts a process for every message; `SiteWork` keeps what must last on the site's disk. A site's options
come from its ``--node-config``, those of the method from ``--run-config``. A SuperNode executes the bundle that the
SuperLink sends, so a site that uses one trusts everyone who may start runs there; `fedperi site` needs no such trust.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..protocol import wire
from ..protocol.fields import Refused
from ..protocol.policy import SitePolicy
from ..site.service.work import SiteWork
from ..transports.flower import need_flower
from .common.methods import OF_IPERI, PRIVACY
from .common.options import split_names
from .common.tables import table_and_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flwr import clientapp, serverapp

_SITE = ("table", "name", "store", "schema", "data", "missing", "targets", "penalty")
_POLICY = ("require-privacy", "allow", "channel")
_LIMITS = ("bootstrap", "most-openings", "most-messages", "most-numbers")
_OLD = ("data-type",)  # when the table was called data
_PRIVACY = tuple(option for option in PRIVACY if option != "store")  # a site has a store in any case
_METHOD = ("method", *OF_IPERI)


def client_app() -> clientapp.ClientApp:
    """Make the ClientApp, with one query for each message of the protocol."""
    need_flower()
    from flwr import clientapp
    from flwr.app import Context, Message

    from ..transports.flower.records import from_records, to_records

    app = clientapp.ClientApp()

    def answer(kind: str, message: Message, context: Context) -> Message:
        site = site_of(context.node_config)
        try:
            reply = site.reply(kind, from_records(message.content, "the coordinator"))
        except Refused as error:
            reply = wire.refusal(str(error))
        return Message(to_records(reply), reply_to=message)

    for kind in wire.KINDS:
        app.query(kind)(partial(answer, kind))
    return app


def site_of(config: Mapping[str, Any]) -> SiteWork:
    """Set up a site from the configuration of a SuperNode.

    Examples
    --------
    >>> site_of({"table": "north.csv", "colour": "red"})
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: --node-config has the key 'colour'; known: table, name, store, ...
    """
    known = _SITE + _POLICY + _LIMITS + _PRIVACY
    unknown = [key for key in config if key not in (*known, *_OLD)]
    if unknown:
        raise InputError(f"--node-config has the key {unknown[0]!r}; known: {', '.join(known)}")
    table, data, kind = (str(config[key]) if config.get(key) else None for key in ("table", "data", "data-type"))
    if table is None and data is None:
        raise InputError("""--node-config names no table: give --node-config 'table="/path/of/table.csv"'""")
    read = table_and_type(table, data, kind, _log)
    protection = None
    given = {key: config[key] for key in _PRIVACY if config.get(key) not in (None, "")}
    if given:
        from ..privacy import Privacy

        if "epsilon" not in given:
            raise InputError(f"--node-config: {next(iter(given))} concerns privacy, which needs a price: add epsilon")
        protection = Privacy(**given)
    targets, allowed = config.get("targets"), str(config.get("allow") or "")
    return SiteWork(
        read["table"],
        name=config.get("name") or None,
        store=config.get("store") or None,
        schema=config.get("schema") or None,
        data=read["data"],
        missing=str(config.get("missing") or "error"),
        targets=None if targets is None else split_names(str(targets)),
        penalty=config.get("penalty", 1.0),
        privacy=protection,
        policy=SitePolicy(
            str(config.get("channel") or "release"),
            privacy_required=bool(config.get("require-privacy", False)),
            methods=tuple(split_names(allowed)),
            **{key.replace("-", "_"): config[key] for key in _LIMITS if config.get(key) not in (None, "")},
        ),
    )


def server_app() -> serverapp.ServerApp:
    """Make the ServerApp: wait for the sites, search, write the results."""
    need_flower()
    from flwr import serverapp
    from flwr.app import Context

    app = serverapp.ServerApp()

    def main(grid: serverapp.Grid, context: Context) -> None:
        find(grid, context.run_config)

    app.main()(main)
    return app


def find(grid: Any, config: Mapping[str, Any]) -> Any:
    """Run a method on the sites of a grid, with the configuration of a run, and save its result."""
    from ..coordinator.record import Journal
    from ..methods import IPERI, PERI
    from ..tables.infer import as_schema
    from ..transports.flower.exchange import Limits
    from ..transports.flower.transport import FlowerTransport, through_drops

    options = {key: config[key] for key in _METHOD if config.get(key) not in (None, "")}
    name, schema, methods = options.pop("method", "iperi"), options.pop("schema", None), {"iperi": IPERI, "peri": PERI}
    if name not in methods:
        raise InputError(f"method is iperi or peri, not {name!r}")
    method = methods[name](progress=False, **options)
    out = Path(str(config.get("out") or "results"))
    if (out / "result.json").exists():
        raise InputError(f"out={str(out)!r} holds the results of an earlier run; choose another")
    wait = float(config.get("timeout") or 600.0)
    kept = Path(str(config.get("journal") or out)) / "journal.jsonl"
    transport = FlowerTransport(
        grid,
        sites=int(config["sites"]),
        min_sites=int(config.get("min-sites") or 0) or None,
        schema=as_schema(schema),
        data=str(options.get("data", "auto")),
        bootstrap=bool(options.get("bootstrap")),
        journal=Journal(kept, {key: config[key] for key in _METHOD if key in config}),
        limits=Limits(wait, wait),
        note=_log,
    )
    result = through_drops(method.fit, transport)
    result.save(out)
    _log(f"wrote {out}")
    return result


def _log(line: str) -> None:
    import logging

    logging.getLogger("flwr").info(line)
