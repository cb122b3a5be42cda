"""A table of edges as CSV, for spreadsheets and R."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from ...errors import InputError
from ...names import guarded, unguarded
from .build import Edge, build, checked_text, ordered_edges

if TYPE_CHECKING:
    from ..pdag import PDAG

_HEADER = ["from", "to", "type"]
# Outer white space is quoted too: many programs, and our reader, skip it after a comma otherwise. So are the marks at
# which a spreadsheet may split where a comma is the decimal mark: what follows could begin a formula.
_NEEDS_QUOTES = re.compile(r'[,;\t"\r\n]|^\s|\s$')


def to_csv(graph: PDAG) -> str:
    """Write a graph as a CSV table with the columns from, to, type.

    Every variable has a row of type ``node`` with an empty ``to``, in order, so that isolated variables and the
    order survive; then follow the edges, of type ``->`` or ``--``. Keep the rows with a ``to`` to have the edges
    alone. A name that a spreadsheet could take for a formula has a single quote before it, as spreadsheets write text;
    `from_csv` takes it off.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.graph.formats import to_csv
    >>> print(to_csv(fp.PDAG.from_edges([("A", "B")], [("B", "C")])), end="")
    from,to,type
    A,,node
    B,,node
    C,,node
    A,B,->
    B,C,--
    """
    directed, undirected = ordered_edges(graph)
    rows = [(name, "", "node") for name in graph.names]
    rows += [(a, b, "->") for a, b in directed] + [(a, b, "--") for a, b in undirected]
    rows = [(guarded(a), guarded(b), kind) for a, b, kind in rows]
    return "".join(",".join(map(as_field, row)) + "\n" for row in [tuple(_HEADER), *rows])


def from_csv(text: str) -> PDAG:
    """Read a CSV table with the columns from, to, type; the variables are in order of first appearance.

    Parameters
    ----------
    text : str
        Rows of type ``->`` (arrow), ``--`` (undirected edge) or ``node`` (a variable, ``to`` empty; needed only for
        isolated variables and to fix the order).

    Examples
    --------
    >>> from fedperi.graph.formats import from_csv
    >>> from_csv('''from,to,type
    ... age,"blood pressure",->
    ... height,,node
    ... ''')
    PDAG('age -> blood pressure', names=['age', 'blood pressure', 'height'])
    """
    # A byte order mark is what spreadsheets put before the first column.
    stream = io.StringIO(checked_text(text, "CSV").removeprefix("\ufeff"), newline="")
    reader = csv.reader(stream, skipinitialspace=True, strict=True)
    names: dict[str, None] = {}
    edges = []
    header_seen = False
    try:
        for row in reader:
            where = f"CSV, line {reader.line_num}"
            if not any(cell.strip() for cell in row):
                continue
            if not header_seen:
                header_seen = True
                if [cell.strip() for cell in row] != _HEADER:
                    raise InputError(f"{where}: the header must be from,to,type, not {','.join(row)[:60]!r}")
                continue
            edge = _edge(row, where, names)
            edges += [edge] if edge else []
    except csv.Error as problem:
        raise InputError(f"CSV, line {reader.line_num}: {problem}; the text may be cut off") from None
    if not header_seen:
        raise InputError("CSV: the text is empty; the header must be from,to,type")
    return build("CSV", names, edges)


def _edge(row: list[str], where: str, names: dict[str, None]) -> Edge | None:
    """Check a row, enter its names, and return its edge if it is one."""
    if len(row) != len(_HEADER):
        raise InputError(f"{where}: {len(row)} fields instead of 3 (from,to,type); quote names that hold a comma")
    first, second, kind = unguarded(row[0]), unguarded(row[1]), row[2].strip()
    if kind not in ("->", "--", "node"):
        raise InputError(f"{where}: type must be ->, -- or node, not {kind!r}")
    if kind == "node":
        if second:
            raise InputError(f"{where}: a row of type node has an empty 'to', not {second!r}")
        if not first:
            raise InputError(f"{where}: a row of type node needs a name in 'from'")
        names.setdefault(first)
        return None
    if not first or not second:
        raise InputError(f"{where}: an edge needs a name in 'from' and in 'to'; an isolated variable has type node")
    names.setdefault(first)
    names.setdefault(second)
    return Edge(first, kind, second, where)


def as_field(value: str) -> str:
    """Write a value as a field of CSV, in quotes where it needs them."""
    return '"' + value.replace('"', '""') + '"' if _NEEDS_QUOTES.search(value) else value
