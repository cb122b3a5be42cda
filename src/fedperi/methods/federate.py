"""Build a federation from what a user passes: tables, files, releases, sites, or a connected transport."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, ValuesView
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union, cast

from numpy.typing import NDArray

from ..coordinator.coordinator import Transport
from ..errors import InputError
from ..graph.pdag import PDAG
from ..names import check_name
from ..scores import _kernel as kernel
from ..site.factory import as_statement, make_site, prepare_private_site
from ..site.released import ReleasedSite
from ..site.respondent import Respondent
from ..site.site import Site
from ..site.summarised import SummarySite
from ..tables.in_threads import cores
from ..tables.reading import Reading
from ..tables.summary.summary import Summary
from ..tables.table import Source
from ..transports.in_process import InProcess, Threaded

if TYPE_CHECKING:
    from ..privacy import Privacy, Release

Entry: TypeAlias = Union[Source, NDArray[Any], Respondent, Summary, "Release"]
"""What can be a site of its own: a DataFrame, an array, the path of a table or statement, or an object of fedperi."""

Sites: TypeAlias = Mapping[str, Entry] | Sequence[Entry] | ValuesView[Entry] | Iterator[Entry] | Transport
"""What ``fit`` takes: some entries, a mapping of names to them, or a transport that is connected already. `Iterable`
would include dictionaries as iterables of keys, and type checkers would then refuse ``{**tables, "Metz": table}``."""

WIDE, MUCH = 100, 2000
"""With at least this number of variables, per site and over all sites, it is faster to process sites in parallel."""

LONG = 8 << 20
"""The same for the total size of the files, in bytes."""


@contextmanager
def federation(
    sites: Any, *, jobs: int | None = None, learn: bool = False, local: Callable[..., PDAG] | None = None, **how: Any
) -> Iterator[Transport]:
    """Make a transport as `as_transport` does; `jobs` local sites are processed in parallel, in threads.

    If `jobs` is not given, `jobs_that_pay` chooses it. Sites that learn their own graphs are then processed one after
    the other: most of this work is done by Python, which threads do not make faster.

    Examples
    --------
    >>> import fedperi as fp
    >>> with federation(fp.simulate(3, clients=2, samples=100, seed=1).sites, jobs=1) as transport:
    ...     type(transport).__name__
    'InProcess'
    """
    if jobs is None:
        sites = sites if is_connected(sites) else as_respondents(sites)
        jobs = 1 if learn or is_connected(sites) else jobs_that_pay(sites)
    if jobs > 1 and is_connected(sites):
        raise InputError(
            f"jobs={jobs} is for tables and sites given here; these are connected already, and work where they are; "
            "leave it out"
        )
    transport = as_transport(sites, local=local, jobs=jobs, **how)
    if jobs == 1 or not isinstance(transport, InProcess) or len(transport.sites) < 2:
        yield transport
    else:
        with Threaded(transport.sites, jobs) as several:
            yield several


def jobs_that_pay(sites: Sequence[Respondent]) -> int:
    """Number of sites that should be processed in parallel: the number of cores, or one if this is not slower.

    Examples
    --------
    >>> import fedperi as fp
    >>> jobs_that_pay(as_respondents(fp.simulate(3, clients=2, samples=100, seed=1).sites))
    1
    """
    if kernel.kind() == "numpy":  # most of the time is spent in Python, which threads do not make faster
        return 1
    files = [Path(site.table.origin) for site in sites if isinstance(site, Site) and site.table.is_file]
    long = sum(file.stat().st_size for file in files if file.is_file()) >= LONG
    variables = [len(site.names) for site in sites]
    return cores() if long or (max(variables, default=0) >= WIDE and sum(variables) >= MUCH) else 1


def as_transport(
    sites: Any,
    *,
    schema: Any = None,
    data: str = "auto",
    missing: str = "error",
    local: Callable[..., PDAG] | None = None,
    privacy: Privacy | None = None,
    jobs: int = 1,
) -> Transport:
    """Make a transport of tables (DataFrames, paths), releases or sites; `jobs` files are read at the same time.

    A transport that is connected already is returned as it is.
    """
    if is_connected(sites):
        if privacy is not None:
            raise InputError("these sites are connected already, and each decides about its own privacy; leave it out")
        return cast(Transport, sites)
    respondents, reading = as_respondents(sites), Reading.of(schema, data, missing)
    check_same_schema([site for site in respondents if isinstance(site, ReleasedSite)])
    _check_summaries_suffice([site for site in respondents if isinstance(site, SummarySite)], reading.data)
    for site in respondents:
        if isinstance(site, ReleasedSite | SummarySite):
            site.local = local
    if privacy is not None:
        return InProcess(protected(respondents, privacy, reading, local))
    respondents = [copy(site) if isinstance(site, Site) else site for site in respondents]
    tables = [site for site in respondents if isinstance(site, Site)]
    if tables:
        from ..tables import open_tables
        from ..tables.survey import survey

        opened = open_tables({site.name: site.table for site in tables})
        found = survey(opened, reading.schema, reading.data, jobs)
        for site, table in zip(tables, found.tables, strict=True):
            site.table = table
            site.reading = replace(reading, schema=found.schema)
            site.local, site.known = local, found.statistics.get(site.name)
    return InProcess(respondents)


def _check_summaries_suffice(sites: Sequence[SummarySite], data: str) -> None:
    """Refuse scores that need more than the means and covariances in a summary."""
    for site in sites:
        numbers = set(site.summary.kinds) == {"continuous"}
        if data in ("nonlinear", "discrete") or (data == "linear" and not numbers):
            needs = {
                "nonlinear": "polynomials in the range of its own columns",
                "discrete": "counts of combinations of levels",
                "linear": "categories as numbers",
            }[data]
            raise InputError(
                f"site {site.name!r} is known by its summary, and data={data!r} needs {needs}, which a summary does "
                "not have; leave data out, or give the table"
            )


def by_indicators(transport: Transport) -> list[str]:
    """Say that summaries with only categories are scored differently from their tables."""
    sites = transport.sites if isinstance(transport, InProcess) else ()
    named = [s.name for s in sites if isinstance(s, SummarySite) and set(s.summary.kinds) == {"categorical"}]
    if not named:
        return []
    return [
        f"All columns are categories, and {', '.join(named)} gave summaries: they are scored by indicators, as with "
        "data='mixed'. From tables, combinations of levels would be counted, and the result may differ."
    ]


def is_connected(sites: Any) -> bool:
    """Whether the sites are a transport, which is connected already."""
    return hasattr(sites, "open") and hasattr(sites, "ask")


def protected(
    respondents: list[Respondent], privacy: Privacy, reading: Reading, local: Callable[..., PDAG] | None = None
) -> list[Respondent]:
    """Turn every table into a site with privacy noise. All sites are checked before the first one is charged."""
    from ..tables import open_table

    for site in respondents:
        if isinstance(site, ReleasedSite):
            raise InputError(f"site {site.name!r} is a release, and its price is settled; leave privacy out")
        if not isinstance(site, Site):
            raise InputError(f"site {site.name!r} has no rows that privacy could protect; leave privacy out")
    prepared = [
        prepare_private_site(open_table(site.table, site.name), privacy, reading, site.targets, local)
        for site in respondents
        if isinstance(site, Site)
    ]
    return [make() for make in prepared]


def check_same_schema(sites: Sequence[ReleasedSite]) -> None:
    """Raise unless all releases follow one schema."""
    from ..tables.schema import differences

    for site in sites[1:]:
        found = differences(sites[0].release.schema, site.release.schema, (repr(sites[0].name), repr(site.name)))
        if found:
            raise InputError(f"the releases follow different schemas: {found[0]}; release again with the same bounds")


def as_respondents(sites: Any) -> list[Respondent]:
    """Turn every entry into a site, with the given name or that of its file or position."""
    respondents = _respondents(sites)
    for site in respondents:
        check_name(site.name, "a site")
        for position, name in enumerate(site.names, start=1):
            check_name(name, f"site {site.name!r}, variable {position}")
    names = [site.name for site in respondents]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two sites are called {twice!r}: give each a name of its own")
    return respondents


def _respondents(sites: Any) -> list[Respondent]:
    from ..privacy import Release
    from ..tables.readers.formats.naming import each_source
    from ..tables.table import named_sources

    if isinstance(sites, Respondent):
        raise InputError("give a list of sites, even if there is only one")
    if isinstance(sites, Mapping):
        return [make_site(source, name) for name, source in sites.items()]
    if not isinstance(sites, Iterable):
        raise InputError(f"sites must be a list of tables, files or sites, not {type(sites).__name__}")
    if hasattr(sites, "columns") or isinstance(sites, str):
        named_sources(cast(Any, sites))  # a single table or path: raises, and says what to give instead
    entries = [as_statement(one) or one for entry in sites for one in each_source(entry)]
    ready = (Respondent, Release, Summary)
    sources: list[Any] = [entry for entry in entries if not isinstance(entry, ready)]
    tables = (make_site(source, name) for name, source in named_sources(sources))
    return [make_site(entry) if isinstance(entry, ready) else next(tables) for entry in entries]
