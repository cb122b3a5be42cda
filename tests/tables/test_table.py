"""Tables: what is read, and what is refused with which words."""

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.refusals import refusal

from fedperi import InputError
from fedperi.tables import infer_schema, open_table, open_tables, summarize

FRAME = pd.DataFrame({"a": [1.5, 2.5, 4.0], "b": ["u", "v", "u"], "c": [3, 1, 2]})


def first_rows(source: Any, name: Any = None) -> Any:
    """The header is looked at on opening, the rows on reading."""
    return next(open_table(source, name).chunks())


def write(tmp_path: Path, content: Any, name: Any = "north.csv") -> Any:
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content, encoding="utf-8")
    return path


def rows(table: Any, size: Any = 2, text: Any = ()) -> Any:
    return pd.concat(table.chunks(size, text)).reset_index(drop=True)


def assert_same(frame: Any, other: Any) -> Any:
    return frame.astype(object).values.tolist() == other.astype(object).values.tolist() and list(frame) == list(other)


# --- what is read ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_all_sources_give_the_same_rows(tmp_path: Path, size: int) -> None:
    csv, parquet = tmp_path / "north.csv", tmp_path / "south.parquet"
    FRAME.to_csv(csv, index=False)
    FRAME.to_parquet(parquet)
    for source, name in ((FRAME, "table"), (csv, "north"), (str(csv), "north"), (parquet, "south")):
        table = open_table(source)
        assert table.columns == ("a", "b", "c")
        assert table.name == name
        assert open_table(source, "x").name == open_table(table, "x").name == "x"
        assert assert_same(rows(table, size), FRAME)
        assert max(map(len, table.chunks(size))) <= size


@pytest.mark.parametrize(
    ("content", "notes"),
    [
        ("a;b\n1,5;u\n2,5;v\n", ("columns are separated by a semicolon", "numbers are written with a decimal comma")),
        ("a;b\n1.5;u,w\n2.5;v\n", ("columns are separated by a semicolon",)),
        ("a\tb\n1.5\tu\n2.5\tv\n", ("columns are separated by a tab",)),
        ("\ufeffa,b\n1.5,u\n2.5,v\n", ()),
        ("\n\n a , b \n\n1.5, u\n2.5, v\n", ()),
        ('"a","b"\n1.5,"u"\n2.5,"v"\n', ()),
        ("a,b\r\n1.5,u\r\n2.5,v\r\n", ()),
    ],
)
def test_dialects_are_detected_and_stated(tmp_path: Path, content: str, notes: Any) -> None:
    table = open_table(write(tmp_path, content))
    assert table.columns == ("a", "b")
    assert table.notes == notes
    assert rows(table)["a"].tolist() == [1.5, 2.5]


def test_utf16_and_gzip(tmp_path: Path) -> None:
    table = open_table(write(tmp_path, "a\tb\n1.5\tü\n2.5\tv\n".encode("utf-16")))
    assert table.notes == ("columns are separated by a tab", "the text is encoded in UTF-16")
    assert rows(table)["b"].tolist() == ["ü", "v"]
    table = open_table(write(tmp_path, gzip.compress(b"a,b\n1.5,u\n2.5,v\n"), "north.csv.gz"))
    assert table.name == "north"
    assert rows(table)["b"].tolist() == ["u", "v"]


def test_names_that_are_not_strings_become_strings() -> None:
    table = open_table(pd.DataFrame(np.eye(2)))
    assert table.columns == ("0", "1")
    assert list(next(table.chunks(5))) == ["0", "1"]


def test_a_frame_is_not_written_to() -> None:
    frame = pd.DataFrame({0: [1.0, None, 4.0, 2.0], " b": [True, False, True, False]}, index=[5, 5, 7, 8])
    before = frame.copy(deep=True)
    summarize(frame, missing="drop")
    pd.testing.assert_frame_equal(frame, before)


def test_the_index_stored_in_parquet_is_not_a_column(tmp_path: Path) -> None:
    path = tmp_path / "north.parquet"
    FRAME.set_axis(["x", "y", "z"]).to_parquet(path)
    assert assert_same(rows(open_table(path)), FRAME)


def test_codes_with_leading_zeros_do_not_depend_on_the_chunk(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n01,1.5\n02,2.5\nx,3.5\ny,3\nz,2\n")
    assert infer_schema([path])["a"].levels == ("01", "02", "x", "y", "z")
    counts = [summarize(path, data="mixed", chunk=size) for size in (1, 2, 100)]
    for other in counts[1:]:
        np.testing.assert_allclose(other.correlation, counts[0].correlation, atol=1e-12)


def test_mixed_objects_in_a_frame_do_not_depend_on_the_chunk() -> None:
    frame = pd.DataFrame({"a": pd.Series([True, False, 0.5, "x"] * 5, dtype=object), "b": np.arange(20) / 3})
    found = [summarize(frame, chunk=size) for size in (1, 3, 100)]
    for other in found:
        assert len(other.blocks[0]) == 3
        np.testing.assert_allclose(other.correlation, found[0].correlation, atol=1e-12)


def test_sites_are_named_after_their_files(tmp_path: Path) -> None:
    for folder in ("north", "south"):
        (tmp_path / folder).mkdir()
        write(tmp_path, "a,b\n1,2\n3,4\n", f"{folder}/data.csv")
    files = [tmp_path / "north" / "data.csv", tmp_path / "south" / "data.csv"]
    assert [table.name for table in open_tables([*files, FRAME])] == ["north/data", "south/data", "site 3"]
    assert [table.name for table in open_tables(files[:1])] == ["data"]
    with pytest.raises(InputError, match="several sites are named 'data'; rename the files, or give each site its own"):
        open_tables([files[0], files[0]])
    for wrong in (files[0], FRAME, open_table(FRAME)):
        with pytest.raises(InputError, match="give a list of tables, one per site, not a single table"):
            open_tables(wrong)
    with pytest.raises(InputError, match="there are no tables; give at least one"):
        open_tables([])


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "north.csv' is empty; a table needs a header and at least 2 rows"),
        (b" \n\n", "north.csv' is empty; a table needs a header and at least 2 rows"),
        (b"a,b\n", "north.csv' has a header but no rows; a site needs at least 2"),
        (b"\x7fELF\x00\x01\x02", "north.csv' is a binary file, not a table; give a CSV or Parquet file"),
        (b"PK\x03\x04\x00", "north.csv' is an Excel or zip file, not a table; export it as CSV or Parquet"),
        (b"%PDF-1.7", "north.csv' is a PDF file, not a table; export it as CSV or Parquet"),
        (b"PAR1 no", "north.csv' is not a complete Parquet file: "),
        (b"\x1f\x8b broken", "north.csv' cannot be read as a table: "),
        (
            b"Dear all\nhere is the data\n",
            "north.csv' has a single column, 'Dear all'; columns must be separated by commas",
        ),
        (b"name,b\nM\xfcller,2\n", "north.csv' is not UTF-8 text; save it as CSV in UTF-8"),
        (
            b",a,b\n0,1,2\n1,3,4\n",
            "north.csv': the first column has no name and looks like a row index; write the file",
        ),
        (b"Unnamed: 0,a\n0,1\n1,3\n", "north.csv': the first column has no name and looks like a row index; write the"),
        (b"a,b,\n1,2,\n1,3,\n", "site 'north': column 3 has no name; name it, or drop it"),
        (
            b"x,b,x,x\n1,2,3,4\n1,2,3,5\n",
            "site 'north': 3 columns are named 'x'; rename them so that every name is unique",
        ),
        (
            b"x,y,x,y\n1,2,3,4\n1,2,3,5\n",
            "site 'north': names are repeated: 'x', 'y'; rename them so that every name is",
        ),
        (
            b"0.5,1.5\n1,2\n1,3\n",
            "north.csv': the first line holds numbers, not names; add a header line that names the",
        ),
        (
            b"a,b\n1,2,3\n1,3,4\n",
            "north.csv', row 2: 3 fields, but the header names 2 columns; name every column (in R:",
        ),
    ],
)
def test_what_is_not_a_table_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    assert message in refusal(lambda: first_rows(write(tmp_path, content)))


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    assert "no.csv' does not exist; check the path" in refusal(lambda: first_rows(tmp_path / "no.csv"))
    assert f"the folder {str(tmp_path)!r} holds no files" in refusal(lambda: first_rows(tmp_path))
    assert "a\\x00b' " in refusal(lambda: first_rows("a\0b"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n" + "1,2\n" * 200 + "1,2,3\n", "Expected 2 fields in line 202, saw 3; check that line, or export the"),
        ("a,b\n" + "1,2\n" * 200 + '1,"2\n', "EOF inside string starting at row 201; check that line, or export"),
    ],
)
def test_broken_lines_further_down_are_named(tmp_path: Path, content: Any, message: str) -> None:
    table = open_table(write(tmp_path, content))
    with pytest.raises(InputError) as error:
        list(table.chunks(64))
    assert message in str(error.value)


def test_a_wrong_encoding_further_down_is_named(tmp_path: Path) -> None:
    table = open_table(write(tmp_path, b"a,b\n" + b"1,2\n" * 50_000 + b"M\xfcller,2\n"))
    with pytest.raises(InputError, match=r"north\.csv' is not UTF-8 text; save it as CSV in UTF-8"):
        list(table.chunks(1000))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (np.zeros(3), "a table must be a pandas DataFrame or the path of a CSV or Parquet file, not ndarray"),
        (None, "a table must be a pandas DataFrame or the path of a CSV or Parquet file, not NoneType"),
        (pd.DataFrame({"a": []}), "the DataFrame has no rows; a site needs at least 2"),
        (pd.DataFrame(index=[1, 2]), "site 'table': the table has no columns; give one column per variable"),
        (pd.DataFrame([[1, 2, 3, 4]], columns=list("xbxx")), "site 'table': 3 columns are named 'x'; rename them"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "site 'table': 2 columns are named '1'; rename them"),
        (pd.DataFrame([[1, 2]], columns=["a", None]), "site 'table': column 2 has no name; name it, or drop it"),
        (
            pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])),
            "the DataFrame has several levels of column names; flatten them to one",
        ),
    ],
)
def test_what_is_not_a_frame_of_variables_is_refused(source: Any, message: str) -> None:
    assert message in refusal(lambda: first_rows(source))


def test_bad_names_and_chunks_are_refused() -> None:
    assert "a site's name must be a non-empty string, not ' '" in refusal(lambda: first_rows(FRAME, " "))
    for size in (0, -1, 1.5, True):
        with pytest.raises(InputError, match="chunk must be a positive number of rows, not "):
            open_table(FRAME).chunks(size)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "north.parquet"
    FRAME.to_parquet(path)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert "is a Parquet file and pyarrow is not installed; pip install pyarrow" in refusal(lambda: first_rows(path))


def test_parquet_without_rows_or_with_repeated_names(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "north.parquet"
    FRAME.iloc[:0].to_parquet(path)
    assert "has columns but no rows; a site needs at least 2" in refusal(lambda: first_rows(path))
    pq.write_table(pa.Table.from_arrays([pa.array([1.0, 2.0])] * 3, names=["x", "x", "x"]), path)
    assert "site 'north': 3 columns are named 'x'; rename them so that every name is unique" in refusal(
        lambda: first_rows(path)
    )


def test_a_truncated_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "north.parquet"
    FRAME.to_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    assert "is not a complete Parquet file: " in refusal(lambda: first_rows(path))


def test_the_room_is_imported_without_pandas() -> None:
    code = "import sys, fedperi.tables; sys.exit(not {'pandas', 'pyarrow', 'rich', 'scipy'}.isdisjoint(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
