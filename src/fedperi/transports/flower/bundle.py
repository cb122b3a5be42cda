"""The app bundle that Flower needs for every run: settings, and a module that imports the installed fedperi.

`fedperi site` and `fedperi coordinate` never load it. It is for people who run Flower's own SuperLink and SuperNodes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ..._version import __version__
from ...errors import InputError
from . import TESTED

_SETTINGS = f"""[project]
name = "fedperi-app"
version = "{__version__}"
description = "Federated causal discovery: the fedperi that is installed on every machine does the work."
license = {{file = "LICENSE"}}
dependencies = ["flwr{TESTED}"]

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.flwr.app]
publisher = "fedperi"
fab-format-version = 1
flwr-version-target = "1.41.0"

[tool.flwr.app.components]
serverapp = "fedperi_app:server"
clientapp = "fedperi_app:client"

# Every one can be set for a run: flwr run . --run-config 'sites=3 out="results"'
[tool.flwr.app.config]
sites = 2
min-sites = 0
out = "results"
journal = ""
timeout = 600.0
method = "iperi"
masking = ""
aggregate = ""
local = "ges"
data = "auto"
knowledge = ""
schema = ""
alpha = 0.01
penalty = 1.0
bootstrap = 0
seed = 0
"""

_CODE = '''"""Flower's way into the fedperi that is installed here."""

from fedperi.cli.flower_apps import client_app, server_app

client = client_app()
server = server_app()
'''

FILES = {"pyproject.toml": _SETTINGS, "fedperi_app.py": _CODE, "LICENSE": "Apache-2.0, see fedperi.\n"}
"""The files of the bundle, by name."""


def write_bundle(folder: Path) -> None:
    """Write the app to a folder, for ``flwr run``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     write_bundle(Path(place) / "app")
    ...     sorted(path.name for path in (Path(place) / "app").iterdir())
    ['LICENSE', 'fedperi_app.py', 'pyproject.toml']
    """
    try:
        folder.mkdir(parents=True, exist_ok=False)
        for name, text in FILES.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write the Flower app to {str(folder)!r}: {error.strerror or error}") from None


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m fedperi.transports.flower.bundle NEW_FOLDER")
    write_bundle(Path(sys.argv[1]))
