"""The report without a browser: layout, pictures, words, and what is on the page."""

import re
import subprocess
import sys
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from helpers.pages import HOSTILE, Text, by_hand, words_of
from hypothesis import given, settings
from hypothesis import strategies as st

import fedperi as fp
from fedperi.cli.demo import EDGES
from fedperi.methods import EdgeEvidence, Result
from fedperi.methods.stability import EdgeStability
from fedperi.privacy.accounting import Price
from fedperi.privacy.release.explain import guesses
from fedperi.privacy.zcdp import zcdp_rho
from fedperi.report import draw, graph_svg, render_report
from fedperi.report.contributions import contributions
from fedperi.report.edges import drawn_graph, shown_edges
from fedperi.report.paper.assumptions import assumptions
from fedperi.report.paper.methods import methods_text
from fedperi.report.pictures.curves import curves, midpoint
from fedperi.report.pictures.labels import WIDEST, text_width, wrapped
from fedperi.report.pictures.layers import assign_layers, crossings, layered
from fedperi.report.pictures.layout import layout
from fedperi.report.pictures.order import downward
from fedperi.report.pictures.spread import isotonic
from fedperi.report.privacy import MISSING, Promise, promises, shown_number
from fedperi.report.privacy_words import pledge, right_guesses
from fedperi.search.phase1 import Step

mpl.use("Agg")
NAMES = list("abcde")


@pytest.fixture(scope="module")
def demo() -> Result:
    sim = fp.simulate(fp.PDAG.from_edges(EDGES), clients=5, samples=1000, weights=(0.3, 1.0), seed=0)
    return fp.IPERI().fit(sim.sites)


def small(**changes: Any) -> Result:
    """Return a result: a -> c <- b by the common structure, c -- d directed by a difference, d -- e by Meek's rules."""
    cpdag = fp.PDAG.from_edges([("a", "c"), ("b", "c")], [("c", "d"), ("d", "e")], NAMES)
    phi = fp.PDAG.from_edges([("a", "c"), ("b", "c"), ("c", "d")], [("d", "e")], NAMES)
    graph = fp.PDAG.from_edges([("a", "c"), ("b", "c"), ("c", "d"), ("d", "e")], names=NAMES)
    words = (
        "at north a link is missing, as if a local policy set a variable; if so, the arrow points this way: ask north"
    )
    edges = (
        EdgeEvidence("a", "c", True, 12.34, ("north", "south"), "v-structure", "a and b are both causes of c"),
        EdgeEvidence("b", "c", True, 5.0, ("south",), "v-structure", "a and b are both causes of c"),
        EdgeEvidence("c", "d", True, 7.0, ("north",), "difference", words, ("north",)),
        EdgeEvidence("d", "e", True, 8.0, (), "Meek", "Meek's rule 1: otherwise d would be a collider"),
    )
    values = {
        "graph": graph,
        "phi_cpdag": phi,
        "cpdag": cpdag,
        "dag": graph,
        "regrets": {"north": 1.25, "south": -0.01},
        "rounds": 2,
        "queries": 80,
        "bytes": 640,
        "history": (Step("first search", 1, 50.0, 9.0), Step("restart 1", 2, 40.0, 1.25)),
        "edges": edges,
        "method": {"name": "I-PERI", "masking": "adaptive", "aggregate": "sum", "data": "linear", "seed": 3},
        "manifest": {
            "fedperi": "9.9",
            "sites": [{"site": "north", "n": 1500, "targets": ["d"]}, {"site": "south", "n": 500}],
        },
    }
    return Result(**{**values, **changes})


# -- layout -----------------------------------------------------------------------------------------------------------


@st.composite
def graphs(draw_: st.DrawFn, most: Any = 14) -> Any:
    count = draw_(st.integers(1, most))
    pairs = list(combinations(range(count), 2))
    kinds = draw_(st.lists(st.sampled_from("  ->-"), min_size=len(pairs), max_size=len(pairs)))
    matrix = np.zeros((count, count), dtype=bool)
    for (i, j), kind in zip(pairs, kinds, strict=True):
        matrix[i, j] = kind != " "
        matrix[j, i] = kind == "-"
    order = draw_(st.permutations(range(count)))
    return fp.PDAG(matrix[np.ix_(order, order)])


@settings(max_examples=100)
@given(graphs())
def test_property_boxes_never_overlap_and_arrows_run_down(graph: Any) -> None:
    picture = layout(graph)
    at = {box.name: box for box in picture.boxes}
    for one, two in combinations(picture.boxes, 2):
        apart = abs(one.x - two.x) >= (one.width + two.width) / 2 or abs(one.y - two.y) >= (one.height + two.height) / 2
        assert apart, (one, two)
    assert {frozenset(pair) for pair in picture.routes} == {frozenset(p) for p in graph.directed | graph.undirected}
    for pair in graph.directed:
        assert pair in picture.routes
        assert at[pair[0]].y < at[pair[1]].y
    for points in picture.routes.values():
        assert all(a[1] < b[1] for a, b in pairwise(points))
        assert all(0 <= x <= picture.width and 0 <= y <= picture.height for x, y in points)
    for box in picture.boxes:
        assert box.x - box.width / 2 >= 0
        assert box.x + box.width / 2 <= picture.width
        assert box.y - box.height / 2 >= 0
        assert box.y + box.height / 2 <= picture.height


@pytest.mark.parametrize(("variables", "seed"), [(8, 0), (20, 1), (40, 2), (60, 3)])
def test_edges_run_around_the_boxes_of_other_variables(variables: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dag = np.triu(rng.random((variables, variables)) < 4 / variables, 1)
    picture = layout(fp.PDAG(dag, [f"variable_{i}" for i in range(variables)]))
    t = np.linspace(0, 1, 40)[:, None]
    for (upper, lower), points in picture.routes.items():
        path = np.concatenate(
            [
                (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d
                for a, b, c, d in (np.array(piece) for piece in curves(points))
            ]
        )
        for box in picture.boxes:
            if box.name not in (upper, lower):
                inside = (np.abs(path - (box.x, box.y)) < (box.width / 2 - 1, box.height / 2 - 1)).all(axis=1)
                assert not inside.any(), (upper, lower, box)


@settings(max_examples=100)
@given(graphs())
def test_property_a_variable_with_open_edges_only_is_not_drawn_like_a_root_cause(graph: Any) -> None:
    above = {lower for _, lower in layout(graph).routes}
    directed = {name for pair in graph.directed for name in pair}
    reached = set(directed)
    while more := {name for one in reached for name in graph.adjacent(one)} - reached:
        reached |= more
    assert reached - directed <= above  # parts without any arrow must begin somewhere


def test_open_edges_are_drawn_along_the_probable_order() -> None:
    lines = fp.PDAG.from_edges([], [("a", "b"), ("b", "c")], list("abc"))
    chances = np.zeros((3, 3))
    chances[2, 1], chances[1, 2], chances[1, 0], chances[0, 1] = 0.8, 0.2, 0.7, 0.3
    assert downward(lines, chances) == [(1, 0), (2, 1)]
    # On the page: smoker is the more probable cause of age (0.55 to 0.4), but only age has an arrow.
    assert ("age", "smoker") in drawn_graph(by_hand()).directed
    both = fp.PDAG.from_edges(
        [("age", "dose"), ("smoker", "stroke")], [("age", "smoker")], ["age", "dose", "smoker", "stroke"]
    )
    result = by_hand(
        graph=both, dag=fp.PDAG.from_edges([("age", "dose"), ("smoker", "stroke"), ("age", "smoker")], names=both.names)
    )
    assert ("smoker", "age") in drawn_graph(result).directed


def test_layers_by_hand() -> None:
    # 0 -> 1 -> 2, 0 -> 2, 3 -> 2: node 3 could be at the top, but stands right above its child.
    assert assign_layers(4, [(0, 1), (1, 2), (0, 2), (3, 2)]) == [0, 1, 2, 1]
    assert max(np.bincount(assign_layers(60, [(0, k) for k in range(1, 60)]))) == 12  # a star is folded


def test_crossings_by_hand_and_removed() -> None:
    assert crossings([[0, 1, 2], [3, 4, 5]], [(0, 5), (1, 4), (2, 3)]) == 3
    shape = layered(6, [(0, 5), (1, 4), (2, 3)])
    assert crossings(shape.rows, shape.links) == 0
    # the complete bipartite graph with 2 and 3 nodes has at least 3 crossings in two layers
    both = layered(5, [(i, j) for i in (0, 1) for j in (2, 3, 4)])
    assert crossings(both.rows, both.links) == 3


def test_isotonic_pools_by_weight() -> None:
    assert isotonic(np.array([4.0, 1.0, 5.0]), np.array([1.0, 2.0, 1.0])).tolist() == [2.0, 2.0, 5.0]


def test_same_graph_same_picture() -> None:
    graph = fp.simulate(20, clients=2, samples=10, seed=5).dag
    assert graph_svg(graph) == graph_svg(graph)


def test_a_straight_edge_has_its_mark_in_the_middle() -> None:
    assert midpoint([(0.0, 0.0), (10.0, 20.0)]) == (5.0, 10.0)


@given(st.text(min_size=1, max_size=80))
def test_property_labels_are_short(name: Any) -> None:
    label = wrapped(name)
    assert 1 <= len(label.lines) <= 2
    assert label.width <= WIDEST
    assert label.width == max(text_width(line) for line in label.lines)


def test_labels_by_hand() -> None:
    assert wrapped("blood_pressure").lines == ("blood_pressure",)
    assert wrapped("leftVentricularEjectionFraction").lines == ("leftVentricular", "EjectionFraction")
    assert wrapped("x" * 60).lines == ("x" * 14 + "…",)
    assert wrapped("a\x00b").lines == ("a b",)


# -- pictures ---------------------------------------------------------------------------------------------------------


def test_graph_svg_tells_edges_apart_without_colour() -> None:
    picture = graph_svg(fp.PDAG.from_edges([("A", "B")], [("B", "C")]))
    assert picture.count("head-down") == 1
    assert picture.count("stroke-dasharray") == 1
    assert not re.search(r"\bid=", picture)  # several in one notebook do not disturb each other


def test_graph_svg_of_an_arrow_between_undirected_edges() -> None:
    assert graph_svg(fp.PDAG.from_edges([("B", "A")], names=["A", "B"])).count("head-") == 1


@pytest.mark.parametrize("graph", [fp.PDAG(np.zeros((0, 0))), fp.PDAG([[0]]), fp.PDAG(np.zeros((30, 30)))])
def test_graphs_without_edges_are_drawn(graph: Any) -> None:
    assert graph_svg(graph).count("<rect") == len(graph.names)
    draw(graph).figure.canvas.draw()


def test_names_are_escaped_in_svg() -> None:
    picture = graph_svg(fp.PDAG.from_edges([(HOSTILE, '"&')]))
    assert "<script" not in picture
    assert "&lt;script&gt;" in picture


def test_draw_uses_the_given_axes_and_shows_any_name() -> None:
    from matplotlib import pyplot as plt

    _, ax = plt.subplots()
    graph = fp.PDAG.from_edges([("cost in $", "$x$"), (HOSTILE, "$x$")], [("$\\bad{", "$x$")])
    assert draw(graph, ax) is ax
    ax.figure.canvas.draw()
    assert [patch.get_linestyle() for patch in ax.patches[:6]].count("dashed") == 1
    assert len([p for p in ax.patches if type(p).__name__ == "Polygon"]) == 2
    plt.close("all")


# -- words ------------------------------------------------------------------------------------------------------------


def test_methods_text_has_the_numbers_of_the_run() -> None:
    assert methods_text(small(replicates=50)) == (
        "Causal structure was estimated with I-PERI (Baldo and Assaad, 2026) as implemented in fedperi 9.9. 2 "
        "sites with 2,000 rows in total (500 to 1,500 each) took part, and 5 variables were studied. No rows left "
        "a site: sites answered questions about candidate sets of causes with regrets, that is, how much worse "
        "than at the site's own optimum a variable is explained by them, in nats. Local scores were the linear-"
        "Gaussian BIC. A site scored only those parents of a candidate set that its own data support, so that "
        "an edge removed there by an intervention cost little: 1 nat for a variable with no "
        "influences left, 3 nats for one that kept some of them. The search minimised the sum of the sites' "
        "regrets, over acyclic graphs, in 2 rounds of communication and with 80 regrets from each site. The common "
        "graph (CPDAG) has 4 edges, 2 of them directed. Differences between sites directed 1 more (Phi-CPDAG), and "
        "Meek's rules 1 more, so that 4 of 4 edges have a direction. Final regrets of the sites were 0.0 to 1.2 "
        "nats. The stability of edges was assessed with 50 bootstrap samples drawn within each site. The random "
        "seed was 3."
    )


def test_methods_text_of_the_papers_variant() -> None:
    method = {
        "name": "I-PERI",
        "masking": "consensus",
        "local": "pc",
        "alpha": 0.05,
        "aggregate": "worst",
        "penalty": 2.0,
    }
    text = methods_text(small(method=method))
    assert "which it learned with PC (level 0.05)." in text
    assert "minimised the largest regret of any site, then the next largest" in text
    assert "with a price of edges multiplied by 2." in text


def test_assumptions_depend_on_the_method() -> None:
    def names(**method: Any) -> Any:
        return [a.name for a in assumptions(method)]

    assert "At least one observational site" in names(name="I-PERI")
    assert "No interventions" in names(name="PERI")
    assert "Background knowledge is right" in names(name="PERI", knowledge={"tiers": []})
    texts = {data: assumptions({"name": "I-PERI", "data": data})[4].says for data in ("linear", "discrete", "mixed")}
    assert len(set(texts.values())) == 3


def test_contributions_by_hand() -> None:
    north, south = contributions(small())
    assert north == ("north", 1500, 1.25, ("a → c", "c → d"), ("b → c", "d → e"), ("c → d",), ("d",))
    assert (south.rows, south.directs, south.targets) == (500, (), None)


def test_contributions_of_a_real_run_agree_with_its_evidence(demo: Result) -> None:
    given_ = [edge for edge in demo.edges if edge.reason == "difference"]
    assert given_
    assert {name for site in contributions(demo) for name in site.directs} == {f"{e.a} → {e.b}" for e in given_}


# -- the page ---------------------------------------------------------------------------------------------------------


def test_marks_in_the_three_graphs() -> None:
    result = small()
    edges = shown_edges(result, list(layout(drawn_graph(result)).routes))
    marks = {f"{e.first}{e.second}": (*e.marks.values(), e.extra) for e in edges}
    assert marks == {
        "ac": ("down", "down", "down", ""),
        "bc": ("down", "down", "down", ""),
        "cd": ("line", "down", "down", "differs"),
        "de": ("line", "line", "down", "follows"),
    }


def test_stability_follows_the_direction_in_which_an_edge_is_written() -> None:
    result = small(
        stability=(EdgeStability("a", "c", 0.7, 0.1, 0.15, 0.05), EdgeStability("e", "d", 0.2, 0.6, 0.1, 0.1))
    )
    edges = {e.first + e.second: e for e in shown_edges(result, list(layout(drawn_graph(result)).routes))}
    assert edges["ac"].kept == 0.7
    assert edges["de"].kept == 0.6
    assert [(s.looks, s.share) for s in edges["de"].stability[:2]] == [("d → e", 0.6), ("d ← e", 0.2)]
    assert edges["cd"].kept is None


def test_the_page_says_what_was_found() -> None:
    text = words_of(render_report(small()))
    assert "Causal graph of 5 variables from 2 sites" in text
    assert "Without it, the sum of the sites\u2019 regrets would grow by 12.3 nats" in text
    assert "A and b are both causes of c." in text
    assert (
        "At north a link is missing, as if a local policy set a variable; if so, the arrow points this way: ask north."
        in text
    )
    assert "2,000 rows at 2 sites; none left a site" in text
    assert "declared: d" in text
    assert "This run was interrupted" not in text


def test_an_interrupted_run_says_so() -> None:
    assert "This run was interrupted." in words_of(render_report(small(complete=False)))


def test_one_step_needs_no_curve() -> None:
    assert 'class="curve"' in render_report(small())
    page = render_report(small(history=(Step("first search", 1, 50.0, 9.0),)))
    assert 'class="curve"' not in page
    assert "There is no curve to show." in words_of(page)


def test_stability_is_shown_with_pairs_that_have_no_edge_here() -> None:
    shares = (EdgeStability("a", "c", 0.7, 0.1, 0.15, 0.05), EdgeStability("a", "b", 0.0, 0.0, 0.3, 0.7))
    text = words_of(render_report(small(stability=shares, replicates=20)))
    assert "Stability, 20 resampled runs" in text
    assert "1 pair without an edge here, but with one in resampled runs" in text
    assert "a, b 30 %" in text


def test_untrusted_names_stay_text() -> None:
    names = {"a": HOSTILE, "b": '" onmouseover="alert(1)', "c": "</style><script>", "d": "{{ 7*7 }}", "e": "'&amp;"}
    base = small()
    edges = tuple(e._replace(a=names[e.a], b=names[e.b], sites=(HOSTILE,), words=HOSTILE) for e in base.edges)
    result = replace(
        base,
        **{name: getattr(base, name).renamed(names) for name in ("graph", "phi_cpdag", "cpdag", "dag")},
        edges=edges,
        regrets={HOSTILE: 1.0, "</script>": 2.0},
        method={**base.method, "local": HOSTILE, "masking": "consensus"},
        manifest={"fedperi": HOSTILE, "sites": [{"site": HOSTILE, "n": 5, "targets": None, "sha256": "</pre>"}]},
        history=(Step(HOSTILE, 1, 2.0, 1.0), Step(HOSTILE, 2, 1.0, 1.0)),
    )
    page = render_report(result)
    parsed = Text(page)
    assert [tag for tag, _ in parsed.tags].count("script") == 1
    assert not [name for _, attrs in parsed.tags for name in attrs if name.startswith("on")]
    assert HOSTILE in parsed.text
    assert "{{ 7*7 }}" in parsed.text


def test_nothing_is_loaded_from_elsewhere(demo: Result) -> None:
    page = render_report(demo)
    parsed = Text(page)
    links = [
        attrs[key] for _, attrs in parsed.tags for key in ("src", "href", "action", "data", "srcset") if key in attrs
    ]
    assert sorted(links) == ["#main", "data:,"]  # type: ignore[type-var]
    assert "url(" not in page
    assert "@import" not in page
    assert set(re.findall(r"https?://[^\"' ]*", page)) == {"http://www.w3.org/2000/svg"}
    policy = next(attrs["content"] for tag, attrs in parsed.tags if tag == "meta" and "http-equiv" in attrs)
    assert policy.startswith("default-src 'none';")


def test_identifiers_are_unique_and_what_they_control_exists(demo: Result) -> None:
    parsed = Text(render_report(demo))
    identifiers = [attrs["id"] for _, attrs in parsed.tags if "id" in attrs]
    assert len(identifiers) == len(set(identifiers))
    for key in ("aria-controls", "aria-labelledby", "data-copy"):
        assert {attrs[key] for _, attrs in parsed.tags if key in attrs} <= set(identifiers)


def test_a_result_read_back_gives_the_same_page(demo: Result) -> None:
    assert render_report(Result.from_json(demo.to_json())) == render_report(demo)


def test_pages_of_results_with_little_in_them() -> None:
    names = ["only"]
    empty = fp.PDAG([[0]], names)
    result = small(
        graph=empty,
        phi_cpdag=empty,
        cpdag=empty,
        dag=empty,
        edges=(),
        regrets={},
        history=(),
        manifest={},
        method={"name": "Other"},
    )
    text = words_of(render_report(result))
    assert "No edge was found" in text
    assert "Baldo and Assaad, 2026" not in methods_text(result)
    assert "This method recorded none." in words_of(render_report(small(edges=())))


# -- privacy ----------------------------------------------------------------------------------------------------------


def fitted(privacy: fp.Privacy | None, sites: Any = None, **options: Any) -> Result:
    """Fit a small private run, by default at the sites north and south."""
    tables = dict(zip(("north", "south"), simulated(), strict=True)) if sites is None else sites
    return fp.IPERI(privacy=privacy, **options).fit(tables)


def simulated() -> Any:
    return fp.simulate(3, clients=2, samples=3000, seed=1).sites


BOUNDS = dict.fromkeys(("X0", "X1", "X2"), (-8, 8))


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Result:
    store = tmp_path_factory.mktemp("store")
    return fitted(fp.Privacy(2.0, 1e-6, bounds=BOUNDS, store=store), bootstrap=2)


@pytest.fixture(scope="module")
def tested() -> Result:
    with pytest.warns(UserWarning, match="NOTHING in this run is private"):
        return fitted(fp.Privacy(1.0, 1e-6, bounds=BOUNDS, test_seed=1))


def promise(**changes: Any) -> Promise:
    values = {"mechanism": "statistics", "private": True, "epsilon": 1.0, "delta": 1e-6, "rows": 100, "worth": 50}
    return promises(small(privacy={"north": {**values, **changes}, "south": {**values, **changes}}))[0]


def panel(result: Result) -> str:
    page = render_report(result)
    return words_of(page[page.index('id="privacy"') - 40 : page.index('id="h-assumptions"')])


def test_without_privacy_no_word_of_it() -> None:
    page = render_report(small())
    assert 'id="privacy"' not in page
    assert "privacy" not in words_of(page).lower()
    assert ".not-private" not in page  # nor its style


def test_the_panel_of_a_real_private_run(private: Result) -> None:
    text = panel(private)
    assert "guesses whether this person\u2019s row is in the table too is right in at most 89 of 100 cases." in text
    assert "for a person with one row at each of these 2 sites, ε = 4 and δ = 2·10⁻⁶." in text
    for site in ("north", "south"):
        told = private.privacy[site]
        ledger = told["ledger"]
        row = f"{site} yes noisy statistics, drawn once 2 10⁻⁶ {told['rows']:,} {told['worth']:,}"
        assert row in text
        totals = ledger["totals"]
        spent, left = shown_number(ledger["spent"]), shown_number(ledger["remaining"], -1)
        ways = [
            shown_number(totals[f"{way}_epsilon"]) for way in ("zcdp", "pld") if totals[f"{way}_epsilon"] is not None
        ]
        assert f"{site} 1 {spent} of 10 {left} 2 (δ 10⁻⁶) {' '.join(ways)}" in text
        assert f"{site} {ledger['releases'][0]['when'][:10]}" in text
    assert text.count("noisy moments of the table 2 10⁻⁶") == 2
    assert "NOT PRIVATE" not in render_report(private)


def test_rows_are_never_exact_under_privacy(private: Result) -> None:
    text = words_of(render_report(private))
    rows, worth = (sum(site[key] for site in private.privacy.values()) for key in ("rows", "worth"))
    assert f"about {rows:,} rows at 2 sites, worth about {worth:,} without noise; none left a site" in text
    north = private.privacy["north"]
    assert f"north about {north['rows']:,} worth about {north['worth']:,}" in text
    shown = {site[key] for site in private.privacy.values() for key in ("rows", "worth")}
    assert "3,000" not in text or 3000 in shown  # noise can be zero
    assert "n is a noisy count or what its noisy statistics are worth, never the exact number of rows." in text


def test_methods_text_of_a_private_run(private: Result) -> None:
    text = methods_text(private)
    rows = [site["rows"] for site in private.privacy.values()]
    each = f"{min(rows):,} to {max(rows):,}" if min(rows) < max(rows) else f"{rows[0]:,}"  # noise may agree by chance
    assert f"2 sites with about {sum(rows):,} rows in total (noisy counts, {each} each)" in text
    assert (
        "Every site released the second moments of its table once, with noise, under differential privacy with epsilon "
        "= 2 and delta = 10⁻⁶ for the whole run; neighbouring tables differ by one row, added or removed, so that the "
        "number of rows is protected as well. Values outside public bounds were moved to the nearest bound, columns of "
        "numbers were scaled by order statistics chosen with the exponential mechanism, rows were clipped to a fixed "
        "norm, and discrete Gaussian noise was added to their moments, both by OpenDP; prices were counted in zero-"
        "concentrated differential privacy (rho = 0.0882 at each site)."
    ) in text
    assert "2 parametric bootstrap samples: the statistics of each site were drawn from a normal distribution" in text
    assert "and no row was used" in text
    assert "multinomial" not in text  # no release has counts of categories
    assert "NOT PRIVATE" not in text


def test_a_private_result_read_back_gives_the_same_page(private: Result) -> None:
    assert render_report(Result.from_json(private.to_json())) == render_report(private)


def test_noise_of_a_test_is_loud(tested: Result) -> None:
    page = render_report(tested)
    assert page.count("NOT PRIVATE") >= 4  # title, top, panel, methods
    assert "<title>NOT PRIVATE: Causal graph" in page
    assert '<div class="not-private" role="alert">' in page
    text = panel(tested)
    assert "The noise at north and south came from a seed, in a test" in text
    assert "Nothing is promised to anyone in this run." in text
    assert "north NO noisy statistics, drawn once, from a test seed (1) (10⁻⁶)" in text
    assert "right in at most" not in text
    assert "differentially private" not in page
    words = methods_text(tested)
    assert "This run is NOT PRIVATE." in words
    assert "under differential privacy" not in words
    assert "OpenDP" not in words


def test_one_site_without_noise_makes_a_run_loud(private: Result) -> None:
    told = {**private.privacy, "south": {"mechanism": "none", "private": False}}  # type: ignore[dict-item]
    mixed = replace(private, privacy=told)
    page, text = render_report(mixed), panel(mixed)
    assert "NOT PRIVATE" in page
    assert "south took part without noise: nothing is promised to the people in its table." in text
    assert "The promise to one person, at north: anyone who knows" in text
    assert "Nothing is promised to a person with a row at south." in text
    assert f"south NO no noise {MISSING} {MISSING}" in text
    assert "only at south, without noise, rows were drawn" in methods_text(mixed)
    assert "north released the second moments" in methods_text(mixed)


@pytest.mark.parametrize(
    "told",
    [
        {},
        [],
        {"north": None},
        {"north": {"mechanism": "statistics", "private": "yes", "epsilon": 1.0, "delta": 1e-6}},
        {"north": {"mechanism": "statistics", "private": True, "epsilon": "1", "delta": float("nan")}},
        {"north": {"mechanism": "statistics", "private": True, "epsilon": 10**400, "delta": 1e-6, "rows": -1}},
        {"north": {"mechanism": "statistics", "private": True, "epsilon": 0, "delta": 1e-6}},
        {"north": {"mechanism": ["x"], "private": True, "epsilon": 1.0, "delta": 1e-6, "ledger": {"releases": [3]}}},
        {"north": {"mechanism": HOSTILE, "private": True, "ledger": {"totals": 1, "ceiling": [], "ceilings": [None]}}},
    ],
)
def test_what_cannot_be_read_counts_as_not_private(told: Any) -> None:
    result = small(privacy=told)
    assert not any(one.private for one in promises(result))
    page = render_report(result)
    assert "NOT PRIVATE" in page
    assert "Nothing is promised to anyone" in words_of(page)
    assert "The promise of north and south cannot be read from this result, and counts as none." in words_of(page)
    assert "exact" not in panel(result)
    assert "<script>alert" not in page


def test_a_claimed_sensitivity_is_said_to_be_claimed() -> None:
    told = {
        "mechanism": "regret",
        "private": True,
        "epsilon": 1.0,
        "delta": 1e-6,
        "rows": 1490,
        "epsilon_per_answer": 0.0125,
        "answers_used": 80,
        "answers_planned": 100,
        "sensitivity": 5.0,
        "sensitivity_proven": 39.5,
        "sensitivity_is": "as claimed, not proven",
    }
    proven = {**told, "sensitivity": 39.5, "sensitivity_is": "proven for clipped rows and a ridge"}
    text = panel(small(privacy={"north": told, "south": proven}))
    assert "The promise to one person, if what was claimed (see below) is true: anyone" in text
    assert (
        "At north, one row is assumed to change an answer by at most 5 nats. This was claimed and is not proven" in text
    )
    assert "(proven: 39.5): if it is wrong, so is the promise." in text
    used = "80 of 100 planned answers used, ε = 0.0125 each; one row changes an answer by"
    assert f"north as claimed noise on every answer {used} 5 nats at most, as claimed, not proven 1 10⁻⁶" in text
    assert f"south yes noise on every answer {used} 39.5 nats at most, proven 1 10⁻⁶" in text
    assert "Worth" not in text
    assert "which was claimed and is not proven" in methods_text(small(privacy={"north": told, "south": told}))
    assert "was proven to change an answer by at most 39.5" in methods_text(
        small(privacy=dict.fromkeys(("north", "south"), proven))
    )
    assert "Claimed, not proven." not in panel(small(privacy={"north": proven, "south": proven}))


def test_the_panel_of_a_real_run_with_noise_on_answers() -> None:
    with pytest.warns(UserWarning, match="NOTHING in this run is private"):
        result = fitted(fp.Privacy(5.0, 1e-6, mechanism="regret", bounds=BOUNDS, test_seed=1))
    one = promises(result)[0]
    assert (one.mechanism, one.private, one.proven) == ("regret", False, True)
    assert one.planned
    assert one.each
    text = panel(result)
    assert "noise on every answer, from a test seed" in text
    assert f"one row changes an answer by {shown_number(one.sensitivity)} nats at most, proven" in text


def test_ledgers_that_grew_and_ceilings_that_changed(tmp_path: Path) -> None:
    table = simulated()[0]
    for epsilon in (0.5, 1.0):
        result = fitted(fp.Privacy(epsilon, 1e-6, bounds=BOUNDS, store=tmp_path), {"north": table})
    again = fitted(fp.Privacy(1.0, 1e-6, bounds=BOUNDS, store=tmp_path, ceiling=4.0), {"north": table})
    ledger = again.privacy["north"]["ledger"]
    assert [line["price"]["epsilon"] for line in ledger["releases"]] == [0.5, 1.0]
    assert promises(result)[0].account.share == pytest.approx(ledger["spent"] / 10)
    text = panel(again)
    assert (
        f"north 2 {shown_number(ledger['spent'])} of 4 {shown_number(ledger['remaining'], -1)} 1.5 (δ 2·10⁻⁶)" in text
    )
    assert "north changed its ceiling: ε = 10 from" in text
    assert "a person with several rows in the table is protected less" in text  # one site: nothing to add up


def test_the_guess_is_the_one_that_inspect_shows() -> None:
    price = Price(1.0, 1e-6, gaussian=zcdp_rho(1.0, 1e-6))
    assert right_guesses(1.0, 1e-6) == pytest.approx(guesses(price)[0], abs=1e-15)


def test_the_promise_in_words_grows_weaker_with_epsilon() -> None:
    assert "right in at most 51 of 100 cases." in pledge([promise(epsilon=0.01)])[0]
    assert "right in at most 74 of 100 cases." in pledge([promise()])[0]
    assert "may still be right nearly always: ε = 10 is a weak promise." in pledge([promise(epsilon=10.0)])[0]


@given(st.floats(1e-12, 1e6))
def test_property_prices_are_never_shown_smaller_than_they_are(value: Any) -> None:
    digits = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")

    def read(text: Any) -> Any:
        factor, _, power = text.replace(",", "").rpartition("10" if "⁻" in text else "\0")
        return float(power) if "⁻" not in text else float(factor.rstrip("·") or 1) * 10 ** int(power.translate(digits))

    assert value * (1 - 1e-6) <= read(shown_number(value)) <= value * 1.02
    assert value * 0.98 <= read(shown_number(value, -1)) <= value * (1 + 1e-6)


def test_sites_whose_names_are_code_stay_text_in_the_panel(private: Result) -> None:
    told = {
        HOSTILE: {
            **private.privacy["north"],
            "ledger": {**private.privacy["north"]["ledger"], "releases": [{"when": HOSTILE, "what": HOSTILE}]},
        }
    }
    page = render_report(replace(private, privacy=told, regrets={HOSTILE: 1.0}))
    assert [tag for tag, _ in Text(page).tags].count("script") == 1
    assert Text(page).text.count(HOSTILE) >= 4


def test_import_is_light() -> None:
    slow = ("jinja2", "matplotlib", "pandas", "scipy")
    code = f"import sys, fedperi.report; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_sites_that_dropped_out_are_named() -> None:
    base = small()
    assert "Not all sites took part" not in render_report(base)
    gone = [{"site": HOSTILE, "why": "it did not answer"}]
    page = render_report(replace(base, manifest={**base.manifest, "dropped": gone}))
    assert "Not all sites took part." in words_of(page) and "it did not answer" in words_of(page)
    assert HOSTILE not in page
