"""What a site does with a message of the protocol: check it, ask its policy and its people, answer, write it down.

Nothing needs to stay in memory between two messages. Statistics, noise, the ledger and the state of a run are on the
site's own disk (`fedperi.privacy.store`), so a site may use a new process for every message, or be restarted in a run,
and answers the same.
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
from .paid import Spending
from .runs import Runs
from .source import AnswerSource
from .statement_side import StatementSide
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
        The site's name; the file's if not given.
    store : path, optional
        Where statistics, noise, ledger and log are kept; a folder of the user's if not given.
    schema : Schema or path, optional
        Types, bounds, and the levels of categories, which must be declared: only declared levels are told to others.
    data : {"auto", "linear", "nonlinear", "discrete", "mixed"}
        How columns are taken. With "auto" their kinds decide. No message can change it.
    missing : {"error", "drop"}
        What to do with rows that lack a value.
    targets : iterable of str, optional
        Variables that the site declares to have set.
    penalty : float
        Multiplies the price of an edge in the site's scores. A run with another one is refused.
    privacy : Privacy, optional
        Noise, and its price. The site decides about it alone.
    policy : SitePolicy
        What is allowed.
    key : callable, optional
        Returns the private key that signs the site's statement; its owner may replace it while the site runs.
    finished : callable, optional
        Called when the coordinator has the statement: the site has said all, and may go.
    approve : callable, optional
        Gets what is about to be sent, in words, and says whether it may be.
    later_for : str, optional
        Where the coordinator is: the site's statement waits in the store until its owner approves it for this one.
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
        self._approve, self._tell = approve, tell or (lambda line: None)
        self.held = AnswerSource(
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
        self.name, self.place = self.held.name, self.held.place
        check_channel(self.held, self.policy.channel)
        self.card = replace(self.held.card, bootstrap=self.policy.bootstrap, channel=self.policy.channel)
        self._finished = finished
        self.tally = SiteTally()
        self.log = SiteLog(self.place.path / "log.txt")
        self._runs = Runs(self.place, self.held.identity)
        self.account = Account(self.place, self.held.identity, self.policy)
        self._spending = Spending(self.held)
        self._later = later_for is not None
        people = None if approve is None else self._ask_people
        self._statement = StatementSide(self.held, self.policy, key, people, later_for)
        self._steps = StepSide(self.held, self.policy, self._runs, self.account, self._ask_people)
        self._run: tuple[str, Respondent] | None = None

    @property
    def stated(self) -> bool:
        """Whether the site has given its statement since it was started."""
        return self._statement.stated

    def reply(self, kind: str, record: Mapping[str, Any]) -> Record:
        """Answer a message of the coordinator, with any content; every message leaves a line in the log.

        Only questions that are repeated about a statement that waits for its owner do not. Reasons that may name values
        of the table stay at the site: the coordinator is told that the site cannot answer, and the log has the rest.
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
            before = self._spending.entries() if isinstance(message, Stating | Opening | Asking) else None
            out, words = self._answered(message)
        except Exhausted as error:
            return self._refuse(run, kind, error.for_owner, str(error))
        except Refused as error:
            return self._refuse(run, kind, str(error), str(error))
        except InputError as error:
            return self._refuse(run, kind, str(error), IN_THE_LOG)
        except Exception as error:  # a defect of ours must not become an answer, nor end the site
            return self._refuse(run, kind, f"a defect of fedperi, {type(error).__name__}: {error}", IN_THE_LOG)
        if words:
            priced = kind in ("state", "open", "ask", "close") and out != wire.pending()
            price = f" {self._spending.words(before)}" if priced else ""
            self._write(run, f"{words}{price} Sent {wire.size(out)} bytes.")
        return out

    def dry_run(self) -> list[str]:
        """Say in words what this site would send if it were asked; nothing is drawn, paid or sent."""
        lines = would_send(self.card, self.policy, self.held, self.account, self._later)
        return [*lines, f"Log: {self.log.path}", "Nothing was drawn, paid or sent: this was a dry run."]

    def _answered(self, message: Message) -> tuple[Record, str]:
        if isinstance(message, Hello):
            return wire.write_card(self.card), "told the coordinator our name, columns and privacy promise."
        if isinstance(message, Stating):
            return self._statement.state(message)
        if isinstance(message, Opening):
            return self._opened(message)
        if isinstance(message, Asking):
            return self._asked(message)
        if isinstance(message, Beginning):
            return self._steps.begin(message)
        return self._steps.perform(message) if isinstance(message, StepRequest) else self._closed(message)

    def _opened(self, message: Opening) -> tuple[Record, str]:
        settings, questions = message.settings, message.questions
        self._check_opening(message)
        drawn = "" if settings.resample is None else " on resampled rows"
        self._ask_people(
            message.run,
            f"open a run with masking {settings.masking!r}{drawn}: send the number of rows and what was promised",
            self.held.quote_opening,
        )
        with_it = f"answer round {message.number} with it"
        if questions and not self.held.pays_per_answer:  # before anything is paid or computed
            self._ask_to_answer(message.run, with_it, None, questions)
        self.account.enter(message, questions)
        names = [column.name for column in message.columns]
        respondent = self.held.respondent(names)
        welcome = respondent.open(settings, names)
        if questions and self.held.pays_per_answer:  # what is new, and so what it costs, is known now
            self._ask_to_answer(message.run, with_it, respondent, questions)
        again = " again, as before," if self._runs.known(message.run) else ""
        self._run = (message.run, respondent)
        self._runs.opened(message)
        answers, sent = None, ""
        if questions:
            answers, said = self._answers(message, message, respondent)
            sent = f"; {said}"
        noisy = " (noisy)" if self.card.promise else ""
        return wire.write_welcome(welcome, answers), (
            f"opened{again} with masking {settings.masking!r}{drawn}; told the number of rows{noisy} and declared "
            f"targets{sent}."
        )

    def _check_opening(self, message: Opening) -> None:
        """Raise if a run may not be opened like this; nothing is read of the table but whether it is the same."""
        self.policy.check_open(message.settings)
        self.held.check_columns(message.columns, message.data)
        self.held.check_penalty(message.settings)
        if self.held.fingerprint() != self.held.mark:
            raise Refused("the table has changed since this site was started: restart the site")
        self._runs.check(message)
        self.account.check(message, message.questions)

    def _asked(self, message: Asking) -> tuple[Record, str]:
        opening: Opening = self._runs.opening(message.run, "open")
        self.account.check(opening, message.questions)
        respondent = self._respondent_of(opening)
        self._ask_to_answer(message.run, f"answer round {message.number}", respondent, message.questions)
        answers, said = self._answers(opening, message, respondent)
        return write_answers(answers), f"{said}."

    def _closed(self, message: Closing) -> tuple[Record, str]:
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

    def _answers(self, opening: Opening, message: Opening | Asking, respondent: Respondent) -> tuple[Answers, str]:
        """Answer a round; return what the log says of it, too."""
        questions = message.questions
        # Counted before they are computed: a crash in between costs a count, and lets no number out uncounted.
        self.account.enter(opening, questions)
        again = self._runs.count(opening.run, sum(question.answers for question in questions), message.number)
        once_more = " once more (the coordinator began again, or did not get the answer)"
        said = f"round {message.number}{once_more * again}"
        answers = Answers([respondent.answer(question) for question in questions], respondent.privacy)
        return answers, f"{said}: sent {asked_words(questions)}"

    def _respondent_of(self, opening: Opening) -> Respondent:
        """Return the site as it was opened for a run: from memory, or opened again from what the disk holds."""
        if self._run is not None and self._run[0] == opening.run:
            return self._run[1]
        names = [column.name for column in opening.columns]
        respondent = self.held.respondent(names)
        respondent.open(opening.settings, names)
        self._run = (opening.run, respondent)
        return respondent

    def _ask_to_answer(self, run: str, what: str, respondent: Respondent | None, questions: Sequence[Question]) -> None:
        self._ask_people(
            run, f"{what}: {asked_words(questions)}", partial(self.held.quote_answers, respondent, questions)
        )

    def _ask_people(self, run: str, what: str, price: Callable[[], str] | None = None) -> None:
        if self._approve is None:
            return
        told = f"run {run} asks to {what}" + ("" if price is None else f". Price: {price()}")
        if not self._approve(told):
            raise Refused("the people at this site did not approve it")

    def _refuse(self, run: str, kind: str, why: str, told: str) -> Record:
        self._write(run, f"refused {shown(kind)}: {why}")
        return wire.refusal(told)

    def _write(self, run: str, what: str) -> None:
        self._tell(self.log.write(run, what))
