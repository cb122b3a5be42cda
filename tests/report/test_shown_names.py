"""Names that come from users and other sites: which are valid, and that they are shown without side effects."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import re
import unicodedata
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.command import fedperi_here
from hypothesis import given, settings
from hypothesis import strategies as st

import fedperi as fp
from fedperi.coordinator.coordinator import check_together
from fedperi.errors import InputError
from fedperi.graph.formats import from_csv, to_csv
from fedperi.protocol.messages import Welcome
from fedperi.tables import Column, check, open_table

SOURCES = Path(fp.__file__).parent

HOSTILE = [
    "dose [/day]",
    "[red]x[/red]",
    "[link=https://example.org]y[/link]",
    ":smile:",
    "<script>z</script>",
    '=1+1"&',
]
"""Names that are valid, and that something on the way could take for markup, an emoji, a tag or a formula."""

FORBIDDEN = {
    "newline": "a\nb",
    "return": "a\rb",
    "tab": "a\tb",
    "escape": "a\x1b[2J",
    "delete": "a\x7f",
    "C1 control": "a\x9b31m",
    "line separator": "a\u2028b",
    "override": "a\u202eb",
    "isolate": "a\u2066b",
    "zero width space": "a\u200bb",
    "lone surrogate": "a\ud800",
    "long": "a" * 201,
}


def tables(names: list[str], rows: int = 200, sites: int = 2) -> list[pd.DataFrame]:
    rng = np.random.default_rng(7)
    out = []
    for _ in range(sites):
        values = rng.normal(size=(rows, len(names)))
        for j in range(1, len(names)):
            values[:, j] += 0.8 * values[:, j - 1]
        out.append(pd.DataFrame(values, columns=names))
    return out


def written(folder: Path, names: list[str], stems: tuple[str, ...] = ("north", "south")) -> list[str]:
    files = []
    for stem, table in zip(stems, tables(names, sites=len(stems)), strict=True):
        table.to_csv(folder / f"{stem}.csv", index=False)
        files.append(str(folder / f"{stem}.csv"))
    return files


def told(arguments: list[str], code: int = 0) -> str:
    """Return the output of a command, in a terminal that is wide enough."""
    done = fedperi_here(*arguments, columns=400)
    assert done.returncode == code, done
    return done.stdout + done.stderr


# -- item 10: markup in names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["mperi", "iperi", "peri"])
def test_a_run_shows_names_as_they_are(tmp_path: Path, method: str) -> None:
    files = written(tmp_path, HOSTILE, ("[b]north", "south [red"))
    out = tmp_path / "[bold]out"
    shown = told(["run", *files, "--method", method, "--out", str(out)])
    graph = fp.load(out).graph
    assert len(graph) >= 5
    for name in HOSTILE:
        assert name in shown
    assert str(out) in shown.replace("\n", "")


def test_every_command_shows_names_as_they_are(tmp_path: Path) -> None:
    files = written(tmp_path, HOSTILE, ("[b]north", "south [red"))
    bounds = tmp_path / "[i]bounds.toml"
    bounds.write_text("\n".join(f"{json.dumps(name)} = [-9, 9]" for name in HOSTILE))
    private = ["--bounds", str(bounds), "--store", str(tmp_path / "[x] store")]
    for name in HOSTILE:
        assert name in told(["check", *files])
        assert name in json.loads(told(["check", *files, "--json"]))["columns"][HOSTILE.index(name)]["name"]
    assert "[b]north" in told(["check", *files])
    assert "No errors" in told(["check", *files, "--write-schema", str(tmp_path / "[b]schema.toml")])
    assert "dry run" in told(["run", *files, "--dry-run"])
    prices = told(["run", *files, "--method", "iperi", "--epsilon", "1", *private, "--dry-run"])
    assert "[b]north" in prices
    assert "south [red" in prices
    release = str(tmp_path / "[u]one.fedperi")
    assert release in told(["release", files[0], "--epsilon", "1", *private, "--out", release])
    inspected = told(["inspect", release])
    assert "[b]north" in inspected
    for name in HOSTILE:
        assert name in inspected or json.dumps(name)[1:-1] in inspected
    dry = told(["site", "--channel", "regrets", files[0], "--dry-run", "--store", str(tmp_path / "[x] other")])
    assert "dose [/day]" in dry
    out = tmp_path / "[x] out"
    told(["run", *files, "--out", str(out)])
    assert str(out) in told(["report", str(out)]).replace("\n", "")
    sim = str(tmp_path / "[x] sim")
    assert sim in told(["simulate", "--out", sim, "--variables", "3", "--samples", "20"]).replace("\n", "")


def test_errors_show_names_as_they_are(tmp_path: Path) -> None:
    north, south = written(tmp_path, HOSTILE, ("[b]north", "south [red"))
    frame = pd.read_csv(south)
    frame.drop(columns="dose [/day]").to_csv(south, index=False)
    shown = told(["check", "--missing", "error", north, south], code=2)
    assert "dose [/day]" in shown
    assert "south [red" in shown


def test_a_table_of_edges_can_be_printed_by_any_console() -> None:
    from rich.console import Console

    from fedperi.report.pictures.text import edge_table

    graph = fp.PDAG.from_edges([("dose [/day]", "[red]x[/red]")])
    stream = io.StringIO()
    Console(file=stream, width=200).print(edge_table({"[/a]": graph}, title="[/b]"))
    for text in ("dose [/day]", "[red]x[/red]", "[/a]", "[/b]"):
        assert text in stream.getvalue()


def test_there_is_one_door_to_the_terminal() -> None:
    """Everything shown passes `console` or `cli.common.say`, where nothing is taken for markup."""
    doors = {SOURCES / "console.py", SOURCES / "cli" / "common" / "say.py"}
    strange = []
    for path in SOURCES.rglob("*.py"):
        text = re.sub(r"^\s*(>>>|\.\.\.) .*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        if path not in doors and re.search(r"\bConsole\(|typer\.echo|\bfrom_markup|(?<![\w.])print\(", text):
            strange.append(str(path.relative_to(SOURCES)))
    assert strange == []


def test_control_characters_do_not_reach_a_terminal() -> None:
    """Levels are cells, and may hold anything; so may the reason that a site gives for its failure."""
    from fedperi.cli.common.say import say
    from fedperi.console import console

    stream = io.StringIO()
    terminal = console(file=stream, force_terminal=True, width=100)
    terminal.print("a\x1b[2Jb\x9bc\u202ed\x07\ud800")
    assert not {"\x9b", "\u202e", "\x07", "\ud800"} & set(stream.getvalue())
    assert "\x1b[2J" not in stream.getvalue()
    table = tables(["a", "b"])[0].assign(c=["u\x1b[2J", "v\u202e"] * 100)
    terminal.print(check([table]).to_rich())
    assert "\x1b[2J" not in stream.getvalue()
    assert "\u202e" not in stream.getvalue()
    out = io.StringIO()
    say("a\x1b[2Jb\nc", file=out)
    assert out.getvalue() == "a\\u001b[2Jb\nc\n"


class Elements(html.parser.HTMLParser):
    """Collect the elements of a page, and all its text and attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.words += [value or "" for _, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


INJECTED = ["<script>z</script>", "</script><b onclick=x>", "\"><i id='y'>", "</title><u>", "{{ 7 * 7 }}", "a&amp;b"]


@pytest.mark.parametrize("method", [fp.MPERI(), fp.IPERI(bootstrap=2)])
def test_names_are_text_in_the_report(method: fp.MPERI | fp.IPERI) -> None:
    usual, hostile = tables(["a", "b", "c", "d", "e", "f"], sites=3), tables(INJECTED, sites=3)
    names = ["north", "south", "east"]
    plain = Elements(_page(method, dict(zip(names, usual, strict=True))))
    odd = Elements(_page(method, dict(zip(INJECTED[:3], hostile, strict=True))))
    # The same tables under other names give the same elements, up to a few that depend on how long a name is.
    extra = {tag for tag in odd.tags if odd.tags.count(tag) > plain.tags.count(tag)}
    assert extra <= {"text", "span", "br"}
    assert odd.tags.count("script") == 1
    text = "\n".join(odd.words)
    for name in INJECTED:
        assert name in text
    assert "49" not in [word.strip() for word in odd.words]


def _page(method: fp.MPERI | fp.IPERI, sites: dict[str, pd.DataFrame]) -> str:
    from fedperi.report import render_report

    return render_report(method.fit(sites))


def test_names_are_text_in_a_picture() -> None:
    from xml.etree import ElementTree

    from fedperi.report import graph_svg

    graph = fp.PDAG.from_edges(list(pairwise(INJECTED)))
    root = ElementTree.fromstring(graph_svg(graph))
    assert {element.tag.split("}")[1] for element in root.iter()} == {"svg", "g", "path", "title", "rect", "text"}
    titles = [element.text for element in root.iter() if element.tag.endswith("title")]
    assert sorted(map(str, titles)) == sorted(INJECTED)
    ElementTree.fromstring(graph_svg(fp.PDAG.from_edges([("a\x00\x1b", "b\ud800")])))  # XML has no such characters


# -- item 11: what a name may be ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORBIDDEN.values(), ids=FORBIDDEN)
def test_a_bad_column_is_refused_on_opening(name: str) -> None:
    frame = tables(["x", "y", "z"])[0].set_axis(pd.Index(["x", name, "z"], dtype=object), axis=1)
    for use in (open_table, pd.DataFrame.copy):
        with pytest.raises(InputError, match=r"column 2") as raised:
            open_table(use(frame), "north") if use is open_table else fp.IPERI().fit([use(frame), use(frame)])
        assert str(raised.value).isprintable()
        assert "rename" in str(raised.value)
        assert len(str(raised.value)) < 400


@pytest.mark.parametrize("name", FORBIDDEN.values(), ids=FORBIDDEN)
def test_a_bad_name_is_refused_wherever_it_enters(name: str) -> None:
    good = tables(["x", "y"])[0]
    covariance = np.eye(2)
    graph = fp.PDAG.from_edges([("x", name)])
    for make in (
        lambda: open_table(good, name),
        lambda: fp.IPERI().fit({name: good, "south": good}),
        lambda: fp.MPERI().fit({name: good, "south": good}),
        lambda: fp.IPERI().fit([fp.OracleSite(covariance, n=100, names=["x", name], name="north")]),
        lambda: fp.IPERI().fit([fp.OracleSite(covariance, n=100, name=name)]),
        lambda: Column(name, "continuous"),
        lambda: check_together([Welcome(name, ("x",), 100)]),
        lambda: check_together([Welcome("north", ("x", name), 100)]),
        lambda: fp.Knowledge(forbidden=[("x", name)]),
        lambda: fp.Knowledge(tiers=[["x"], [name]]),
        lambda: fp.simulate(graph, clients=2, samples=10),
        lambda: fp.simulate(["x", name], clients=2, samples=10),
    ):
        with pytest.raises(InputError) as raised:
            make()
        assert str(raised.value).isprintable()
        assert len(str(raised.value)) < 400


def test_names_in_many_scripts_are_fine() -> None:
    """Joiners belong to the spelling of Persian and Hindi words; other characters of format do not."""
    names = ["âge", "血圧", "عمر", "نیم\u200cروز", "क्\u200dष", "σ²", "x y", "a.b", "CO₂ (%)", "🙂"]
    assert open_table(tables(names)[0], "site é").columns == tuple(names)


@given(st.text(min_size=1, max_size=30))
@settings(max_examples=2000, deadline=None)
def test_property_a_name_is_valid_or_refused_alike_everywhere(name: str) -> None:
    from fedperi.names import name_problem

    valid = name_problem(name) is None
    if valid:
        assert not {unicodedata.category(c) for c in name} & {"Cc", "Cs", "Zl", "Zp"}
        assert Column(name, "continuous").name == name
        fp.Knowledge(forbidden=[("x", name)])
        check_together([Welcome(name, (name,), 100)])
        return
    for make in (
        lambda: Column(name, "continuous"),
        lambda: fp.Knowledge(forbidden=[("x", name)]),
        lambda: check_together([Welcome(name, ("x",), 100)]),
    ):
        with pytest.raises(InputError) as raised:
            make()
        assert str(raised.value).isprintable()


@pytest.mark.parametrize("name", ["node", "graph"])
def test_words_that_a_format_keeps_for_itself_do_not_fail_a_run_while_saving(tmp_path: Path, name: str) -> None:
    result = fp.IPERI().fit(tables([name, "x", "y"]))
    place = result.save(tmp_path / "out")
    assert fp.load(place).graph == result.graph
    dagitty = fp.PDAG.from_dagitty((place / "graph.dagitty.txt").read_text())
    assert dagitty == result.graph.renamed({name: f"{name}_"})


# -- item 16: formulas in tables ------------------------------------------------------------------------------------

STARTS = "=+-@\t\r\uff1d\uff0b\uff0d\uff20"

FORMULAS = [f"{start}1+cmd" for start in "=+-@\uff1d"] + ["'=x", "''+y", "'", "'plain", "-", "a;=1", "x\t=1"]


def test_no_cell_of_a_table_of_edges_begins_a_formula() -> None:
    graph = fp.PDAG.from_edges([(FORMULAS[0], FORMULAS[1])], names=FORMULAS)
    text = to_csv(graph)
    rows = list(csv.reader(io.StringIO(text)))[1:]
    assert not [cell for row in rows for cell in row[:2] if cell[:1] and cell[0] in STARTS]
    assert from_csv(text) == graph
    for row in text.splitlines()[1:]:  # a spreadsheet may split at other marks than commas
        for mark in ";\t":
            assert all(cell[0][:1] not in set(STARTS) for cell in _split(row, mark)), row


def _split(row: str, mark: str) -> list[list[str]]:
    return [[cell] for cell in next(csv.reader([row], delimiter=mark)) if cell]


names = st.text(
    st.sampled_from([*"=+-@'\" ,;ab", "\t", "\r", "\n", "\uff1d"]) | st.characters(codec="utf-8"),
    min_size=1,
    max_size=6,
)


@given(st.lists(names, min_size=2, max_size=4, unique=True))
@settings(max_examples=3000, deadline=None)
def test_property_a_table_of_edges_gives_back_every_name(some: list[str]) -> None:
    graph = fp.PDAG.from_edges([(some[0], some[1])], names=some)
    assert from_csv(to_csv(graph)) == graph
    rows = list(csv.reader(io.StringIO(to_csv(graph), newline="")))[1:]
    assert not [cell for row in rows for cell in row[:2] if cell and cell[0] in STARTS]


def test_what_other_programs_wrote_is_read_as_before() -> None:
    assert from_csv("from,to,type\n=a,-b,->\n").names == ("=a", "-b")


def test_a_saved_result_holds_no_formula(tmp_path: Path) -> None:
    result = fp.IPERI().fit(tables(["=1+1", "@x", "-y"]))
    place = result.save(tmp_path)
    rows = list(csv.reader(io.StringIO((place / "graph.csv").read_text())))[1:]
    assert not [cell for row in rows for cell in row[:2] if cell and cell[0] in STARTS]
    assert from_csv((place / "graph.csv").read_text()) == result.graph == fp.load(place).graph
