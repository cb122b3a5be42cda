"""What it takes to repeat a run."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from .._version import __version__
from ..federation import Coordinator, InProcess


def manifest(method: dict[str, Any], coordinator: Coordinator) -> dict[str, Any]:
    """Versions, configuration, seed; for each site its name, rows, targets and, in process, a hash of its data."""
    transport = coordinator.transport
    marks = transport.fingerprints() if isinstance(transport, InProcess) else [None] * len(coordinator.sites)
    return {
        "fedperi": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": platform.machine(),
        "method": method,
        "variables": list(coordinator.names),
        "sites": [
            {
                "site": site.site,
                "n": site.n,
                "targets": None if site.targets is None else list(site.targets),
                "sha256": mark,
            }
            for site, mark in zip(coordinator.sites, marks, strict=True)
        ],
    }
