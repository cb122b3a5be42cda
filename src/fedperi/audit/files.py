"""An exact attack on how files are read: whether one line changes the statistics by more than their sensitivity.

No noise is drawn. For each pair of neighbouring files it compares the numbers to which noise would be added, with the
same units for both, and the scores from which units are selected. Both are divided by the sensitivity for which the
noise is scaled. So the largest change times the claimed epsilon is about what someone who adds such a line could
learn. Pairs of which only one file is refused are counted too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..privacy.release.draw import count_rows, draw_release
from ..privacy.release.release import Plan
from ..privacy.release.units import CELLS, SENSITIVITY
from ..tables.schema import Column, Schema
from ..tables.table import open_table

Integers = NDArray[np.int64]

ROWS = 40
"""Number of lines in the smaller file."""

SCHEMA = Schema(
    (
        Column("a", "continuous", bounds=(0, 10)),
        Column("b", "categorical", ("1.5", "2.5")),
        Column("c", "categorical", ("u", "v")),
    )
)

CELLS_OF_A_LINE = ("9.5", "9,5", "", "NA", "<0.5", "word", "1e999", "-1e999", "9" * 400, "nan", "True", '"', "\0", "½")
"""Contents of the unusual cell in the additional line."""

BROKEN = (b"", b'"', b'9.5;"u', b"1", b"1,2,3,4,5", b"1;2;3;4;5", b"1\t2\t3\t4\t5", b"\xff\xfe", b"\xc3;\xff;u", b"\0")
"""Lines that are not valid records."""


@dataclass(frozen=True)
class FileAudit:
    """Result of an attack on the reading of files.

    Attributes
    ----------
    pairs : int
        Pairs of files that were compared.
    change : float
        The largest change by one line, in units of the sensitivity: at most 1 if the claim holds.
    refused : int
        Pairs of which one file is answered and the other one refused: 0 if the claim holds.
    worst : str
        Description of the pair with the largest change.

    Examples
    --------
    >>> found = FileAudit(10, 0.9, 0, "")
    >>> found.violated, FileAudit(10, 0.9, 1, "").violated
    (False, True)
    """

    pairs: int
    change: float
    refused: int
    worst: str

    @property
    def violated(self) -> bool:
        """Whether one line changes more than allowed, or decides whether there is an answer."""
        return self.change > 1 or self.refused > 0

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON values."""
        return asdict(self) | {"violated": self.violated}


def audit_files(epsilon: float = 1.0, delta: float = 1e-6) -> FileAudit:
    """Compare files in all dialects with the same files plus one unusual line.

    Parameters
    ----------
    epsilon, delta : float
        The claim under attack.

    Examples
    --------
    >>> audit_files().violated
    False
    """
    plan = Plan.of(SCHEMA, "auto", epsilon, delta)
    sensitivity = plan.sensitivity
    worst, change, pairs, refused = "", 0.0, 0, 0
    with TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        for words, lines, further in neighbouring_lines():
            seen = []
            for content in (lines, further):
                file.write_bytes(content)
                seen.append(_seen(file, plan))
            one, other = seen
            pairs += 1
            if one is None or other is None:
                refused += (one is None) != (other is None)
                continue
            largest = max(
                float(np.linalg.norm((other[0] - one[0]).astype(float))) / sensitivity,
                *(float(np.abs(b - a).max()) / SENSITIVITY for a, b in zip(one[1], other[1], strict=True)),
            )
            worst, change = (words, largest) if largest > change else (worst, change)
    return FileAudit(pairs, change, refused, worst)


def neighbouring_lines() -> Iterator[tuple[str, bytes, bytes]]:
    """Yield pairs of files that differ by one line, with a description of the dialect and the line.

    Examples
    --------
    >>> words, smaller, larger = next(neighbouring_lines())
    >>> words
    "separator ',', decimal mark '.', first of 40 lines: '9.5,1.5,u'"
    >>> len(larger) - len(smaller)
    10
    """
    for separator, mark in ((",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ",")):
        end = "\r\n" if mark == "," else "\n"
        values = [(f"{i % 10}.{i % 7}", ("1.5", "2.5")[i % 2], "uv"[i // 2 % 2]) for i in range(ROWS)]
        lines = [separator.join(row).replace(".", mark).encode() for row in values]
        sound = ("9.5".replace(".", mark), "1.5".replace(".", mark), "u")
        odd = [
            separator.join([*sound[:at], cell, *sound[at + 1 :]]).encode()
            for at in range(len(sound))
            for cell in CELLS_OF_A_LINE
        ]
        header = separator.join(SCHEMA.names).encode()
        for line in (*odd, *BROKEN):
            for size, at in ((ROWS, 0), (ROWS, ROWS), (0, 0), (1, 1)):  # before, after, in an empty file, second
                smaller, larger = lines[:size], [*lines[:at], line, *lines[at:size]]
                position = "first" if at == 0 else "last"
                words = f"separator {separator!r}, decimal mark {mark!r}, {position} of {size} lines: "
                one, other = (end.encode().join([header, *content, b""]) for content in (smaller, larger))
                yield words + repr(line.decode(errors="replace")), one, other


class _Listener:
    """A noise source that adds no noise, always selects the same units, and records its input."""

    private = False

    def __init__(self) -> None:
        self.values = np.zeros(0, dtype=np.int64)
        self.scores: list[Integers] = []

    def gaussian(self, values: Integers, sensitivity: float, rho: float) -> Integers:
        self.values = values
        return values

    def select(self, scores: Integers, sensitivity: int, rho: float) -> int:
        self.scores.append(scores)
        return CELLS // 3 if len(self.scores) % 2 else 2 * CELLS // 3

    def laplace(self, values: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
        return values


def _seen(file: Path, plan: Plan) -> tuple[Integers, list[Integers]] | None:
    """The numbers to which noise is added, and the scores of selections; None if the file is refused."""
    listener = _Listener()
    try:
        table = open_table(file, "audit")
        draw_release(table, plan, count_rows(table, plan, "error")[0], listener, "error")
    except InputError:
        return None
    return listener.values, listener.scores
