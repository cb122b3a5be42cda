"""Graphs for other tools: one module per family, each with a writer ``to_x`` and a reader ``from_x``.

Every pair round-trips exactly, names and undirected edges included. Only `to_networkx` needs another package.
"""

from .build import TextFormat
from .causallearn import from_causallearn, to_causallearn
from .dagitty import from_dagitty, to_dagitty
from .dot import from_dot, to_dot
from .gml import from_gml, to_gml
from .json_ import from_json, to_json
from .networkx_ import from_networkx, to_networkx
from .pgmpy_ import EdgeLists, from_pgmpy, to_pgmpy
from .tables import from_csv, to_csv
from .tetrad import from_tetrad, to_tetrad

TEXT_FORMATS = {
    "DOT": TextFormat(to_dot, from_dot, "graph.dot"),
    "DAGitty": TextFormat(to_dagitty, from_dagitty),
    "GML": TextFormat(to_gml, from_gml, "graph.gml"),
    "CSV": TextFormat(to_csv, from_csv, "graph.csv"),
    "JSON": TextFormat(to_json, from_json),
}
"""Tests look for every format here, and `Result.save` for those with a file."""

__all__ = [
    "TEXT_FORMATS",
    "EdgeLists",
    "from_causallearn",
    "from_csv",
    "from_dagitty",
    "from_dot",
    "from_gml",
    "from_json",
    "from_networkx",
    "from_pgmpy",
    "from_tetrad",
    "to_causallearn",
    "to_csv",
    "to_dagitty",
    "to_dot",
    "to_gml",
    "to_json",
    "to_networkx",
    "to_pgmpy",
    "to_tetrad",
]
