"""What a site allows; the coordinator has no say in it."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InputError
from ..scores.masking import MASKINGS
from .fields import Refused, shown
from .messages import Settings
from .workers import WORKERS

CHANNEL_WORDS = {
    "release": "one statement, once: means and covariances with noise, under a stated privacy promise",
    "moments": "one statement, once: EXACT means, variances and covariances of all columns. Not private: who knows all "
    "rows but one can compute that row",
    "regrets": "answers to questions that the coordinator chooses, in rounds. Without noise they tell nearly all "
    "correlations",
}
"""What each channel gives away, in words for a site's owner."""


class Exhausted(Refused):
    """A limit over all runs is reached: the coordinator hears just that, and `owner` says how to raise it."""

    def __init__(self, owner: str) -> None:
        super().__init__("this site has given all that its owner allows over all runs; ask its owner for more")
        self.owner = owner


@dataclass(frozen=True)
class SitePolicy:
    """What a site allows; anything else is refused with the reason, before anything is computed.

    Parameters
    ----------
    channel : {"release", "moments", "regrets"}
        What the site gives: one private release, one exact summary, or answers to questions in rounds.
    privacy_required : bool
        Whether answers without noise are refused.
    maskings : tuple of str
        Maskings that may be used.
    bootstrap : bool
        Whether rows may be resampled, which answers as many questions again from other draws of the rows.
    most_openings, most_messages, most_numbers : int
        How many ways of opening a run are answered, how many rounds of questions or steps, and with how many numbers:
        over all runs, under any name. What was answered before is not counted again, except steps.
    methods : tuple of str
        Methods without privacy that may run here, by their names in `fedperi.protocol.workers.WORKERS`; none by
        default.

    Examples
    --------
    >>> SitePolicy("regrets", maskings=("adaptive",)).check_open(Settings("none"))
    Traceback (most recent call last):
    ...
    fedperi.protocol.fields.Refused: the masking 'none' is not allowed here; allowed: adaptive
    """

    channel: str = "release"
    privacy_required: bool = False
    maskings: tuple[str, ...] = MASKINGS
    bootstrap: bool = False
    most_openings: int = 200
    most_messages: int = 20_000
    most_numbers: int = 100_000_000
    methods: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = [name for name in self.methods if name not in WORKERS]
        if unknown:
            raise InputError(f"a site can allow {', '.join(WORKERS)}; there is no method {unknown[0]!r}")
        if self.channel not in CHANNEL_WORDS:
            raise InputError(f"channel must be one of {', '.join(CHANNEL_WORDS)}, not {self.channel!r}")
        for name in ("privacy_required", "bootstrap"):  # "false" is a text, and would pass for true
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} is true or false, not {getattr(self, name)!r}")
        for name in ("most_openings", "most_messages", "most_numbers"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InputError(f"{name} is a whole number, zero or positive, not {value!r}")

    def check_statement(self) -> None:
        """Raise if the site gives no statement."""
        if self.channel == "regrets":
            raise Refused("this site answers questions, and gives no statement: coordinate with --channel regrets")

    def check_open(self, settings: Settings) -> None:
        """Raise if a run with these settings is not allowed."""
        if self.channel != "regrets":
            raise Refused(
                "this site gives one statement and answers no questions: coordinate without --channel regrets, or ask "
                "its owner to start it with --channel regrets"
            )
        if settings.masking not in self.maskings:
            allowed = ", ".join(self.maskings)
            raise Refused(f"the masking {settings.masking!r} is not allowed here; allowed: {allowed}")
        if settings.resample is not None and not self.bootstrap:
            raise Refused(
                "a bootstrap is not allowed here: run with bootstrap=0, or ask the site's owner to allow it "
                "(fedperi site --bootstrap)"
            )

    def check_begin(self, method: str) -> None:
        """Raise if a method without privacy is not allowed."""
        if method not in self.methods:
            raise Refused(
                f"{shown(method)} is not private, and a site runs no such method unless its people allow it "
                f"(fedperi site --allow); allowed here: {', '.join(self.methods) or 'none'}"
            )

    def check_given(self, openings: int, messages: int, numbers: int) -> None:
        """Raise if this would be more than the owner allows over all runs.

        Examples
        --------
        >>> SitePolicy(most_openings=2).check_given(3, 0, 0)
        Traceback (most recent call last):
        ...
        fedperi.protocol.policy.Exhausted: this site has given all that its owner allows over all runs; ask its ...
        """
        for option, count in (("openings", openings), ("messages", messages), ("numbers", numbers)):
            most: int = getattr(self, f"most_{option}")
            if count > most:
                raise Exhausted(
                    f"over all runs this site may answer {most} {option} (--most-{option}), and this would make it "
                    f"{count}. If these runs were agreed on, start the site with a larger --most-{option}; if not, "
                    "find out who asks"
                )
