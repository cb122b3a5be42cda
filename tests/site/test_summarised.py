"""The paper's methods from one statement per site: the same regrets, graphs and manifests as from the tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.refusals import assert_refused

import fedperi as fp
from fedperi.tables import infer_schema


def mixed_tables(rows: int = 400) -> dict[str, pd.DataFrame]:
    """Numbers, a yes/no column and a category whose first level one site lacks."""
    rng = np.random.default_rng(5)
    out = {}
    for name, levels in {"north": ["a", "b", "c"], "south": ["b", "c"], "west": ["a", "b", "c"]}.items():
        age = rng.normal(60, 10, rows)
        dose = 0.4 * age + rng.normal(0, 4, rows)
        arm = np.array(levels)[(rng.random(rows) * len(levels)).astype(int)]
        sick = np.where(rng.random(rows) < 1 / (1 + np.exp(-(dose - 24) / 4)), "yes", "no")
        out[name] = pd.DataFrame({"age": age, "dose": dose, "arm": arm, "sick": sick})
    return out


@pytest.mark.parametrize(
    "method", [fp.IPERI(), fp.PERI(), fp.IPERI(masking="consensus"), fp.IPERI(masking="consensus", local="ges")]
)
@pytest.mark.parametrize("kind", ["numbers", "mixed"])
def test_summaries_give_what_tables_give(method: Any, kind: str) -> None:
    if kind == "numbers":
        names = ["north", "south", "west", "east"]
        tables = dict(zip(names, fp.simulate(6, clients=4, samples=500, seed=3).sites, strict=True))
    else:
        tables = mixed_tables()
    schema = None if kind == "numbers" else infer_schema(list(tables.values()))
    ours = method.fit([fp.Summary.of(table, schema, name=name) for name, table in tables.items()])
    theirs = method.fit(tables)
    assert ours.graph == theirs.graph
    assert ours.cpdag == theirs.cpdag
    assert ours.regrets == theirs.regrets
    assert [site["sha256"] for site in ours.manifest["sites"]] == [site["sha256"] for site in theirs.manifest["sites"]]


@pytest.mark.parametrize("seed", range(20))
def test_to_the_last_bit_where_sites_lack_levels_or_declare_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels = [f"l{k}" for k in range(int(rng.integers(2, 6)))]
    tables = {}
    for name in ("north", "south", "west"):
        rows = int(rng.integers(60, 900))
        arm = rng.choice(rng.permutation(levels)[: int(rng.integers(2, len(levels) + 1))], rows)
        age = np.clip(rng.normal(50, 10, rows), 0, 100)
        dose = np.clip(age * 10 ** rng.uniform(-3, 2) + rng.normal(size=rows), -1e4, 1e5)
        tables[name] = pd.DataFrame({"age": age, "arm": arm, "dose": dose})
    bounds = {"age": (0.0, 100.0), "dose": (-1e4, 1e5)} if seed % 2 else {}
    columns = [fp.tables.Column(name, "continuous", bounds=bounds.get(name)) for name in ("age", "dose")]
    columns.insert(1, fp.tables.Column("arm", "categorical", tuple(levels)))
    schema = fp.tables.Schema(tuple(columns))
    ours = fp.IPERI().fit([fp.Summary.of(table, schema, name=name) for name, table in tables.items()])
    assert ours.regrets == fp.IPERI(schema=schema).fit(tables).regrets


def all_categories(rows: int = 400) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(8)
    out = {}
    for name in ("north", "south"):
        ward = rng.integers(0, 3, rows)
        arm = np.where(rng.random(rows) < 0.7, ward, rng.integers(0, 3, rows))
        out[name] = pd.DataFrame({"ward": np.array(list("xyz"))[ward], "arm": np.array(list("abc"))[arm]})
    return out


def test_categories_alone_are_scored_as_mixed_and_the_result_says_so() -> None:
    tables = all_categories()
    schema = infer_schema(list(tables.values()))
    summaries = [fp.Summary.of(table, schema, name=name) for name, table in tables.items()]
    result = fp.IPERI().fit(summaries)
    assert result.regrets == fp.IPERI(data="mixed").fit(tables).regrets
    assert result.warnings[0] == (
        "All columns are categories, and north, south gave summaries: they are scored by indicators, as with "
        "data='mixed'. From tables, combinations of levels would be counted, and the result may differ."
    )
    assert not any("indicators" in one for one in fp.IPERI(data="mixed").fit(summaries).warnings)


@pytest.mark.parametrize(
    ("data", "needs"),
    [("nonlinear", "polynomials in the range of its own columns"), ("discrete", "counts of combinations of levels")],
)
def test_scores_that_need_more_than_a_summary_are_refused(data: Any, needs: str) -> None:
    tables = all_categories() if data == "discrete" else mixed_tables()
    summaries = [fp.Summary.of(table, name=name) for name, table in tables.items()]
    assert_refused(
        lambda: fp.IPERI(data=data).fit(summaries),
        f"site 'north' is known by its summary, and data={data!r} needs {needs}, which a summary does not have; "
        "leave data out, or give the table",
    )


def test_a_constant_column_is_refused_by_the_papers_methods_with_the_remedy() -> None:
    tables = {"north": pd.DataFrame({"a": np.arange(30.0), "b": np.arange(30.0) ** 2})}
    tables["south"] = tables["north"].assign(a=1.0)
    assert_refused(
        lambda: fp.IPERI().fit([fp.Summary.of(table, name=name) for name, table in tables.items()]),
        "site 'south', column 'a': all values are the same, and this method needs values that differ at every site; "
        "use M-PERI, or leave the column or the site out",
    )


def test_the_bootstrap_needs_no_row() -> None:
    tables = fp.simulate(4, clients=3, samples=400, seed=2).sites
    summaries = [fp.Summary.of(table, name=f"s{k}") for k, table in enumerate(tables)]
    result = fp.IPERI(bootstrap=5).fit(summaries)
    assert result.stability is not None
