"""Sites in several processes or threads of this machine: the same answers as from one, on more than one core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from ..coordinator.coordinator import InProcess, common_names
from ..errors import InputError
from ..protocol.messages import Families, Floats, Question, Settings, Welcome
from ..site.site import Respondent, Site
from ..tables.in_threads import in_turn, spread
from .siteprocess import SiteProcess


class Pooled:
    """Sites dealt out to processes, which hold them for the whole run: a transport, to be used in a `with` statement.

    Sites are handed over once, then opened and asked in their processes. What comes back is in the order of the sites,
    and so are errors: of several, the first site's is raised. The objects given stay as they are, not opened.

    Parameters
    ----------
    sites : sequence of Respondent
        The sites. One that pays for its answers does so in its process, and nowhere else.
    jobs : int
        How many processes; no more than sites are used.

    Raises
    ------
    InputError
        What a site refuses; a site that cannot be sent to another process; a process that does not start, or dies.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.federation import Families, Settings
    >>> import numpy as np
    >>> collider = np.array([[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]])
    >>> sites = [fp.OracleSite(collider, n=1e10, name=name) for name in ("north", "south")]
    >>> with Pooled(sites, jobs=2) as transport:
    ...     welcomes = transport.open(Settings("adaptive"))
    ...     answers = transport.ask([Families(np.array([2]), np.array([[0]]), np.array([[1]]))])
    >>> [welcome.site for welcome in welcomes], [one[0].shape for one in answers]
    (['north', 'south'], [(1, 2), (1, 2)])
    """

    def __init__(self, sites: Sequence[Respondent], jobs: int) -> None:
        self._sites = list(sites)
        self._jobs = max(1, min(jobs, len(self._sites)))
        self._processes: list[SiteProcess] = []
        self._fingerprints: list[str] = []
        self._private = False

    def __enter__(self) -> Self:
        """Start the processes, and hand the sites over."""
        try:
            for _ in range(self._jobs):
                self._processes.append(SiteProcess())
            list(in_turn([self._of(at).take(at, site) for at, site in enumerate(self._sites)]))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the processes, whatever happened."""
        self.close()

    def close(self) -> None:
        """End the processes: at once, but for a site that has paid for an answer and not yet kept it."""
        processes, self._processes = self._processes, []
        for process in processes:
            process.leave()
        for process in processes:
            process.end()

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes, for those who watch them."""
        return [process.pid for process in self._processes]

    def open(self, settings: Settings) -> list[Welcome]:
        """Begin a run at every site, with the variables in the order of the first one."""
        names = common_names([(site.name, site.names) for site in self._sites])
        opened = self._each("open", settings, names)
        welcomes = [welcome for welcome, _ in opened]
        self._fingerprints = [mark for _, mark in opened]
        self._private = any(welcome.privacy is not None for welcome in welcomes)
        return welcomes

    def fingerprints(self) -> list[str]:
        """Identify what the sites answer from, as when the run was opened."""
        return self._fingerprints

    def privacy(self) -> list[dict[str, Any] | None]:
        """Return what the sites tell about their privacy by now, with what an interrupted question may have cost."""
        return self._each("privacy") if self._private else [None] * len(self._sites)

    def ask(self, questions: Sequence[Question]) -> list[list[Floats]]:
        """Put the same questions to every site."""
        return self._each("answer", list(questions))

    def _each(self, what: str, *arguments: Any) -> list[Any]:
        if not self._processes:
            raise InputError("the processes of these sites have ended: use `with Pooled(...)` around the whole run")
        calls = [self._of(at).call(what, at, site.name, *arguments) for at, site in enumerate(self._sites)]
        return list(in_turn(calls))

    def _of(self, at: int) -> SiteProcess:
        return self._processes[at % len(self._processes)]


class Threaded(InProcess):
    """Sites in this process, dealt out to threads: for those that do nearly all their work in compiled loops.

    Loops leave other threads free, and nothing has to be started or sent. What takes no time, and phase 2, which is
    Python's work, is done in turn. To be used in a `with` statement.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.federation import Settings
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
    return isinstance(site, Site) and site.reading.known is None and not site.table.is_file
