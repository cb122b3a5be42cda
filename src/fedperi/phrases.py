"""Parts of sentences: lists of names, numbers with a noun, ranges."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str], last: str = "and") -> str:
    """Join names for a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"], "or")
    ('a', 'a and b', 'a, b or c')
    """
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def with_noun(number: int, noun: str) -> str:
    """Write a number with its noun.

    Examples
    --------
    >>> with_noun(1, "site"), with_noun(2000, "site")
    ('1 site', '2,000 sites')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def span(values: Sequence[float]) -> str:
    """Write a number, or the range of several.

    Examples
    --------
    >>> span([500, 500]), span([500, 2000])
    ('500', '500 to 2,000')
    """
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
