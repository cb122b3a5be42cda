"""Write docs/reference/wire-format.md from the code that reads messages: ``python docs/site/wire.py``.

Every message is written by its own writer and read by its own reader, and what the reader takes is noted, with its
limits. So the page cannot say anything else than what is checked. A field without a meaning below is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fedperi.protocol import fields as limits
from fedperi.protocol import wire
from fedperi.protocol.fields import Fields
from fedperi.protocol.messages import Families, Orientations, Settings, Welcome
from fedperi.protocol.questions import Answers, read_answers, write_answers
from fedperi.protocol.requests import Asking, Card, Closing, Hello, Opening, Stating
from fedperi.protocol.steps import Beginning, StepRequest, read_step_reply, write_step_reply
from fedperi.tables.schema import Column
from fedperi.transports.flower import guard, records
from fedperi.transports.flower.inner import messages, superlink

PAGE = Path(__file__).parents[1] / "reference" / "wire-format.md"

Row = tuple[str, str]

MEANING = {
    "protocol": "version of the protocol; another one is refused",
    "run": "name of the run",
    "version": "version of fedperi, for messages to people",
    "site": "the site's name; it must be that of its key",
    "columns": "columns as this side takes them: name, kind, declared levels and bounds",
    "promise": "what the site promises about privacy, or null",
    "data": "how columns are taken",
    "penalty": "multiplies the price of an edge",
    "bootstrap": "whether rows may be resampled",
    "channel": "what the site's owner allows",
    "statement": "a release or an exact summary, as `fedperi release` writes it, signed with the site's key",
    "masking": "how a site is judged",
    "local": "how a site learns alone",
    "alpha": "level of tests",
    "resample": "seed of a bootstrap draw; -1 is none",
    "number": "of the round or step, for the site's log",
    "count": "how many questions follow; N counts them from 0",
    "kind_N": "kind of a question",
    "nodes_N": "variables that are asked about",
    "fixed_N": "families: variables that are in the parent set",
    "free_N": "families: variables of which every subset is asked",
    "dag_N": "orientations: a graph as a matrix of 0 and 1",
    "marks_N": "orientations: for each variable, what it is to the node: 0 not joined, 1 parent, 2 line, 3 child",
    "answer_N": "one number for each thing asked, in the order of the question",
    "told": "privacy and ledger after these answers",
    "names": "variables of the run, in their order",
    "n": "number of rows, with noise where a promise is made",
    "targets": "variables that the site declares to have set, or null",
    "privacy": "what was promised, and the ledger",
    "worker": "name of a method without privacy",
    "kind": "name of the step",
    "in_NAME": "values of the step",
    "out_NAME": "numbers that the step returns",
    "why": "`complete`, or why the run ended",
}

COLUMN = (Column("age", "continuous", None, (0.0, 120.0)),)
PAIR = (*COLUMN, Column("sex", "categorical", ("f", "m")))
ASKED = (
    Families(np.array([0]), np.empty((1, 0), int), np.array([[1]])),
    Orientations(np.array([[False, True], [False, False]]), np.array([1]), np.array([[0, 0]])),
)
ANSWERED = Answers([np.zeros((1, 2)), np.zeros(ASKED[1].answers)])

REQUESTS: dict[str, Any] = {
    "hello": Hello("r1"),
    "state": Stating("r1", PAIR),
    "open": Opening("r1", Settings("adaptive"), PAIR, "mixed", ASKED),
    "ask": Asking("r1", 2, ASKED),
    "begin": Beginning("r1", "feddag", PAIR),
    "step": StepRequest("r1", 1, "update", {"rho": 0.5}),
    "close": Closing("r1"),
}

WELCOME = Welcome("north", ("age", "sex"), 200.0)
REPLIES: dict[str, Callable[[], object]] = {
    "hello": lambda: wire.read_card(wire.write_card(Card("north", PAIR)), "x"),
    "state": lambda: wire.read_statement(wire.write_statement("{}"), "x"),
    "open": lambda: wire.read_welcome(wire.write_welcome(WELCOME, ANSWERED), "x", WELCOME.names, ASKED),
    "ask": lambda: read_answers(write_answers(ANSWERED), "x", ASKED),
    "begin": lambda: wire.read_welcome(wire.write_welcome(WELCOME), "x", WELCOME.names),
    "step": lambda: read_step_reply(write_step_reply({"mean": np.zeros(2)}), "x", ["mean"]),
    "close": lambda: Fields(wire.write_farewell(), "x", "close").done(None),
}

TYPES: dict[str, Callable[..., str]] = {
    "text": lambda limit: f"text, 1 to {limit:,} plain characters",
    "document": lambda limit: f"text, 1 to {limit:,} characters",
    "name": lambda: f"name, 1 to {limits.MAX_NAME} characters that show",
    "integer": lambda low, high: f"whole number, {low:,} to {high:,}",
    "number": lambda: "finite number",
    "choice": lambda legal: "one of " + ", ".join(f"`{word}`" for word in legal),
    "array": lambda kind: f"array of {np.dtype({'i': np.int64, 'f': np.float64, 'u': np.uint8}[kind]).name}",
    "value": lambda: "number, truth value, short text, or array of numbers",
    "privacy": lambda: f"named values in JSON, at most {limits.MAX_TEXT:,} characters",
    "names": lambda: f"list of at most {limits.MAX_VARIABLES:,} names in JSON, or null",
    "columns": lambda: f"list of 1 to {limits.MAX_VARIABLES:,} columns in JSON",
}


@contextmanager
def noted() -> Iterator[list[Row]]:
    """Note what every reader takes out of a message, with its limits; not what these calls use themselves."""
    rows: list[Row] = []
    within = [0]
    originals = {name: getattr(Fields, name) for name in TYPES}

    def noting(name: str) -> Any:
        def take(self: Fields, key: str, *more: Any) -> Any:
            if not within[0]:
                rows.append((_general(key), TYPES[name](*more)))
            within[0] += 1
            try:
                return originals[name](self, key, *more)
            finally:
                within[0] -= 1

        return take

    try:
        for name in TYPES:
            setattr(Fields, name, noting(name))
        yield rows
    finally:
        for name, original in originals.items():
            setattr(Fields, name, original)


def _general(key: str) -> str:
    key = re.sub(r"^(in|out)_.*", r"\1_NAME", key)
    return re.sub(r"_\d+$", "_N", key)


def rows_of(read: Callable[[], object]) -> list[Row]:
    """Return the fields that a reader takes, each once."""
    with noted() as rows:
        read()
    return list(dict.fromkeys(rows))


def table(rows: list[Row]) -> str:
    """Write fields as a table; the version, which every message has, is left out."""
    lines = ["| field | type | meaning |", "|---|---|---|"]
    for key, kind in rows:
        if key == "protocol":
            continue
        lines.append(f"| `{key}` | {kind} | {MEANING[key]} |")
    return "\n".join(lines) if len(lines) > 2 else "No further field."


def described() -> dict[str, tuple[str, str]]:
    """What each message and its reply are for: the table in the docstring of `fedperi.protocol.wire`."""
    found: dict[str, tuple[str, str]] = {}
    lines = (wire.__doc__ or "").splitlines()
    borders = [at for at, line in enumerate(lines) if line.startswith("=========")]
    last = ""
    for line in lines[borders[1] + 1 : borders[2]]:
        said, replied = line[11:59].strip(), line[59:].strip()
        kind = re.match(r"``(\w+)``", line)
        last = kind[1] if kind else last
        before = found.get(last, ("", ""))
        found[last] = (f"{before[0]} {said}".strip(), f"{before[1]} {replied}".strip())
    return found


def page() -> str:
    """Return the whole page."""
    words = described()
    parts = [HEAD.format(**_numbers())]
    for kind in wire.KINDS:
        request = REQUESTS[kind]
        said, replied = words[kind]
        asked = rows_of(lambda kind=kind, request=request: wire.read(kind, wire.write(request), "x", 2))
        parts += [f"## `{kind}`", f"The coordinator says: {said}.", table(asked)]
        parts += [f"The site replies: {replied}.", table(rows_of(REPLIES[kind]))]
    return "\n\n".join(parts).rstrip() + "\n"


def _numbers() -> dict[str, object]:
    return {
        "protocol": limits.PROTOCOL,
        "numbers": f"{limits.MAX_NUMBERS:,}",
        "whole": f"{messages.WHOLE >> 20} MiB",
        "piece": f"{records.PIECE >> 20} MiB",
        "body": f"{guard.MAX_BODY >> 20} MiB",
        "strange": f"{guard.MAX_STRANGE >> 10} KiB",
        "held": f"{guard.MAX_HELD >> 20} MiB",
        "clocks": superlink.CLOCKS,
        "fleet": guard.FOR_SITES,
        "values": records.VALUES,
        "arrays": records.ARRAYS,
        "block": records.BLOCK,
        "rule": wire.RUN_RULE,
    }


HEAD = """\
# Wire format

What travels between coordinator and sites, for people who inspect traffic, write firewall rules, or review the
code. This page is generated from the code that reads messages (`python docs/site/wire.py`); a test compares the
two. Version {protocol} of the protocol.

## How a message travels

1. TLS over TCP, one port at the coordinator (9092). Sites connect; the coordinator never does. HTTP/1.1, `POST`,
   bodies in Protocol Buffers, paths below `{fleet}`. Everything else is answered with 403 for other machines.
2. Every request of a site carries its public key, the time, and a signature of the time with its private key
   (ECDSA). Clocks may differ by {clocks} seconds.
3. A site asks for messages (`pull-messages`) four times a second in a run, and every two seconds when it is idle. The
   answer holds the whole message, and the reply is one request (`push-messages`). So a message costs one request,
   the least that an exchange can have. Only messages above {whole} travel in parts: then each part is a request of its
   own (`pull-object`, `push-object`), and their arrival is confirmed. `send-node-heartbeat` tells every 3 seconds, on
   a connection of its own, that the site is alive.
4. A message is a set of records. The record `{values}` holds plain values: texts, whole numbers, numbers, truth
   values. If there are arrays, `{arrays}` in it lists their names, types and shapes in JSON, and `{block}` holds
   their bytes one after the other, little-endian, rows first; what exceeds {piece} goes on in records `more0`,
   `more1`, ... A message is never code, and nothing is unpickled.

Limits: {strange} per request without a key that has connected before, {body} with one, {held} for all requests that
are under way; {numbers} numbers per message.

## All messages

Each has `protocol` ({protocol}), and from the coordinator also `run`: {rule}. A field that is not listed is
refused, and so is one that is missing, too long, or of another type. In place of any reply a site may send
`refused`: a text of at most 2,000 characters, the reason. The site decides how its rows are read; columns in
messages repeat what sites have said, and are compared, not obeyed."""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
