"""Records of a run: a transcript, from which it can be repeated, and a journal, from which it can be continued.

A *transcript* holds the rounds of one run in order, with the answers of all sites to each question. It is kept in
memory, and exported as JSON. A `Replay` answers from it without the sites.

A *journal* is the coordinator's memory on disk. It holds each answer as soon as it arrives, so that no site is asked
the same question twice. A coordinator that was stopped reads its journal and continues. So does one that lost a site
and repeats the search with the others: a question is identified by its content, not by its time.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import disk
from ..errors import InputError
from ..protocol.messages import Families, Floats, Question, Settings, Welcome, is_run, question_key
from ..protocol.questions import Answers
from .plausible import WIDEST

TRANSCRIPT, TRANSCRIPT_VERSION = "fedperi.transcript", 1
JOURNAL, JOURNAL_VERSION = "fedperi.journal", 2


@dataclass
class Transcript:
    """The settings of a run, the sites that took part, and all rounds: questions, and the answers of all sites.

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
            "format": TRANSCRIPT,
            "version": TRANSCRIPT_VERSION,
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

    Examples
    --------
    >>> import fedperi as fp
    >>> result = fp.PERI().fit(fp.simulate(3, clients=2, samples=100).sites)
    >>> fp.PERI().fit(fp.Replay(result.transcript.to_json())).graph == result.graph
    True
    """

    widest, counted, dropped = WIDEST, True, ()  # a transcript does not say how the sites computed their scores

    def __init__(self, text: str) -> None:
        with _report_damage("this is not a transcript of fedperi: the text is damaged"):
            record = json.loads(text)
            if (record["format"], record["version"]) != (TRANSCRIPT, TRANSCRIPT_VERSION):
                raise InputError(f"this is not a transcript of fedperi, version {TRANSCRIPT_VERSION}")
            self._settings = dict(record["settings"])
            self._sites = [_welcome(site) for site in record["sites"]]
            self._rounds = [
                (one["questions"], [np.array(answer, dtype=float) for answer in one["answers"]])
                for one in record["rounds"]
            ]
            if any(len(answer) != len(self._sites) for _, answers in self._rounds for answer in answers):
                raise ValueError("an answer of some site is missing")
        self._next = 0

    def open(self, settings: Settings) -> list[Welcome]:
        """Go back to the first round, and return the sites that took part."""
        for name, value in asdict(settings).items():
            was = self._settings.get(name)
            if was != value:
                raise InputError(f"the transcript is of a run with {name}={was!r}, not {value!r}: repeat it as it was")
        self._next = 0
        return self._sites

    def ask(self, questions: Sequence[Question]) -> list[list[Floats]]:
        """Answer the next round; raise if its questions are not those of the transcript."""
        recorded, answers = self._rounds[self._next] if self._next < len(self._rounds) else (None, [])
        if recorded != [_question(q) for q in questions]:
            raise InputError("the transcript does not hold this question: it belongs to a run with other settings")
        self._next += 1
        return [[answer[k] for answer in answers] for k in range(len(self._sites))]

    def close(self) -> None:
        """Do nothing: there are no sites."""

    def privacy(self) -> list[dict[str, Any] | None]:
        """Return what the sites said about their privacy when the run was opened."""
        return [site.privacy for site in self._sites]

    def fingerprints(self) -> list[None]:
        """Return None for every site: a transcript holds no hashes of tables."""
        return [None] * len(self._sites)


@dataclass
class Journal:
    """Answers by question and site, in memory and, with a path, on disk: one line of JSON per event.

    Parameters
    ----------
    path : Path, optional
        The file. It is continued if it exists.
    method : dict
        The method and its options. A journal of a run with other options is refused.

    Examples
    --------
    >>> import tempfile
    >>> from fedperi.protocol.messages import Families
    >>> question = Families(np.array([0]), np.empty((1, 0), int), np.array([[1]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     journal = Journal(Path(folder) / "journal.jsonl")
    ...     journal.answered("s", "north", [question], Answers([np.array([[0.0, np.inf]])]))
    ...     again = Journal(Path(folder) / "journal.jsonl")
    >>> again.run == journal.run, again.known("s", "north", question)
    (True, array([[ 0., inf]]))
    """

    path: Path | None = None
    method: dict[str, Any] = field(default_factory=dict)
    run: str = ""
    resumed: bool = False

    def __post_init__(self) -> None:
        self._answers: dict[tuple[str, str, str], Floats] = {}
        self._welcomes: dict[tuple[str, str], Welcome] = {}
        self._privacy: dict[tuple[str, str], dict[str, Any] | None] = {}
        self._lost: dict[str, str] = {}
        if self.path is not None and self.path.exists():
            self._read(self.path)
            self.resumed = True
        else:
            self.run = self.run or secrets.token_hex(6)

    def known(self, settings: str, site: str, question: Question) -> Floats | None:
        """Return a site's answer to a question, or None."""
        return self._answers.get((settings, site, question_key(question)))

    def answered(self, settings: str, site: str, questions: Sequence[Question], answers: Answers) -> None:
        """Remember a site's answers, and what it said with them about its privacy."""
        keys = [question_key(question) for question in questions]
        listed = [answer.tolist() for answer in answers.arrays]
        line = {"settings": settings, "site": site, "marks": keys, "answers": listed, "privacy": answers.privacy}
        self._append(line)
        for key, answer in zip(keys, answers.arrays, strict=True):
            self._answers[settings, site, key] = answer
        self._privacy[settings, site] = answers.privacy

    def privacy(self, settings: str, site: str) -> dict[str, Any] | None:
        """Return what a site said last about its privacy: with its last answers, or when the run was opened."""
        if (settings, site) in self._privacy:
            return self._privacy[settings, site]
        welcome = self.welcome(settings, site)
        return None if welcome is None else welcome.privacy

    def welcome(self, settings: str, site: str) -> Welcome | None:
        """Return a site's welcome to a run with these settings, or None."""
        return self._welcomes.get((settings, site))

    def sites(self, settings: str) -> list[str]:
        """Return the sites that have opened a run with these settings."""
        return [site for known, site in tuple(self._welcomes) if known == settings]

    def welcomed(self, settings: str, welcome: Welcome) -> None:
        """Remember a site's welcome."""
        self._append({"settings": settings, "welcome": asdict(welcome)})
        self._welcomes[settings, welcome.site] = welcome

    @property
    def lost(self) -> dict[str, str]:
        """The sites that dropped out, with the reasons."""
        return dict(self._lost)

    def lose(self, site: str, why: str) -> None:
        """Remember that a site has dropped out: a resumed run continues without it."""
        self._append({"lost": site, "why": why})
        self._lost[site] = why

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings with which the run was opened, in order: one, and one for every bootstrap draw."""
        return tuple(dict.fromkeys(settings for settings, _ in self._welcomes))

    def _append(self, line: dict[str, Any]) -> None:
        if self.path is None:
            return
        text = json.dumps(line) + "\n"
        if not self.path.exists():  # written with the first line, so that a failed start leaves no file
            header = {"format": JOURNAL, "version": JOURNAL_VERSION, "run": self.run, "method": self.method}
            text = json.dumps(header) + "\n" + text
        try:
            disk.append(self.path, text.encode())
        except OSError as error:
            raise InputError(f"the journal {str(self.path)!r} cannot be written: {error.strerror or error}") from None

    def _read(self, path: Path) -> None:
        try:
            with _report_damage(f"the journal {str(path)!r} is damaged; remove it to start again"):
                whole, _, cut = path.read_text(encoding="utf-8").rpartition("\n")
                header, *lines = (json.loads(line) for line in whole.split("\n"))
                self.run = self._checked(header, path)
                for line in lines:
                    self._enter(line)
            if cut:  # the coordinator was killed while it wrote this line: the line is dropped
                with path.open("r+b") as file:
                    file.truncate(len(whole.encode()) + 1)
        except OSError as error:
            raise InputError(f"the journal {str(path)!r} cannot be read: {error.strerror or error}") from None

    def _checked(self, header: dict[str, Any], path: Path) -> str:
        if (header["format"], header["version"]) != (JOURNAL, JOURNAL_VERSION):
            raise InputError(f"{str(path)!r} is not a journal of fedperi, version {JOURNAL_VERSION}")
        if header["method"] != self.method:
            raise InputError(
                f"the journal {str(path)!r} is of a run with other options; repeat these, or give another --journal"
            )
        if not is_run(header["run"]):
            raise ValueError("run")
        return str(header["run"])

    def _enter(self, line: dict[str, Any]) -> None:
        if "lost" in line:
            self._lost[line["lost"]] = line["why"]
        elif "welcome" in line:
            welcome = _welcome(line["welcome"])
            self._welcomes[line["settings"], welcome.site] = welcome
        else:
            for key, answer in zip(line["marks"], line["answers"], strict=True):
                self._answers[line["settings"], line["site"], key] = np.array(answer, dtype=np.float64)
            self._privacy[line["settings"], line["site"]] = line["privacy"]


def settings_key(settings: Settings) -> str:
    """Return a name for settings, which is the same in every process.

    Examples
    --------
    >>> settings_key(Settings("adaptive"))
    '["adaptive", "ges", 0.01, 1.0, null]'
    """
    return json.dumps(list(asdict(settings).values()))


def _welcome(values: dict[str, Any]) -> Welcome:
    """Read a welcome that was written by `dataclasses.asdict`."""
    import msgspec

    return msgspec.convert({**values, "targets": values["targets"]}, Welcome)  # the field is required, and may be null


def _question(question: Question) -> dict[str, Any]:
    kind = "families" if isinstance(question, Families) else "orientations"
    return {"kind": kind, **{name: array.tolist() for name, array in question.arrays().items()}}


@contextmanager
def _report_damage(message: str) -> Iterator[None]:
    """Replace all errors that damaged text can cause by one; an `InputError` says more, and is kept."""
    try:
        yield
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):  # msgspec's errors are ValueErrors
        raise InputError(message) from None
