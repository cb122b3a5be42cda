"""A fuzzer of the CSV reader under privacy: any bytes are answered for within the sensitivity, or refused publicly.

A time limit stops the search and never fails it; the seed of a failure is printed. `FEDPERI_FUZZ_SECONDS=600 pytest
tests/test_fuzz_csv.py` searches for longer, from a random seed.
"""

from __future__ import annotations

import gzip
import os
import random
import time
from pathlib import Path

import pytest
from helpers.private_files import BROKEN, MIXED, ODD, change, neighbouring_files, remembered_rho, seen, written

from fedperi.privacy.release import release

SECONDS = float(os.environ.get("FEDPERI_FUZZ_SECONDS", "4"))
START = 0 if SECONDS <= 4 else random.randrange(1 << 40)  # the tests of a release are the same every time


@pytest.fixture(autouse=True)
def _remembered_rho(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "zcdp_rho", remembered_rho)


def _mutated(draw: random.Random, content: bytes) -> bytes:
    """Bytes changed, added, removed, repeated; words of the format put anywhere."""
    out = bytearray(content)
    for _ in range(draw.randrange(1, 8)):
        at = draw.randrange(len(out) + 1)
        kind = draw.randrange(6)
        if kind == 0:
            out[at:at] = draw.randbytes(draw.randrange(1, 5))
        elif kind == 1:
            del out[at : at + draw.randrange(1, 20)]
        elif kind == 2:
            out[at:at] = draw.choice(BROKEN)
        elif kind == 3:
            out[at:at] = draw.choice(ODD).encode()
        elif kind == 4:
            out[at:at] = draw.choice(
                [b'"', b",", b";", b"\t", b"\r", b"\n", b"\r\n", b"\0", b"\xef\xbb\xbf", b"\xff\xfe"]
            )
        else:
            out[at:at] = out[at : at + draw.randrange(1, 40)] * draw.randrange(1, 4)
    return bytes(out)


def test_any_bytes_below_a_sound_header_are_answered_for(tmp_path: Path) -> None:
    """The header is public, and what follows is not: whatever it is, one more line changes no more than it may."""
    end = time.monotonic() + SECONDS / 2
    seed = START
    while time.monotonic() < end:
        draw = random.Random(seed)
        smaller, _ = neighbouring_files(draw)
        if smaller.startswith(b"\x1f\x8b"):
            smaller = gzip.decompress(smaller)
        header, *rest = smaller.splitlines(keepends=True)
        header = header.rstrip(b"\r\n") + b"\n"
        body = _mutated(draw, b"".join(rest)) if draw.random() < 0.8 else draw.randbytes(draw.randrange(200))
        lines = body.splitlines()
        at = draw.randrange(len(lines) + 1)
        further = [*lines[:at], b"".join(draw.randbytes(draw.randrange(9)).splitlines()), *lines[at:]]
        files = [
            written(tmp_path, header + b"\n".join(content), f"{name}.csv")
            for name, content in (("smaller", lines), ("larger", further))
        ]
        found = change(*files, MIXED, missing=draw.choice(["error", "drop"]), mark=seed % 10 == 0)
        assert found <= 1, f"seed {seed}: {found}"
        assert not isinstance(told := seen(files[0], MIXED, mark=False), str), f"seed {seed}: {told}"
        seed += 1


def test_any_bytes_at_all_give_an_answer_or_a_refusal_by_the_first_line(tmp_path: Path) -> None:
    """A refusal must be the same whatever follows the first line that is not blank."""
    end = time.monotonic() + SECONDS / 2
    seed = START
    while time.monotonic() < end:
        draw = random.Random(seed)
        content = _mutated(draw, neighbouring_files(draw)[1])
        seed += 1
        blank = not content.removeprefix(b"\xef\xbb\xbf").strip()
        if blank or content.startswith((b"\x1f\x8b", b"PAR1", b"\xff\xfe", b"\xfe\xff")):  # not made of lines
            continue
        told = seen(written(tmp_path, content), MIXED, mark=seed % 10 == 0)
        lines = content.splitlines(keepends=True)
        start = next((at for at, line in enumerate(lines) if line.removeprefix(b"\xef\xbb\xbf").strip()), len(lines))
        for rest in (b"", b"1,u\n", draw.randbytes(30)):
            first = b"".join(lines[: start + 1]).rstrip(b"\r\n") + b"\n"
            other = seen(written(tmp_path, first + rest), MIXED, mark=False)
            assert isinstance(told, str) == isinstance(other, str), f"seed {seed - 1}: {told!r} or {other!r}"
            assert not isinstance(told, str) or told == other, f"seed {seed - 1}: {told!r} or {other!r}"
