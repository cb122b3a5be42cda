"""The protocol on a Flower grid: who is there, questions out, answers in, and never a wait without a limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...coordinator.agreement import Wishes
from ...coordinator.ahead import first_look
from ...coordinator.plausible import check_answers, check_rows
from ...coordinator.record import Journal, settings_key
from ...errors import InputError
from ...protocol import wire
from ...protocol.fields import Refused
from ...protocol.messages import Floats, Question, Settings, Welcome
from ...protocol.questions import Answers, read_answers
from ...protocol.requests import Asking, Opening
from ...protocol.steps import Beginning, StepRequest, read_step_reply
from ...protocol.wire import Record
from ...protocol.worker import Payload, Worker
from ...protocol.workers import worker_class
from .exchange import Grid, Limits, LinkLost, Traffic
from .roster import Roster

if TYPE_CHECKING:
    from ...tables.schema import Schema

POWERS = 3
"""Columns of a number in a site's score at most: its powers, if the site takes it as non-linear."""

SILENCE = 10.0
"""Seconds between two words about steps, of which there may be hundreds."""


class SitesChanged(Exception):
    """A site has dropped out, and enough are left: begin the search again; what is known is not asked again."""


class FlowerTransport:
    """A federation of sites that are connected to a Flower SuperLink.

    Every method takes it: PERI and I-PERI ask questions (`open`, `ask`), the others send steps (`begin`, `perform`).

    Parameters
    ----------
    grid : flwr.serverapp.Grid
        The grid.
    sites : int
        How many sites to wait for.
    min_sites : int, optional
        With how many the run may continue if others are late, refuse, or drop out; all of them if not given.
    keys : mapping of bytes to str, optional
        Public keys (PEM) of the sites and their names. Nodes with other keys are ignored, and a site that gives itself
        another name than that of its key is refused. Without it, all nodes that are connected take part.
    schema : Schema, optional
        Columns as the coordinator expects them.
    data : str
        How it expects columns to be taken.
    bootstrap : bool
        Whether the method will ask sites to resample their rows. All of these are compared with what the sites say
        about themselves, before anything is computed; they change nothing at a site.
    journal : Journal, optional
        What is known already, and where answers are kept. Steps are not kept.
    limits : Limits
        How long to wait.
    note : callable, optional
        Gets a line of words whenever there is news.
    ahead : callable
        Gets the number of variables, and returns the questions that go out with the opening of a run: those that the
        search will ask first, so that they cost no round trip.
    """

    def __init__(
        self,
        grid: Grid,
        *,
        sites: int,
        min_sites: int | None = None,
        keys: Mapping[bytes, str] | None = None,
        schema: Schema | None = None,
        data: str = "auto",
        bootstrap: bool = False,
        journal: Journal | None = None,
        limits: Limits | None = None,
        note: Callable[[str], None] | None = None,
        ahead: Callable[[int], Sequence[Question]] = first_look,
    ) -> None:
        self._ahead = ahead
        self.journal, self._note = journal or Journal(), note or (lambda line: None)
        self._roster = Roster(
            grid,
            sites=sites,
            min_sites=min_sites,
            keys=keys,
            wishes=Wishes(schema, data, bootstrap),
            journal=self.journal,
            limits=limits or Limits(),
            note=self._note,
        )
        self._net = self._roster.net
        self._current = ""
        self._open_run, self._closed = "", False
        self._settings: Settings | None = None
        self._begun = 0
        self._worker: type[Worker] | None = None
        self._number, self._said = 0, 0.0

    @property
    def traffic(self) -> Traffic:
        """What has been exchanged so far."""
        return self._net.traffic

    @property
    def sites(self) -> tuple[str, ...]:
        """Who takes part, in the order of their names."""
        return tuple(self._net.peers)

    @property
    def widest(self) -> int:
        """Columns of the widest variable at most: a category has one for each level, a number up to three powers."""
        return max(POWERS, *(len(column.levels or ()) for column in self._roster.columns or ()), 1)

    @property
    def counted(self) -> bool:
        """Whether sites may score by counts: only where all columns are categories."""
        return all(column.kind == "categorical" for column in self._roster.columns or ())

    @property
    def dropped(self) -> list[dict[str, str]]:
        """Who did not stay, and why."""
        return self._roster.dropped

    # -- questions ------------------------------------------------------------------------------------------------

    def open(self, settings: Settings) -> list[Welcome]:
        """Begin a run at every site, with its first questions; the first time, wait for the sites to connect."""
        first = self._roster.columns is None
        columns = self._roster.connect(settings.penalty)
        self._current, self._settings = settings_key(settings), settings
        names = [column.name for column in columns]
        ahead = tuple(self._ahead(len(names)))
        message = Opening(self._run, settings, columns, self._roster.data, ahead, self.traffic.rounds + 1)
        unknown = [site for site in self.sites if self.journal.welcome(self._current, site) is None]
        replies = self._net.send("open", dict.fromkeys(unknown, wire.write(message)))
        self.traffic.rounds += bool(unknown and ahead)

        def keep(site: str, told: tuple[Welcome, Answers | None]) -> None:
            welcome, answers = told
            self.journal.welcomed(self._current, welcome)
            if answers is not None:
                self.journal.answered(self._current, site, ahead, answers)

        def reading(site: str, reply: Record) -> tuple[Welcome, Answers | None]:
            welcome, answers = _welcome(site, reply, names, ahead)
            check_rows(welcome)
            if answers is not None:
                check_answers(welcome, settings, self.widest, ahead, answers.arrays, counted=self.counted)
            return welcome, answers

        lost = self._roster.read(replies, reading, keep)
        if lost and not first:
            raise SitesChanged
        self._open_run, self._closed = self._run, False
        if unknown and ahead:
            self._say_round()
        welcomes = [self.journal.welcome(self._current, site) for site in self.sites]
        return [welcome for welcome in welcomes if welcome is not None]

    def ask(self, questions: Sequence[Question]) -> list[list[Floats]]:
        """Put the same questions to every site, each only where it has not been answered before."""
        unknown = {site: self._unknown(site, questions) for site in self.sites}
        waiting = {site: new for site, new in unknown.items() if new}
        if waiting:
            number, run = self.traffic.rounds + 1, self._run
            messages = {site: wire.write(Asking(run, number, tuple(new))) for site, new in waiting.items()}
            replies = self._net.send("ask", messages)
            self.traffic.rounds += 1

            def reading(site: str, reply: Record) -> Answers:
                answers = read_answers(reply, f"site {site!r}", waiting[site])
                welcome = self.journal.welcome(self._current, site)
                assert welcome is not None and self._settings is not None  # it was opened
                check_answers(welcome, self._settings, self.widest, waiting[site], answers.arrays, counted=self.counted)
                return answers

            def keep(site: str, answers: Answers) -> None:
                self.journal.answered(self._current, site, waiting[site], answers)

            if self._roster.read(replies, reading, keep):
                raise SitesChanged
            self._say_round()
        return [[self._known(site, question) for question in questions] for site in self.sites]

    def privacy(self) -> list[dict[str, Any] | None]:
        """Return what each site said last about its privacy."""
        return [self.journal.privacy(self._current, site) for site in self.sites]

    @property
    def _run(self) -> str:
        """The name of the run at the sites: every bootstrap draw is a run of its own."""
        known = self.journal.settings
        at = known.index(self._current) if self._current in known else len(known)
        return f"{self.journal.run}.{at}"

    def _unknown(self, site: str, questions: Sequence[Question]) -> list[Question]:
        return [q for q in questions if self.journal.known(self._current, site, q) is None]

    def _known(self, site: str, question: Question) -> Floats:
        answer = self.journal.known(self._current, site, question)
        assert answer is not None
        return answer

    # -- steps ----------------------------------------------------------------------------------------------------

    def begin(self, worker: str) -> list[Welcome]:
        """Begin a run of a method at every site; the first time, wait for the sites to connect."""
        self._worker = worker_class(worker)
        columns = self._roster.connect()
        self._begun += 1
        self._number = 0
        names = [column.name for column in columns]
        record = wire.write(Beginning(self._steps, worker, columns))
        welcomes: dict[str, Welcome] = {}
        replies = self._net.send("begin", dict.fromkeys(self.sites, record))
        self._roster.read(replies, lambda site, reply: _welcome(site, reply, names)[0], welcomes.__setitem__)
        self._open_run, self._closed = self._steps, False
        return [welcomes[site] for site in self.sites]

    def perform(self, kind: str, payload: Payload) -> list[Payload]:
        """Send a step to all sites. Each keeps a state that fits those of the others, so all must answer."""
        assert self._worker is not None, "begin comes first"
        self._number += 1
        record = wire.write(StepRequest(self._steps, self._number, kind, payload))
        replies = self._net.send("step", dict.fromkeys(self.sites, record))
        self.traffic.rounds += 1
        answers = []
        for site in self.sites:  # replies are in the order in which they came
            reply = replies[site]
            try:
                if isinstance(reply, str):
                    raise Refused(f"site {site!r} {reply}")
                answers.append(read_step_reply(reply, f"site {site!r}", self._worker.kinds[kind].sends))
            except InputError as error:
                raise InputError(
                    f"{error}; the run cannot continue without this site, nor be resumed: repair the site, and "
                    "start the run again"
                ) from None
        if time.monotonic() > self._said + SILENCE:
            self._said = time.monotonic()
            self._note(f"step {self._number} ({kind}): {self.traffic.words}.")
        return answers

    @property
    def _steps(self) -> str:
        return f"{self.journal.run}.steps{self._begun}"

    # -- both -----------------------------------------------------------------------------------------------------

    def close(self, why: str = "complete") -> None:
        """Tell the sites that the run is over, and why."""
        if not self._closed:
            self._roster.farewell(self._open_run or self.journal.run, why)
            self._closed = True

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Tell the sites why, if a run ends before its end."""
        try:
            yield
        except LinkLost:  # nobody can be told
            raise
        except InputError as error:
            self.close(str(error))
            raise
        except BaseException:
            self.close("stopped by the coordinator")
            raise

    def fingerprints(self) -> list[None]:
        """Return None for every site: hashes of their tables stay at the sites."""
        return [None] * len(self.sites)

    def _say_round(self) -> None:
        traffic, p = self.traffic, len(self._roster.columns or ())
        from ...search.phase1 import most_rounds

        left = max(0, most_rounds(p) - traffic.rounds)  # how long they take cannot be known: they ask for less and less
        self._note(f"round {traffic.rounds}: {self.traffic.words}{f'; at most {left} more' * bool(left)}.")


def _welcome(
    site: str, reply: Record, names: Sequence[str], questions: Sequence[Question] = ()
) -> tuple[Welcome, Answers | None]:
    told = wire.read_welcome(reply, f"site {site!r}", names, questions)
    if told[0].site != site:
        raise Refused(f"site {site!r} now calls itself {told[0].site!r}")
    return told
