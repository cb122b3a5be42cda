"""Folders of site files: how they are read and prepared, and what is known about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...graph.pdag import PDAG
from ...strict import Unreadable, read_json
from .recipes import Recipe, recipe

TABLES = (".csv", ".csv.gz", ".parquet")


@dataclass(frozen=True)
class Dataset:
    """A folder with one table per site.

    Parameters
    ----------
    name : str
        Name of the folder.
    files : mapping of str to Path
        The tables, by the names of the sites.
    truth : PDAG, optional
        The graph that counts as the truth.
    recipe : Recipe
        How tables are prepared, and what else is known.
    """

    name: str
    files: Mapping[str, Path]
    truth: PDAG | None
    recipe: Recipe

    def sites(self) -> dict[str, Any]:
        """Read the tables; return the files if no preparation is needed."""
        return dict(self.files) if self.recipe.prepare is None else self.recipe.prepare(self.files)


def datasets(folder: Path) -> list[Dataset]:
    """List the data sets of a folder: the folder itself, or each folder in it with tables of at least two sites.

    Examples
    --------
    >>> import tempfile
    >>> datasets(Path(tempfile.mkdtemp()))
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: '...' holds 0 site files (.csv, .csv.gz, .parquet); a federation needs two
    """
    if not folder.is_dir():
        raise InputError(f"--tables {str(folder)!r} is not a folder; give one with one table per site")
    files = site_files(folder)
    below = [one for one in sorted(folder.iterdir()) if one.is_dir() and len(site_files(one)) > 1]
    if not files and below:
        return [_dataset(one) for one in below]
    if len(files) < 2:
        raise InputError(f"{str(folder)!r} holds {len(files)} site files ({', '.join(TABLES)}); a federation needs two")
    return [_dataset(folder)]


def site_files(folder: Path) -> dict[str, Path]:
    """Return the site files of a folder, by the names of the sites; a truth file is not one of them.

    Examples
    --------
    >>> import tempfile
    >>> site_files(Path(tempfile.mkdtemp()))
    {}
    """
    files = [f for f in sorted(folder.iterdir()) if f.name.endswith(TABLES) and not f.name.startswith("truth.")]
    return {file.name.split(".")[0]: file for file in files}


def known_graph(folder: Path) -> PDAG | None:
    """Read the truth, if the folder has one: truth.json (of `fedperi simulate`, or a graph) or truth.csv (from, to)."""
    file = next((folder / name for name in ("truth.json", "truth.csv") if (folder / name).exists()), None)
    if file is None:
        return None
    text = file.read_text(encoding="utf-8")
    try:
        if file.suffix == ".csv":
            return _from_csv(text)
        told = read_json(text)
        simulated = isinstance(told, dict) and "dag" in told
        return PDAG.from_edges(**told["dag"], names=told["names"]) if simulated else PDAG.from_json(text)
    except (InputError, KeyError, TypeError, Unreadable) as error:
        raise InputError(f"the truth file {file.name!r} cannot be read: {error}") from None


def _from_csv(text: str) -> PDAG:
    """Read edges; a file with `from` and `to` alone has arrows only."""
    lines = text.splitlines()
    if lines and [part.strip() for part in lines[0].split(",")] == ["from", "to"]:
        text = "\n".join(["from,to,type", *(f"{line},->" for line in lines[1:] if line.strip())])
    return PDAG.from_csv(text)


def _dataset(folder: Path) -> Dataset:
    files, truth = site_files(folder), known_graph(folder)
    known = recipe(files)
    if truth is not None and known.prepare is None:
        truth = _over_the_columns(files, truth)
    return Dataset(folder.name, files, truth, known)


def _over_the_columns(files: Mapping[str, Path], truth: PDAG) -> PDAG:
    """The truth over the columns of the tables; columns without edges may be missing in the file of the truth."""
    from ...tables import open_table

    first: list[str] | None = None
    for site, file in files.items():
        columns = list(open_table(file).columns)
        strange = set(truth.names) - set(columns) or (set(columns) ^ set(first) if first else set())
        if strange:
            raise InputError(
                f"the truth and site {site!r} differ in the variable {sorted(strange)[0]!r}: give both the same"
            )
        first = first or columns
    return PDAG.from_edges(list(truth.directed), list(truth.undirected), names=first)
