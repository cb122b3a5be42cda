"""What a site does with a message of the protocol: check it, ask its policy and its people, answer, write it down.

Nothing needs to stay in memory between two messages. Statistics, noise, the ledger and the state of a run are on the
site's own disk (`fedperi.privacy.store`), so a site may use a new process for every message, or be restarted in a run,
and answers the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from . import wire
from .fields import Refused
from .kept import KeptSite
from .messages import Families, Floats
from .policy import SitePolicy
from .site import Reading, Respondent
from .sitelog import SiteLog
from .wire import Asking, Card, Closing, Hello, Opening, Record

if TYPE_CHECKING:
    from ..data import Schema
    from ..data.table import Source, Table
    from ..privacy import Privacy, Release
    from ..privacy.store import Place


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
    'the coordinator speaks version 7 of the protocol, and this side version 1: install the same fedperi on both ...'
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
        from ..data.infer import as_schema

        self.policy = policy or SitePolicy()
        self._approve, self._tell = approve, tell or (lambda line: None)
        self._schema, self._data, self._missing, self.privacy = as_schema(schema), data, missing, privacy
        self._release = _release(source)
        self._table = None if self._release is not None else _table(source, name)
        self.name = name or (self._table.name if self._table is not None else _named(self._release).site)
        self._targets = None if targets is None else tuple(targets)
        self._check_options()
        if self.privacy is not None and self.privacy.store is None:
            self.privacy = replace(self.privacy, store=store)
        self.place = self._find_place(store if self.privacy is None else self.privacy.store)
        self.log = SiteLog(self.place.path / "log.txt")
        self.card = self._make_card()
        self._run: tuple[str, Respondent] | None = None

    def reply(self, kind: str, record: Mapping[str, Any]) -> Record:
        """Answer a message of the coordinator, whatever it holds; every message leaves a line in the log.

        Reasons that may name values of the table stay at the site: the coordinator is told that the site cannot
        answer, and the log has the rest.
        """
        run = "?"
        try:
            p = len(self.card.columns)
            message = wire.read(kind, record, p=p)
            run = message.run
            out, words = self._answered(message)
        except Refused as error:
            return self._refuse(run, kind, str(error), str(error))
        except InputError as error:
            return self._refuse(run, kind, str(error), _IN_THE_LOG)
        except Exception as error:  # a defect of ours must not become an answer, nor end the site
            return self._refuse(run, kind, f"a defect of fedperi, {type(error).__name__}: {error}", _IN_THE_LOG)
        self._write(run, f"{words} Sent {wire.size(out)} bytes.")
        return out

    def dry_run(self) -> list[str]:
        """Say in words what this site would send if it were asked; nothing is drawn, paid or sent."""
        columns = ", ".join(column.name for column in self.card.columns)
        lines = [
            f"Site {self.name!r} would tell the coordinator:",
            f"  on hello: its name; the columns {columns}, their kinds, and levels and bounds that a schema declares; "
            + ("that it answers without noise" if self.card.promise is None else _promise_words(self.card.promise)),
            "  on open: "
            + ("its noisy number of rows" if self.card.promise else "its number of rows")
            + ", its declared targets, and what its privacy ledger says",
            "  on ask: regrets, one number for each candidate set of parents, at most "
            f"{self.policy.most_numbers} in a run; no row, no value of a column",
            f"Price: {self._price_ahead()}",
            f"Log: {self.log.path}",
        ]
        return [*lines, "Nothing was drawn, paid or sent: this was a dry run."]

    # -- the four messages ----------------------------------------------------------------------------------------

    def _answered(self, message: Hello | Opening | Asking | Closing) -> tuple[Record, str]:
        if isinstance(message, Hello):
            return wire.write_card(self.card), "told the coordinator our name, columns and privacy promise."
        if isinstance(message, Opening):
            return self._opened(message)
        if isinstance(message, Asking):
            return self._asked(message)
        state = self._state(message.run)
        privacy = self._respondent_of(message.run, state).privacy
        self._run = None
        return wire.write_farewell(privacy), f"closed, after {state['numbers']} numbers in all. {_spent(privacy)}"

    def _opened(self, message: Opening) -> tuple[Record, str]:
        settings = message.settings
        self.policy.check_open(settings)
        self._check_columns(message)
        if self._fingerprint() != self._mark:
            raise Refused("the table has changed since this site was started: start it anew")
        what = (
            f"open a run with masking {settings.masking!r}"
            + ("" if settings.resample is None else ", on rows drawn anew")
            + f": send the number of rows and what was promised. Price: {self._price_ahead()}"
        )
        self._ask_people(message.run, what)
        respondent = self._respondent(message)
        welcome = respondent.open(settings, [column.name for column in message.columns])
        self._run = (message.run, respondent)
        with self.place.locked():
            kept = self._kept_state(message.run)
            state = {"opening": wire.write(message), "table": self._mark, "numbers": 0, "messages": 0}
            if kept is not None and kept["opening"] == state["opening"] and kept["table"] == self._mark:
                state = kept  # the coordinator was restarted, and counts go on
            self.place.keep(_key(message.run), json.dumps(state))
        return wire.write_welcome(welcome), (
            f"opened with masking {settings.masking!r}"
            + ("" if settings.resample is None else " on rows drawn anew")
            + f"; told the number of rows{' (noisy)' if self.card.promise else ''} and declared targets. "
            + _spent(respondent.privacy)
        )

    def _asked(self, message: Asking) -> tuple[Record, str]:
        state = self._state(message.run)
        numbers = state["numbers"] + message.answers
        self.policy.check_ask(numbers, state["messages"] + 1)
        sets = sum(q.answers for q in message.questions if isinstance(q, Families))
        asked = _asked_words(sets, message.answers - sets)
        self._ask_people(message.run, f"answer round {message.number}: {asked}")
        respondent = self._respondent_of(message.run, state)
        with self.place.locked():
            # Counted before they are computed: a crash in between costs a count, and lets no number out uncounted.
            state = self._state(message.run)
            state |= {"numbers": state["numbers"] + message.answers, "messages": state["messages"] + 1}
            self.place.keep(_key(message.run), json.dumps(state))
        answers: list[Floats] = [respondent.answer(question) for question in message.questions]
        return wire.write_answers(answers), f"round {message.number}: sent {asked}. {_spent(respondent.privacy)}"

    def _ask_people(self, run: str, what: str) -> None:
        if self._approve is not None and not self._approve(f"run {run} asks to {what}"):
            raise Refused("the people at this site did not approve it")

    def _refuse(self, run: str, kind: str, why: str, told: str) -> Record:
        self._write(run, f"refused {kind!r}: {why}")
        return wire.refusal(told)

    def _write(self, run: str, what: str) -> None:
        self._tell(self.log.write(run, what))

    # -- the state of a run ---------------------------------------------------------------------------------------

    def _kept_state(self, run: str) -> dict[str, Any] | None:
        text = self.place.kept(_key(run))
        state: dict[str, Any] | None = None if text is None else json.loads(text)
        return state

    def _state(self, run: str) -> dict[str, Any]:
        state = self._kept_state(run)
        if state is None:
            raise Refused(f"the run {run!r} was not opened here")
        if state["table"] != self._mark:
            raise Refused("the table has changed since the run was opened; open a new run")
        return state

    def _respondent_of(self, run: str, state: dict[str, Any]) -> Respondent:
        """Return the site as it was opened for a run: from memory, or opened again from what the disk holds."""
        if self._run is not None and self._run[0] == run:
            return self._run[1]
        message: Opening = wire.read("open", state["opening"])
        respondent = self._respondent(message)
        respondent.open(message.settings, [column.name for column in message.columns])
        self._run = (run, respondent)
        return respondent

    # -- what answers come from -----------------------------------------------------------------------------------

    def _respondent(self, message: Opening) -> Respondent:
        from ..data.schema import Schema
        from .released import ReleasedSite

        if self._release is not None:
            site = ReleasedSite(self._release)
            site.name = self.name
            return site
        assert self._table is not None
        data: Any = self._data if self._data != "auto" else message.data
        missing: Any = self._missing
        if self.privacy is None:
            return KeptSite(
                self._table,
                Reading(Schema(message.columns), data, missing),
                self._targets,
                self.place,
                self._mark,
            )
        if self.privacy.mechanism == "regret":
            from .noisy import NoisySite

            return NoisySite(
                self._table, self.privacy, schema=self._schema, data=data, missing=missing, targets=self._targets
            )
        from ..privacy.site_release import release_table

        options: dict[str, Any] = {"schema": self._schema, "data": data, "missing": missing, "targets": self._targets}
        return ReleasedSite(release_table(self._table, self.privacy, **options)[0])

    def _check_options(self) -> None:
        if self._data not in wire.DATA:
            raise InputError(f"the type of data is one of {', '.join(wire.DATA)}; not {self._data!r}")
        if self._missing not in ("error", "drop"):
            raise InputError(f"missing is error or drop, not {self._missing!r}")
        if self._release is not None and (self.privacy is not None or self._targets is not None):
            raise InputError(f"site {self.name!r} is a release, and its price and targets are settled; leave them out")
        if self.policy.privacy_required and self.privacy is None and self._release is None:
            raise InputError(f"site {self.name!r} requires privacy, and none is set: give epsilon and bounds")
        if self._release is not None and self.policy.privacy_required and not self._release.private:
            raise InputError(f"site {self.name!r} requires privacy, and its release is NOT PRIVATE: it is of a test")

    def _find_place(self, store: Any) -> Place:
        from ..privacy.store import Store

        self._mark = self._fingerprint()
        return Store(store).place(self.name, self._mark)

    def _fingerprint(self) -> str:
        """Identify what the site answers from; it stays here."""
        from ..data.bounded import fingerprint
        from .released import ReleasedSite

        if self._table is not None:
            return fingerprint(self._table)
        return ReleasedSite(_named(self._release)).fingerprint()

    def _make_card(self) -> Card:
        """Describe the site by what is declared, and by the kinds of its columns."""
        if self._release is not None:
            return Card(self.name, self._release.schema.columns, _promise(self._release))
        assert self._table is not None
        if self.privacy is not None:
            from ..privacy.bounds import public_schema

            known = public_schema(self._table.columns, self.privacy.bounds, self._schema, self.name)
            return Card(self.name, known.columns, _promise(self.privacy))
        from .site import _checked_targets

        self._targets = _checked_targets(self._targets, self._table.columns, self.name)
        return Card(self.name, _declared(self._table, self._schema, self._missing))

    def _check_columns(self, message: Opening) -> None:
        own = {column.name: column for column in self.card.columns}
        if sorted(own) != sorted(column.name for column in message.columns):
            raise Refused("the run is about other columns than this site has")
        for column in message.columns:
            if column.kind != own[column.name].kind:
                raise Refused(
                    f"the run takes the column {column.name!r} as {column.kind}, and it is {own[column.name].kind} "
                    "here: agree on a schema"
                )
            if column.kind == "categorical" and column.levels is None and self.card.promise is None:
                raise Refused(f"the levels of the column {column.name!r} are not declared: agree on a schema")
        if message.data not in ("auto", self._data) and self._data != "auto":
            raise Refused(f"the run takes the columns as {message.data!r}, and this site as {self._data!r}")

    def _price_ahead(self) -> str:
        """Say what the next run would cost; nothing is drawn or paid."""
        if self._release is not None:
            return "nothing, the release is paid for."
        if self.privacy is None:
            return "no noise is added, so no promise is kept; regrets without noise tell much of a table."
        assert self._table is not None
        from ..privacy.site_release import Budget, plan_release

        budget = Budget.look(self._table, self.privacy)
        ledger = budget.ledger
        left = f"ledger: spent {ledger.spent:.4g} of {ledger.ceiling.epsilon:g}."
        if self.privacy.mechanism == "regret":
            return f"at most epsilon {self.privacy.epsilon:g}, delta {self.privacy.delta:g}; {left}"
        options: dict[str, Any] = {"schema": self._schema, "data": self._data}
        missing: Any = self._missing
        if budget.holds(plan_release(self._table, self.privacy, **options), missing):
            return f"nothing, the noise was drawn before; {left}"
        return f"epsilon {self.privacy.epsilon:g}, delta {self.privacy.delta:g}, once; {left}"


def _release(source: Any) -> Release | None:
    from os import PathLike

    from ..privacy import Release, is_release, load_release

    if isinstance(source, Release):
        return source
    if isinstance(source, str | PathLike) and is_release(source):
        return load_release(source)
    return None


def _named(release: Release | None) -> Release:
    assert release is not None
    return release


def _table(source: Any, name: str | None) -> Table:
    from ..data import open_table

    return open_table(source, name)


def _declared(table: Table, schema: Schema | None, missing: Any) -> tuple[Any, ...]:
    """Columns with their kinds, which the table shows, and with levels and bounds only if the schema declares them."""
    from ..data.findings import raise_errors
    from ..data.infer import unify
    from ..data.profile import scan
    from ..data.schema import Column

    found, findings = unify([scan(table, missing, schema=schema)], schema)
    raise_errors(findings)
    return tuple(
        schema[c.name] if schema is not None and c.name in schema else Column(c.name, c.kind) for c in found.columns
    )


def _promise(of: Privacy | Release) -> dict[str, Any]:
    return {
        "mechanism": getattr(of, "mechanism", "statistics"),
        "epsilon": of.epsilon,
        "delta": of.delta,
    }


def _promise_words(promise: dict[str, Any]) -> str:
    return (
        f"that its answers keep epsilon {promise['epsilon']:g}, delta {promise['delta']:g} "
        f"(noise on {'every answer' if promise['mechanism'] == 'regret' else 'its statistics'})"
    )


def _asked_words(sets: int, directions: int) -> str:
    parts = [f"{sets} regrets of candidate parent sets"] if sets else []
    parts += [f"{directions} numbers on directions of edges"] if directions else []
    return " and ".join(parts) or "no numbers"


def _spent(privacy: Mapping[str, Any] | None) -> str:
    """Say what has been paid by now."""
    if privacy is None:
        return "Privacy price: none paid, no noise was added."
    ledger = privacy.get("ledger")
    spent = "" if not ledger else f" Ledger: epsilon {ledger['spent']:.4g} of {ledger['ceiling']['epsilon']:g} spent."
    promise = f"Privacy promise: epsilon {privacy['epsilon']:g}, delta {privacy['delta']:g}."
    return promise + spent


_IN_THE_LOG = "its own log says why (reasons that may name values of a table are not sent)"


def _key(run: str) -> str:
    return f"run {run}"
