"""Tables that stay in a database: the same summary as from a file, no row fetched, no secret shown, nothing written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.command import fedperi_here
from helpers.databases import in_duckdb, in_postgresql, postgresql_server
from helpers.refusals import refusal

from fedperi import IPERI, MPERI, FedCDH, simulate
from fedperi.tables import check, open_table
from fedperi.tables.databases.address import parse_url
from fedperi.tables.databases.connection import Connection
from fedperi.tables.databases.looks import INTERVALS
from fedperi.tables.preparing.preparation import Preparation
from fedperi.tables.readers.private import read_cells
from fedperi.tables.schema import Column, Schema
from fedperi.tables.summary.summaries import summaries
from fedperi.tables.summary.summary import Summary

pytest.importorskip("ibis", reason="databases need the extra 'sql'")
PASSWORD = "tr0ub4dor&3"
DIFFERENT = 25  # different values of a column of whole numbers, which are counted; each table has 400 rows
Addresses = dict[str, str]


def frame(seed: int, rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.normal(60, 10, rows)
    table = pd.DataFrame(
        {
            "age": age,
            "far": 1e8 + rng.normal(size=rows),  # digits are lost here if sums are subtracted
            "ward": rng.integers(0, 4, rows),
            "visits": rng.poisson(20, rows),
            "sex": np.where(rng.random(rows) < 0.5, "f", "m"),
            "smoker": rng.random(rows) < 0.3,
            "dose": 0.1 * age + rng.normal(size=rows),
        }
    )
    table.loc[[3, 5], "dose"] = np.nan
    table.loc[7, "sex"] = None
    return table


TABLES = {"north": frame(1), "south": frame(2)}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    for uri in postgresql_server():
        in_postgresql(uri, TABLES)
        yield uri


@pytest.fixture(params=["duckdb", pytest.param("postgresql", marks=pytest.mark.database)])
def addresses(request: pytest.FixtureRequest, tmp_path: Path) -> Addresses:
    if request.param == "duckdb":
        return in_duckdb(tmp_path / "clinic.db", TABLES)
    uri = request.getfixturevalue("server")
    return {name: f"{uri}&table={name}" for name in TABLES}


def assert_alike(found: list[Summary], expected: list[Summary]) -> None:
    for one, two in zip(found, expected, strict=True):
        assert (one.n, one.names, one.kinds, one.schema) == (two.n, two.names, two.kinds, two.schema)
        assert one.dropped == two.dropped
        scale = np.sqrt(np.diag(two.covariance))
        np.testing.assert_allclose((one.mean - two.mean) / scale, 0, atol=1e-9)
        np.testing.assert_allclose((one.covariance - two.covariance) / np.outer(scale, scale), 0, atol=1e-9)


@pytest.mark.parametrize("data", ["auto", "nonlinear"])
def test_a_database_gives_the_summary_of_a_file_to_nine_digits(data: Any, addresses: Addresses) -> None:
    assert_alike(summaries(addresses, data=data, missing="drop"), summaries(TABLES, data=data, missing="drop"))


def test_the_check_says_the_same_as_for_a_file(addresses: Addresses) -> None:
    def said(sources: Any, missing: Any) -> set[str]:
        return {str(finding) for finding in check(sources, missing=missing).findings}

    assert said(addresses, "error") == said(TABLES, "error")
    assert said(addresses, "drop") == said(TABLES, "drop")
    twice = {"a": addresses["north"], "b": addresses["north"]}
    assert "sites 'a', 'b' hold the same rows" in " ".join(said(twice, "drop"))


def suspicious() -> dict[str, pd.DataFrame]:
    """Three sites with a mistake of nearly every kind, each in columns of its own."""
    tables = {}
    for seed, site in enumerate(("lyon", "metz", "nice")):
        rng = np.random.default_rng(seed)
        n = 400
        sbp = rng.normal(130, 12, n)
        table = pd.DataFrame(
            {
                "case": 2000 * seed + rng.permutation(2000)[:n],
                "seen": pd.Series(pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"))
                .dt.strftime("%Y%m%d")
                .astype(int),
                "chol": rng.normal(210, 30, n),
                "sbp": sbp,
                "dbp": rng.normal(70, 8, n),
                "pressure": sbp * 1.1 + rng.normal(0, 0.1, n),
                "weight": rng.normal(80, 11, n) * (2.2046 if site == "nice" else 1),
                "crp": rng.lognormal(1, 0.3, n),
                "glucose": rng.normal(80, 9, n),
                "ward": rng.integers(0, 3, n),
                "stage": rng.integers(1, 5, n).astype(float),
                "smoker": rng.choice(["yes", "no"], n),
                "note": [f"Patient {k} was seen with pain in the chest" for k in rng.integers(10**6, size=n)],
            }
        )
        tables[site] = table
    lyon, metz, nice = tables.values()
    lyon.loc[:59, "chol"] = 0.0
    nice.loc[:39, "dbp"] = 9999.0
    lyon.loc[5, "crp"] = 3e6  # alone it is wider than all others together
    metz.loc[:24, "glucose"] = 432.5
    lyon.loc[:29, "ward"] = 9
    metz.loc[:69, "smoker"] = "Yes"
    tables["nice"] = nice.rename(columns={"sbp": "glucose", "glucose": "sbp"})[list(nice)]
    tables["metz"] = pd.concat([metz, lyon.sample(60, random_state=3)], ignore_index=True)
    return tables


def in_engine(kind: str, tables: dict[str, pd.DataFrame], request: pytest.FixtureRequest, folder: Path) -> Addresses:
    if kind == "duckdb":
        return in_duckdb(folder / "others.db", tables)
    uri = request.getfixturevalue("server")
    in_postgresql(uri, tables)
    return {name: f"{uri}&table={name}" for name in tables}


ENGINES = ["duckdb", pytest.param("postgresql", marks=pytest.mark.database)]


@pytest.mark.parametrize("kind", ENGINES)
def test_the_checks_find_in_a_database_what_they_find_in_files(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    tables = suspicious()
    expected = check(tables).findings
    problems = {one.problem for one in expected}
    assert problems >= {"sentinel", "impossible", "identifier", "date", "unit", "swapped", "shared", "spelling"}
    assert problems >= {"text", "determined", "codes"}
    found = check(in_engine(kind, tables, request, tmp_path)).findings
    assert sorted(map(str, found)) == sorted(map(str, expected))


@pytest.mark.parametrize("kind", ENGINES)
def test_a_schema_changes_cells_in_a_database_as_in_files(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    words = ["M", "male", "F", "unknown"]
    tables = {}
    for seed, site in enumerate(("lyon", "metz")):
        rng = np.random.default_rng(seed)
        tables[site] = pd.DataFrame(
            {
                "chol": np.where(rng.random(300) < 0.1, 0.0, rng.normal(200, 30, 300)),
                "visits": np.where(rng.random(300) < 0.1, -9, rng.poisson(20, 300)),
                "weight": rng.normal(80, 10, 300) * (2.2046 if site == "metz" else 1),
                "sex": rng.choice(words, 300),
                "arm": rng.choice(["1", "1.0", "b"], 300),
                "grade": rng.integers(0, 4, 300),
                "smoker": rng.random(300) < 0.4,
            }
        )
    changes = (
        Preparation("chol", missing_values=[0]),
        Preparation("visits", missing_values=[-9]),
        Preparation("weight", scale={"metz": 0.45}),
        Preparation("sex", missing_values=["unknown"], rename={"male": "M"}),
        Preparation("arm", rename={"1": "a"}),
        Preparation("grade", rename={"3": "2"}),
        Preparation("smoker", rename={"True": "yes"}),
    )
    schema = Schema((), changes)
    addresses = in_engine(kind, tables, request, tmp_path)
    assert_alike(summaries(addresses, schema, missing="em"), summaries(tables, schema, missing="em"))
    for missing in ("drop", "auto"):
        report, expected = (check(one, schema, missing=missing) for one in (addresses, tables))
        assert sorted(map(str, report.findings)) == sorted(map(str, expected.findings))
        assert [site.incomplete for site in report.sites] == [site.incomplete for site in expected.sites]


def test_cells_of_decimal_numbers_are_not_renamed_in_a_database(tmp_path: Path) -> None:
    urls = in_duckdb(tmp_path / "clinic.db", {"north": pd.DataFrame({"a": [1.5, 2.5], "b": ["u", "v"]})})
    words = refusal(lambda: summaries(urls, Schema((), (Preparation("a", rename={"1.5": "x"}),))))
    assert "site 'north', column 'a': rename is for text and whole numbers" in words
    words = refusal(lambda: summaries(urls, Schema((), (Preparation("b", scale={"north": 2}),))))
    assert "site 'north', column 'b': scale is for numbers, and this column holds text" in words


def test_methods_that_need_moments_give_the_same_graph(addresses: Addresses) -> None:
    schema = Schema((Column("ward", "continuous"),))
    for method in (MPERI(missing="drop", schema=schema), IPERI(missing="drop", schema=schema)):
        assert method.fit(addresses).graph == method.fit(TABLES).graph


def test_no_row_is_fetched(addresses: Addresses, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []
    ask = Connection.ask

    def spy(self: Connection, question: Any, most: int = 1) -> list[dict[str, Any]]:
        answer = ask(self, question, most)
        asked.append((str(self._backend.compile(question)), len(answer)))
        return answer

    monkeypatch.setattr(Connection, "ask", spy)
    for fetch in ("execute", "to_pandas", "to_pyarrow_batches", "to_polars"):  # other ways of Ibis to rows
        monkeypatch.setattr(f"ibis.expr.types.Table.{fetch}", _forbidden)
    MPERI(missing="drop").fit(addresses)
    check(addresses, missing="drop")
    assert len(asked) > 5
    for question, rows in asked:
        assert any(word in question for word in ("COUNT(", "SUM(", "AVG("))
        most = INTERVALS + 2 if "FLOOR(" in question else DIFFERENT  # the check counts numbers in intervals
        assert rows == 1 or ("GROUP BY" in question and rows <= most)


def _forbidden(*_: object, **__: object) -> None:
    raise AssertionError("rows were fetched")


@pytest.mark.database
def test_the_server_returns_few_rows_and_its_tables_stay_as_they_are(
    server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import psycopg

    fetched: list[int] = []
    fetchmany = psycopg.ServerCursor.fetchmany

    def spy(self: Any, size: int = 0) -> list[Any]:
        rows = fetchmany(self, size)
        fetched.append(len(rows))
        return rows

    monkeypatch.setattr(psycopg.ServerCursor, "fetchmany", spy)
    summaries({name: f"{server}&table={name}" for name in TABLES}, missing="drop")
    assert fetched
    assert max(fetched) <= DIFFERENT
    with psycopg.connect(server, autocommit=True) as database:
        database.execute("CREATE SEQUENCE IF NOT EXISTS counter")
    file = tmp_path / "lyon.sql"
    file.write_text(f"-- connection: {server}\nSELECT nextval('counter') AS a, age FROM north")
    assert "refused a question (ReadOnlySqlTransaction)" in refusal(lambda: summaries([file]))


def test_a_query_in_a_file_is_a_table(addresses: Addresses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = addresses["north"].replace("&table=north", "").replace("?table=north", "")
    monkeypatch.setenv("CLINIC", url)
    query = "SELECT age, dose * 2 AS twice, sex FROM north WHERE dose IS NOT NULL AND sex IS NOT NULL"
    for first in (f"-- connection: {url}", "--connection: $CLINIC"):
        (tmp_path / "lyon.sql").write_text(f"{first}\n{query};\n")
        table = open_table(tmp_path / "lyon.sql")
        assert (table.name, table.columns) == ("lyon", ("age", "twice", "sex"))
        north = TABLES["north"].dropna()
        plain = north.assign(twice=north["dose"] * 2)[["age", "twice", "sex"]]
        assert_alike([Summary.of(table)], [Summary.of(plain)])


QUERIES = {
    "SELECT 1": "the first line must name the database",
    "-- connection: duckdb://\nDELETE FROM north": "there must be one SELECT, and nothing else",
    "-- connection: duckdb://\nSELECT 1; SELECT 2": "there must be one SELECT, and nothing else",
    "-- connection: $NO_SUCH_NAME\nSELECT 1": "there is no variable 'NO_SUCH_NAME' in the environment",
    "-- connection: north.db\nSELECT 1": "is not an address such as",
    "-- connection: duckdb://\nSELECT a FROM nowhere": "does not let us see the table (CatalogException)",
}


@pytest.mark.parametrize("text", QUERIES)
def test_other_queries_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "lyon.sql").write_text(text)
    assert QUERIES[text] in refusal(lambda: open_table(tmp_path / "lyon.sql"))


ROWS: dict[str, Callable[[Any], object]] = {
    "a baseline": lambda sources: FedCDH(missing="drop").fit(sources),
    "counts of categories": lambda sources: IPERI(data="discrete", missing="drop").fit(sources),
    "a bootstrap": lambda sources: IPERI(data="linear", missing="drop", bootstrap=3).fit(sources),
}


@pytest.mark.parametrize("case", ROWS)
def test_what_needs_rows_is_refused(case: str, tmp_path: Path) -> None:
    kept = ["sex", "smoker"] if "counts" in case else ["age", "far", "dose"]
    some = in_duckdb(tmp_path / "clinic.db", {name: table[kept] for name, table in TABLES.items()})
    words = refusal(lambda: ROWS[case](some))
    assert "is a table of a database, and no row of it is fetched" in words


def test_noise_is_refused_and_exact_statistics_can_be_released(tmp_path: Path) -> None:
    url = in_duckdb(tmp_path / "clinic.db", {"north": TABLES["north"][["age", "dose"]].dropna()})["north"]
    schema = Schema((Column("age", "continuous", bounds=(0, 120)),))
    words = refusal(lambda: next(read_cells(open_table(url), schema, "linear")))
    assert "with noise a table is read cell by cell; export it as Parquet or CSV" in words
    out = tmp_path / "north.fedperi"
    done = fedperi_here("release", url, "--exact", "--yes", "--out", out)
    assert done.returncode == 0, done.stderr
    assert Summary.load(out).n == 398


@pytest.mark.database
def test_secrets_are_shown_nowhere(server: str, tmp_path: Path) -> None:
    from urllib.parse import quote

    names = ["lyon", "metz", "nice"]
    sites = simulate(3, clients=3, samples=200, intervention="shift", seed=1).sites
    in_postgresql(server, dict(zip(names, sites, strict=True)))
    secret = server.replace("postgres:@", f"postgres:{quote(PASSWORD)}@")
    assert PASSWORD in parse_url(f"{secret}&table=north").secrets
    urls = [f"{secret}&table={name}" for name in names]
    done = [
        fedperi_here("run", *urls, "--out", tmp_path / "results"),
        fedperi_here("check", *urls),
        fedperi_here("check", *urls, "--json"),
        fedperi_here("run", *urls, "--dry-run"),
        fedperi_here("run", *urls, "--site-keys", tmp_path, "--dry-run"),
        fedperi_here("run", *urls, "--method", "fedcdh", "--dry-run"),
        fedperi_here("check", f"{secret}&table=nowhere", f"{secret}&tables=north"),
        fedperi_here("check", f"postgresql://ann:{quote(PASSWORD)}@127.0.0.1:1/clinic?table=visits"),
        fedperi_here("check", f"nosuch://ann:{quote(PASSWORD)}@host/clinic?table=visits"),
        fedperi_here("release", urls[0], "--exact", "--yes", "--out", tmp_path / "north.fedperi"),
    ]
    assert [one.returncode for one in done][:4] == [0, 0, 0, 0], done[0].stderr
    written = [path.read_bytes().decode("utf-8", "replace") for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    for text in [*written, *(one.stdout + one.stderr for one in done)]:
        assert PASSWORD not in text
        assert quote(PASSWORD) not in text


def test_types_of_a_database_are_taken_as_those_of_a_file(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "clinic.db"
    with duckdb.connect(path) as database:
        columns = "price DECIMAL(8, 2), nothing DOUBLE, word TEXT, day DATE, code DECIMAL(4, 0)"
        database.execute(f"CREATE TABLE t ({columns})")
        rows = [(Decimal("1.5"), float("nan"), " u ", "2020-01-01", 1), (Decimal("2.5"), None, " ", None, 2)] * 20
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
    report = check([f"duckdb://{path}?table=t"])
    said = " ".join(map(str, report.findings))
    assert "column 'nothing': all values are missing" in said
    assert "column 'day': values of type date are neither numbers nor categories" in said
    assert "column 'word': 50.0 % of the values are missing (20 of 40)" in said
    assert [report.schema[name].kind for name in ("price", "code")] == ["continuous", "categorical"]


def test_progress_names_the_table_that_is_read(tmp_path: Path) -> None:
    told: list[str] = []
    urls = in_duckdb(tmp_path / "clinic.db", {"north": TABLES["north"][["age", "far"]]})
    check(urls, tell=told.append)
    questions = ("counts and ranges", "repeated rows", "quartiles and edges")
    where = urls["north"]
    assert told[:4] == ["opening north (1 of 1)", *(f"asking {where} for {what} (1 of 1)" for what in questions)]
    assert all(words.startswith(f"asking {where} for moments") for words in told[4:])


def test_the_first_word_comes_before_the_first_question() -> None:
    told: list[str] = []
    report = check(["duckdb:///no/clinic.db?table=visits"], tell=told.append)
    assert not report.ok and told == ["opening visits (1 of 1)"]


def test_addresses_that_are_wrong_are_refused_with_the_remedy(tmp_path: Path) -> None:
    assert "names no table; add it" in refusal(lambda: open_table("duckdb:///clinic.db"))
    words = refusal(lambda: open_table("duckdb:///no/clinic.db?table=visits"))
    assert "there is no file '/no/clinic.db' or 'no/clinic.db'; check the path" in words
    url = in_duckdb(tmp_path / "clinic.db", {"north": TABLES["north"]})["north"]
    assert "does not let us see the table" in refusal(lambda: open_table(url.replace("north", "nowhere")))
    assert "cannot be reached" in refusal(lambda: open_table("nosuch://host/clinic?table=visits"))


def test_ibis_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "ibis", None)
    words = refusal(lambda: open_table("duckdb:///clinic.db?table=visits"))
    assert "pip install 'ibis-framework[duckdb,postgres]' (the extra 'sql' brings it)" in words


def test_a_part_of_ibis_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyspark", None)
    words = refusal(lambda: open_table("pyspark://?table=visits"))
    assert words == (
        "'pyspark://?table=visits' needs a part of Ibis that is not installed; pip install 'ibis-framework[pyspark]'"
    )


def test_what_an_engine_says_shows_no_user_and_no_key() -> None:
    address = parse_url("pyspark://ann:pw@host/x?table=t&spark.hadoop.fs.s3a.secret.key=AKIA77")
    assert address.hidden('user "ann" of annex: AKIA77') == 'user "***" of annex: ***'


def test_gaps_are_filled_in_by_the_same_estimate(addresses: Addresses) -> None:
    """EM from the engine's sums per pattern of gaps is EM from the rows."""
    files = summaries([open_table(table, name) for name, table in TABLES.items()], missing="em")
    assert_alike(summaries([open_table(url, name) for name, url in addresses.items()], missing="em"), files)
    assert all(summary.gaps is not None for summary in files)
