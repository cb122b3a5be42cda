"""Files of other programs: the same table gives the same summary, and what is wrong is said in one sentence."""

from __future__ import annotations

import base64
import bz2
import gzip
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as arrow
import pyreadstat
import pytest
from helpers.command import fedperi_here
from helpers.refusals import refusal

from fedperi import MPERI, simulate
from fedperi.tables import check, open_table, open_tables
from fedperi.tables.readers.private import read_cells
from fedperi.tables.schema import Column, Schema
from fedperi.tables.summary.summaries import summaries

SECRET = "Marie Dupont"  # the content of a cell: it must never be shown


def frame(seed: int = 1, rows: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.normal(60, 10, rows).round(2)
    visits = rng.poisson(4, rows)
    return pd.DataFrame(
        {
            "age": age,
            "visits": visits,
            "dose": (0.1 * age + visits + rng.normal(size=rows)).round(4),
            "sex": np.where(rng.random(rows) < 0.5, "f", "m"),
        }
    )


def codes(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(sex=table["sex"].map({"f": 1, "m": 2}))


def write_sav(table: pd.DataFrame, path: Path) -> None:
    pyreadstat.write_sav(codes(table), str(path), variable_value_labels={"sex": {1: "f", 2: "m"}})


def write_dta(table: pd.DataFrame, path: Path) -> None:
    pyreadstat.write_dta(codes(table), str(path), variable_value_labels={"sex": {1: "f", 2: "m"}})


def packed(pack: Callable[[bytes], bytes]) -> Callable[[pd.DataFrame, Path], None]:
    return lambda table, path: (path.write_bytes(pack(table.to_csv(index=False).encode())), None)[1]


def write_folder(table: pd.DataFrame, path: Path) -> None:
    (path / "year 2").mkdir(parents=True)
    (path / "_SUCCESS").touch()
    table[:80].to_parquet(path / "part-0.parquet")
    table[:0].to_parquet(path / "part-1.parquet")
    table[80:][["sex", "dose", "visits", "age"]].to_csv(path / "year 2" / "part-2.csv", index=False)


WRITERS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    "north.xlsx": lambda table, path: table.to_excel(path, index=False),
    "north.sav": write_sav,
    "north.dta": write_dta,
    "north.xpt": lambda table, path: pyreadstat.write_xport(table, str(path)),
    "north.csv.gz": packed(gzip.compress),
    "north.csv.bz2": packed(bz2.compress),
    "north.csv.xz": packed(lzma.compress),
    "north.csv.zst": packed(lambda data: arrow.Codec("zstd").compress(data, asbytes=True)),
    "north": write_folder,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_summary_of_the_csv_file(name: str, tmp_path: Path) -> None:
    tables = {"north": frame(1), "south": frame(2)}
    plain, other = {}, {}
    for site, table in tables.items():
        plain[site] = tmp_path / f"{site}.csv"
        table.to_csv(plain[site], index=False)
        other[site] = tmp_path / site / name
        other[site].parent.mkdir()
        WRITERS[name](table, other[site])
    assert open_table(other["north"]).name == "north"
    for one, two in zip(summaries(plain), summaries(other), strict=True):
        assert (one.n, one.names, one.kinds, one.schema) == (two.n, two.names, two.kinds, two.schema)
        np.testing.assert_allclose(one.mean, two.mean, rtol=1e-12)
        np.testing.assert_allclose(one.covariance, two.covariance, rtol=1e-9, atol=1e-12)
    assert check(other).ok


# 40 rows that ReadStat wrote (its writer is in C only), because pyreadstat writes no such file: lzma, base64.
SAS = (
    "XQAAAAT//////////wAAbFadQs7xSzjULvPrXqRALLZoJl7ttMFz/+R9g52VjzFRJejKQHjsMLaoeQmp6UrDZ0zZ4ImXE7y1DnFgi00R99WKF4"
    "FVIwKc2qw4a+XHIRJpWm4KzwKfVzNvXb1+jlJvmOuoyMFXIqqNjQe0trFJhyYIzVKwezE37HwfFlrGAHz729/6HIFR0YAooqRjvWKCGoVzHYMZ"
    "gwtKmSPPIwE5I9HorlHFV4mkDdvN3ZNoUE0D4cn4/gCWB5B9v6PEgmJXZa0XuUgFCGUJebEZDOMU1Y1Mwt93PEJyE6WCpbAMrlVFT+iy3IQOgc"
    "lHsLWkLTcSrOeXMnmmqqh5zJb6VXNQaxXO6XUv6HIQw6SR5M9A2dGFqTpGwy9AwSmpsXld1kKh4lKZALPdqqIkqif8z9fo5gX6xjQs6PSDVhzY"
    "nR6rYT65YPjR25VgOlJJoDE3qAWC0JpHIYTAe8MDURaY90tVgInCoBJ9J6FlRaEkOd9OHcorq37bi/dpoYA57pgn/SgTUA9zYLGyrae6z7/ARn"
    "/Yr91OqzsZYYrtlBunPAn1KGE3mXg0mcTPgKgRhlgBQ4sKq2OOnNErJdMqsMlmqcDAPi6mbK24dHuTlu4Bwp7NiJIY3H/cgwohBh6V4d46HHpO"
    "tYlQ4zYHcPTk56uoHsoEu6SwhM5Xuu0nPal8lg4RmZOXZI8hbg//pogiI3Evr7mQWKsumMi2Xn3bGgJDLBtwCgpcMP8O5Krho9EwOLpw58FdxQ"
    "rrRYDKO1QvbYq9ToPU5rcKTsIFslUTZ53W2o602ZKOoC+8J8bWzPBh5Vd1lWC+5fODV6AnLprtoYv7xnZWifESNJaLX5UPvuh04jROJrqBWgGp"
    "XiAHJC6sv5+Mci4rGvZkO+VjEGcgUJ/q9rovW+MW4jTKcLb2Rh0wyBMRmp8GbuIR6Fxub702A9I4ma+ij6HlQ+hytoHspsw0heEnaYm20Oj9I8"
    "nq/BaNrg=="
)


def test_a_file_of_sas_is_read_with_its_missing_values(tmp_path: Path) -> None:
    path = tmp_path / "north.sas7bdat"
    path.write_bytes(lzma.decompress(base64.b64decode(SAS)))
    rows = np.arange(40)
    expected = pd.DataFrame({"age": 40 + 0.25 * rows, "sex": ["f", "m"] * 20, "ward": 1 + rows % 3})
    expected = expected.astype({"ward": float})
    expected.loc[7, "age"], expected.loc[3, "ward"] = np.nan, np.nan  # missing, and missing for a reason: .A
    table = open_table(path)
    assert (table.name, table.columns) == ("north", ("age", "sex", "ward"))
    found, plain = (summaries([source], missing="drop")[0] for source in (path, expected))
    assert (found.n, found.kinds, found.dropped) == (plain.n, plain.kinds, plain.dropped) == (38, found.kinds, 2)
    np.testing.assert_allclose(found.covariance, plain.covariance, rtol=1e-12)


def test_each_sheet_of_a_workbook_is_a_site(tmp_path: Path) -> None:
    sim = simulate(4, clients=3, samples=300, intervention="shift", seed=4)
    names = ["Lyon", "Metz 2", "Nice"]
    book = tmp_path / "book.xlsx"
    with pd.ExcelWriter(book) as writer:
        for name, rows in zip(names, sim.sites, strict=True):
            rows.to_excel(writer, sheet_name=name, index=False)
        pd.DataFrame().to_excel(writer, sheet_name="notes", index=False)
    assert [table.name for table in open_tables([f"{book}?sheet=*"])] == names
    assert open_table(f"{book}?sheet=Metz 2").name == "Metz 2"
    assert MPERI().fit([f"{book}?sheet=*"]).graph == MPERI().fit(dict(zip(names, sim.sites, strict=True))).graph
    done = fedperi_here("run", f"{book}?sheet=*", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "3 sites, 900 rows" in done.stdout
    assert "Metz 2" in fedperi_here("check", f"{book}?sheet=Metz 2", f"{book}?sheet=Nice").stdout
    words = refusal(lambda: open_table(book))
    assert "has 3 sheets, 'Lyon', 'Metz 2', 'Nice'; choose one ('book.xlsx?sheet=Lyon')" in words
    assert "has no sheet 'Paris'; it has 'Lyon'" in refusal(lambda: open_table(f"{book}?sheet=Paris"))
    assert "stands for several sites" in refusal(lambda: open_table(f"{book}?sheet=*", "north"))


BOOKS: dict[str, tuple[list[list[object]], str]] = {
    "empty": ([], "all sheets are empty; a table needs a header and at least 2 rows"),
    "header alone": ([["age", "sex"]], "has a header but no rows"),
    "title above": ([["Patients of 2024"], ["age", "sex"], [41, "f"]], "remove titles above the table"),
    "merged header": ([["vitals", None, "sex"], [41, 42, "f"]], "column 2 of the header has no name"),
    "formula error": (
        [["age", "who"], [41, SECRET], ["#DIV/0!", SECRET]],
        "row 3, column 'age': a formula gives an error",
    ),
    "note beside": ([["age", "sex"], [41, "f", None, SECRET]], "row 2: a cell lies outside the 2 columns"),
}


@pytest.mark.parametrize("case", BOOKS)
def test_what_is_wrong_with_a_sheet_is_one_sentence_without_its_cells(case: str, tmp_path: Path) -> None:
    rows, expected = BOOKS[case]
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "book.xlsx")
    words = refusal(lambda: list(open_table(tmp_path / "book.xlsx").chunks()))
    assert expected in words
    assert SECRET not in words


def test_cells_of_a_sheet_keep_their_own_type(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in [
        [None, "a", "b", "c"],
        [None] * 4,
        [None, 1, "01", True],
        [None, "#N/A", 2, False],
        [None, 2.0, "", True],
    ]:
        book.active.append(row)
    book.save(tmp_path / "north.xlsx")
    table = open_table(tmp_path / "north.xlsx")
    rows = next(table.chunks())
    assert rows["a"].isna().tolist() == [False, True, False]
    assert rows["c"].tolist() == [True, False, True]
    assert next(table.chunks(text=["b"]))["b"].tolist()[:2] == ["01", "2"]


def test_labels_are_levels_if_all_values_have_one_and_declared_gaps_are_gaps(tmp_path: Path) -> None:
    rows = pd.DataFrame({"sex": [1.0, 2.0, 1.0, 9.0], "pain": [0.0, 3.0, 10.0, 4.0], "nrs": [0.0, 10.0, 0.0, 10.0]})
    pyreadstat.write_sav(
        rows,
        str(tmp_path / "north.sav"),
        variable_value_labels={"sex": {1: "f", 2: "m"}, "pain": {0: "none", 10: "worst"}, "nrs": {0: "no", 10: "yes"}},
        missing_ranges={"sex": [9]},
        variable_measure={"nrs": "scale"},
    )
    table = open_table(tmp_path / "north.sav")
    found = next(table.chunks())
    assert found["sex"].tolist()[:3] == ["f", "m", "f"]
    assert found["sex"].isna().tolist() == [False, False, False, True]
    assert (found["pain"].tolist(), found["nrs"].tolist()) == ([0, 3, 10, 4], [0, 10, 0, 10])
    assert table.notes == ("column 'pain' has labels for some of its values only, and stays numbers",)


@pytest.mark.parametrize("name", ["north.xlsx", "north.sav", "north.dta", "north.xpt"])
def test_with_noise_other_formats_are_refused_before_rows_are_read(name: str, tmp_path: Path) -> None:
    WRITERS[name](frame(), tmp_path / name)
    schema = Schema((Column("age", "continuous", bounds=(0, 120)),))
    words = refusal(lambda: next(read_cells(open_table(tmp_path / name), schema, "linear")))
    assert "with noise only CSV and Parquet files are read" in words


def test_a_folder_and_compressed_files_are_read_cell_by_cell_too(tmp_path: Path) -> None:
    write_folder(frame(), tmp_path / "north")
    schema = Schema((Column("age", "continuous", bounds=(0, 120)),))
    cells = np.concatenate(list(read_cells(open_table(tmp_path / "north"), schema, "linear")))
    np.testing.assert_allclose(cells[:, 0], frame()["age"])


def test_files_of_a_folder_must_have_the_same_columns(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "a.csv", index=False)
    frame().rename(columns={"dose": "drug"}).to_csv(tmp_path / "b.csv", index=False)
    assert "do not both have 'dose', 'drug'" in refusal(lambda: open_table(tmp_path))
    (tmp_path / "year=2020").mkdir()
    assert "the name of the folder holds the value of a column" in refusal(lambda: open_table(tmp_path))


@pytest.mark.parametrize("name", ["north.xlsx", "north.sav", "north.dta", "north.csv.xz", "north.csv.zst"])
def test_a_file_that_was_cut_off_is_refused(name: str, tmp_path: Path) -> None:
    WRITERS[name](frame(rows=5000), tmp_path / name)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    words = refusal(lambda: list(open_table(tmp_path / name).chunks()))
    assert name in words


@pytest.mark.parametrize(
    ("name", "library"), [("north.xlsx", "openpyxl"), ("north.sav", "pyreadstat"), ("north.csv.zst", "pyarrow")]
)
def test_a_library_that_is_not_installed_is_named(
    name: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    WRITERS[name](frame(), tmp_path / name)
    monkeypatch.setitem(sys.modules, library, None)
    assert f"pip install {library} (the extra 'files' brings it)" in refusal(lambda: open_table(tmp_path / name))
