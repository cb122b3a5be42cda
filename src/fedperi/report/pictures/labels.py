"""Names of variables as short lines of text, with their widths estimated without a font."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

FONT = 13.0
"""Size of the letters in a picture of a graph, in its units."""
WIDEST = 132.0
"""A line of a label is no wider than this."""
MOST_LINES = 2

# Advance widths of DejaVu Sans, as shares of the font size: the widest common sans-serif font, and the one that
# matplotlib includes. Text in a narrower font fits into the same boxes.
_NARROW = dict.fromkeys("ijlI.,:;|!' ", 0.34) | dict.fromkeys('ftr()[]{}-/\\"', 0.43)
_WIDE = dict.fromkeys("mwMWQOG@%&", 0.9) | {"W": 1.0, "m": 0.98, "@": 1.0, "%": 0.96}
_JOINTS = re.compile(r"(?<=[_\-./ ])|(?<=[a-z])(?=[A-Z])")


class Label(NamedTuple):
    """The lines of a label, and the width of its widest."""

    lines: tuple[str, ...]
    width: float


def text_width(text: str, size: float = FONT) -> float:
    """Estimate the width of a text from above.

    Examples
    --------
    >>> text_width("ill") < text_width("www")
    True
    """
    return size * sum(_advance(character) for character in text)


def wrapped(name: str) -> Label:
    """Break a name at underscores, hyphens, dots, spaces and inner capitals; longer names end in an ellipsis.

    Examples
    --------
    >>> wrapped("age").lines
    ('age',)
    >>> wrapped("systolic_blood_pressure_at_admission_in_mmHg").lines
    ('systolic_blood_', 'pressure_at_…')
    """
    shown = "".join(character if character.isprintable() else " " for character in name)
    lines, line = [], ""
    for piece in _JOINTS.split(shown):
        if line and text_width((line + piece).rstrip()) > WIDEST:
            lines.append(line)
            line = piece
        else:
            line += piece
    lines.append(line)
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], lines[MOST_LINES - 1] + "…"]
    short = tuple(_cut(line.strip()) for line in lines)
    return Label(short, max(text_width(line) for line in short))


def _cut(line: str) -> str:
    if text_width(line) <= WIDEST:
        return line
    line = line.removesuffix("…")
    while line and text_width(line + "…") > WIDEST:
        line = line[:-1]
    return line + "…"


def _advance(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    usual = 0.72 if character.isupper() else 0.64
    return _NARROW.get(character) or _WIDE.get(character) or usual
