"""Columns left out, codes for missing, spellings, units, encodings: preparation before rows are used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fedperi as fp
from fedperi.errors import InputError
from fedperi.tables import Column, Schema, check, infer_schema
from fedperi.tables.preparing.opening import Opening
from fedperi.tables.preparing.preparation import Preparation


def clinic() -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(5)
    tables = {}
    for site in ("lyon", "metz", "nice"):
        age = rng.normal(60, 10, 300)
        tables[site] = pd.DataFrame(
            {"age": age, "weight": 60 + 0.3 * age + rng.normal(0, 8, 300), "sex": rng.choice(["f", "m"], 300)}
        )
    return tables


def prepared_by(**entries: dict[str, Any]) -> Schema:
    return Schema((), tuple(Preparation(name, **entry) for name, entry in entries.items()))


@pytest.mark.parametrize("method", [fp.MPERI, fp.IPERI])
def test_prepared_tables_give_the_graph_of_clean_ones(method: Any) -> None:
    clean = clinic()
    messy = {site: table.assign(patient=range(len(table))) for site, table in clean.items()}
    messy["lyon"] = messy["lyon"].assign(weight=messy["lyon"]["weight"] / 0.5, sex=messy["lyon"]["sex"].str.upper())
    schema = prepared_by(
        patient={"ignore": True}, weight={"scale": {"lyon": 0.5}}, sex={"rename": {"M": "m", "F": "f"}}
    )
    expected, found = method().fit(clean), method(schema=schema).fit(messy)
    assert found.graph == expected.graph
    assert found.to_json() and "patient" not in found.graph.names


def test_codes_for_missing_are_gaps_whatever_their_spelling() -> None:
    tables = {site: table.copy() for site, table in clinic().items()}
    tables["lyon"].loc[:9, "weight"] = 0
    tables["metz"]["weight"] = tables["metz"]["weight"].astype(object)
    tables["metz"].loc[:4, "weight"] = 0.0
    report = check(tables, prepared_by(weight={"missing_values": [0]}), missing="drop")
    assert [site.incomplete for site in report.sites] == [10, 5, 0]


def test_a_schema_file_keeps_preparations(tmp_path: Path) -> None:
    schema = Schema(
        (Column("sex", "categorical", ("f", "m")),),
        (
            Preparation("sex", rename={"male": "m", "1.0": "m"}),
            Preparation("chol", missing_values=[0, -999, "n/a"]),
            Preparation("weight", scale={"lyon": 0.4536}),
            Preparation("patient", ignore=True),
        ),
    )
    for name in ("schema.toml", "schema.json"):
        schema.to_file(tmp_path / name)
        assert Schema.from_file(tmp_path / name) == schema


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("missing_values = 0", "column 'a': missing_values must be a list, such as [-999, 9999]"),
        ('missing_values = [""]', "column 'a': missing_values holds an empty or infinite value"),
        ('rename = ["m"]', "column 'a': rename must be a table, such as"),
        ('rename = { m = "" }', "column 'a': rename gives a level an empty name; for missing use missing_values"),
        ("scale = { lyon = 0 }", "column 'a': the factor for site 'lyon' must be a positive number, not 0"),
        ("scale = { lyon = 2 }\nrename = { m = 'f' }", "rename is for categories and scale for numbers; give one"),
        ('kind = "ignore"\nmissing_values = [0]', "column 'a' is ignored; leave out everything but its kind"),
        ('levels = ["a", "b"]', "column 'a' with levels or bounds needs a kind, 'continuous' or 'categorical'"),
    ],
)
def test_bad_preparations_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "schema.toml"
    file.write_text(f"[columns.a]\n{text}\n")
    with pytest.raises(InputError) as error:
        Schema.from_file(file)
    assert message in str(error.value)


def test_a_prepared_column_must_exist_and_an_ignored_one_may_be_missing() -> None:
    with pytest.raises(InputError, match="column 'wieght': named in the schema but in no table"):
        infer_schema(clinic(), prepared_by(wieght={"missing_values": [0]}))
    assert infer_schema(clinic(), prepared_by(patient={"ignore": True})).names == ("age", "weight", "sex")


def test_units_are_for_numbers() -> None:
    with pytest.raises(InputError, match="site 'lyon', column 'sex': scale is for numbers, and this column holds text"):
        infer_schema(clinic(), prepared_by(sex={"scale": {"lyon": 2}}))


def test_with_noise_cells_are_not_changed_and_the_ledger_knows_the_whole_table(tmp_path: Path) -> None:
    bounds = {"age": (0, 120), "weight": (20, 200)}
    privacy = fp.Privacy(1.0, bounds=bounds, store=str(tmp_path), ceiling=1.1)
    tables = {site: table.assign(sex=table["sex"] == "m") for site, table in clinic().items()}
    ignoring = prepared_by(sex={"ignore": True})
    assert fp.MPERI(schema=ignoring, privacy=privacy).fit(tables).graph.names == ("age", "weight")
    wider = fp.Privacy(1.0, bounds={**bounds, "sex": ["False", "True"]}, store=str(tmp_path), ceiling=1.1)
    with pytest.raises(InputError, match="above its ceiling"):  # the ledger is of the whole table
        fp.MPERI(privacy=wider).fit(tables)
    with pytest.raises(InputError, match="column 'age': missing_values, rename and scale are for runs without noise"):
        fp.MPERI(schema=prepared_by(age={"missing_values": [0]}), privacy=privacy).fit(tables)


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "UTF8"])
def test_an_encoding_that_is_given(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "north.csv"
    file.write_bytes("größe;gewicht\n1,75;80\n1,80;82\n".encode(encoding))
    table = Opening(encoding=encoding).open(file)
    assert table.columns == ("größe", "gewicht")
    assert next(table.chunks())["größe"].tolist() == [1.75, 1.8]


def test_a_decimal_mark_that_is_given(tmp_path: Path) -> None:
    file = tmp_path / "north.csv"
    file.write_text('a,b\n"1,5",2\n"2,5",3\n')
    assert next(Opening(decimal=",").open(file).chunks())["a"].tolist() == [1.5, 2.5]
    assert next(Opening().open(file).chunks())["a"].tolist() == ["1,5", "2,5"]


def test_a_wrong_encoding_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "north.csv"
    file.write_bytes("age,größe\n41,1\n37,2\n".encode("latin-1"))
    with pytest.raises(InputError, match="is not UTF-8 text; save it as CSV in UTF-8, or name its encoding"):
        Opening().open(file)
    with pytest.raises(InputError, match="is not ascii text"):
        list(Opening(encoding="ascii").open(file).chunks())


def test_an_encoding_that_is_not_one_of_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "north.csv"
    file.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(InputError, match="encoding 'rot13' is not known; usual ones are utf-8, cp1252"):
        Opening(encoding="rot13").open(file)
