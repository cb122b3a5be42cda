"""How certain a direction is, in one of four words with a fixed meaning."""

from __future__ import annotations

from typing import NamedTuple


class Word(NamedTuple):
    """A word and the probability from which it is used; `name` is the same for style sheets."""

    least: float
    word: str
    name: str


WORDS = (
    Word(0.95, "practically certain", "certain"),
    Word(0.8, "likely", "likely"),
    Word(0.6, "leaning", "leaning"),
    Word(0.0, "open", "open"),
)
"""By the stated probability of a direction. On seeds that were not used to choose the limits, the share of directions
that were right was 0.985, 0.940, 0.809 and 0.532 (report.md#how-sure-is-an-edge in the documentation)."""


def how_sure(probability: float, directed: bool | None = None) -> Word:
    """Choose the word for the stated probability of a direction, so that it does not contradict the picture.

    Where the graph leaves a direction open although it is probable, because it does not survive leaving out sites, it
    is leaning at most. Where the graph draws an arrow that is less probable, because the edge itself is in doubt, it
    is leaning at least. Without `directed`, the probability alone decides.

    Examples
    --------
    >>> [how_sure(p).word for p in (0.97, 0.9, 0.7, 0.5)]
    ['practically certain', 'likely', 'leaning', 'open']
    >>> how_sure(0.97, directed=False).word, how_sure(0.57, directed=True).word
    ('leaning', 'leaning')
    """
    known = WORDS if directed is None else WORDS[:3] if directed else WORDS[2:]
    # As it is shown, with two digits: 0.95 is never called likely because it is 0.9499.
    return next((word for word in known if round(probability, 2) >= word.least), known[-1])


def meaning() -> str:
    """Say what the four words mean.

    Examples
    --------
    >>> meaning()
    'Practically certain: probability 0.95 or more. Likely: 0.8 or more. Leaning: 0.6 or more. ... Open: less.'
    """
    first, *middle, last = WORDS
    parts = [f"{first.word.capitalize()}: probability {first.least:g} or more."]
    parts += [f"{word.word.capitalize()}: {word.least:g} or more." for word in middle]
    above, below = middle[0].least, middle[1].least
    parts[-1] += f" (Above {above:g} too if the graph leaves the direction open, below {below:g} if it has an arrow.)"
    return " ".join([*parts, f"{last.word.capitalize()}: less."])
