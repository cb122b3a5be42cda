"""The paper's methods from one statement per site: the same regrets, graphs and manifests as from the tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import fedperi as fp


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
    schema = None if kind == "numbers" else fp.tables.infer_schema(list(tables.values()))
    ours = method.fit([fp.Summary.of(table, schema, name=name) for name, table in tables.items()])
    theirs = method.fit(tables)
    assert ours.graph == theirs.graph
    assert ours.cpdag == theirs.cpdag
    if kind == "numbers":  # with other columns beside them, sums of indicators may be rounded in another order
        assert ours.regrets == theirs.regrets
        assert [site["sha256"] for site in ours.manifest["sites"]] == [
            site["sha256"] for site in theirs.manifest["sites"]
        ]
    else:
        assert ours.regrets == pytest.approx(theirs.regrets, rel=1e-9, abs=1e-9)


def test_a_constant_column_is_refused_by_the_papers_methods_with_the_remedy() -> None:
    tables = {"north": pd.DataFrame({"a": np.arange(30.0), "b": np.arange(30.0) ** 2})}
    tables["south"] = tables["north"].assign(a=1.0)
    with pytest.raises(fp.InputError) as caught:
        fp.IPERI().fit([fp.Summary.of(table, name=name) for name, table in tables.items()])
    assert str(caught.value) == (
        "site 'south', column 'a': all values are the same, and this method needs values that differ at every site; "
        "use M-PERI, or leave the column or the site out"
    )


def test_the_bootstrap_needs_no_row() -> None:
    tables = fp.simulate(4, clients=3, samples=400, seed=2).sites
    summaries = [fp.Summary.of(table, name=f"s{k}") for k, table in enumerate(tables)]
    result = fp.IPERI(bootstrap=5).fit(summaries)
    assert result.stability is not None
