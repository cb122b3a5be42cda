"""Edges that a small error of the model explains: no direction, and a warning that names them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.refusals import assert_refused

import fedperi as fp
from fedperi.methods.mperi.weak import explained_share, undirected
from fedperi.scores.mechanisms import Mechanisms
from fedperi.tables.summary.summaries import summaries

CURVED = fp.clinic(rows=20_000, graph="diabetes", seed=50_000)
"""Age acts on hba1c only through others, and through curves."""


def straight(tables: list[pd.DataFrame]) -> Mechanisms:
    return Mechanisms([part.straight() for part in summaries(tables)])


def test_an_edge_that_only_the_wrong_model_needs_has_no_direction() -> None:
    parts = summaries(CURVED.sites)
    trusting, careful = (fp.MPERI(weakest=weakest).fit(parts) for weakest in (0, 1e-3))
    assert ("age", "hba1c") in trusting.graph.directed - CURVED.dag.directed
    assert careful.graph.undirected == trusting.graph.undirected | {("age", "hba1c")}
    (warning,) = [one for one in careful.warnings if one.startswith("Very weak")]
    assert warning == (
        "Very weak: age - hba1c. The cause explains less than 0.1 % of the variance of the effect, given its other "
        "causes. With this many rows, a slight curve or a product of two causes looks like such an edge, so no "
        "direction is found for it, and there may be no edge. If you know which variable comes first, give tiers."
    )
    assert not any(one.startswith("Very weak") for one in trusting.warnings)
    before, after = (one.probabilities.query("a == 'age' and b == 'hba1c'").iloc[0] for one in (trusting, careful))
    assert after.forward == after.backward and before.forward > 0.5
    assert after.none == pytest.approx(before.none)


def test_a_known_direction_stays_and_the_warning_too() -> None:
    others = [name for name in CURVED.dag.names if name != "age"]
    result = fp.MPERI(knowledge=fp.Knowledge(tiers=[["age"], others])).fit(summaries(CURVED.sites))
    assert ("age", "hba1c") in result.graph.directed
    assert any(one.startswith("Very weak: age - hba1c.") for one in result.warnings)
    pair = result.probabilities.query("a == 'age' and b == 'hba1c'").iloc[0]
    assert pair.forward > 0.5 and pair.backward == 0


def test_explained_share_is_that_of_regressions() -> None:
    rng = np.random.default_rng(4)
    tables, shares, rows = [], [], []
    for n in (300, 700):
        group = rng.choice(["x", "y", "z"], n)
        a = rng.normal(size=n) + (group == "y")
        b = 0.3 * a + 0.5 * (group == "z") + rng.normal(size=n)
        tables.append(pd.DataFrame({"group": group, "a": a, "b": b}))
        indicators = [np.ones(n), group == "y", group == "z"]
        residual = [
            b - (x := np.column_stack(some)) @ np.linalg.lstsq(x, b, rcond=None)[0]
            for some in ([*indicators, a], indicators, [np.ones(n), a])
        ]
        whole, without_a, without_group = ((one**2).sum() for one in residual)
        shares.append((1 - whole / without_a - 1 / n, 1 - whole / without_group - 2 / n))
        rows.append(n)
    mechanisms = straight(tables)
    at = [mechanisms.names.index(name) for name in ("group", "a", "b")]
    of_a, of_group = np.average(shares, axis=0, weights=rows)
    assert explained_share(mechanisms, at[1], at[2], [at[0]]) == pytest.approx(of_a, abs=1e-9)
    assert explained_share(mechanisms, at[0], at[2], [at[1]]) == pytest.approx(of_group, abs=1e-9)


def test_a_site_without_variation_says_nothing_about_an_edge() -> None:
    sim = fp.simulate(fp.PDAG.from_edges([("A", "B")]), clients=2, samples=500, weights=(0.5, 0.5), seed=1)
    constant = sim.sites[0].assign(A=3.0)
    alone, both = (straight(tables) for tables in ([sim.sites[1]], [constant, sim.sites[1]]))
    assert explained_share(both, 0, 1, []) == pytest.approx(explained_share(alone, 0, 1, []))
    other = constant.assign(A=4.0)
    assert explained_share(straight([constant, other]), 0, 1, []) == 0


def test_probabilities_of_weak_edges_are_the_same_both_ways_unless_one_is_known() -> None:
    chances = np.array([[0.0, 0.9, 0.7], [0.1, 0.0, 0.0], [0.0, 0.0, 0.0]])
    weak = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]], dtype=bool)
    known = np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=bool)
    before = chances.copy()
    assert undirected(chances, weak, known).tolist() == [[0.0, 0.5, 0.7], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0]]
    assert (chances == before).all()


@pytest.mark.parametrize("value", [-0.1, float("nan"), "much", True])
def test_weakest_is_a_share(value: object) -> None:
    message = f"weakest must be a finite number, zero or positive, not {value!r}"
    assert_refused(lambda: fp.MPERI(weakest=value), message)
