"""What a site remembers of a run on its disk: how it was opened, and how many numbers it has taken."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .fields import Refused
from .steps import Beginning
from .wire import Opening, Record, read, write

if TYPE_CHECKING:
    from ..privacy.store import Place


MOST_RUNS = 200
"""Runs that a site remembers. A coordinator may name a new run whenever it likes, so that forgetting an old one, and
how many numbers it took, gives it nothing."""


@dataclass(frozen=True)
class Runs:
    """The runs that a site takes part in.

    Parameters
    ----------
    place : Place
        Where it keeps things.
    mark : str
        A fingerprint of what it answers from; a run does not outlive a change of it.

    Examples
    --------
    >>> import tempfile
    >>> from fedperi.privacy.store import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     runs = Runs(Store(folder).place("north", "0" * 64), "0" * 64)
    ...     runs.opened(Beginning("r1", "fedcdh", ()))
    ...     runs.count("r1", 12)
    ...     runs.state("r1")["numbers"]
    12
    """

    place: Place
    mark: str

    def opened(self, message: Opening | Beginning) -> None:
        """Remember that a run was opened; one that was opened so before goes on, and its counts with it."""
        with self.place.locked():
            state = {
                "kind": _kind(message),
                "opening": _plain(message),
                "table": self.mark,
                "numbers": 0,
                "messages": 0,
            }
            self._remember(message.run)
            if not self._same(self._kept(message.run), state):
                self.place.keep(_key(message.run), json.dumps(state))

    def before(self, message: Opening) -> tuple[int, int]:
        """Numbers and messages that a run has taken so far, if this is how it was opened before."""
        state = {"kind": _kind(message), "opening": _plain(message), "table": self.mark}
        kept = self._kept(message.run)
        return (kept["numbers"], kept["messages"]) if kept is not None and self._same(kept, state) else (0, 0)

    def state(self, run: str) -> dict[str, Any]:
        """Return what is known of a run; raise unless it is open here."""
        state = self._kept(run)
        if state is None:
            raise Refused(f"the run {run!r} was not opened here")
        if state["table"] != self.mark:
            raise Refused("the table has changed since the run was opened; open a new run")
        return state

    def opening(self, run: str, kind: str) -> Any:
        """Return the message that opened a run: ``open`` for questions, ``begin`` for steps."""
        state = self.state(run)
        if state["kind"] != kind:
            raise Refused(f"the run {run!r} was not opened for this kind of message")
        return read(kind, state["opening"])

    def count(self, run: str, numbers: int) -> None:
        """Add a message with so many numbers to what a run has taken."""
        with self.place.locked():
            state = self.state(run)
            state |= {"numbers": state["numbers"] + numbers, "messages": state["messages"] + 1}
            self.place.keep(_key(run), json.dumps(state))

    def _remember(self, run: str) -> None:
        """Put a run last on the list of runs, and forget those that are too far from its end."""
        runs = [known for known in json.loads(self.place.kept(_LIST) or "[]") if known != run]
        self.place.keep(_LIST, json.dumps([*runs[-MOST_RUNS + 1 :], run]))
        for old in runs[: -MOST_RUNS + 1]:
            self.place.forget(_key(old))
            self.place.forget(steps_key(old))

    def _kept(self, run: str) -> dict[str, Any] | None:
        text = self.place.kept(_key(run))
        state: dict[str, Any] | None = None if text is None else json.loads(text)
        return state

    def _same(self, kept: dict[str, Any] | None, state: dict[str, Any]) -> bool:
        return kept is not None and all(kept[key] == state[key] for key in ("kind", "opening", "table"))


def _kind(message: Opening | Beginning) -> str:
    return "open" if isinstance(message, Opening) else "begin"


def _plain(message: Opening | Beginning) -> Record:
    """The message without the questions that came with it."""
    if isinstance(message, Opening):
        return write(Opening(message.run, message.settings, message.columns, message.data))
    return write(message)


_LIST = "runs"


def _key(run: str) -> str:
    return f"run {run}"


def steps_key(run: str) -> str:
    """Return the key under which the state of a run of steps is kept."""
    return f"steps {run}"
