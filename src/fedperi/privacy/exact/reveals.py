"""What an exact summary reveals, in words and numbers, for the people who decide whether it may leave the site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..release.explain import Section
from ..release.sentences import printable

if TYPE_CHECKING:
    from ...tables.summary.summary import Summary


def about(summary: Summary) -> list[str]:
    """Return the sentences at the top of the file. They follow from the numbers: a file that says otherwise is refused.

    Examples
    --------
    >>> import fedperi as fp
    >>> table = fp.simulate(3, clients=2, samples=500, seed=1).sites[0]
    >>> about(fp.Summary.of(table, name="north"))[0]
    "NOT PRIVATE: this file holds exact statistics of one table of site 'north', without any noise."
    """
    q = len(summary.mean)
    return [
        f"NOT PRIVATE: this file holds exact statistics of one table of site {printable(repr(summary.site))}, without "
        "any noise.",
        f"It holds {1 + q + q * (q + 1) // 2} numbers that were computed from the table: the number of rows "
        f"({summary.n:g}), {q} means, {q} variances and {q * (q - 1) // 2} covariances. It holds no row.",
        "Anyone who knows all rows but one can compute that row exactly. Anyone who knows a person's row can test "
        "whether it is in the table, the better the more columns there are and the fewer rows.",
        f"Checked before it was written: no level and no pair of levels has 1 to 4 rows, and there are at least 10 "
        f"rows for each of the {q} columns.",
        "The checksum at the end shows accidental changes. It is not a signature: take the file from people you know."
        if summary.signature is None
        else "The signature at the end proves that the holder of the key named as signer wrote the file as it is.",
    ]


def sections(summary: Summary) -> list[Section]:
    """Explain an exact summary.

    Examples
    --------
    >>> import fedperi as fp
    >>> table = fp.simulate(3, clients=2, samples=500, seed=1).sites[0]
    >>> [section.heading for section in sections(fp.Summary.of(table, name="north"))]
    ['NOT PRIVATE', 'What it says about each variable', 'Who signed it']
    """
    signer = "Nobody." if summary.signature is None else f"The key {summary.signature.fingerprint}."
    return [
        Section("NOT PRIVATE", tuple(about(summary)[:-1])),
        Section("What it says about each variable", (), (("variable", "columns", "mean", "spread"), *_rows(summary))),
        Section("Who signed it", (signer,)),
    ]


def _rows(summary: Summary) -> list[tuple[str, ...]]:
    spread = np.sqrt(np.diag(summary.covariance))
    found = []
    for name, label, block in zip(summary.names, summary.units, summary.blocks, strict=True):
        what = {"O": "levels, one column each but for the first", "C": "the number, and its curve"}
        values = [" ".join(f"{array[at]:.4g}" for at in block[:4]) for array in (summary.mean, spread)]
        found.append((name, f"{len(block)}: {what.get(label[:1], 'the number')}", *values))
    return found
