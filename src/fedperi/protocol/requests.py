"""What the coordinator says, and who a site is: the messages of the protocol as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._version import __version__
from ..tables.schema import Column
from .messages import Question, Settings
from .steps import Beginning, StepRequest


@dataclass(frozen=True)
class Hello:
    """The coordinator's first word; `run` names the run, here and in all that follows."""

    run: str
    version: str = __version__


@dataclass(frozen=True)
class Card:
    """Who a site is: nothing but what is declared, so that sending it costs no privacy.

    Levels are those that a schema declares. Levels found in a table are values of it, and are not sent. `data` is how
    the columns are taken, `penalty` multiplies the price of an edge, `bootstrap` says whether rows may be resampled:
    `channel` is what the site gives. The site's owner decides about all of them, and the coordinator learns them here.
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
    """Asks for a site's statement. The columns repeat what the sites have said; a site compares, and obeys none."""

    run: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Opening:
    """The beginning of a run: settings, the columns as all sites take them, the type of data, the first questions.

    Columns and type of data repeat what the sites have said ("auto" expects nothing); a site compares, and obeys none.
    `number` is that of the round that these questions are, for the site's log.
    """

    run: str
    settings: Settings
    columns: tuple[Column, ...]
    data: str = "auto"
    questions: tuple[Question, ...] = ()
    number: int = 1


@dataclass(frozen=True)
class Asking:
    """A round of questions; `number` counts rounds, for the site's log."""

    run: str
    number: int
    questions: tuple[Question, ...]


COMPLETE = "complete"

WITHOUT = "without this site: "
"""How the reason begins that is told to a site which a run has left out."""


@dataclass(frozen=True)
class Closing:
    """The end of a run, and why it ended, in words for the people at the sites.

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
        """Whether the run ended without the site that is told: it is to keep its statement, and stay."""
        return self.why.startswith(WITHOUT)


Message = Hello | Stating | Opening | Asking | Beginning | StepRequest | Closing
