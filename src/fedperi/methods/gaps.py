"""What a result says about missing values."""

from __future__ import annotations

from collections.abc import Sequence

from ..phrases import listed
from ..tables.summary.summary import Summary

MOST_NAMED = 3
LITTLE = 0.01
"""Columns that lack a smaller share than this are listed together."""


def gap_sentences(parts: Sequence[Summary]) -> list[str]:
    """Say what was left out, how much is missing, how many rows this is worth, and whether EM converged.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables.summary.summaries import summaries
    >>> table = pd.DataFrame({"age": [41.5, 37.0, None, 50.5], "dose": [1.5, 2.0, 4.5, 3.0]})
    >>> for sentence in gap_sentences(summaries({"north": table}, missing="em")):
    ...     print(sentence)
    Values are missing, and moments were estimated from incomplete rows by EM: at north 25 % of age (4 rows, counted ...
    """
    sentences = [f"{remark[0].upper()}{remark[1:]}." for part in parts for remark in part.remarks]
    gaps = [(part, part.gaps) for part in parts if part.gaps is not None]
    if gaps:
        words = "; ".join(
            f"at {part.site} {_shares(one.missing)} ({one.rows:,} rows, counted as {part.n:,.0f})" for part, one in gaps
        )
        sentences.append(
            f"Values are missing, and moments were estimated from incomplete rows by EM: {words}. This is valid if "
            "values are missing at random given those observed; ask the sites why they are missing."
        )
    slow = [part.site for part, one in gaps if not one.converged]
    if slow:
        sentences.append(
            f"EM did not converge at {', '.join(slow)}: too few values are observed together. Leave out the columns "
            "with the most missing values."
        )
    return sentences


def _shares(missing: Sequence[tuple[str, float]]) -> str:
    """Write how much is missing: the columns with the largest shares by name, then the others together.

    Examples
    --------
    >>> _shares([("age", 0.004), ("sex", 0.001), ("dose", 0.25)])
    '25 % of dose, less than 1 % of age and sex'
    >>> _shares([(name, 0.1) for name in "abcde"])
    '10 % of a, 10 % of b, 10 % of c, at most 10 % of 2 others'
    """
    worst = sorted(missing, key=lambda one: -one[1])
    large = [(name, f"{share:.0%}".replace("%", " %")) for name, share in worst if share >= LITTLE]
    small = [name for name, share in worst if share < LITTLE]
    told = [f"{share} of {name}" for name, share in large[:MOST_NAMED]]
    if more := large[MOST_NAMED:]:
        told.append(f"at most {more[0][1]} of {len(more)} other{'s' * (len(more) > 1)}")
    if small:
        told.append(f"less than 1 % of {listed(small) if len(small) <= MOST_NAMED else f'{len(small)} columns'}")
    return ", ".join(told)
