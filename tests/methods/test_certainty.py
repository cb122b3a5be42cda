"""Four words for the certainty of an edge, and the table of edges that contains them."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.pages import by_hand

import fedperi as fp
from fedperi.methods.certainty import WORDS, how_sure, meaning
from fedperi.methods.tables import EdgeRow, edge_csv, edge_rows


@pytest.mark.parametrize(
    ("probability", "word"),
    [
        (1.0, "practically certain"),
        (0.95, "practically certain"),
        (0.9449, "likely"),
        (0.8, "likely"),
        (0.794, "leaning"),
        (0.6, "leaning"),
        (0.594, "open"),
        (0.0, "open"),
    ],
)
def test_words_have_a_fixed_meaning(probability: float, word: str) -> None:
    assert how_sure(probability).word == word
    assert f"{word.capitalize()}:" in meaning()


def test_what_the_graph_leaves_open_is_leaning_at_most() -> None:
    assert [how_sure(p, directed=False).word for p in (0.99, 0.8, 0.6, 0.59)] == ["leaning"] * 3 + ["open"]
    assert [how_sure(p, directed=True).word for p in (0.99, 0.8, 0.6, 0.3)] == ["practically certain", "likely"] + [
        "leaning"
    ] * 2
    likely = by_hand().probable[1]._replace(forward=0.97, backward=0.03, none=0.0)
    rows = edge_rows(by_hand(probable=(likely,)))
    assert [row.how_sure for row in rows if not row.directed] == ["leaning"]


def test_the_meaning_names_every_threshold() -> None:
    for word in WORDS[:-1]:
        assert f"{word.word.capitalize()}: " in meaning() and f"{word.least:g} or more" in meaning()


def test_the_table_says_what_the_result_says() -> None:
    rows = {(row.a, row.b): row for row in edge_rows(by_hand())}
    assert rows["age", "dose"].how_sure == "practically certain"
    assert rows["dose", "stroke"].how_sure == "likely"
    assert rows["dose", "stroke"].changes_if == "without Lyon: the arrow is reversed"
    assert rows["smoker", "age"].how_sure == "open" and rows["smoker", "age"].probability == 0.55
    assert not rows["smoker", "age"].directed and rows["smoker", "age"].effect is None


def test_effects_in_the_table_are_those_in_common() -> None:
    truth = fp.PDAG.from_edges([("age", "weight"), ("age", "pressure"), ("weight", "pressure")])
    sim = fp.simulate(truth, clients=4, samples=2000, weights=(0.5, 1.0), intervention="shift", seed=3)
    result = fp.MPERI().fit(dict(zip(["common", "Lyon", "Metz", "Nice"], sim.sites, strict=True)))
    effects = result.effects
    assert len(effects[effects["site"] == "common"]) == 2 * len(effects[effects["pooled"]])  # a site is called common
    pooled = effects[effects["pooled"]].set_index(["cause", "effect"])
    frame = result.to_frame()
    assert set(zip(frame["a"], frame["b"], strict=True)) == truth.directed
    for row in frame.itertuples():
        expected = pooled.loc[(row.a, row.b)]
        assert (row.effect, row.effect_low, row.effect_high, row.unit) == (
            expected["direct"],
            expected["direct_low"],
            expected["direct_high"],
            expected["unit"],
        )
        assert row.how_sure == how_sure(row.probability, directed=True).word
    text = result.summary()
    first = frame.iloc[0]
    assert f"{first.a} -> {first.b}  {first.probability:.2f} {first.how_sure}  effect" in text


def test_the_csv_file_holds_the_table(tmp_path: Path) -> None:
    result = by_hand()
    frame = pd.read_csv(result.save(tmp_path / "out") / "edges.csv")
    assert list(frame.columns) == list(EdgeRow._fields)
    for row, expected in zip(frame.itertuples(index=False), edge_rows(result), strict=True):
        for name, value in expected._asdict().items():
            read = getattr(row, name)
            assert pd.isna(read) if value in (None, "") else read == value, name


def test_the_csv_file_has_no_formulas() -> None:
    result = by_hand().graph
    renamed = fp.PDAG.from_edges([("=1+1", "dose")], names=["=1+1", "dose"])
    frame = pd.read_csv(io.StringIO(edge_csv(by_hand(graph=renamed, probable=(), robustness=(), edges=()))))
    assert frame["a"].tolist() == ["'=1+1"] and len(result) == 3


def test_methods_without_probabilities_have_stability() -> None:
    result = fp.IPERI(bootstrap=4).fit(fp.simulate(4, clients=2, samples=500, seed=1).sites)
    frame = result.to_frame()
    assert frame["how_sure"].isna().all() and frame["stability"].between(0, 1).all()
    for row in frame.itertuples():
        one = next(one for one in result.stability if {one.a, one.b} == {row.a, row.b})
        shares = {True: one.forward if one.a == row.a else one.backward, False: one.undirected}
        assert np.isclose(row.stability, shares[row.directed])
