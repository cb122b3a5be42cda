"""Packages of version 0.1 that no longer exist: importing one fails, and says where its modules are now."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

MOVED = {
    "fedperi.data": "fedperi.tables",
    "fedperi.local": "fedperi.scores, fedperi.discovery and fedperi.baselines",
    "fedperi.federation": (
        "fedperi.protocol, fedperi.site, fedperi.coordinator, fedperi.transports, fedperi.pki and fedperi.audit"
    ),
    "fedperi.kernel": "fedperi.scores._kernel",
}


class _Moved:
    """Import finder for modules that no other finder knows."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if name in MOVED:
            raise ModuleNotFoundError(
                f'{name} was split up after version 0.1: see {MOVED[name]}, and "Moving from 0.1" in CHANGELOG.md. '
                "The names in `fedperi` itself are unchanged",
                name=name,
            )


def tell_where_modules_moved() -> None:
    """Make failed imports of these packages say where to look."""
    if _Moved not in sys.meta_path:
        sys.meta_path.append(_Moved)
