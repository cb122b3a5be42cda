"""How sure a direction is, in one of four words with a fixed meaning."""

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
"""By the stated probability of a direction. On the seeds of docs/results-mperi.md#calibration the share of directions
that were right was 0.99, 0.94, 0.71 and, from 0.5 on, 0.51."""


def how_sure(probability: float, directed: bool = True) -> Word:
    """Choose the word for the stated probability of a direction.

    Where the graph leaves a direction open although it is probable, because it does not survive leaving out sites, it
    is leaning at most: "practically certain" beside an edge without an arrow would contradict the picture.

    Examples
    --------
    >>> [how_sure(p).word for p in (0.97, 0.9, 0.7, 0.5)]
    ['practically certain', 'likely', 'leaning', 'open']
    >>> how_sure(0.97, directed=False).word
    'leaning'
    """
    # As it is shown, with two digits: 0.95 is never called likely because it is 0.9499.
    return next(word for word in (WORDS if directed else WORDS[2:]) if round(probability, 2) >= word.least)


def meaning() -> str:
    """Say what the four words mean.

    Examples
    --------
    >>> meaning()
    'Practically certain: probability 0.95 or more. Likely: 0.8 or more. Leaning: 0.6 or more, ... Open: less.'
    """
    first, *middle, last = WORDS
    parts = [f"{first.word.capitalize()}: probability {first.least:g} or more."]
    parts += [f"{word.word.capitalize()}: {word.least:g} or more." for word in middle]
    parts[-1] = f"{parts[-1][:-1]}, or more if the graph still leaves the direction open."
    return " ".join([*parts, f"{last.word.capitalize()}: less."])
