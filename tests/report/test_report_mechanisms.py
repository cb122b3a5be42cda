"""The report of a result that compares mechanisms: what is drawn, said and left out."""

import re
from dataclasses import replace
from typing import Any

import pytest
from helpers.pages import HOSTILE, SITES, Text, by_hand, words_of

import fedperi as fp
from fedperi.methods import Result
from fedperi.methods.certainty import WORDS
from fedperi.methods.parts import Groups, Robustness
from fedperi.report import render_report
from fedperi.report.edges import drawn_graph, shown_edges
from fedperi.report.grades import counted, grade_words
from fedperi.report.mechanisms import evidence_words, mechanism_view
from fedperi.report.paper.assumptions import assumptions
from fedperi.report.paper.methods import methods_text

NONSENSE = (
    "regret",
    "round",
    "meek",
    "cpdag",
    "v-structure",
    "collider",
    "baldo and assaad, 2026",
    "bytes",
    "objective",
)


@pytest.fixture(scope="module")
def fitted() -> Result:
    sim = fp.simulate(5, clients=3, samples=500, intervention="varied", seed=4)
    return fp.MPERI().fit(dict(zip(SITES, sim.sites, strict=True)))


def drawn(page: str) -> dict[str, set[str]]:
    """Return the classes of every drawn edge."""
    found = re.findall(r'<g class="edge item ([^"]*)".*?aria-label="edge between (\w+) and (\w+)"', page)
    return {" ".join(sorted((a, b))): set(classes.split()) for classes, a, b in found}


def entry(page: str, k: int) -> str:
    start = page.index(f'<div class="entry" id="edge-{k}"')
    return words_of(page[start : page.index('<div class="entry"', start + 1)])


def test_the_picture_tells_confirmed_resting_and_open_edges_apart() -> None:
    page = render_report(by_hand())
    marks = drawn(page)
    assert marks["age dose"] == {"down", "sure-certain"}
    assert marks["dose stroke"] == {"down", "alone", "sure-likely"}
    assert marks["age smoker"] == {"line", "sure-open"}
    assert 'id="graph" class="graded"' in page
    for word in WORDS:  # weight and dash are by the word, and the legend says so
        assert f"#graph.graded .edge.sure-{word.name} .stroke" in page
        assert f" {word.word} ({word.least:g} or more)" in words_of(page) or not word.least
    text = words_of(page)
    for line in (
        "cause → effect, confirmed: holds whichever site is left out",
        "cause → effect, rests on one site: see the table",
        "connected, direction open",
    ):
        assert line in text
    sure = by_hand(graph=by_hand().dag, robustness=())
    assert "connected, direction open" not in words_of(render_report(sure))


def test_warnings_come_first() -> None:
    page = render_report(by_hand())
    text = words_of(page)
    assert text.index("Read this first 1 direction rests on Lyon alone") < text.index("The graph")
    assert 'class="warnings" role="alert"' in page
    assert "Read this first" not in words_of(render_report(by_hand(warnings=())))


def test_the_page_counts_the_grades() -> None:
    text = words_of(render_report(by_hand()))
    assert "3 edges 1 direction confirmed 1 rests on one site 1 open 3,000 rows at 3 sites; none left a site" in text


def test_the_table_has_probabilities_grades_and_what_changes_them() -> None:
    page = render_report(by_hand())
    table = page[page.index('id="edges">') :]
    text = words_of(table[: table.index("</table>")])
    assert text.removeprefix('id="edges"> ') == (
        "Edge How sure Direction This way Other way No edge What changes it "
        "age → dose practically certain confirmed 0.98 0.02 0.00 nothing that was tried "
        "dose → stroke likely rests on Lyon alone 0.90 0.07 0.03 without Lyon: the arrow is reversed "
        "smoker — age open open 0.55 0.40 0.05 without Lyon: the other direction is more probable"
    )
    assert "1 pair without an edge here that may have one" in words_of(page)
    assert "age, stroke 0.30" in words_of(page)


def test_what_each_site_does_differently() -> None:
    text = words_of(render_report(by_hand()))
    start = text.index("What each site does differently")
    part = text[start : text.index("Edges Filter", start)]
    assert "Lyon At Lyon, stroke is less likely by 0.1 than elsewhere. strong evidence (9.0 nats)" in part
    assert "Metz At Metz, dose has one value only. certain" in part
    assert "Brest As elsewhere, as far as the data show." in part
    assert "stroke Brest, Metz Lyon" in part
    assert "dose Brest (the next one is equally common) Lyon; one value only: Metz" in part
    none = words_of(render_report(by_hand(differences=())))
    assert "The data show no difference between the sites." in none


def test_evidence_of_an_edge() -> None:
    page = render_report(by_hand())
    edges = shown_edges(by_hand(), [(e.upper, e.lower) for e in _edges(by_hand())])
    k = next(k for k, edge in enumerate(edges) if edge.second == "stroke")
    said = entry(page, k)
    for part in (
        "dose → stroke likely, 0.90 rests on Lyon alone",
        "How probable it is dose → stroke 0.90 dose ← stroke 0.07 no edge 0.03",
        "It rests on Lyon alone. Ask there what is done differently.",
        "What changes it without Lyon: the arrow is reversed",
        "Moderate evidence (6.7 nats): the data fit that much worse without it.",
        "What sites do differently here At Lyon, stroke is less likely by 0.1 than elsewhere.",
    ):
        assert part in said, said


def _edges(result: Result) -> Any:
    return shown_edges(result, sorted(drawn_graph(result).directed))


def test_what_the_sites_sent_and_that_it_is_not_private() -> None:
    text = words_of(render_report(by_hand()))
    assert "its row count, and the means and covariances of its columns, 15 numbers." in text
    assert "Exact means and covariances are not private" in text
    assert "Probabilities are exact sums over all acyclic graphs." in text
    sampled = words_of(render_report(by_hand(sampling={"exact": False, "chains_differ": 0.034})))
    assert "Probabilities are from samples of acyclic graphs; independent samples differ by up to 0.03." in sampled


@pytest.mark.parametrize("made", ["by hand", "fitted"])
def test_nothing_about_regrets_and_rounds(made: str, fitted: Result) -> None:
    result = by_hand() if made == "by hand" else fitted
    page = render_report(result)
    text = f"{words_of(page[: page.index('For your paper')])} {methods_text(result)}".lower()
    text = text.replace("background", "")
    assert [word for word in NONSENSE if word in text] == []
    assert 'class="curve"' not in page and 'id="views"' not in page and 'id="h-search"' not in page


def test_one_and_two_sites_cannot_be_left_out() -> None:
    robust = Robustness("a", "b", "one site", "", ())
    assert grade_words(robust, 1) == "rests on one table"
    assert grade_words(robust, 2) == "rests on the difference between two sites"
    assert grade_words(None, 3) == "open"
    for sites, said in ((1, "rows that count for a third."), (2, "rows that count for a third, a stricter")):
        manifest = {"sites": [{"site": name, "n": 5} for name in SITES[:sites]]}
        text = words_of(render_report(by_hand(manifest=manifest, robustness=(robust._replace(a="age", b="dose"),))))
        assert f"Nothing that was tried: {said}" in text


def test_counts_in_a_sentence() -> None:
    assert counted(by_hand()) == (
        "3 edges: 1 confirmed (the direction holds whichever site is left out), 1 that rests on one site, "
        "1 with an open direction."
    )
    empty = fp.PDAG([[0]], ["only"])
    graphs = {"graph": empty, "phi_cpdag": empty, "cpdag": empty, "dag": empty}
    parts = {
        "robustness": (),
        "edges": (),
        "differences": (),
        "probable": (),
        "groups": (Groups("only", (SITES,), ()),),
    }
    nothing = by_hand(**graphs, **parts)
    assert counted(nothing) == "No edge was found."
    text = words_of(render_report(nothing))
    assert "No edge was found: the sites\u2019 data give no reason to connect any two variables." in text
    assert "regret" not in text[: text.index("For your paper")]


def test_evidence_in_words() -> None:
    assert [evidence_words(nats) for nats in (-0.2, 2.9, 3.0, 6.9, 12.3, 1234.5)] == [
        "weak evidence (-0.2 nats)",
        "weak evidence (2.9 nats)",
        "moderate evidence (3.0 nats)",
        "moderate evidence (6.9 nats)",
        "strong evidence (12 nats)",
        "strong evidence (1,234 nats)",
    ]


def test_methods_text_has_the_numbers_of_the_run() -> None:
    assert methods_text(by_hand()) == (
        "Causal structure was estimated with M-PERI as implemented in fedperi 9.9. 3 sites with 3,000 rows in total "
        "(500 to 1,500 each) took part, and 4 variables were studied. Each site gave one statement: its row count and "
        "the means and covariances of its columns. No rows left a site. How each variable depends on its causes (its "
        "mechanism) was compared between the sites with a Gaussian BIC. Sites could share the mechanism of a variable "
        "within a tolerance that the data chose. Probabilities of edges were summed over all acyclic graphs, with all "
        "sites, with each site left out, and with rows that count for a third; the stated "
        "probability is their mean, with odds raised to the power 0.7. Pairs are joined if the stated probability of "
        "an edge is at least one half. They are directed if the direction has a probability of at least 0.99 with all "
        "sites and 0.9 with rows that count for a third, and depends on at most one site, or on more sites if there is "
        "hardly any doubt (0.0001); also if background knowledge says so, or the other direction would close a cycle. "
        "The graph has 3 edges: 1 with a direction that "
        "holds whichever site is left out, 1 with one that rests on one site, and 1 with an open direction. 2 "
        "mechanisms differed from those of most sites, at 2 sites. The random seed was 3."
    )


def test_assumptions_are_those_of_comparing_mechanisms() -> None:
    names = [one.name for one in assumptions({"name": "M-PERI", "data": "auto", "knowledge": {"tiers": []}})]
    assert names == [
        "No hidden common causes",
        "Nothing cancels out",
        "One graph, without cycles",
        "Most mechanisms are the same at most sites",
        "The form of the relations",
        "Independent rows",
        "Background knowledge is right",
    ]
    forms = {data: assumptions({"name": "M-PERI", "data": data})[4].says for data in ("linear", "nonlinear", "auto")}
    assert len(set(forms.values())) == 3


def test_the_view_of_a_real_run_agrees_with_the_result(fitted: Result) -> None:
    edges = _edges(fitted)
    view = mechanism_view(fitted, edges)
    assert view.confirmed + view.resting == len(fitted.graph.directed) and view.lines == len(fitted.graph.undirected)
    assert len(view.edges) == len(fitted.graph)
    for edge, graded in zip(edges, view.edges, strict=True):
        assert abs(sum(share.share for share in graded.shares) - 1) < 1e-9
        assert graded.shares[0].share >= graded.shares[1].share
        assert (graded.grade == "open") == (edge.marks["closed"] == "line")
    assert sum(map(len, view.sites.values())) == len(fitted.differences)
    assert sorted((*view.sites, *view.alike)) == sorted(SITES)


def test_a_result_read_back_gives_the_same_page(fitted: Result) -> None:
    for result in (fitted, by_hand()):
        assert render_report(replace(Result.from_json(result.to_json()), moments=result.moments)) == render_report(
            result
        )


def test_identifiers_are_unique_and_nothing_is_loaded(fitted: Result) -> None:
    page = render_report(fitted)
    parsed = Text(page)
    identifiers = [attrs["id"] for _, attrs in parsed.tags if "id" in attrs]
    assert len(identifiers) == len(set(identifiers))
    for key in ("aria-controls", "aria-labelledby", "data-copy"):
        assert {attrs[key] for _, attrs in parsed.tags if key in attrs} <= set(identifiers)
    assert set(re.findall(r"https?://[^\"' ]*", page)) == {"http://www.w3.org/2000/svg"}


def test_untrusted_names_stay_text() -> None:
    base = by_hand()
    names = {"age": HOSTILE, "dose": '" onmouseover="alert(1)', "smoker": "{{ 7*7 }}", "stroke": "</style><script>"}

    def renamed(part: Any) -> Any:
        return part._replace(a=names[part.a], b=names[part.b])

    result = replace(
        base,
        **{name: getattr(base, name).renamed(names) for name in ("graph", "phi_cpdag", "cpdag", "dag")},
        edges=tuple(renamed(one) for one in base.edges),
        probable=tuple(renamed(one) for one in base.probable),
        robustness=tuple(renamed(one)._replace(site=HOSTILE, flips=(HOSTILE,)) for one in base.robustness),
        differences=tuple(
            one._replace(site=HOSTILE, variable=names[one.variable], words=HOSTILE) for one in base.differences
        ),
        groups=tuple(
            one._replace(variable=names[one.variable], groups=((HOSTILE,),), constant=(HOSTILE,)) for one in base.groups
        ),
        warnings=(HOSTILE,),
        manifest={"fedperi": HOSTILE, "sites": [{"site": HOSTILE, "n": 5, "targets": [HOSTILE]}]},
    )
    parsed = Text(render_report(result))
    assert [tag for tag, _ in parsed.tags].count("script") == 1
    assert not [name for _, attrs in parsed.tags for name in attrs if name.startswith("on")]
    assert "{{ 7*7 }}" in parsed.text and HOSTILE in parsed.text


def test_on_paper_a_long_table_of_effects_is_cut_and_says_so() -> None:
    sim = fp.simulate(12, clients=4, samples=500, edges=40, weights=(0.5, 1.0), intervention="shift", seed=1)
    page = render_report(fp.MPERI(progress=False).fit(sim.sites))
    (count,) = (int(one) for one in re.findall(r"On paper: the first 60 of (\d+) effects", page))
    assert page.count('<tr class="on-screen" data-cause=') == count - 60 > 0
    short = render_report(fp.MPERI(progress=False).fit(fp.simulate(4, clients=3, samples=300, seed=1).sites))
    assert "On paper: the first" not in short and 'class="on-screen"' not in short
