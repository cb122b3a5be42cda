"""One fit: quiet, timed, and stopped if it takes too long."""

from __future__ import annotations

import io
import time
import warnings
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from functools import cache

from .contender import Found, Problem
from .limits import TooSlowError, within
from .registry import CONTENDERS, contender


def solve(name: str, problem: Problem, limit: float | None) -> tuple[Found, float]:
    """Fit once, and return the output and the CPU seconds; raise `TooSlowError` beyond the limit.

    Examples
    --------
    >>> import fedperi as fp
    >>> found, seconds = solve("peri", Problem(fp.simulate(3, clients=2, samples=100).sites), 60)
    >>> found.graph.names
    ('X0', 'X1', 'X2')
    """
    _warm(name, problem.curved)
    with _quiet(name), within(limit):
        start = time.process_time()
        found = contender(name).fit(problem)
        return found, time.process_time() - start + found.before


@cache
def _warm(name: str, curved: bool) -> None:
    """Fit a small problem once per process, so that imports are not timed."""
    import fedperi as fp

    sim = fp.simulate(3, clients=2, samples=60)
    try:
        with _quiet(name), within(60):
            contender(name).fit(Problem(sim.sites, curved, sim))
    except (Exception, TooSlowError):
        pass  # the fit that counts fails in the same way, and reports it


def _quiet(name: str) -> ExitStack:
    """Suppress warnings, and output of other packages: some always print their progress."""
    stack = ExitStack()
    stack.enter_context(warnings.catch_warnings())
    warnings.simplefilter("ignore")
    if name in CONTENDERS and CONTENDERS[name].kind == "pooled":
        stack.enter_context(redirect_stdout(io.StringIO()))
        stack.enter_context(redirect_stderr(io.StringIO()))
    return stack
