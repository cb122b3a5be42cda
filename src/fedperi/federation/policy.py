"""What a site allows; the coordinator has no say in it."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InputError
from .fields import Refused, shown
from .masking import MASKINGS
from .messages import Settings
from .work import WORKERS


@dataclass(frozen=True)
class SitePolicy:
    """What a site allows; anything else is refused with the reason, before anything is computed.

    Parameters
    ----------
    privacy_required : bool
        Whether answers without noise are refused.
    maskings : tuple of str
        Maskings that may be used.
    bootstrap : bool
        Whether rows may be drawn anew, which answers as many questions again from other rows.
    most_numbers : int
        Numbers that may leave in one run.
    most_messages : int
        Rounds of questions, or steps, in one run.
    methods : tuple of str
        Methods without privacy that may run here, by their names in `fedperi.federation.work.WORKERS`; none by default.

    Examples
    --------
    >>> SitePolicy(maskings=("adaptive",)).check_open(Settings("none"))
    Traceback (most recent call last):
    ...
    fedperi.federation.fields.Refused: the masking 'none' is not allowed here; allowed: adaptive
    """

    privacy_required: bool = False
    maskings: tuple[str, ...] = MASKINGS
    bootstrap: bool = True
    most_numbers: int = 100_000_000
    most_messages: int = 1000
    methods: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = [name for name in self.methods if name not in WORKERS]
        if unknown:
            raise InputError(f"a site can allow {', '.join(WORKERS)}; there is no method {unknown[0]!r}")

    def check_open(self, settings: Settings) -> None:
        """Raise if a run with these settings is not allowed."""
        if settings.masking not in self.maskings:
            allowed = ", ".join(self.maskings)
            raise Refused(f"the masking {settings.masking!r} is not allowed here; allowed: {allowed}")
        if settings.resample is not None and not self.bootstrap:
            raise Refused("a bootstrap is not allowed here: run with bootstrap=0")

    def check_begin(self, method: str) -> None:
        """Raise if a method without privacy is not allowed."""
        if method not in self.methods:
            raise Refused(
                f"{shown(method)} is not private, and a site runs no such method unless its people allow it "
                f"(fedperi site --allow); allowed here: {', '.join(self.methods) or 'none'}"
            )

    def check_ask(self, numbers: int, messages: int) -> None:
        """Raise if so many numbers, in so many messages, are too many for one run."""
        if numbers > self.most_numbers:
            raise Refused(f"a run may take {self.most_numbers} numbers from here, and this would make it {numbers}")
        if messages > self.most_messages:
            raise Refused(f"a run may ask {self.most_messages} times here, and this would be once more")
