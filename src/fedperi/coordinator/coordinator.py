"""The coordinator's side of a run: it asks all sites in rounds, counts the questions, and keeps a transcript."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..errors import InputError
from ..names import check_name
from ..protocol.messages import Floats, Question, Settings, Welcome
from .plausible import check_answers, check_rows
from .record import Transcript


class Connection(Protocol):
    """What every transport can do."""

    def close(self) -> None:
        """Tell the sites that the run is over."""

    def fingerprints(self) -> Sequence[str | None]:
        """Return a hash of the data of each site, if it is known here; it is never sent over a network."""

    @property
    def dropped(self) -> Sequence[Mapping[str, str]]:
        """Sites that should take part and do not, each with its name (`site`) and the reason (`why`)."""


class Transport(Connection, Protocol):
    """How questions reach the sites."""

    def open(self, settings: Settings) -> list[Welcome]:
        """Begin a run at every site."""

    def ask(self, questions: Sequence[Question]) -> Iterable[Sequence[Floats]]:
        """Ask every site the same questions: one list of answers per site, in the order of the welcomes."""

    def privacy(self) -> Sequence[dict[str, Any] | None]:
        """Return what each site says about its privacy so far; answers may have had a price since the welcome."""

    @property
    def widest(self) -> int:
        """Largest number of columns or levels of a variable."""

    @property
    def counted(self) -> bool:
        """Whether some site may compute its scores from counts."""


class Coordinator:
    """Asks all sites in rounds, checks their answers, and keeps a transcript.

    Parameters
    ----------
    transport : Transport
        How questions reach the sites.
    settings : Settings
        What the sites get when the run opens.
    look : callable, optional
        Called before every round; if it raises, the run ends.

    Attributes
    ----------
    sites : tuple of Welcome
        The sites that take part.
    rounds, queries : int
        Number of rounds, and of numbers that each site was asked for.
    transcript : Transcript
        All questions and answers so far.
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
        """Ask every site in one round; return one array per question, with one row per site."""
        questions = [question for question in questions if question.answers]
        if not questions:
            return []
        self.look()
        # Answers are large: each is copied into its row when it arrives, and is not kept twice.
        stacked = [np.empty((len(self.sites), *question.shape)) for question in questions]
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
    """Raise unless sites have different names, the same variables in the same order, and rows.

    Examples
    --------
    >>> check_together([Welcome("north", ("a",), 10), Welcome("north", ("a",), 10)])
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: two sites are called 'north': give each a name of its own
    """
    for site in sites:
        check_name(site.site, "a site")
    check_distinct([site.site for site in sites])
    names = common_names([(site.site, site.names) for site in sites])
    for position, name in enumerate(names, start=1):
        check_name(name, f"site {sites[0].site!r}, variable {position}")
    for site in sites:
        if site.names != names:
            raise InputError(f"site {site.site!r} lists the variables in another order than {sites[0].site!r}")
        check_rows(site)


def _fits(question: Question, answer: object) -> bool:
    """Whether an answer holds a number for everything that was asked; a regret may be infinite."""
    if not isinstance(answer, np.ndarray) or answer.dtype.kind != "f" or answer.shape != question.shape:
        return False
    return not np.isnan(answer).any()


def check_distinct(sites: Sequence[str]) -> None:
    """Raise if two sites have the same name."""
    for at, site in enumerate(sites):
        if site in sites[:at]:
            raise InputError(f"two sites are called {site!r}: give each a name of its own")


def common_names(sites: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """Return the variables in the order of the first site; raise unless all sites (name, variables) have the same."""
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
