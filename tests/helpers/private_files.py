"""Random files of all CSV dialects with odd cells and broken lines; how much one row changes values before noise."""

from __future__ import annotations

import functools
import gzip
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedperi.errors import InputError
from fedperi.privacy.release.draw import count_rows, draw_release
from fedperi.privacy.release.release import Plan
from fedperi.privacy.release.units import SENSITIVITY
from fedperi.privacy.zcdp import zcdp_rho
from fedperi.tables import open_table
from fedperi.tables.bounded import fingerprint
from fedperi.tables.schema import Column, Schema

NUMBERS = Schema(tuple(Column(name, "continuous", bounds=(0, 10)) for name in "ab"))
CODES = Schema((Column("a", "categorical", ("1.5", "2.5")), Column("b", "categorical", ("0", "1"))))
MIXED = Schema(
    (
        Column("a", "continuous", bounds=(0, 10)),
        Column("b", "categorical", ("1.5", "2.5", "7")),
        Column("c", "categorical", ("u", "v", "w")),
        Column("d", "categorical", ("True", "False")),
    )
)

remembered_rho = functools.lru_cache(zcdp_rho)
"""All tests of a file use the same budget; without the cache, it would take most of their time."""


class Recorder:
    """A mechanism without noise that makes the given choices in turn, and records its input."""

    private = False

    def __init__(self, choices: Sequence[int] = (160, 100)) -> None:
        self.choices = choices
        self.scores: list[NDArray[np.int64]] = []
        self.values = np.zeros(0, dtype=np.int64)

    def gaussian(self, values: NDArray[np.int64], sensitivity: float, rho: float) -> NDArray[np.int64]:
        self.values = values
        return values

    def select(self, scores: NDArray[np.int64], sensitivity: int, rho: float) -> int:
        self.scores.append(scores)
        return self.choices[(len(self.scores) - 1) % len(self.choices)]

    def laplace(self, values: Any, scale: float) -> Any:
        return values


def seen(source: Any, schema: Schema, missing: Any = "error", data: Any = "auto", **options: Any) -> Recorder | str:
    """Return the values before noise, or the message of a refusal."""
    marked = options.pop("mark", True)
    plan = Plan.of(schema, data, 1.0, 1e-6, **options)
    recorder = Recorder()
    try:
        table = open_table(source, "north")
        if marked:
            fingerprint(table)
        draw_release(table, plan, count_rows(table, plan, missing)[0], recorder, missing)
    except InputError as error:
        return str(error)
    return recorder


def change(smaller: Any, larger: Any, schema: Schema, **options: Any) -> float:
    """Return the change by one row, in units of the sensitivity; infinite if only one table is refused."""
    one, other = (seen(source, schema, **options) for source in (smaller, larger))
    if isinstance(one, str) or isinstance(other, str):
        return 0.0 if isinstance(one, str) and isinstance(other, str) else math.inf
    sensitivity = Plan.of(schema, options.get("data", "auto"), 1.0, 1e-6).sensitivity
    moments = np.linalg.norm((other.values - one.values).astype(float)) / sensitivity
    scores = [np.abs(b - a).max() / SENSITIVITY for a, b in zip(one.scores, other.scores, strict=True)]
    return float(max([moments, *scores]))


def written(folder: Path, content: bytes | str, name: str = "north.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def pair(folder: Path, header: str, rows: list[str], row: bytes | str, at: int = -1) -> tuple[Path, Path]:
    """Write two files, the second with one line more."""
    lines = [line.encode() for line in (header, *rows)]
    further = row if isinstance(row, bytes) else row.encode()
    place = len(lines) if at < 0 else at + 1
    smaller, larger = b"\n".join(lines) + b"\n", b"\n".join([*lines[:place], further, *lines[place:]]) + b"\n"
    return written(folder, smaller, "smaller.csv"), written(folder, larger, "larger.csv")


# -- random files -----------------------------------------------------------------------------------------------------

ODD = [
    "",
    " ",
    "NA",
    "<0.5",
    "1e999",
    "-1e999",
    "9" * 400,
    "1,5",
    "1.5",
    "1.234,5",
    "1_0",
    "nan",
    "inf",
    "word",
    "u",
    "\0",
]
ODD += [
    "True",
    "0x10",
    "½",
    "٣",
    '"',
    '"u',
    'u"',
    '""',
    "'",
    "1e5",
    "-",
    "é",
    "\x1a",
    "\x85",
    "\u2028",
    "=1+1",
    "\ufeff",
]
BROKEN = [
    b"",
    b",",
    b";;;;;;",
    b"\t\t\t",
    b"1.5",
    b'"',
    b'"""',
    b'1.5,"u',
    b"\xff\xfe\x00",
    b"\x00",
    b"\xc3",
    b"\x1f\x8b",
]
BROKEN += [b" ", b"1,2,3,4,5,6,7", b"PAR1", b"\xef\xbb\xbf", b"a,b,c,d", b"#", b'"a\xff";"b"', b"1;2;3;4", b"\xf0\x9f"]


def _line(draw: random.Random, separator: str, comma: bool, quoted: bool) -> bytes:
    if draw.random() < 0.15:
        raw = draw.choice(BROKEN) if draw.random() < 0.7 else draw.randbytes(draw.randrange(12))
        return raw.replace(b"\r", b"").replace(b"\n", b"")
    cells = [
        f"{draw.uniform(-2, 12):.{draw.randrange(4)}f}",
        draw.choice(["1.5", "2.5", "7", "7.0", "07"]),
        draw.choice("uvw"),
        draw.choice(["True", "false", "TRUE", "1"]),
    ]
    cells = [draw.choice(ODD) if draw.random() < 0.12 else cell for cell in cells]
    cells = [cell.replace(".", ",") for cell in cells] if comma else cells
    cells = [f'"{cell}"' for cell in cells] if quoted or (comma and separator == ",") else cells
    return separator.join(cells).encode()


def neighbouring_files(draw: random.Random) -> tuple[bytes, bytes]:
    """Draw two files of `MIXED` that differ by one line, anywhere."""
    separator, end = draw.choice(",;\t"), draw.choice([b"\n", b"\r\n", b"\r"])
    comma, quoted = draw.random() < 0.5, draw.random() < 0.3
    header = separator.join(f'"{name}"' if quoted else name for name in "abcd").encode()
    rows = [_line(draw, separator, comma, quoted) for _ in range(draw.randrange(9))]
    at = draw.randrange(len(rows) + 1)
    larger = [*rows[:at], _line(draw, separator, comma, quoted), *rows[at:]]
    start, last = draw.choice([b"\xef\xbb\xbf", b""]), draw.choice([end, b""])
    contents = [start + end.join([header, *content]) + last for content in (rows, larger)]
    pack = gzip.compress if draw.random() < 0.1 else bytes
    return pack(contents[0]), pack(contents[1])
