"""Whether sites that have introduced themselves can take part in one run, and which columns they then share."""

from __future__ import annotations

from collections.abc import Sequence

from .._version import __version__
from ..data.schema import Column, Schema
from ..errors import InputError
from .coordinator import common_names
from .wire import Card


def agree(cards: Sequence[Card], schema: Schema | None = None) -> tuple[Column, ...]:
    """Return the columns as all sites take them, in the order of the first one.

    Parameters
    ----------
    cards : sequence of Card
        What the sites said.
    schema : Schema, optional
        What the coordinator declares: it may name some of the columns.

    Raises
    ------
    InputError
        If two sites have one name, other versions of fedperi, other columns, kinds or levels, or if levels of a
        category are declared by nobody.

    Examples
    --------
    >>> age, sex = Column("age", "continuous"), Column("sex", "categorical")
    >>> agree([Card("north", (age,)), Card("south", (age,))])
    (Column(name='age', kind='continuous', levels=None, bounds=None),)
    >>> agree([Card("north", (sex,)), Card("south", (sex,))])
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: column 'sex' is categorical, and its levels are declared nowhere: ...
    """
    _distinct([card.site for card in cards])
    for card in cards:
        if card.version != __version__:
            raise InputError(
                f"site {card.site!r} has fedperi {card.version}, and the coordinator {__version__}: install the same "
                "everywhere"
            )
    names = common_names([(card.site, [column.name for column in card.columns]) for card in cards])
    for name in schema.names if schema is not None else ():
        if name not in names:
            raise InputError(f"the schema names the column {name!r}, which no site has; they have {', '.join(names)}")
    return tuple(_agree_on(name, cards, schema) for name in names)


def _distinct(sites: Sequence[str]) -> None:
    for at, site in enumerate(sites):
        if site in sites[:at]:
            raise InputError(f"two sites are called {site!r}: give each a name of its own")


def _agree_on(name: str, cards: Sequence[Card], schema: Schema | None) -> Column:
    told = [(f"site {card.site!r}", column) for card in cards for column in card.columns if column.name == name]
    if schema is not None and name in schema:
        told.insert(0, ("the coordinator's schema", schema[name]))
    who, first = told[0]
    for other, column in told[1:]:
        if column.kind != first.kind:
            raise InputError(
                f"column {name!r} is {first.kind} by {who} and {column.kind} by {other}: give all sites a schema that "
                "declares it (--schema)"
            )
    declared = [(by, column.levels) for by, column in told if column.levels is not None]
    for by, levels in declared[1:]:
        if levels != declared[0][1]:
            raise InputError(
                f"column {name!r} has other levels, or another order of them, by {declared[0][0]} and {by}"
            )
    if first.kind == "categorical" and not declared:
        raise InputError(
            f"column {name!r} is categorical, and its levels are declared nowhere: give the sites or the coordinator a "
            "schema that lists them (--schema). Levels found in a table are values of it, and sites do not send them"
        )
    bounds = {column.bounds for _, column in told}
    return Column(
        name,
        first.kind,
        declared[0][1] if first.kind == "categorical" else None,
        bounds.pop() if len(bounds) == 1 else None,
    )
