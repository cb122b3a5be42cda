"""`fedperi release` and `fedperi inspect` as a site and its data-protection officer meet them."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.command import fedperi, fedperi_here

from fedperi.privacy.release import site_release
from fedperi.privacy.release.draw import count_rows
from fedperi.privacy.release.file import load_release, save_release, write_release

ARGUMENTS = ("--epsilon", "1", "--bounds", "bounds.toml")


def table(n: int = 1987, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.normal(60, 10, n)
    weight = 40 + age / 2 + rng.normal(0, 8, n)
    return pd.DataFrame({"age": age, "weight": weight, "arm": rng.choice(["high", "low", "placebo"], n)})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    table().to_csv(tmp_path / "h1.csv", index=False)
    (tmp_path / "bounds.toml").write_text('age = [0, 120]\nweight = [0, 250]\narm = ["placebo", "low", "high"]\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDPERI_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("COLUMNS", "80")
    before = signal.getsignal(signal.SIGINT)
    yield tmp_path
    signal.signal(signal.SIGINT, before)


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def spent(folder: Path) -> list[float]:
    """Epsilons in the only ledger of the store."""
    (file,) = (folder / "store").glob("*/ledger/ledger.jsonl")
    entries = map(json.loads, file.read_text().splitlines())
    return [entry["price"]["epsilon"] for entry in entries if "price" in entry]


def test_a_release_in_processes_of_its_own(folder: Path) -> None:
    """Made, made again, read: three processes, piped; the noise is drawn once."""
    made = fedperi("release", "h1.csv", *ARGUMENTS, "--delta", "1e-6", "--out", "h1.fedperi")
    assert (made.returncode, made.stderr) == (0, "")
    told = lines(made.stdout)
    share = re.fullmatch(r"  1,987 rows, (\d+\.\d) % of them longer than the limit and shortened\.", told.pop(6))
    assert share is not None
    assert 1 < float(share[1]) < 90  # 32, give or take 2.2, by the units that were drawn: tests/README.md
    assert told == [
        "Wrote h1.fedperi: noisy statistics of site 'h1'.",
        "Price: epsilon = 1, delta = 1e-06, paid once.",
        "Ledger: 1 release, together epsilon = 1 at delta = 1e-06.",
        "Ceiling: 10; remaining: 9.",
        "",
        "For this site only, and not in the file:",
        "",
        "Not signed: anyone could edit it on the way. To sign it, give the site's key: --key site.key",
        "To have it explained: fedperi inspect h1.fedperi",
    ]
    text = (folder / "h1.fedperi").read_text()
    beside = json.loads(text)
    del beside["moments"]["lower_triangle"]  # noise, which may be any number by chance
    numbers = set(re.findall(r"[\d.]+", json.dumps(beside)))
    assert "1987" not in numbers
    assert share[1] not in numbers
    again = fedperi("release", "h1.csv", *ARGUMENTS, "--out", "again.fedperi")
    assert (again.returncode, again.stderr) == (0, "")
    assert lines(again.stdout)[:2] == [
        "Wrote again.fedperi: noisy statistics of site 'h1'.",
        "It is the same release as before, at no new price.",
    ]
    assert "For this site only" not in again.stdout
    assert (folder / "again.fedperi").read_text() == text
    assert spent(folder) == [1.0]
    shown = fedperi("inspect", "h1.fedperi")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "\x1b" not in shown.stdout
    assert max(map(len, lines(shown.stdout))) <= 80
    headings = [line for line in lines(shown.stdout) if line and not line.startswith(" ")]
    assert headings == [
        "What this is",
        "What is promised",
        "What it holds",
        "How much noise",
        "What can be learned",
        "Who made it",
        "The ledger",
        "The file is intact: its checksum matches, and its noise is large enough for its",
        "promise.",
        "It is not signed, so that this proves nothing about who made it.",
    ]


def test_a_dry_run_draws_and_writes_nothing(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    code, out, err = fedperi_here("release", "h1.csv", *ARGUMENTS, "--ceiling", "3", "--dry-run")
    assert (code, err) == (0, "")
    assert lines(out) == [
        "A release of site 'h1': 3 columns, taken as mixed.",
        "Price: epsilon = 1, delta = 1e-06.",
        "Ledger: 0 releases, together epsilon = 0 at delta = 1e-06.",
        "Ceiling: 3; remaining: 3.",
        "After this release: epsilon = 1, remaining 2.",
        "Nothing was drawn, paid or written: this was a dry run.",
    ]
    assert sorted(folder.rglob("*")) == before
    fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "h1.fedperi")
    texts = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    code, out, err = fedperi_here("release", "h1.csv", *ARGUMENTS, "--ceiling", "3", "--dry-run")
    assert (code, err) == (0, "")
    assert lines(out)[1] == "It was drawn before: the same release again, at no new price."
    assert lines(out)[3] == "Ceiling: 3; remaining: 2."
    code, out, err = fedperi_here(
        "release", "h1.csv", "--epsilon", "4", "--bounds", "bounds.toml", "--ceiling", "3", "--dry-run"
    )
    assert code == 2
    assert lines(out)[-2:] == [
        "After this release: epsilon = 4.172, remaining 0.",
        "Nothing was drawn, paid or written: this was a dry run.",
    ]
    assert err == (
        "error: site 'h1' has spent epsilon 1; a release at epsilon 4, delta 1e-06 would bring it to 4.172, above "
        "its ceiling of epsilon 3 at delta 1e-06; nothing is released: ask for less, use what was released before, or "
        "have the site raise its ceiling\n"
    )
    code, out, _ = fedperi_here(
        "release", "h1.csv", "--epsilon", "40", "--bounds", "bounds.toml", "--dry-run", "--json"
    )
    assert code == 2
    told = json.loads(out)
    assert told["refused"].startswith("site 'h1' has spent epsilon 1; a release at epsilon 40")
    code, _, err = fedperi_here("release", "h1.csv", *ARGUMENTS, "--ceiling", "11", "--dry-run")
    assert (code, err) == (
        2,
        "error: a ceiling of 11 is above the 10 of site 'h1', which its ledger keeps; ask for less, or let the site "
        "raise it (fedperi release --raise-ceiling)\n",
    )
    # Looking has not lowered the ceiling, nor touched anything else.
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == texts


def test_what_a_dry_run_finds_a_release_finds(folder: Path) -> None:
    large = ("--delta", "0.01", "--most-rows", "5000")
    code, _, err = fedperi_here("release", "h1.csv", *ARGUMENTS, *large, "--dry-run")
    assert (code, fedperi_here("release", "h1.csv", *ARGUMENTS, *large, "--out", "x")) == (2, (2, "", err))
    assert err == (
        "error: delta = 0.01 is not below one over the number of rows (at most 5000); with such a delta, even "
        "publishing a person's whole row would count as private. Choose a smaller delta; 1e-6 is usual\n"
    )


def test_prices_add_up_to_the_ceiling(folder: Path) -> None:
    for epsilon, code in (("1", 0), ("2", 0), ("2.5", 2)):
        arguments = ("--epsilon", epsilon, "--bounds", "bounds.toml", "--ceiling", "3", "--out", f"{epsilon}.fedperi")
        assert fedperi_here("release", "h1.csv", *arguments)[0] == code
    assert not (folder / "2.5.fedperi").exists()
    assert spent(folder) == [1.0, 2.0]
    # The first release again, now with the ledger as it stands; the file of it is left alone.
    code, out, _ = fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "1.fedperi")
    assert code == 0
    assert lines(out)[:4] == [
        "1.fedperi already holds this release, and was not changed.",
        "It is the same release as before, at no new price.",
        "Ledger: 2 releases, together epsilon = 2.284 at delta = 1e-06.",
        "Ceiling: 3; remaining: 0.716.",
    ]
    first = load_release("1.fedperi")
    assert first.ledger is not None
    assert len(first.ledger["releases"]) == 1
    fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "newer.fedperi")
    newer = load_release("newer.fedperi")
    assert newer.ledger is not None
    assert len(newer.ledger["releases"]) == 2
    assert (newer.moments == first.moments).all()
    told = " ".join(fedperi_here("inspect", "newer.fedperi")[1].split())
    assert (
        "When the file was written, the site had made 2 releases of the table: epsilon = 2.284 at delta = 1e-06, of at "
        "most 3 that it allows; 0.716 is left. Against anyone who has all of them, this total counts, not the price of "
        "this file."
    ) in told


def test_json(folder: Path) -> None:
    arguments = ("--name", "north", "--targets", "arm, age", "--data", "mixed", "--out", "h1.fedperi", "--json")
    code, out, _ = fedperi_here("release", "h1.csv", *ARGUMENTS, *arguments)
    told = json.loads(out)
    assert code == 0
    assert (told["site"], told["file"], told["kept"], told["written"]) == ("north", "h1.fedperi", False, True)
    assert told["for_the_site_only"]["rows"] == 1987
    assert load_release("h1.fedperi").targets == ("arm", "age")
    code, out, _ = fedperi_here("release", "h1.csv", *ARGUMENTS, *arguments)
    again = json.loads(out)
    assert (again["kept"], again["written"], again["for_the_site_only"]) == (True, False, None)
    code, out, _ = fedperi_here("inspect", "h1.fedperi", "--json")
    seen = json.loads(out)
    assert (seen["site"], seen["private"], seen["price"]["epsilon"]) == ("north", True, 1.0)
    assert 1500 < seen["rows"] < 2500
    assert seen["membership_guess"]["by_promise"] == pytest.approx(np.e / (1 + np.e), abs=1e-5)
    assert seen["explanation"][0]["heading"] == "What this is"
    code, out, _ = fedperi_here("release", "h1.csv", *ARGUMENTS, "--name", "north", "--dry-run", "--json")
    plan = json.loads(out)
    assert (plan["dry_run"], plan["kept"], plan["refused"]) == (True, True, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--bounds", "bounds.toml", "--out", "x"), "give the privacy price of the release: --epsilon 1 is usual"),
        ((*ARGUMENTS,), "give the file to write: --out h1.fedperi (or --dry-run to see the price)"),
        ((*ARGUMENTS, "--out", "no/x"), "--out 'no/x': there is no folder 'no'; make it first"),
        ((*ARGUMENTS, "--out", "."), "--out '.' already exists and is not a release file; choose another name"),
        (
            (*ARGUMENTS, "--out", "h1.csv"),
            "--out 'h1.csv' already exists and is not a release file; choose another name",
        ),
        (
            (*ARGUMENTS, "--out", "x", "--data", "discrete"),
            "data must be one of auto, linear, nonlinear, mixed; not 'discrete'",
        ),
        ((*ARGUMENTS, "--out", "x", "--missing", "fill"), "missing must be one of error, drop; not 'fill'"),
        (
            (*ARGUMENTS, "--out", "x", "--targets", "dose"),
            "--targets: there is no column 'dose'; there are 'age', 'weight', 'arm'",
        ),
        (("--epsilon", "0", "--out", "x"), "epsilon must be a positive, finite number, not 0.0; 1 is usual"),
        (("--epsilon", "nan", "--out", "x"), "epsilon must be a positive, finite number, not nan; 1 is usual"),
        (
            (*ARGUMENTS, "--delta", "0", "--out", "x"),
            "delta must be a number above 0 and far below 1 over the number of rows, not 0.0; 1e-6 is usual",
        ),
        (
            (*ARGUMENTS, "--ceiling", "0.5", "--out", "x"),
            "site 'h1' has spent epsilon 0; a release at epsilon 1, delta "
            "1e-06 would bring it to 1, above its ceiling of epsilon 0.5 at delta 1e-06; nothing is released: ask "
            "for less, use what was released before, or have the site raise its ceiling",
        ),
        (
            ("--epsilon", "1", "--bounds", "none.toml", "--out", "x"),
            "cannot read the bounds 'none.toml': No such file or directory",
        ),
        (("--epsilon", "1", "--out", "x"), "site 'h1', column 'age': no public bounds. "),
        ((*ARGUMENTS, "--store", "h1.csv", "--out", "x"), "the privacy store cannot use "),
    ],
)
def test_refusals_before_anything_is_drawn(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = fedperi_here("release", "h1.csv", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {message}")
    assert err.count("\n") == 1
    assert not (folder / "x").exists()
    assert not list(folder.glob("store/*/kept-*"))
    assert not list(folder.glob("store/*/ledger/ledger.jsonl")) or spent(folder) == []


def test_values_of_the_table_are_in_no_message(folder: Path) -> None:
    rows = table()
    rows["age"] = rows["age"].astype(object)
    rows.loc[7, "age"] = "secret-value"
    rows.to_csv("h1.csv", index=False)
    told = (
        "site 'h1', column 'age': less than 0.1 % of the cells are not numbers (1 of 1987) and count as 60, the middle "
        "of the bounds; correct or fill them; --missing drop leaves their rows out"
    )
    code, out, err = fedperi_here("release", "h1.csv", *ARGUMENTS, "--dry-run")
    assert (code, err) == (0, "")
    assert f"  {told}\n" in out
    assert "secret" not in out
    code, out, err = fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "x")
    assert (code, err) == (0, "")
    assert f"  {told}\n" in out.split("For this site only, and not in the file:")[1]
    assert "secret" not in out + Path("x").read_text()
    rows.loc[7, "age"] = None
    rows.to_csv("h1.csv", index=False)
    code, out, _ = fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "y", "--missing", "drop", "--json")
    secret = json.loads(out)["for_the_site_only"]
    assert (code, secret["rows"]) == (0, 1986)
    assert secret["findings"][0].endswith("(1 of 1987) and their rows are left out; correct them")


def test_nothing_else_is_overwritten(folder: Path) -> None:
    assert fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "h1.fedperi")[0] == 0
    text = Path("h1.fedperi").read_text()
    other = "error: --out 'h1.fedperi' holds another release; choose another name. Nothing was drawn or paid\n"
    dearer = ("--epsilon", "2", "--bounds", "bounds.toml", "--out", "h1.fedperi")
    assert fedperi_here("release", "h1.csv", *dearer) == (2, "", other)
    assert fedperi_here("release", "h1.csv", *ARGUMENTS, "--targets", "arm", "--out", "h1.fedperi") == (2, "", other)
    assert spent(folder) == [1.0]
    table(seed=1).to_csv("h1.csv", index=False)  # another table, a ledger of its own
    assert fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "h1.fedperi") == (2, "", other)
    assert not [entry for file in folder.glob("store/*/ledger/ledger.jsonl") for entry in file.read_text().splitlines()
                if "price" in entry][1:]  # fmt: skip
    assert Path("h1.fedperi").read_text() == text
    table().to_csv("h1.csv", index=False)
    Path("h1.fedperi").write_text(text[:-100])
    code, _, err = fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "h1.fedperi")
    assert (code, err) == (
        2,
        "error: --out 'h1.fedperi' is a release file that was cut off or changed; remove it, or choose another name\n",
    )
    Path("h1.fedperi").unlink()
    assert fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "h1.fedperi")[0] == 0
    assert Path("h1.fedperi").read_text() == text
    assert fedperi_here("release", "h1.fedperi", *ARGUMENTS, "--out", "x") == (
        2,
        "",
        "error: 'h1.fedperi' is a release file already; `fedperi inspect h1.fedperi` explains it\n",
    )


def test_a_store_of_the_sites_own_holds_one_table(folder: Path) -> None:
    own = ("--store", str(folder / "store"))
    assert fedperi_here("release", "h1.csv", *ARGUMENTS, *own, "--out", "a.fedperi")[0] == 0
    table(seed=1).to_csv("h1.csv", index=False)
    code, _, err = fedperi_here("release", "h1.csv", *ARGUMENTS, *own, "--out", "b.fedperi")
    assert code == 2
    assert "is that of another table; nothing is released" in err
    assert fedperi_here("release", "h1.csv", *ARGUMENTS, *own, "--dry-run") == (2, "", err)
    assert not Path("b.fedperi").exists()


def test_a_ledger_that_was_edited(folder: Path) -> None:
    fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "a.fedperi")
    (file,) = folder.glob("store/*/ledger/ledger.jsonl")
    file.write_text(file.read_text().replace('"epsilon": 1.0', '"epsilon": 0.1'))
    code, out, err = fedperi_here(
        "release", "h1.csv", "--epsilon", "2", "--bounds", "bounds.toml", "--out", "b.fedperi"
    )
    assert (code, out) == (2, "")
    assert "is damaged or was edited" in err
    assert not Path("b.fedperi").exists()


def test_a_disk_that_is_full_costs_nothing_twice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move = Path.replace

    def full(path: Path, target: Path) -> Path:
        if Path(target).suffix == ".fedperi":
            raise OSError(28, "No space left on device")
        return move(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        code, out, err = fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "h1.fedperi")
    assert (code, out) == (2, "")
    assert err == (
        "error: release file 'h1.fedperi': it cannot be written: No space left on device; choose another place\n"
    )
    assert not [path for path in folder.iterdir() if path.suffix in (".fedperi", ".part")]
    code, out, _ = fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "h1.fedperi")
    assert code == 0
    assert "It is the same release as before, at no new price." in lines(out)
    assert spent(folder) == [1.0]


def test_a_folder_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    code, _, err = fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "x")
    assert (code, err) == (2, "error: --out 'x': the folder '.' cannot be written; choose another\n")
    assert not (folder / "store").exists()


def test_interrupted_before_the_charge(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return count_rows(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(site_release, "count_rows", slow)
        code, out, err = fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "h1.fedperi")
    assert (code, out, err) == (130, "", "interrupted: no result was written\n")
    assert not Path("h1.fedperi").exists()
    assert spent(folder) == []


def test_interrupted_after_the_charge(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise is still drawn and kept: the release that was paid for exists the next time."""
    draw = site_release.PreparedRelease._draw

    def slow(pending: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return draw(pending)

    with monkeypatch.context() as patch:
        patch.setattr(site_release.PreparedRelease, "_draw", slow)
        code, out, err = fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "h1.fedperi")
    assert (code, out, err) == (130, "", "interrupted: no result was written\n")
    assert sorted(path.name for path in folder.iterdir()) == ["bounds.toml", "h1.csv", "store"]
    assert spent(folder) == [1.0]
    code, out, _ = fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "h1.fedperi")
    assert "It is the same release as before, at no new price." in lines(out)
    assert spent(folder) == [1.0]


def test_inspect_refuses_and_warns(folder: Path) -> None:
    assert fedperi_here("inspect", "none.fedperi") == (
        2,
        "",
        "error: release file 'none.fedperi' does not exist; check the path\n",
    )
    code, out, err = fedperi_here("inspect", "h1.csv")
    assert (code, out) == (2, "")
    assert err.startswith(
        "error: release file 'h1.csv' is cut off or not JSON (line 1: Expecting value); have the site "
    )
    fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "h1.fedperi")
    release = load_release("h1.fedperi")
    Path("weak.fedperi").write_text(write_release(replace(release, noise=release.noise / 2)))
    code, out, err = fedperi_here("inspect", "weak.fedperi")
    assert (code, out) == (2, "")
    assert "does not keep what it promises" in err
    save_release(replace(release, private=False), "test.fedperi")
    code, out, _ = fedperi_here("inspect", "test.fedperi")
    assert code == 0
    assert lines(out)[0] == "NOT PRIVATE"
    assert lines(out)[-1] == "NOT PRIVATE: its noise is from a test."
    save_release(replace(release, site="north\x1b[2J", targets=("arm",)), "escape.fedperi")
    code, out, err = fedperi_here("inspect", "escape.fedperi")
    assert (code, out) == (2, "")
    assert "as 'site', which must be the name of a site" in err
    assert "\x1b" not in err
    save_release(replace(release, site="north[red]", targets=("arm",)), "strange.fedperi")
    code, out, _ = fedperi_here("inspect", "strange.fedperi")
    assert code == 0
    assert "[red]" in out  # a name, not markup


def test_inspect_at_other_widths(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fedperi_here("release", "h1.csv", *ARGUMENTS, "--out", "h1.fedperi")
    for width in (40, 80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        code, out, _ = fedperi_here("inspect", "h1.fedperi")
        assert code == 0
        assert max(len(line) for line in lines(out)) <= width
