"""M-PERI at several confidences: all steps but the last are the same, and are computed once for the same tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...graph.knowledge import Constraints
from ...methods.mperi.edges import Scored
from ...methods.mperi.method import MPERI
from ...methods.result import Result
from ...search.phase1 import Step
from ...tables.summary.summary import Summary


class _Caching(MPERI):
    """M-PERI that uses the cached scores, or computes and caches them."""

    def _score(self, said: Sequence[Summary], constraints: Constraints, show: Callable[[Step], None]) -> Scored:
        if _CACHE.scored is None:
            start = time.process_time()
            scored = super()._score(said, constraints, show)
            _CACHE.scored, _CACHE.seconds = scored, time.process_time() - start
        return _CACHE.scored


class _Cache:
    """The last tables and options, and the scores computed from them.

    The tables are kept, so that no other object gets their id.
    """

    def __init__(self) -> None:
        self.sites: object = None
        self.options: Mapping[str, Any] = {}
        self.scored: Scored | None = None
        self.seconds = 0.0


_CACHE = _Cache()


def forget() -> None:
    """Empty the cache."""
    _CACHE.sites, _CACHE.scored = None, None


def fit_once(sites: object, named: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[Result, float]:
    """Fit, and return also the CPU seconds that the cache saved; the tables are the same if `sites` is the same object.

    Examples
    --------
    >>> import fedperi as fp
    >>> sites = fp.simulate(3, clients=2, samples=100).sites
    >>> first, before = fit_once(sites, {"a": sites[0], "b": sites[1]}, {})
    >>> before
    0.0
    >>> again, before = fit_once(sites, {"a": sites[0], "b": sites[1]}, {"confidence": 0.6})
    >>> before > 0, again.probabilities.equals(first.probabilities)
    (True, True)
    """
    others = {name: value for name, value in options.items() if name != "confidence"}
    if _CACHE.sites is not sites or _CACHE.options != others:
        _CACHE.sites, _CACHE.options, _CACHE.scored = sites, others, None
    before = _CACHE.seconds if _CACHE.scored is not None else 0.0
    return _Caching(progress=False, **options).fit(named), before
