"""Text for a paper, and everything about one pair in words: each claim is tested against its number."""

from pathlib import Path

import pytest
from helpers.command import fedperi_here
from helpers.pages import by_hand, four_hospitals

import fedperi as fp
from fedperi.methods import Result
from fedperi.methods.effects.words import number
from fedperi.report.explain import explain
from fedperi.report.paper.assumptions import assumptions
from fedperi.report.paper.methods import bibtex
from fedperi.report.paper.results import limitations_text, results_text


@pytest.fixture(scope="module")
def result() -> Result:
    return four_hospitals()


def test_results_have_the_numbers_of_the_result(result: Result) -> None:
    text = results_text(result)
    assert text.startswith(f"The graph has {len(result.graph)} edges, {len(result.graph.directed)} of them")
    frame = result.to_frame()
    for word, least in (("practically certain", "0.95"), ("likely", "0.8"), ("leaning", "0.6")):
        assert f"{(frame['how_sure'] == word).sum()} {word} (probability {least} or more)" in text
    for row in frame.itertuples():
        assert (
            f"{row.a} → {row.b} (probability {row.probability:.2f}, direct effect {number(row.effect)}, 95 % interval "
            f"{number(row.effect_low)} to {number(row.effect_high)})"
        ) in text
    assert all(one.words in text for one in result.differences)


def test_results_of_iperi_state_no_probabilities() -> None:
    text = results_text(fp.IPERI(bootstrap=3).fit(fp.simulate(5, clients=3, samples=1000, seed=3).sites))
    assert "probability" not in text and "of resampled runs" in text


def test_limitations_are_the_assumptions_and_the_warnings() -> None:
    result = by_hand()
    assumed = assumptions(result.method)
    text = limitations_text(result, assumed)
    assert all(one.name[1:] in text for one in assumed) and text.endswith(result.warnings[-1])


def test_bibtex_is_whole() -> None:
    for method, entries in (("M-PERI", 2), ("I-PERI", 2), ("FedDAG", 1)):
        text = bibtex("9.9", method)
        assert text.count("@") == entries and text.count("{") == text.count("}") and "{9.9}" in text


def test_explain_says_what_the_result_says(result: Result) -> None:
    said = explain(result, "weight", "pressure")
    row = result.to_frame().set_index(["a", "b"]).loc[("weight", "pressure")]
    assert said[0] == "The graph has an arrow from weight to pressure."
    assert f"Probability of weight -> pressure: {row.probability:.2f};" in said[1]
    assert f"weight -> pressure is {row.how_sure}." in said
    direct = f"{number(row.effect)} ({number(row.effect_low)} to {number(row.effect_high)})"
    assert f"Pooled direct effect of weight on pressure: {direct} (pressure per unit of weight)." in said
    assert "Total effect: along all directed paths. Adjusted for age." in said
    for one in result.differences:
        assert (one.words in said) == (one.variable in ("weight", "pressure"))
    assert explain(result, "pressure", "weight")[0] == said[0]


def test_explain_open_edges_pairs_without_one_and_other_methods() -> None:
    said = explain(by_hand(), "age", "smoker")
    assert said[0] == "The graph has an edge between age and smoker, with open direction."
    assert said.count("The direction is open.") == 1 and "summaries.json" in said[-1]
    alone = explain(by_hand(), "smoker", "stroke")
    assert alone[:2] == [
        "The graph has no edge between smoker and stroke.",
        "Probability of smoker -> stroke: 0.00; of stroke -> smoker: 0.00; of no edge: 1.00.",
    ]
    rests = explain(by_hand(), "stroke", "dose")
    assert "It rests on Lyon alone." in rests and "What changes it: without Lyon: the arrow is reversed." in rests
    result = fp.IPERI(bootstrap=3).fit(fp.simulate(4, clients=2, samples=1000, seed=3).sites)
    edge = result.edges[0]
    one = next(one for one in result.stability if {one.a, one.b} == {edge.a, edge.b})
    assert any(f"an open edge in {one.undirected:.0%}" in text for text in explain(result, edge.a, edge.b))


def test_explain_refuses_what_is_no_pair() -> None:
    with pytest.raises(fp.InputError, match="unknown variable 'bmi'; known: age, dose"):
        explain(by_hand(), "age", "bmi")
    with pytest.raises(fp.InputError, match="both variables are 'age': give two"):
        explain(by_hand(), "age", "age")


def test_the_command(tmp_path: Path) -> None:
    by_hand().save(tmp_path / "out")
    done = fedperi_here("explain", tmp_path / "out", "age", "dose")
    assert done.returncode == 0 and done.stdout.startswith("The graph has an arrow from age to dose.")
    wrong = fedperi_here("explain", tmp_path / "out", "age", "bmi")
    assert wrong.returncode == 2 and "unknown variable 'bmi'" in wrong.stderr
    nowhere = fedperi_here("explain", tmp_path / "nowhere", "age", "bmi")
    assert nowhere.returncode == 2 and "cannot read the result" in nowhere.stderr


def test_help_has_the_everyday_options_first() -> None:
    text = fedperi_here("run", "--help").stdout
    everyday = ("--out", "--method", "--data", "--knowledge", "--missing", "--dry-run")
    places = [text.index(f"{name} ") for name in everyday]
    headings = [text.index(f"─ {name} ─") for name in ("Tables", "Method", "Privacy", "Other")]
    assert max(places) < min(headings)
    assert "--install-completion" in fedperi_here("--help").stdout
