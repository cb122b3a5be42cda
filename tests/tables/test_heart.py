"""Four hospitals as they were published: gaps, a code for missing, columns that three of them lack; in every format."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.databases import in_duckdb, in_postgresql, postgresql_server

import fedperi as fp
from fedperi.tables import Schema, check

HEART = Path(__file__).parents[1] / "data" / "heart"
SITES = ("cleveland", "hungarian", "switzerland", "va")


def tables() -> dict[str, pd.DataFrame]:
    return {site: pd.read_csv(HEART / f"{site}.csv") for site in SITES}


@pytest.fixture(scope="module")
def published() -> fp.Result:
    return fp.MPERI().fit([HEART / f"{site}.csv" for site in SITES])


def test_the_files_as_published_give_a_careful_graph(published: fp.Result) -> None:
    assert published.sites == SITES
    assert not any(head in ("age", "sex") for _, head in published.graph.directed)
    said = " ".join(published.warnings)
    assert all(f"'{name}': missing in" in said for name in ("ca", "thal", "slope"))
    assert "estimated from incomplete rows by EM" in said


def test_a_difference_says_which_causes_have_an_open_edge(published: fp.Result) -> None:
    told = [one for one in published.differences if one.parents]
    doubtful = [one for one in told if {*one.parents} & {*published.graph.neighbors(one.variable)}]
    assert doubtful
    for one in told:
        open_ones = [name for name in one.parents if name in published.graph.neighbors(one.variable)]
        assert one.words.endswith(" of it is open.") == bool(open_ones)
        assert all(name in one.words.partition("; whether ")[2] for name in open_ones)


def test_the_code_for_missing_cholesterol_is_named() -> None:
    report = check([HEART / f"{site}.csv" for site in SITES], strict=False, missing="auto")
    (found,) = [finding for finding in report.findings if finding.problem == "sentinel"]
    assert found.columns == ("chol",) and "123 of 123" in str(found) and "missing_values = [0]" in str(found)


@pytest.fixture(scope="module")
def checked() -> fp.Result:
    """What `fedperi run` gives: the check comes first."""
    report = check([HEART / f"{site}.csv" for site in SITES], missing="auto")
    assert report.ok
    return fp.MPERI().fit(list(report.tables))


def test_a_run_does_not_take_cholesterol_that_was_not_measured_for_a_policy(checked: fp.Result) -> None:
    assert checked.sites == ("cleveland", "hungarian", "va")  # all of it is missing at the fourth, and most of another
    assert any("'switzerland'" in said and "'chol'" in said and "site is left out" in said for said in checked.warnings)
    assert not any(head in ("age", "sex") for _, head in checked.graph.directed)


def parquet(folder: Path) -> list[Any]:
    for site, table in tables().items():
        table.to_parquet(folder / f"{site}.parquet")
    return [folder / f"{site}.parquet" for site in SITES]


def excel(folder: Path) -> list[Any]:
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(folder / "heart.xlsx") as book:
        for site, table in tables().items():
            table.to_excel(book, sheet_name=site, index=False)
    return [f"{folder / 'heart.xlsx'}?sheet={site}" for site in SITES]


def duckdb(folder: Path) -> list[Any]:
    pytest.importorskip("ibis")
    return list(in_duckdb(folder / "heart.db", tables()).values())


@pytest.mark.parametrize("form", [parquet, excel, duckdb])
def test_other_forms_of_the_tables_give_the_same_graph(
    form: Any, published: fp.Result, checked: fp.Result, tmp_path: Path
) -> None:
    given = dict(zip(SITES, form(tmp_path), strict=True))
    assert fp.MPERI().fit(given).graph == published.graph
    assert fp.MPERI().fit(list(check(given, missing="auto").tables)).graph == checked.graph


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    for uri in postgresql_server():
        in_postgresql(uri, tables())
        yield uri


@pytest.mark.database
def test_a_server_gives_the_same_graph(server: str, published: fp.Result, checked: fp.Result) -> None:
    pytest.importorskip("ibis")
    mark = "&" if "?" in server else "?"
    given = {site: f"{server}{mark}table={site}" for site in SITES}
    assert fp.MPERI().fit(given).graph == published.graph
    assert fp.MPERI().fit(list(check(given, missing="auto").tables)).graph == checked.graph


def test_the_schema_that_init_writes_says_what_a_run_does(checked: fp.Result, tmp_path: Path) -> None:
    from fedperi.cli import app

    app(["init", *(str(HEART / f"{site}.csv") for site in SITES), "--out", str(tmp_path)], standalone_mode=False)
    schema = Schema.from_file(tmp_path / "schema.toml")
    ignored = {one.name for one in schema.preparations if one.ignore}
    assert ignored == {"ca", "thal", "slope"}
    assert [one.missing_values for one in schema.preparations if one.name == "chol"] == [("0",)]
    report = check([HEART / f"{site}.csv" for site in SITES], schema, missing="auto")
    assert not [one for one in report.findings if one.problem == "sentinel"]
    assert fp.MPERI(schema=schema).fit(list(report.tables)).graph == checked.graph
