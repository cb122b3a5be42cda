"""All information of a result about one pair of variables, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from ..errors import InputError
from ..methods.certainty import how_sure
from .grades import grade_words
from .hidden import suspicions
from .mechanisms import evidence_words
from .pictures.text import edge_mark

if TYPE_CHECKING:
    from ..methods.evidence import EdgeEvidence
    from ..methods.parts import PairProbability, Robustness
    from ..methods.result import Result
    from ..methods.stability import EdgeStability
    from .strengths import Strength

Record = TypeVar("Record", "PairProbability", "Robustness", "EdgeEvidence", "EdgeStability")

MARKS = {
    "->": "The graph has an arrow from {a} to {b}.",
    "<-": "The graph has an arrow from {b} to {a}.",
    "--": "The graph has an edge between {a} and {b}, with open direction.",
    "": "The graph has no edge between {a} and {b}.",
}


def explain(result: Result, a: str, b: str) -> list[str]:
    """Describe what a result of any method says about two variables; missing information is omitted.

    Examples
    --------
    >>> import fedperi as fp
    >>> truth = fp.PDAG.from_edges([("dose", "pain")])
    >>> sim = fp.simulate(truth, clients=3, samples=1000, weights=(0.5, 1.0), intervention="shift", seed=3)
    >>> explain(fp.MPERI().fit(sim.sites), "pain", "dose")[0]
    'The graph has an arrow from dose to pain.'
    """
    for name in (a, b):
        if name not in result.graph.names:
            raise InputError(f"unknown variable {name!r}; known: {', '.join(result.graph.names)}")
    if a == b:
        raise InputError(f"both variables are {a!r}: give two")
    mark = edge_mark(result.graph, a, b)
    sentences = [
        MARKS[mark].format(a=a, b=b),
        *_probable(result, a, b),
        *_resting(result, a, b),
        *_evidence(result, a, b),
        *_stability(result, a, b),
        *(one.words for one in suspicions(result) if one.about(a, b)),
        *(one.words for one in result.differences if one.variable in (a, b)),
        *_effects(result, a, b, mark),
    ]
    return list(dict.fromkeys(sentences))


def _probable(result: Result, a: str, b: str) -> Iterator[str]:
    for one in _of_pair(result.probable, a, b):
        forward, backward = (one.forward, one.backward) if one.a == a else (one.backward, one.forward)
        yield f"Probability of {a} -> {b}: {forward:.2f}; of {b} -> {a}: {backward:.2f}; of no edge: {one.none:.2f}."
        if one.none <= max(forward, backward):
            first, second, chance = (a, b, forward) if forward >= backward else (b, a, backward)
            word = how_sure(chance, edge_mark(result.graph, first, second) == "->").word
            yield f"{first} -> {second} is {word}." if word != "open" else "The direction is open."


def _resting(result: Result, a: str, b: str) -> Iterator[str]:
    for one in _of_pair(result.robustness, a, b):
        words = grade_words(one, len(result.sites))
        yield f"The direction is {words}." if words in ("open", "confirmed", "known beforehand") else f"It {words}."
        if one.grade:
            yield f"What changes it: {'; '.join(one.flips) or 'nothing that was tried'}."


def _evidence(result: Result, a: str, b: str) -> Iterator[str]:
    for one in _of_pair(result.edges, a, b):
        yield f"Why there is an edge: {evidence_words(one.gain)}; the data fit that much worse without it."
        if one.sites:
            yield f"Sites that support it: {', '.join(one.sites)}."
        if one.words and not result.robustness:
            yield f"Why it points this way: {one.words}."


def _stability(result: Result, a: str, b: str) -> Iterator[str]:
    for one in _of_pair(result.stability, a, b):
        forward, backward = (one.forward, one.backward) if one.a == a else (one.backward, one.forward)
        yield (
            f"Of {result.replicates} resampled runs, {a} -> {b} in {forward:.0%}, {b} -> {a} in {backward:.0%}, an "
            f"open edge in {one.undirected:.0%}, no edge in {one.absent:.0%}."
        )


def _of_pair(records: Sequence[Record], a: str, b: str) -> list[Record]:
    """Return the record of a pair of variables, if there is one."""
    return [one for one in records if {one.a, one.b} == {a, b}]


def _effects(result: Result, a: str, b: str, mark: str) -> list[str]:
    """Describe the effect along a directed path, if any; for an open edge the direct effects in both directions."""
    from ..methods.effects.table import effects_of
    from .strengths import strength

    effects = effects_of(result)
    if effects is None:
        return ["Its strength needs the sites' summaries (summaries.json), which are not available."]
    if mark == "--":
        both = [(one, other, strength(effects, one, other)) for one, other in ((a, b), (b, a))]
        ways = [(f"Pooled direct effect, if {x} -> {y}", one) for x, y, one in both]
        return [
            f"{way}{where}: {direct} ({one.unit})." for way, one in ways for where, direct, _ in _pooled(one) if direct
        ]
    found = [pair for pair in effects.pairs() if set(pair) == {a, b}]
    if not found:
        return [f"In the graph no directed path connects {a} and {b}: neither has an effect on the other."]
    out = []
    for cause, effect in found:
        estimate = strength(effects, cause, effect)
        for kind, at in (("direct", 1), ("total", 2)):
            for one in _pooled(estimate):
                if one[at]:
                    out.append(f"Pooled {kind} effect of {cause} on {effect}{one[0]}: {one[at]} ({estimate.unit}).")
        out += estimate.words
    return out


def _pooled(estimate: Strength) -> list[tuple[str, str, str]]:
    """Return the pooled effect: level (if there is one effect per level), direct, total."""
    if estimate.direct or estimate.total:
        return [("", estimate.direct, estimate.total)]
    levels = [place for place in estimate.places if place[0].startswith("Pooled: ")]
    return [(f", {place.removeprefix('Pooled: ')}", direct, total) for place, direct, total in levels]
