"""What a site remembers of its runs on its disk: how each was opened, and how many numbers were sent."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...protocol.fields import Refused
from ...protocol.requests import Opening
from ...protocol.steps import Beginning
from ...protocol.wire import Record, read, write

if TYPE_CHECKING:
    from ...privacy.store import Place


MOST_RUNS = 200
"""Number of runs that a site remembers. A coordinator gains nothing when an old run is forgotten: it could always have
used a new name, and `fedperi.site.service.given` counts over all runs and forgets nothing."""


@dataclass(frozen=True)
class Runs:
    """The runs that a site takes part in.

    `identity` is a hash of the table and of how it is read: if either changes, earlier runs cannot continue.

    Examples
    --------
    >>> import tempfile
    >>> from fedperi.privacy.store import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     runs = Runs(Store(folder).place("north", "0" * 64), "0" * 64)
    ...     runs.opened(Beginning("r1", "fedcdh", ()))
    ...     _ = runs.count("r1", 12)
    ...     runs.state("r1")["numbers"]
    12
    """

    place: Place
    identity: str

    def check(self, message: Opening | Beginning) -> None:
        """Raise if a run of this name was opened in another way: it is not the run that people have approved."""
        kept = self._kept(message.run)
        if kept is not None and any(kept[key] != value for key, value in self._described(message).items()):
            raise Refused(
                "a run of this name was opened here before, in another way or for another table: choose a new name"
            )

    def opened(self, message: Opening | Beginning) -> None:
        """Remember that a run was opened; if it was opened before, its count of numbers continues."""
        with self.place.locked():
            self.check(message)
            self._remember(message.run)
            if self._kept(message.run) is None:
                self.place.keep(_key(message.run), json.dumps(self._described(message) | {"numbers": 0}))

    def known(self, run: str) -> bool:
        """Whether a run was opened here."""
        return self._kept(run) is not None

    def state(self, run: str) -> dict[str, Any]:
        """Return what is remembered of a run; raise unless it is open here."""
        state = self._kept(run)
        if state is None:
            raise Refused(f"the run {run!r} was not opened here")
        if state["table"] != self.identity:
            raise Refused("the table, or how it is read, has changed since the run was opened; open a new run")
        return state

    def opening(self, run: str, kind: str) -> Any:
        """Return the message that opened a run: ``open`` for questions, ``begin`` for steps."""
        state = self.state(run)
        if state["kind"] != kind:
            raise Refused(f"the run {run!r} was not opened for this kind of message")
        return read(kind, state["opening"])

    def count(self, run: str, numbers: int, number: int = 0) -> bool:
        """Add the numbers of a message to the count of a run; return whether its round was answered before."""
        with self.place.locked():
            state = self.state(run)
            state["numbers"] += numbers
            again = 0 < number <= int(state.get("round", 0))
            state["round"] = max(number, int(state.get("round", 0)))
            self.place.keep(_key(run), json.dumps(state))
        return again

    def _remember(self, run: str) -> None:
        """Put a run at the end of the list of runs, and forget the oldest ones if there are too many."""
        runs = [known for known in json.loads(self.place.kept(_LIST) or "[]") if known != run]
        self.place.keep(_LIST, json.dumps([*runs[-MOST_RUNS + 1 :], run]))
        for old in runs[: -MOST_RUNS + 1]:
            self.place.forget(_key(old))
            self.place.forget(steps_key(old))

    def _kept(self, run: str) -> dict[str, Any] | None:
        text = self.place.kept(_key(run))
        state: dict[str, Any] | None = None if text is None else json.loads(text)
        return state

    def _described(self, message: Opening | Beginning) -> dict[str, Any]:
        kind = "open" if isinstance(message, Opening) else "begin"
        return {"kind": kind, "opening": plain_record(message), "table": self.identity}


def plain_record(message: Opening | Beginning) -> Record:
    """Write an opening without its questions, so that all its values are plain."""
    return write(replace(message, questions=(), number=1) if isinstance(message, Opening) else message)


_LIST = "runs"


def _key(run: str) -> str:
    return f"run {run}"


def steps_key(run: str) -> str:
    """Return the key under which the state of a run of steps is kept."""
    return f"steps {run}"
