"""The matrix of differences between sites, and the strengths of arrows: each number on the page is in the result."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.pages import by_hand, four_hospitals, words_of

import fedperi as fp
from fedperi.methods import Result
from fedperi.methods.effects.moments import Moments
from fedperi.methods.effects.words import number
from fedperi.report import render_report
from fedperi.report.matrix import SHORT, site_matrix
from fedperi.report.pictures.mechanism import fitted, mechanism_svg


@pytest.fixture(scope="module")
def result() -> Result:
    return four_hospitals()


def test_every_difference_is_one_cell(result: Result) -> None:
    for some in (result, by_hand()):
        matrix = site_matrix(some)
        cells = {(cell.site, cell.variable): cell for _, row in matrix.rows for cell in row if cell.kind != "same"}
        assert cells.keys() == {(one.site, one.variable) for one in some.differences}
        for one in some.differences:
            cell = cells[one.site, one.variable]
            assert (cell.kind, cell.words) == (one.kind, one.words)
            assert one.site not in cell.elsewhere
        assert len(matrix.variables) + matrix.others == len(some.graph.names)
        assert [site for site, _ in matrix.rows] == list(some.sites)
        assert set(matrix.kinds) <= SHORT.keys()


def test_the_matrix_is_the_first_thing_under_the_graph(result: Result) -> None:
    page = render_report(result)
    assert page.index('id="h-graph"') < page.index('<table class="matrix">') < page.index('id="h-edges"')
    for one in result.differences:
        entry = page[page.index(f"<h3>{one.site}: {one.variable}</h3>") :]
        assert one.words in entry[:1500] and f"Ask {one.site} " in entry[:1500]


def test_no_cell_states_a_policy_as_a_fact() -> None:
    difference = by_hand().differences[0]._replace(kind="cut", words="At Lyon, stroke does not depend on dose.")
    text = words_of(render_report(by_hand(differences=(difference,))))
    assert "It looks as if a local policy set stroke. Ask Lyon whether there is one." in text


def test_lines_are_those_of_the_pooled_rows() -> None:
    rng = np.random.default_rng(1)
    tables = []
    for k in range(3):
        a, b = rng.normal(k, 1, 200), rng.normal(0, 2, 200)
        tables.append(pd.DataFrame({"a": a, "b": b, "y": 1 + k + 0.5 * a - 2 * b + rng.normal(0, 1, 200)}))
    moments = Moments.of([fp.Summary.of(table, name=f"s{k}") for k, table in enumerate(tables)])
    line = fitted(moments, ("s0", "s2"), "y", ("a", "b"))
    rows = pd.concat([tables[0], tables[2]])
    design = np.column_stack([np.ones(len(rows)), rows["a"], rows["b"]])
    weights, squares, *_ = np.linalg.lstsq(design, rows["y"], rcond=None)
    np.testing.assert_allclose(line.strengths, weights[1:], rtol=1e-6)
    assert line.spread == pytest.approx((squares[0] / len(rows)) ** 0.5)
    assert line.at(np.array([1.0, 1.0])) == pytest.approx(float(weights.sum()))
    here = fitted(moments, ("s1",), "y", ("a", "b"))
    picture = mechanism_svg(moments, "y", ("a", "b"), "s1", ("s0", "s2"), ("b",))
    assert f"y against b: slope {number(here.strengths[1])} at s1, {number(line.strengths[1])} elsewhere" in picture
    alone = mechanism_svg(moments, "a", (), "s1", ("s0",))
    assert f"mean {number(float(tables[1]['a'].mean()))} here" in alone


def test_pictures_of_categories_and_constants() -> None:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"ward": rng.choice(["u", "v", "w"], 90), "yes": rng.integers(0, 2, 90), "flat": 2.5})
    table["x"] = rng.normal(size=90) + table["yes"]
    moments = Moments.of([fp.Summary.of(table, name="one"), fp.Summary.of(table.iloc[::-1], name="two")])
    assert mechanism_svg(moments, "ward", ("x",), "one", ("two",)) == ""
    for variable, causes in (("x", ("ward",)), ("x", ("yes", "ward")), ("flat", ()), ("flat", ("x",)), ("yes", ("x",))):
        assert "nan" not in mechanism_svg(moments, variable, causes, "one", ("two",)).lower()


def entry_of(page: str, first: str, second: str) -> str:
    head = rf'<div class="entry" id="edge-\d+" hidden>\s*<h3>{first} <[^\n]*> {second}</h3>'
    found = re.search(rf"{head}.*?</dl>", page, re.S)
    assert found is not None
    return words_of(found.group())


def test_the_effect_of_an_arrow_is_that_of_the_result(result: Result) -> None:
    page = render_report(result)
    effects: Any = result.effects.set_index(["cause", "effect", "site"])
    for a, b in sorted(result.graph.directed):
        text = entry_of(page, a, b)
        common = effects.loc[(a, b, "common")]
        said = f"{number(common.direct)} ({number(common.direct_low)} to {number(common.direct_high)})"
        assert f"Pooled direct effect {said}, {common.unit}." in text.replace(" , ", ", ")
        for site in result.sites:
            assert f"{site} {number(effects.loc[(a, b, site)].direct)} (" in text.replace(
                " (left out of the pooled effect)", ""
            )
        adjust = common.adjustment
        assert (f"Adjusted for {adjust}." if adjust else "There is nothing to adjust for.") in text


def test_an_open_edge_has_a_direct_effect_either_way_and_no_total(result: Result) -> None:
    open_graph = fp.PDAG.from_edges([], sorted(result.graph.directed), result.graph.names)
    from dataclasses import replace

    text = entry_of(render_report(replace(result, graph=open_graph)), "age", "weight")
    assert "How strong it is, if age → weight" in text and "How strong it is, if weight → age" in text
    assert "Total effect" not in text and " total " not in text
