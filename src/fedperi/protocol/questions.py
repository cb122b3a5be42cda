"""Write questions and answers into messages, and read them without trust in the sender."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..strict import write_json
from .fields import MAX_NUMBERS, PROTOCOL, Fields
from .messages import Families, Floats, Orientations, Question


@dataclass(frozen=True, eq=False)
class Answers:
    """A site's reply to questions: one array per question, and its privacy after these answers."""

    arrays: list[Floats]
    privacy: dict[str, Any] | None = None


def write_questions(questions: Sequence[Question]) -> dict[str, Any]:
    """Write questions as named values.

    Examples
    --------
    >>> one = Families(np.array([0]), np.empty((1, 0), int), np.array([[1]]))
    >>> sorted(write_questions([one]))
    ['count', 'fixed_0', 'free_0', 'kind_0', 'nodes_0']
    """
    record: dict[str, Any] = {"count": len(questions)}
    for at, question in enumerate(questions):
        record[f"kind_{at}"] = "families" if isinstance(question, Families) else "orientations"
        for name, array in question.arrays().items():
            record[f"{name}_{at}"] = array.astype(np.uint8 if array.dtype == bool else np.int64)
    return record


def read_questions(fields: Fields, p: int) -> tuple[Question, ...]:
    """Read questions about p variables; refuse those that a site may not answer, and too many numbers at once."""
    questions: list[Question] = []
    numbers = 0
    for at in range(fields.integer("count", 0, 10_000)):
        question = _read_question(fields, at)
        try:
            question.check(p)
        except InputError as error:
            fields.wrong(f"cannot be answered: {error}")
        numbers += question.answers
        if numbers > MAX_NUMBERS:
            fields.wrong(f"asks for more than {MAX_NUMBERS} numbers at once")
        questions.append(question)
    return tuple(questions)


def _read_question(fields: Fields, at: int) -> Question:
    if fields.choice(f"kind_{at}", ("families", "orientations")) == "families":
        return Families(*(fields.array(f"{name}_{at}", "i") for name in ("nodes", "fixed", "free")))
    dag = fields.array(f"dag_{at}", "u")
    if (dag > 1).any():
        fields.wrong("holds a graph that is not a matrix of zeros and ones")
    return Orientations(dag.astype(bool), fields.array(f"nodes_{at}", "i"), fields.array(f"marks_{at}", "i"))


def write_answers(answers: Answers) -> dict[str, Any]:
    """Write a site's reply to ``ask``."""
    arrays = {f"answer_{at}": np.ascontiguousarray(one, np.float64) for at, one in enumerate(answers.arrays)}
    return {"protocol": PROTOCOL, "told": write_json(answers.privacy), **arrays}


def read_answers(record: Mapping[str, Any], sender: str, questions: Sequence[Question]) -> Answers:
    """Read a site's reply to ``ask``: one number for each thing asked, in the shape of the question.

    A regret may be infinite: the site has too few rows to judge the set. All other numbers must be finite.

    Examples
    --------
    >>> one = Families(np.array([0]), np.empty((1, 0), int), np.array([[1]]))
    >>> read_answers(write_answers(Answers([np.array([[0.0, 2.5]])])), "site 'north'", [one]).arrays
    [array([[0. , 2.5]])]
    """
    fields = Fields(record, sender, "ask")
    return fields.done(answers_in(fields, questions))


def answers_in(fields: Fields, questions: Sequence[Question]) -> Answers:
    """Take the answers out of a message, which may hold other values, too."""
    out = []
    for at, question in enumerate(questions):
        array = fields.array(f"answer_{at}", "f")
        if array.shape != question.shape:
            fields.wrong(f"has an answer of shape {array.shape} to a question of shape {question.shape}")
        infinite = isinstance(question, Families) & (array == np.inf)
        if not (np.isfinite(array) | infinite).all():
            fields.wrong("has an answer that is not a finite number")
        out.append(array)
    return Answers(out, fields.privacy("told"))
