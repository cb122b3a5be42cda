"""The status of a site, for its status page and for monitors, read from memory and from the site's disk.

It holds no value of the table. Reasons of refusals, which may name one, stay in the log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..privacy.ledger import Ceiling, Ledger
from .approval import Item, read_item

if TYPE_CHECKING:
    from .service.work import SiteWork

SHOWN = 100
"""Number of lines of the log that are shown."""

_LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC  run (\S+): (.*)")


@dataclass(frozen=True)
class Budget:
    """What a site has spent and may spend; each release has its time, a description, epsilon and delta."""

    spent: float
    ceiling: float
    delta: float
    releases: tuple[tuple[str, str, float, float], ...]


@dataclass(frozen=True)
class SiteStatus:
    """The status of a site: `problem` names a file that cannot be read, `log` has time, run and words of each line."""

    site: str
    store: Path
    channel: str
    private: bool
    begun: float
    alive: bool
    connected: bool
    contact: float | None
    messages: Mapping[str, int]
    refusals: int
    sent: int
    received: int
    stated: bool
    item: Item | None
    budget: Budget | None
    problem: str
    log: tuple[tuple[str, str, str], ...]

    @property
    def waits(self) -> bool:
        """Whether a request waits for the owner."""
        return self.item is not None and self.item.waits


def site_status(work: SiteWork) -> SiteStatus:
    """Read the status of a site.

    Examples
    --------
    >>> import tempfile
    >>> import fedperi as fp
    >>> from fedperi.protocol.policy import SitePolicy
    >>> from fedperi.site.service.work import SiteWork
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = fp.simulate(3, clients=2, samples=200, seed=1).sites[0]
    ...     work = SiteWork(table, name="north", store=folder, policy=SitePolicy("moments"))
    ...     status = site_status(work)
    >>> status.site, status.connected, status.waits, status.log
    ('north', False, False, ())
    """
    tally = work.tally
    item, budget, problem = None, None, ""
    try:
        item, budget = read_item(work.place), _budget(work)
    except InputError as error:
        problem = str(error)
    return SiteStatus(
        site=work.name,
        store=work.place.path.parent,
        channel=work.policy.channel,
        private=work.card.promise is not None,
        begun=tally.begun,
        alive=tally.alive,
        connected=tally.connected,
        contact=tally.contact,
        messages=tally.messages,
        refusals=tally.refusals,
        sent=tally.sent,
        received=tally.received,
        stated=work.stated,
        item=item,
        budget=budget,
        problem=problem,
        log=tuple(parsed(line) for line in reversed(work.log.tail(SHOWN))),
    )


def _budget(work: SiteWork) -> Budget | None:
    if work.source.privacy is None:
        return None
    ledger = Ledger.look(work.place, site=work.name, table=work.source.initial_fingerprint)
    if ledger is None:
        chosen = work.source.privacy.ceiling
        ceiling = Ceiling() if chosen is None else Ceiling(chosen)
        return Budget(0.0, ceiling.epsilon, ceiling.delta, ())
    entries = tuple((entry.when, entry.what, entry.price.epsilon, entry.price.delta) for entry in ledger.releases)
    return Budget(ledger.spent, ledger.ceiling.epsilon, ledger.ceiling.delta, entries)


def parsed(line: str) -> tuple[str, str, str]:
    """Split a line of the log into time, run and words; leave out the reason of a refusal.

    Examples
    --------
    >>> parsed("2026-11-16 06:12:56 UTC  run r1: refused 'open': column 'age': the value 'abc' is not a number")
    ('2026-11-16 06:12:56', 'r1', "refused 'open': the log says why.")
    >>> parsed("2026-11-16 06:12:56 UTC  run r1: refused by ann: the statement with the code 0123456789ab.")[2]
    'refused by ann: the statement with the code 0123456789ab.'
    """
    found = _LINE.fullmatch(line)
    if found is None:
        return "", "", "a line of the log that this version cannot read"
    when, run, what = found.groups()
    if what.startswith("refused ") and not what.startswith("refused by "):
        what = f"{what.partition(':')[0]}: the log says why."
    return when, run, what
