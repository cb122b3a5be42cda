"""Variables that may have a hidden common cause, according to the warnings of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..methods.result import Result

MARK = " may have a hidden common cause"


class Suspicion(NamedTuple):
    """A warning about two or more variables: their names, and the sentence."""

    variables: tuple[str, ...]
    words: str

    def about(self, a: str, b: str) -> bool:
        """Whether the warning names both variables."""
        return {a, b} <= set(self.variables)


def suspicions(result: Result) -> tuple[Suspicion, ...]:
    """Find the variables that each warning about a hidden cause names.

    Examples
    --------
    >>> import fedperi as fp
    >>> from dataclasses import replace
    >>> result = fp.MPERI().fit(fp.simulate(["age", "dose", "pain"], clients=3, samples=500, seed=1).sites)
    >>> said = "age, dose and pain may have a hidden common cause: it would explain all edges between them."
    >>> suspicions(replace(result, warnings=(said, "The sites do not differ.")))[0].variables
    ('age', 'dose', 'pain')
    """
    found = []
    for words in result.warnings:
        head, mark, _ = words.partition(MARK)
        named = _names(head, result.graph.names) if mark else ()
        if len(named) > 1:
            found.append(Suspicion(named, words))
    return tuple(found)


def _names(text: str, known: Sequence[str]) -> tuple[str, ...]:
    """Split a list written as in a sentence; names may themselves contain commas and "and"."""
    if text in known:
        return (text,)
    for name in known:
        for between in (", ", " and "):
            if text.startswith(name + between):
                rest = _names(text[len(name + between) :], known)
                if rest:
                    return (name, *rest)
    return ()
