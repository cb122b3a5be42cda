"""How a site answers a message: it checks the message, its policy and its people, computes, and writes a line of log.

Nothing must stay in memory between two messages. Statistics, noise, the ledger and the state of a run are on the site's
own disk (`fedperi.privacy.store`). So a site that is restarted during a run, or that uses a new process for every
message, gives the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...protocol import wire
from ...protocol.fields import Refused, shown
from ...protocol.messages import Question
from ...protocol.policy import Exhausted, SitePolicy
from ...protocol.questions import Answers, write_answers
from ...protocol.requests import Asking, Closing, Hello, Message, Opening, Stating
from ...protocol.steps import Beginning, StepRequest
from ...protocol.wire import Record
from ..log import SiteLog
from ..respondent import Respondent
from ..tally import SiteTally
from .dry import would_send
from .given import Account
from .prices import ledger_entries, spending_words
from .runs import Runs
from .source import AnswerSource
from .statement_side import NOT_APPROVED, StatementSide
from .stating import check_channel
from .steps import StepSide
from .words import IN_THE_LOG, asked_words

if TYPE_CHECKING:
    from ...privacy import Privacy, Release
    from ...tables.table import Source


class SiteWork:
    """A site's side of a federation.

    Parameters
    ----------
    source : DataFrame, path of a table or of a release file, or Table
        What the site answers from.
    name : str, optional
        The site's name. Default: the name of the file.
    store : path, optional
        Where statistics, noise, ledger and log are kept. Default: a folder in the user's home.
    schema : Schema or path, optional
        Types, bounds, and the levels of categories. Levels must be declared: no others are sent.
    data : {"auto", "linear", "nonlinear", "discrete", "mixed"}
        How columns are taken. With "auto" their kinds decide. No message can change it.
    missing : {"error", "drop"}
        What to do with rows that lack a value.
    targets : iterable of str, optional
        Variables that the site declares to have set.
    penalty : float
        Multiplies the price of an edge in the site's scores. A run with another penalty is refused.
    privacy : Privacy, optional
        Noise, and its price.
    policy : SitePolicy
        What is allowed.
    key : callable, optional
        Returns the private key that signs the site's statement; its owner may replace it while the site runs.
    finished : callable, optional
        Called when the coordinator has the statement, and the site may stop.
    approve : callable, optional
        Gets a description of what is about to be sent, and returns whether it may be sent.
    later_for : str, optional
        The coordinator's address. If given, the statement waits in the store until the owner approves it for this
        coordinator.
    tell : callable, optional
        Gets every line of the log.

    Examples
    --------
    >>> import fedperi as fp
    >>> table = fp.simulate(3, clients=2, samples=200, seed=1).sites[0]
    >>> site = SiteWork(table, name="north", policy=SitePolicy("moments"))
    >>> [column.name for column in wire.read_card(site.reply("hello", wire.write(Hello("r1"))), "north").columns]
    ['X0', 'X1', 'X2']
    >>> site.reply("close", {"protocol": 7, "run": "r1"})["refused"]
    'the coordinator uses version 7 of the protocol, and this side version 4: install the same fedperi on both ...'
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
        penalty: float = 1.0,
        privacy: Privacy | None = None,
        policy: SitePolicy | None = None,
        key: Callable[[], Any] | None = None,
        finished: Callable[[], None] = lambda: None,
        approve: Callable[[str], bool] | None = None,
        later_for: str | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.policy = policy or SitePolicy()
        self._approve, self._tell, self._finished = approve, tell or (lambda line: None), finished
        self.source = AnswerSource(
            source,
            name=name,
            store=store,
            schema=schema,
            data=data,
            missing=missing,
            targets=targets,
            penalty=penalty,
            privacy=privacy,
            required=self.policy.privacy_required,
        )
        self.name, self.place = self.source.name, self.source.place
        check_channel(self.source, self.policy.channel)
        self.card = replace(self.source.card, bootstrap=self.policy.bootstrap, channel=self.policy.channel)
        self.tally = SiteTally()
        self.log = SiteLog(self.place.path / "log.txt")
        self._runs = Runs(self.place, self.source.identity)
        self.account = Account(self.place, self.source.identity, self.policy)
        self._later = later_for is not None
        people = None if approve is None else self._ask_people
        self._statement = StatementSide(self.source, self.policy, key, people, later_for)
        self._steps = StepSide(self.source, self.policy, self._runs, self.account, self._ask_people)
        self._run: tuple[str, Respondent] | None = None

    @property
    def stated(self) -> bool:
        """Whether the site has sent its statement since it was started."""
        return self._statement.stated

    def reply(self, kind: str, record: Mapping[str, Any]) -> Record:
        """Answer a message of the coordinator, whatever its content.

        Every message leaves a line in the log, except repeated requests for a statement that waits for its owner.
        Reasons that may name values of the table stay at the site: the coordinator learns only that the site cannot
        answer.
        """
        with self.tally.answering(kind if kind in wire.KINDS else "other"):
            out = self._reply(kind, record)
        self.tally.add(sent=wire.size(out), refusals="refused" in out)
        return out

    def _reply(self, kind: str, record: Mapping[str, Any]) -> Record:
        run = "?"
        try:
            message = wire.read(kind, record, p=len(self.card.columns))
            run = message.run
            before = ledger_entries(self.source) if isinstance(message, Stating | Opening | Asking) else None
            out, words = self._dispatch(message)
        except Exhausted as error:
            return self._refuse(run, kind, error.for_owner, str(error))
        except Refused as error:
            return self._refuse(run, kind, str(error), str(error))
        except InputError as error:
            return self._refuse(run, kind, str(error), IN_THE_LOG)
        except Exception as error:  # a bug of fedperi must neither become an answer nor stop the site
            return self._refuse(run, kind, f"a defect of fedperi, {type(error).__name__}: {error}", IN_THE_LOG)
        if words:
            priced = kind in ("state", "open", "ask", "close") and out != wire.pending()
            price = f" {spending_words(self.source, before)}" if priced else ""
            self._write(run, f"{words}{price} Sent {wire.size(out)} bytes.")
        return out

    def dry_run(self) -> list[str]:
        """Describe what this site would send; nothing is drawn, paid or sent."""
        lines = would_send(self.card, self.policy, self.source, self.account, self._later)
        return [*lines, f"Log: {self.log.path}", "Nothing was drawn, paid or sent: this was a dry run."]

    def _dispatch(self, message: Message) -> tuple[Record, str]:
        if isinstance(message, Hello):
            return wire.write_card(self.card), "told the coordinator our name, columns and privacy promise."
        if isinstance(message, Stating):
            return self._statement.state(message)
        if isinstance(message, Opening):
            return self._open(message)
        if isinstance(message, Asking):
            return self._ask(message)
        if isinstance(message, Beginning):
            return self._steps.begin(message)
        return self._steps.perform(message) if isinstance(message, StepRequest) else self._close(message)

    def _open(self, message: Opening) -> tuple[Record, str]:
        settings, questions = message.settings, message.questions
        self._check_opening(message)
        drawn = "" if settings.resample is None else " on resampled rows"
        self._ask_people(
            message.run,
            f"open a run with masking {settings.masking!r}{drawn}: send the number of rows and what was promised",
            self.source.quote_opening,
        )
        with_it = f"answer round {message.number} with it"
        if questions and not self.source.pays_per_answer:  # before anything is paid or computed
            self._ask_to_answer(message.run, with_it, None, questions)
        self.account.enter(message, questions)
        names = [column.name for column in message.columns]
        respondent = self.source.respondent(names)
        welcome = respondent.open(settings, names)
        if questions and self.source.pays_per_answer:  # only now it is known which questions are new, and their price
            self._ask_to_answer(message.run, with_it, respondent, questions)
        again = " again, as before," if self._runs.known(message.run) else ""
        self._run = (message.run, respondent)
        self._runs.opened(message)
        answers, sent = None, ""
        if questions:
            answers, said = self._answer_round(message, message, respondent)
            sent = f"; {said}"
        noisy = " (noisy)" if self.card.promise else ""
        return wire.write_welcome(welcome, answers), (
            f"opened{again} with masking {settings.masking!r}{drawn}; told the number of rows{noisy} and declared "
            f"targets{sent}."
        )

    def _check_opening(self, message: Opening) -> None:
        """Raise if a run may not be opened like this; the table is read only to see whether it has changed."""
        self.policy.check_open(message.settings)
        self.source.check_columns(message.columns, message.data)
        self.source.check_penalty(message.settings)
        self.source.check_unchanged()
        self._runs.check(message)
        self.account.check(message, message.questions)

    def _ask(self, message: Asking) -> tuple[Record, str]:
        opening: Opening = self._runs.opening(message.run, "open")
        self.account.check(opening, message.questions)
        respondent = self._respondent_of(opening)
        self._ask_to_answer(message.run, f"answer round {message.number}", respondent, message.questions)
        answers, said = self._answer_round(opening, message, respondent)
        return write_answers(answers), f"{said}."

    def _close(self, message: Closing) -> tuple[Record, str]:
        if self.stated and not message.without:
            self._finished()
            return wire.write_farewell(), "closed: the coordinator has our statement, and asks nothing more."
        if self.policy.channel != "regrets" and not self.policy.methods:
            return wire.write_farewell(), f"closed ({message.why}); our statement was not asked for, or not taken."
        if not message.complete and not self._runs.known(message.run):
            return wire.write_farewell(), f"closed ({message.why}); it was not opened here."
        numbers = self._runs.state(message.run)["numbers"]
        self._run = None
        self._steps.close(message.run)
        return wire.write_farewell(), f"closed ({message.why}), after {numbers} numbers in all."

    def _answer_round(self, opening: Opening, message: Opening | Asking, respondent: Respondent) -> tuple[Answers, str]:
        """Answer a round; return also the words for the log."""
        questions = message.questions
        # Counted before they are computed: after a crash in between, the count is too high, but never too low.
        self.account.enter(opening, questions)
        again = self._runs.count(opening.run, sum(question.answers for question in questions), message.number)
        once_more = " once more (the coordinator began again, or did not get the answer)"
        said = f"round {message.number}{once_more * again}"
        answers = Answers([respondent.answer(question) for question in questions], respondent.privacy)
        return answers, f"{said}: sent {asked_words(questions)}"

    def _respondent_of(self, opening: Opening) -> Respondent:
        """Return the respondent of a run: from memory, or opened again from what is on the disk."""
        if self._run is not None and self._run[0] == opening.run:
            return self._run[1]
        names = [column.name for column in opening.columns]
        respondent = self.source.respondent(names)
        respondent.open(opening.settings, names)
        self._run = (opening.run, respondent)
        return respondent

    def _ask_to_answer(self, run: str, what: str, respondent: Respondent | None, questions: Sequence[Question]) -> None:
        self._ask_people(
            run, f"{what}: {asked_words(questions)}", partial(self.source.quote_answers, respondent, questions)
        )

    def _ask_people(self, run: str, what: str, price: Callable[[], str] | None = None) -> None:
        if self._approve is None:
            return
        request = f"run {run} asks to {what}" + ("" if price is None else f". Price: {price()}")
        if not self._approve(request):
            raise Refused(NOT_APPROVED)

    def _refuse(self, run: str, kind: str, why: str, told: str) -> Record:
        self._write(run, f"refused {shown(kind)}: {why}")
        return wire.refusal(told)

    def _write(self, run: str, what: str) -> None:
        self._tell(self.log.write(run, what))
