"""M-PERI at several confidences: all but the last step is the same, and is computed once for the same tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...graph.knowledge import Constraints
from ...methods.mperi.method import MPERI
from ...methods.mperi.oracle import Weighed
from ...methods.result import Result
from ...search.phase1 import Step
from ...tables.summary.summary import Summary


class _Remembering(MPERI):
    """M-PERI that takes what was weighed for the same tables with the same options, and else notes what it weighs."""

    def _weigh(self, said: Sequence[Summary], constraints: Constraints, show: Callable[[Step], None]) -> Weighed:
        if _LAST.weighed is None:
            start = time.process_time()
            weighed = super()._weigh(said, constraints, show)
            _LAST.weighed, _LAST.seconds = weighed, time.process_time() - start
        return _LAST.weighed


class _Memory:
    """The last tables, and what was weighed; the tables are kept, so that others cannot be taken for them."""

    def __init__(self) -> None:
        self.sites: object = None
        self.options: Mapping[str, Any] = {}
        self.weighed: Weighed | None = None
        self.seconds = 0.0


_LAST = _Memory()


def forget() -> None:
    """Weigh the next tables anew, whichever they are."""
    _LAST.sites, _LAST.weighed = None, None


def fit_once(sites: object, named: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[Result, float]:
    """Fit, and return the CPU seconds of what was not computed again; `sites` tells whether tables are the same.

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
    if _LAST.sites is not sites or _LAST.options != others:
        _LAST.sites, _LAST.options, _LAST.weighed = sites, others, None
    before = _LAST.seconds if _LAST.weighed is not None else 0.0
    return _Remembering(progress=False, **options).fit(named), before
