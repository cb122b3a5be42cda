"""The coordinator's side of a run: it asks all sites in rounds, counts, and keeps a transcript."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..errors import InputError
from ..names import check_name
from ..protocol.messages import Floats, Question, Settings, Welcome
from ..protocol.questions import shape
from .plausible import check_answers, check_rows
from .record import Transcript


class Transport(Protocol):
    """How messages reach the sites."""

    def open(self, settings: Settings) -> list[Welcome]:
        """Begin a run at every site."""

    def ask(self, questions: Sequence[Question]) -> Iterable[Sequence[Floats]]:
        """Put the same questions to every site: one list of answers per site, in the order of the welcomes."""

    def close(self) -> None:
        """Tell the sites that the run is over."""

    def privacy(self) -> Sequence[dict[str, Any] | None]:
        """Return what each site says about its privacy so far; answers may have cost something since the welcome."""

    def fingerprints(self) -> Sequence[str | None]:
        """Identify what each site answers from, where that is known here; never sent over a network."""

    @property
    def dropped(self) -> Sequence[Mapping[str, str]]:
        """Sites that were to take part and do not, each with its name (`site`) and the reason (`why`)."""

    @property
    def widest(self) -> int:
        """Columns, or levels, of the widest variable, at most."""

    @property
    def counted(self) -> bool:
        """Whether a site may score by counts."""


class Coordinator:
    """Asks all sites in rounds; checks what comes back; keeps a transcript.

    Parameters
    ----------
    transport : Transport
        How messages reach the sites.
    settings : Settings
        What the sites are told at the beginning.
    look : callable, optional
        Called before every round; what it raises ends the run.

    Attributes
    ----------
    sites : tuple of Welcome
        Who takes part.
    rounds, queries : int
        How often all sites were asked, and for how many numbers each.
    transcript : Transcript
        Every question and answer so far.
    """

    def __init__(self, transport: Transport, settings: Settings, look: Callable[[], None] = lambda: None) -> None:
        self.transport = transport
        self.settings = settings
        self.look = look
        look()
        self.sites = tuple(transport.open(settings))
        check_together(self.sites)
        self.rounds = 0
        self.queries = 0
        self.transcript = Transcript(settings, self.sites)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self.sites[0].names

    def ask(self, questions: Sequence[Question]) -> list[Floats]:
        """Ask every site, as one round; answers to one question are stacked, one row per site."""
        questions = [question for question in questions if question.answers]
        if not questions:
            return []
        self.look()
        # Answers are large: each is copied to its row when it arrives, and not kept.
        stacked = [np.empty((len(self.sites), *shape(question))) for question in questions]
        widest, counted = self.transport.widest, self.transport.counted
        count = 0
        for count, mine in enumerate(self.transport.ask(questions), start=1):
            if count > len(self.sites):
                break
            if len(mine) != len(questions) or not all(map(_fits, questions, mine)):
                name = self.sites[count - 1].site
                raise InputError(f"site {name!r} gave an answer that does not fit the question")
            check_answers(self.sites[count - 1], self.settings, widest, questions, mine, counted=counted)
            for rows, answer in zip(stacked, mine, strict=True):
                rows[count - 1] = answer
        if count != len(self.sites):
            raise InputError(f"{count} of {len(self.sites)} sites answered")
        self.rounds += 1
        self.queries += sum(question.answers for question in questions)
        self.transcript.rounds.append((questions, stacked))
        return stacked

    @property
    def bytes(self) -> int:
        """Size of the answers of one site, in bytes."""
        return 8 * self.queries


def check_together(sites: Sequence[Welcome]) -> None:
    """Raise unless sites have names of their own, the same variables in the same order, and rows.

    Examples
    --------
    >>> check_together([Welcome("north", ("a",), 10), Welcome("north", ("a",), 10)])
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: two sites are called 'north': give each a name of its own
    """
    if not sites:
        raise InputError("a federation needs at least one site; the list is empty")
    seen: set[str] = set()
    for site in sites:
        check_name(site.site, "a site")
        if site.site in seen:
            raise InputError(f"two sites are called {site.site!r}: give each a name of its own")
        seen.add(site.site)
    names = common_names([(site.site, site.names) for site in sites])
    for position, name in enumerate(names, start=1):
        check_name(name, f"site {sites[0].site!r}, variable {position}")
    for site in sites:
        if site.names != names:
            raise InputError(f"site {site.site!r} lists the variables in another order than {sites[0].site!r}")
        check_rows(site)


def _fits(question: Question, answer: object) -> bool:
    """Whether an answer holds a number for everything that was asked; infinity is one (a set too large to judge)."""
    if not isinstance(answer, np.ndarray) or answer.dtype.kind != "f" or answer.shape != shape(question):
        return False
    return not np.isnan(answer).any()


def common_names(sites: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """Return the variables in the order of the first site; raise unless all sites, by name, have the same ones."""
    if not sites:
        raise InputError("a federation needs at least one site; the list is empty")
    first, names = sites[0]
    for site, others in sites[1:]:
        missing = [n for n in names if n not in others]
        extra = [n for n in others if n not in names]
        parts = [f"lacks the column {', '.join(missing)}, which {first!r} has"] if missing else []
        parts += [f"has the column {', '.join(extra)}, which {first!r} lacks"] if extra else []
        if parts:
            raise InputError(f"site {site!r} {', and '.join(parts)}")
    return tuple(names)
