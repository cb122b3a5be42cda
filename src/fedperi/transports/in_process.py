"""Sites in this process: one after the other, or in several threads, with the same answers on more than one core."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

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
        self._sites = list(sites)

    @property
    def sites(self) -> tuple[Respondent, ...]:
        """The sites."""
        return tuple(self._sites)

    def open(self, settings: Settings) -> list[Welcome]:
        """Begin a run at every site, with the variables in the order of the first one."""
        names = common_names([(site.name, site.names) for site in self._sites])
        return [site.open(settings, names) for site in self._sites]

    @property
    def widest(self) -> int:
        """Columns, or levels, of the widest variable, as the sites score it since they were opened."""
        return max((site.widest for site in self._sites), default=1)

    @property
    def counted(self) -> bool:
        """Whether a site may score by counts, since it was opened."""
        return any(site.counted for site in self._sites)

    def fingerprints(self) -> list[str]:
        """Identify what the sites answer from, for the manifest of a run in one place; never sent over a network."""
        return [site.fingerprint() for site in self._sites]

    @property
    def dropped(self) -> tuple[()]:
        """Nobody: sites in this process stay."""
        return ()

    def close(self) -> None:
        """Do nothing: a site in this process need not be told."""

    def privacy(self) -> list[dict[str, Any] | None]:
        """Return what the sites say about their privacy by now; answers may have cost something since the welcome."""
        return [site.privacy for site in self._sites]

    def ask(self, questions: Sequence[Question]) -> Iterator[list[Floats]]:
        """Put the same questions to every site, one after the other, as answers are taken."""
        for site in self._sites:
            yield [site.answer(question) for question in questions]


class Threaded(InProcess):
    """Sites in this process, distributed over threads. To be used in a `with` statement.

    Compiled loops leave other threads free; what Python does itself gains nothing. So phase 2, and what takes no time,
    is done one site after the other.

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

    def __enter__(self) -> Self:
        """Return this."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
    """Whether a site has to read a DataFrame again, which is Python's work."""
    return isinstance(site, Site) and site.known is None and not site.table.is_file


class WorkInProcess:
    """Workers in this process: for simulation, tests, and tables that are in one place.

    Parameters
    ----------
    rows : mapping of str to array
        For every site its table as numbers, columns in one order.
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
        """Nobody: sites in this process stay."""
        return ()

    def close(self) -> None:
        """Do nothing: a worker in this process need not be told."""

    def fingerprints(self) -> list[str]:
        """Identify the rows of every site; never sent over a network."""
        return [digest(self._names, len(rows), rows) for rows in self._rows.values()]

    def perform(self, kind: str, payload: Payload) -> list[Payload]:
        """Send a step to all sites."""
        answers = []
        for at, worker in enumerate(self._workers):
            answer, self._states[at] = worker.perform(kind, payload, self._states[at])
            answers.append(answer)
        return answers
