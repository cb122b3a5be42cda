"""Questions that commands ask at a terminal: only a clear yes is one."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.command import fedperi_here

import fedperi as fp
from fedperi.protocol import wire
from fedperi.protocol.policy import SitePolicy
from fedperi.protocol.requests import Hello, Stating
from fedperi.site.service.work import SiteWork


class Terminal(io.StringIO):
    """Standard input at which somebody types; Ctrl-D is the end of it."""

    def isatty(self) -> bool:
        return True


def waiting_statement(place: Path) -> tuple[str, ...]:
    table = fp.simulate(3, clients=1, samples=100, seed=1).sites[0]
    site = SiteWork(table, name="north", store=str(place / "store"), policy=SitePolicy("moments"), later_for="host:1")
    card = wire.read_card(site.reply("hello", wire.write(Hello("r1"))), "north")
    site.reply("state", wire.write(Stating("r1", card.columns)))
    return ("approve", "north", "--store", "store")


def agreed_schema(place: Path) -> tuple[str, ...]:
    for name in ("agreed.toml", "own.toml"):
        (place / name).write_text('[columns.age]\nkind = "continuous"\n')
    return ("schema", "accept", "agreed.toml", "--schema", "own.toml", "--out", "new.toml")


def exact_release(place: Path) -> tuple[str, ...]:
    fp.simulate(3, clients=1, samples=100, seed=1).sites[0].to_csv(place / "north.csv", index=False)
    return ("release", "north.csv", "--exact", "--out", "new.fedperi")


CASES = [
    (waiting_statement, "yes", "error: nothing was decided\n"),
    (agreed_schema, "Y", "error: nothing was written\n"),
    (exact_release, "exact", "error: not confirmed; nothing was written\n"),
]


@pytest.mark.parametrize(("prepare", "yes", "refusal"), CASES)
@pytest.mark.parametrize("typed", ["", "\n", "no\n", "exactly\n"])
def test_anything_but_yes_is_a_no(
    prepare: Callable[[Path], tuple[str, ...]],
    yes: str,
    refusal: str,
    typed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-D too, which is no defect of fedperi."""
    command = prepare(tmp_path)
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    done = fedperi_here(*command, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, refusal)
    assert not list(tmp_path.glob("new.*"))
    monkeypatch.setattr(sys, "stdin", Terminal(f"{yes}\n"))
    assert fedperi_here(*command, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("last", ["--yes", "--dry-run"])
def test_an_exact_release_prints_json_and_nothing_else(last: str, tmp_path: Path) -> None:
    done = fedperi_here(*exact_release(tmp_path), "--json", last, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["site"], told["rows"], told["exact"], told["private"]) == ("north", 100, True, False)
    assert told["written"] == (tmp_path / "new.fedperi").exists() == (last == "--yes")
    assert any(section["heading"] == "NOT PRIVATE" for section in told["explanation"])
