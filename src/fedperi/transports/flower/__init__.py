"""The federation over a network, carried by Flower (the extra ``flower``).

`transport` puts the protocol of `fedperi.protocol.wire` on a Flower grid; `node` and `link` are what `fedperi site` and
`fedperi coordinate` run; `fedperi.cli.flower_apps` is the same for people who run Flower themselves. Only `inner`
uses interfaces that Flower does not promise to keep.
"""

from __future__ import annotations

from ...errors import InputError

QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
}
"""Environment of every Flower process that we start: no telemetry, no search for updates, no installation."""

TESTED = ">=1.41,<1.42"
"""Versions of Flower whose inner interfaces we know; the same range as in pyproject.toml."""

INSTALL = f"pip install 'flwr{TESTED}' httpx uvicorn cryptography (the extra 'flower' brings them)"


def need_flower() -> None:
    """Raise unless Flower is installed, in a version that fedperi is tested with.

    Examples
    --------
    >>> try:
    ...     need_flower()
    ... except InputError as error:
    ...     assert "the extra 'flower'" in str(error)
    """
    import os
    from importlib.metadata import version

    os.environ.update(QUIET)
    try:
        import flwr  # noqa: F401
    except ImportError:
        raise InputError(
            f"the network needs Flower, which is not installed; {INSTALL}, or exchange release files, which need no "
            "network: fedperi release"
        ) from None
    found = version("flwr")
    if found.split(".")[:2] != TESTED.removeprefix(">=").partition(",")[0].split("."):
        raise InputError(
            f"Flower {found} is installed, and this fedperi is tested with flwr{TESTED}; {INSTALL}, or "
            "use a newer fedperi"
        )
