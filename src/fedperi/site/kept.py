"""Statistics of a table that a site keeps on its disk as text, so that another process can answer from them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..strict import Unreadable, pack, unpack
from ..tables.counts import Counts
from ..tables.reading import Reading
from ..tables.statistics import Statistics
from .secret import secret_seed
from .site import Site

if TYPE_CHECKING:
    from ..privacy.store import Place
    from ..tables.table import Table

FORMAT, VERSION = "fedperi.statistics", 1


def write_summary(summary: Statistics | Counts) -> str:
    """Write statistics or counts as JSON text; numbers are read back exactly.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import summarize
    >>> statistics = summarize(pd.DataFrame({"a": [0.1, 0.2, 0.4], "b": [1.0, 3.5, 5.0]}))
    >>> again = read_summary(write_summary(statistics))
    >>> (again.correlation == statistics.correlation).all(), again.n
    (np.True_, 3)
    """
    values = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(summary).items()}
    kind = "counts" if isinstance(summary, Counts) else "statistics"
    return pack(FORMAT, VERSION, {"kind": kind, **values})


def read_summary(text: str) -> Statistics | Counts:
    """Read what `write_summary` wrote.

    Examples
    --------
    >>> read_summary("{}")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: the statistics that were kept are damaged (it is not fedperi.statistics)
    """
    try:
        values = unpack(text, FORMAT, VERSION)
        if values.pop("kind") == "counts":
            codes = np.array(values.pop("codes"), np.int64).reshape(-1, len(values["names"]))
            return Counts(codes=codes, **values)
        return Statistics(**values)
    except (KeyError, TypeError, ValueError) as error:
        why = f" ({error})" if isinstance(error, Unreadable) else ""
        raise InputError(f"the statistics that were kept are damaged{why}") from None


class KeptSite(Site):
    """A site without noise that keeps its statistics on its disk, and reads the table only if they are not there.

    The coordinator chooses the seed of a bootstrap draw, so the weights of the rows also depend on the site's secret.
    """

    def __init__(
        self, table: Table, reading: Reading, targets: tuple[str, ...] | None, place: Place, fingerprint: str
    ) -> None:
        super().__init__(table, targets=targets)
        self.reading, self._place, self._fingerprint = reading, place, fingerprint

    def _summarize(self, resample: int | None) -> Statistics | Counts:
        if resample is not None:
            return super()._summarize(resample)
        assert self.reading.schema is not None
        columns = [asdict(column) for column in self.reading.schema.columns]
        key = json.dumps(["summary", 1, self._fingerprint, columns, self.reading.data, self.reading.missing])
        kept = self._place.kept(key)
        if kept is not None:
            return read_summary(kept)
        summary = super()._summarize(None)
        self._place.keep(key, write_summary(summary))
        return summary

    def _seed(self, resample: int, attempt: int) -> int:
        return secret_seed(self._place, self._fingerprint, resample, attempt)
