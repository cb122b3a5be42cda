"""Distances by hand, by property, and gadjid's against a count by hand."""

import numpy as np
import pytest
from helpers.graphs import pdags, permuted, random_dag
from hypothesis import given
from hypothesis import strategies as st

import fedperi as fp


def graph(directed: str = "", undirected: str = "") -> fp.PDAG:
    return fp.PDAG.from_edges(
        [tuple(e) for e in directed.split()],  # type: ignore[misc]
        [tuple(e) for e in undirected.split()],  # type: ignore[misc]
        list("ABCD"),
    )


@pytest.mark.parametrize(
    ("guess", "truth", "paper", "usual"),
    [
        (graph(), graph("AB"), 1, 1),  # missing
        (graph("AB"), graph(), 1, 1),  # extra
        (graph("", "AB"), graph(), 1, 1),  # extra, undirected
        (graph("", "AB"), graph("AB"), 1, 1),  # not oriented
        (graph("BA"), graph("AB"), 2, 1),  # reversed
        (graph("AB"), graph("AB"), 0, 0),
        (graph("BA CD", "BC"), graph("AB BC"), 4, 3),  # reversed + extra + not oriented
    ],
)
def test_shd_by_hand(guess: fp.PDAG, truth: fp.PDAG, paper: int, usual: int) -> None:
    assert fp.shd(guess, truth) == paper
    assert fp.shd(guess, truth, reversal=1) == usual


def test_f1_by_hand() -> None:
    guess, truth = graph("AB CD", "BC"), graph("AB BC DC")
    # entries: guess {AB, CD, BC, CB}, truth {AB, BC, DC}, shared {AB, BC}
    assert fp.f1(guess, truth) == pytest.approx(4 / 7)
    assert fp.skeleton_f1(guess, truth) == 1.0
    assert fp.arrowhead_f1(guess, truth) == pytest.approx(2 * 1 / (2 + 3))
    assert fp.f1(graph(), graph()) == 1.0
    assert fp.f1(graph(), graph("AB")) == 0.0


@given(pdags(), st.data())
def test_property_metrics(a: fp.PDAG, data: st.DataObject) -> None:
    order = list(data.draw(st.permutations(a.names)))
    b = permuted(a, order)
    assert fp.shd(a, a) == 0
    assert fp.f1(a, a) == fp.skeleton_f1(a, a) == 1.0
    assert fp.shd(a, b) == fp.shd(b, a)
    assert fp.f1(a, b) == fp.f1(b, a)
    assert fp.shd(a, b, reversal=1) <= fp.shd(a, b) <= 2 * fp.shd(a, b, reversal=1)
    assert (fp.shd(a, b) == 0) == (a == b)
    shuffled = b.reordered(list(data.draw(st.permutations(a.names))))
    assert fp.shd(a, shuffled) == fp.shd(a, b)


def test_adjustment_distance_agrees_with_gadjid_on_all_strategies() -> None:
    import gadjid

    rng = np.random.default_rng(7)
    for _ in range(50):
        truth, guess = random_dag(rng, 6, 6), random_dag(rng, 6, 6)
        for strategy in ("ancestor", "parent", "oset"):
            share, number = fp.adjustment_distance(guess, truth, strategy=strategy)
            direct = getattr(gadjid, f"{strategy}_aid")(
                truth.adjacency.astype("int8"), guess.adjacency.astype("int8"), edge_direction="from row to column"
            )
            assert (share, number) == direct
            assert fp.adjustment_distance(truth, truth, strategy=strategy)[1] == 0
    # A CPDAG leaves effects unidentified; by hand: A -- B against A -> B, both ordered pairs are wrong.
    assert fp.adjustment_distance(fp.PDAG.from_edges(undirected=[("A", "B")]), fp.PDAG.from_edges([("A", "B")])) == (
        1.0,
        2,
    )


def test_bad_options() -> None:
    with pytest.raises(fp.InputError, match="reversal is the price of a reversed edge, 1 or 2, not 3"):
        fp.shd(graph(), graph(), reversal=3)
    with pytest.raises(fp.InputError, match="strategy must be one of ancestor, parent, oset, not 'x'"):
        fp.adjustment_distance(graph(), graph(), strategy="x")
    with pytest.raises(fp.InputError, match=r"different variables \(only in the first: B, C, D\)"):
        fp.shd(graph(), fp.PDAG([[0]], ["A"]))
