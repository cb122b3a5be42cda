"""The report of a check for people (rich) and for programs (plain values)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from .check import CheckReport
from .findings import percent, quoted

if TYPE_CHECKING:
    from rich.console import RenderableType

_COLOURS = {"error": "bold red", "warning": "yellow", "note": "cyan"}


def as_dict(report: CheckReport) -> dict[str, Any]:
    """Return the report as plain values.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.data import check
    >>> as_dict(check([pd.DataFrame({"a": [i / 7 for i in range(50)]})]))["sites"]
    [{'name': 'site 1', 'origin': 'DataFrame', 'rows': 50, 'incomplete_rows': 0, 'columns': 1}]
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
    """Return the report as tables for a rich console.

    Examples
    --------
    >>> import pandas as pd
    >>> from rich.console import Console
    >>> from fedperi.data import check
    >>> Console(width=60).print(as_rich(check({"north": pd.DataFrame({"a": [i / 7 for i in range(50)]})})))
    <BLANKLINE>
    ...
      north     50            0         1   ok
    <BLANKLINE>
    1 column shared: 1 continuous, 0 categorical
    No errors.
    """
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    sites = Table(box=box.SIMPLE_HEAD, show_edge=True)
    sites.add_column("Site", overflow="fold")
    for heading in ("Rows", "Incomplete", "Columns"):
        sites.add_column(heading, justify="right")
    sites.add_column("Verdict", overflow="fold")
    for site in report.sites:
        share = f" ({percent(site.incomplete, site.rows)})" if site.incomplete else ""
        sites.add_row(
            Text(site.name),
            f"{site.rows:,}",
            f"{site.incomplete:,}{share}",
            f"{site.columns:,}",
            _verdict(report, site.name),
        )
    kinds = Counter(column.kind for column in report.schema.columns)
    p = len(report.schema.columns)
    parts: list[RenderableType] = [sites] if report.sites else []
    parts.append(
        Text(
            f"{p} column{'s' if p != 1 else ''} shared: "
            f"{kinds['continuous']} continuous, {kinds['categorical']} categorical"
        )
    )
    if report.findings:
        findings = Table(box=box.SIMPLE_HEAD, show_edge=True)
        findings.add_column("", no_wrap=True)
        findings.add_column("Where", overflow="fold", ratio=2)
        findings.add_column("Found", overflow="fold", ratio=4)
        findings.add_column("What to do", overflow="fold", ratio=3)
        findings.expand = True
        for finding in report.findings:
            where = ", ".join(
                ([finding.site] if finding.site else []) + ([quoted(finding.columns)] if finding.columns else [])
            )
            level = Text(finding.level, style=_COLOURS[finding.level])
            findings.add_row(level, Text(where or "all sites"), Text(finding.message), Text(finding.remedy))
        parts.append(findings)
    parts.append(_conclusion(report))
    return Group(*parts)


def _verdict(report: CheckReport, site: str) -> RenderableType:
    from rich.text import Text

    count = Counter(finding.level for finding in report.findings if finding.site == site)
    words = [
        f"{count[level]} {level}{'s' if count[level] > 1 else ''}" for level in ("error", "warning") if count[level]
    ]
    style = _COLOURS["error"] if count["error"] else _COLOURS["warning"] if words else "green"
    return Text(", ".join(words) or "ok", style=style)


def _conclusion(report: CheckReport) -> RenderableType:
    from rich.text import Text

    errors = sum(finding.level == "error" for finding in report.findings)
    if not errors:
        return Text("No errors.", style="green")
    return Text(f"{errors} error{'s' if errors > 1 else ''}: a run would fail.", style=_COLOURS["error"])
