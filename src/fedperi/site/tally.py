"""Counts of a running site, for its status page and metrics; another thread may read them at any moment."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

SILENT = 120.0
"""A site counts as stuck after this number of seconds without activity, unless it is answering a message. It tries to
connect every 15 seconds at most, and an attempt takes 10 seconds."""


@dataclass
class SiteTally:
    """Counts since the site was started.

    Parameters
    ----------
    begun : float
        Time of the start, from `time.time`.

    Examples
    --------
    >>> tally = SiteTally()
    >>> with tally.answering("hello"):
    ...     tally.alive
    True
    >>> tally.add(sent=612)
    >>> tally.messages, tally.sent
    ({'hello': 1}, 612)
    """

    begun: float = field(default_factory=time.time)
    connected: bool = False
    contact: float | None = None
    refusals: int = 0
    sent: int = 0
    received: int = 0

    def __post_init__(self) -> None:
        self._kinds: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._beat = time.monotonic()
        self._busy = False

    @property
    def messages(self) -> Mapping[str, int]:
        """Number of messages of each kind that were answered."""
        with self._lock:
            return dict(sorted(self._kinds.items()))

    @property
    def alive(self) -> bool:
        """Whether the loop that answers messages runs; a long computation counts as running."""
        return self._busy or time.monotonic() - self._beat < SILENT

    def beat(self) -> None:
        """Note that the loop runs."""
        self._beat = time.monotonic()

    def reached(self) -> None:
        """Note that the coordinator has just been reached."""
        self.beat()
        self.connected, self.contact = True, time.time()

    def lost(self) -> None:
        """Note that there is no connection."""
        self.beat()
        self.connected = False

    @contextmanager
    def answering(self, kind: str) -> Iterator[None]:
        """Count a message; the loop counts as busy until it is answered."""
        self._busy = True
        with self._lock:
            self._kinds[kind] += 1
        try:
            yield
        finally:
            self.beat()
            self._busy = False

    def add(self, sent: int = 0, received: int = 0, refusals: int = 0) -> None:
        """Count bytes and refusals."""
        with self._lock:
            self.sent, self.received = self.sent + sent, self.received + received
            self.refusals += refusals
