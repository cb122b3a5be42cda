"""Progress of a long run, on standard error, for a person at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..search.phase1 import Step


@contextmanager
def watching(enabled: bool | None, title: str) -> Iterator[Callable[[Step], None]]:
    """Return a function that shows each step of a search, if enabled or, by default, if there is a terminal."""
    if not (sys.stderr.isatty() if enabled is None else enabled):
        yield lambda step: None
        return
    from rich.text import Text

    from ..console import console

    with console(stderr=True).status(Text(f"{title}: asking the sites")) as status:

        def show(step: Step) -> None:
            worst = "" if step.worst_regret is None else f", worst regret {step.worst_regret:.1f}"
            status.update(Text(f"{title}: {step.what}, round {step.rounds}{worst}"))

        yield show
