"""Choose columns and sites to leave out because too many of their values are missing, so that few values are lost."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from ..checks.findings import Finding, percent, quoted
from ..checks.profile import TableProfile
from ..preparing.texts import folded
from ..schema import Schema

MOST_MISSING = 0.5
"""Share of missing values in a column of a site up to which EM estimates its moments. With more, they would be more
model than data. The limit was chosen by judgement after an experiment, see docs/guides/missing.md."""

Lacking = Mapping[tuple[str, str], float]
"""By site and column, the share of the rows without a value."""


@dataclass(frozen=True)
class LeftOut:
    """The columns and sites that a run leaves out.

    Parameters
    ----------
    columns, sites : tuple of str
        Columns that are left out at all sites, and sites that are left out altogether.
    findings : tuple of Finding
        The same as warnings, with the reasons. They are errors, and nothing is left out, if fewer than two columns
        would stay, or if sites spell the name of a column differently.
    """

    columns: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    def profiles(self, profiles: Sequence[TableProfile]) -> list[TableProfile]:
        """Return the profiles of the sites and columns that stay."""
        return [
            replace(one, columns=MappingProxyType({n: c for n, c in one.columns.items() if n not in self.columns}))
            for one in profiles
            if one.site not in self.sites
        ]

    def schema(self, schema: Schema | None) -> Schema | None:
        """Return the declared columns that stay."""
        if schema is None or not self.columns:
            return schema
        return Schema(tuple(column for column in schema.columns if column.name not in self.columns))


NOTHING = LeftOut()


def leave_out(profiles: Sequence[TableProfile]) -> LeftOut:
    """Find columns and sites to leave out, until no column of a site lacks more than `MOST_MISSING` of its values.

    A site without a column lacks all its values. Each step leaves out either a column or a site: the one that loses the
    fewest values for each column of a site with too few values that it removes. If sites only spell a name differently,
    no value is missing: this is an error, and nothing is left out.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> from fedperi.tables.checks.profile import scan
    >>> frame = pd.DataFrame({"age": range(50), "dose": range(50), "ca": range(50)})
    >>> tables = {"north": frame, "south": frame.assign(ca=None), "west": frame.drop(columns="ca")}
    >>> found = leave_out([scan(open_table(table, name), "auto") for name, table in tables.items()])
    >>> found.columns, found.sites
    (('ca',), ())
    >>> print(found.findings[0])
    column 'ca': missing in 100 % of the rows at 'south', and not there at 'west'; the column is left out; to ...
    """
    if misspelt := other_spellings(profiles):
        return LeftOut(findings=tuple(misspelt))
    names = list(dict.fromkeys(name for profile in profiles for name in profile.columns))
    lacking = {
        (one.site, name): 1.0 if name not in one.columns else one.columns[name].missing / max(one.total, 1)
        for one in profiles
        for name in names
    }
    rows = {one.site: one.total for one in profiles}
    columns, sites = list(names), list(rows)
    found: list[Finding] = []
    reasons: dict[tuple[str, bool], list[str]] = {}
    while over := {(site, name) for site in sites for name in columns if lacking[site, name] > MOST_MISSING}:
        column, site = _fewest_lost(over, columns, {site: rows[site] for site in sites}, lacking)
        if column is not None:
            columns.remove(column)
            here = [one for one in profiles if (one.site, column) in over]
            reasons.setdefault((_where_missing(column, here), len(here) == len(sites)), []).append(column)
        else:
            sites.remove(site)
            found.append(_site_finding(site, [name for name in columns if (site, name) in over], lacking))
    found = [_columns_finding(lost, why, everywhere) for (why, everywhere), lost in reasons.items()] + found
    if len(columns) < min(2, len(names)) or not sites:
        remedy = "give all sites the same columns, or leave out those that lack the most values"
        return LeftOut(findings=tuple(replace(one, level="error", remedy=remedy) for one in found))
    return LeftOut(
        tuple(name for name in names if name not in columns),
        tuple(site for site in rows if site not in sites),
        tuple(found),
    )


def _fewest_lost(
    over: Collection[tuple[str, str]], columns: Sequence[str], rows: Mapping[str, int], lacking: Lacking
) -> tuple[str | None, str]:
    """Return the column and the site that lose the fewest values per pair in `over` that they remove.

    The column is None if the site loses fewer.
    """
    lost_columns = {
        name: sum(rows[site] * (1 - lacking[site, name]) for site in rows) / cells
        for name in columns
        if (cells := sum(one == name for _, one in over))
    }
    lost_sites = {
        site: rows[site] * sum(1 - lacking[site, name] for name in columns) / cells
        for site in rows
        if (cells := sum(one == site for one, _ in over))
    }
    column, site = min(lost_columns, key=lost_columns.__getitem__), min(lost_sites, key=lost_sites.__getitem__)
    return (column if lost_columns[column] <= lost_sites[site] else None), site


def _where_missing(name: str, over: Sequence[TableProfile]) -> str:
    """Say at which sites a column is missing, or which share of its values."""
    absent = [one.site for one in over if name not in one.columns]
    held = [(percent(one.columns[name].missing, one.total), one.site) for one in over if name in one.columns]
    shares = [f"{share}{'' if at else ' of the rows'} at {site!r}" for at, (share, site) in enumerate(held)]
    words = [f"missing in {', '.join(shares)}"] * bool(shares) + [f"not there at {quoted(absent)}"] * bool(absent)
    return ", and ".join(words)


def _columns_finding(names: Sequence[str], why: str, everywhere: bool) -> Finding:
    """Say which columns are left out, and that leaving out sites would keep them, unless all sites lack them."""
    what, it = ("the column is", "it") if len(names) == 1 else ("the columns are", "them")
    remedy = f"{what} left out{'' if everywhere else f'; to keep {it}, leave out these sites'}"
    return Finding("warning", None, tuple(names), why, remedy, "missing")


def _site_finding(site: str, names: Sequence[str], lacking: Lacking) -> Finding:
    absent = all(lacking[site, name] == 1 for name in names)
    message = "no values at all" if absent else "missing in more than half of the rows"
    remedy = f"the site is left out; to keep it, leave out {'this column' if len(names) == 1 else 'these columns'}"
    return Finding("warning", site, tuple(names), message, remedy, "missing")


def too_much(profile: TableProfile) -> list[Finding]:
    """List the columns with too many missing values at one site, as errors: one site cannot decide for the others.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> from fedperi.tables.checks.profile import scan
    >>> print(too_much(scan(open_table(pd.DataFrame({"ca": [1.0, None, None]}), "north"), "auto"))[0])
    site 'north', column 'ca': 66.7 % of the values are missing, more than half; leave the column out at all sites, ...
    """
    remedy = "leave the column out at all sites, or leave incomplete rows out (missing=drop)"
    lacking = [column for column in profile.columns.values() if column.missing > MOST_MISSING * profile.total]
    shares = {column.name: percent(column.missing, profile.total) for column in lacking}
    return [
        Finding("error", profile.site, (name,), f"{share} of the values are missing, more than half", remedy)
        for name, share in shares.items()
    ]


def gaps_here(profile: TableProfile) -> list[Finding]:
    """Say how many values are missing in the columns of one site, as one warning about EM.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import open_table
    >>> from fedperi.tables.checks.profile import scan
    >>> print(gaps_here(scan(open_table(pd.DataFrame({"a": [1.0, 2.0, None]}), "north"), "auto"))[0])
    site 'north', column 'a': values are missing: 33.3 % of a; means and covariances are estimated by EM, ...
    """
    lacking = [column for column in profile.columns.values() if column.missing]
    if not lacking:
        return []
    shares = [f"{percent(column.missing, profile.total)} of {column.name}" for column in lacking]
    remedy = "means and covariances are estimated by EM, which assumes that values are missing at random"
    columns = tuple(column.name for column in lacking)
    return [Finding("warning", profile.site, columns, f"values are missing: {', '.join(shares)}", remedy, "missing")]


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
