"""Every sentence of the page with a number or a rule is tested against its source."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.pages import by_hand, words_of

import fedperi as fp
from fedperi.methods import Result
from fedperi.methods.certainty import WORDS
from fedperi.methods.effects.words import number
from fedperi.methods.mperi.directions import OVERWHELMING, TEMPER, allowed_doubt
from fedperi.methods.mperi.hidden import find_signs
from fedperi.methods.mperi.runs import THIRD
from fedperi.methods.parts import Difference, Robustness
from fedperi.report import render_report
from fedperi.report.grades import what_they_rest_on
from fedperi.report.hidden import suspicions
from fedperi.report.matrix import SHORT
from fedperi.report.mechanisms import NOTABLE, STRONG, WEAK
from fedperi.report.paper.methods import methods_text
from fedperi.scores.masking import INTERVENTION_PRICE, PARTIAL_PRICE
from fedperi.tables.summary.summaries import summaries

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def result() -> Result:
    """Return a result with directions of all kinds: confirmed, dependent on one site, open."""
    truth = fp.PDAG.from_edges([("age", "bmi"), ("age", "sbp"), ("bmi", "sbp"), ("sbp", "stroke"), ("pill", "stroke")])
    sim = fp.simulate(truth, clients=5, samples=800, weights=(0.3, 0.8), intervention="varied", seed=5)
    return fp.MPERI().fit(dict(zip(["Brest", "Lyon", "Metz", "Nice", "Tours"], sim.sites, strict=True)))


@pytest.fixture(scope="module")
def page(result: Result) -> str:
    return render_report(result)


def part(page: str, heading: str) -> str:
    """Return the words of the section with this heading."""
    start = page.index(f'id="{heading}"')
    return words_of("<p " + page[start : page.index("</section>", start)])


def sums(result: Result) -> dict[str, int]:
    grades = [one.grade for one in result.robustness]
    return {
        "edges": len(result.graph),
        "confirmed": grades.count("confirmed") + grades.count("known"),
        "open": len(result.graph.undirected),
        "rows": sum(site["n"] for site in result.manifest["sites"]),
    }


def test_the_line_of_facts(result: Result, page: str) -> None:
    facts = words_of(page[page.index('<ul class="facts">') :].split("</ul>")[0])
    count = sums(result)
    rest = len(result.graph.directed) - count["confirmed"]
    for said in (
        f"{count['edges']} edges",
        f"{count['confirmed']} directions confirmed",
        f"{rest} rest{'s' * (rest == 1)} on one site",
        f"{count['open']} open",
        f"{count['rows']:,} rows at {len(result.sites)} sites",
    ):
        assert said in facts


def test_how_sure(result: Result, page: str) -> None:
    frame, text = result.to_frame(), part(page, "h-short")
    assert f"{len(frame)} edges. The direction is " in text
    for word in WORDS:
        count = (frame["how_sure"] == word.word).sum()
        assert (f"{word.word} for {count}" in text) == (count > 0)
    chances = result.probabilities.assign(edge=lambda frame: 1 - frame["none"])
    without = chances[[b not in result.graph.adjacent(a) for a, b in zip(chances.a, chances.b, strict=True)]]
    top = without.sort_values("edge").iloc[-1]
    if top.edge >= NOTABLE:
        assert f"{top.a} and {top.b} come closest to one: probability {top.edge:.2f}." in text
    some = int((without.edge >= NOTABLE).sum())
    listed = f"{some} pair{'s' * (some != 1)} without an edge here that may have one" in words_of(page)
    assert listed == (some > 0)
    assert ("without an edge here that may have one" in words_of(page)) == listed


def test_how_strong(result: Result, page: str) -> None:
    frame, text = result.to_frame(), part(page, "h-short")
    arrows = frame[frame["directed"]].copy()
    assert result.moments is not None
    spread = {name: result.moments.deviation(name) for name in result.graph.names}
    rows = {site.site: site.covariance for site in result.moments.sites}
    at = result.graph.index("age")
    assert spread["age"] == pytest.approx(np.sqrt(np.mean([one[at, at] for one in rows.values()])))  # equal rows
    arrows["size"] = [abs(row.effect) * spread[row.a] / spread[row.b] for row in arrows.itertuples()]
    strongest = arrows.sort_values("size", ascending=False)[:3]
    said = [
        f"{row.a} → {row.b}: {number(row.effect)} ({number(row.effect_low)} to {number(row.effect_high)}), {row.unit}."
        for row in strongest.itertuples()
    ]
    places = [text.index(words) for words in said]
    assert places == sorted(places)


def test_what_sites_do_differently(result: Result, page: str) -> None:
    text = part(page, "h-short")
    for site in result.sites:
        found = [f"{one.variable} ({SHORT[one.kind]})" for one in result.differences if one.site == site]
        assert not any({*one.parents} & {*result.graph.neighbors(one.variable)} for one in result.differences)
        said = re.search(rf"(?<![\w,]){site}[^:.]*: ([^.]*)\.", text)
        assert said is not None
        assert all(one in said.group(1) for one in found) and (said.group(1) == "the data show no difference") == (
            not found
        )


def test_a_difference_of_a_link_without_direction_names_no_cause() -> None:
    said = "At Lyon, age does not depend on smoker; whether smoker is a cause of it is open."
    page = render_report(by_hand(differences=(Difference("Lyon", "age", "cut", 9.0, said, ("smoker",)),)))
    assert "age (linked differently with smoker, directions open)" in part(page, "h-short")
    page = render_report(by_hand(differences=(Difference("Lyon", "dose", "cut", 9.0, "", ("age",)),)))
    assert f"dose ({SHORT['cut']})" in part(page, "h-short")


def test_what_would_change_it(result: Result, page: str) -> None:
    text = part(page, "h-short")
    directed = [one for one in result.robustness if one.grade]
    firm = [one for one in directed if not one.flips]
    assert f"{len(firm)} of {len(directed)} arrows: nothing that was tried." in text
    for one in [one for one in directed if one.flips][:3]:
        assert f"{one.a} → {one.b}: {'; '.join(one.flips)}." in text
    assert "no sign of one was found" in text and not suspicions(result)
    known = by_hand(robustness=(Robustness("age", "dose", "known", "", ()), *by_hand().robustness[1:]))
    said = part(render_report(known), "h-short")
    assert "0 of 2 arrows: nothing that was tried. 1 of them: only other background knowledge." in said


def test_total_effects_and_what_to_adjust_for(result: Result, page: str) -> None:
    text, short = part(page, "h-effects"), part(page, "h-short")
    common = result.effects[result.effects["pooled"]]
    assert len(common) == page[page.index('id="effects"') :].split("</table>")[0].count("<tr data-cause")
    for row in common.itertuples():
        adjust = " and ".join(row.adjustment.rsplit(", ", 1)) or "nothing"
        none = row.total == 0 and row.total_se == 0  # no path in the most probable DAG
        shown = (
            f"{'probably none' if none else number(row.total)} ({number(row.total_low)} to {number(row.total_high)})"
        )
        assert f"{row.cause} {row.effect} {shown} {row.unit} {adjust}" in text
        if row.open:
            assert f"Depends on open directions: {number(row.total_least)} to {number(row.total_most)}." in text
    free = (common["adjustment"] == "").sum()
    assert f"For {free} of {len(common)} effects: nothing." in short
    examples = re.findall(r"For the effect of (\w+) on (\w+)(, in the most probable graph)?: ([^.]*)\.", short)
    assert examples
    for cause, effect, depends, adjust in examples:
        row = common.set_index(["cause", "effect"]).loc[(cause, effect)]
        assert bool(row.open) == bool(depends)
        assert " and ".join(row.adjustment.rsplit(", ", 1)) == adjust


def rule(confidence: float) -> str:
    return (
        f"at least {1 - allowed_doubt(confidence):.4g} with all sites and {1 - 2 * (1 - confidence):.4g} with rows that"
    )


RULES: list[tuple[Callable[[Result], str], str]] = [
    (methods_text, rule(0.95)),
    (methods_text, f"hardly any doubt ({OVERWHELMING:g})"),
    (methods_text, f"with odds raised to the power {TEMPER:g}"),
    (methods_text, {1 / 3: "with rows that count for a third"}[THIRD]),
    (lambda r: part(render_report(r), "h-edges"), rule(0.95)),
    (lambda r: words_of(render_report(r)), f"{WEAK:g} nats stand for odds of about {round(math.exp(WEAK)):g} to 1"),
    (lambda r: words_of(render_report(r)), f"{STRONG:g} nats for about {round(math.exp(STRONG), -2):,.0f} to 1"),
    (lambda r: words_of(render_report(r)), f"of its columns, {by_hand().queries} numbers"),
]


@pytest.mark.parametrize(("where", "said"), RULES)
def test_rules_are_those_of_the_code(where: Callable[[Result], str], said: str) -> None:
    assert said in where(by_hand())


def test_the_rule_follows_the_option() -> None:
    other = by_hand(method={**by_hand().method, "confidence": 0.8})
    for text in (methods_text(other), part(render_report(other), "h-edges")):
        assert rule(0.8) in text and rule(0.95) not in text


def test_prices_are_those_of_the_search() -> None:
    text = methods_text(fp.IPERI().fit(fp.simulate(3, clients=2, samples=200, seed=1).sites))
    assert f"{INTERVENTION_PRICE:g} nat for a variable with no influences left, {PARTIAL_PRICE:g} nats" in text


@pytest.mark.parametrize(
    ("robust", "said", "silent"),
    [
        (("known", "", ()), "Background knowledge, which was taken as true.", "What changes it"),
        (("straight lines", "", ()), "if effects may be curved, it is no longer the more probable", "holds whichever"),
        (("one site", "Lyon and Metz", ("without Lyon: no edge",)), "It rests on Lyon and Metz alone.", "holds which"),
        (("confirmed", "", ()), "it holds whichever site is left out. What changes it Nothing that was", "taken as"),
    ],
)
def test_what_a_direction_rests_on(robust: tuple[str, str, tuple[str, ...]], said: str, silent: str) -> None:
    made = by_hand(robustness=(Robustness("age", "dose", *robust), *by_hand().robustness[1:]))
    page = render_report(made)
    (k,) = [k for k in range(3) if f'id="edge-{k}" hidden>\n<h3>age <' in page]
    start = page.index(f'id="edge-{k}"')
    entry = words_of(page[start : page.index('<div class="entry"', start)])
    assert said in entry and silent not in entry


@pytest.mark.parametrize(
    ("grades", "said"),
    [
        ([("one site", "Lyon")], "one site"),
        ([("one site", "")], "one site"),
        ([("one site", "Lyon"), ("one site", "Lyon and Metz")], "few sites"),
        ([("straight lines", "")], "straight lines"),
        ([("one site", "Lyon"), ("straight lines", "")], "one site or straight lines"),
        ([("confirmed", "")], "one site"),
    ],
)
def test_what_the_others_rest_on(grades: list[tuple[str, str]], said: str) -> None:
    ends = (("age", "dose"), ("dose", "stroke"))
    made = by_hand(robustness=tuple(Robustness(*ends[k], *one, ()) for k, one in enumerate(grades)))
    assert what_they_rest_on(made) == said


def test_nothing_is_said_to_be_tried_for_open_edges() -> None:
    made = by_hand(robustness=(*by_hand().robustness[:2], Robustness("smoker", "age", "", "", ())))
    page = render_report(made)
    start = page.index("<h3>smoker <")
    entry = words_of(page[start : page.index('<div class="entry"', start)])
    assert "neither is probable enough" in entry and "What changes it" not in entry


def test_signs_of_hidden_causes_stand_at_each_pair() -> None:
    """Each warning is found in its sentences, and shown at both variables, the edge and the pair."""
    truth = fp.PDAG.from_edges([("h", "a"), ("h", "b"), ("h", "c"), ("h", "d")])
    sim = fp.simulate(truth, clients=6, samples=2000, weights=(0.8, 1.2), intervention="shift", seed=1)
    tables = [table.drop(columns="h") for table in sim.sites]
    made = fp.MPERI().fit(tables)
    signs = find_signs(summaries(tables), made.dag, made.groups)
    assert signs and {one.variables for one in suspicions(made)} == {sign.variables for sign in signs}
    page = render_report(made)
    listed = words_of(page[page.index('id="suspected"') :].split("</table>")[0])
    assert all(sign.words in listed for sign in signs)
    for sign in signs:
        for name in sign.variables:
            node = next(k for k, _ in enumerate(made.graph.names) if f'id="node-{k}" hidden>\n<h3>{name}</h3>' in page)
            start = page.index(f'id="node-{node}"')
            assert sign.words in words_of(page[start:].split("</section>")[0].split('<div class="entry"')[0])
    joined = sum(any({a, b} <= set(sign.variables) for sign in signs) for a, b in made.graph.skeleton.undirected)
    assert page.count(" suspect sure-") == joined
    assert page.count("A hidden common cause?") >= joined
    assert f"there are signs of one for {signs[0].variables[0]}" in part(page, "h-short")


@pytest.mark.filterwarnings("ignore:test_seed")
def test_a_run_with_noise_does_not_speak_of_exact_numbers() -> None:
    tables = fp.simulate(3, clients=2, samples=3000, seed=1).sites
    privacy = fp.Privacy(1.0, 1e-6, bounds=dict.fromkeys(tables[0].columns, (-8, 8)), test_seed=1)
    made = fp.MPERI(privacy=privacy).fit({"North": tables[0], "South": tables[1]})
    page = render_report(made)
    told = part(page, "h-statements")
    assert told.startswith("What each site sent One release, once:") and "Exact means" not in told
    for site in ("North", "South"):
        assert f"{site} about {made.privacy[site]['rows']:,} " in told
    assert "with privacy noise no sign of one can be seen" in part(page, "h-short")
    assert "Bounds that fit, and enough rows for the noise" in part(page, "h-assumptions")
    assert "the means and covariances of its columns, with the noise described above." in methods_text(made)
    exact = part(render_report(by_hand()), "h-statements")
    assert "Exact means and covariances are not private" in exact and "noise" not in exact


def test_names_with_commas_and_ands_are_found_again() -> None:
    names = ["salt and pepper", "a, b", "b", "pepper"]
    graph = fp.PDAG.from_edges([], [("salt and pepper", "a, b")], names)
    warning = "salt and pepper, a, b and b may have a hidden common cause: it would explain all edges."
    made = replace(by_hand(), graph=graph, warnings=(warning, "pepper may be hot."))
    assert [one.variables for one in suspicions(made)] == [("salt and pepper", "a, b", "b")]


def test_docs_have_the_same_words_and_limits() -> None:
    text = next(DOCS.rglob("report.md")).read_text(encoding="utf-8")
    for word in WORDS[:-1]:
        assert re.search(rf"\| {word.word} \| {word.least:g} (or more|to)", text)
