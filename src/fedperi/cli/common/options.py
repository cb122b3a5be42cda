"""Options that commands share: what a method is asked to do, from the command line or a file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError

if TYPE_CHECKING:
    from ...methods import IPERI
    from ...privacy import Privacy

DEFAULTS: dict[str, Any] = {
    "method": "iperi",
    "masking": None,
    "aggregate": None,
    "local": "ges",
    "data": "auto",
    "knowledge": None,
    "schema": None,
    "missing": "error",
    "alpha": 0.01,
    "penalty": 1.0,
    "bootstrap": 0,
    "seed": 0,
    "epsilon": None,
    "delta": None,
    "mechanism": None,
    "bounds": None,
    "ceiling": None,
    "store": None,
    "most_rows": None,
    "decimal": None,
}
"""Options of PERI and I-PERI, and their values if nobody says otherwise."""

PRIVACY = ("epsilon", "delta", "mechanism", "bounds", "ceiling", "store", "most_rows", "decimal")

BASELINES = ("notears-admm", "feddag", "fedcdh")
"""Methods without regrets, which `fedperi coordinate` runs with their defaults."""

_OF_BASELINES = ("method", "schema", "seed")

HERE = ("jobs", "sharing", "confidence")
"""Options of `fedperi run` alone: its tables are here, and M-PERI does not work over a network yet."""


def given_options(
    config: str | None, arguments: dict[str, Any], known: Collection[str] = tuple(DEFAULTS)
) -> dict[str, Any]:
    """Collect the options that were given: those of a TOML file, then those of the command line.

    `known` are the options that the file may have.

    Examples
    --------
    >>> given_options(None, {"local": "pc", "seed": None})
    {'local': 'pc'}
    """
    return {**_from_file(config, known), **{key: value for key, value in arguments.items() if value is not None}}


def _from_file(config: str | None, known: Collection[str]) -> dict[str, Any]:
    """Options of a TOML file: the long names of a command's options."""
    if config is None:
        return {}
    from ...strict import Unreadable, read_toml

    try:
        content = read_toml(Path(config).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, Unreadable) as error:
        raise InputError(f"the configuration {config!r} cannot be read: {error}") from None
    unknown = [key for key in content if key not in known]
    if unknown and unknown[0] in HERE:
        raise InputError(
            f"the configuration {config!r} has the key {unknown[0]!r}, which is for `fedperi run` with tables that are "
            "here; leave it out"
        )
    if unknown:
        raise InputError(f"the configuration {config!r} has the key {unknown[0]!r}; known: {', '.join(known)}")
    return content


def check_place(out: Path | None, dry_run: bool, as_json: bool) -> None:
    """Refuse, before any work, to write over results or into a file.

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
    if (out / "result.json").exists():
        raise InputError(f"--out {str(out)!r} holds the results of an earlier run; choose another, or remove it")


def make_method(options: dict[str, Any], others: Sequence[str] = ()) -> IPERI:
    """Make PERI or I-PERI from a full table of options; `others` are methods that a command knows besides.

    Examples
    --------
    >>> make_method({**DEFAULTS, "method": "peri"}).masking
    'none'
    """
    from ...methods import IPERI, PERI

    classes = {"iperi": IPERI, "peri": PERI}
    name = options["method"]
    if name == "mperi":
        raise InputError(
            "M-PERI does not work over a network yet: use --method iperi, or `fedperi run` with tables that are here"
        )
    if name not in classes:
        raise InputError(f"method is one of {', '.join([*classes, *others])}; not {name!r}")
    rest = {k: v for k, v in options.items() if k != "method" and k not in PRIVACY and v is not None}
    return classes[name](privacy=_privacy(options), **rest)


def make_baseline(given: dict[str, Any]) -> Any:
    """Make a method without regrets from the options that were given; it takes a seed, and sites that are connected.

    Examples
    --------
    >>> make_baseline({"method": "fedcdh", "seed": 3}).seed
    3
    >>> make_baseline({"method": "fedcdh", "masking": "none"})
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: masking is no option of fedcdh, which takes schema and seed here
    """
    from ... import FedCDH, FedDAG, NotearsADMM

    name = given["method"]
    strange = next((option for option in given if option not in _OF_BASELINES), None)
    if strange is not None:
        raise InputError(f"{strange} is no option of {name}, which takes schema and seed here")
    made = {"notears-admm": NotearsADMM, "feddag": FedDAG, "fedcdh": FedCDH}[name]
    return made(seed=given.get("seed", 0), progress=False)


def _privacy(options: dict[str, Any]) -> Privacy | None:
    from ...privacy import Privacy

    given = {name: options[name] for name in PRIVACY if options[name] is not None}
    if not given:
        return None
    if "epsilon" not in given:
        first = next(iter(given)).replace("_", "-")
        raise InputError(f"--{first} is about privacy, which needs a price: add --epsilon 1")
    return Privacy(**given)
