"""Tell what the text in a column is: dates, free text, names of cases, categories; find spellings of one category."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from ..levels import level_text, number_of

TextKind = Literal["dates", "free text", "own text"]

_DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})|\d{1,2}[ -][A-Za-z]{3,9}\.?[ -]\d{2,4})"
    r"([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?)?(Z|[+-]\d{2}:?\d{2})?"
)
OWN_TEXT, OWN_SHARE = 20, 0.5
"""With this many different texts, and this share of the rows, a column is not a category: most rows differ."""

LONG = 40
"""Average number of characters above which text is free text."""

SHOWN = 5
"""With this many rows a text is the name of a category, and may be shown. With fewer it belongs to single people."""

DOMAINS: tuple[tuple[frozenset[str], ...], ...] = (
    (
        frozenset(("m", "male", "man", "men", "masculine", "homme", "masculin", "mann", "männlich", "hombre")),
        frozenset(("f", "female", "woman", "women", "feminine", "femme", "féminin", "frau", "w", "weiblich", "mujer")),
    ),
    (
        frozenset(("y", "yes", "true", "t", "ja", "j", "oui", "si", "sí", "positive", "pos")),
        frozenset(("n", "no", "false", "f", "nein", "non", "negative", "neg")),
    ),
)
"""Sets of words with the same meaning, used if all levels of a column are among them."""


def text_kind(levels: Mapping[str, int], many: bool) -> TextKind | None:
    """Say what the text of a column is, or None if it may be a category.

    `levels` holds the rows of each text that was counted; `many` says that there are more texts.

    Examples
    --------
    >>> text_kind({"2024-01-31": 2, "2024-02-01": 1}, False), text_kind({"f": 40, "m": 35}, False)
    ('dates', None)
    """
    if not levels:
        return None
    texts = list(levels)
    if sum(_DATE.fullmatch(text.strip()) is not None for text in texts) > 0.9 * len(texts):
        return "dates"
    if sum(map(len, texts)) > LONG * len(texts):
        return "free text"
    own = len(texts) >= OWN_TEXT and len(texts) > OWN_SHARE * sum(levels.values())
    return "own text" if many or own else None


def partly_numbers(levels: Mapping[str, int]) -> bool:
    """Whether most of the different texts of a column are numbers, and some are not.

    Examples
    --------
    >>> partly_numbers({"0.5": 1, "1.5": 2, "<0.1": 7}), partly_numbers({"1": 3, "2": 4}), partly_numbers({"low": 2})
    (True, False, False)
    """
    words = sum(number_of(level) is None for level in levels)
    return 0 < words < len(levels) - words


def may_be_shown(levels: Mapping[str, int]) -> list[str]:
    """Return the texts that are names of categories, not the text of a single row.

    Examples
    --------
    >>> may_be_shown({"high": 40, "see letter of 3 May": 1})
    ['high']
    """
    return sorted(level for level, rows in levels.items() if rows >= SHOWN and len(level) <= LONG)


def spellings(levels: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the groups of levels that are spellings of one level.

    Examples
    --------
    >>> spellings(["Yes", "yes", "no"]), spellings(["M", "male", "F"]), spellings(["1", "1.0", "x"]), spellings("ab")
    ([('Yes', 'yes')], [('M', 'male')], [('1', '1.0')], [])
    """
    given = list(levels)
    keys = {level: folded(level) for level in given}
    for domain in DOMAINS:
        if len(given) > 2 and all(any(key in words for words in domain) for key in keys.values()):
            keys = {level: str(next(i for i, words in enumerate(domain) if keys[level] in words)) for level in given}
            break
    groups: dict[str, list[str]] = {}
    for level, key in keys.items():
        groups.setdefault(key, []).append(level)
    return [tuple(sorted(group)) for group in groups.values() if len(group) > 1]


def rename_of(groups: Sequence[Sequence[str]], rows: Mapping[str, int]) -> str:
    """Write the line of a schema that replaces the spellings of each group by the one with the most rows.

    Examples
    --------
    >>> rename_of([("M", "male")], {"M": 40, "male": 3})
    'rename = { "male" = "M" }'
    """
    pairs = []
    for group in groups:
        kept = max(group, key=lambda level: (rows.get(level, 0), level))
        pairs += [f'"{level}" = "{kept}"' for level in group if level != kept]
    return f"rename = {{ {', '.join(pairs)} }}"


def folded(text: str) -> str:
    """Return the same text for all spellings of a name: capitals, spaces, "_", "." and "-" make no difference.

    Examples
    --------
    >>> folded("Heart_Rate"), folded("1.0"), folded("CD4+")
    ('heart rate', '1', 'cd4+')
    """
    number = number_of(text)
    if number is not None:
        return level_text(number)
    return re.sub(r"[\s_.-]+", " ", text).strip().casefold()
