"""What FCI returns: a PAG, how it came about, and its files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...graph.ancestral.pag import PAG
from ...strict import Unreadable, read_json, write_json
from ..files.saving import read_text_of, save_files

Pair = tuple[str, str]

FORMAT, VERSION = "fedperi.pag", 1


@dataclass(frozen=True, eq=False)
class FCIResult:
    """What FCI found.

    Attributes
    ----------
    graph : PAG
        Over the variables.
    changes : tuple of (site, site, variable)
        Where two sites differ in a variable, and no others explain it.
    separators : dict
        For every pair of variables without an edge, the variables given which they are independent.
    tests : int
        How many independence tests were made.
    warnings : tuple of str
        What a careful statistician would say about this run.
    method : dict
        The name of the method and its options.
    manifest : dict
        What it takes to repeat the run: versions, configuration, input hashes.
    privacy : dict of str to dict, or None
        For every site what it promised; None if no site has noise.

    Examples
    --------
    >>> import fedperi as fp
    >>> result = fp.FCI().fit(fp.simulate(4, clients=2, samples=500, seed=1).sites)
    >>> FCIResult.from_json(result.to_json()).graph == result.graph
    True
    """

    graph: PAG
    changes: tuple[tuple[str, str, str], ...]
    separators: dict[Pair, tuple[str, ...]]
    tests: int
    warnings: tuple[str, ...]
    method: dict[str, Any] = field(default_factory=dict)
    manifest: dict[str, Any] = field(default_factory=dict)
    privacy: dict[str, dict[str, Any]] | None = None

    def __repr__(self) -> str:
        return f"FCIResult({self.graph!r})"

    @property
    def sites(self) -> tuple[str, ...]:
        """Who took part."""
        return tuple(entry["site"] for entry in self.manifest.get("sites", ()))

    def to_json(self) -> str:
        """Write everything as JSON text."""
        return write_json(
            {
                "format": FORMAT,
                "version": VERSION,
                "variables": list(self.graph.names),
                "edges": [list(edge) for edge in self.graph.edges],
                "changes": [list(change) for change in self.changes],
                "separators": [[*pair, list(given)] for pair, given in self.separators.items()],
                "tests": self.tests,
                "warnings": list(self.warnings),
                "method": self.method,
                "manifest": self.manifest,
                "privacy": self.privacy,
            },
            indent=1,
        )

    @classmethod
    def from_json(cls, text: str) -> FCIResult:
        """Read what `to_json` wrote."""
        try:
            record = read_json(text)
            if record["format"] != FORMAT or record["version"] != VERSION:
                raise InputError(f"this is not a result of FCI, version {VERSION}")
            return cls(
                PAG.from_edges([tuple(edge) for edge in record["edges"]], record["variables"]),
                tuple((first, second, name) for first, second, name in record["changes"]),
                {(a, b): tuple(given) for a, b, given in record["separators"]},
                record["tests"],
                tuple(record["warnings"]),
                record["method"],
                record["manifest"],
                record["privacy"],
            )
        except (Unreadable, KeyError, TypeError, ValueError, AttributeError):
            raise InputError("this is not a result of fedperi: the text is damaged") from None

    @classmethod
    def load(cls, directory: str | Path) -> FCIResult:
        """Read a result that `save` wrote, from its directory or its result.json."""
        return cls.from_json(read_text_of(directory))

    def save(self, directory: str | Path, overwrite: bool = False) -> Path:
        """Write report.html, edges.csv, result.json, manifest.json and the graph for other tools into a directory.

        graph.dot is for Graphviz, graph.causallearn.csv is causal-learn's matrix, and graph.tetrad.txt is for Tetrad,
        unless a name has a space, a comma or a semicolon, which Tetrad cannot read.

        Parameters
        ----------
        directory : str or Path
            Where to write. It is made if needed.
        overwrite : bool
            Whether to replace files that are there. Otherwise they are an error.

        Examples
        --------
        >>> import tempfile
        >>> import fedperi as fp
        >>> result = fp.FCI().fit(fp.simulate(3, clients=2, samples=500, seed=1).sites)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = result.save(folder)
        ...     FCIResult.load(folder).graph == result.graph
        True
        """
        return save_files(self._files(), directory, overwrite)

    def _files(self) -> dict[str, str]:
        from ...graph.formats.pag import pag_files
        from ...report.pag.page import render_pag_report

        return {
            "result.json": self.to_json(),
            "manifest.json": write_json(self.manifest, indent=1),
            "report.html": render_pag_report(self),
            **pag_files(self.graph),
        }

    def _repr_html_(self) -> str:
        from ...report.pictures.pag import pag_svg

        return pag_svg(self.graph)
