"""The pre-flight check: every finding, collected over all sites, and how it is shown."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from fedperi import MPERI, InputError
from fedperi.scores import regression
from fedperi.tables import Column, Schema, check, summarize
from fedperi.tables.checks import collinear
from fedperi.tables.checks.collinear import dependences
from fedperi.tables.checks.faults import CONSTANT, MISSING
from fedperi.tables.checks.findings import percent
from fedperi.tables.preparing.opening import Opening
from fedperi.tables.summary.summaries import summaries


def site(n: Any = 300, seed: Any = 0) -> Any:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    return pd.DataFrame({"a": a, "b": a + b, "g": rng.choice(["u", "v", "w"], n), "t": rng.random(n) < 0.4})


def findings(sources: Any, level: Any = None, **options: Any) -> Any:
    return [str(found) for found in check(sources, **options).findings if level in (None, found.level)]


def shown(report: Any, width: Any = 100) -> Any:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(report.to_rich())
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_sound_tables_have_no_findings() -> None:
    report = check({"north": site(), "south": site(seed=1)})
    assert report.ok
    assert report.findings == ()
    assert [(s.name, s.rows, s.incomplete, s.columns) for s in report.sites] == [
        ("north", 300, 0, 4),
        ("south", 300, 0, 4),
    ]
    assert [column.kind for column in report.schema.columns] == ["continuous"] * 2 + ["categorical"] * 2


def test_everything_is_collected_not_only_the_first() -> None:
    north = site().assign(a=1.5)
    south = site(seed=1)
    south.loc[:2, "b"] = np.nan
    south.loc[4, "a"] = np.inf
    tables = {"north": north, "south": south, "east": "no/such.csv", "west": site(seed=2).drop(columns="t")}
    report = check(tables, strict=True)
    assert not report.ok
    assert [str(found) for found in report.findings if found.level == "error"] == [
        "site 'east': 'no/such.csv' does not exist; check the path",
        "column 't': present at 'north', 'south' but not at 'west'; give all sites the same columns",
        f"site 'north', column 'a': all values are the same (1.5); {CONSTANT}",
        "site 'south', column 'b': 1.0 % of the values are missing (3 of 300); "
        "fill them, drop the column, leave incomplete rows out (missing=drop), or use M-PERI with missing=auto",
        "site 'south', column 'a': 1 infinite value; correct them, or mark them as missing",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\x00\x01", "is a binary file, not a table"),
        (b"x,x,x\n1,2,3\n2,3,4\n", "3 columns are named 'x'"),
        (b"a,b\n" + b"1,2\n" * 150 + b"1,2,3\n", "cannot be read as a table: Expected 2 fields in line 152, saw 3"),
    ],
)
def test_what_cannot_be_read_is_a_finding(tmp_path: Path, content: Any, message: str) -> None:
    path = tmp_path / "north.csv"
    path.write_bytes(content)
    (found,) = check([path]).findings
    assert (found.level, found.site) == ("error", "north")
    assert message in found.message
    assert found.remedy


def test_missing_values_may_be_dropped() -> None:
    frame = site()
    frame.loc[:29, "b"] = np.nan
    assert not check([frame]).ok
    assert findings([frame], missing="drop") == [
        "site 'site 1', column 'b': 10.0 % of the rows lack a value and are dropped (30 of 300); "
        "fine if values are missing at random"
    ]
    assert check([frame], missing="drop").sites[0].incomplete == 30


def test_levels_missing_at_a_site_and_rare_levels() -> None:
    north, south = site(), site(seed=1)
    south = south[south["g"] != "w"]
    north.loc[:1, "g"] = "x"
    south.loc[south.index[0], "g"] = "x"
    assert findings({"north": north, "south": south}) == [
        "column 'g': levels that do not occur: 'w' at 'south'; "
        "fine if they are rare; otherwise check that all sites use the same codes",
        "column 'g': levels with fewer than 5 rows: 'north' 'x' (2); 'south' 'x' (1); "
        "merge rare levels with rename in the schema",
    ]


def test_counts_of_which_no_site_has_all_are_accepted_where_chance_explains_it() -> None:
    rng = np.random.default_rng(5)
    frames = {name: site(seed=at).assign(visits=rng.poisson(1.5, 300)) for at, name in enumerate(("north", "south"))}
    frames["north"] = frames["north"][frames["north"].visits != 5]
    frames["south"] = frames["south"][frames["south"].visits != 6]
    frames["north"].loc[frames["north"].index[0], "visits"] = 6
    frames["south"].loc[frames["south"].index[0], "visits"] = 5
    assert not findings(frames, "error")
    frames["north"] = frames["north"][frames["north"].visits != 2]  # a quarter of the rows
    (error,) = findings(frames, "error")
    assert error.startswith("column 'visits': levels differ")


def test_levels_that_differ_are_errors() -> None:
    (error,) = findings({"north": site(), "south": site(seed=1).assign(g=["p", "q"] * 150)}, "error")
    assert error.startswith(
        "column 'g': levels differ: 'u', 'v', 'w' at 'north'; 'p', 'q' at 'south'; use the same codes"
    )


def test_collinear_pairs_and_sets_are_named() -> None:
    frame = site()
    noise, more = np.random.default_rng(5).normal(size=(2, 300))
    frame = frame.assign(c=noise, twice=2 * frame["a"] + 1, near=frame["b"] + 0.01 * more, total=noise - frame["t"])
    found = {str(f) for f in check({"north": frame}).findings}
    assert found == {
        "site 'north', columns 'a', 'twice': one determines the other exactly; leave one of them out: --exclude twice",
        "site 'north', columns 'b', 'near': one nearly determines the other (correlation 0.99998); "
        "leave one of them out: --exclude near; if the values are right, use --accept b,near",
        "site 'north', columns 't', 'c', 'total': one of them is exactly determined by the others; "
        "leave one of them out: --exclude total",
    }
    levels = {f.columns: f.level for f in check({"north": frame}).findings}
    assert levels == {("a", "twice"): "error", ("b", "near"): "error", ("t", "c", "total"): "error"}


def test_an_exact_dependence_is_not_hidden_by_a_near_one() -> None:
    a, b, c = np.random.default_rng(6).normal(size=(3, 300))
    near = a + 0.01 * b
    assert findings([pd.DataFrame({"a": a, "b": b, "near": near, "c": c})], "error") == [
        "site 'site 1', columns 'a', 'b', 'near': one of them is exactly determined by the others; "
        "leave one of them out: --exclude near"
    ]
    found = check([pd.DataFrame({"a": a, "near": near, "twice": 2 * near, "c": c})]).findings
    assert [(f.level, f.columns) for f in found] == [("error", ("near", "twice")), ("error", ("a", "near"))]


def test_three_copies_are_two_findings() -> None:
    a, b = np.random.default_rng(7).normal(size=(2, 300))
    found = check([pd.DataFrame({"a": a, "x": b, "y": 2 * b, "z": -b})]).findings
    assert [f.columns for f in found] == [("x", "y"), ("x", "z")]


def test_exact_pairs_are_found_in_few_rows() -> None:
    a, b, c, d = np.random.default_rng(8).normal(size=(4, 6))
    found = check([pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "twice": 2 * b})], missing="drop").findings
    assert [(f.level, f.columns) for f in found] == [("error", ("b", "twice")), ("warning", ())]


def test_check_and_scores_call_the_same_thing_exact() -> None:
    assert collinear.SINGULAR == regression.SINGULAR


def test_categories_that_determine_each_other_are_a_warning() -> None:
    frame = pd.DataFrame({"g": ["u", "v", "w", "u"] * 50, "h": ["x", "y", "z", "x"] * 50, "i": ["p", "q"] * 100})
    assert check([frame]).ok
    assert any("columns 'g', 'h'" in text for text in findings([frame], "warning"))


def test_dependences_of_a_duplicate_pair_name_both_only() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(500, 30)), columns=[f"x{i}" for i in range(30)]).assign(y=lambda f: f["x7"])
    (found,) = dependences(summarize(frame))
    assert found.names == ("x7", "y")
    assert dependences(summarize(frame.drop(columns="y"))) == []


def test_few_rows() -> None:
    assert findings([site(30)], "warning") == [
        "site 'site 1': 30 rows are few for 4 variables; 10 rows per variable are a usual minimum"
    ]
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 8)))
    assert findings([wide]) == [
        "site 'site 1': 5 rows are not more than the 8 variables: most edges would be found by chance; "
        "drop variables, or collect more rows"
    ]
    assert findings([site(1)[["a", "b"]]], "error") == [
        "site 'site 1': only 1 row; a site needs at least 2 (and many more to learn from)"
    ]


def test_a_column_that_is_constant_at_one_site_is_a_warning_and_everywhere_an_error() -> None:
    north = site().assign(a=1.5)
    (found,) = check({"north": north, "south": site(seed=1)}).findings
    assert (found.level, str(found)) == (
        "warning",
        "site 'north', column 'a': all values are the same (1.5); "
        "a policy of this site, or a mistake; --method iperi refuses it",
    )
    words = check({"north": site().assign(g="u"), "south": site(seed=1)}).findings
    assert [(one.level, one.columns) for one in words if "the same" in one.message] == [("warning", ("g",))]
    # Two values at two sites are two policies; one value everywhere is not a variable.
    assert check({"north": north, "south": site(seed=1).assign(a=2.5), "east": site(seed=2)}).ok
    everywhere = check({"north": north, "south": site(seed=1).assign(a=1.5)})
    assert [str(one) for one in everywhere.findings] == [
        "column 'a': all values are the same at every site; drop the column"
    ]
    assert findings({"north": north}, "error") == [
        f"site 'north', column 'a': all values are the same (1.5); {CONSTANT}"
    ]


def test_a_warning_about_levels_does_not_hide_a_column_that_is_constant_everywhere() -> None:
    north, south = site().assign(a=1.5), site(seed=1).assign(a=1.5)
    with pytest.raises(InputError, match="column 'a': all values are the same at every site; drop the column"):
        summaries({"north": north, "south": south[south["g"] != "w"]})


def test_columns_that_determine_each_other_at_one_site_only_are_a_warning() -> None:
    north, south = site().assign(a=lambda f: 2 * f["b"]), site(seed=1)
    (found,) = check({"north": north, "south": south}).findings
    assert (found.level, str(found)) == (
        "warning",
        "site 'north', columns 'a', 'b': one determines the other exactly; "
        "leave one of them out: --exclude b; --method iperi refuses it",
    )
    assert not check({"north": north, "south": south}, strict=True).ok
    # In the same way at all sites: no method can tell the two apart. In two ways: they can be told apart.
    alike = check({"north": north, "south": south.assign(a=lambda f: 2 * f["b"])})
    assert [str(one) for one in alike.findings] == [
        "columns 'a', 'b': one determines the other exactly at all sites together; leave one of them out: --exclude b"
    ]
    assert check({"north": north, "south": south.assign(a=lambda f: 3 * f["b"])}).ok


def test_few_rows_at_one_site_only_are_a_warning() -> None:
    small = {"north": site(3), "south": site(seed=1)}
    found = next(one for one in check(small).findings if "not more than" in one.message)
    assert (found.level, found.remedy) == (
        "warning",
        "drop variables, or collect more rows; --method iperi refuses it",
    )
    assert not check(small, strict=True).ok
    wide = {name: pd.DataFrame(np.random.default_rng(0).normal(size=(3, 8))) + name for name in (1, 2)}
    assert findings({str(name): frame for name, frame in wide.items()}, "error") == [
        "6 rows at all sites together are not more than the 8 variables; drop variables, or collect more rows"
    ]


@pytest.mark.parametrize("change", ["constant", "determined", "few", "all constant", "all determined"])
def test_check_accepts_what_m_peri_accepts(change: str) -> None:
    tables = {"north": site(), "south": site(seed=1), "east": site(seed=2)}
    north = tables["north"]
    tables["north"] = {
        "constant": north.assign(a=1.5),
        "determined": north.assign(a=2 * north["b"]),
        "few": north.iloc[:3],
    }.get(change, north)
    if change == "all constant":
        tables = {name: frame.assign(a=1.5) for name, frame in tables.items()}
    if change == "all determined":
        tables = {name: frame.assign(a=2 * frame["b"]) for name, frame in tables.items()}
    try:
        MPERI().fit(tables)
        works = True
    except InputError:
        works = False
    assert works == (not change.startswith("all"))
    assert check(tables).ok == works


def test_repeated_rows() -> None:
    frame = pd.concat([site(300), site(300).iloc[:100]])
    assert findings([frame]) == [
        "site 'site 1': 25.0 % of the rows repeat an earlier row; drop the copies, unless rows may be equal by chance"
    ]
    assert findings([pd.DataFrame({"g": ["u", "v"] * 50, "h": ["x", "x", "y", "y"] * 25})]) == []


def test_the_same_rows_at_two_sites(tmp_path: Path) -> None:
    site().to_csv(tmp_path / "north.csv", index=False)
    site().iloc[::-1][["t", "g", "b", "a"]].to_csv(tmp_path / "south.csv", index=False)
    warning = "sites 'north', 'south' hold the same rows; give every site's table once, or its rows count twice"
    assert findings([tmp_path / "north.csv", tmp_path / "south.csv"]) == [warning]
    twice = check([tmp_path / "north.csv", tmp_path / "north.csv"])
    assert [str(found) for found in twice.findings] == [
        "site 'north': 2 sites have this name; rename the files, or give each site its own name",
        "sites 'north', 'north (2)' hold the same rows; give every site's table once, or its rows count twice",
    ]


def test_codes_and_dialects_are_noted(tmp_path: Path) -> None:
    frame = site().assign(k=np.arange(300) % 4)
    frame.to_csv(tmp_path / "north.csv", index=False, sep=";")
    assert findings([tmp_path / "north.csv"]) == [
        "site 'north': columns are separated by a semicolon",
        "column 'k': few different whole numbers, taken as categories; "
        'if they are amounts, declare kind = "continuous" in the schema',
    ]
    declared = Schema((Column("k", "continuous", bounds=(0, 2)),))
    assert findings([frame], schema=declared) == [
        "site 'site 1', column 'k': values from 0 to 3 exceed the declared bounds (0.0, 2.0); "
        "they will be clipped where bounds are used"
    ]


def test_a_schema_file_is_obeyed(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    Schema((Column("g", "categorical", ("u", "v")),)).to_file(path)
    (error,) = findings([site()], "error", schema=path)
    assert error == (
        "site 'site 1', column 'g': values 'w' are not among the declared levels; "
        "the levels are 'u', 'v'; correct the values or the schema"
    )


def test_what_passes_the_check_can_be_summarized() -> None:
    sources = {"north": site(), "south": site(seed=1)}
    report = check(sources)
    assert report.ok
    for name, frame in sources.items():
        assert np.isfinite(summarize(frame, report.schema, name=name).correlation).all()


def test_nothing_to_check_is_refused() -> None:
    with pytest.raises(InputError, match="there are no tables to check; give at least one"):
        check([])


def test_the_report_is_plain_values_and_readable_text() -> None:
    frame = site().assign(a=1.5)
    frame.loc[:2, "b"] = np.nan
    report = check({"[red]north": frame, "south": site(seed=1)}, strict=True)
    content = json.loads(json.dumps(report.to_dict()))
    assert content["ok"] is False
    assert content["findings"][0] == {
        "level": "error",
        "site": "[red]north",
        "columns": ["b"],
        "message": "1.0 % of the values are missing (3 of 300)",
        "remedy": MISSING,
    }
    assert content["columns"][2] == {"name": "g", "kind": "categorical", "levels": ["u", "v", "w"], "bounds": None}
    text = shown(report)
    assert max(map(len, text.splitlines())) <= 100
    for part in ("[red]north", "3 (1.0 %)", "2 errors", "all values are the same (1.5)", "2 errors: a run would fail."):
        assert part in text
    assert "No errors: a run would start." in shown(check([site()]))
    assert "a run would fail" in shown(check(["no/such.csv"]))


def test_shares_never_round_to_nothing() -> None:
    assert [percent(0, 9), percent(1, 9999), percent(1, 3), percent(9998, 9999), percent(9, 9)] == [
        "0 %",
        "less than 0.1 %",
        "33.3 %",
        "more than 99.9 %",
        "100 %",
    ]


def test_text_among_numbers_is_named_where_it_is_and_its_share_only_if_it_is_known() -> None:
    """Of a column with more than a hundred values only some are counted."""
    rng = np.random.default_rng(3)
    values = pd.Series(rng.normal(5, 2, 400).round(2)).astype(object)
    values[::10] = "<0.6"
    tables = {"north": site(400, 1).assign(crp=rng.normal(5, 2, 400)), "south": site(400, 2).assign(crp=values)}
    assert findings(tables, "error") == [
        "site 'south', column 'crp': numbers, but also text; numbers only at 'north'; if it means "
        "missing, declare it as missing_values in the schema; or make it a number"
    ]


def test_a_column_that_is_empty_everywhere_is_left_out_without_advice_to_leave_out_all_sites() -> None:
    tables = {name: site(seed=seed).assign(note=None) for seed, name in enumerate(("north", "south", "west"))}
    assert findings(tables, "warning", missing="auto") == [
        "column 'note': missing in 100 % of the rows at 'north', 100 % at 'south', 100 % at 'west'; "
        "the column is left out"
    ]


def test_a_sorted_identifier_is_an_identifier_and_no_column_that_was_sorted_by_itself() -> None:
    tables = {name: site(400, seed) for seed, name in enumerate(("north", "south", "west"))}
    for at, table in enumerate(tables.values()):
        number = 1000 * at + np.arange(400.0)
        table["patient_id"] = number if at == 0 else number + 300 * table["a"].round(2)
    said = findings(tables)
    assert any("its name suggests that it identifies" in one for one in said)
    assert not any("was sorted by itself" in one for one in said)
    renamed = {name: table.rename(columns={"patient_id": "dose"}) for name, table in tables.items()}
    assert any("was sorted by itself" in one for one in findings(renamed))


def test_an_encoding_that_is_given_does_not_spoil_files_that_show_theirs(tmp_path: Path) -> None:
    tables = {"nantes": "cp1252", "rennes": "utf-16", "tours": "utf-8", "metz": "utf-8-sig"}
    for seed, (name, encoding) in enumerate(tables.items()):
        site(seed=seed).rename(columns={"a": "âge"}).to_csv(tmp_path / f"{name}.csv", index=False, encoding=encoding)
    files = [str(tmp_path / f"{name}.csv") for name in tables]
    report = check(files, how=Opening(encoding="cp1252"))
    assert report.ok, report.findings
    assert "âge" in report.schema.names
