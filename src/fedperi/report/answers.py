"""Five common questions about a causal graph, each answered in a few sentences with the run's numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..methods.certainty import WORDS
from ..phrases import listed, with_noun
from .matrix import SHORT
from .totals import NONE, Total

if TYPE_CHECKING:
    from ..methods.effects.estimates import Effects
    from ..methods.parts import Difference
    from ..methods.result import Result
    from .edges import ShownEdge
    from .hidden import Suspicion
    from .mechanisms import GradedEdge, MechanismView

MOST = 3
"""Number of examples of each kind."""
MOST_SITES = 8


class Answer(NamedTuple):
    """A question, its answer, and the part of the page with details."""

    question: str
    sentences: tuple[str, ...]
    place: str
    more: str


def answers(
    edges: Sequence[ShownEdge],
    view: MechanismView,
    effects: Effects | None,
    totals: Sequence[Total],
    result: Result,
) -> tuple[Answer, ...]:
    """Answer the five questions; `totals` are the effects that the page lists."""
    arrows = [(edge, graded) for edge, graded in zip(edges, view.edges, strict=True) if edge.marks["closed"] != "line"]
    changed = _changed(arrows, view.suspected, bool(result.privacy))
    return (
        Answer("How sure?", _sure(edges, view), "h-edges", "All edges"),
        Answer("How strong, in which direction?", _strong(arrows, effects), "h-effects", "All effects"),
        Answer("What does each site do differently?", _different(view, result), "h-differences", "Site by site"),
        Answer("What would change this?", changed, "h-assumptions", "What this rests on"),
        Answer("What to adjust for?", _adjust(effects, totals), "h-effects", "For every cause and effect"),
    )


def _sure(edges: Sequence[ShownEdge], view: MechanismView) -> tuple[str, ...]:
    if not edges:
        return ("No edge was found.",)
    count = Counter(graded.sure.word for graded in view.edges if graded.sure is not None)
    counted = [f"{word.word} for {count[word.word]}" for word in WORDS if count[word.word]]
    out = [f"{with_noun(len(edges), 'edge')}. The direction is {listed(counted)}."] if counted else []
    if view.pairs:
        a, b, chance = view.pairs[0]
        out.append(f"Of the pairs without an edge, {a} and {b} come closest to one: probability {chance:.2f}.")
    return tuple(out)


def _strong(arrows: Sequence[tuple[ShownEdge, GradedEdge]], effects: Effects | None) -> tuple[str, ...]:
    """List the strongest arrows, compared in standard deviations within sites."""
    if effects is None:
        return ("This needs the sites' summaries (summaries.json), which are not available.",)
    sized, by_level = [], []
    for edge, graded in arrows:
        said = graded.effects[0][1]
        if not said.direct:
            levels = [f"{place.removeprefix('Pooled: ')}: {direct}" for place, direct, _ in said.places if direct]
            by_level += [f"{edge.first} → {edge.second}, {'; '.join(levels)}."] if levels else []
        spread = effects.moments.deviation(edge.second)
        if said.direct and spread > 0:
            size = abs(said.value) * effects.moments.deviation(edge.first) / spread
            sized.append((size, f"{edge.first} → {edge.second}: {said.direct}, {said.unit}"))
    strongest = sorted(sized, key=lambda one: -one[0])[:MOST]
    shown = [*(f"{words}." for _, words in strongest), *by_level][:MOST]
    if not shown:
        return ("The data do not determine the strength of any arrow.",) if arrows else ("No arrow.",)
    some = "The strongest arrows, compared in standard deviations" if len(sized) > len(shown) else "Arrows"
    return (f"{some}, with 95 % intervals:", *shown)


def _different(view: MechanismView, result: Result) -> tuple[str, ...]:
    if not view.sites:
        return ("The data show no difference between the sites.",)
    out = []
    for site in list(view.sites)[:MOST_SITES]:
        found = [f"{one.variable} ({_short(one, result)})" for one in result.differences if one.site == site]
        out.append(f"{site}: {listed(found)}.")
    if len(view.sites) > MOST_SITES:
        out.append(f"{len(view.sites) - MOST_SITES} more sites are in the matrix.")
    if view.alike:
        out.append(f"{listed(view.alike)}: the data show no difference.")
    return tuple(out)


def _short(one: Difference, result: Result) -> str:
    """Say what differs; if no arrow shows the direction, say only that the link differs."""
    if one.parents and set(one.parents) <= set(result.graph.neighbors(one.variable)):
        return f"linked differently with {listed(one.parents)}, directions open"
    return SHORT[one.kind]


def _changed(
    arrows: Sequence[tuple[ShownEdge, GradedEdge]], suspected: Sequence[Suspicion], noisy: bool
) -> tuple[str, ...]:
    out = []
    shaky = [(edge, graded) for edge, graded in arrows if graded.flips]
    known = sum(not graded.tried for _, graded in arrows)
    if arrows:
        firm = len(arrows) - len(shaky) - known
        out.append(f"{firm} of {with_noun(len(arrows), 'arrow')}: nothing that was tried.")
    if known:
        out.append(f"{known} of them: only other background knowledge.")
    out += [f"{edge.first} → {edge.second}: {'; '.join(graded.flips)}." for edge, graded in shaky[:MOST]]
    if len(shaky) > MOST:
        out.append(f"{len(shaky) - MOST} more arrows change, see the table of edges.")
    if suspected:
        pairs = ", ".join(listed(one.variables) for one in suspected[:MOST])
        more = "" if len(suspected) <= MOST else f", and {len(suspected) - MOST} more"
        out.append(f"A hidden common cause: there are signs of one for {pairs}{more}.")
    else:
        seen = "with privacy noise no sign of one can be seen" if noisy else "no sign of one was found"
        out.append(f"A hidden common cause would change it too; {seen}.")
    return tuple(out)


def _adjust(effects: Effects | None, totals: Sequence[Total]) -> tuple[str, ...]:
    if effects is None:
        return ("This needs the sites' summaries (summaries.json), which are not available.",)
    if not totals:
        return ("In the graph no variable has an effect on another.",)
    needed = [one for one in totals if one.adjust != NONE]
    examples = sorted(needed, key=lambda one: (not one.value, one.open, len(one.notes), -abs(one.value)))[:MOST]
    sentences = [
        f"For the effect of {one.cause} on {one.effect}{', in the most probable graph' * one.open}: {one.adjust}."
        for one in examples
    ]
    free = len(totals) - len(needed)
    if free:
        sentences.append(f"For {free} of {len(totals)} effects: nothing.")
    return ("It depends on the effect that you ask about.", *sentences)
