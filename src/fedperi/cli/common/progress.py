"""Which file is being read, on standard error, for a person at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...tables.survey import Tell
    from ...tables.table import Table


@contextmanager
def reading(files: int) -> Iterator[Tell | None]:
    """Yield a function that shows which of the files is being read; None without a terminal.

    Examples
    --------
    >>> with reading(3) as tell:  # not a terminal
    ...     tell is None
    True
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.text import Text

    from ...console import console

    begun: dict[str, None] = {}  # in the order of reading
    with console(stderr=True).status(Text("reading")) as status:

        def tell(table: Table, rows: int) -> None:
            begun.setdefault(table.origin)
            status.update(Text(f"reading {table.origin} ({len(begun)} of {files}): {rows:,} rows"))

        yield tell
