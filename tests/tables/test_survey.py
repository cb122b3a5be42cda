"""One reading for schema and statistics: it gives what two readings give, or leaves a table to the second."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fedperi as fp
from fedperi.tables import Statistics, infer_schema, summarize, table
from fedperi.tables.checks.survey import survey


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
    fp.IPERI(bootstrap=1).fit(sites)  # drawing rows anew reads them anew
    assert read == ["north", "south", "west", "west", "north", "south", "west"]
    assert [site["sha256"] for site in once.manifest["sites"]] == [
        site["sha256"] for site in fp.IPERI().fit(sites).manifest["sites"]
    ]


def test_what_is_wrong_with_a_table_is_said_as_before() -> None:
    with pytest.raises(fp.InputError, match=r"site 'south', column 'b': all values are the same"):
        fp.IPERI().fit({"north": numbers(50, 1), "south": numbers(50, 2, b=1.0)})
    with pytest.raises(fp.InputError, match=r"site 'south' has 2 rows for 3 variables"):
        fp.IPERI().fit({"north": numbers(50, 1), "south": numbers(2, 2)})
