"""The protocol between coordinator and sites: what each message holds, and what is refused.

There are seven messages, each with one reply. A transport carries them, and knows nothing else of a run:

=========  ==============================================  ===========================================================
message    the coordinator says                            the site replies
=========  ==============================================  ===========================================================
``hello``  its version                                     its version, name, how it takes its columns, what it allows
``state``  the columns agreed on                           its statement: a release, or an exact summary. Methods that
                                                           ask no questions need nothing else
``open``   the settings of a run, the columns agreed on,   a `Welcome`: rows, declared targets, privacy; and its
           and perhaps the first questions                 answers, if there are questions
``ask``    questions about candidate parents, directions   one number for each thing asked, and its privacy so far
``begin``  the name of a method without regrets, columns   a `Welcome`
``step``   a step of that method: values and arrays        the arrays that the site's half of the method declares
``close``  that the run is over                            an empty message, which nobody needs
=========  ==============================================  ===========================================================

Each site decides how its rows are read, bounded, binned and encoded: no message can change it. The columns in ``open``
and ``begin`` only repeat those of the cards, so that a site notices if it was restarted with other options.

Instead of any reply a site may send a refusal with its reason. Instead of a statement it may reply that its owner has
not decided yet (`pending`): the coordinator then asks again later. Any other message, on either side, raises an
`InputError` that names the sender, and nothing is computed from it. No message holds code or pickled objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..names import MAX_NAME, plain, visible
from ..option_values import DATA
from ..scores.masking import MASKINGS
from ..strict import write_json
from ..tables.schema import Column
from .fields import PROTOCOL, Fields, Refused, shown
from .messages import Question, Settings, Welcome, is_run
from .policy import CHANNEL_WORDS
from .questions import Answers, answers_in, read_questions, write_answers, write_questions
from .requests import Asking, Card, Closing, Hello, Message, Opening, Stating
from .steps import Beginning, StepRequest, read_step_request, write_step_request

KINDS = ("hello", "state", "open", "ask", "begin", "step", "close")

LONGEST_STATEMENT = 1 << 25
"""Most characters of a statement: 1,000 columns have 500,000 covariances."""

MAX_WHY = 1000
"""Most characters of the reason why a run ended."""

RUN_RULE = "1 to 40 letters, digits, dots, underscores and hyphens"

Record = dict[str, NDArray[Any] | str | int | float | bool]


def refusal(reason: str) -> Record:
    """Write a refusal. The reason is changed to what the other side accepts: short, in plain characters.

    Examples
    --------
    >>> refusal("this site answers no bootstrap")
    {'protocol': 4, 'refused': 'this site answers no bootstrap'}
    """
    text = "".join(c if plain(c) else " " for c in reason)
    return {"protocol": PROTOCOL, "refused": text[:2000] or "no reason was given"}


def pending() -> Record:
    """Write that the site's owner has not decided yet, always in the same words, so that they reveal nothing else.

    Examples
    --------
    >>> read_statement(pending(), "site 'north'")
    Traceback (most recent call last):
    ...
    fedperi.protocol.fields.Pending: site 'north' waits: its owner has not decided yet
    """
    return {"protocol": PROTOCOL, "pending": "its owner has not decided yet"}


def write(message: Message) -> Record:
    """Write a message of the coordinator.

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
    if isinstance(message, StepRequest):
        return record | write_step_request(message)
    if isinstance(message, Beginning):
        record |= {"worker": message.worker}
    return record | {"columns": _columns_text(message.columns)}


def read(kind: str, record: Mapping[str, Any], sender: str = "the coordinator", p: int = 0) -> Any:
    """Read a message of the coordinator, at a site; `p` is the number of variables of the run, for ``ask``.

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
    if not is_run(run):  # the name is not repeated: it could mislead the person who reads this
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
        "promise": write_json(card.promise),
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
    bootstrap, channel = bool(fields.integer("bootstrap", 0, 1)), fields.choice("channel", tuple(CHANNEL_WORDS))
    return fields.done(Card(site, columns, promise, version, data, penalty, bootstrap, channel))


def write_statement(text: str) -> Record:
    """Write a site's reply to ``state``."""
    return {"protocol": PROTOCOL, "statement": text}


def read_statement(record: Mapping[str, Any], sender: str) -> str:
    """Read a site's reply to ``state``: a text that `fedperi.privacy.statement` will check.

    Examples
    --------
    >>> read_statement(write_statement("{}"), "site 'north'")
    '{}'
    """
    fields = Fields(record, sender, "state")
    return fields.done(fields.document("statement", LONGEST_STATEMENT))


def write_welcome(welcome: Welcome, answers: Answers | None = None) -> Record:
    """Write a site's reply to ``open`` or ``begin``, with its answers if the message had questions."""
    record: Record = {
        "protocol": PROTOCOL,
        "site": welcome.site,
        "names": write_json(welcome.names),
        "n": float(welcome.n),
        "targets": write_json(welcome.targets),
        "privacy": write_json(welcome.privacy),
    }
    return record if answers is None else record | write_answers(answers)


def read_welcome(
    record: Mapping[str, Any], sender: str, names: Sequence[str], questions: Sequence[Question] = ()
) -> tuple[Welcome, Answers | None]:
    """Read a site's reply to ``open`` or ``begin``; it must list the variables of the run in their order.

    Examples
    --------
    >>> welcome = Welcome("north", ("a", "b"), 100.0, ("a",))
    >>> read_welcome(write_welcome(welcome), "site 'north'", ["a", "b"]) == (welcome, None)
    True
    """
    fields = Fields(record, sender, "open")
    if fields.names("names") != tuple(names):
        fields.wrong("does not list the variables of the run in their order")
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
    """Write a site's reply to ``close``: an empty message."""
    return {"protocol": PROTOCOL}


def size(record: Mapping[str, Any]) -> int:
    """Return the size of a message in bytes, without the overhead of a transport.

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
    return write_json([asdict(column) for column in columns])
