"""Holes that show where parts meet: odd files of ours, invisible names, keys of the coordinator, frames of odd types.

Nothing here is left to chance.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.command import fedperi_here

import fedperi as fp
from fedperi.coordinator.record import Journal
from fedperi.errors import InputError
from fedperi.names import name_problem
from fedperi.pki.certificates import check_unshared
from fedperi.protocol import wire
from fedperi.protocol.fields import Refused, shown
from fedperi.protocol.requests import Card
from fedperi.tables import open_table
from fedperi.tables.readers.private import private_rows
from fedperi.tables.schema import Column, Schema
from fedperi.transports.flower.link import Certificates
from fedperi.transports.flower.live.site_keys import SiteKeys

DEEP = "[" * 100_000
HUGE = "1" + "0" * 400


# -- item 13: a damaged file is an error in words, whatever the damage ------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [DEEP, '{"settings": "s", "site": "n", "marks": ["a"], "answers": [' + HUGE + '], "privacy": null}', "3", '"lost"'],
    ids=["deep", "huge", "number", "text"],
)
def test_a_damaged_journal_is_refused_in_words(tmp_path: Path, line: str) -> None:
    # Before: RecursionError, OverflowError, and a TypeError that was caught.
    header = {"format": "fedperi.journal", "version": 2, "run": "r", "method": {}}
    path = tmp_path / "journal.jsonl"
    path.write_text(f"{json.dumps(header)}\n{line}\n")
    with pytest.raises(InputError, match="is damaged; remove it"):
        Journal(path)


@pytest.mark.parametrize("answer", [DEEP, HUGE], ids=["deep", "huge"])
def test_a_damaged_transcript_is_refused_in_words(answer: str) -> None:
    start = '{"format": "fedperi.transcript", "version": 1, "settings": {}, "sites": [], "rounds": '
    with pytest.raises(InputError, match="the text is damaged"):
        fp.Replay(f'{start}[{{"questions": [], "answers": [{answer}]}}]}}')


@pytest.mark.parametrize("kept", [b"[1]", b'{"index_columns": 3}', DEEP.encode(), b"{", b"\xff", b'"x"', b"3"])
def test_what_pandas_wrote_into_a_parquet_file_cannot_stop_us(tmp_path: Path, kept: bytes) -> None:
    # Before: AttributeError, TypeError, RecursionError. It is a note beside the columns, and nothing hangs on it.
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"a": [1.0, 2.0], "b": [3.0, 4.0]}).replace_schema_metadata({b"pandas": kept})
    parquet.write_table(table, tmp_path / "x.parquet")
    assert open_table(tmp_path / "x.parquet").columns == ("a", "b")


# -- items 10 and 11: names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["\u200d", " \u200c ", "\u3164", "\u2800", "\u115f\u1160", "\ufe0f", "\u0301"])
def test_a_name_of_which_nothing_shows_is_refused(name: str) -> None:
    assert name_problem(name) == "has no character that shows"


@pytest.mark.parametrize(
    "name", ["e\u0301", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "a\ufe0f", "1", "_", "°"]
)
def test_words_of_all_languages_are_names(name: str) -> None:
    assert name_problem(name) is None


def test_a_site_that_is_called_nothing_is_refused() -> None:
    card = wire.write_card(Card("north", (Column("age", "continuous"),))) | {"site": "  "}
    with pytest.raises(Refused, match="has a 'site' that is not a name"):
        wire.read_card(card, "node 1")


def test_what_others_wrote_is_quoted_in_one_way() -> None:
    assert shown("a\x1b[2J\u202e") == r"'a\x1b[2J\u202e'"
    assert shown("x" * 100) == f"'{'x' * 60}'..."
    assert shown(3) == "'int'"


# -- item 16: keys ---------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="permissions are another matter on Windows")
def test_the_coordinators_key_is_not_for_others_either(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    keys = tmp_path / "keys"
    made = fedperi_here("keys", "--host", "localhost", "--sites", "north", "--out", keys)
    assert made.returncode == 0, made.stderr
    mine = keys / "coordinator"
    certificates = Certificates(mine / "ca.pem", mine / "server.pem", mine / "server.key")
    certificates.check()
    certificates.key.chmod(0o644)
    with pytest.raises(
        InputError, match=r"can be read or changed by others on this machine \(mode 644\): run chmod 600"
    ):
        certificates.check()
    with pytest.raises(InputError, match="chmod 600"):
        check_unshared(certificates.key)


# -- item 3: no row changes how another is read ----------------------------------------------------------------------


def test_a_complex_number_in_one_row_does_not_change_the_others() -> None:
    # Before: pandas makes the whole column complex, and every cell of it counted as the default.
    schema = Schema((Column("a", "continuous", bounds=(0, 8)), Column("b", "categorical", ("1", "2"))))
    table = pd.DataFrame({"a": [1.0, 7.0, 3.0], "b": [1, 2, 1]})
    odd = pd.DataFrame({"a": [1.0, 7.0, 3.0, 1j], "b": np.array([1, 2, 1, 2 + 1j])})
    with_it, without = (next(private_rows(open_table(t), schema, "mixed", "error")) for t in (odd, table))
    assert with_it[:3].tolist() == without.tolist()
    assert with_it[3].tolist() == [4.0, 0.0]


# -- words -----------------------------------------------------------------------------------------------------------


def test_who_has_no_bounds_is_told_the_option_of_the_command_line_too(tmp_path: Path) -> None:
    pd.DataFrame({"age": [1.5, 2.5], "dose": [0.5, 1.5]}).to_csv(tmp_path / "north.csv", index=False)
    done = fedperi_here("site", tmp_path / "north.csv", "--epsilon", "1", "--dry-run")
    assert '(--bounds bounds.toml with the line "age" = [0, 120])' in done.stderr


@pytest.mark.parametrize("missing", ["flwr", "cryptography"])
def test_a_coordinator_without_the_extra_is_told_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    # Before: ModuleNotFoundError, called a defect of fedperi.
    (tmp_path / "north.pub").write_text("ecdsa-sha2-nistp384 AAAA")
    for name in [name for name in sys.modules if name.split(".")[0] == missing] + [missing]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=r"pip install .*\(the extra '(flower|keys)' brings (it|them)\)"):
        SiteKeys(tmp_path)
