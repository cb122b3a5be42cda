"""Save a result as files in a directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...disk import write_whole
from ...errors import InputError
from ...strict import write_json

if TYPE_CHECKING:
    from ..result import Result

SUMMARIES = "summaries.json"
"""The sites' moments in a saved result, in a separate file: effects need them, and not everyone may see them."""

_OPTIONAL = (SUMMARIES, "graph.csv", "graph.gml", "graph.dagitty.txt", "graph.causallearn.csv", "graph.tetrad.txt")
"""Files that not every result has. If an earlier result left one behind, it would be read as part of the new one."""


def save(result: Result, directory: str | Path, overwrite: bool) -> Path:
    """Write the files of a result; without `overwrite`, existing files are an error."""
    from ...report import render_report
    from ..tables import edge_csv
    from .result_file import graph_files

    files = {
        "result.json": result.to_json(),
        "manifest.json": write_json(result.manifest, indent=1),
        "report.html": render_report(result),
        "edges.csv": edge_csv(result),
        **graph_files(result.graph),
    }
    if result.moments is not None:
        files[SUMMARIES] = result.moments.to_json()
    return save_files(files, directory, overwrite)


def save_files(files: Mapping[str, str], directory: str | Path, overwrite: bool) -> Path:
    """Write files, given as texts by name, into a directory; without `overwrite`, existing files are an error."""
    folder = Path(directory)
    taken = sorted(name for name in files if (folder / name).exists())
    if taken and not overwrite:
        more = " and other files of a result" if len(taken) > 1 else ""
        raise InputError(
            f"{str(folder)!r} already holds {taken[0]}{more}; give another directory, or overwrite=True to replace "
            "what is there"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            # Readers never see incomplete files. Only the owner may read the exact numbers of sites.
            write_whole(folder / name, text.encode(), 0o600 if name == SUMMARIES else 0o644)
        for name in _OPTIONAL:
            if overwrite and name not in files:
                (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot write the result to {str(folder)!r}: {error.strerror or error}") from None
    return folder


def file_of(directory: str | Path) -> Path:
    """Return the result.json of a directory; a file is that file itself."""
    folder = Path(directory)
    return folder / "result.json" if folder.is_dir() else folder


def read_text_of(directory: str | Path) -> str:
    """Read a saved result as text."""
    file = file_of(directory)
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"cannot read the result {str(file)!r}: {reason}") from None
