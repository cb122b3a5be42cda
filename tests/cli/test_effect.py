"""`fedperi effect` as a user meets it."""

import json
from pathlib import Path

import pytest
from helpers.command import fedperi

import fedperi as fp


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("effect")
    truth = fp.PDAG.from_edges([("age", "weight"), ("age", "pressure"), ("weight", "pressure")])
    sim = fp.simulate(truth, clients=4, samples=2000, weights=(0.5, 1.0), intervention="shift", seed=3)
    result = fp.MPERI().fit(dict(zip(["Brest", "Lyon", "Metz", "Nice"], sim.sites, strict=True)))
    assert result.graph == truth
    result.save(where / "results")
    return where


def words(text: str) -> str:
    return " ".join(text.split())


def test_one_effect(place: Path) -> None:
    done = fedperi("effect", "results", "--cause", "weight", "--effect", "pressure", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    said = words(done.stdout)
    assert said.startswith("Effect of weight on pressure (pressure per unit of weight)")
    for part in ("Brest", "Lyon", "Metz", "Nice", "Pooled", "Adjusted for age.", "I^2", "causal only if"):
        assert part in said
    result = fp.load(place / "results")
    row = result.effects.query("cause == 'weight' and effect == 'pressure' and site == 'common'").iloc[0]
    assert f"Probability of the arrow weight -> pressure: {row['probability']:.2f}." in said
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("Pooled ")]
    shown = [float(part) for part in line.replace(" to ", " ").split()[1:]]
    expected = row[["total", "total_low", "total_high", "direct", "direct_low", "direct_high"]].astype(float)
    assert shown == pytest.approx(expected.tolist(), rel=5e-3)


def test_as_json(place: Path) -> None:
    done = fedperi("effect", "results", "--cause", "age", "--effect", "pressure", "--json", cwd=place)
    rows = json.loads(done.stdout)
    assert [row["site"] for row in rows] == ["Brest", "Lyon", "Metz", "Nice", "common"]
    assert rows[-1]["total"]["low"] < rows[-1]["total"]["value"] < rows[-1]["total"]["high"]
    assert rows[0]["total"]["tau"] is None and rows[-1]["adjustment"] == []


def test_lists(place: Path) -> None:
    lines = fedperi("effect", "results", cwd=place).stdout.splitlines()
    assert [line.split()[:2] for line in lines[1:4]] == [["age", "weight"], ["age", "pressure"], ["weight", "pressure"]]
    only = fedperi("effect", "results", "--effect", "weight", cwd=place).stdout.splitlines()
    assert only[1].split()[:2] == ["age", "weight"] and not only[2].strip()
    nothing = fedperi("effect", "results", "--cause", "pressure", cwd=place)
    assert words(nothing.stdout) == "In the graph no directed path leads from pressure: it has no effect."


def test_no_path(place: Path) -> None:
    said = words(fedperi("effect", "results", "--cause", "pressure", "--effect", "age", cwd=place).stdout)
    assert "In the graph no directed path leads from pressure to age: no effect." in said
    assert said.endswith("In the other direction there is one: --cause age --effect pressure.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("results", "--cause", "sbp"), "error: unknown variable 'sbp'; known: age, weight, pressure"),
        (
            ("results", "--cause", "age", "--effect", "age"),
            "error: cause and effect are both 'age': give two variables",
        ),
        (("nowhere",), "error: cannot read the result 'nowhere': No such file or directory"),
    ],
)
def test_bad_input(place: Path, arguments: tuple[str, ...], message: str) -> None:
    done = fedperi("effect", *arguments, cwd=place)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (2, "", message)


def test_results_without_summaries(place: Path, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text((place / "results" / "result.json").read_text())
    done = fedperi("effect", ".", "--cause", "age", cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("error: '.' has no summaries.json, from which effects are computed")
