"""What a check found, as a value, for people (rich) and for programs (plain values)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...names import visible
from ..schema import Schema
from ..table import Table
from .findings import Finding, percent, quoted

if TYPE_CHECKING:
    from rich.console import RenderableType

_COLOURS = {"error": "bold red", "warning": "yellow", "note": "cyan"}


@dataclass(frozen=True)
class SiteSummary:
    """One line of the report: a site, its file, its rows, how many of them lack a value, and whether a run uses it."""

    name: str
    origin: str
    rows: int
    incomplete: int
    columns: int
    left_out: bool = False


@dataclass(frozen=True)
class CheckReport:
    """What `check` found.

    Parameters
    ----------
    sites : tuple of SiteSummary
        The sites that could be read.
    schema : Schema
        The columns that all sites share and whose type is clear.
    findings : tuple of Finding
        Errors, warnings and notes, in this order.
    tables : tuple of Table
        The tables that could be read, with what was found: a method that gets these does not read their files again.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import check
    >>> report = check({"north": pd.DataFrame({"a": [1.5, 1.5], "b": [2.5, 3.5]})})
    >>> report.ok
    False
    >>> print(report.findings[0])
    site 'north', column 'a': all values are the same (1.5); leave the column or the site out; among several ...
    """

    sites: tuple[SiteSummary, ...]
    schema: Schema
    findings: tuple[Finding, ...]
    tables: tuple[Table, ...] = field(default=(), repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether there is no error: a run would start."""
        return not any(finding.level == "error" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON."""
        return as_dict(self)

    def to_rich(self) -> RenderableType:
        """Return the report as something a rich console prints."""
        return as_rich(self)


def as_dict(report: CheckReport) -> dict[str, Any]:
    """Return the report as plain values.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import check
    >>> as_dict(check([pd.DataFrame({"a": [i / 7 for i in range(50)]})]))["sites"]
    [{'name': 'site 1', 'origin': 'DataFrame', 'rows': 50, 'incomplete_rows': 0, 'columns': 1, 'left_out': False}]
    """
    return {
        "ok": report.ok,
        "sites": [
            {
                "name": site.name,
                "origin": site.origin,
                "rows": site.rows,
                "incomplete_rows": site.incomplete,
                "columns": site.columns,
                "left_out": site.left_out,
            }
            for site in report.sites
        ],
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "levels": None if column.levels is None else list(column.levels),
                "bounds": None if column.bounds is None else list(column.bounds),
            }
            for column in report.schema.columns
        ],
        "findings": [
            {
                "level": finding.level,
                "site": finding.site,
                "columns": list(finding.columns),
                "message": finding.message,
                "remedy": finding.remedy,
            }
            for finding in report.findings
        ],
    }


def as_rich(report: CheckReport) -> RenderableType:
    """Return the report for a rich console: the sites, the types, what was found, and the conclusion.

    Examples
    --------
    >>> import pandas as pd
    >>> from rich.console import Console
    >>> from fedperi.tables import check
    >>> Console(width=60).print(as_rich(check({"north": pd.DataFrame({"a": [i * 7 % 50 + 0.5 for i in range(50)]})})))
    <BLANKLINE>
    ...
      north     50            0         1   ok
    <BLANKLINE>
      1 continuous   a
    <BLANKLINE>
    No errors: a run would start.
    """
    from rich.console import Group

    parts = [_sites(report)]
    if report.schema.columns:
        parts += [_types(report), ""]
    if report.findings:
        parts += [_findings(report), ""]
    return Group(*parts, _conclusion(report))


def _sites(report: CheckReport) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=True)
    table.add_column("Site", overflow="fold")
    for heading in ("Rows", "Incomplete", "Columns"):
        table.add_column(heading, justify="right")
    table.add_column("Verdict", overflow="fold")
    for site in report.sites:
        share = f" ({percent(site.incomplete, site.rows)})" if site.incomplete else ""
        cells = (f"{site.rows:,}", f"{site.incomplete:,}{share}", f"{site.columns:,}")
        table.add_row(Text(site.name), *cells, _verdict(report, site))
    known = {site.name for site in report.sites}
    for name in dict.fromkeys(f.site for f in report.findings if f.site is not None and f.site not in known):
        table.add_row(Text(name), "-", "-", "-", Text("cannot be read", style=_COLOURS["error"]))
    return table


def _verdict(report: CheckReport, site: SiteSummary) -> RenderableType:
    from rich.text import Text

    count = Counter(finding.level for sites, finding in _merged(report.findings) if site.name in sites)
    words = ["left out"] * site.left_out
    words += [_count(count[level], level) for level in ("error", "warning") if count[level]]
    style = _COLOURS["error"] if count["error"] else _COLOURS["warning"] if words else "green"
    # Where sites contradict each other, neither of them is at fault alone.
    joint = any(finding.level == "error" and finding.site is None for finding in report.findings)
    return Text(", ".join(words) or ("ok by itself" if joint else "ok"), style=style)


def _types(report: CheckReport) -> RenderableType:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 3, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for kind in ("continuous", "categorical"):
        columns = [column for column in report.schema.columns if column.kind == kind]
        names = [column.name + _levels(column.levels) for column in columns]
        if names:
            grid.add_row(Text(f"{len(names)} {kind}"), Text(visible(", ".join(names))))
    return Padding(grid, (0, 0, 0, 2))


def _levels(levels: tuple[str, ...] | None) -> str:
    if levels is None:
        return ""
    few = 4  # levels shown; all of them are in the schema file
    return (
        f" ({', '.join(levels)})"
        if len(levels) <= few
        else f" ({', '.join(levels[: few - 1])}, ... {len(levels)} levels)"
    )


def _findings(report: CheckReport) -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for sites, finding in _merged(report.findings):
        where = [] if not sites else [quoted(sites)]
        where += [f"column{'s' if len(finding.columns) > 1 else ''} {quoted(finding.columns)}"] * bool(finding.columns)
        place = f"{', '.join(where)}: " if where else ""
        text = Text(place, style="bold").append(finding.message, style="not bold")
        remedy = [Padding(Text(finding.remedy, style="dim"), (0, 0, 0, 2))] if finding.remedy else []
        grid.add_row(Text(finding.level, style=_COLOURS[finding.level]), Group(text, *remedy))
    return grid


def _merged(findings: tuple[Finding, ...]) -> list[tuple[list[str], Finding]]:
    """Say once what holds of several columns of a site, or of the same columns of several sites."""
    columns: dict[tuple[str, str | None, str, str], Finding] = {}
    apart: list[Finding] = []
    for finding in findings:
        key = (finding.level, finding.site, finding.message, finding.remedy)
        if len(finding.columns) != 1:  # a set of columns is one fact
            apart.append(finding)
        elif key in columns:
            columns[key] = replace(columns[key], columns=columns[key].columns + finding.columns)
        else:
            columns[key] = finding
    sites: dict[tuple[str, tuple[str, ...], str, str], tuple[list[str], Finding]] = {}
    for finding in sorted([*columns.values(), *apart], key=lambda one: _first(findings, one)):
        shared = sites.setdefault((finding.level, finding.columns, finding.message, finding.remedy), ([], finding))
        shared[0].extend([finding.site] if finding.site is not None else [])
    return list(sites.values())


def _first(findings: tuple[Finding, ...], merged: Finding) -> int:
    """Return where the first of the merged findings stood, so that their order is kept."""
    return next(
        at
        for at, one in enumerate(findings)
        if (one.level, one.site, one.message, one.remedy) == (merged.level, merged.site, merged.message, merged.remedy)
        and one.columns == merged.columns[: len(one.columns)]
    )


def _conclusion(report: CheckReport) -> RenderableType:
    from rich.text import Text

    count = Counter(finding.level for _, finding in _merged(report.findings))
    words = ", ".join(_count(count[level], level) for level in ("error", "warning") if count[level])
    if count["error"]:
        return Text(f"{words}: a run would fail.", style=_COLOURS["error"])
    return Text(f"No errors{f', {words}' if words else ''}: a run would start.", style="green")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}"
