"""Replies to the steps of a method without regrets: one worker per run, with its state on the site's disk."""

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
    """Begins runs of steps, and performs them. Only the arrays that a worker declares leave the site.

    `ask_people` gets a run and a description of what is about to be sent, and raises if the people at the site do not
    allow it.
    """

    def __init__(
        self,
        source: AnswerSource,
        policy: SitePolicy,
        runs: Runs,
        account: Account,
        ask_people: Callable[[str, str], None],
    ) -> None:
        self._source, self._policy, self._runs = source, policy, runs
        self._account, self._ask_people = account, ask_people
        self._now: tuple[str, Worker] | None = None
        if policy.methods and not source.exact:
            raise InputError(
                f"site {source.name!r} keeps a privacy promise, and {', '.join(policy.methods)} cannot keep one: "
                "leave out --allow"
            )

    def begin(self, message: Beginning) -> tuple[Record, str]:
        """Answer ``begin``."""
        self._policy.check_begin(message.worker)
        self._source.check_columns(message.columns)
        category = next((column.name for column in message.columns if column.kind == "categorical"), None)
        if category is not None:
            raise Refused(f"{message.worker} needs numbers, and the column {category!r} is a category")
        self._source.check_unchanged()
        self._runs.check(message)
        self._account.check(message)
        what = f"begin a run of {message.worker}, which is NOT PRIVATE: send the number of rows, and then steps"
        self._ask_people(message.run, what)
        self._account.enter(message)
        worker = self._worker(message)
        self._runs.opened(message)
        self._runs.place.keep(steps_key(message.run), _text(0, {}, {}))
        names = tuple(column.name for column in message.columns)
        welcome = Welcome(self._source.name, names, len(worker.rows))
        return wire.write_welcome(welcome), f"began {message.worker}, which is NOT PRIVATE; told the number of rows."

    def perform(self, message: StepRequest) -> tuple[Record, str]:
        """Answer ``step``. A step that is repeated, because its answer was lost, starts from the same state again."""
        beginning: Beginning = self._runs.opening(message.run, "begin")
        worker = self._worker(beginning)
        if message.kind not in worker.kinds:
            raise Refused(f"{beginning.worker} has no step {message.kind!r}; it has {', '.join(worker.kinds)}")
        kind = worker.kinds[message.kind]
        unknown = [name for name in message.payload if name not in kind.takes.split()]
        if unknown:
            raise Refused(f"the step {message.kind!r} of {beginning.worker} takes no {unknown[0]!r}")
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
            rows = self._source.rows([column.name for column in message.columns], message.worker)
            self._now = (message.run, worker_class(message.worker)(rows, self._source.name))
        return self._now[1]

    def _count(self, run: str, numbers: int) -> None:
        if numbers > MAX_NUMBERS:
            raise Refused(
                f"the answer would have {numbers} numbers; a message holds at most {MAX_NUMBERS}: use fewer features, "
                "hidden units or variables"
            )
        self._account.enter_step(numbers)
        self._runs.count(run, numbers)


def _performed(worker: Worker, method: str, message: StepRequest, state: State) -> tuple[Payload, State]:
    try:
        with np.errstate(all="ignore"):  # numbers that are not finite in the end are refused
            return worker.perform(message.kind, message.payload, state)
    except InputError:
        raise
    except Exception as error:  # workers do not check all values, and wrong ones fail in many ways
        why = f"the step {message.kind!r} of {method} holds values that do not fit together"
        raise InputError(f"{why} ({type(error).__name__}: {error})") from None


def _text(number: int, before: State, after: State) -> str:
    """Write the states before and after a step as text; arrays are read back bit for bit."""
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
