"""Find columns whose names the sites spell differently, so that they would count as missing."""

from __future__ import annotations

from collections.abc import Sequence

from ..checks.findings import Finding, quoted
from ..checks.profile import TableProfile
from ..preparing.texts import folded


def other_spellings(profiles: Sequence[TableProfile]) -> list[Finding]:
    """List columns that some sites spell differently: other capitals, spaces or punctuation.

    Two names are spellings of one name if no site has both.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> from fedperi.tables.checks.profile import scan
    >>> tables = {"north": pd.DataFrame({"Heart rate": [60, 70]}), "south": pd.DataFrame({"heart_rate": [60, 70]})}
    >>> print(other_spellings([scan(open_table(table, name), "auto") for name, table in tables.items()])[0])
    columns 'Heart rate', 'heart_rate': spelled one way at 'north', another at 'south'; rename them so that all ...
    """
    spelled: dict[str, dict[str, list[str]]] = {}
    for profile in profiles:
        for name in profile.columns:
            spelled.setdefault(folded(name), {}).setdefault(name, []).append(profile.site)
    columns: dict[str, list[str]] = {}
    for names in spelled.values():
        sites = [site for some in names.values() for site in some]
        if len(names) > 1 and len(sites) == len(set(sites)):
            ways = ", another at ".join(map(quoted, names.values()))
            columns.setdefault(f"one way at {ways}", []).extend(names)
    remedy = "rename them so that all sites agree; if these are different columns, leave them out with --exclude"
    return [
        Finding("error", None, tuple(names), f"spelled {ways}", remedy, "spelling") for ways, names in columns.items()
    ]
