"""Check whether sites can take part in one run, and find the columns that they share.

Each site decides alone how it takes its rows, and says so in its card. The coordinator compares the cards before
anything is computed. It can change nothing: an error names the difference, the site and the remedy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._version import __version__
from ..errors import InputError
from ..protocol.requests import Card
from ..tables.schema import Column, Schema
from .coordinator import check_distinct, common_names

_ONE_FILE = "give every site the same schema file (--schema)"


class Disagreement(InputError):
    """Sites do not fit together; a common schema can be proposed from their `cards`."""

    def __init__(self, message: str, cards: Sequence[Card]) -> None:
        super().__init__(message)
        self.cards = tuple(cards)


@dataclass(frozen=True)
class Wishes:
    """What a coordinator expects of all sites, but cannot order: columns of a schema, a type of data, a bootstrap."""

    schema: Schema | None = None
    data: str = "auto"
    bootstrap: bool = False


def agree(cards: Sequence[Card], wishes: Wishes | None = None, penalty: float | None = None) -> tuple[Column, ...]:
    """Return the columns on which all sites agree, in the order of the first site.

    Parameters
    ----------
    cards : sequence of Card
        The introductions of the sites.
    wishes : Wishes, optional
        What the coordinator expects. Its schema may name only some of the columns.
    penalty : float, optional
        The penalty that the coordinator's method expects.

    Raises
    ------
    InputError
        If two sites have the same name or different versions of fedperi, columns, kinds, levels or types of data, or if
        a site is not as the coordinator expects.

    Examples
    --------
    >>> age, sex = Column("age", "continuous"), Column("sex", "categorical")
    >>> agree([Card("north", (age,)), Card("south", (age,))])
    (Column(name='age', kind='continuous', levels=None, bounds=None),)
    >>> agree([Card("north", (sex,)), Card("south", (sex,))])
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: column 'sex' has no declared levels at site 'north': ...
    """
    wishes = wishes or Wishes()
    check_distinct([card.site for card in cards])
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
        _check_same_options(card, cards[0])
        _check_expected(card, wishes, penalty)
    return columns


def agree_most(
    cards: Sequence[Card], wishes: Wishes | None = None, penalty: float | None = None, least: int | None = None
) -> tuple[tuple[Column, ...], dict[str, str]]:
    """Return the columns on which most sites agree, and for each other site why it does not fit.

    Parameters
    ----------
    cards, wishes, penalty
        As in `agree`.
    least : int, optional
        How many sites must fit together. Default: all.

    Raises
    ------
    InputError
        If fewer fit together, or the two largest groups of sites have the same size.

    Examples
    --------
    >>> age, sex = Column("age", "continuous"), Column("sex", "categorical", ("f", "m"))
    >>> cards = [Card("east", (age,)), Card("north", (age,)), Card("south", (age, sex))]
    >>> columns, others = agree_most(cards, least=2)
    >>> [column.name for column in columns], others
    (['age'], {'south': "site 'south' has the column sex, which 'east' lacks"})
    """
    check_distinct([card.site for card in cards])
    try:
        return agree(cards, wishes, penalty), {}
    except InputError as error:
        if least is None or least >= len(cards):
            raise
        groups: dict[object, list[Card]] = {}
        for card in cards:
            groups.setdefault(_what_must_agree(card), []).append(card)
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


def _what_must_agree(card: Card) -> object:
    columns = frozenset((column.name, column.kind, column.levels) for column in card.columns)
    return _series(card.version), columns, card.data, card.penalty


def _why_not(cards: Sequence[Card], wishes: Wishes | None, penalty: float | None) -> str | None:
    try:
        agree(cards, wishes, penalty)
    except InputError as error:
        return str(error)
    return None


def _series(version: str) -> str:
    """Return the part of a version that must be the same everywhere: 0.2 of 0.2.1."""
    return ".".join(version.split(".")[:2])


def _check_same_options(card: Card, first: Card) -> None:
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


def _check_expected(card: Card, wishes: Wishes, penalty: float | None) -> None:
    """Raise if a site is not as the coordinator expects. Only the site's owner can change that."""
    if wishes.data not in ("auto", card.data):
        raise InputError(
            f"the coordinator asks for data type {wishes.data!r}, and site {card.site!r} takes its columns as "
            f"{card.data!r}: a site decides about its own rows. Have every site started with --data "
            f"{wishes.data}, or leave it out here"
        )
    if penalty is not None and card.penalty != penalty:
        raise InputError(
            f"the coordinator asks for a penalty of {penalty:g}, and site {card.site!r} has {card.penalty:g}: the site "
            f"decides, because another penalty may cost it privacy. Have every site started with --penalty "
            f"{penalty:g}, or run with {card.penalty:g}"
        )
    if wishes.bootstrap and not card.bootstrap:
        raise InputError(
            f"the coordinator asks for a bootstrap, and site {card.site!r} does not let others resample its rows: run "
            "without --bootstrap, or ask the site's owner to allow it (fedperi site --bootstrap)"
        )


def _agree_on(name: str, cards: Sequence[Card], schema: Schema | None) -> Column:
    found = [(f"at site {card.site!r}", column) for card in cards for column in card.columns if column.name == name]
    where, first = found[0]
    if schema is not None and name in schema:  # where the schema leaves something open, the sites decide
        wanted = schema[name]
        if wanted.kind == first.kind:
            wanted = Column(name, wanted.kind, wanted.levels or first.levels, wanted.bounds or first.bounds)
        found.append(("in the coordinator's schema", wanted))
    for other, column in found:
        if column.kind != first.kind:
            raise InputError(
                f"column {name!r} is {first.kind} {where} and {column.kind} {other}: {_ONE_FILE}, which declares it"
            )
        if column.kind == "categorical" and column.levels is None:
            raise InputError(
                f"column {name!r} has no declared levels {other}: {_ONE_FILE}, which lists them. Levels found in a "
                "table are values of it, and sites do not send them"
            )
        if column.levels != first.levels:
            raise InputError(
                f"column {name!r} has different levels, or a different order of them, {where} and {other}: {_ONE_FILE}"
            )
        if column.bounds != first.bounds and any(card.data == "nonlinear" for card in cards):
            # Here bounds change the values. For other types of data they only limit what the noise must cover.
            raise InputError(f"column {name!r} has different bounds {where} and {other}: {_ONE_FILE}")
    _check_units(name, cards)
    same = all(column.bounds == first.bounds for _, column in found)
    return Column(name, first.kind, first.levels, first.bounds if same else None)


def _check_units(name: str, cards: Sequence[Card]) -> None:
    """Raise if private releases would have different bounds, which are their units, before both are paid for."""
    releasing = [card for card in cards if card.channel == "release" and card.promise is not None]
    bounds = [(card.site, column.bounds) for card in releasing for column in card.columns if column.name == name]
    for site, other in bounds[1:]:
        if other != bounds[0][1]:
            raise InputError(
                f"column {name!r} has different bounds at site {bounds[0][0]!r} and at site {site!r}, and private "
                "releases are compared in units of their bounds: give every site the same --bounds"
            )
