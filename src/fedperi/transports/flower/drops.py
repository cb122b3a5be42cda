"""A search that survives sites that drop out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .transport import FlowerTransport, SitesChanged

T = TypeVar("T")


def through_drops(fit: Callable[[FlowerTransport], T], transport: FlowerTransport) -> T:
    """Run a search; whenever a site drops out and enough are left, run it again without that site."""
    while True:  # ends: every turn but the last has lost a site
        try:
            return fit(transport)
        except SitesChanged:
            continue
