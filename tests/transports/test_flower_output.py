"""The notes of a coordinator about keys that its SuperLink refused."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

from fedperi.coordinator.tally import RunTally
from fedperi.transports.flower.live.output import MOST_NOTED, follow, refused_line

NORTH = b"-----BEGIN PUBLIC KEY-----\nof north\n"


def told(folder: Path, *lines: str) -> list[str]:
    said: list[str] = []
    printed = [f"{line}\n".encode() for line in lines]
    follow(printed, folder / "superlink.log", said.append, {"north": NORTH})
    assert (folder / "superlink.log").read_bytes() == b"".join(printed)
    return said


def test_a_stranger_is_told_whatever_it_was_refused(tmp_path: Path) -> None:
    """Earlier versions did not mention a stranger with a valid signature by an unknown key."""
    lines = [refused_line(b64encode(b"stranger"), "10.0.0.7", connecting) for connecting in (True, False)]
    said = told(tmp_path, *lines, *lines, refused_line(b"", "10.0.0.8", False), "INFO: of Flower")
    assert len(said) == 3  # each once
    assert all(line.startswith("fedperi refused a key: ") and line.endswith("or a wrong clock.") for line in said)
    assert "from 10.0.0.7: not one of --keys" in said[0] and "none from 10.0.0.8" in said[2]
    tally = RunTally(1, ["north"])
    for line in said:
        tally.note(line)
    assert tally.status().refused_keys == 3  # always 0 in earlier versions


def test_a_site_is_named_and_one_that_is_only_too_early_is_not(tmp_path: Path) -> None:
    key = b64encode(NORTH)
    (said,) = told(tmp_path, refused_line(key, "10.0.0.7", True), refused_line(key, "10.0.0.7", False))
    assert said.endswith("from 10.0.0.7: that of site 'north', with a wrong clock, or on an old connection.")


def test_many_strangers_do_not_fill_the_log(tmp_path: Path) -> None:
    lines = [refused_line(b64encode(b"%d" % at), "10.0.0.7", True) for at in range(2 * MOST_NOTED)]
    assert len(told(tmp_path, *lines)) == MOST_NOTED
