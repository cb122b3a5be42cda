"""The methods of the commands: the options of each, and how a method is made from the options that were given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...phrases import listed

if TYPE_CHECKING:
    from ...privacy import Privacy

PRIVACY = ("epsilon", "delta", "mechanism", "bounds", "ceiling", "store", "most_rows", "decimal")
_TABLES = ("schema", "missing", "seed")
OF_IPERI = ("masking", "aggregate", "local", "data", "knowledge", "schema", "alpha", "penalty", "bootstrap", "seed")
"""The options of I-PERI that do not depend on where the tables are."""

HERE: dict[str, tuple[str, ...]] = {
    "mperi": ("data", "knowledge", *_TABLES, "sharing", "confidence", "bootstrap", *PRIVACY),
    "iperi": (*OF_IPERI, "missing", *PRIVACY, "jobs"),
    "peri": (*OF_IPERI, "missing", *PRIVACY, "jobs"),
    "fci": ("data", "knowledge", "schema", "missing", "alpha", "context", "selection", "max_depth"),
    "notears-admm": _TABLES,
    "feddag": _TABLES,
    "fedcdh": (*_TABLES, "alpha"),
}
"""The options of every method of `fedperi run`, the default method first."""

NETWORK: dict[str, tuple[str, ...]] = {
    "iperi": OF_IPERI,
    "peri": OF_IPERI,
    "notears-admm": ("schema", "seed"),
    "feddag": ("schema", "seed"),
    "fedcdh": ("schema", "seed"),
}
"""The same for `fedperi coordinate`: sites decide about missing values and privacy."""

STATED: dict[str, tuple[str, ...]] = {
    "mperi": ("data", "knowledge", "schema", "sharing", "confidence", "bootstrap", "seed"),
    "iperi": OF_IPERI,
    "peri": OF_IPERI,
}
"""The same where every site gives one statement, and everything else is computed from these."""

BASELINES = ("notears-admm", "feddag", "fedcdh")
"""Methods of others, which compute in steps and have no privacy."""


def known_options(methods: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """List all options of some methods: what a configuration may hold.

    Examples
    --------
    >>> known_options({"a": ("seed",), "b": ("seed", "data")})
    ('method', 'seed', 'data')
    """
    return ("method", *dict.fromkeys(option for options in methods.values() for option in options))


def make_method(
    asked: Mapping[str, Any], said: Mapping[str, str], methods: Mapping[str, tuple[str, ...]] = HERE
) -> Any:
    """Make a method from the options that were given, and refuse options that it does not have.

    Parameters
    ----------
    asked : mapping
        Options and their values; "method" may be among them.
    said : mapping
        How each option was given, for messages.
    methods : mapping
        The methods of the command, the default first, and their options.

    Examples
    --------
    >>> make_method({"confidence": 0.9}, {}).confidence
    0.9
    >>> make_method({"masking": "none"}, {"masking": "--masking"})
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: --masking is an option of iperi and peri, not of mperi, the default method; leave it ...
    """
    name = asked.get("method", next(iter(methods)))
    if name == "mperi" and name not in methods:
        raise InputError("M-PERI asks no questions: leave out --channel regrets, or use --method iperi")
    if name not in methods:
        raise InputError(f"method must be one of {', '.join(methods)}; not {name!r}")
    for option in asked:
        if option != "method" and option not in methods[name]:
            raise InputError(_refusal(option, said.get(option, option), name, methods, chosen="method" in asked))
    options = {option: value for option, value in asked.items() if option not in ("method", *PRIVACY)}
    if any(option in asked for option in PRIVACY):
        options["privacy"] = make_privacy(asked)
    return _class_of(name)(**options)


def make_privacy(options: Mapping[str, Any]) -> Privacy | None:
    """Make the privacy promise from the options about privacy; None if there are none.

    Examples
    --------
    >>> make_privacy({"bounds": "bounds.toml"})
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: --bounds concerns privacy, which needs a price: add --epsilon 1
    """
    from ...privacy import Privacy

    given = {name: options[name] for name in PRIVACY if options.get(name) is not None}
    if given and "epsilon" not in given:
        first = next(iter(given)).replace("_", "-")
        raise InputError(f"--{first} concerns privacy, which needs a price: add --epsilon 1")
    return Privacy(**given) if given else None


def _class_of(name: str) -> Any:
    import fedperi

    classes = {"mperi": "MPERI", "iperi": "IPERI", "peri": "PERI", "fci": "FCI"}
    classes |= {"notears-admm": "NotearsADMM", "feddag": "FedDAG", "fedcdh": "FedCDH"}
    return getattr(fedperi, classes[name])


def _refusal(option: str, said: str, name: str, methods: Mapping[str, tuple[str, ...]], *, chosen: bool) -> str:
    """Say why a method does not take an option, and what to do."""
    if option in PRIVACY:
        return f"{said} concerns privacy, and {name} has no private form; for a private run omit --method"
    owners = [other for other, options in methods.items() if option in options]
    if not owners:
        return f"{said} is not an option of {name} where sites answer questions; leave it out"
    default = "" if chosen else ", the default method"
    remedy = f"leave it out, or add --method {owners[0]}"
    return f"{said} is an option of {listed(owners)}, not of {name}{default}; {remedy}"
