"""The federation over a network, carried by Flower (the extra ``fedperi[flower]``).

`transport` puts the protocol of `fedperi.protocol.wire` on a Flower grid; `node` and `link` are what `fedperi site`
and `fedperi coordinate` run; `client_app` and `server_app` are the same for those who run Flower themselves.
"""

from __future__ import annotations

from ...errors import InputError

QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
}
"""What every Flower process of ours is told: report nothing, ask nobody for updates, install nothing."""


def need_flower() -> None:
    """Raise unless Flower is there, in a version whose inner interfaces are those that we use.

    Sites and coordinator speak Flower's network interfaces themselves, so that no process of ours ever loads code that
    came over the network; these interfaces are not among what Flower promises to keep.

    Examples
    --------
    >>> try:
    ...     need_flower()
    ... except InputError as error:
    ...     assert "fedperi[flower]" in str(error)
    """
    import os

    os.environ.update(QUIET)
    try:
        import flwr  # noqa: F401
    except ImportError:
        raise InputError(
            "the network needs Flower, which is not installed: pip install 'fedperi[flower]' (or exchange release "
            "files, which need no network: fedperi release)"
        ) from None
    try:
        from flwr.supercore.control import ControlHttpClient  # noqa: F401
        from flwr.supercore.runtime import RuntimeHttpClient  # noqa: F401
        from flwr.superlink.grid import HttpGrid  # noqa: F401
        from flwr.supernode.fleet_http_client import FleetHttpClient  # noqa: F401
    except ImportError as error:
        from importlib.metadata import version

        raise InputError(
            f"Flower {version('flwr')} has other inner interfaces than the 1.41 that this fedperi knows ({error}): "
            "pip install 'flwr>=1.41,<1.42', or a newer fedperi"
        ) from None
