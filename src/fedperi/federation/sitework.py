"""What a site does with a message of the protocol: check it, ask its policy and its people, answer, write it down.

Nothing needs to stay in memory between two messages. Statistics, noise, the ledger and the state of a run are on the
site's own disk (`fedperi.privacy.store`), so a site may use a new process for every message, or be restarted in a run,
and answers the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from . import wire
from .fields import Refused
from .holding import Holding
from .messages import Question
from .policy import SitePolicy
from .questions import Answers, write_answers
from .site import Respondent
from .sitelog import SiteLog
from .siteruns import Runs
from .sitesteps import StepSide
from .sitewords import IN_THE_LOG, asked_words, promise_words, spent_words
from .steps import Beginning, Doing
from .wire import Asking, Closing, Hello, Message, Opening, Record

if TYPE_CHECKING:
    from ..data.table import Source
    from ..privacy import Privacy, Release


class SiteWork:
    """A site's side of a federation.

    Parameters
    ----------
    source : DataFrame, path of a table or of a release file, or Table
        What the site answers from.
    name : str, optional
        The site's name; the file's if not given.
    store : path, optional
        Where statistics, noise, ledger and log are kept; a folder of the user's if not given.
    schema : Schema or path, optional
        Types, and the levels of categories: only declared levels are ever told to others.
    data : {"auto", "linear", "nonlinear", "discrete", "mixed"}
        How columns are taken. With "auto" the coordinator may choose.
    missing : {"error", "drop"}
        What to do with rows that lack a value.
    targets : iterable of str, optional
        Variables that the site declares to have set.
    privacy : Privacy, optional
        Noise, and its price. The site decides about it alone.
    policy : SitePolicy
        What is allowed.
    approve : callable, optional
        Gets what is about to be sent, in words, and says whether it may be.
    tell : callable, optional
        Gets every line of the log.

    Examples
    --------
    >>> import fedperi as fp
    >>> table = fp.simulate(3, clients=2, samples=200, seed=1).sites[0]
    >>> site = SiteWork(table, name="north")
    >>> [column.name for column in wire.read_card(site.reply("hello", wire.write(Hello("r1"))), "north").columns]
    ['X0', 'X1', 'X2']
    >>> site.reply("close", {"protocol": 7, "run": "r1"})["refused"]
    'the coordinator speaks version 7 of the protocol, and this side version 2: install the same fedperi on both ...'
    """

    def __init__(
        self,
        source: Source | Release,
        *,
        name: str | None = None,
        store: Any = None,
        schema: Any = None,
        data: str = "auto",
        missing: str = "error",
        targets: Iterable[str] | None = None,
        privacy: Privacy | None = None,
        policy: SitePolicy | None = None,
        approve: Callable[[str], bool] | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.policy = policy or SitePolicy()
        self._approve, self._tell = approve, tell or (lambda line: None)
        self.held = Holding(
            source,
            name=name,
            store=store,
            schema=schema,
            data=data,
            missing=missing,
            targets=targets,
            privacy=privacy,
            required=self.policy.privacy_required,
        )
        self.name, self.card, self.place = self.held.name, self.held.card, self.held.place
        self.log = SiteLog(self.place.path / "log.txt")
        self._runs = Runs(self.place, self.held.mark)
        self._steps = StepSide(self.held, self.policy, self._runs, self._ask_people)
        self._run: tuple[str, Respondent] | None = None

    def reply(self, kind: str, record: Mapping[str, Any]) -> Record:
        """Answer a message of the coordinator, whatever it holds; every message leaves a line in the log.

        Reasons that may name values of the table stay at the site: the coordinator is told that the site cannot
        answer, and the log has the rest.
        """
        run = "?"
        try:
            message = wire.read(kind, record, p=len(self.card.columns))
            run = message.run
            out, words = self._answered(message)
        except Refused as error:
            return self._refuse(run, kind, str(error), str(error))
        except InputError as error:
            return self._refuse(run, kind, str(error), IN_THE_LOG)
        except Exception as error:  # a defect of ours must not become an answer, nor end the site
            return self._refuse(run, kind, f"a defect of fedperi, {type(error).__name__}: {error}", IN_THE_LOG)
        self._write(run, f"{words} Sent {wire.size(out)} bytes.")
        return out

    def dry_run(self) -> list[str]:
        """Say in words what this site would send if it were asked; nothing is drawn, paid or sent."""
        columns = ", ".join(column.name for column in self.card.columns)
        lines = [
            f"Site {self.name!r} would tell the coordinator:",
            f"  on hello: its name; the columns {columns}, their kinds, and levels and bounds that a schema declares; "
            + ("that it answers without noise" if self.card.promise is None else promise_words(self.card.promise)),
            "  on open: "
            + ("its noisy number of rows" if self.card.promise else "its number of rows")
            + ", its declared targets, and what its privacy ledger says",
            "  on ask: regrets, one number for each candidate set of parents, at most "
            f"{self.policy.most_numbers} in a run; no row, no value of a column",
            "  on begin and step: "
            + (f"what {', '.join(self.policy.methods)} sends, NOT PRIVATE" if self.policy.methods else "nothing"),
            f"Price: {self.held.price_ahead()}",
            f"Log: {self.log.path}",
        ]
        return [*lines, "Nothing was drawn, paid or sent: this was a dry run."]

    def _answered(self, message: Message) -> tuple[Record, str]:
        if isinstance(message, Hello):
            return wire.write_card(self.card), "told the coordinator our name, columns and privacy promise."
        if isinstance(message, Opening):
            return self._opened(message)
        if isinstance(message, Asking):
            return self._asked(message)
        if isinstance(message, Beginning):
            return self._steps.begin(message)
        return self._steps.perform(message) if isinstance(message, Doing) else self._closed(message)

    def _opened(self, message: Opening) -> tuple[Record, str]:
        settings, questions = message.settings, message.questions
        self.policy.check_open(settings)
        self.held.check_columns(message.columns, message.data)
        if self.held.fingerprint() != self.held.mark:
            raise Refused("the table has changed since this site was started: start it anew")
        if questions:
            self._check_room(self._runs.before(message), questions)
        drawn = "" if settings.resample is None else " on rows drawn anew"
        self._ask_people(
            message.run,
            f"open a run with masking {settings.masking!r}{drawn}: send the number of rows and what was promised. "
            f"Price: {self.held.price_ahead()}",
        )
        if questions:  # before anything is paid or computed
            self._ask_people(message.run, f"answer round {message.number} with it: {asked_words(questions)}")
        respondent = self.held.respondent(message)
        welcome = respondent.open(settings, [column.name for column in message.columns])
        self._run = (message.run, respondent)
        self._runs.opened(message)
        answers = self._answers(message.run, respondent, questions) if questions else None
        noisy = " (noisy)" if self.card.promise else ""
        sent = f"; round {message.number}: sent {asked_words(questions)}" if questions else ""
        return wire.write_welcome(welcome, answers), (
            f"opened with masking {settings.masking!r}{drawn}; told the number of rows{noisy} and declared "
            f"targets{sent}. {spent_words(respondent.privacy)}"
        )

    def _asked(self, message: Asking) -> tuple[Record, str]:
        state = self._runs.state(message.run)
        self._check_room((state["numbers"], state["messages"]), message.questions)
        asked = asked_words(message.questions)
        self._ask_people(message.run, f"answer round {message.number}: {asked}")
        respondent = self._respondent_of(message.run)
        answers = self._answers(message.run, respondent, message.questions)
        return (
            write_answers(answers),
            f"round {message.number}: sent {asked}. {spent_words(respondent.privacy)}",
        )

    def _closed(self, message: Closing) -> tuple[Record, str]:
        numbers = self._runs.state(message.run)["numbers"]
        known = self._run is not None and self._run[0] == message.run
        privacy = self._run[1].privacy if known and self._run is not None else None
        self._run = None
        self._steps.close(message.run)
        # A new process has no run in memory, and the line about the last answers says what they cost.
        spent = f" {spent_words(privacy)}" if known or self.held.bare else ""
        return wire.write_farewell(), f"closed, after {numbers} numbers in all.{spent}"

    def _check_room(self, before: tuple[int, int], questions: Sequence[Question]) -> None:
        numbers, messages = before
        self.policy.check_ask(numbers + sum(question.answers for question in questions), messages + 1)

    def _answers(self, run: str, respondent: Respondent, questions: Sequence[Question]) -> Answers:
        # Counted before they are computed: a crash in between costs a count, and lets no number out uncounted.
        self._runs.count(run, sum(question.answers for question in questions))
        return Answers([respondent.answer(question) for question in questions], respondent.privacy)

    def _respondent_of(self, run: str) -> Respondent:
        """Return the site as it was opened for a run: from memory, or opened again from what the disk holds."""
        message: Opening = self._runs.opening(run, "open")
        if self._run is not None and self._run[0] == run:
            return self._run[1]
        respondent = self.held.respondent(message)
        respondent.open(message.settings, [column.name for column in message.columns])
        self._run = (run, respondent)
        return respondent

    def _ask_people(self, run: str, what: str) -> None:
        if self._approve is not None and not self._approve(f"run {run} asks to {what}"):
            raise Refused("the people at this site did not approve it")

    def _refuse(self, run: str, kind: str, why: str, told: str) -> Record:
        self._write(run, f"refused {kind!r}: {why}")
        return wire.refusal(told)

    def _write(self, run: str, what: str) -> None:
        self._tell(self.log.write(run, what))
