"""Whether sites that have introduced themselves can take part in one run, and which columns they then share.

Each site alone decides how it takes its rows, and says it in its card. The coordinator compares, before anything is
computed, and can change nothing: what differs is named, with the site and the remedy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._version import __version__
from ..errors import InputError
from ..protocol.requests import Card
from ..tables.schema import Column, Schema
from .coordinator import common_names

_ONE_FILE = "give every site the same schema file (--schema)"


class Disagreement(InputError):
    """Sites do not fit together; `cards` is what they announced, from which a proposal can be made."""

    def __init__(self, message: str, cards: Sequence[Card]) -> None:
        super().__init__(message)
        self.cards = tuple(cards)


@dataclass(frozen=True)
class Wishes:
    """What a coordinator expects of all sites: columns of a schema, a type of data, a bootstrap; it cannot order it."""

    schema: Schema | None = None
    data: str = "auto"
    bootstrap: bool = False


def agree(cards: Sequence[Card], wishes: Wishes | None = None, penalty: float | None = None) -> tuple[Column, ...]:
    """Return the columns as all sites take them, in the order of the first one.

    Parameters
    ----------
    cards : sequence of Card
        What the sites said.
    wishes : Wishes, optional
        What the coordinator expects. Its schema may name some of the columns.
    penalty : float, optional
        The penalty that the coordinator's method expects.

    Raises
    ------
    InputError
        If two sites have one name, other versions of fedperi, other columns, kinds, levels or types of data, or if a
        site is not as the coordinator expects.

    Examples
    --------
    >>> age, sex = Column("age", "continuous"), Column("sex", "categorical")
    >>> agree([Card("north", (age,)), Card("south", (age,))])
    (Column(name='age', kind='continuous', levels=None, bounds=None),)
    >>> agree([Card("north", (sex,)), Card("south", (sex,))])
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: site 'north' does not declare the levels of column 'sex': ...
    """
    wishes = wishes or Wishes()
    _distinct([card.site for card in cards])
    for card in cards:
        if _series(card.version) != _series(__version__):
            raise InputError(
                f"site {card.site!r} has fedperi {card.version}, and the coordinator {__version__}: install "
                f"{_series(__version__)} everywhere"
            )
    names = common_names([(card.site, [column.name for column in card.columns]) for card in cards])
    for name in wishes.schema.names if wishes.schema is not None else ():
        if name not in names:
            raise InputError(f"the schema names the column {name!r}, which no site has; they have {', '.join(names)}")
    columns = tuple(_agree_on(name, cards, wishes.schema) for name in names)
    for card in cards:
        _as_the_first(card, cards[0])
        _as_expected(card, wishes, penalty)
    return columns


def agree_most(
    cards: Sequence[Card], wishes: Wishes | None = None, penalty: float | None = None, least: int | None = None
) -> tuple[tuple[Column, ...], dict[str, str]]:
    """Return the columns as most sites take them, and for every site that does not fit them, why.

    Parameters
    ----------
    cards, wishes, penalty
        Those of `agree`.
    least : int, optional
        How many sites must fit together; all of them if not given.

    Raises
    ------
    InputError
        If fewer fit together, or two groups of sites are equally large, so that neither is the odd one.

    Examples
    --------
    >>> age, sex = Column("age", "continuous"), Column("sex", "categorical", ("f", "m"))
    >>> cards = [Card("east", (age,)), Card("north", (age,)), Card("south", (age, sex))]
    >>> columns, others = agree_most(cards, least=2)
    >>> [column.name for column in columns], others
    (['age'], {'south': "site 'south' has the column sex, which 'east' lacks"})
    """
    _distinct([card.site for card in cards])
    try:
        return agree(cards, wishes, penalty), {}
    except InputError as error:
        if least is None or least >= len(cards):
            raise
        groups: dict[object, list[Card]] = {}
        for card in cards:
            groups.setdefault(_taken(card), []).append(card)
        fitting = sorted((group for group in groups.values() if _why_not(group, wishes, penalty) is None), key=len)
        if not fitting or len(fitting[-1]) < least or (len(fitting) > 1 and len(fitting[-2]) == len(fitting[-1])):
            raise error
    best = fitting[-1]
    others = {
        card.site: _why_not([card], wishes, penalty) or _why_not([best[0], card], wishes, penalty) or "does not fit"
        for card in cards
        if card not in best
    }
    return agree(best, wishes, penalty), others


def _taken(card: Card) -> object:
    """How a site takes its rows: sites for which it is the same fit together."""
    columns = frozenset((column.name, column.kind, column.levels) for column in card.columns)
    return _series(card.version), columns, card.data, card.penalty


def _why_not(cards: Sequence[Card], wishes: Wishes | None, penalty: float | None) -> str | None:
    try:
        agree(cards, wishes, penalty)
    except InputError as error:
        return str(error)
    return None


def _series(version: str) -> str:
    """The part of a version that must be the same everywhere: 0.2 of 0.2.1."""
    return ".".join(version.split(".")[:2])


def _distinct(sites: Sequence[str]) -> None:
    for at, site in enumerate(sites):
        if site in sites[:at]:
            raise InputError(f"two sites are called {site!r}: give each a name of its own")


def _as_the_first(card: Card, first: Card) -> None:
    if card.data != first.data:
        raise InputError(
            f"site {first.site!r} takes its columns as {first.data!r} and site {card.site!r} as {card.data!r}: start "
            f"every site with the same --data, and {_ONE_FILE}"
        )
    if card.penalty != first.penalty:
        raise InputError(
            f"site {first.site!r} has a penalty of {first.penalty:g} and site {card.site!r} of {card.penalty:g}: start "
            "every site with the same --penalty"
        )


def _as_expected(card: Card, wishes: Wishes, penalty: float | None) -> None:
    """Raise if a site is not as the coordinator expects, and say who can change that: the site's owner."""
    if wishes.data not in ("auto", card.data):
        raise InputError(
            f"the coordinator asks for data type {wishes.data!r}, and site {card.site!r} takes its columns as "
            f"{card.data!r}: a site decides about its own rows. Have every site started with --data "
            f"{wishes.data}, or leave it out here"
        )
    if penalty is not None and card.penalty != penalty:
        raise InputError(
            f"the coordinator asks for a penalty of {penalty:g}, and site {card.site!r} has {card.penalty:g}: a site "
            f"decides about it, because another one may cost it privacy. Have every site started with --penalty "
            f"{penalty:g}, or run with {card.penalty:g}"
        )
    if wishes.bootstrap and not card.bootstrap:
        raise InputError(
            f"the coordinator asks for a bootstrap, and site {card.site!r} does not let others resample its rows: run "
            "without --bootstrap, or ask the site's owner to allow it (fedperi site --bootstrap)"
        )


def _agree_on(name: str, cards: Sequence[Card], schema: Schema | None) -> Column:
    told = [(f"site {card.site!r}", column) for card in cards for column in card.columns if column.name == name]
    who, first = told[0]
    if schema is not None and name in schema:  # what it leaves open, it leaves to the sites
        wanted = schema[name]
        levels, bounds = wanted.levels or first.levels, wanted.bounds or first.bounds
        kept = wanted.kind == first.kind
        told.append(("the coordinator's schema", Column(name, wanted.kind, levels, bounds) if kept else wanted))
    for other, column in told:
        if column.kind != first.kind:
            raise InputError(
                f"column {name!r} is {first.kind} by {who} and {column.kind} by {other}: {_ONE_FILE}, which declares it"
            )
        if column.kind == "categorical" and column.levels is None:
            raise InputError(
                f"{other} does not declare the levels of column {name!r}: {_ONE_FILE}, which lists them. Levels found "
                "in a table are values of it, and sites do not send them"
            )
        if column.levels != first.levels:
            raise InputError(
                f"column {name!r} has other levels, or another order of them, by {who} and {other}: {_ONE_FILE}"
            )
        if column.bounds != first.bounds and any(card.data == "nonlinear" for card in cards):
            # There they decide what becomes of a value; elsewhere they only limit what noise must cover.
            raise InputError(f"column {name!r} has other bounds by {who} and {other}: {_ONE_FILE}")
    _same_units(name, cards)
    same = all(column.bounds == first.bounds for _, column in told)
    return Column(name, first.kind, first.levels, first.bounds if same else None)


def _same_units(name: str, cards: Sequence[Card]) -> None:
    """Raise if two private releases would have other bounds: they are their units. Later both would be paid for."""
    releasing = [card for card in cards if card.channel == "release" and card.promise is not None]
    bounds = [(card.site, column.bounds) for card in releasing for column in card.columns if column.name == name]
    for site, other in bounds[1:]:
        if other != bounds[0][1]:
            raise InputError(
                f"column {name!r} has other bounds by site {bounds[0][0]!r} and site {site!r}, and private releases "
                "are compared in units of their bounds: give every site the same --bounds"
            )
