"""A site's one statement: made once, shown to its owner, signed and kept, so that a repeated request gets the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...tables.checks.findings import raise_errors
from ...tables.schema import Schema
from ...tables.summary.disclosure import disclosure_findings

if TYPE_CHECKING:
    from ...tables.summary.summary import Summary
    from ...tables.table import Table
    from .source import AnswerSource


def statement_text(source: AnswerSource, channel: str, key: Any = None) -> str:
    """Return the text of a site's statement: the one that was sent before, or a new one, which is kept.

    Parameters
    ----------
    source : AnswerSource
        The site's table or release.
    channel : {"release", "moments"}
        What its owner allows.
    key : private key, optional
        Signs the statement.

    Raises
    ------
    InputError
        If the owner has not set a price, the budget is exhausted, or the disclosure checks forbid it.
    """
    from ...privacy.release.signature import public_text
    from ...privacy.statement import read_statement, sign_statement, write_statement

    with source.place.locked():
        kept = kept_statement(source, channel)
        if kept is None:
            statement = _exact(source) if channel == "moments" else source.release()
            kept = write_statement(statement if key is None else sign_statement(statement, key))
            source.place.keep(_key(source, channel), kept)
        elif key is not None:
            # If the site has a new key, only the signature changes: nothing is drawn or paid.
            statement = read_statement(kept, "the statement that this site has kept")
            if statement.signature is None or statement.signature.key != public_text(key):
                kept = write_statement(sign_statement(statement, key))
                source.place.keep(_key(source, channel), kept)
    return kept


def kept_statement(source: AnswerSource, channel: str) -> str | None:
    """Return the text of the statement that was made before, if any."""
    return source.place.kept(_key(source, channel))


def _key(source: AnswerSource, channel: str) -> str:
    return f"statement {channel} {source.identity}"


def statement_words(source: AnswerSource, channel: str) -> str:
    """Tell the site's owner what its statement holds; nothing is drawn or paid."""
    if channel == "moments":
        from ...privacy.exact.reveals import about

        return " ".join(about(_exact(source))[1:-1])
    names = ", ".join(source.names)
    return f"It is one release with noise, of the columns {names}; it holds no row and no exact number"


def _exact(source: AnswerSource) -> Summary:
    schema, reading = Schema(source.card.columns), source.reading
    return exact_summary(source.table, schema, reading.data, reading.missing, source.targets)


def exact_summary(table: Table, schema: Any, data: Any, missing: Any, targets: tuple[str, ...] | None) -> Summary:
    """Summarise a table exactly; raise if the disclosure checks do not allow the summary to leave the site.

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
    """Find columns of whole numbers with two values, whatever the schema says: their sums reveal counts."""
    from ...tables.checks.profile import scan

    columns = scan(table, missing).columns.values()
    return {c.name: (c.low, c.high) for c in columns if c.whole and not c.many and len(c.levels) == 2}


def check_channel(source: AnswerSource, channel: str) -> None:
    """Raise unless a site can give what its channel promises; called before anybody connects."""
    if channel == "release" and source.exact:
        raise InputError(
            f"site {source.name!r}: say what this site may give: --epsilon with --bounds for a private release (the "
            "default), --channel moments for exact means and covariances, or --channel regrets for answers to the "
            "coordinator's questions"
        )
    if channel == "release" and source.pays_per_answer:
        raise InputError(
            f"site {source.name!r}: noise on every answer needs questions; use --channel regrets, or leave the "
            "mechanism at 'statistics'"
        )
    if channel == "moments" and not source.exact:
        raise InputError(
            f"site {source.name!r}: --channel moments gives exact moments, and a price was set for noise; leave one of "
            "the two out"
        )
