"""Valid names of columns and sites, and how text that others wrote is shown.

Names travel: into terminals, logs, reports, spreadsheets and other sites' files. So there is one definition of a valid
name, and tables, schemas, messages, releases, background knowledge and simulations all use it.
"""

from __future__ import annotations

import json
import re
import unicodedata

from .errors import InputError

MAX_NAME = 200
"""Largest number of characters in a name."""

JOINERS = "\u200c\u200d"
"""Invisible characters that belong to the spelling of words, in Persian and Hindi for example."""

_BLANKS = JOINERS + "\u115f\u1160\u2800\u3164\uffa0"
"""Characters that count as letters or signs, but are invisible."""

_FORMULA = re.compile("'*[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]")
"""The beginning of a cell that a spreadsheet may run as a formula, after any quotes; with wide East Asian signs too."""


def plain(character: str) -> bool:
    r"""Whether a character may appear in a log or on a terminal: no control, no surrogate, no hidden direction.

    Examples
    --------
    >>> plain("é"), plain("\x1b"), plain("\u202e")
    (True, False, False)
    """
    return character in JOINERS or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


def visible(text: str) -> str:
    r"""Return a text with every character escaped that could act on a terminal; line breaks stay.

    Examples
    --------
    >>> print(visible("dose\x1b[2J\u202e"))
    dose\u001b[2J\u202e
    """
    return "".join(c if c == "\n" or plain(c) else json.dumps(c)[1:-1] for c in text)


def shortened(name: str, most: int = 60) -> str:
    r"""Quote a name for a message: escaped, and cut if it is long.

    Examples
    --------
    >>> print(shortened("dose\x1b[2J"))
    'dose\x1b[2J'
    >>> len(shortened("x" * 1000))
    65
    """
    return repr(name) if len(name) <= most else f"{name[:most]!r}..."


def name_problem(name: object) -> str | None:
    r"""Say what is wrong with a name, or None: it is text of 1 to 200 characters that show and do nothing else.

    Examples
    --------
    >>> name_problem("dose [/day]")
    >>> name_problem("dose\n")
    'holds the character U+000A, which does not show and can act on a terminal or a file'
    >>> name_problem("x" * 300)
    'has 300 characters, and at most 200 are allowed'
    """
    if not isinstance(name, str):
        return f"is not text but {type(name).__name__}"
    if not name.strip():
        return "is empty"
    if len(name) > MAX_NAME:
        return f"has {len(name)} characters, and at most {MAX_NAME} are allowed"
    strange = next((c for c in name if not plain(c)), None)
    if strange is None:
        return None if any(map(_shows, name)) else "has no character that shows"
    return f"holds the character U+{ord(strange):04X}, which does not show and can act on a terminal or a file"


def _shows(character: str) -> bool:
    """Whether a character is visible by itself: combining marks need another one."""
    return not character.isspace() and character not in _BLANKS and unicodedata.category(character) not in ("Mn", "Me")


def check_name(name: object, what: str) -> None:
    r"""Raise unless a name is valid; `what` says whose name it is.

    Examples
    --------
    >>> check_name("a\tb", "site 'north', column 2")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: site 'north', column 2: the name 'a\tb' holds the character U+0009, ...; rename it
    """
    problem = name_problem(name)
    if problem is not None:
        given = shortened(name) if isinstance(name, str) else f"{name!r:.60}"
        raise InputError(f"{what}: the name {given} {problem}; rename it")


def guarded(cell: str) -> str:
    """Put a quote before a cell of a CSV file that a spreadsheet could run as a formula; `unguarded` removes it.

    Examples
    --------
    >>> guarded("=1+1"), guarded("'=1+1"), guarded("dose")
    ("'=1+1", "''=1+1", 'dose')
    """
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unguarded(cell: str) -> str:
    """Undo `guarded`; a cell that another program wrote without a guard stays as it is.

    Examples
    --------
    >>> unguarded("'=1+1"), unguarded("=1+1"), unguarded("'t Hooft")
    ('=1+1', '=1+1', "'t Hooft")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
