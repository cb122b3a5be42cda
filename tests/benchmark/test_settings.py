"""Each setting fits its description, and the survey says where M-PERI is best and where not."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.command import fedperi_here

import fedperi as fp
from fedperi.benchmark.page import Request
from fedperi.benchmark.settings import SETTINGS, draw
from fedperi.benchmark.survey import cells
from fedperi.benchmark.survey.conclusions import comparisons, conclusions, overall
from fedperi.benchmark.survey.places import places


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_can_be_drawn_and_repeated(name: str) -> None:
    one, again = (draw(SETTINGS[name], 5, 4, 50, 4) for _ in range(2))
    assert len(one.sites) == 4 and len(one.targets) == 4
    for table, other in zip(one.sites, again.sites, strict=True):
        pd.testing.assert_frame_equal(table, other)
        assert list(table.columns) == list(one.dag.names)
        assert SETTINGS[name].clinic or table.shape[1] == 5


def test_settings_are_what_their_words_say() -> None:
    def drawn(name: str, p: int = 6, clients: int = 4) -> Any:
        return draw(SETTINGS[name], p, clients, 400, 1)

    assert drawn("no observational site").targets[0] and not drawn("mixed").targets[0]
    assert {len(some) for some in drawn("two targets").targets} == {0, 2}
    assert [len(table) for table in drawn("unequal sites", 3).sites] == [100, 1000, 10_000, 100_000]
    assert len(drawn("hidden cause").hidden) == 1
    assert not any(drawn("no policy").targets)
    for table in drawn("own standard units").sites:
        assert np.allclose(table.std(), 1) and np.allclose(table.mean(), 0)
    rows = pd.concat(drawn("standard units").sites)
    assert np.allclose(rows.std(), 1) and not np.allclose(drawn("standard units").sites[1].std(), 1)
    graphs = [draw(SETTINGS["clinic"], 12, 4, 30, seed).config["graph"] for seed in range(4)]
    assert graphs == ["stroke", "diabetes", "sepsis", "random"]


def test_the_survey_has_few_seeds_of_slow_methods_unless_they_are_asked_for() -> None:
    def seeds(method: str, **options: Any) -> int:
        asked = Request(range(20), **options)
        return len({cell["seed"] for cell in cells(asked) if cell["method"] == method})

    assert seeds("mperi") == 20 and seeds("feddag") == 3 and seeds("feddag", methods=("feddag",)) == 20
    sizes = {
        method: {c["p"] for c in cells(Request(range(1))) if c["method"] == method} for method in ("mperi", "gnies")
    }
    assert sizes == {"mperi": {5, 10, 12, 20, 50}, "gnies": {5, 10}}
    every = [json.dumps(cell) for cell in cells(Request(range(4)))]
    assert len(set(every)) == len(every)
    assert {cell["setting"] for cell in cells(Request(range(1), at=(12,), settings=("clinic",)))} == {"clinic"}


def _fits(scores: dict[str, list[int]], **more: Any) -> list[dict[str, Any]]:
    where = {"setting": "cut", "p": 5, "clients": 5, "samples": 1000, "right": 4, "wrong": 1, **more}
    return [
        {**where, "method": method, "seed": seed, "shd": shd, "wrong": shd}
        for method, some in scores.items()
        for seed, shd in enumerate(some)
    ]


def test_methods_are_compared_on_the_same_seeds_only() -> None:
    # On its only seed PERI is better; over all seeds M-PERI has the lower mean, but that compares other data.
    fits = _fits({"mperi": [2, 0, 0, 0], "peri": [1], "pc": [0, 0, 0, 0], "mperi-75": [0, 0, 0, 0]})
    (place,) = places(fits, "mperi")
    (rival,) = place.rivals
    assert (place.runs, rival.name, rival.pair.runs, rival.lead) == (4, "peri", 1, -1.0)
    assert rival.behind and rival.better_ratio and not rival.clear  # of one run nothing is clear
    assert not place.best_shd and not place.best_ratio
    (other,) = places(fits, "mperi-75")
    assert other.best_shd and other.best_ratio
    said = conclusions(fits)
    assert "**M-PERI**: lowest mean SHD in 0 of 1 places, best ratio of right to wrong directions in 0 of 1." in said
    told = comparisons(fits)[0]
    assert (told["against"], told["runs"], told["ahead_by"], told["its_wrong"]) == ("peri", 1, -1.0, 1)
    assert "| PC, pooled | all rows | 4 | 0.00 | 0.50 | 0.00 | 16 : 0 | 16 : 2 | 16 : 0 |" in overall(fits)


def test_no_wrong_direction_counts_as_a_half() -> None:
    fits = _fits({"mperi": [1, 1], "peri": [0, 0]}, right=3)
    assert places(fits, "mperi")[0].rivals[0].better_ratio  # 6:0 is 12, 6:2 is 3
    silent = [{**row, "right": 0} if row["method"] == "peri" else row for row in fits]
    assert not places(silent, "mperi")[0].rivals[0].better_ratio  # who states nothing is no better


def test_a_failed_fit_is_no_comparison() -> None:
    fits = _fits({"mperi": [2], "peri": [1]})
    fits[1]["error"] = "it broke"
    (place,) = places(fits, "mperi")
    assert place.rivals == () and place.best_shd


def test_the_survey_from_the_command_line_and_a_row_again_by_its_command(tmp_path: Path) -> None:
    options = ("--settings", "cut,own standard units", "--at", "4", "--methods", "mperi,peri,oracle-targets")
    out = tmp_path / "out"
    done = fedperi_here("benchmark", "settings", *options, "--seeds", "2", "--first", "7", "--jobs", "1", "--out", out)
    assert done.returncode == 0, done
    table = pd.read_csv(out / "settings.csv").set_index(["setting", "method"])
    worlds = [draw(SETTINGS["cut"], 4, 5, 1000, seed) for seed in (7, 8)]
    found = [fp.shd(fp.PERI().fit(world.sites).graph, world.dag) for world in worlds]
    assert table.loc[("cut", "peri"), "shd"] == pytest.approx(np.mean(found))
    assert table.loc[("cut", "oracle-targets"), "recall"] == 1
    command = table.loc[("cut", "peri"), "command"]
    assert command == ("fedperi benchmark settings --settings 'cut' --at 4 --methods peri --first 7 --seeds 2")
    assert "| cut | 2 | " in done.stdout and "### Where M-PERI is first" in done.stdout
    assert "### Calibration of M-PERI" in done.stdout and (out / "settings-p4.png").exists()
    # What is saved is shown whatever seeds are asked for, and in a page with links from where it lies.
    page = tmp_path / "settings.md"
    saved = fedperi_here("benchmark", "settings", "--saved", "--at", "4", "--out", out, "--page", page)
    assert saved.returncode == 0, saved
    assert "Seeds 7 to 8." in page.read_text() and "](out/settings.csv)" in page.read_text()
