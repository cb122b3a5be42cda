"""What a site's store must not let pass: a table under another name, a deleted ledger, two processes at once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.command import fedperi, fedperi_here

import fedperi as fp
from fedperi.errors import InputError
from fedperi.privacy.release.file import load_release
from fedperi.privacy.release.site_release import Budget, PreparedRelease, prepare_release, release_table
from fedperi.tables.table import open_table

BOUNDS = {"a": (-5, 5), "b": (-5, 5)}


def table(seed: int = 0, rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=rows)
    return pd.DataFrame({"a": a, "b": a + rng.normal(size=rows)})


def privacy(store: Path | None, epsilon: float = 1.0, ceiling: float | None = None) -> fp.Privacy:
    return fp.Privacy(epsilon, bounds=BOUNDS, store=None if store is None else str(store), ceiling=ceiling)


def spent(store: Path | None, name: str, frame: pd.DataFrame | None = None) -> float:
    return Budget.look(open_table(table() if frame is None else frame, name), privacy(store)).ledger.spent


# Item 6: one table, many names


def test_a_renamed_copy_does_not_begin_a_new_budget(tmp_path: Path) -> None:
    release_table(table(), privacy(tmp_path, 1.0, ceiling=1.2), name="h1")
    before = spent(tmp_path, "h1")
    assert before == pytest.approx(1.0)
    assert spent(tmp_path, "copy") == before
    with pytest.raises(InputError, match=r"site 'copy' has spent epsilon 1.*above its ceiling of epsilon 1.2"):
        release_table(table(), privacy(tmp_path, 0.9), name="copy")
    release_table(table(), privacy(tmp_path, 0.4), name="copy")
    assert spent(tmp_path, "h1") == spent(tmp_path, "copy") == spent(tmp_path, "a third name") > 1.05


def test_the_same_release_under_another_name_is_the_same_noise_and_costs_nothing(tmp_path: Path) -> None:
    first, _ = release_table(table(), privacy(tmp_path), name="h1")
    again, witness = release_table(table(), privacy(tmp_path), name="copy")
    assert witness is None and again.site == "copy"
    assert again.identifier == first.identifier and (again.moments == first.moments).all()
    assert spent(tmp_path, "copy") == pytest.approx(1.0)


def test_the_ceiling_is_the_tables_whatever_its_name(tmp_path: Path) -> None:
    release_table(table(), privacy(tmp_path, 0.5, ceiling=1), name="h1")
    with pytest.raises(InputError, match=r"the ceiling of site 'copy' is epsilon 1 at .* would raise it"):
        release_table(table(), privacy(tmp_path, 0.5, ceiling=3), name="copy")
    release_table(table(), privacy(tmp_path, 0.3, ceiling=0.9), name="copy")  # a lower one holds for both names
    with pytest.raises(InputError, match=r"above its ceiling of epsilon 0.9"):
        release_table(table(), privacy(tmp_path, 0.9), name="h1")


def test_a_ceiling_that_is_raised_under_one_name_is_raised_under_all(tmp_path: Path) -> None:
    release_table(table(), privacy(tmp_path, 0.5, ceiling=1), name="h1")
    release_table(table(), privacy(tmp_path, 0.3), name="copy")
    table().to_csv(tmp_path / "copy.csv", index=False)
    (tmp_path / "bounds.toml").write_text("a = [-5, 5]\nb = [-5, 5]\n")
    command = f"release {tmp_path}/copy.csv --out {tmp_path}/x.fedperi --epsilon 1.5 --bounds {tmp_path}/bounds.toml"
    done = fedperi_here(*command.split(), "--store", tmp_path, "--ceiling", 4, "--raise-ceiling")
    assert done.returncode == 0, done.stderr
    for name in ("h1", "copy", "third"):
        assert Budget.look(open_table(table(), name), privacy(tmp_path)).ledger.ceiling.epsilon == 4


def test_the_default_store_and_a_given_one_in_the_same_folder_count_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEDPERI_STORE", str(tmp_path))
    release_table(table(), privacy(None), name="h1")
    assert spent(tmp_path, "h1") == spent(tmp_path, "copy") == pytest.approx(1.0)
    release_table(table(), privacy(tmp_path, 0.5), name="copy")
    assert spent(None, "h1") == spent(tmp_path, "copy") > 1.05


def test_two_ledgers_of_version_01_for_one_table_are_added_up(tmp_path: Path) -> None:
    for name in ("h1", "copy"):
        release_table(table(), privacy(tmp_path / name), name=name)
    shutil.copytree(tmp_path / "copy", tmp_path / "h1", dirs_exist_ok=True)
    assert spent(tmp_path / "h1", "h1") == spent(tmp_path / "h1", "copy") > 1.3


def test_other_tables_in_the_store_do_not_count(tmp_path: Path) -> None:
    release_table(table(), privacy(tmp_path), name="h1")
    assert spent(tmp_path, "h2", table(seed=1)) == 0
    release_table(table(seed=1), privacy(tmp_path), name="h2")
    assert spent(tmp_path, "h1") == pytest.approx(1.0)
    with pytest.raises(InputError, match="that of another table"):
        release_table(table(seed=1), privacy(tmp_path), name="h1")


def test_a_damaged_ledger_under_another_name_stops_the_copy_too(tmp_path: Path) -> None:
    release_table(table(), privacy(tmp_path), name="h1")
    [file] = tmp_path.glob("site-h1-*/ledger/ledger.jsonl")
    file.write_text(file.read_text().replace('"epsilon": 1.0', '"epsilon": 0.1'))
    with pytest.raises(InputError, match=r"damaged or was edited.*nothing is released"):
        release_table(table(), privacy(tmp_path), name="copy")


# Item 7: a ledger that was deleted


def test_a_deleted_ledger_is_noticed_by_the_releases_that_are_kept(tmp_path: Path) -> None:
    release_table(table(), privacy(tmp_path), name="h1")
    [ledger] = tmp_path.glob("site-h1-*/ledger")
    shutil.rmtree(ledger)
    for look in (lambda: spent(tmp_path, "h1"), lambda: release_table(table(), privacy(tmp_path, 0.5), name="h1")):
        with pytest.raises(InputError, match=r"(?s)site 'h1'.*has no ledger.*restore.*'ledger'.*backup") as caught:
            look()
        assert "--ceiling" in str(caught.value)
    assert not ledger.exists()


def test_a_deleted_ledger_is_noticed_under_any_name_since_its_table_is_not_known(tmp_path: Path) -> None:
    release_table(table(), privacy(tmp_path), name="h1")
    shutil.rmtree(next(tmp_path.glob("site-h1-*/ledger")))
    with pytest.raises(InputError, match="has no ledger"):
        release_table(table(), privacy(tmp_path), name="copy")


def test_a_deleted_ledger_is_noticed_in_the_default_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDPERI_STORE", str(tmp_path))
    release_table(table(), privacy(None), name="h1")
    shutil.rmtree(next(tmp_path.glob("*/ledger")))
    with pytest.raises(InputError, match="has no ledger"):
        release_table(table(), privacy(None, 0.5), name="h1")


def test_a_site_that_answered_without_noise_before_may_begin_a_ledger(tmp_path: Path) -> None:
    from fedperi.privacy.store import Store
    from fedperi.tables.bounded import fingerprint

    place = Store(tmp_path).place("h1", fingerprint(open_table(table())))
    place.keep("summary", '{"format": "fedperi.statistics", "version": 1}')
    place.keep("runs", "[]")
    release_table(table(), privacy(tmp_path), name="h1")
    assert spent(tmp_path, "h1") == pytest.approx(1.0)


# Item 12: two processes at once


def test_the_ledger_is_read_again_when_another_process_was_first(tmp_path: Path) -> None:
    late = prepare_release(table(), privacy(tmp_path), name="h1")
    first, _ = release_table(table(), privacy(tmp_path), name="h1")
    second, witness = late.draw()
    assert witness is None and second.identifier == first.identifier
    assert second.ledger is not None and second.ledger["spent"] == pytest.approx(1.0)


def test_the_loser_of_two_processes_says_so_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table().to_csv(tmp_path / "h1.csv", index=False)
    (tmp_path / "bounds.toml").write_text("a = [-5, 5]\nb = [-5, 5]\n")
    command = ["release", str(tmp_path / "h1.csv"), "--epsilon", "1", "--bounds", str(tmp_path / "bounds.toml")]
    command += ["--store", str(tmp_path / "store"), "--out"]
    draw = PreparedRelease.draw

    def overtaken(pending: PreparedRelease) -> Any:
        assert fedperi(*command, tmp_path / "first.fedperi").returncode == 0
        return draw(pending)

    monkeypatch.setattr(PreparedRelease, "draw", overtaken)
    loser = fedperi_here(*command, tmp_path / "second.fedperi")
    assert not (tmp_path / "second.fedperi").exists()
    assert loser.returncode == 2 and "spent 0" not in loser.stdout
    assert loser.stderr == (
        "error: site 'h1': another process made this release at the same moment, and paid for it; nothing was paid "
        "twice and nothing was written here: run the command again to write the same release at no new price\n"
    )
    monkeypatch.undo()
    again = fedperi_here(*command, tmp_path / "second.fedperi", "--json")
    assert again.returncode == 0 and json.loads(again.stdout)["ledger"]["spent"] == pytest.approx(1.0)
    one, other = (load_release(tmp_path / f"{name}.fedperi") for name in ("first", "second"))
    assert one.identifier == other.identifier and one.ledger == other.ledger
