"""Write a result as JSON, read it back, and write the files of its graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import fields
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

GRAPHS = ("graph", "phi_cpdag", "cpdag", "dag")
MECHANISMS = {"probable": PairProbability, "differences": Difference, "groups": Groups, "robustness": Robustness}
RECORDS: dict[str, Any] = {"history": Step, "edges": EdgeEvidence, "stability": EdgeStability, **MECHANISMS}
FIELDS = [field.name for field in fields(Result) if field.name not in ("transcript", "moments")]


def write_result(result: Result) -> str:
    """Write everything but the transcript and the moments as JSON text."""
    values: dict[str, Any] = {name: getattr(result, name) for name in FIELDS}
    values |= {name: json.loads(values[name].to_json()) for name in GRAPHS}
    values |= {name: [_plain(one) for one in values[name]] for name in RECORDS}
    return write_json({"format": FORMAT, "version": VERSION, **values}, indent=1)


def read_result(text: str) -> Result:
    """Read what `write_result` wrote."""
    try:
        record = read_json(text)
        if record["format"] != FORMAT or record["version"] not in READABLE:
            raise InputError(f"this is not a result of fedperi, version {VERSION}")
        if record["version"] == 1:
            record |= {**dict.fromkeys((*MECHANISMS, "warnings"), ()), "sampling": {}}
        values = {name: record[name] for name in FIELDS}
        values |= {name: PDAG.from_json(json.dumps(values[name])) for name in GRAPHS}
        values |= {name: _parts(make, values[name]) for name, make in RECORDS.items()}
        return Result(**{**values, "warnings": tuple(values["warnings"])})
    except (Unreadable, KeyError, TypeError, AttributeError):
        raise InputError("this is not a result of fedperi: the text is damaged") from None


def graph_files(graph: PDAG) -> dict[str, str]:
    """Write a graph in all formats; the result maps names of files to their texts.

    Examples
    --------
    >>> sorted(graph_files(PDAG.from_edges([("a", "b")])))
    ['graph.csv', 'graph.dagitty.txt', 'graph.dot', 'graph.gml']
    """
    texts = {form.file: form.write(graph) for form in TEXT_FORMATS.values() if form.file}
    return {**texts, "graph.dagitty.txt": to_dagitty(_for_dagitty(graph))}


def _for_dagitty(graph: PDAG) -> PDAG:
    """Add an underscore to variables that have one of the two names that DAGitty reserves."""
    taken = set(graph.names)
    renamed: dict[str, str] = {}
    for word in RESERVED & taken:
        new = f"{word}_"
        while new in taken:
            new += "_"
        renamed[word] = new
    return graph.renamed(renamed) if renamed else graph


def _plain(part: Any) -> dict[str, Any]:
    """Prepare one entry for JSON: infinite evidence (of a constant) becomes null."""
    record: dict[str, Any] = part._asdict()
    return {key: None if value == float("inf") else value for key, value in record.items()}


def _parts(make: Callable[..., Any], records: Iterable[dict[str, Any]]) -> tuple[Any, ...]:
    """Read entries back: lists become tuples, and null becomes infinite evidence."""

    def value(key: str, entry: Any) -> Any:
        if isinstance(entry, list):
            return tuple(tuple(one) if isinstance(one, list) else one for one in entry)
        return float("inf") if entry is None and key == "evidence" else entry

    return tuple(make(**{key: value(key, entry) for key, entry in record.items()}) for record in records)
