"""Our own format: JSON with a name and a version, the one to keep."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...strict import Unreadable, read_json
from .build import Edge, build, checked_text, ordered_edges

if TYPE_CHECKING:
    from ..pdag import PDAG

FORMAT = "fedperi.graph"
VERSION = 1
_KEYS = ("format", "version", "names", "directed", "undirected")


def to_json(graph: PDAG) -> str:
    """Write a graph as JSON, names and edges in the order of the variables; all characters are ASCII.

    Returns
    -------
    str
        An object with ``format``, ``version``, ``names``, ``directed`` and ``undirected``, one key per line.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.graph.formats import to_json
    >>> print(to_json(fp.PDAG.from_edges([("A", "B")], [("B", "C")])), end="")
    {
      "format": "fedperi.graph",
      "version": 1,
      "names": ["A", "B", "C"],
      "directed": [["A", "B"]],
      "undirected": [["B", "C"]]
    }
    """
    directed, undirected = ordered_edges(graph)
    values = (FORMAT, VERSION, graph.names, directed, undirected)
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in zip(_KEYS, values, strict=True)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def from_json(text: str) -> PDAG:
    """Read what `to_json` writes.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.graph.formats import from_json, to_json
    >>> from_json(to_json(fp.PDAG.from_edges([("A", "B")], [("B", "C")])))
    PDAG('A -> B, B -- C', names=['A', 'B', 'C'])
    """
    content = _parsed(checked_text(text, "JSON"))
    names = content["names"]
    if not isinstance(names, list):
        raise InputError(f"JSON: 'names' must be a list of strings, not {_brief(names)}")
    edges = [*_edges(content, "directed", "->"), *_edges(content, "undirected", "--")]
    return build("JSON", names, edges)


def _parsed(text: str) -> dict[str, Any]:
    """Return the object in the text, once its format, version and keys are right."""
    try:
        content = read_json(text)
    except Unreadable as problem:
        if problem.line is None:
            raise InputError(f"JSON: {problem}; no graph of fedperi has this") from None
        reason = f"{problem}; the text may be cut off, or a file name instead of its content"
        raise InputError(f"JSON, {reason}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = _brief(content.get("format") if isinstance(content, dict) else content)
        raise InputError(f"JSON: this is not a graph written by fedperi: 'format' must be {FORMAT!r}, found {found}")
    version = content.get("version")
    if type(version) is not int or version != VERSION:
        raise InputError(
            f"JSON: version {_brief(version)} of {FORMAT}; this fedperi reads version {VERSION}: "
            "use the fedperi that wrote it, or a newer one"
        )
    if set(content) != set(_KEYS):
        missing = [f"key {key!r} is missing" for key in _KEYS if key not in content]
        unknown = [f"key {key!r} is unknown" for key in content if key not in _KEYS]
        raise InputError(f"JSON: {', '.join(missing + unknown)}; the keys are {', '.join(_KEYS)}")
    return content


def _edges(content: dict[str, Any], key: str, kind: str) -> list[Edge]:
    pairs = content[key]
    if not isinstance(pairs, list):
        raise InputError(f"JSON: {key!r} must be a list of pairs of names, not {_brief(pairs)}")
    edges = []
    for i, pair in enumerate(pairs):
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(name, str) for name in pair)):
            raise InputError(f"JSON: {key}[{i}] must be a pair of names, not {_brief(pair)}")
        edges.append(Edge(pair[0], kind, pair[1], f"JSON, {key}[{i}]"))
    return edges


def _brief(value: Any) -> str:
    shown = json.dumps(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
