"""Tables in Spark, in local mode. Spark is no part of the test extra: `pip install pyspark`, and Java."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedperi import MPERI
from fedperi.tables import check, open_table
from fedperi.tables.summary.summaries import summaries

pytest.importorskip("ibis", reason="databases need the extra 'sql'")
pytest.importorskip("pyspark", reason="Spark is not installed")
pytestmark = [
    pytest.mark.database,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
]


def frame(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.normal(60, 10, 300)
    table = pd.DataFrame(
        {
            "age": age,
            "ward": rng.integers(0, 3, 300),
            "sex": rng.choice(["f", "m"], 300),
            "smoker": rng.random(300) < 0.3,
            "dose": 0.1 * age + rng.normal(size=300),
        }
    )
    table.loc[:29, "dose"] = -999.0
    table.loc[40:44, "age"] = np.nan
    return table


TABLES = {"north": frame(1), "south": frame(2)}


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    from pyspark.sql import SparkSession  # type: ignore[import-not-found,unused-ignore]

    options = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1", "spark.master": "local[2]"}
    spark = SparkSession.builder.config(map=options).getOrCreate()
    yield spark
    spark.stop()


def test_spark_finds_what_is_found_in_files(session: Any, tmp_path: Path) -> None:
    queries, urls = {}, {}
    for name, table in TABLES.items():
        table.to_parquet(tmp_path / f"{name}.parquet")
        (tmp_path / f"{name}.sql").write_text(
            f"-- connection: pyspark://\nSELECT * FROM parquet.`{tmp_path}/{name}.parquet`"
        )
        queries[name] = open_table(tmp_path / f"{name}.sql")
        session.read.parquet(f"{tmp_path}/{name}.parquet").createOrReplaceTempView(name)
        urls[name] = f"pyspark://?table={name}"
    found, expected = check(queries, missing="auto").findings, check(TABLES, missing="auto").findings
    assert "sentinel" in {one.problem for one in found}
    assert sorted(map(str, found)) == sorted(map(str, expected))
    for one, two in zip(summaries(urls, missing="em"), summaries(TABLES, missing="em"), strict=True):
        scale = np.sqrt(np.diag(two.covariance))
        np.testing.assert_allclose((one.mean - two.mean) / scale, 0, atol=1e-9)
        np.testing.assert_allclose((one.covariance - two.covariance) / np.outer(scale, scale), 0, atol=1e-9)
    assert MPERI().fit(urls).graph == MPERI().fit(TABLES).graph
