"""Sites whose owner allows questions, for tests of the paper's protocol."""

from __future__ import annotations

from typing import Any

from fedperi.protocol.policy import SitePolicy
from fedperi.site.service.work import SiteWork


def answering(source: Any, **options: Any) -> SiteWork:
    """Make a site that answers questions, which only its owner can allow."""
    return SiteWork(source, **{"policy": SitePolicy("regrets"), **options})
