"""Bootstrap at the sites: what is drawn, and what comes back."""

import numpy as np
import pandas as pd
import pytest

import fedperi as fp
from fedperi.methods.stability import edge_stability
from fedperi.tables import summarize


def test_resampling_draws_rows_and_keeps_the_embedding() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"a": rng.standard_normal(4000), "g": rng.choice(["u", "v", "w"], 4000)})
    whole = summarize(table)
    draws = [summarize(table, resample=seed) for seed in range(40)]
    assert {d.blocks for d in draws} == {whole.blocks}
    assert len({d.n for d in draws}) > 1  # Poisson weights: the number of rows varies
    means = np.array([d.mean for d in draws])
    assert means.mean(axis=0) == pytest.approx(whole.mean, abs=4 * whole.scale.max() / np.sqrt(4000 * 40))
    # The spread of the draws is the standard error of the mean.
    assert means.std(axis=0) == pytest.approx(whole.scale / np.sqrt(4000), rel=0.4)
    again = summarize(table, resample=7)
    assert np.array_equal(again.correlation, draws[7].correlation)


def test_resampling_does_not_need_the_table_in_one_piece() -> None:
    table = pd.DataFrame(np.random.default_rng(2).standard_normal((1000, 3)), columns=list("abc"))
    pieces = summarize(table, resample=3, chunk=100)
    assert pieces.correlation == pytest.approx(summarize(table, resample=3).correlation, abs=1e-10)


def test_counts_are_resampled_too() -> None:
    table = pd.DataFrame({"a": list("xy") * 100, "b": list("uuvv") * 50})
    draw = summarize(table, resample=1)
    assert draw.counts.sum() == draw.n != 200


def test_shares_by_hand() -> None:
    names = ["A", "B", "C"]
    ab, ba = fp.PDAG.from_edges([("A", "B")], names=names), fp.PDAG.from_edges([("B", "A")], names=names)
    line = fp.PDAG.from_edges(undirected=[("A", "B")], names=names)
    none = fp.PDAG.from_edges([("C", "B")], names=names)
    shares = edge_stability(ab, [ab, ab, ba, line, none])
    assert [tuple(s) for s in shares] == [("A", "B", 0.4, 0.2, 0.2, 0.2), ("B", "C", 0.0, 0.2, 0.0, 0.8)]


def test_a_strong_graph_is_stable_and_the_run_repeatable() -> None:
    truth = fp.PDAG.from_edges([("A", "C"), ("B", "C"), ("C", "D")])
    sim = fp.simulate(truth, 3, 1000, weights=(0.7, 1.0), seed=3)
    result = fp.IPERI(bootstrap=20, seed=5).fit(sim.sites)
    assert result.replicates == 20
    for edge in result.stability:
        assert sum(edge[2:]) == pytest.approx(1)
        if {edge.a, edge.b} in ({"A", "C"}, {"B", "C"}, {"C", "D"}):
            assert edge.absent == 0
            assert max(edge.forward, edge.backward) >= 0.8
    assert fp.IPERI(bootstrap=20, seed=5).fit(sim.sites).stability == result.stability
    assert fp.Result.from_json(result.to_json()).stability == result.stability


def test_a_rare_level_does_not_stop_the_bootstrap() -> None:
    rng = np.random.default_rng(4)
    group = np.array(["common"] * 199 + ["rare"])
    tables = [
        pd.DataFrame({"a": rng.standard_normal(200), "b": rng.standard_normal(200), "g": group}) for _ in range(2)
    ]
    assert fp.IPERI(bootstrap=10).fit(tables).replicates == 10


def test_bad_number_of_draws() -> None:
    with pytest.raises(fp.InputError, match="bootstrap must be a whole number, zero or positive, not -1"):
        fp.IPERI(bootstrap=-1)
