"""The methods of `fedperi run`: which options each has, and how it is made from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InputError
from .options import DEFAULTS, PRIVACY, make_method

DEFAULT = "mperi"
"""The method if nobody names one."""

_TABLES = ("schema", "missing", "seed")
_REGRETS = (*(option for option in DEFAULTS if option != "method"), "jobs")
OPTIONS: dict[str, tuple[str, ...]] = {
    "mperi": ("data", "knowledge", *_TABLES, "sharing", "confidence"),
    "iperi": _REGRETS,
    "peri": _REGRETS,
    "notears-admm": _TABLES,
    "feddag": _TABLES,
    "fedcdh": (*_TABLES, "alpha"),
}
"""The options of every method."""

KNOWN = ("method", *dict.fromkeys(option for options in OPTIONS.values() for option in options))
"""All of them: what a configuration may hold."""


def make_run_method(asked: Mapping[str, Any], said: Mapping[str, str]) -> Any:
    """Make the method of a run from the options that were given, and refuse options that it does not have.

    Parameters
    ----------
    asked : mapping
        Options and their values; "method" may be among them.
    said : mapping
        How each option was given, for messages.

    Examples
    --------
    >>> make_run_method({"confidence": 0.9}, {}).confidence
    0.9
    >>> make_run_method({"masking": "none"}, {"masking": "--masking"})
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: --masking is an option of iperi and peri, not of mperi, the default method; leave it ...
    """
    name = asked.get("method", DEFAULT)
    if name not in OPTIONS:
        raise InputError(f"method is one of {', '.join(OPTIONS)}; not {name!r}")
    for option in asked:
        if option != "method" and option not in OPTIONS[name]:
            raise InputError(_refusal(option, said.get(option, option), name, chosen="method" in asked))
    if name in ("iperi", "peri"):
        return make_method({**DEFAULTS, **asked})
    from ... import MPERI, FedCDH, FedDAG, NotearsADMM

    made = {"mperi": MPERI, "notears-admm": NotearsADMM, "feddag": FedDAG, "fedcdh": FedCDH}[name]
    return made(**{option: value for option, value in asked.items() if option != "method"})


def _refusal(option: str, said: str, name: str, *, chosen: bool) -> str:
    """Why a method does not take an option, and what to do."""
    if option in PRIVACY:
        why = "M-PERI cannot use noisy summaries yet" if name == "mperi" else f"{name} has no private form"
        return f"{said} is about privacy, and {why}; for a private run add --method iperi"
    owners = [other for other, options in OPTIONS.items() if option in options]
    default = "" if chosen else ", the default method"
    remedy = f"leave it out, or add --method {owners[0]}"
    named = " and ".join([", ".join(owners[:-1]), owners[-1]] if len(owners) > 1 else owners)
    return f"{said} is an option of {named}, not of {name}{default}; {remedy}"
