"""A site's half of a method without regrets: one worker, whose state is on the site's disk between two steps."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import InputError
from ...protocol import wire
from ...protocol.fields import MAX_NUMBERS, Refused
from ...protocol.messages import Welcome
from ...protocol.policy import SitePolicy
from ...protocol.steps import Beginning, StepRequest, write_step_reply
from ...protocol.wire import Record
from ...protocol.worker import Payload, State, Worker
from ...protocol.workers import worker_class
from ...strict import pack, unpack
from .given import Account
from .runs import Runs, steps_key
from .source import AnswerSource
from .words import sent_words

FORMAT, VERSION = "fedperi.state", 1


class StepSide:
    """Begins runs of steps, and performs them; nothing leaves but what a worker declares.

    Parameters
    ----------
    held : AnswerSource
        The table.
    policy : SitePolicy
        What is allowed.
    runs : Runs
        What is remembered of runs.
    account : Account
        Counts what is given over all runs.
    ask_people : callable
        Gets a run and what is about to be sent, and raises if it may not be.
    """

    def __init__(
        self,
        held: AnswerSource,
        policy: SitePolicy,
        runs: Runs,
        account: Account,
        ask_people: Callable[[str, str], None],
    ) -> None:
        self._held, self._policy, self._runs, self._account, self._ask_people = held, policy, runs, account, ask_people
        self._now: tuple[str, Worker] | None = None
        if policy.methods and not held.bare:
            raise InputError(
                f"site {held.name!r} keeps a privacy promise, and {', '.join(policy.methods)} cannot: leave --allow out"
            )

    def begin(self, message: Beginning) -> tuple[Record, str]:
        """Answer ``begin``."""
        self._policy.check_begin(message.worker)
        self._held.check_columns(message.columns)
        words = next((column.name for column in message.columns if column.kind == "categorical"), None)
        if words is not None:
            raise Refused(f"{message.worker} needs numbers, and the column {words!r} is a category")
        if self._held.fingerprint() != self._held.mark:
            raise Refused("the table has changed since this site was started: restart the site")
        self._runs.check(message)
        self._account.check(message)
        what = f"begin a run of {message.worker}, which is NOT PRIVATE: send the number of rows, and then steps"
        self._ask_people(message.run, what)
        self._account.enter(message)
        worker = self._worker(message)
        self._runs.opened(message)
        self._runs.place.keep(steps_key(message.run), _text(0, {}, {}))
        names = tuple(column.name for column in message.columns)
        welcome = Welcome(self._held.name, names, len(worker.rows))
        return wire.write_welcome(welcome), f"began {message.worker}, which is NOT PRIVATE; told the number of rows."

    def perform(self, message: StepRequest) -> tuple[Record, str]:
        """Answer ``step``: a step that comes again, since its answer was lost, starts from the same state again."""
        beginning: Beginning = self._runs.opening(message.run, "begin")
        worker = self._worker(beginning)
        if message.kind not in worker.kinds:
            raise Refused(f"{beginning.worker} has no step {message.kind!r}; it has {', '.join(worker.kinds)}")
        kind = worker.kinds[message.kind]
        strange = [name for name in message.payload if name not in kind.takes.split()]
        if strange:
            raise Refused(f"the step {message.kind!r} of {beginning.worker} takes no {strange[0]!r}")
        number, before, after = _read(self._runs.place.kept(steps_key(message.run)))
        if message.number not in (number, number + 1) or message.number < 1:
            raise Refused(f"step {message.number} does not follow step {number}, the last one here: begin a new run")
        start = before if message.number == number else after
        answer, state = _performed(worker, beginning.worker, message, start)
        if not set(answer) <= set(kind.sends) or not all(np.isfinite(value).all() for value in answer.values()):
            raise InputError(f"{beginning.worker} has no finite answer to the step {message.kind!r}")
        self._count(message.run, sum(np.size(value) for value in answer.values()))
        words = sent_words(answer, kind.sends)
        self._ask_people(message.run, f"answer step {message.number} ({message.kind}) of {beginning.worker}: {words}")
        self._runs.place.keep(steps_key(message.run), _text(message.number, start, state))
        return write_step_reply(answer), f"step {message.number} ({message.kind}) of {beginning.worker}: sent {words}."

    def close(self, run: str) -> None:
        """Forget the state of a run."""
        self._now = None
        if self._runs.place.kept(steps_key(run)) is not None:
            self._runs.place.keep(steps_key(run), "")

    def _worker(self, message: Beginning) -> Worker:
        if self._now is None or self._now[0] != message.run:
            names = [column.name for column in message.columns]
            made = worker_class(message.worker)(self._held.rows(names, message.worker), self._held.name)
            self._now = (message.run, made)
        return self._now[1]

    def _count(self, run: str, numbers: int) -> None:
        if numbers > MAX_NUMBERS:
            raise Refused(
                f"the answer would have {numbers} numbers, and a message holds {MAX_NUMBERS}: ask for less (fewer "
                "features or hidden units, fewer variables)"
            )
        self._account.enter_step(numbers)
        self._runs.count(run, numbers)


def _performed(worker: Worker, method: str, message: StepRequest, state: State) -> tuple[Payload, State]:
    try:
        with np.errstate(all="ignore"):  # what is not finite in the end is refused
            return worker.perform(message.kind, message.payload, state)
    except InputError:
        raise
    except Exception as error:  # workers look at what they use, and what they cannot use fails in many ways
        why = f"{type(error).__name__}: {error}"
        raise InputError(
            f"the step {message.kind!r} of {method} holds values that do not fit together ({why})"
        ) from None


def _text(number: int, before: State, after: State) -> str:
    """Write the states before and after a step as text; arrays come back bit for bit."""
    states = [{name: _packed(array) for name, array in state.items()} for state in (before, after)]
    return pack(FORMAT, VERSION, {"number": number, "states": states})


def _packed(array: Any) -> list[Any]:
    whole = np.asarray(array)
    return [whole.dtype.str, list(whole.shape), base64.b64encode(whole.tobytes()).decode()]


def _read(text: str | None) -> tuple[int, State, State]:
    if not text:
        raise Refused("the run is closed; begin a new one")
    try:
        content = unpack(text, FORMAT, VERSION)
        before, after = (
            {
                name: np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()
                for name, (dtype, shape, data) in state.items()
            }
            for state in content["states"]
        )
        return int(content["number"]), before, after
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"the state that was kept is damaged: {error}") from None
