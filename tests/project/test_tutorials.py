"""Each tutorial, followed from top to bottom in an empty folder, as a new user would."""

import json
import shutil
from pathlib import Path

import pytest
from helpers.following import DOCS, follow

import fedperi as fp

TUTORIALS = DOCS / "tutorials"
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="the tutorials are written for a POSIX shell")


def test_first_graph(tmp_path: Path) -> None:
    follow(TUTORIALS / "first-graph.md", tmp_path)
    assert (tmp_path / "fedperi-demo" / "report.html").is_file()
    written = {path.name for path in (tmp_path / "results").iterdir()}
    assert written >= {"report.html", "edges.csv", "result.json", "manifest.json", "graph.dot", "graph.gml"}
    truth = json.loads((tmp_path / "data" / "truth.json").read_text(encoding="utf-8"))
    result = fp.load(tmp_path / "results")
    assert result.graph.directed <= {tuple(edge) for edge in truth["dag"]["directed"]}
    targets = {(f"site_{k}", name) for k, names in enumerate(truth["targets"]) for name in names}
    assert targets == {(one.site, one.variable) for one in result.differences}


def test_before_a_run(tmp_path: Path) -> None:
    follow(DOCS / "guides" / "before-a-run.md", tmp_path)
    assert (tmp_path / "data" / "knowledge.toml").is_file()


def test_effects(tmp_path: Path) -> None:
    (done,) = follow(DOCS / "guides" / "effects.md", tmp_path)
    assert (
        "Effect of X3 on X4" in done.stdout
        and "Effects pooled over sites" in done.stdout
        and '"cause": "X3"' in done.stdout
    )


def test_knowledge(tmp_path: Path) -> None:
    follow(TUTORIALS / "knowledge.md", tmp_path)
    without, known = (fp.load(tmp_path / name) for name in ("without", "with"))
    on_one = [[edge for edge in one.robustness if edge.grade == "one site"] for one in (without, known)]
    assert [len(one.graph.undirected) for one in (without, known)] == [4, 1]
    assert [len(one) for one in on_one] == [1, 0]


def test_release_by_mail(tmp_path: Path) -> None:
    """The noise has no seed: which edges are found is not asked here."""
    follow(TUTORIALS / "release-by-mail.md", tmp_path)
    assert len(fp.load(tmp_path / "results").sites) == 4


def test_from_a_database(tmp_path: Path) -> None:
    pytest.importorskip("ibis", reason="databases need pip install '.[sql]'")
    follow(TUTORIALS / "database.md", tmp_path)
    tables = sorted((tmp_path / "data").glob("*.csv"))
    assert fp.load(tmp_path / "results").graph == fp.MPERI().fit(tables).graph


@pytest.mark.network
@pytest.mark.slow
def test_six_hospitals_over_a_network(tmp_path: Path) -> None:
    from helpers.flower import free_port

    follow(TUTORIALS / "network.md", tmp_path, (("9092", str(free_port())),))
    assert [len(fp.load(tmp_path / name).sites) for name in ("results", "again", "later")] == [6, 6, 7]
