"""A site's one statement: made once, shown to its owner, signed, kept, and the same whenever it is asked for again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...tables.checks.findings import raise_errors
from ...tables.summary.disclosure import disclosure_findings

if TYPE_CHECKING:
    from ...privacy.statement import Statement
    from ...tables.summary.summary import Summary
    from ...tables.table import Table
    from .source import AnswerSource

OWNER_DECIDES = (
    "say what this site may give: --epsilon with --bounds for a private release (the default), --channel moments for "
    "exact means and covariances, or --channel regrets for answers to the coordinator's questions"
)


def statement_text(held: AnswerSource, channel: str, key: Any = None) -> str:
    """Return the text of a site's statement: what was given before, or a new one, which is kept.

    Parameters
    ----------
    held : AnswerSource
        The site's table or release.
    channel : {"release", "moments"}
        What its owner allows.
    key : private key, optional
        Signs the statement.

    Raises
    ------
    InputError
        If the owner has not said at which price, the budget is exhausted, or the disclosure checks forbid it.
    """
    from ...privacy.release.signature import public_text
    from ...privacy.statement import read_statement, sign_statement, write_statement

    with held.place.locked():
        kept = kept_statement(held, channel)
        if kept is None:
            statement = make_statement(held, channel)
            kept = write_statement(statement if key is None else sign_statement(statement, key))
            held.place.keep(_key(held, channel), kept)
        elif key is not None:
            # The site has a new key: what it says is the same to the last digit, and nothing is drawn or paid.
            statement = read_statement(kept, "the statement that this site has kept")
            if statement.signature is None or statement.signature.key != public_text(key):
                kept = write_statement(sign_statement(statement, key))
                held.place.keep(_key(held, channel), kept)
    return kept


def kept_statement(held: AnswerSource, channel: str) -> str | None:
    """Return the text of the statement that was made before, or None."""
    return held.place.kept(_key(held, channel))


def _key(held: AnswerSource, channel: str) -> str:
    return f"statement {channel} {held.identity}"


def statement_words(held: AnswerSource, channel: str) -> str:
    """Say to the site's owner what its statement holds; nothing is drawn or paid."""
    if channel == "moments":
        from ...privacy.exact.reveals import about

        return " ".join(about(_exact(held))[1:-1])
    names = ", ".join(held.names)
    return f"It is one release with noise, of the columns {names}; it holds no row and no exact number"


def _exact(held: AnswerSource) -> Summary:
    return exact_summary(held.table, held.schema, held.reading.data, held.reading.missing, held.targets)


def make_statement(held: AnswerSource, channel: str) -> Statement:
    """Draw a release, or summarise a table exactly after the disclosure checks."""
    if channel == "moments":
        return _exact(held)
    return held.release()


def exact_summary(table: Table, schema: Any, data: Any, missing: Any, targets: tuple[str, ...] | None) -> Summary:
    """Summarise a table exactly; raise if the disclosure checks forbid it to leave.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.tables import open_table
    >>> table = open_table(fp.simulate(3, clients=2, samples=20, seed=1).sites[0], "north")
    >>> exact_summary(table, None, "auto", "error", None)
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: site 'north': an exact summary of 3 columns needs 30 rows, and there are fewer; leave ...
    """
    from dataclasses import replace

    from ...tables.summary.summary import Summary

    summary = replace(Summary.of(table, schema, data=data, missing=missing, name=table.name), targets=targets)
    raise_errors(disclosure_findings(summary, _two_values(table, missing)))
    return summary


def _two_values(table: Table, missing: Any) -> dict[str, tuple[float, float]]:
    """Find columns of figures with two values, whatever a schema calls them: their sums tell counts."""
    from ...tables.checks.profile import scan

    columns = scan(table, missing).columns.values()
    return {c.name: (c.low, c.high) for c in columns if c.whole and not c.many and len(c.levels) == 2}


def check_channel(held: AnswerSource, channel: str) -> None:
    """Raise unless a site can give what its channel says; before anybody connects."""
    if channel == "release":
        if held.bare:
            raise InputError(f"site {held.name!r}: {OWNER_DECIDES}")
        if held.pays_per_answer:
            raise InputError(
                f"site {held.name!r}: noise on every answer needs questions; use --channel regrets, or leave the "
                "mechanism at 'statistics'"
            )
    if channel == "moments" and not held.bare:
        raise InputError(
            f"site {held.name!r}: --channel moments gives exact moments, and a price was set for noise; leave out one "
            "of the two"
        )
