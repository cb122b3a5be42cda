"""Sites in this process: one after the other, or in several threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..coordinator.coordinator import common_names
from ..protocol.messages import Families, Floats, Question, Settings, Welcome
from ..protocol.worker import Payload, State
from ..protocol.workers import worker_class
from ..site.respondent import Respondent, digest
from ..site.site import Site
from ..tables.in_threads import spread


class InProcess:
    """Sites in this process: for simulation, tests, and tables that are in one place."""

    def __init__(self, sites: Sequence[Respondent]) -> None:
        self.sites = tuple(sites)

    def open(self, settings: Settings) -> list[Welcome]:
        """Begin a run at every site, with the variables in the order of the first one."""
        names = common_names([(site.name, site.names) for site in self.sites])
        return [site.open(settings, names) for site in self.sites]

    @property
    def widest(self) -> int:
        """Columns, or levels, of the widest variable, as the opened sites score it."""
        return max((site.widest for site in self.sites), default=1)

    @property
    def counted(self) -> bool:
        """Whether one of the opened sites may score by counts."""
        return any(site.counted for site in self.sites)

    def fingerprints(self) -> list[str]:
        """Identify the data of every site, for the manifest of a run in one place; never sent over a network."""
        return [site.fingerprint() for site in self.sites]

    @property
    def dropped(self) -> tuple[()]:
        """No site: those in this process cannot be lost."""
        return ()

    def close(self) -> None:
        """Do nothing: sites in this process need no message that the run is over."""

    def privacy(self) -> list[dict[str, Any] | None]:
        """Return what each site says about its privacy so far; answers may have cost something since the welcome."""
        return [site.privacy for site in self.sites]

    def ask(self, questions: Sequence[Question]) -> Iterator[list[Floats]]:
        """Put the same questions to every site; a site answers when its item is taken from the iterator."""
        for site in self.sites:
            yield [site.answer(question) for question in questions]


class Threaded(InProcess, AbstractContextManager["Threaded"]):
    """Sites in this process, distributed over threads, with the same answers. Use it in a `with` statement.

    Only compiled loops run in parallel; threads do not make Python code faster. So the questions of phase 2, and very
    quick answers, are processed one site after the other.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.protocol.messages import Settings
    >>> sites = [fp.OracleSite([[1, 0.5], [0.5, 1]], n=100, names=["A", "B"], name=name) for name in ("north", "south")]
    >>> with Threaded(sites, 2) as transport:
    ...     [welcome.site for welcome in transport.open(Settings("adaptive"))]
    ['north', 'south']
    """

    def __init__(self, sites: Sequence[Respondent], jobs: int) -> None:
        super().__init__(sites)
        self._jobs = jobs
        self._threads = ThreadPoolExecutor(jobs, "fedperi-site")

    def __exit__(self, *error: object) -> None:
        """End the threads."""
        self._threads.shutdown(cancel_futures=True)

    def open(self, settings: Settings) -> list[Welcome]:
        """Begin a run at every site, with the variables in the order of the first one."""
        names = common_names([(site.name, site.names) for site in self.sites])
        jobs = 1 if any(map(_reads_memory, self.sites)) else self._jobs
        return list(spread(self._threads, jobs, lambda site: site.open(settings, names), self.sites))

    def ask(self, questions: Sequence[Question]) -> Iterator[list[Floats]]:
        """Put the same questions to every site."""
        if not all(isinstance(question, Families) for question in questions):
            return super().ask(questions)
        return spread(
            self._threads, self._jobs, lambda site: [site.answer(question) for question in questions], self.sites
        )


def _reads_memory(site: Respondent) -> bool:
    """Whether a site has to read a DataFrame again, which threads do not make faster."""
    return isinstance(site, Site) and site.known is None and not site.table.is_file


class WorkInProcess:
    """Workers in this process: for simulation, tests, and tables that are in one place.

    Parameters
    ----------
    rows : mapping of str to array
        The table of every site as numbers, all with the same order of columns.
    names : sequence of str
        The variables.
    """

    def __init__(self, rows: Mapping[str, NDArray[np.float64]], names: Sequence[str]) -> None:
        self._rows, self._names = dict(rows), tuple(names)

    def begin(self, worker: str) -> list[Welcome]:
        """Begin a run of a method at every site."""
        make = worker_class(worker)
        self._workers = [make(rows, site) for site, rows in self._rows.items()]
        self._states: list[State] = [{} for _ in self._workers]
        return [Welcome(site, self._names, len(rows)) for site, rows in self._rows.items()]

    @property
    def dropped(self) -> tuple[()]:
        """No site: those in this process cannot be lost."""
        return ()

    def close(self) -> None:
        """Do nothing: workers in this process need no message that the run is over."""

    def fingerprints(self) -> list[str]:
        """Identify the rows of every site; never sent over a network."""
        return [digest(self._names, len(rows), rows) for rows in self._rows.values()]

    def perform(self, kind: str, payload: Payload) -> list[Payload]:
        """Perform a step at all sites."""
        done = [worker.perform(kind, payload, state) for worker, state in zip(self._workers, self._states, strict=True)]
        self._states = [state for _, state in done]
        return [answer for answer, _ in done]
