"""Sentences for the people at a site: in the log, before something is sent, and in a dry run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...protocol.messages import Families, Question

IN_THE_LOG = "its own log says why (reasons that may name values of a table are not sent)"


def asked_words(questions: Sequence[Question]) -> str:
    """Say what questions ask for.

    Examples
    --------
    >>> asked_words([Families(np.array([0]), np.empty((1, 0), int), np.array([[1, 2]]))])
    '4 regrets of candidate parent sets'
    """
    regrets = sum(question.answers for question in questions if isinstance(question, Families))
    others = sum(question.answers for question in questions) - regrets
    parts = [f"{regrets} regrets of candidate parent sets"] if regrets else []
    parts += [f"{others} numbers on directions of edges"] if others else []
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
