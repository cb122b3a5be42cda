"""Signs of hidden causes: each kind is found where it is, and not where it is not."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

import fedperi as fp
from fedperi.graph import bits
from fedperi.methods.mperi.factor import one_cause
from fedperi.methods.mperi.hidden import (
    _all_joined,
    changing_together,
    one_cause_of_four,
    residual_correlations,
    untold_changes,
)
from fedperi.methods.parts import Groups
from fedperi.tables.summary.summaries import summaries
from fedperi.tables.summary.summary import Summary


def said(tables: list[pd.DataFrame]) -> list[Summary]:
    return [part.straight() for part in summaries(tables)]


def confounded(shifts: list[tuple[float, float]], effect: float = 0.0, seed: int = 0) -> list[pd.DataFrame]:
    """Tables of a and b with a hidden common cause; sites shift a, b, or none. a may cause b, too."""
    rng = np.random.default_rng(seed)
    tables = []
    for of_a, of_b in shifts:
        hidden, one, two = rng.normal(size=(3, 2000))
        a = hidden + one + of_a
        tables.append(pd.DataFrame({"a": a, "b": hidden * (effect == 0) + effect * a + two + of_b}))
    return tables


def test_mechanisms_that_change_together() -> None:
    sites = [f"s{k}" for k in range(14)]
    parts = said([pd.DataFrame({"a": [0.5, 1.0, 2.5], "b": [1.5, 0.0, 3.0]})] * 14)
    rest = (tuple(sites[5:]),)
    both = [Groups("a", (*rest, tuple(sites[:5])), ()), Groups("b", (*rest, tuple(sites[:5])), ())]
    (sign,) = changing_together(parts, both)
    assert sign.variables == ("a", "b")
    assert sign.words.startswith("a and b may have a hidden common cause: their mechanisms change together at s0, s1")
    apart = [both[0], Groups("b", (tuple(sites[:9]), tuple(sites[9:])), ())]
    assert list(changing_together(parts, apart)) == []


def test_changes_that_reach_nobody() -> None:
    edge = fp.PDAG.from_edges([("a", "b")])
    (sign,) = untold_changes(said(confounded([(0, 0), (1, 0), (0, 1)])), edge)
    assert sign.variables == ("a", "b") and "where a site changes the one, the other stays as elsewhere" in sign.words
    # A change of the cause reaches the effect: the same tables, but for an arrow instead of a hidden cause.
    assert list(untold_changes(said(confounded([(0, 0), (1, 0), (0, 1)], effect=0.5)), edge)) == []
    # Only one of the two changes: an arrow from b to a would explain it.
    assert list(untold_changes(said(confounded([(0, 0), (1, 0), (1, 0)])), edge)) == []


def test_residuals_that_correlate() -> None:
    nothing = fp.PDAG.from_edges([], names=["a", "b"])
    assert [sign.variables for sign in residual_correlations(said(confounded([(0, 0)] * 3)), nothing)] == [("a", "b")]
    rng = np.random.default_rng(1)
    free = [pd.DataFrame(rng.normal(size=(500, 2)), columns=["a", "b"]) for _ in range(3)]
    assert list(residual_correlations(said(free), nothing)) == []


def test_an_edge_that_was_nearly_drawn_is_no_hidden_cause() -> None:
    nothing, parts = fp.PDAG.from_edges([], names=["a", "b"]), said(confounded([(0, 0)] * 3))
    for edge, words in ((0.47, "its probability is 0.47"), (0.01, "may have a hidden common cause")):
        (sign,) = residual_correlations(parts, nothing, np.array([[0.0, 0.0], [edge, 0.0]]))
        assert words in sign.words and ("hidden" in sign.words) == (edge < 0.05)


def test_one_hidden_cause_of_four() -> None:
    rng = np.random.default_rng(2)
    names = list("abcd")
    order = [(x, y) for i, x in enumerate(names) for y in names[i + 1 :]]
    hidden = [pd.DataFrame(rng.normal(size=(3000, 4)) + rng.normal(size=(3000, 1)), columns=names) for _ in range(2)]
    (sign,) = one_cause_of_four(said(hidden), fp.PDAG.from_edges(order))
    assert sign.variables == ("a", "b", "c", "d")
    weights = np.triu([[0, 0.9, -0.4, 0.6], [0, 0, 0.5, 0.8], [0, 0, 0, -0.7], [0, 0, 0, 0]])
    seen = [
        pd.DataFrame(rng.normal(size=(3000, 4)) @ np.linalg.inv(np.eye(4) - weights), columns=names) for _ in range(2)
    ]
    assert list(one_cause_of_four(said(seen), fp.PDAG.from_edges(order))) == []


def test_a_factor_with_any_signs_fits() -> None:
    strengths = np.array([0.8, -0.7, 0.6, -0.5])
    covariance = np.outer(strengths, strengths)
    np.fill_diagonal(covariance, 1.0)
    assert one_cause(covariance * np.outer([1, 2, 3, 4], [1, 2, 3, 4])) < 1e-8


def test_a_run_of_mperi_tells() -> None:
    result = fp.MPERI(progress=False).fit(confounded([(0, 0), (1, 0), (0, 1), (0, 0)]))
    assert any("a and b may have a hidden common cause" in words for words in result.warnings)


def test_sets_that_are_all_joined_are_those_of_a_search_through_all() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        upper = np.triu(rng.random((9, 9)) < 0.6, 1)
        joined = upper | upper.T
        expected = [four for four in combinations(range(9), 4) if joined[np.ix_(four, four)].sum() == 12]
        assert list(_all_joined(bits.rows(joined), 4)) == expected
