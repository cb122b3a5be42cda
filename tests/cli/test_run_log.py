"""The coordinator's log: as lines for people, and as JSON for programs that collect logs."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest
from helpers.refusals import assert_refused

from fedperi.cli.common.run_log import RunLog
from fedperi.errors import InputError


def test_json_lines_hold_what_people_read(tmp_path: Path) -> None:
    shown: list[str] = []
    read: list[str] = []
    note = RunLog(tmp_path / "run", "json", shown.append, read.append)
    note('2 sites take part:\n"east", \x1b[31mnorth.')
    with pytest.raises(InputError), note.ending():
        raise InputError("no site is left")
    lines = [json.loads(line) for line in note.path.read_text().splitlines()]
    assert note.path.name == "log.jsonl"
    assert [sorted(line) for line in lines] == [["message", "time"]] * 2
    assert all(datetime.fromisoformat(line["time"]).tzinfo for line in lines)
    assert lines[0]["message"].startswith('2 sites take part: "east",') and "\x1b" not in lines[0]["message"]
    assert lines[1]["message"] == "error: no site is left"
    assert [json.loads(line) for line in shown] == lines[:1]
    assert [line.split(" ", 1)[1] for line in read] == [lines[0]["message"]]


def test_a_log_that_cannot_be_is_refused_before_anybody_connects(tmp_path: Path) -> None:
    assert_refused(lambda: RunLog(tmp_path, "xml", print), "--log-format is text or json, not 'xml'")
    (tmp_path / "file").touch()
    place = tmp_path / "file" / "run"
    assert_refused(lambda: RunLog(place, "text", print), f"cannot write to {str(place)!r}: Not a directory")
