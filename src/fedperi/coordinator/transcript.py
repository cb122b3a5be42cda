"""Everything that was said in a run, in the order it was said; a run can be repeated from it without the sites."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..errors import InputError
from ..protocol.messages import Families, Floats, Question, Settings, Welcome
from .plausible import WIDEST

FORMAT, VERSION = "fedperi.transcript", 1


@dataclass
class Transcript:
    """Who took part, what they were told, and every round: the questions, and the answers of all sites to each.

    Examples
    --------
    >>> import fedperi as fp
    >>> result = fp.IPERI().fit(fp.simulate(3, clients=2, samples=100).sites)
    >>> len(result.transcript.rounds) == result.rounds
    True
    >>> again = fp.IPERI().fit(fp.Replay(result.transcript.to_json()))
    >>> again.graph == result.graph
    True
    """

    settings: Settings
    sites: tuple[Welcome, ...]
    rounds: list[tuple[list[Question], list[Floats]]] = field(default_factory=list)

    def to_json(self) -> str:
        """Write the transcript as JSON text."""
        record = {
            "format": FORMAT,
            "version": VERSION,
            "settings": asdict(self.settings),
            "sites": [asdict(site) for site in self.sites],
            "rounds": [
                {"questions": [_question(q) for q in questions], "answers": [a.tolist() for a in answers]}
                for questions, answers in self.rounds
            ],
        }
        return json.dumps(record)


class Replay:
    """A transport that answers from a transcript: the same run again, without the sites.

    Parameters
    ----------
    text : str
        What `Transcript.to_json` wrote.
    """

    def __init__(self, text: str) -> None:
        try:
            record = json.loads(text)
            if record["format"] != FORMAT or record["version"] != VERSION:
                raise InputError(f"this is no transcript of fedperi, version {VERSION}")
            self._settings = dict(record["settings"])
            self._sites = [
                Welcome(
                    s["site"],
                    tuple(s["names"]),
                    s["n"],
                    None if s["targets"] is None else tuple(s["targets"]),
                    s.get("privacy"),
                )
                for s in record["sites"]
            ]
            self._rounds = [
                (spoken["questions"], [np.array(answer, dtype=float) for answer in spoken["answers"]])
                for spoken in record["rounds"]
            ]
            if any(len(answer) != len(self._sites) for _, answers in self._rounds for answer in answers):
                raise ValueError("an answer of some site is missing")
        except InputError:
            raise
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise InputError("this is no transcript of fedperi: the text is damaged") from None
        self._next = 0

    def open(self, settings: Settings) -> list[Welcome]:
        """Begin at the first round again, and return who took part."""
        for name, value in asdict(settings).items():
            was = self._settings.get(name)
            if was != value:
                raise InputError(f"the transcript is of a run with {name}={was!r}, not {value!r}: repeat it as it was")
        self._next = 0
        return self._sites

    widest, counted, dropped = WIDEST, True, ()  # a transcript does not say how sites scored

    def close(self) -> None:
        """Do nothing: there is nobody to tell."""

    def privacy(self) -> list[dict[str, Any] | None]:
        """Return what the sites said about their privacy when the run was opened."""
        return [site.privacy for site in self._sites]

    def fingerprints(self) -> list[None]:
        """Return None for every site: a transcript holds no hash of a table."""
        return [None] * len(self._sites)

    def ask(self, questions: Sequence[Question]) -> list[list[Floats]]:
        """Answer the next round; it must be the one that was recorded."""
        recorded, answers = self._rounds[self._next] if self._next < len(self._rounds) else (None, [])
        if recorded != [_question(q) for q in questions]:
            raise InputError("the transcript does not hold this question: it belongs to a run with other settings")
        self._next += 1
        return [[answer[k] for answer in answers] for k in range(len(self._sites))]


def _question(question: Question) -> dict[str, Any]:
    kind = "families" if isinstance(question, Families) else "orientations"
    return {"kind": kind, **{name: array.tolist() for name, array in question.arrays().items()}}
