"""The protocol between coordinator and sites: what each message holds, as plain values and arrays, and what is refused.

Seven messages, each with one reply; a transport carries them and knows nothing else:

=========  ==============================================  ===========================================================
message    the coordinator says                            the site replies
=========  ==============================================  ===========================================================
``hello``  its version                                     its version, name, how it takes its columns, what it allows
``state``  the columns agreed on                           its statement: a release, or an exact summary; all that
                                                           methods need that ask no questions
``open``   the settings of a run, the columns agreed on,   a `Welcome`: rows, declared targets, privacy; and its
           and perhaps the first questions                 answers, if there are questions
``ask``    questions about candidate parents, directions   one number for each thing asked, and its privacy so far
``begin``  the name of a method without regrets, columns   a `Welcome`
``step``   a step of that method: values and arrays        arrays, those that the site's half of the method declares
``close``  that the run is over; nobody needs the reply    that it has heard it
=========  ==============================================  ===========================================================

How rows are read, bounded, binned and encoded is the site's alone: no message can change it. The columns in ``open``
and ``begin`` only repeat what the sites have said, so that a site that was started again in another way notices.

Instead of any reply a site may send a refusal with its reason, and instead of a statement the word that its owner has
not decided yet (`pending`): the coordinator then asks again later. Whatever does not fit these descriptions, on either
side, is an `InputError` that names the sender; nothing is computed from it. No message holds code or pickled objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..names import visible
from ..scores.masking import MASKINGS
from ..tables.schema import Column
from .fields import MAX_NAME, PROTOCOL, Fields, Refused, as_json, plain, shown
from .messages import Question, Settings, Welcome, is_run
from .questions import Answers, answers_in, read_questions, write_answers, write_questions
from .requests import Asking, Card, Closing, Hello, Message, Opening, Stating
from .steps import Beginning, StepRequest, read_step_request, write_step_request

KINDS = ("hello", "state", "open", "ask", "begin", "step", "close")

CHANNELS = ("release", "moments", "regrets")
"""What a site may give: a private release, an exact summary, or answers to questions."""

DATA = ("auto", "linear", "nonlinear", "discrete", "mixed")

LONGEST_STATEMENT = 1 << 25
"""Characters of a statement: 1,000 columns have 500,000 covariances."""

MAX_WHY = 1000
"""Characters of the reason why a run ended."""

RUN_RULE = "1 to 40 letters, digits, dots, underscores and hyphens"

Value = NDArray[Any] | str | int | float | bool
Record = dict[str, Value]


def refusal(reason: str) -> Record:
    """Write a refusal; long or odd texts are cut to what the other side will read.

    Examples
    --------
    >>> refusal("this site answers no bootstrap")
    {'protocol': 4, 'refused': 'this site answers no bootstrap'}
    """
    text = "".join(c if plain(c) else " " for c in reason)
    return {"protocol": PROTOCOL, "refused": text[:2000] or "no reason was given"}


def pending() -> Record:
    """Write that the site's owner has not decided yet: always in these words, so that waiting tells nothing more.

    Examples
    --------
    >>> read_statement(pending(), "site 'north'")
    Traceback (most recent call last):
    ...
    fedperi.protocol.fields.Pending: site 'north' waits: its owner has not decided yet
    """
    return {"protocol": PROTOCOL, "pending": "its owner has not decided yet"}


def write(message: Message) -> Record:
    """Write what the coordinator says.

    Examples
    --------
    >>> write(Closing("r1"))
    {'protocol': 4, 'run': 'r1', 'why': 'complete'}
    """
    if not is_run(message.run):
        raise InputError(f"a run's name is {RUN_RULE}, not {shown(message.run)}")
    record: Record = {"protocol": PROTOCOL, "run": message.run}
    if isinstance(message, Hello):
        return record | {"version": message.version}
    if isinstance(message, Closing):
        return record | {"why": " ".join(visible(message.why).split())[:MAX_WHY] or "no reason was given"}
    if isinstance(message, Opening):
        s = message.settings
        resample = -1 if s.resample is None else s.resample
        record |= {"masking": s.masking, "local": s.local, "alpha": float(s.alpha), "penalty": float(s.penalty)}
        record |= {"resample": resample, "columns": _columns_text(message.columns), "data": message.data}
    if isinstance(message, Opening | Asking):
        return record | {"number": message.number, **write_questions(message.questions)}
    if isinstance(message, Stating):
        return record | {"columns": _columns_text(message.columns)}
    if isinstance(message, Beginning):
        return record | {"worker": message.worker, "columns": _columns_text(message.columns)}
    return record | write_step_request(message) if isinstance(message, StepRequest) else record


def read(kind: str, record: Mapping[str, Any], sender: str = "the coordinator", p: int = 0) -> Any:
    """Read what the coordinator says, at a site; `p` is the number of variables of the run, for ``ask``.

    Examples
    --------
    >>> read("close", {"protocol": 4, "run": "r1", "why": "complete"})
    Closing(run='r1', why='complete')
    >>> read("close", {"protocol": 1, "run": "r1"})
    Traceback (most recent call last):
    ...
    fedperi.protocol.fields.Refused: the coordinator uses version 1 of the protocol, and this side version 4: ...
    """
    if kind not in KINDS:
        raise Refused(f"{sender} sent a message of the unknown kind {shown(kind)}; known: {', '.join(KINDS)}")
    fields = Fields(record, sender, kind)
    run = fields.text("run", MAX_NAME)
    if not is_run(run):  # not repeated: its reader is a person at a terminal
        fields.wrong(f"has a 'run' that is not {RUN_RULE}")
    if kind == "hello":
        return fields.done(Hello(run, fields.text("version", MAX_NAME)))
    if kind == "close":
        return fields.done(Closing(run, fields.text("why", MAX_WHY)))
    if kind == "state":
        return fields.done(Stating(run, fields.columns("columns")))
    if kind == "open":
        return fields.done(_read_opening(fields, run))
    if kind == "begin":
        return fields.done(Beginning(run, fields.text("worker", MAX_NAME), fields.columns("columns")))
    if kind == "step":
        return fields.done(read_step_request(fields, run))
    return fields.done(Asking(run, fields.integer("number", 0, 1 << 31), read_questions(fields, p)))


def write_card(card: Card) -> Record:
    """Write a site's reply to ``hello``."""
    return {
        "protocol": PROTOCOL,
        "version": card.version,
        "site": card.site,
        "columns": _columns_text(card.columns),
        "promise": as_json(card.promise),
        "data": card.data,
        "penalty": float(card.penalty),
        "bootstrap": int(card.bootstrap),
        "channel": card.channel,
    }


def read_card(record: Mapping[str, Any], sender: str) -> Card:
    """Read a site's reply to ``hello``.

    Examples
    --------
    >>> read_card(write_card(Card("north", (Column("age", "continuous"),))), "node 1").columns
    (Column(name='age', kind='continuous', levels=None, bounds=None),)
    >>> read_card({"protocol": 4, "refused": "not today"}, "node 1")
    Traceback (most recent call last):
    ...
    fedperi.protocol.fields.Refused: node 1 refused: not today
    """
    fields = Fields(record, sender, "hello")
    version, site = fields.text("version", MAX_NAME), fields.name("site")
    columns, promise = fields.columns("columns"), fields.privacy("promise")
    data, penalty = fields.choice("data", DATA[1:]), fields.number("penalty")
    bootstrap, channel = bool(fields.integer("bootstrap", 0, 1)), fields.choice("channel", CHANNELS)
    return fields.done(Card(site, columns, promise, version, data, penalty, bootstrap, channel))


def write_statement(text: str) -> Record:
    """Write a site's reply to ``state``."""
    return {"protocol": PROTOCOL, "statement": text}


def read_statement(record: Mapping[str, Any], sender: str) -> str:
    """Read a site's reply to ``state``: a text, which `fedperi.privacy.statement` reads strictly.

    Examples
    --------
    >>> read_statement(write_statement("{}"), "site 'north'")
    '{}'
    """
    fields = Fields(record, sender, "state")
    return fields.done(fields.document("statement", LONGEST_STATEMENT))


def write_welcome(welcome: Welcome, answers: Answers | None = None) -> Record:
    """Write a site's reply to ``open`` or ``begin``, with its answers if questions came along."""
    told: Record = {
        "protocol": PROTOCOL,
        "site": welcome.site,
        "names": as_json(welcome.names),
        "n": float(welcome.n),
        "targets": as_json(welcome.targets),
        "privacy": as_json(welcome.privacy),
    }
    return told if answers is None else told | write_answers(answers)


def read_welcome(
    record: Mapping[str, Any], sender: str, names: Sequence[str], questions: Sequence[Question] = ()
) -> tuple[Welcome, Answers | None]:
    """Read a site's reply to ``open`` or ``begin``: it must be about the variables of the run, in their order.

    Examples
    --------
    >>> welcome = Welcome("north", ("a", "b"), 100.0, ("a",))
    >>> read_welcome(write_welcome(welcome), "site 'north'", ["a", "b"]) == (welcome, None)
    True
    """
    fields = Fields(record, sender, "open")
    if fields.names("names") != tuple(names):
        fields.wrong("lists other variables than those of the run")
    n = fields.number("n")
    if n <= 0:
        fields.wrong(f"says that it has {n:g} rows")
    targets = fields.names("targets")
    strange = [name for name in targets or () if name not in names]
    if strange:
        fields.wrong(f"declares the target {shown(strange[0])}, which is not a variable of the run")
    site = fields.name("site")
    rows: float = int(n) if n.is_integer() else n
    welcome = Welcome(site, tuple(names), rows, targets, fields.privacy("privacy"))
    return fields.done((welcome, answers_in(fields, questions) if questions else None))


def write_farewell() -> Record:
    """Write a site's reply to ``close``: nothing that a result needs."""
    return {"protocol": PROTOCOL}


def size(record: Mapping[str, Any]) -> int:
    """Return the size of a message, in bytes, without what a transport adds.

    Examples
    --------
    >>> size({"protocol": 1, "x": np.zeros(3)})
    41
    """
    total = 0
    for key, value in record.items():
        length = value.nbytes if isinstance(value, np.ndarray) else len(value.encode()) if isinstance(value, str) else 8
        total += len(key) + length
    return total


def _read_opening(fields: Fields, run: str) -> Opening:
    masking, local = fields.choice("masking", MASKINGS), fields.choice("local", ("ges", "pc"))
    alpha, penalty = fields.number("alpha"), fields.number("penalty")
    if not 0 < alpha < 1:
        fields.wrong("has an 'alpha' that does not lie between 0 and 1")
    if penalty < 0:
        fields.wrong("has a 'penalty' below 0")
    seed = fields.integer("resample", -1, (1 << 63) - 1)
    settings = Settings(masking, local, alpha, penalty, None if seed < 0 else seed)
    columns, data = fields.columns("columns"), fields.choice("data", DATA)
    number = fields.integer("number", 0, 1 << 31)
    return Opening(run, settings, columns, data, read_questions(fields, len(columns)), number)


def _columns_text(columns: Sequence[Column]) -> str:
    return as_json([asdict(column) for column in columns])
