"""Schemas: values, files, differences, and what is inferred from several sites."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.refusals import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from fedperi import InputError
from fedperi.names import name_problem
from fedperi.tables import Column, Schema, differences, infer_schema, summarize
from fedperi.tables.levels import level_text

AGE = Column("age", "continuous", bounds=(0, 120))
SEX = Column("sex", "categorical", ("f", "m"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", "continuous"), "a column's name must be a non-empty string, not ''"),
        (("a", "ordinal"), "column 'a': kind must be 'continuous' or 'categorical', not 'ordinal'"),
        (("a", "continuous", ("x",)), "column 'a' is continuous and has no levels; drop them, or make it categorical"),
        (("a", "categorical", ()), "column 'a': the list of levels is empty; name at least one category"),
        (("a", "categorical", ("1", "1.0")), "column 'a': level '1' is listed twice; list each category once"),
        (("a", "categorical", "fm"), "column 'a': levels must be a list of strings, not 'fm'"),
        (
            ("a", "categorical", None, (0, 1)),
            "column 'a' is categorical and has no bounds; drop them, or make it continuous",
        ),
        (("a", "continuous", None, (1, 0)), "column 'a': bounds must be finite and increasing, not 1, 0"),
        (("a", "continuous", None, (1,)), "column 'a': bounds must be two numbers, not (1,)"),
    ],
)
def test_bad_columns_are_refused(arguments: Any, message: str) -> None:
    assert_refused(lambda: Column(*arguments), message)


def test_levels_have_one_spelling() -> None:
    assert Column("a", "categorical", (0, 1.0, "02")).levels == ("0", "1", "2")
    assert Column("a", "categorical", (True, False)).levels == ("False", "True")
    assert Column("a", "categorical", ("01", "x")).levels == ("01", "x")
    assert [level_text(value) for value in (np.bool_(True), np.int64(3), np.float32(0.5), "a ")] == [
        "True",
        "3",
        "0.5",
        "a",
    ]


names = st.text(min_size=1, max_size=8).filter(lambda name: name_problem(name) is None)
columns = st.one_of(
    st.builds(Column, names, st.just("continuous")),
    st.builds(
        Column,
        names,
        st.just("continuous"),
        st.none(),
        st.tuples(st.floats(-1e9, 0, exclude_max=True), st.floats(0, 1e9)),
    ),
    st.builds(
        lambda name, levels: Column(name, "categorical", tuple(f"l{level}" for level in levels)),
        names,
        st.lists(names, min_size=1, max_size=4, unique_by=str.strip),
    ),
)


@given(
    st.lists(columns, min_size=1, max_size=4, unique_by=lambda column: column.name), st.sampled_from(["toml", "json"])
)
def test_property_a_schema_file_reads_back_as_written(
    tmp_path_factory: pytest.TempPathFactory, found: Any, ending: Any
) -> None:
    path = tmp_path_factory.mktemp("schema") / f"schema.{ending}"
    schema = Schema(tuple(found))
    schema.to_file(path)
    assert Schema.from_file(path) == schema


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("s.yaml", "", "the name must end in .toml or .json"),
        ("s.toml", "columns = ", "is not valid TOML: "),
        ("s.json", "{", "is not valid JSON: "),
        ("s.json", "[1]", "names no columns; give each a table such as [columns.age]"),
        ("s.json", '{"columns": {"a": 1}}', "column 'a' needs a kind, 'continuous', 'categorical' or 'ignore'"),
        ("s.toml", '[columns.a]\nkind = "x"', "column 'a': kind must be 'continuous' or 'categorical', not 'x'"),
        (
            "s.toml",
            '[columns.a]\nkind="continuous"\ntype=1',
            "column 'a': unknown key 'type'; the keys are kind, levels, bounds, unit, missing_values, rename, scale",
        ),
        ("s.toml", '[columns.a]\nkind="categorical"\nlevels=3', "column 'a': levels must be a list of strings, not 3"),
    ],
)
def test_bad_schema_files_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError) as error:
        Schema.from_file(path)
    assert message in str(error.value)
    assert name in str(error.value)


def test_a_schema_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read schema file '.*s\.toml': No such file"):
        Schema.from_file(tmp_path / "s.toml")


def test_differences_are_sentences() -> None:
    a = Schema((AGE, SEX))
    b = Schema(
        (Column("age", "categorical", ("old",)), Column("sex", "categorical", ("m", "f")), Column("x", "continuous"))
    )
    assert differences(a, a) == []
    assert differences(a, Schema((SEX, AGE))) == []
    assert differences(a, b, ("north", "south")) == [
        "column 'x' is in south but not in north",
        "column 'age' is continuous in north but categorical in south",
        "column 'sex': north and south list the same levels in a different order",
    ]
    assert differences(a, Schema((Column("age", "continuous"), SEX))) == [
        "column 'age': bounds are (0.0, 120.0) in the first but None in the second"
    ]


# --- inference ---------------------------------------------------------------------------------------------------


def kinds(*frames: Any, overrides: Any = None) -> Any:
    return {column.name: column.levels or column.kind for column in infer_schema(frames, overrides).columns}


def test_types_are_inferred_by_the_documented_rules() -> None:
    n = 200
    frame = pd.DataFrame(
        {
            "measure": np.linspace(0, 1, n),
            "code": np.arange(n) % 10,
            "count": np.arange(n) % 11,
            "whole_floats": (np.arange(n) % 3).astype(float),
            "word": ["u", "v"] * (n // 2),
            "flag": [True, False] * (n // 2),
            "cat": pd.Categorical([12, 7] * (n // 2), categories=[7, 12, 99]),
            "nullable": pd.array([1, 2] * (n // 2), dtype="Int64"),
        }
    )
    assert kinds(frame) == {
        "measure": "continuous",
        "code": tuple("0123456789"),
        "count": "continuous",
        "whole_floats": "continuous",
        "word": ("u", "v"),
        "flag": ("False", "True"),
        "cat": ("7", "12"),
        "nullable": ("1", "2"),
    }


def test_few_rows_do_not_make_codes() -> None:
    assert kinds(pd.DataFrame({"a": [1, 2, 3] * 9})) == {"a": "continuous"}
    assert kinds(pd.DataFrame({"a": [1, 2, 3] * 10})) == {"a": ("1", "2", "3")}
    assert kinds(pd.DataFrame({"a": [1, 2, 3] * 5}), pd.DataFrame({"a": [1, 2, 3] * 5})) == {"a": ("1", "2", "3")}


def test_integers_with_missing_values_are_still_codes() -> None:
    """Pandas stores them as floats; the other site has none missing and stores integers."""
    assert kinds(pd.DataFrame({"a": [0, 1, None] * 10}), pd.DataFrame({"a": [0, 1] * 10})) == {"a": ("0", "1")}


def test_one_site_decides_for_all_that_numbers_are_measurements() -> None:
    assert kinds(pd.DataFrame({"a": [0, 1] * 10}), pd.DataFrame({"a": [0.5, 1] * 10})) == {"a": "continuous"}


def test_a_level_rare_at_one_site_is_joined_in() -> None:
    north, south = pd.DataFrame({"a": ["u", "v", "w"]}), pd.DataFrame({"a": ["u", "w"]})
    assert kinds(north, south) == kinds(south, north) == {"a": ("u", "v", "w")}


def test_differences_between_sites_are_listed_together() -> None:
    north = pd.DataFrame({"a": [0.5, 1.5], "b": ["f", "m"], "c": [0.5, 2.0], "d": [1.0, 2.0]})
    south = pd.DataFrame({"a": ["x", "y"], "b": ["0", "1"], "d": [1.0, 2.0], "e": [0.1, 0.2]})
    assert_refused(
        lambda: infer_schema({"north": north, "south": south}),
        "4 problems:"
        "\n  - column 'c': present at 'north' but not at 'south'; give all sites the same columns"
        "\n  - column 'e': present at 'south' but not at 'north'; give all sites the same columns"
        "\n  - column 'a': numbers at 'north' but text at 'south'; "
        "use the same type at all sites, or declare the column in the schema"
        "\n  - column 'b': levels differ: 'f', 'm' at 'north'; '0', '1' at 'south'; "
        "use the same codes at all sites, or declare its levels (or that it is continuous) in the schema",
    )


def test_codes_that_are_shifted_at_one_site_are_caught_unless_declared() -> None:
    frames = [pd.DataFrame({"a": [0, 1] * 10, "b": 0.5}), pd.DataFrame({"a": [1, 2] * 10, "b": 0.5})]
    with pytest.raises(InputError, match=r"column 'a': levels differ: '0', '1' at 'site 1'; '1', '2' at 'site 2'"):
        infer_schema(frames)
    declared = Schema((Column("a", "categorical", ("0", "1", "2")),))
    assert kinds(*frames, overrides=declared) == {"a": ("0", "1", "2"), "b": "continuous"}
    assert kinds(*frames, overrides=Schema((Column("a", "continuous"),))) == {"a": "continuous", "b": "continuous"}


def test_overrides_come_from_files_too(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(
        json.dumps({"columns": {"a": {"kind": "categorical"}, "b": {"kind": "continuous", "bounds": [0, 9]}}})
    )
    schema = infer_schema([pd.DataFrame({"a": [7, 30, 12], "b": [1, 2, 3]})], path)
    assert schema == Schema((Column("a", "categorical", ("7", "12", "30")), Column("b", "continuous", bounds=(0, 9))))


@pytest.mark.parametrize(
    ("values", "column", "message"),
    [
        (
            ["u", "x"],
            Column("a", "categorical", ("u", "v")),
            "column 'a': some values are not among the declared levels; the",
        ),
        (
            ["u", "v"],
            Column("a", "continuous"),
            "column 'a': declared continuous, but holds text; store",
        ),
        (["u", "v"], Column("z", "continuous"), "column 'z': named in the schema but in no table; the columns are 'a'"),
        (
            range(200),
            Column("a", "categorical"),
            "column 'a': declared categorical, but has more than 100 different values",
        ),
    ],
)
def test_overrides_that_do_not_fit_are_refused(values: Any, column: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        infer_schema([pd.DataFrame({"a": values})], Schema((column,)))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [f"id{i}" for i in range(101)],
            "text with many different values: names, identifiers or free text; leave it out: --exclude a",
        ),
        (
            ["1.5", "2.5", "<1", "3.5"],
            "numbers, but also text in 25.0 % of the rows; if it means",
        ),
        (
            [str(i) for i in range(11)],
            "numbers stored as text; store them as numbers, or declare the column in a schema",
        ),
        (
            pd.date_range("2020", periods=3),
            "are neither numbers nor categories; turn them into numbers or categories, or",
        ),
        ([[1], [2]], "values of type object are neither numbers nor categories"),
        ([1 + 2j, 3j], "values of type complex128 are neither numbers nor categories"),
    ],
)
def test_columns_that_are_no_variable_are_refused(values: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        infer_schema({"north": pd.DataFrame({"a": values})})
    assert str(error.value).startswith("site 'north', column 'a': ")
    assert message in str(error.value)


def test_more_levels_than_remembered_are_fine_when_declared() -> None:
    levels = tuple(f"icd{i:03d}" for i in range(150))
    frame = pd.DataFrame({"a": levels * 2, "b": ["u", "v", "v"] * 100})
    declared = Schema((Column("a", "categorical", levels),))
    schema = infer_schema([frame], declared)
    assert schema["a"].levels == levels
    assert summarize(frame, schema).n == 300
    assert len(summarize(frame, schema, data="mixed").blocks[0]) == 149


def test_schema_of_another_type_is_refused() -> None:
    with pytest.raises(InputError, match="schema must be a Schema or the path of a schema file, not dict"):
        infer_schema([pd.DataFrame({"a": [1.5, 2]})], {"a": "continuous"})
