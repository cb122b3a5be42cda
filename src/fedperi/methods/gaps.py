"""What a result says about missing values."""

from __future__ import annotations

from collections.abc import Sequence

from ..tables.summary.summary import Summary

MOST_NAMED = 3


def gap_sentences(parts: Sequence[Summary]) -> list[str]:
    """Say what was left out, how much is missing, what the rows count for, and whether EM converged.

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
    worst = sorted(missing, key=lambda one: -one[1])
    named = [f"{_percent(share)} of {name}" for name, share in worst[:MOST_NAMED]]
    more = len(worst) - len(named)
    return ", ".join(named) + (f", and no more than that of {more} other column{'s' * (more > 1)}" if more else "")


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %") if share >= 0.01 else "less than 1 %"
