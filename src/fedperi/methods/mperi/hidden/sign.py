"""What every sign of a hidden cause consists of."""

from __future__ import annotations

from typing import NamedTuple


class Sign(NamedTuple):
    """One sign of a hidden cause: the variables, how strong it is (larger is stronger), and the sentence."""

    variables: tuple[str, ...]
    evidence: float
    words: str
