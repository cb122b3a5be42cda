"""Controls for comparisons: a method on each site alone, and on all rows in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ..errors import InputError
from ..graph.metrics import f1, shd
from ..graph.pdag import PDAG
from ..site.respondent import Respondent
from ..site.site import Site
from .federate import as_respondents
from .result import Result

if TYPE_CHECKING:
    import pandas as pd


class Method(Protocol):
    """Anything with ``fit(sites) -> Result``."""

    def fit(self, sites: Any, /) -> Result:
        """Find a graph."""


def each_alone(method: Method, sites: Any) -> dict[str, Result]:
    """Run a method on each site separately.

    Parameters
    ----------
    method : IPERI, PERI, NotearsADMM, FedDAG, FedCDH, or anything with ``fit``
        The method.
    sites : list or mapping
        As for its ``fit``.

    Returns
    -------
    dict of str to Result
        By the names of the sites.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.methods.controls import each_alone
    >>> sim = fp.simulate(3, clients=2, samples=500, seed=1)
    >>> list(each_alone(fp.NotearsADMM(), sim.sites))
    ['site 1', 'site 2']
    """
    return {site.name: method.fit([site]) for site in _some_sites(sites)}


def best_single_site(method: Method, sites: Any, truth: PDAG) -> Result:
    """Run a method on every site alone, and return the result nearest to the truth.

    The nearest result has the smallest SHD, then the largest F1; of several, the first is returned. This is the best
    result that a single site could have, and a federation should be better.

    Parameters
    ----------
    method : IPERI, PERI, NotearsADMM, FedDAG, FedCDH, or anything with ``fit``
        The method.
    sites : list or mapping
        As for its ``fit``.
    truth : PDAG
        The true DAG.

    Returns
    -------
    Result
        Its `sites` names the site.

    Examples
    --------
    >>> import fedperi as fp
    >>> sim = fp.simulate(3, clients=3, samples=500, seed=1)
    >>> len(fp.best_single_site(fp.NotearsADMM(), sim.sites, sim.dag).sites)
    1
    """
    found = each_alone(method, sites).values()
    return min(found, key=lambda result: (shd(result.graph, truth), -f1(result.graph, truth)))


def pooled(method: Method, sites: Any) -> Result:
    """Run a method on the rows of all sites in one table, as one site called "pooled".

    For simulations, where pooling is allowed. A method can be better than with the pooled table: if sites differ by
    interventions, this table has dependences that no site has.

    Parameters
    ----------
    method : IPERI, PERI, NotearsADMM, FedDAG, FedCDH, or anything with ``fit``
        The method.
    sites : list or mapping
        DataFrames, paths of tables, or `Site` objects; declared targets are not used.

    Examples
    --------
    >>> import fedperi as fp
    >>> sim = fp.simulate(3, clients=3, samples=500, seed=1)
    >>> fp.pooled(fp.NotearsADMM(), sim.sites).manifest["sites"][0]["n"]
    1500
    """
    return method.fit({"pooled": pooled_table(sites, getattr(method, "schema", None))})


def pooled_table(sites: Any, schema: Any = None) -> pd.DataFrame:
    """Return the rows of all sites in one table, including rows with missing values: the method decides about them.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.methods.controls import pooled_table
    >>> pooled_table(fp.simulate(3, clients=3, samples=500, seed=1).sites).shape
    (1500, 3)
    """
    import pandas as pd

    from ..tables import infer_schema
    from ..tables.encode import read_rows
    from ..tables.table import CHUNK

    tables = {}
    for site in _some_sites(sites):
        if not isinstance(site, Site):
            raise InputError(f"site {site.name!r} has no rows that could be pooled; give it a table")
        tables[site.name] = site.table
    shared = infer_schema(tables, schema)
    frames = [frame for table in tables.values() for frame in read_rows(table, shared, chunk=CHUNK, missing="error")]
    return pd.concat(frames, ignore_index=True)


def _some_sites(sites: Any) -> list[Respondent]:
    respondents = as_respondents(sites)
    if not respondents:
        raise InputError("a federation needs at least one site; the list is empty")
    return respondents
