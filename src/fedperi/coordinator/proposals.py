"""Merge the proposals of sites into one schema, and list the conflicts that people must resolve.

Sites propose names, kinds, levels, bounds and units, in their schema files or, over a network, in their cards. No table
is read. The merged schema changes nothing at a site until its owner accepts it (`accepted`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from ..errors import InputError
from ..tables.preparing.preparation import Preparation
from ..tables.schema import Column, Schema, differences

if TYPE_CHECKING:
    from ..protocol.requests import Card

T = TypeVar("T")
K = TypeVar("K")


@dataclass(frozen=True)
class Proposal:
    """The columns of one site."""

    site: str
    schema: Schema

    @property
    def ignored(self) -> frozenset[str]:
        """Columns that the site leaves out."""
        return frozenset(one.name for one in self.schema.preparations if one.ignore)


@dataclass(frozen=True)
class Merged:
    """The result of `merge`.

    Parameters
    ----------
    schema : Schema
        The columns without conflicts.
    conflicts : tuple of str
        What people must resolve, with the sites and the remedy.
    remarks : tuple of str
        What a rule has decided, so that people can check it.
    """

    schema: Schema
    conflicts: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def merge(proposals: Sequence[Proposal], without: Collection[str] = ()) -> Merged:
    """Merge proposals into one schema for all sites.

    A level that only some sites list is added for all sites, and the widest bounds are used. Everything else must be
    the same.

    Parameters
    ----------
    proposals : sequence of Proposal
        One per site.
    without : collection of str
        Columns to leave out.

    Examples
    --------
    >>> sex, more = Column("sex", "categorical", ("f", "m")), Column("sex", "categorical", ("f", "m", "x"))
    >>> merged = merge([Proposal("north", Schema((sex,))), Proposal("south", Schema((more,)))])
    >>> merged.schema["sex"].levels, merged.remarks
    (('f', 'm', 'x'), ("column 'sex': level 'x' is listed by south only; it is added for all sites",))
    >>> age = Column("sex", "continuous")
    >>> print(merge([Proposal("north", Schema((sex,))), Proposal("south", Schema((age,)))]).conflicts[0])
    column 'sex': categorical at north and continuous at south; agree on one kind, and write it in every file
    """
    sites = [one.site for one in proposals]
    twice = next((site for site in sites if sites.count(site) > 1), None)
    if twice is not None:
        raise InputError(f"two proposals are of site {twice!r}: give each its own name (SITE=FILE)")
    if len(proposals) < 2:
        raise InputError(f"an agreement needs two proposals or more, not {len(proposals)}")
    names = dict.fromkeys(name for one in proposals for name in one.schema.names)
    unknown = [name for name in without if name not in names]
    if unknown:
        raise InputError(f"no site proposes the column {unknown[0]!r}; they propose {', '.join(names)}")
    columns: list[Column] = []
    units: dict[str, str] = {}
    conflicts: list[str] = []
    remarks: list[str] = []
    for name in names:
        if name in without:
            remarks.append(f"column {name!r}: left out, as asked for")
            continue
        found = _Settled(name, proposals)
        conflicts += found.conflicts
        remarks += found.remarks
        if found.column is not None:
            columns.append(found.column)
            units |= {name: found.unit} if found.unit else {}
    return Merged(Schema(tuple(columns), units=tuple(units.items())), tuple(conflicts), tuple(remarks))


def announced(cards: Sequence[Card]) -> list[Proposal]:
    """Return the proposals in the cards of sites: names, kinds, and the declared levels and bounds.

    Examples
    --------
    >>> from fedperi.protocol.requests import Card
    >>> [one.site for one in announced([Card("north", (Column("age", "continuous"),))])]
    ['north']
    """
    return [Proposal(card.site, Schema(card.columns)) for card in cards]


class _Settled:
    """The merged column with a name, or None and the conflicts."""

    def __init__(self, name: str, proposals: Sequence[Proposal]) -> None:
        self.conflicts: list[str] = []
        self.remarks: list[str] = []
        self.column: Column | None = None
        self._of = f"column {name!r}"
        told = {one.site: one.schema[name] for one in proposals if name in one.schema}
        self.unit = self._unit({one.site: dict(one.schema.units).get(name, "") for one in proposals})
        absent = [one.site for one in proposals if one.site not in told]
        if absent:
            ignoring = [one.site for one in proposals if name in one.ignored]
            why = f" ({_list(ignoring)} leave{'s' * (len(ignoring) == 1)} it out)" if ignoring else ""
            self.conflicts.append(
                f"{self._of}: proposed by {_list(told)}, not by {_list(absent)}{why}; add it there, or leave it out "
                "everywhere (fedperi schema merge --leave-out)"
            )
            return
        kinds = _by(told, lambda column: column.kind)
        if len(kinds) > 1:
            said = " and ".join(f"{kind} at {_list(sites)}" for kind, sites in kinds.items())
            self.conflicts.append(f"{self._of}: {said}; agree on one kind, and write it in every file")
            return
        kind = next(iter(kinds))
        levels = self._levels(told) if kind == "categorical" else None
        bounds = self._bounds(told) if kind == "continuous" else None
        if not self.conflicts:
            self.column = Column(name, kind, levels, bounds)

    def _unit(self, units: dict[str, str]) -> str:
        """Merge the units; a site that names none is assumed to use that of the others, and a remark says so."""
        said = {unit: sites for unit, sites in _by(units, str).items() if unit}
        if len(said) > 1:
            words = " and ".join(f"{unit} at {_list(sites)}" for unit, sites in said.items())
            self.conflicts.append(
                f"{self._of}: {words}; agree on one unit. A site with another unit keeps its table, and writes the "
                "agreed unit and the factor, as in scale = { SITE = 0.4536 }; with noise it converts its table instead"
            )
        silent = [site for site, unit in units.items() if not unit]
        if len(said) == 1 and silent:
            unit = next(iter(said))
            self.remarks.append(f"{self._of}: the unit is {unit}, but {_list(silent)} gave none; ask there")
        return next(iter(said), "")

    def _levels(self, told: dict[str, Column]) -> tuple[str, ...] | None:
        listed = {site: column.levels for site, column in told.items() if column.levels is not None}
        if not listed:
            self.conflicts.append(
                f"{self._of}: no site lists its levels; at least one site must list all that may occur at any site"
            )
            return None
        silent = [site for site in told if site not in listed]
        if silent:
            self.remarks.append(f"{self._of}: no levels from {_list(silent)}; those of {_list(listed)} are used there")
        levels = tuple(dict.fromkeys(level for some in listed.values() for level in some))
        for spellings in _by({level: level.strip().casefold() for level in levels}, str).values():
            if len(spellings) > 1:
                where = " and ".join(
                    f"{level!r} at {_list(site for site, some in listed.items() if level in some)}"
                    for level in spellings
                )
                self.conflicts.append(
                    f"{self._of}: {where} look like one level; agree on one spelling, and add the other to rename at "
                    "its site"
                )
        for level in levels:
            having = [site for site, some in listed.items() if level in some]
            if len(having) < len(listed):
                self.remarks.append(
                    f"{self._of}: level {level!r} is listed by {_list(having)} only; it is added for all sites"
                )
        return levels

    def _bounds(self, told: dict[str, Column]) -> tuple[float, float] | None:
        groups = {bounds: sites for bounds, sites in _by(told, lambda column: column.bounds).items() if bounds}
        if not groups:
            return None
        low, high = min(bounds[0] for bounds in groups), max(bounds[1] for bounds in groups)
        if len(groups) > 1:
            said = ", ".join(f"{a:g} to {b:g} at {_list(sites)}" for (a, b), sites in groups.items())
            self.remarks.append(
                f"{self._of}: bounds are {said}; the widest are used, {low:g} to {high:g}. Wider bounds mean more "
                "noise; if they differ because the units differ, agree on one unit"
            )
        silent = [site for site, column in told.items() if column.bounds is None]
        if silent:
            self.remarks.append(f"{self._of}: no bounds from {_list(silent)}; {low:g} to {high:g} are used there")
        return low, high


def accepted(own: Schema, agreed: Schema) -> tuple[Schema, list[str]]:
    """Return a site's schema after its owner accepts an agreed one, and the changes in words.

    Columns, kinds, levels, bounds and units are those of the agreed schema, and other columns are left out. The site's
    own preparation of cells (spellings, codes for missing values, factors) stays as it is.

    Examples
    --------
    >>> own = Schema((Column("age", "continuous"), Column("ward", "categorical", ("a", "b"))))
    >>> schema, changes = accepted(own, Schema((Column("age", "continuous", None, (0, 120)),)))
    >>> schema.names, [one.name for one in schema.preparations if one.ignore]
    (('age',), ['ward'])
    >>> for change in changes:
    ...     print(change)
    column 'ward' is in your schema and not in the agreed one: it is left out here
    column 'age': bounds are None in your schema but (0.0, 120.0) in the agreed one
    """
    names = ("your schema", "the agreed one")
    gone = [name for name in own.names if name not in agreed]
    rest = replace(own, columns=tuple(column for column in own.columns if column.name in agreed), units=())
    changes = [f"column {name!r} is in {names[0]} and not in {names[1]}: it is left out here" for name in gone]
    changes += differences(rest, agreed, names)
    before, after = dict(own.units), dict(agreed.units)
    changes += [
        f"column {name!r}: the unit is {before.get(name) or 'not said'} in {names[0]} and {unit} in {names[1]}"
        for name, unit in after.items()
        if name in own and before.get(name) != unit
    ]
    left_out = [Preparation(name, ignore=True) for name in gone]
    kept = [one for one in own.preparations if one.name not in gone]
    clash = next((one.name for one in kept if one.ignore and one.name in agreed), None)
    if clash is not None:
        raise InputError(
            f'your schema leaves out column {clash!r}, and the agreed one has it: remove kind = "ignore" from your '
            "file if the table has the column, or tell the coordinator that it does not"
        )
    return Schema(agreed.columns, (*kept, *left_out), units=agreed.units), changes


def _by(told: Mapping[str, T], of: Callable[[T], K]) -> dict[K, list[str]]:
    groups: dict[K, list[str]] = {}
    for key, value in told.items():
        groups.setdefault(of(value), []).append(key)
    return groups


def _list(sites: Iterable[str]) -> str:
    return ", ".join(sites)
