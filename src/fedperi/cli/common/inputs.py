"""The tables that a user names: files, patterns, folders and standard input, and the names of their sites."""

from __future__ import annotations

import glob
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from .options import split_names

if TYPE_CHECKING:
    from ...tables.preparing.opening import Opening
    from ...tables.table import Table

STDIN = "-"
ORIGIN = "standard input"
PACKED = (".gz", ".bz2", ".xz", ".zst")

_PART = re.compile(r"(part|partition|chunk|batch|block|page)[-_.]?\d+\D", re.IGNORECASE)
"""How programs name the part files of one table."""

_NAMED = re.compile(r"([^=/\\:?*]+)=(.+)", re.DOTALL)


def opening_of(options: dict[str, Any]) -> Opening:
    """Return how tables are opened, from a command's options.

    Examples
    --------
    >>> opening_of({"columns": "age, sex", "decimal": ","})
    Opening(columns=('age', 'sex'), exclude=(), encoding=None, decimal=',', accept=())
    """
    from ...tables.preparing.opening import Opening

    for option in ("columns", "exclude", "accept"):
        if options.get(option) is not None and not split_names(options[option]):
            raise InputError(f"--{option} names no column; give names separated by commas")
    return Opening(
        tuple(split_names(options.get("columns"))),
        tuple(split_names(options.get("exclude"))),
        options.get("encoding"),
        options.get("decimal"),
        tuple(split_names(options.get("accept"))),
    )


def found_inputs(arguments: list[str], how: Opening) -> list[str | Table]:
    """Return the tables that the arguments of a command mean: paths, or open tables where a site's name was given.

    A pattern that the shell did not expand means the files that it matches, a folder the tables in it (and the folders
    in it that hold tables), ``-`` standard input. ``lyon=data.csv`` names the site.

    Examples
    --------
    >>> from fedperi.tables.preparing.opening import Opening
    >>> found_inputs(["north.csv"], Opening())
    ['north.csv']
    """
    if sum(argument == STDIN or argument.endswith(f"={STDIN}") for argument in arguments) > 1:
        raise InputError("standard input (-) is one table; give it once")
    found: list[str | Table] = []
    for argument in arguments:
        named = None if os.path.lexists(argument) else _NAMED.fullmatch(argument)
        if argument == STDIN:
            found.append(_standard_input(how, "stdin"))
        elif named and named[2] == STDIN:
            found.append(_standard_input(how, named[1]))
        elif named:
            found.append(how.open(named[2], named[1]))
        else:
            found += _files(argument, alone=len(arguments) == 1)
    return found


def refuse_standard_input(tables: Sequence[Table]) -> None:
    """Refuse to read standard input in a private run: a ledger belongs to a file that can be read again."""
    if any(table.origin == ORIGIN for table in tables):
        raise InputError(
            "with noise a table must be a file, because its privacy ledger belongs to the file; give the file, not -"
        )


def _files(argument: str, alone: bool) -> list[str]:
    """Return the sites of one argument: a folder that is given alone holds one table per site; else it is one site."""
    path = Path(argument)
    if path.is_dir() and alone:
        return [str(one) for one in _tables_in(path)]
    if not os.path.lexists(argument) and glob.has_magic(argument) and "://" not in argument:
        return sorted(glob.glob(argument, recursive=True)) or [argument]  # noqa: PTH207 (patterns may be absolute)
    return [argument]


def _tables_in(folder: Path) -> list[Path]:
    try:
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
        found = [
            entry for entry in entries if _is_table(entry) or (entry.is_dir() and any(map(_is_table, entry.iterdir())))
        ]
    except OSError as error:
        raise InputError(f"cannot read the folder {str(folder)!r}: {error.strerror or error}") from None
    if not found:
        raise InputError(f"the folder {str(folder)!r} holds no tables; their names end in {', '.join(_endings())}")
    if len(found) > 1 and all(_PART.match(entry.name) for entry in found):
        raise InputError(
            f"the files in {str(folder)!r} are named like parts of one table, which is one site; give one folder per "
            "site, or the folder that holds these folders"
        )
    return found


def _endings() -> tuple[str, ...]:
    """Return the endings of names of tables and of statements."""
    from ...tables.readers.formats.opening import ENDINGS

    return (*ENDINGS, ".fedperi")


def _is_table(path: Path) -> bool:
    name = path.name.lower()
    packed = next((ending for ending in PACKED if name.endswith(ending)), "")
    return path.is_file() and name.removesuffix(packed).endswith(_endings())


def _standard_input(how: Opening, name: str) -> Table:
    """Keep standard input in a file that only this user can read: rows may be read more than once."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("standard input is a terminal; pipe a table into the command: cat north.csv | fedperi check -")
    # Deleted when the table is no longer used, or the process ends.
    file = tempfile.NamedTemporaryFile(prefix="fedperi-", suffix=".csv")  # noqa: SIM115
    while block := sys.stdin.buffer.read(1 << 20):
        file.write(block)
    file.flush()
    if not Path(file.name).stat().st_size:
        raise InputError("standard input is empty; pipe a table into the command")
    with _called(file.name):
        table = how.open(file.name, name)
    read = table._read

    def rows(size: int, text: frozenset[str]) -> Iterator[Any]:
        with _called(file.name):
            yield from read(size, text)

    return replace(table, origin=ORIGIN, _read=rows)


@contextmanager
def _called(file: str) -> Iterator[None]:
    """In errors, write "standard input" for the name of the file that holds it."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error).replace(repr(file), ORIGIN)) from None
