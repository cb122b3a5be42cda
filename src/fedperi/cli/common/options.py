"""The options that were given to a command: on the command line, or in a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError
from .methods import HERE, NETWORK, known_options


def given_options(
    config: str | None, arguments: Mapping[str, Any], known: Collection[str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Collect the options that were given in a TOML file and on the command line, which overrides the file.

    Parameters
    ----------
    config : str, optional
        The file.
    arguments : mapping
        All arguments of a command; those that were not given are None.
    known : collection of str
        The options that the file may have; other arguments are left out.

    Returns
    -------
    asked : dict
        Options and their values.
    said : dict
        How each was given, for messages.

    Examples
    --------
    >>> given_options(None, {"local": "pc", "seed": None, "out": "results"}, ("local", "seed"))
    ({'local': 'pc'}, {'local': '--local'})
    """
    typed = {key: arguments[key] for key in known if arguments.get(key) is not None}
    asked = {**_from_file(config, known), **typed}
    said = {key: f"--{key.replace('_', '-')}" if key in typed else f"{key!r} in {config!r}" for key in asked}
    return asked, said


def _from_file(config: str | None, known: Collection[str]) -> dict[str, Any]:
    """Read options from a TOML file, by their long names."""
    if config is None:
        return {}
    from ...strict import Unreadable, read_toml

    try:
        content = read_toml(Path(config).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, Unreadable) as error:
        raise InputError(f"the configuration {config!r} cannot be read: {error}") from None
    unknown = next((key for key in content if key not in known), None)
    if unknown is None:
        return content
    has = f"the configuration {config!r} has the key {unknown!r}"
    if unknown in known_options(HERE) and unknown not in known_options(NETWORK):
        raise InputError(f"{has}, which is for `fedperi run` with tables that are here; leave it out")
    raise InputError(f"{has}; known: {', '.join(known)}")


def check_place(
    out: Path | None,
    dry_run: bool,
    as_json: bool,
    *,
    force: bool = False,
    remedy: str = "choose another, or add --force to write over it",
) -> None:
    """Refuse, before any work, to write into a file, or over results unless `force` is given.

    Examples
    --------
    >>> check_place(None, dry_run=False, as_json=False)
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: give a directory for the results: --out results (or --json to print them, or --dry-run)
    """
    if out is None:
        if not dry_run and not as_json:
            raise InputError("give a directory for the results: --out results (or --json to print them, or --dry-run)")
        return
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {str(out)!r} is a file; give a directory")
    if (out / "result.json").exists() and not force:
        raise InputError(f"--out {str(out)!r} holds the results of an earlier run; {remedy}")


def new_schema(name: str, option: str) -> Path:
    """Return the path of a schema file that an option names; refuse one that exists or cannot be a schema file."""
    from ...tables.schema_file import checked_path

    target = checked_path(name)
    if target.exists():
        raise InputError(f"{option}: {name!r} already exists; remove it, or choose another name")
    return target


def split_names(text: str | None) -> list[str]:
    """Split names at commas.

    Examples
    --------
    >>> split_names("age, sex"), split_names(None)
    (['age', 'sex'], [])
    """
    return [name.strip() for name in (text or "").split(",") if name.strip()]
