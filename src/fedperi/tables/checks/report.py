"""What a check found, shown on a console, or as plain values for programs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...names import visible
from ...phrases import with_noun
from ..schema import Schema
from ..table import Table
from .findings import Finding, Level, percent, quoted

if TYPE_CHECKING:
    from rich.console import RenderableType

SHOWN_LEVELS = 4  # more levels of a column are cut short; the schema file has all of them
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
        The tables that could be read, with what their first reading found: a method that gets them need not read their
        files again.

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
        """Return the report as plain values, ready for JSON.

        Examples
        --------
        >>> import pandas as pd
        >>> from fedperi.tables import check
        >>> check([pd.DataFrame({"a": [i / 7 for i in range(50)]})]).to_dict()["sites"]
        [{'name': 'site 1', 'origin': 'DataFrame', 'rows': 50, 'incomplete_rows': 0, 'columns': 1, 'left_out': False}]
        """
        return {
            "ok": self.ok,
            "sites": [
                {
                    "name": site.name,
                    "origin": site.origin,
                    "rows": site.rows,
                    "incomplete_rows": site.incomplete,
                    "columns": site.columns,
                    "left_out": site.left_out,
                }
                for site in self.sites
            ],
            "columns": [
                {
                    "name": column.name,
                    "kind": column.kind,
                    "levels": None if column.levels is None else list(column.levels),
                    "bounds": None if column.bounds is None else list(column.bounds),
                }
                for column in self.schema.columns
            ],
            "findings": [
                {
                    "level": finding.level,
                    "site": finding.site,
                    "columns": list(finding.columns),
                    "message": finding.message,
                    "remedy": finding.remedy,
                }
                for finding in self.findings
            ],
        }

    def to_rich(self) -> RenderableType:
        """Return the report for a rich console: the sites, the types, what was found, and the conclusion.

        Examples
        --------
        >>> import pandas as pd
        >>> from rich.console import Console
        >>> from fedperi.tables import check
        >>> report = check({"north": pd.DataFrame({"a": [i * 7 % 50 + 0.5 for i in range(50)]})})
        >>> Console(width=60).print(report.to_rich())
        <BLANKLINE>
        ...
          north     50            0         1   ok
        <BLANKLINE>
          1 continuous   a
        <BLANKLINE>
        No errors: a run would start.
        """
        from rich.console import Group

        parts = [_sites(self)]
        if self.schema.columns:
            parts += [_types(self), ""]
        if self.findings:
            parts += [_findings(self), ""]
        return Group(*parts, _conclusion(self))


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
    words = ["left out"] * site.left_out + _counted(count)
    style = _COLOURS["error"] if count["error"] else _COLOURS["warning"] if words else "green"
    # Where sites contradict each other, no single site is at fault.
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
    if len(levels) <= SHOWN_LEVELS:
        return f" ({', '.join(levels)})"
    return f" ({', '.join(levels[: SHOWN_LEVELS - 1])}, ... {len(levels)} levels)"


def _findings(report: CheckReport) -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for sites, finding in _merged(report.findings):
        where = ", ".join(part for part in (quoted(sites), replace(finding, site=None).where) if part)
        text = Text(f"{where}: " if where else "", style="bold").append(finding.message, style="not bold")
        remedy = [Padding(Text(finding.remedy, style="dim"), (0, 0, 0, 2))] if finding.remedy else []
        grid.add_row(Text(finding.level, style=_COLOURS[finding.level]), Group(text, *remedy))
    return grid


def _merged(findings: tuple[Finding, ...]) -> list[tuple[list[str], Finding]]:
    """Say once what holds of several columns of a site, or of the same columns of several sites; return their sites."""
    by_columns: dict[tuple[object, ...], Finding] = {}
    for at, finding in enumerate(findings):
        # Findings about single columns may be joined; a finding about several columns belongs to all of them together.
        single = len(finding.columns) == 1
        key = (finding.level, finding.site, finding.message, finding.remedy, None if single else at)
        known = by_columns.get(key)
        by_columns[key] = finding if known is None else replace(known, columns=known.columns + finding.columns)
    by_sites: dict[tuple[object, ...], tuple[list[str], Finding]] = {}
    for finding in by_columns.values():
        shared = (finding.level, finding.columns, finding.message, finding.remedy)
        sites, _ = by_sites.setdefault(shared, ([], finding))
        sites.extend([finding.site] if finding.site is not None else [])
    return list(by_sites.values())


def _conclusion(report: CheckReport) -> RenderableType:
    from rich.text import Text

    count = Counter(finding.level for _, finding in _merged(report.findings))
    words = ", ".join(_counted(count))
    if count["error"]:
        return Text(f"{words}: a run would fail.", style=_COLOURS["error"])
    return Text(f"No errors{f', {words}' if words else ''}: a run would start.", style="green")


def _counted(count: Counter[Level]) -> list[str]:
    return [with_noun(count[level], level) for level in ("error", "warning") if count[level]]
