"""Sites in several threads of this process: the same answers as from one, on more than one core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from ..coordinator.coordinator import InProcess, common_names
from ..protocol.messages import Families, Floats, Question, Settings, Welcome
from ..site.site import Respondent, Site
from ..tables.in_threads import spread


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
