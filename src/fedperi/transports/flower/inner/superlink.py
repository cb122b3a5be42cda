"""Run Flower's SuperLink in this process, with the settings that we need."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..live.certificate import renewing_context

KEY_HEADER = "flwr-public-key"
"""Header that holds the public key of a node, base64."""

CLOCKS = 300
"""Seconds by which the clocks of a site and the coordinator may differ."""

LAST_WORD = 1
"""Seconds for open connections when the SuperLink ends; the sites know already that the run is over."""

KEPT = 60
"""Seconds for which an idle connection is kept: a new one takes four round trips, an open one takes one."""


def run_superlink(serve: Callable[[Any, dict[str, Any]], None]) -> None:
    """Run Flower's SuperLink in this process, with the options of its command line; `serve` gets its web app."""
    import uvicorn
    from flwr.superlink.cli.flower_superlink import flower_superlink

    # Flower allows a site's clock to be 300 s behind but only 5 s ahead, and reports anything else as a wrong key.
    import_module("flwr.superlink.routers.fleet.node_auth").__dict__["SYSTEM_TIME_TOLERANCE"] = CLOCKS

    def run(app: Any, **options: Any) -> None:
        # No proxy headers: any client could otherwise claim to be this machine. No log of requests: sites look for
        # messages several times a second.
        options |= {"proxy_headers": False, "access_log": False, "timeout_keep_alive": KEPT}
        options["timeout_graceful_shutdown"] = LAST_WORD
        if options.get("ssl_certfile"):
            options["ssl_context_factory"] = renewing_context
        serve(app, options)

    uvicorn.run = run
    flower_superlink()
