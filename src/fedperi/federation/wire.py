"""The protocol between coordinator and sites: what each message holds, as plain values and arrays, and what is refused.

Four messages, each with one reply; a transport carries them and knows nothing else:

=========  ===============================================  ==========================================================
message    the coordinator says                             the site replies
=========  ===============================================  ==========================================================
``hello``  its version                                      its version, name, columns as declared, its privacy promise
``open``   the settings of a run, the columns agreed on     a `Welcome`: rows, declared targets, privacy
``ask``    questions about candidate parents or directions  one number for each thing asked
``close``  that the run is over                             what its privacy ledger says by now
=========  ===============================================  ==========================================================

Instead of any reply a site may send a refusal with its reason. Whatever does not fit these descriptions, on either
side, is an `InputError` that names the sender; nothing is computed from it. No message holds code or pickled objects.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..data.schema import Column
from ..errors import InputError
from .fields import MAX_NAME, MAX_NUMBERS, PROTOCOL, Fields, Refused, plain, shown
from .masking import MASKINGS
from .messages import MAX_SET, Families, Floats, Orientations, Question, Settings, Welcome

KINDS = ("hello", "open", "ask", "close")

DATA = ("auto", "linear", "nonlinear", "discrete", "mixed")

Value = NDArray[Any] | str | int | float | bool
Record = dict[str, Value]


@dataclass(frozen=True)
class Hello:
    """The coordinator's first word; `run` names the run, here and in all that follows."""

    run: str
    version: str = __version__


@dataclass(frozen=True)
class Card:
    """Who a site is: nothing but what is declared, so that sending it costs no privacy.

    Levels are those that a schema declares. Levels found in a table are values of it, and are not sent.
    """

    site: str
    columns: tuple[Column, ...]
    promise: dict[str, Any] | None = None
    version: str = __version__


@dataclass(frozen=True)
class Opening:
    """The beginning of a run: settings, the columns as all sites take them, and the type of data."""

    run: str
    settings: Settings
    columns: tuple[Column, ...]
    data: str = "auto"


@dataclass(frozen=True)
class Asking:
    """A round of questions; `number` counts rounds, for the site's log."""

    run: str
    number: int
    questions: tuple[Question, ...]

    @property
    def answers(self) -> int:
        """Numbers in the reply."""
        return sum(question.answers for question in self.questions)


@dataclass(frozen=True)
class Closing:
    """The end of a run."""

    run: str


def refusal(reason: str) -> Record:
    """Write a refusal; long or odd texts are cut to what the other side will read.

    Examples
    --------
    >>> refusal("this site answers no bootstrap")
    {'protocol': 1, 'refused': 'this site answers no bootstrap'}
    """
    text = "".join(c if plain(c) else " " for c in reason)
    return {"protocol": PROTOCOL, "refused": text[:2000] or "no reason was given"}


def write(message: Hello | Opening | Asking | Closing) -> Record:
    """Write what the coordinator says.

    Examples
    --------
    >>> write(Closing("r1"))
    {'protocol': 1, 'run': 'r1'}
    """
    record: Record = {"protocol": PROTOCOL, "run": message.run}
    if isinstance(message, Hello):
        return record | {"version": message.version}
    if isinstance(message, Opening):
        s = message.settings
        resample = -1 if s.resample is None else s.resample
        record |= {"masking": s.masking, "local": s.local, "alpha": float(s.alpha), "penalty": float(s.penalty)}
        return record | {"resample": resample, "columns": _columns_text(message.columns), "data": message.data}
    if isinstance(message, Asking):
        record |= {"number": message.number, "count": len(message.questions)}
        for at, question in enumerate(message.questions):
            record[f"kind_{at}"] = "families" if isinstance(question, Families) else "orientations"
            for name, array in vars(question).items():
                record[f"{name}_{at}"] = array.astype(np.uint8 if array.dtype == bool else np.int64)
    return record


def read(kind: str, record: Mapping[str, Any], sender: str = "the coordinator", p: int = 0) -> Any:
    """Read what the coordinator says, at a site; `p` is the number of variables of the run, for ``ask``.

    Examples
    --------
    >>> read("close", {"protocol": 1, "run": "r1"})
    Closing(run='r1')
    >>> read("close", {"protocol": 2, "run": "r1"})
    Traceback (most recent call last):
    ...
    fedperi.federation.fields.Refused: the coordinator speaks version 2 of the protocol, and this side version 1: ...
    """
    if kind not in KINDS:
        raise Refused(f"{sender} sent a message of the unknown kind {shown(kind)}; known: {', '.join(KINDS)}")
    fields = Fields(record, sender, kind)
    run = fields.text("run", MAX_NAME)
    if kind == "hello":
        return fields.done(Hello(run, fields.text("version", MAX_NAME)))
    if kind == "close":
        return fields.done(Closing(run))
    if kind == "open":
        return fields.done(_read_opening(fields, run))
    number, count = fields.integer("number", 0, 1 << 31), fields.integer("count", 0, 10_000)
    return fields.done(Asking(run, number, _read_questions(fields, count, p)))


def write_card(card: Card) -> Record:
    """Write a site's reply to ``hello``."""
    return {
        "protocol": PROTOCOL,
        "version": card.version,
        "site": card.site,
        "columns": _columns_text(card.columns),
        "promise": _json(card.promise),
    }


def read_card(record: Mapping[str, Any], sender: str) -> Card:
    """Read a site's reply to ``hello``.

    Examples
    --------
    >>> read_card(write_card(Card("north", (Column("age", "continuous"),))), "node 1").columns
    (Column(name='age', kind='continuous', levels=None, bounds=None),)
    >>> read_card({"protocol": 1, "refused": "not today"}, "node 1")
    Traceback (most recent call last):
    ...
    fedperi.federation.fields.Refused: node 1 refused: not today
    """
    fields = Fields(record, sender, "hello")
    version, site = fields.text("version", MAX_NAME), fields.text("site", MAX_NAME)
    return fields.done(Card(site, fields.columns("columns"), fields.mapping("promise"), version))


def write_welcome(welcome: Welcome) -> Record:
    """Write a site's reply to ``open``."""
    return {
        "protocol": PROTOCOL,
        "site": welcome.site,
        "names": _json(welcome.names),
        "n": float(welcome.n),
        "targets": _json(welcome.targets),
        "privacy": _json(welcome.privacy),
    }


def read_welcome(record: Mapping[str, Any], sender: str, names: Sequence[str]) -> Welcome:
    """Read a site's reply to ``open``: it must be about the variables of the run, in their order.

    Examples
    --------
    >>> welcome = Welcome("north", ("a", "b"), 100.0, ("a",))
    >>> read_welcome(write_welcome(welcome), "site 'north'", ["a", "b"]) == welcome
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
        fields.wrong(f"declares the target {shown(strange[0])}, which is no variable of the run")
    site = fields.text("site", MAX_NAME)
    rows: float = int(n) if n.is_integer() else n
    return fields.done(Welcome(site, tuple(names), rows, targets, fields.mapping("privacy")))


def write_answers(answers: Sequence[Floats]) -> Record:
    """Write a site's reply to ``ask``."""
    arrays: Record = {f"answer_{at}": np.ascontiguousarray(answer, np.float64) for at, answer in enumerate(answers)}
    return {"protocol": PROTOCOL, **arrays}


def read_answers(record: Mapping[str, Any], sender: str, questions: Sequence[Question]) -> list[Floats]:
    """Read a site's reply to ``ask``: one number for each thing asked, in the shape of the question.

    A regret may be infinite (a set too large for the site's rows to judge); nothing else may.

    Examples
    --------
    >>> one = Families(np.array([0]), np.empty((1, 0), int), np.array([[1]]))
    >>> read_answers(write_answers([np.array([[0.0, 2.5]])]), "site 'north'", [one])
    [array([[0. , 2.5]])]
    """
    fields = Fields(record, sender, "ask")
    out = []
    for at, question in enumerate(questions):
        array = fields.array(f"answer_{at}", "f")
        whole = isinstance(question, Families)
        shape = (
            (len(question.nodes), 1 << question.free.shape[1])
            if isinstance(question, Families)
            else (question.answers,)
        )
        if array.shape != shape:
            fields.wrong(f"has an answer of shape {array.shape} to a question of shape {shape}")
        if np.isnan(array).any() or not (np.isfinite(array) | (whole & (array == np.inf))).all():
            fields.wrong("has an answer that is not a finite number")
        out.append(array)
    return fields.done(out)


def write_farewell(privacy: Mapping[str, Any] | None) -> Record:
    """Write a site's reply to ``close``."""
    return {"protocol": PROTOCOL, "privacy": _json(privacy)}


def read_farewell(record: Mapping[str, Any], sender: str) -> dict[str, Any] | None:
    """Read a site's reply to ``close``.

    Examples
    --------
    >>> read_farewell(write_farewell({"private": True}), "site 'north'")
    {'private': True}
    """
    fields = Fields(record, sender, "close")
    return fields.done(fields.mapping("privacy"))


def size(record: Mapping[str, Any]) -> int:
    """Return the size of a message, in bytes, but for what a transport adds.

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
    return Opening(run, settings, fields.columns("columns"), fields.choice("data", DATA))


def _read_questions(fields: Fields, count: int, p: int) -> tuple[Question, ...]:
    questions: list[Question] = []
    numbers = 0
    for at in range(count):
        question: Question
        if fields.choice(f"kind_{at}", ("families", "orientations")) == "families":
            nodes, fixed, free = (fields.array(f"{name}_{at}", "i") for name in ("nodes", "fixed", "free"))
            question = Families(nodes, fixed, free)
            if (nodes.ndim, fixed.ndim, free.ndim) != (1, 2, 2) or fixed.shape[1] + free.shape[1] > MAX_SET:
                fields.wrong(f"asks for sets of more than {MAX_SET} variables, or has a row too many")
        else:
            dag, nodes, marks = fields.array(f"dag_{at}", "u"), *(fields.array(f"{n}_{at}", "i") for n in _AT)
            if (dag > 1).any() or (dag.ndim, nodes.ndim, marks.ndim) != (2, 1, 2):
                fields.wrong("holds a graph that is no matrix of zeros and ones")
            question = Orientations(dag.astype(bool), nodes, marks)
        try:
            question.check(p)
        except InputError as error:
            fields.wrong(f"cannot be answered: {error}")
        numbers += question.answers
        if numbers > MAX_NUMBERS:
            fields.wrong(f"asks for more than {MAX_NUMBERS} numbers at once")
        questions.append(question)
    return tuple(questions)


_AT = ("nodes", "marks")


def _columns_text(columns: Sequence[Column]) -> str:
    return _json([asdict(column) for column in columns])


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=True)
