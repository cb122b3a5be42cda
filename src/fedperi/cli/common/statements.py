"""Statements of sites, in words and for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...privacy.release.explain import Section
    from ...privacy.statement import Statement
    from ...tables.summary.summary import Summary


def statement_kind(statement: Statement) -> str:
    """Say whether a statement is exact or private.

    Examples
    --------
    >>> import fedperi as fp
    >>> statement_kind(fp.Summary.of(fp.simulate(3, clients=2, samples=200, seed=1).sites[0]))
    'an exact summary of 200 rows, NOT PRIVATE'
    """
    from ...tables.summary.summary import Summary

    if isinstance(statement, Summary):
        return f"an exact summary of {statement.n:g} rows, NOT PRIVATE"
    if not statement.private:
        return "a release with test noise, NOT PRIVATE"
    return f"a private release, epsilon {statement.epsilon:g}, delta {statement.delta:g}"


def explained(sections: list[Section]) -> list[dict[str, Any]]:
    """Return the explanation of a statement for JSON."""
    return [
        {"heading": section.heading, "paragraphs": list(section.paragraphs), "table": list(map(list, section.table))}
        for section in sections
    ]


def exact_values(file: str | None, summary: Summary) -> dict[str, Any]:
    """Return what an exact summary contains, apart from its statistics, for JSON."""
    return {
        "file": file,
        "site": summary.site,
        "private": False,
        "exact": True,
        "signed_by": None if summary.signature is None else summary.signature.fingerprint,
        "columns": list(summary.names),
        "targets": None if summary.targets is None else list(summary.targets),
        "rows": summary.n,
    }
