"""Hundreds of sites: results with a sample of them, or with several steps at a time, against those with all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

import fedperi as fp
from fedperi.methods.mperi import oracle
from fedperi.methods.mperi.oracle import sampled
from fedperi.scores import mechanisms_groups, mechanisms_numpy
from fedperi.scores.mechanisms import Mechanisms
from fedperi.tables.summary.summaries import summaries
from fedperi.tables.summary.summary import Summary


def table(rows: int, seed: int) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(rows, 2)), columns=["a", "b"])


def test_a_sample_of_the_sites_has_the_large_ones_and_does_not_depend_on_their_order() -> None:
    tables = {f"site {k:03}": table(3000 if k % 50 == 7 else 20, k) for k in range(150)}
    parts = summaries(tables)
    names = {part.site for part in sampled(parts)}
    assert len(names) <= oracle.SAMPLED and {"site 007", "site 057", "site 107"} <= names
    assert {part.site for part in sampled(parts[::-1])} == names
    assert [part.site for part in sampled(parts[:128])] == [part.site for part in parts[:128]]
    assert len(sampled(summaries({f"{k}": table(30, k) for k in range(129)}))) == oracle.SAMPLED


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_sample_that_proposes_candidates_leaves_the_result_as_it_is(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Except for pairs that are probably not adjacent: some lose their small probability."""
    sites = fp.simulate(14, clients=24, samples=500, intervention="varied", seed=seed).sites
    whole = fp.MPERI(progress=False).fit(sites)
    searches, inner = list[int](), oracle.sampled

    def noted(parts: Sequence[Summary]) -> list[Summary]:
        searches.append(len(inner(parts)))
        return inner(parts)

    monkeypatch.setattr(oracle, "MOST_SEARCHED", 23)
    monkeypatch.setattr(oracle, "SAMPLED", 10)
    monkeypatch.setattr(oracle, "sampled", noted)
    some = fp.MPERI(progress=False).fit(sites)
    assert searches == [10]
    assert some.graph == whole.graph and some.dag == whole.dag
    ours, theirs = (one.probabilities.select_dtypes("number").to_numpy() for one in (some, whole))
    apart = abs(ours - theirs)
    assert apart.max() < 0.2 and apart.mean() < 0.01
    likely = theirs[:, :2].sum(axis=1) > 0.5
    assert likely.any() and apart[likely].max() < 0.03


def test_several_sites_that_leave_at_a_time_are_worth_what_single_ones_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loops let one site of 16 leave; by definition it is one at a time if `MANY` is out of reach."""
    sim = fp.simulate(4, clients=mechanisms_groups.MANY + 12, samples=100, seed=2, intervention="varied")
    mechanisms = Mechanisms(summaries(sim.sites), tolerances=(0.0,))
    monkeypatch.setattr(mechanisms_groups, "MANY", 10**9)
    apart, groups = [], []
    for node in range(4):
        parents = np.array([(node + 1) % 4])
        found = mechanisms.lattice(node, parents.tolist(), ())[0]
        exact, labels, _ = mechanisms_numpy.score_families(mechanisms, node, parents, 1)
        apart.append(float(found - exact[0]))
        groups.append(len(set(labels[0].tolist())))
    assert max(groups) > 3, groups
    assert min(apart) > -1.0 and max(apart) < 1.0, (apart, groups)
