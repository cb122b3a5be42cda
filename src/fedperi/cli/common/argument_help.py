"""Help texts of arguments, which are lost where Typer 0.20 meets click 8.5.

Typer sets `help` of an argument before it calls click's constructor. Since 8.5 click sets the same attribute there, to
None. So `fedperi run --help` showed no word about FILES.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperArgument


class _KeptHelp:
    """An attribute that None does not overwrite."""

    def __get__(self, argument: Any, owner: type[Any]) -> Any:
        return self if argument is None else argument.__dict__.get("help")

    def __set__(self, argument: Any, text: str | None) -> None:
        if text is not None:
            argument.__dict__["help"] = text


def keep_argument_help() -> None:
    """Let the arguments of all commands keep their help text.

    Examples
    --------
    >>> keep_argument_help()
    >>> TyperArgument(param_decls=["file"], help="A table.").help
    'A table.'
    """
    setattr(TyperArgument, "help", _KeptHelp())  # noqa: B010  (typer declares no such attribute)
