"""The coordinator's memory on disk: every answer that a site has given, so that no site is asked the same thing twice.

A coordinator that was stopped, by whatever, reads its journal and goes on; so does one that lost a site and begins the
search again with those that are left. Questions are told apart by what they ask, not by when.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import disk
from ..errors import InputError
from ..protocol.messages import Floats, Question, Settings, Welcome, is_run, question_key
from ..protocol.questions import Answers

FORMAT, VERSION = "fedperi.journal", 2


@dataclass
class Journal:
    """Answers by question and site, in memory and, with a path, on disk: one line of JSON an event.

    Parameters
    ----------
    path : Path, optional
        The file. Made if it is not there, continued if it is.
    method : dict
        The method and its options: a journal of another run is refused.

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
            return
        self.run = secrets.token_hex(6)

    def known(self, settings: str, site: str, question: Question) -> Floats | None:
        """Return what a site has answered to a question, or None."""
        return self._answers.get((settings, site, question_key(question)))

    def answered(self, settings: str, site: str, questions: Sequence[Question], answers: Answers) -> None:
        """Remember what a site has answered, and what it told about its privacy after that."""
        marks = [question_key(question) for question in questions]
        listed = [answer.tolist() for answer in answers.arrays]
        line = {"settings": settings, "site": site, "marks": marks, "answers": listed, "privacy": answers.privacy}
        self._append(line)
        for one, answer in zip(marks, answers.arrays, strict=True):
            self._answers[settings, site, one] = answer
        self._privacy[settings, site] = answers.privacy

    def privacy(self, settings: str, site: str) -> dict[str, Any] | None:
        """Return what a site told last about its privacy: with its last answers, or when the run was opened."""
        if (settings, site) in self._privacy:
            return self._privacy[settings, site]
        welcome = self.welcome(settings, site)
        return None if welcome is None else welcome.privacy

    def welcome(self, settings: str, site: str) -> Welcome | None:
        """Return what a site said when the run was opened with these settings, or None."""
        return self._welcomes.get((settings, site))

    def welcomed(self, settings: str, welcome: Welcome) -> None:
        """Remember what a site said when the run was opened."""
        self._append({"settings": settings, "welcome": asdict(welcome)})
        self._welcomes[settings, welcome.site] = welcome

    @property
    def lost(self) -> dict[str, str]:
        """Sites that dropped out, and why."""
        return dict(self._lost)

    def lose(self, site: str, why: str) -> None:
        """Remember that a site has dropped out: a run that is continued goes on without it."""
        self._append({"lost": site, "why": why})
        self._lost[site] = why

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings under which the run was opened, in order: one, and one for every bootstrap draw."""
        return tuple(dict.fromkeys(settings for settings, _ in self._welcomes))

    def _append(self, line: dict[str, Any]) -> None:
        if self.path is None:
            return
        text = json.dumps(line) + "\n"
        if not self.path.exists():  # not before there is something to remember: a start that failed leaves no trace
            header = {"format": FORMAT, "version": VERSION, "run": self.run, "method": self.method}
            text = json.dumps(header) + "\n" + text
        try:
            disk.append(self.path, text.encode())
        except OSError as error:
            raise InputError(f"the journal {str(self.path)!r} cannot be written: {error.strerror or error}") from None

    def _read(self, path: Path) -> None:
        try:
            text = path.read_text(encoding="utf-8")
            whole, _, cut = text.rpartition("\n")
            header, *lines = (json.loads(line) for line in whole.split("\n"))
            if (header["format"], header["version"]) != (FORMAT, VERSION):
                raise InputError(f"{str(path)!r} is no journal of fedperi, version {VERSION}")
            if header["method"] != self.method:
                raise InputError(
                    f"the journal {str(path)!r} is of a run with other options; repeat these, or give another --journal"
                )
            if not is_run(header["run"]):  # sites would refuse it
                raise ValueError("run")
            self.run = header["run"]
            for line in lines:
                self._enter(line)
            if cut:  # the coordinator was killed while it wrote: the line counts as never written
                with path.open("r+b") as file:
                    file.truncate(len(whole.encode()) + 1)
        except OSError as error:
            raise InputError(f"the journal {str(path)!r} cannot be read: {error.strerror or error}") from None
        except InputError:
            raise
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise InputError(f"the journal {str(path)!r} is damaged; remove it to begin anew") from None

    def _enter(self, line: dict[str, Any]) -> None:
        if "lost" in line:
            self._lost[line["lost"]] = line["why"]
        elif "welcome" in line:
            told = line["welcome"]
            names, targets = tuple(told["names"]), told["targets"]
            targets = None if targets is None else tuple(targets)
            welcome = Welcome(told["site"], names, told["n"], targets, told["privacy"])
            self._welcomes[line["settings"], welcome.site] = welcome
        else:
            for one, answer in zip(line["marks"], line["answers"], strict=True):
                self._answers[line["settings"], line["site"], one] = np.array(answer, dtype=np.float64)
            self._privacy[line["settings"], line["site"]] = line["privacy"]


def settings_key(settings: Settings) -> str:
    """Name settings, the same in every process.

    Examples
    --------
    >>> settings_key(Settings("adaptive"))
    '["adaptive", "ges", 0.01, 1.0, null]'
    """
    return json.dumps(list(asdict(settings).values()))
