"""Counts of a running coordinator, for its status page and monitors; another thread may read them at any moment.

The run itself does not need them.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

from ..strict import is_number

if TYPE_CHECKING:
    from .record import Journal

SILENT = 180.0
"""A run that waits for sites or statements counts as stuck after this number of seconds without activity. Sites whose
owner has not decided yet are asked once a minute."""

SHOWN = 200
"""Number of lines about the run that are shown."""

REFUSED_KEY = "fedperi refused a key"
"""How a line begins if somebody without a valid key tried to connect."""

WAITING, ASKING, COMPUTING, DONE = "waiting for sites", "asking sites", "computing", "done"


class Counts(Protocol):
    """Numbers of rounds and bytes."""

    rounds: int
    sent: int
    received: int


@dataclass(frozen=True)
class SiteState:
    """One site: whether it is connected, when it was last seen, what it sent, the epsilon that it has spent."""

    site: str
    connected: bool
    seen: float | None
    stated: str
    epsilon: float | None
    waits: bool
    dropped: str


@dataclass(frozen=True)
class RunStatus:
    """A run at one moment."""

    run: str
    begun: float
    phase: str
    alive: bool
    wanted: int
    sites: tuple[SiteState, ...]
    contact: float | None
    rounds: int
    sent: int
    received: int
    refused_keys: int
    edges: tuple[tuple[str, ...], ...]
    place: str
    log: tuple[str, ...]


@dataclass
class RunTally:
    """Counts since the coordinator was started.

    Parameters
    ----------
    wanted : int
        Number of sites that should take part.
    names : collection of str
        The sites with a key.

    Examples
    --------
    >>> tally = RunTally(2, ["east", "north"])
    >>> tally.reached(["east"])
    >>> [(one.site, one.connected) for one in tally.status().sites]
    [('east', True), ('north', False)]
    """

    wanted: int
    names: Collection[str] = ()
    run: str = ""
    phase: str = "starting"
    begun: float = field(default_factory=time.time)
    waiting: tuple[str, ...] = ()
    dropped: Sequence[Mapping[str, str]] = ()
    traffic: Counts | None = None
    stated: Callable[[], Mapping[str, tuple[str, float | None]]] = dict
    refused_keys: int = 0
    edges: tuple[tuple[str, ...], ...] = ()
    place: str = ""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, float] = {}
        self._online: frozenset[str] = frozenset()
        self._lines: deque[str] = deque(maxlen=SHOWN)
        self._contact: float | None = None
        self._beat = time.monotonic()

    def reached(self, online: Collection[str] | None = None) -> None:
        """Note that the network has just answered, and which sites are connected if that is known."""
        now = time.time()
        with self._lock:
            self._beat, self._contact = time.monotonic(), now
            if online is not None:
                self._online = frozenset(online)
                self._seen |= dict.fromkeys(online, now)

    def note(self, line: str) -> None:
        """Add a line about the run."""
        with self._lock:
            self._lines.append(line)
            self.refused_keys += REFUSED_KEY in line

    @property
    def alive(self) -> bool:
        """Whether the run is active; a long computation counts as active."""
        return self.phase not in (WAITING, ASKING) or time.monotonic() - self._beat < SILENT

    def status(self) -> RunStatus:
        """Return the state of the run."""
        stated = self.stated()
        dropped = {one["site"]: one["why"] for one in tuple(self.dropped)}
        counts = self.traffic
        with self._lock:
            online, seen, lines, contact = self._online, dict(self._seen), tuple(self._lines), self._contact
        # During the computation nobody checks the connections, and sites that have sent their statement may stop.
        current = frozenset() if self.phase in (COMPUTING, DONE) else online
        sites = tuple(
            SiteState(
                name,
                name in current,
                seen.get(name),
                *stated.get(name, ("", None)),
                name in self.waiting,
                dropped.get(name, ""),
            )
            for name in sorted({*self.names, *seen, *stated, *dropped})
        )
        return RunStatus(
            run=self.run,
            begun=self.begun,
            phase=self.phase,
            alive=self.alive,
            wanted=self.wanted,
            sites=sites,
            contact=contact,
            rounds=0 if counts is None else counts.rounds,
            sent=0 if counts is None else counts.sent,
            received=0 if counts is None else counts.received,
            refused_keys=self.refused_keys,
            edges=self.edges,
            place=self.place,
            log=lines[::-1],
        )


def told_so_far(journal: Journal) -> dict[str, tuple[str, float | None]]:
    """Return what each site that answers questions said last about its privacy: in words, and the epsilon spent.

    Examples
    --------
    >>> from fedperi.coordinator.record import Journal
    >>> told_so_far(Journal())
    {}
    """
    found: dict[str, tuple[str, float | None]] = {}
    for settings in journal.settings:
        for site in journal.sites(settings):
            privacy = journal.privacy(settings, site)
            words = "answers without noise, NOT PRIVATE" if privacy is None else "answers with noise"
            ledger = (privacy or {}).get("ledger")
            epsilon = ledger.get("spent") if isinstance(ledger, dict) else (privacy or {}).get("epsilon")
            found[site] = (words, float(cast(float, epsilon)) if is_number(epsilon) else None)
    return found
