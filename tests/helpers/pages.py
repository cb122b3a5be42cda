"""Read the elements and words of a report page; make results to show."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from typing import Any

import fedperi as fp
from fedperi.methods import EdgeEvidence, Result
from fedperi.methods.parts import Difference, Groups, PairProbability, Robustness
from fedperi.search.phase1 import Step

HOSTILE = "<script>alert(1)</script>"
SITES = ("Brest", "Lyon", "Metz")


class Text(HTMLParser):
    """The elements of a page, and the text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text, self.inside = "", ""
        self.feed(page)

    def handle_starttag(self, tag: Any, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag

    def handle_endtag(self, tag: Any) -> None:
        self.inside = ""

    def handle_data(self, data: Any) -> None:
        if self.inside not in ("script", "style"):
            self.text += " " + data


def words_of(page: str) -> str:
    return " ".join(Text(page).text.split())


@cache
def four_hospitals() -> Result:
    """M-PERI on four sites, three of which shift one variable each."""
    truth = fp.PDAG.from_edges([("age", "weight"), ("age", "pressure"), ("weight", "pressure")])
    sim = fp.simulate(truth, clients=4, samples=2000, weights=(0.5, 1.0), intervention="shift", seed=3)
    return fp.MPERI().fit(dict(zip(["Brest", "Lyon", "Metz", "Nice"], sim.sites, strict=True)))


def by_hand(**changes: Any) -> Result:
    """Make a result: age -> dose confirmed, dose -> stroke rests on Lyon, age -- smoker open; Metz has one dose."""
    names = ["age", "dose", "smoker", "stroke"]
    graph = fp.PDAG.from_edges([("age", "dose"), ("dose", "stroke")], [("age", "smoker")], names)
    dag = fp.PDAG.from_edges([("age", "dose"), ("dose", "stroke"), ("age", "smoker")], names=names)
    values = {
        "graph": graph,
        "phi_cpdag": graph,
        "cpdag": fp.cpdag(dag),
        "dag": dag,
        "regrets": {},
        "rounds": 1,
        "queries": 15,
        "bytes": 0,
        "history": (Step("first search", 1, -50.0), Step("restart", 1, -51.0)),
        "edges": (
            EdgeEvidence("age", "dose", True, 120.4, (), "mechanisms", "holds whichever site is left out", ("Metz",)),
            EdgeEvidence("dose", "stroke", True, 6.7, (), "mechanisms", "rests on Lyon alone", ("Lyon", "Metz")),
            EdgeEvidence("smoker", "age", False, 2.0, (), "", ""),
        ),
        "method": {"name": "M-PERI", "data": "auto", "sharing": "auto", "confidence": 0.95, "seed": 3},
        "manifest": {
            "fedperi": "9.9",
            "sites": [{"site": site, "n": 500 * (k + 1), "targets": None} for k, site in enumerate(SITES)],
        },
        "probable": (
            PairProbability("age", "dose", 0.98, 0.02, 0.0),
            PairProbability("age", "smoker", 0.4, 0.55, 0.05),
            PairProbability("age", "stroke", 0.2, 0.1, 0.7),
            PairProbability("dose", "smoker", 0.01, 0.01, 0.98),
            PairProbability("dose", "stroke", 0.9, 0.07, 0.03),
            PairProbability("smoker", "stroke", 0.0, 0.0, 1.0),
        ),
        "differences": (
            Difference("Lyon", "stroke", "shifted", 9.04, "At Lyon, stroke is less likely by 0.1 than elsewhere."),
            Difference("Metz", "dose", "constant", float("inf"), "At Metz, dose has one value only."),
        ),
        "groups": (
            Groups("age", (SITES,), ()),
            Groups("dose", (("Brest",), ("Lyon",)), ("Metz",)),
            Groups("smoker", (SITES,), ()),
            Groups("stroke", (("Brest", "Metz"), ("Lyon",)), ()),
        ),
        "robustness": (
            Robustness("age", "dose", "confirmed", "", ()),
            Robustness("dose", "stroke", "one site", "Lyon", ("without Lyon: the arrow is reversed",)),
            Robustness(
                "smoker", "age", "", "", ("without Brest: the direction is open", "without Lyon: the arrow is reversed")
            ),
        ),
        "warnings": ("1 direction rests on Lyon alone: without it, it is lost.",),
        "sampling": {"exact": True, "chains_differ": 0.0},
    }
    return Result(**{**values, **changes})
