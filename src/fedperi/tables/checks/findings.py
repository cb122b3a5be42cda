"""What is wrong or doubtful in the data, as values that can be collected before an error is raised."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ...errors import InputError

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing to know about the data: how serious it is, where, what, and what to do.

    Parameters
    ----------
    level : {"error", "warning", "note"}
        An error stops a run.
    site : str or None
        The site it concerns; None if it concerns several.
    columns : tuple of str
        The columns it concerns; may be empty.
    message, remedy : str
        What was found and what to do about it. The remedy may be empty.
    problem : str
        One word for the kind of problem, so that findings of one kind can be joined; may be empty.

    Examples
    --------
    >>> print(Finding("error", "north", ("age",), "the column is constant", "drop it"))
    site 'north', column 'age': the column is constant; drop it
    """

    level: Level
    site: str | None
    columns: tuple[str, ...]
    message: str
    remedy: str = ""
    problem: str = ""

    @property
    def where(self) -> str:
        """The place in words, for the start of a sentence."""
        parts = [] if self.site is None else [f"site {self.site!r}"]
        if self.columns:
            parts.append(f"column{'s' if len(self.columns) > 1 else ''} {quoted(self.columns)}")
        return ", ".join(parts)

    def __str__(self) -> str:
        return (f"{self.where}: " if self.where else "") + self.message + (f"; {self.remedy}" if self.remedy else "")


def quoted(names: Iterable[str], limit: int = 8) -> str:
    """Quote and join names, and say how many were left out.

    Examples
    --------
    >>> quoted("abc"), quoted("abc", limit=2)
    ("'a', 'b', 'c'", "'a', 'b' and 1 more")
    """
    names = list(names)
    rest = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(map(repr, names[:limit])) + rest


def percent(part: int, whole: int) -> str:
    """Write a share in percent; only zero is written as 0 %, and only the whole as 100 %.

    Examples
    --------
    >>> percent(1, 8), percent(1, 10**6), percent(99_999, 100_000), percent(3, 3)
    ('12.5 %', 'less than 0.1 %', 'more than 99.9 %', '100 %')
    """
    share = 100 * part / whole
    if 0 < share < 0.1:
        return "less than 0.1 %"
    if 99.9 < share < 100:
        return "more than 99.9 %"
    return f"{share:.0f} %" if share in (0, 100) else f"{share:.1f} %"


def how_to_leave_out(name: str) -> str:
    """Say how to leave a column out.

    Examples
    --------
    >>> how_to_leave_out("case")
    'leave it out: --exclude case, or kind = "ignore" in the schema'
    """
    return f'leave it out: --exclude {name}, or kind = "ignore" in the schema'


def raise_errors(findings: Iterable[Finding]) -> None:
    """Raise the errors among the findings, all in one message.

    Examples
    --------
    >>> raise_errors([Finding("warning", None, (), "few rows")])
    >>> raise_errors([Finding("error", "north", (), "no rows", "add some")])
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: site 'north': no rows; add some
    """
    errors = [str(finding) for finding in findings if finding.level == "error"]
    if len(errors) == 1:
        raise InputError(errors[0])
    if errors:
        raise InputError(f"{len(errors)} problems:" + "".join(f"\n  - {error}" for error in errors))
