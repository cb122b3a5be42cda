"""Statements of sites, in words for people who use them in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...privacy.statement import Statement


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
