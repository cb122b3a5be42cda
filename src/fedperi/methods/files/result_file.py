"""Write a result as JSON, read it back, and write the files of its graph."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ...errors import InputError
from ...graph.formats import TEXT_FORMATS, to_dagitty
from ...graph.formats.dagitty import RESERVED
from ...graph.pdag import PDAG
from ...search.phase1 import Step
from ...strict import Unreadable, read_json, write_json
from ..evidence import EdgeEvidence
from ..parts import Difference, Groups, PairProbability, Robustness
from ..result import Result
from ..stability import EdgeStability

FORMAT, VERSION = "fedperi.result", 2
READABLE = (1, 2)
"""Versions of the file that can be read. The first had no mechanisms."""


MECHANISM_PARTS: dict[str, Any] = {
    "probable": PairProbability,
    "differences": Difference,
    "groups": Groups,
    "robustness": Robustness,
}

GRAPHS = ("graph", "phi_cpdag", "cpdag", "dag")


def write_result(result: Result) -> str:
    """Write everything but the transcript as JSON text."""
    graphs = {name: json.loads(getattr(result, name).to_json()) for name in GRAPHS}
    record = {
        "format": FORMAT,
        "version": VERSION,
        **graphs,
        "regrets": result.regrets,
        "rounds": result.rounds,
        "queries": result.queries,
        "bytes": result.bytes,
        "history": [step._asdict() for step in result.history],
        "edges": [edge._asdict() for edge in result.edges],
        "method": result.method,
        "manifest": result.manifest,
        "stability": [edge._asdict() for edge in result.stability],
        "replicates": result.replicates,
        "complete": result.complete,
        "privacy": result.privacy,
        **{name: [_plain(one) for one in getattr(result, name)] for name in MECHANISM_PARTS},
        "warnings": list(result.warnings),
        "sampling": result.sampling,
    }
    return write_json(record, indent=1)


def read_result(text: str) -> Result:
    """Read what `write_result` wrote."""
    try:
        record = read_json(text)
        if record["format"] != FORMAT or record["version"] not in READABLE:
            raise InputError(f"this is not a result of fedperi, version {VERSION}")
        values: dict[str, Any] = {name: PDAG.from_json(json.dumps(record[name])) for name in GRAPHS}
        for name in ("regrets", "rounds", "queries", "bytes", "method", "manifest", "replicates"):
            values[name] = record[name]
        if record["version"] == 1:
            record |= {**dict.fromkeys((*MECHANISM_PARTS, "warnings"), ()), "sampling": {}}
        values |= {name: _parts(name, record[name]) for name in MECHANISM_PARTS}
        return Result(
            **values,
            history=tuple(Step(**step) for step in record["history"]),
            edges=tuple(
                EdgeEvidence(**{**edge, "sites": tuple(edge["sites"]), "differing": tuple(edge["differing"])})
                for edge in record["edges"]
            ),
            stability=tuple(EdgeStability(**edge) for edge in record["stability"]),
            complete=record["complete"],
            privacy=record["privacy"],
            warnings=tuple(record["warnings"]),
            sampling=record["sampling"],
        )
    except (Unreadable, KeyError, TypeError, AttributeError):
        raise InputError("this is not a result of fedperi: the text is damaged") from None


def graph_files(graph: PDAG) -> dict[str, str]:
    """The files that hold the graph of a result, by name.

    Examples
    --------
    >>> sorted(graph_files(PDAG.from_edges([("a", "b")])))
    ['graph.csv', 'graph.dagitty.txt', 'graph.dot', 'graph.gml']
    """
    texts = {form.file: form.write(graph) for form in TEXT_FORMATS.values() if form.file}
    return {**texts, "graph.dagitty.txt": to_dagitty(_for_dagitty(graph))}


def _for_dagitty(graph: PDAG) -> PDAG:
    """The graph, with an underscore after DAGitty's two reserved words, so that they do not fail a run."""
    taken = set(graph.names)
    renamed: dict[str, str] = {}
    for word in RESERVED & taken:
        new = f"{word}_"
        while new in taken:
            new += "_"
        renamed[word] = new
    return graph.renamed(renamed) if renamed else graph


def _plain(part: Any) -> dict[str, Any]:
    """One entry for JSON: infinite evidence (of a constant) becomes null."""
    record: dict[str, Any] = part._asdict()
    return {key: None if value == float("inf") else value for key, value in record.items()}


def _parts(name: str, records: Iterable[dict[str, Any]]) -> tuple[Any, ...]:
    """Read entries back: lists become tuples, and null becomes infinite evidence."""

    def value(key: str, entry: Any) -> Any:
        if isinstance(entry, list):
            return tuple(tuple(one) if isinstance(one, list) else one for one in entry)
        return float("inf") if entry is None and key == "evidence" else entry

    make = MECHANISM_PARTS[name]
    return tuple(make(**{key: value(key, entry) for key, entry in record.items()}) for record in records)
