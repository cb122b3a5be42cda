"""Show on standard error what is being read, to a person at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...tables.survey import Tell


@contextmanager
def reading() -> Iterator[Tell | None]:
    """Yield a function that shows what is being read; None without a terminal.

    Examples
    --------
    >>> with reading() as tell:  # not a terminal
    ...     tell is None
    True
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.text import Text

    from ...console import console

    with console(stderr=True).status(Text("opening")) as status:
        yield lambda words: status.update(Text(words))
