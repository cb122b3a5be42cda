"""The data that are needed to repeat a run."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from .._version import __version__
from ..coordinator.coordinator import Coordinator
from ..graph.knowledge import Knowledge
from ..privacy import Privacy
from ..protocol.messages import Welcome
from ..scores import _kernel as kernel
from ..site.respondent import digest

if TYPE_CHECKING:
    from ..tables.summary.summary import Summary


def manifest(method: dict[str, Any], coordinator: Coordinator) -> dict[str, Any]:
    """Describe a run: versions, configuration, and each site's name, rows, targets and, in process, a hash of its data.

    `dropped` lists sites that did not take part as planned, with the reason: the result and its worst regret are about
    the other sites only.
    """
    transport = coordinator.transport
    hashes = transport.fingerprints()
    dropped = [dict(entry) for entry in transport.dropped]
    return {**record(method, coordinator.names, coordinator.sites, hashes), "dropped": dropped}


def manifest_of_summaries(method: dict[str, Any], parts: Sequence[Summary]) -> dict[str, Any]:
    """Describe a run on summaries: versions, configuration, and each site's name, rows, targets and hash."""
    sites = [Welcome(part.site, part.names, part.total, part.targets, None) for part in parts]
    hashes = [digest(part.names, part.n, part.mean, part.covariance) for part in parts]
    return {**record(method, parts[0].names, sites, hashes), "dropped": []}


def record(
    method: dict[str, Any], names: Sequence[str], sites: Sequence[Welcome], hashes: Sequence[str | None]
) -> dict[str, Any]:
    """Record versions, configuration, variables, and the sites with a hash of their data where there is one."""
    return {
        "fedperi": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": platform.machine(),
        "kernel": kernel.kind(),
        "method": method,
        "variables": list(names),
        "sites": [
            {
                "site": site.site,
                "n": site.n,
                "targets": None if site.targets is None else list(site.targets),
                "sha256": sha256,
            }
            for site, sha256 in zip(sites, hashes, strict=True)
        ],
    }


def described(method: Any, name: str) -> dict[str, Any]:
    """Return a method's name and its options, in the types of JSON."""
    options: dict[str, Any] = {}
    for option in fields(method):
        value = getattr(method, option.name)
        if isinstance(value, Knowledge):
            value = {key: [list(entry) for entry in content] for key, content in vars(value).items()}
        elif isinstance(value, Privacy):
            value = {"epsilon": value.epsilon, "delta": value.delta, "mechanism": value.mechanism}
        elif value is not None and not isinstance(value, str | int | float | bool):
            value = getattr(value, "__name__", str(value))
        options[option.name] = value
    return {"name": name, **options}
