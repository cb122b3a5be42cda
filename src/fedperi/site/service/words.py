"""What a site says to its own people: in the log, before it sends, and in a dry run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...protocol.messages import Families, Question

IN_THE_LOG = "its own log says why (reasons that may name values of a table are not sent)"


def asked_words(questions: Iterable[Question]) -> str:
    """Say what questions ask for.

    Examples
    --------
    >>> asked_words([Families(np.array([0]), np.empty((1, 0), int), np.array([[1, 2]]))])
    '4 regrets of candidate parent sets'
    """
    counts = {True: 0, False: 0}
    for question in questions:
        counts[isinstance(question, Families)] += question.answers
    parts = [f"{counts[True]} regrets of candidate parent sets"] if counts[True] else []
    parts += [f"{counts[False]} numbers on directions of edges"] if counts[False] else []
    return " and ".join(parts) or "no numbers"


def sent_words(answer: Mapping[str, Any], known: Mapping[str, str]) -> str:
    """Say what the answer to a step holds.

    Examples
    --------
    >>> sent_words({"mean": np.zeros(4)}, {"mean": "means of the columns"})
    '4 numbers (means of the columns)'
    """
    parts = [f"{np.size(value)} numbers ({known[name]})" for name, value in answer.items()]
    return ", ".join(parts) or "no numbers"


def promise_words(promise: Mapping[str, Any]) -> str:
    """Say what a site promises.

    Examples
    --------
    >>> promise_words({"mechanism": "regret", "epsilon": 1.0, "delta": 1e-6})
    'that its answers keep epsilon 1, delta 1e-06 (noise on every answer)'
    """
    return (
        f"that its answers keep epsilon {promise['epsilon']:g}, delta {promise['delta']:g} "
        f"(noise on {'every answer' if promise['mechanism'] == 'regret' else 'its statistics'})"
    )
