"""Reading once for schema and statistics: the same result as reading twice, or a second reading if needed."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedperi as fp
import fedperi.tables
from fedperi.cli import app
from fedperi.tables import Schema, Statistics, infer_schema, open_table, open_tables, summarize, table
from fedperi.tables import survey as rooms
from fedperi.tables.readers import csv_file, kept_rows
from fedperi.tables.readers.packed import PackedFrame
from fedperi.tables.summary.summaries import summaries
from fedperi.tables.survey import read_once


def survey(sources: dict[str, Any], data: Any = "auto") -> tuple[Schema, dict[str, Statistics]]:
    found = rooms.survey(open_tables(sources), data=data)
    return found.schema, found.statistics


def numbers(rows: int, seed: int, **columns: Any) -> pd.DataFrame:
    values = np.random.default_rng(seed).normal(3e5, 2.0, (rows, 3))
    return pd.DataFrame(values, columns=["a", "b", "c"]).assign(**columns)


def test_the_statistics_are_those_of_a_second_reading(tmp_path: Path) -> None:
    frames = {"north": numbers(500, 1), "south": numbers(40, 2)}
    frames["south"].to_csv(tmp_path / "south.csv", index=False)
    sources = {"north": frames["north"], "south": tmp_path / "south.csv"}
    schema, known = survey(sources)
    assert schema == infer_schema(sources)
    assert list(known) == ["north", "south"]
    for name, source in sources.items():
        again = summarize(source, schema, name=name)
        assert isinstance(again, Statistics)
        for field, value in vars(again).items():
            assert np.array_equal(getattr(known[name], field), value), field  # to the last bit


@pytest.mark.parametrize(
    ("odd", "data"),
    [
        (numbers(50, 3)[["c", "a", "b"]], "auto"),  # the statistics have the order of the schema
        (numbers(50, 3).assign(b=np.r_[np.nan, np.arange(49.0) / 7]), "auto"),
        (numbers(50, 3).assign(b=np.r_[np.inf, np.arange(49.0) / 7]), "auto"),
        (numbers(50, 3).assign(b=1.5), "auto"),
        (numbers(50, 3).assign(b=np.arange(50)), "auto"),  # whole numbers may be codes
        (numbers(50, 3).iloc[:1], "auto"),
        (numbers(50, 3), "nonlinear"),
    ],
)
def test_other_tables_are_left_to_the_second_reading(odd: pd.DataFrame, data: Any) -> None:
    assert "odd" not in survey({"even": numbers(60, 4), "odd": odd}, data=data)[1]


def test_categories_anywhere_are_left_to_the_second_reading() -> None:
    frames = {k: numbers(50, k, b=["u", "v"] * 25) for k in (1, 2)}
    schema, known = survey({"one": frames[1], "two": frames[2]})
    assert known == {}
    assert schema["b"].levels == ("u", "v")


def test_a_run_reads_tables_of_numbers_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    chunks = table.Table.chunks

    def counting(self: Any, *arguments: Any) -> Any:
        read.append(self.name)
        return chunks(self, *arguments)

    monkeypatch.setattr(table.Table, "chunks", counting)
    sites = {"north": numbers(300, 1), "south": numbers(300, 2), "west": numbers(300, 3)[["c", "a", "b"]]}
    once = fp.IPERI().fit(sites)
    assert read == ["north", "south", "west", "west"]
    read.clear()
    fp.IPERI(bootstrap=1).fit(sites)  # resampling reads the rows again
    assert read == ["north", "south", "west", "west", "north", "south", "west"]
    assert [site["sha256"] for site in once.manifest["sites"]] == [
        site["sha256"] for site in fp.IPERI().fit(sites).manifest["sites"]
    ]


def test_what_is_wrong_with_a_table_is_said_as_before() -> None:
    with pytest.raises(fp.InputError, match=r"site 'south', column 'b': all values are the same"):
        fp.IPERI().fit({"north": numbers(50, 1), "south": numbers(50, 2, b=1.0)})
    with pytest.raises(fp.InputError, match=r"site 'south' has 2 rows for 3 variables"):
        fp.IPERI().fit({"north": numbers(50, 1), "south": numbers(2, 2)})


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the rows of each file were parsed."""
    count: Counter[str] = Counter()
    read_csv = csv_file.read_csv

    def counting(path: Path, *rest: Any) -> Any:
        count[path.stem] += 1
        return read_csv(path, *rest)

    monkeypatch.setattr(csv_file, "read_csv", counting)
    return count


def write(folder: Path, frames: dict[str, pd.DataFrame]) -> list[str]:
    for name, frame in frames.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return [str(folder / f"{name}.csv") for name in frames]


def mixed(seed: int) -> pd.DataFrame:
    return numbers(300, seed, arm=["u", "v", "w"] * 100, code=[0, 1] * 150)


@pytest.mark.parametrize("method", ["mperi", "iperi", "peri"])
@pytest.mark.parametrize("make", [lambda seed: numbers(300, seed), mixed])
def test_a_run_reads_each_file_once(passes: Counter[str], tmp_path: Path, method: str, make: Any) -> None:
    files = write(tmp_path, {"north": make(1), "south": make(2)[::-1]})
    app(["run", *files, "--method", method, "--json"], standalone_mode=False)
    assert passes == {"north": 1, "south": 1}


def test_a_baseline_reads_each_file_once(passes: Counter[str], tmp_path: Path) -> None:
    files = write(tmp_path, {"north": numbers(300, 1), "south": numbers(300, 2)[["c", "b", "a"]]})
    app(["run", *files, "--method", "notears-admm", "--json"], standalone_mode=False)
    assert passes == {"north": 1, "south": 1}


def test_python_reads_each_file_once_and_finds_the_same(passes: Counter[str], tmp_path: Path) -> None:
    files = write(tmp_path, {"north": mixed(1), "south": mixed(2)})
    frames = {Path(file).stem: pd.read_csv(file) for file in files}
    for method in (fp.MPERI(), fp.IPERI(), fp.MPERI(data="nonlinear"), fp.IPERI(bootstrap=2)):
        passes.clear()
        from_files = method.fit(files)
        assert passes == {"north": 1, "south": 1}
        assert from_files.to_json() == method.fit(frames).to_json()


def test_rows_that_do_not_fit_into_memory_are_read_again(
    passes: Counter[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write(tmp_path, {"north": mixed(1), "south": mixed(2)})
    kept = fp.MPERI().fit(files).to_json()
    passes.clear()
    monkeypatch.setattr(kept_rows, "ROOM", 1000)
    assert fp.MPERI().fit(files).to_json() == kept
    assert passes == {"north": 2, "south": 2}


@pytest.mark.parametrize("make", [lambda seed: numbers(300, seed), mixed])
def test_a_run_reads_rows_twice_that_do_not_fit_into_memory(
    passes: Counter[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    """The check embeds rows as the run will: what it looks at is part of what the run needs."""
    files = write(tmp_path, {"north": make(1), "south": make(2)})
    monkeypatch.setattr(kept_rows, "ROOM", 1000)
    app(["run", *files, "--out", str(tmp_path / "results")], standalone_mode=False)
    assert passes == {"north": 2, "south": 2}
    report = fedperi.tables.check(files)
    for one, two in zip(summaries(report.tables), summaries(files), strict=True):
        assert (one.mean == two.mean).all() and (one.covariance == two.covariance).all()


@pytest.mark.parametrize("room", [1 << 20, 1 << 26])
def test_packed_rows_give_the_same_to_the_last_bit(
    passes: Counter[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """With room for packed rows only, each file is read once, and the result does not change."""
    frames = {"north": mixed(1).round(3), "south": mixed(2).round(1)}
    files = write(tmp_path, {name: pd.concat([frame] * 50) for name, frame in frames.items()})
    monkeypatch.setattr(kept_rows, "PLAIN", 1 << 26)
    kept = fp.MPERI().fit(files).to_json()
    monkeypatch.setattr(kept_rows, "PLAIN", 0)
    monkeypatch.setattr(kept_rows, "ROOM", room)
    passes.clear()
    assert fp.MPERI().fit(files).to_json() == kept
    assert passes == {"north": 1, "south": 1}


NUMBERS = st.one_of(
    st.floats(),
    st.integers(-(2**60), 2**60).map(float),
    st.builds(lambda whole, digits: whole / 10**digits, st.integers(-(10**9), 10**9), st.integers(0, 7)),
    st.sampled_from([0.0, -0.0, np.nan, np.inf, 2.0**53, 1e-320]),
)
COLUMNS = st.one_of(
    st.lists(NUMBERS, min_size=6, max_size=6).map(lambda some: np.array(some, dtype=np.float64)),
    st.lists(st.integers(-(10**9), 10**9), min_size=6, max_size=6).map(lambda some: np.array(some) / 1e4),
    st.sampled_from(["int8", "int32", "int64", "uint8", "uint64"]).flatmap(
        lambda kind: st.lists(
            st.integers(int(np.iinfo(kind).min), int(np.iinfo(kind).max)), min_size=6, max_size=6
        ).map(lambda some: np.array(some, dtype=kind))
    ),
    st.lists(st.integers(10**15, 10**15 + 300), min_size=6, max_size=6).map(np.array),
    st.lists(st.sampled_from(["f", "m", "01", None]), min_size=6, max_size=6),
    st.lists(st.sampled_from(["f", 1, 1.0, True, None]), min_size=6, max_size=6),
    st.lists(st.sampled_from(["u", "v"]), min_size=6, max_size=6).map(lambda some: pd.Series(some, dtype=object)),
    st.lists(st.sampled_from(["u", "v"]), min_size=6, max_size=6).map(lambda some: pd.Series(some, dtype="category")),
    st.lists(st.booleans(), min_size=6, max_size=6),
    st.lists(st.sampled_from([1, 2, None]), min_size=6, max_size=6).map(lambda some: pd.array(some, dtype="Int64")),
)


@given(st.lists(COLUMNS, min_size=1, max_size=4), st.integers(1, 9))
def test_unpacked_rows_are_the_rows(columns: list[Any], times: int) -> None:
    frame = pd.concat([pd.DataFrame({f"x{at}": column for at, column in enumerate(columns)})] * times)
    found = PackedFrame.of(frame).unpacked()
    pd.testing.assert_frame_equal(found, frame, check_exact=True)
    for name in frame:
        if frame[name].dtype == np.float64:
            one, other = (part[name].to_numpy() for part in (frame, found))
            assert (np.signbit(one) == np.signbit(other))[~np.isnan(one)].all()


def test_packed_rows_are_small() -> None:
    values = np.round(np.random.default_rng(1).normal(3e3, 2.0, (20_000, 10)), 4)
    values[::7] = np.nan
    frame = pd.DataFrame(values).add_prefix("x").assign(code=[0, 1] * 10_000, word=["u", "v"] * 10_000)
    assert PackedFrame.of(frame).size == pytest.approx(20_000 * (10 * 3 + 1 + 1), rel=0.01)


def test_codes_among_words_are_read_again_as_text(passes: Counter[str], tmp_path: Path) -> None:
    rows = table.CHUNK + 50
    codes = pd.Series(["01", "02"] * (rows // 2))
    codes.iloc[-1] = "x"  # the first chunk looks like numbers
    [file] = write(tmp_path, {"north": pd.DataFrame({"a": np.arange(rows) / 7, "code": codes})})
    opened, found = read_once(open_table(file))
    assert set(found.profile.columns["code"].levels) == {"01", "02", "x"}
    assert passes == {"north": 2}
    assert next(opened.chunks(text=["code"]))["code"].iloc[0] == "01"
    assert passes == {"north": 2}


def test_a_file_that_changes_between_two_runs_is_read_again(tmp_path: Path) -> None:
    sites = [fp.Site(file) for file in write(tmp_path, {"north": numbers(300, 1), "south": numbers(300, 2)})]
    first = fp.IPERI().fit(sites)
    write(tmp_path, {"north": numbers(200, 3)})
    second = fp.IPERI().fit(sites)
    assert [site["n"] for site in first.manifest["sites"]] == [300, 300]
    assert [site["n"] for site in second.manifest["sites"]] == [200, 300]


def test_a_checked_table_under_another_name_is_not_read_again(passes: Counter[str], tmp_path: Path) -> None:
    files = write(tmp_path, {"north": mixed(1), "south": mixed(2)})
    report = fp.tables.check(files)
    result = fp.MPERI().fit(dict(zip(["Brest", "Lyon"], report.tables, strict=True)))
    assert result.sites == ("Brest", "Lyon")
    assert passes == {"north": 1, "south": 1}


def test_progress_names_the_file_that_is_read(tmp_path: Path) -> None:
    files = write(tmp_path, {"north": numbers(70_000, 1), "south": numbers(300, 2)})
    told: list[str] = []
    fp.tables.check(files, tell=told.append)
    north, south = (f"reading {file}" for file in files)
    assert told == [
        "opening north (1 of 2)",
        "opening south (2 of 2)",
        f"{north} (1 of 2)",
        f"{north}: 65,536 rows (1 of 2)",
        f"{north}: 70,000 rows (1 of 2)",
        f"{south} (2 of 2)",
        f"{south}: 300 rows (2 of 2)",
    ]


def test_a_mistake_far_down_in_a_file_is_raised_although_a_thread_reads_ahead(tmp_path: Path) -> None:
    rows = "1.5,2.5\n" * 200_000
    (tmp_path / "north.csv").write_text(f"a,b\n{rows}1,2,3\n")
    (tmp_path / "south.csv").write_text(f"a,b\n{rows}")
    with pytest.raises(fp.InputError, match="north"):
        list(open_table(tmp_path / "north.csv").chunks())
    chunks = open_table(tmp_path / "south.csv").chunks()
    assert [len(next(chunks)) for _ in range(3)] == [65536] * 3  # and the rest is never asked for
    del chunks
    assert sum(map(len, open_table(tmp_path / "south.csv").chunks())) == 200_000
