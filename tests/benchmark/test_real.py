"""Real tables: nested folders, tables that are recognised by their names, pictures, mistakes and failures."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.command import fedperi_here

import fedperi as fp
from fedperi.benchmark.real import datasets
from fedperi.benchmark.real.recipes import HEART, SACHS, heart_tables

HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")


def hearts(folder: Path) -> None:
    """Tables with the columns and the gaps of the UCI files; age causes the pressure, that the disease."""
    folder.mkdir(parents=True)
    for k, name in enumerate(HOSPITALS):
        rng = np.random.default_rng(k)
        age = rng.normal(55 + 3 * k, 9, 120).round()
        pressure = (100 + 0.6 * age + rng.normal(0, 8, 120)).round()
        table = pd.DataFrame(
            {
                "age": age,
                "sex": rng.integers(0, 2, 120),
                "cp": rng.integers(1, 4, 120) if k else rng.integers(1, 4, 120).astype(float),
                "trestbps": pressure,
                "chol": rng.normal(220, 30, 120).round() * (name != "switzerland"),
                "restecg": rng.integers(0, 3, 120),
                "oldpeak": rng.normal(1, 1, 120),
                "num": ((pressure > 135) * rng.integers(1, 5, 120)).clip(0, 4),
            }
        )
        table.loc[:3, "oldpeak"] = None
        table.to_csv(folder / f"{name}.csv", index=False)


def test_the_heart_tables_are_prepared(tmp_path: Path) -> None:
    hearts(tmp_path / "heart")
    tables = heart_tables({name: tmp_path / "heart" / f"{name}.csv" for name in HOSPITALS})
    for table in tables.values():
        assert "chol" not in table and "num" not in table  # no Swiss row has cholesterol: 0 means not measured
        assert len(table) == 116 and not table.isna().any(axis=None)
        assert set(table["disease"]) == {0, 1} and set(table["cp"]) == {"1", "2", "3"}


def test_a_folder_of_folders_becomes_pages_with_pictures_and_mistakes(tmp_path: Path) -> None:
    hearts(tmp_path / "data" / "heart")
    fp.simulate(4, clients=3, samples=300, seed=1).save(tmp_path / "data" / "ward")
    out, page = tmp_path / "out", tmp_path / "real.md"
    arguments = ("--methods", "mperi,notears-admm", "--jobs", "1", "--out", out, "--page", page)
    done = fedperi_here("benchmark", "real", "--tables", tmp_path / "data", *arguments)
    assert done.returncode == 0, done
    text = page.read_text()
    assert "## Heart disease at four hospitals" in text and "## ward" in text
    assert "- NOTEARS-ADMM: InputError: " in text and "Impossible arrows: " in text
    for name in ("real-heart-graphs", "real-heart-pairs", "real-ward-graphs", "real-ward-pairs"):
        assert f"](out/{name}.png)" in text and (out / f"{name}.png").stat().st_size > 5000
    row = pd.read_csv(out / "real-ward.csv").set_index("method").loc["M-PERI"]
    sim = fp.simulate(4, clients=3, samples=300, seed=1)
    graph = fp.PDAG.from_json((out / "real-ward-mperi.json").read_text())
    assert row["right"] == len(graph.directed & sim.dag.directed) and row["shd"] == fp.shd(graph, sim.dag)
    # Another run replaces its own cells, and leaves those of other experiments alone.
    other = json.dumps({"cell": {"task": "fit", "seed": 1}, "found": {"shd": 0}})
    with (out / "cells.jsonl").open("a") as file:
        file.write(other + "\n")
    fedperi_here("benchmark", "real", "--tables", tmp_path / "data" / "ward", "--methods", "peri", "--out", out)
    tasks = [json.loads(line)["cell"]["task"] for line in (out / "cells.jsonl").read_text().splitlines()]
    assert sorted(tasks) == ["fit", "real"]


def test_a_truth_with_two_columns_has_arrows_only(tmp_path: Path) -> None:
    for site in ("a", "b"):
        pd.DataFrame({"x": [1.0, 2], "y": [1.0, 2], "z": [1.0, 2]}).to_csv(tmp_path / f"{site}.csv", index=False)
    (tmp_path / "truth.csv").write_text("from,to\nx,y\n")
    truth = datasets(tmp_path)[0].truth
    assert truth == fp.PDAG.from_edges([("x", "y")], names=["x", "y", "z"])


@pytest.mark.parametrize("one", [HEART, SACHS])
def test_published_tables_say_where_they_come_from(one: object) -> None:
    assert "et al." in one.words or "CC BY 4.0" in one.words  # type: ignore[attr-defined]
