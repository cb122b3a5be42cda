"""The messages of the coordinator, and the card with which a site introduces itself, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._version import __version__
from ..tables.schema import Column
from .messages import Question, Settings
from .steps import Beginning, StepRequest


@dataclass(frozen=True)
class Hello:
    """The coordinator's first message. `run` names the run, here and in all later messages."""

    run: str
    version: str = __version__


@dataclass(frozen=True)
class Card:
    """A site's introduction: only what its owner declares, so that sending it costs no privacy.

    Levels are those of the schema. Levels found in a table are values of it, and are not sent. `data` is the type of
    the columns, `penalty` multiplies the price of an edge, `bootstrap` says whether rows may be resampled, and
    `channel` is what the site gives. The site's owner decides about all of them.
    """

    site: str
    columns: tuple[Column, ...]
    promise: dict[str, Any] | None = None
    version: str = __version__
    data: str = "linear"
    penalty: float = 1.0
    bootstrap: bool = False
    channel: str = "release"


@dataclass(frozen=True)
class Stating:
    """A request for a site's statement. The columns repeat those of the cards; a site compares them with its own."""

    run: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Opening:
    """The beginning of a run: settings, the columns on which all sites agree, the type of data, the first questions.

    Columns and type of data repeat those of the cards ("auto" expects nothing); a site only compares them with its own.
    `number` is the number of this round of questions, for the site's log.
    """

    run: str
    settings: Settings
    columns: tuple[Column, ...]
    data: str = "auto"
    questions: tuple[Question, ...] = ()
    number: int = 1


@dataclass(frozen=True)
class Asking:
    """A round of questions; `number` counts the rounds, for the site's log."""

    run: str
    number: int
    questions: tuple[Question, ...]


COMPLETE = "complete"

WITHOUT = "without this site: "
"""How the reason begins that a site gets if the run left it out."""


@dataclass(frozen=True)
class Closing:
    """The end of a run, and the reason in words for the people at the sites.

    Examples
    --------
    >>> Closing("r1", WITHOUT + "it connected after the run began").without
    True
    """

    run: str
    why: str = COMPLETE

    @property
    def complete(self) -> bool:
        """Whether the run has a result that the site took part in."""
        return self.why == COMPLETE

    @property
    def without(self) -> bool:
        """Whether the run left out the site that gets this message: it keeps its statement, and waits for the next."""
        return self.why.startswith(WITHOUT)


Message = Hello | Stating | Opening | Asking | Beginning | StepRequest | Closing
