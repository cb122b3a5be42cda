"""FCI over several sites: what can be known of the causes when some of them are hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ...discovery.fci.fci import FCISearch, fci_search
from ...discovery.fci.moments import SiteTests
from ...errors import InputError
from ...graph.ancestral.pag import PAG
from ...graph.knowledge import as_knowledge, unconstrained
from ...option_values import MISSING, check_one_of
from ...tables.reading import Reading
from ...tables.summary.summary import Summary
from ..federate import Sites
from ..gaps import gap_sentences
from ..manifest import described, manifest_of_summaries
from ..mperi.statements import named_entries, privacy_of, statements
from ..parameters import Parameters
from .result import FCIResult, Pair

DATA = ("auto", "linear", "discrete", "mixed")
"""How columns are taken. With "auto", dependences that give directions must hold with curves, too."""

LONE = 0.1
"""Share of the sets of neighbours below which a separation may be chance, so that no rule uses it. In simulated tables
two thirds of such pairs are joined in truth, and 3 % of the pairs that a third of the sets separates."""

EVIDENCE, CAUTIOUS = 0.25, 3.0
"""Nats that must speak for what lies between two variables: where all are numbers, and elsewhere. With 0.5, F1 of
arrowheads in linear tables of sites that are alike falls from 0.81 to 0.80. With yes/no variables and categories the
likelihood ratio is none, only near it: with 0.25, 17 % of the arrowheads in hospital-like tables were wrong."""


@dataclass(frozen=True)
class FCI(Parameters):
    """FCI: the causes that can be known although others are hidden, from one summary per site.

    Independence is tested within every site, and the tests are combined: nothing is pooled, so that differences between
    sites make no false edges. Pairs of sites are contexts: where a variable differs between two sites, whatever the
    difference comes from is no effect of the variable. That gives arrowheads which no single table has.

    Directions are drawn only where tests are clear: where they leave open what a variable is between two others,
    circles stay.

    Parameters
    ----------
    alpha : float
        Variables with a p-value above it are taken as independent.
    knowledge : Knowledge or path, optional
        Tiers and forbidden arrows give arrowheads: a hidden cause may still join the two. Required arrows are drawn.
    context : bool
        Whether differences between sites are used.
    selection : bool
        Whether rows may be selected by the variables.
    max_depth : int, optional
        The largest conditioning set. Without it, as large as the graph and the number of rows allow.
    data : {"auto", "linear", "discrete", "mixed"}
        How columns are taken, see docs/explanation/site.md. Categories become indicators.
    schema : Schema or path, optional
        Types of columns, where they should not be inferred.
    missing : {"auto", "em", "error", "drop"}
        What to do with rows that lack a value.

    Examples
    --------
    >>> import fedperi as fp
    >>> truth = fp.PDAG.from_edges([("age", "weight"), ("hidden", "weight"), ("hidden", "stroke"), ("dose", "stroke")])
    >>> sim = fp.simulate(truth, clients=3, samples=2000, weights=(0.7, 1.0), intervention="none", seed=2)
    >>> fp.FCI().fit([table.drop(columns="hidden") for table in sim.sites]).graph
    PAG('age o-> weight, weight <-> stroke, dose o-> stroke', names=['age', 'weight', 'stroke', 'dose'])
    """

    alpha: float = 0.01
    knowledge: Any = None
    context: bool = True
    selection: bool = True
    max_depth: int | None = None
    data: Literal["auto", "linear", "discrete", "mixed"] = "auto"
    schema: Any = None
    missing: Literal["auto", "em", "error", "drop"] = "auto"

    def __post_init__(self) -> None:
        check_one_of("data", self.data, DATA)
        check_one_of("missing", self.missing, MISSING)
        for option in ("context", "selection"):
            if not isinstance(getattr(self, option), bool):
                raise InputError(f"{option} is true or false, not {getattr(self, option)!r}")
        number = isinstance(self.alpha, int | float) and not isinstance(self.alpha, bool)
        if not number or not 0 < self.alpha < 1:
            raise InputError(f"alpha must lie between 0 and 1, both excluded, not {self.alpha!r}; 0.01 is usual")
        depth = self.max_depth
        if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 0):
            raise InputError(f"max_depth must be a whole number of 0 or more, or None for no limit, not {depth!r}")
        object.__setattr__(self, "knowledge", as_knowledge(self.knowledge))

    def fit(self, sites: Sites) -> FCIResult:
        """Find the PAG that the sites support.

        Parameters
        ----------
        sites : list or mapping
            DataFrames, paths of tables or release files, `Release`, `Site`, `Summary` or `OracleSite` objects; or a
            mapping of names to them.
        """
        reading = Reading.of(self.schema, self.data, self.missing)
        entries = named_entries(sites)
        said = statements(entries, reading)
        parts = [part.straight() for part in said]
        names = parts[0].names
        knowledge = None if self.knowledge is None else self.knowledge.without(said[0].left_out)
        known = knowledge.constraints(names) if knowledge is not None else unconstrained(names)
        test = SiteTests(parts, contexts=self.context)
        found = fci_search(
            test,
            self.alpha,
            max_depth=self.max_depth,
            constraints=known,
            contexts=len(test.contexts),
            selection=self.selection,
            stricter=SiteTests(said, contexts=self.context) if any(part.curved for part in said) else None,
            lone=LONE,
            evidence=EVIDENCE if set(parts[0].kinds) == {"continuous"} else CAUTIOUS,
        )
        options = described(self, "FCI")
        return replace(
            _result(found, names, test.contexts, parts),
            method=options,
            manifest=manifest_of_summaries(options, parts),
            privacy=privacy_of(entries, said),
        )


def _result(found: FCISearch, names: Sequence[str], contexts: Sequence[Pair], parts: Sequence[Summary]) -> FCIResult:
    graph = found.graph.reordered(names)
    changes = [
        (*sites, name)
        for sites, context in zip(contexts, found.graph.names[len(names) :], strict=True)
        for name in names
        if found.graph.edge(context, name)
    ]
    inside = set(names)
    separators = {pair: given for pair, given in found.separators.items() if inside.issuperset(pair)}
    return FCIResult(graph, tuple(changes), separators, found.tests, tuple(_cautions(found, graph, parts)))


def _cautions(found: FCISearch, graph: PAG, parts: Sequence[Summary]) -> list[str]:
    out = []
    if not graph.is_ancestral:
        out.append(
            "Some arrows contradict each other: independence tests on finite tables disagree. Try a smaller alpha, and "
            "take single arrows with care."
        )
    if not found.complete:
        out.append(
            "Larger conditioning sets were left untested, because of max_depth or because rows are few: some edges may "
            "be superfluous."
        )
    out += gap_sentences(parts)
    small = [part.site for part in parts if part.total < 10 * len(part.names)]
    if small:
        out.append(f"Fewer than 10 rows per variable at {', '.join(small)}: tests there find little.")
    return out
