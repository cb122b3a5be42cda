"""The protocol on a Flower grid: connect the sites, send questions or steps, and check the answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

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
from ...search.phase1 import most_rounds
from .exchange import Grid, Limits, Traffic
from .roster import Roster, announced_end

if TYPE_CHECKING:
    from ...tables.schema import Schema

T = TypeVar("T")

POWERS = 3
"""Columns of a number in a site's score at most: its powers, if the site allows non-linear effects."""

SILENCE = 10.0
"""Seconds between two notes about steps, of which there may be hundreds."""


class SitesChanged(Exception):
    """A site has dropped out, and enough are left: begin the search again; known answers are not asked again."""


class FlowerTransport:
    """A federation of sites that are connected to a Flower SuperLink.

    All federated methods accept it: PERI and I-PERI ask questions (`open`, `ask`), the baselines send steps (`begin`,
    `perform`).

    Parameters
    ----------
    grid : flwr.serverapp.Grid
        The grid.
    sites : int
        How many sites to wait for.
    min_sites : int, optional
        Smallest number with which the run may continue if others are late, refuse, or drop out; `sites` by default.
    keys : mapping of bytes to str, optional
        Public keys (PEM) of the sites and their names. Nodes with other keys are ignored, and a site whose name is not
        that of its key is refused. Without it, all connected nodes take part.
    schema : Schema, optional
        The columns that the coordinator expects.
    data : str
        The treatment of columns that the coordinator expects.
    bootstrap : bool
        Whether the method will ask sites to resample their rows. Schema, data and bootstrap are compared with what the
        sites announce, before anything is computed; they change nothing at a site.
    journal : Journal, optional
        The answers of an earlier attempt, and the place for new ones. Steps are not recorded.
    limits : Limits, optional
        How long to wait.
    note : callable, optional
        Called with a sentence whenever there is news.
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
        note: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.journal, self._note = journal or Journal(), note
        self._roster = Roster(
            grid,
            sites=sites,
            min_sites=min_sites,
            keys=keys,
            wishes=Wishes(schema, data, bootstrap),
            journal=self.journal,
            limits=limits or Limits(),
            note=note,
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
        """Counts of the exchange so far."""
        return self._net.traffic

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites that take part, in the order of their names."""
        return tuple(self._net.peers)

    @property
    def widest(self) -> int:
        """Columns of the widest variable at most: a category has one per level, a number up to three powers."""
        return max([POWERS, *(len(column.levels or ()) for column in self._roster.columns or ())])

    @property
    def counted(self) -> bool:
        """Whether sites may score by counts: only where all columns are categories."""
        return all(column.kind == "categorical" for column in self._roster.columns or ())

    @property
    def dropped(self) -> list[dict[str, str]]:
        """The sites that dropped out, and the reasons."""
        return self._roster.dropped

    # -- questions ------------------------------------------------------------------------------------------------

    def open(self, settings: Settings) -> list[Welcome]:
        """Begin a run at every site, with its first questions; the first time, wait for the sites to connect."""
        first = self._roster.columns is None
        columns = self._roster.connect(settings.penalty)
        self._current, self._settings = settings_key(settings), settings
        names = [column.name for column in columns]
        ahead = tuple(first_look(len(names)))  # the first questions of any search: here they cost no round trip
        message = Opening(self._run, settings, columns, self._roster.data, ahead, self.traffic.rounds + 1)
        unknown = [site for site in self.sites if self.journal.welcome(self._current, site) is None]
        replies = self._net.send("open", dict.fromkeys(unknown, wire.write(message)))
        self.traffic.rounds += bool(unknown and ahead)

        def keep(site: str, read: tuple[Welcome, Answers | None]) -> None:
            welcome, answers = read
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
        """Put the same questions to every site, except those that it has answered before."""
        unknown = {
            site: [question for question in questions if self.journal.known(self._current, site, question) is None]
            for site in self.sites
        }
        waiting = {site: new for site, new in unknown.items() if new}
        if waiting:
            number, run = self.traffic.rounds + 1, self._run
            messages = {site: wire.write(Asking(run, number, tuple(new))) for site, new in waiting.items()}
            replies = self._net.send("ask", messages)
            self.traffic.rounds += 1

            def reading(site: str, reply: Record) -> Answers:
                answers = read_answers(reply, f"site {site!r}", waiting[site])
                welcome = self.journal.welcome(self._current, site)
                assert welcome is not None and self._settings is not None  # `open` came before
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
        """The name of the run at the sites: every bootstrap draw is a separate run."""
        known = self.journal.settings
        at = known.index(self._current) if self._current in known else len(known)
        return f"{self.journal.run}.{at}"

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
        """Send a step to all sites. All must answer, since the states that they keep must stay in step."""
        assert self._worker is not None, "begin comes first"
        self._number += 1
        record = wire.write(StepRequest(self._steps, self._number, kind, payload))
        replies = self._net.send("step", dict.fromkeys(self.sites, record))
        self.traffic.rounds += 1
        answers = []
        for site in self.sites:  # not in the order in which the replies arrived
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

    def closing(self) -> AbstractContextManager[None]:
        """Tell the sites at the end of the `with` block that the run is over, and why."""
        return announced_end(self.close)

    def fingerprints(self) -> list[None]:
        """Return None for every site: hashes of their tables stay at the sites."""
        return [None] * len(self.sites)

    def _say_round(self) -> None:
        # A number of rounds, not a time: later rounds ask for less.
        left = max(0, most_rounds(len(self._roster.columns or ())) - self.traffic.rounds)
        self._note(f"round {self.traffic.rounds}: {self.traffic.words}{f'; at most {left} more' * bool(left)}.")


def through_drops(fit: Callable[[FlowerTransport], T], transport: FlowerTransport) -> T:
    """Run a search; whenever a site drops out and enough are left, run it again without that site."""
    while True:  # ends: every repetition has lost a site
        try:
            return fit(transport)
        except SitesChanged:
            continue


def _welcome(
    site: str, reply: Record, names: Sequence[str], questions: Sequence[Question] = ()
) -> tuple[Welcome, Answers | None]:
    welcome, answers = wire.read_welcome(reply, f"site {site!r}", names, questions)
    if welcome.site != site:
        raise Refused(f"site {site!r} now calls itself {welcome.site!r}")
    return welcome, answers
