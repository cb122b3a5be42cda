"""What a site allows. Only its owner decides this; no message can change it."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InputError
from ..option_values import check_one_of, check_whole
from ..scores.masking import MASKINGS
from .fields import Refused, shown
from .messages import Settings
from .workers import WORKERS

CHANNEL_WORDS = {
    "release": "one statement, once: means and covariances with noise, under a stated privacy promise",
    "moments": "one statement, once: EXACT means, variances and covariances of all columns. Not private: anyone who "
    "knows all rows but one can compute that row",
    "regrets": "answers to questions that the coordinator chooses, in rounds. Without noise they reveal nearly all "
    "correlations",
}
"""What a site gives on each channel, in words for its owner."""


class Exhausted(Refused):
    """A limit over all runs is reached. The coordinator learns only this; `for_owner` says how to raise the limit."""

    def __init__(self, for_owner: str) -> None:
        super().__init__("this site has given all that its owner allows over all runs; ask its owner for more")
        self.for_owner = for_owner


@dataclass(frozen=True)
class SitePolicy:
    """What a site allows. Anything else is refused with the reason, before anything is computed.

    Parameters
    ----------
    channel : {"release", "moments", "regrets"}
        What the site gives: one private release, one exact summary, or answers to questions in rounds.
    privacy_required : bool
        Whether answers without noise are refused.
    maskings : tuple of str
        Maskings that may be used.
    bootstrap : bool
        Whether rows may be resampled. Each draw answers the same number of questions again, from other rows.
    most_openings, most_messages, most_numbers : int
        Limits over all runs, under any name: different openings of a run, rounds of questions or steps, and numbers
        in the answers. A question that is repeated is not counted again; a step is.
    methods : tuple of str
        Methods without privacy that may run here, by their names in `fedperi.protocol.workers.WORKERS`.

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
        check_one_of("channel", self.channel, tuple(CHANNEL_WORDS))
        for name in ("privacy_required", "bootstrap"):  # the text "false" would count as true
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} must be true or false, not {getattr(self, name)!r}")
        for name in ("most_openings", "most_messages", "most_numbers"):
            check_whole(name, getattr(self, name))

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
                f"{shown(method)} is not private, and a site runs such a method only if its owner allows it (fedperi "
                f"site --allow); allowed here: {', '.join(self.methods) or 'none'}"
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
