"""The privacy guarantee for one person's row, in sentences: for the report's panel and for a paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .. import phrases
from .privacy import Promise, shown_number

MANY = 5
"""Number of sites that a sentence names before it counts the rest."""


def alarm(promised: Sequence[Promise]) -> list[str]:
    """Say why a run is not private, site by site; empty if every site is.

    Examples
    --------
    >>> alarm([Promise("north", "none", False, *[None] * 8, False, *[None] * 3)])
    ['north took part without noise: nothing is promised to the people in its table.']
    """
    open_ = [one for one in promised if not one.private]
    seeded = [one.site for one in open_ if one.noisy]
    bare = [one.site for one in open_ if one.mechanism == "none"]
    unknown = [one.site for one in open_ if one.mechanism == "unknown"]
    out = []
    if seeded:
        out.append(
            f"The noise at {listed(seeded)} came from a seed, in a test: anyone who knows the seed can remove it."
        )
    if bare:
        tables = "their tables" if len(bare) > 1 else "its table"
        out.append(f"{listed(bare)} took part without noise: nothing is promised to the people in {tables}.")
    if unknown:
        out.append(f"The promise of {listed(unknown)} cannot be read from this result, and counts as none.")
    return out


def cautions(promised: Sequence[Promise]) -> list[str]:
    """Say which guarantees depend on a number that was claimed, not proven."""
    return [
        f"At {one.site}, one row is assumed to change an answer by at most {shown_number(one.sensitivity)} nats. This "
        f"was claimed and is not proven{f' (proven: {shown_number(one.bound)})' if one.bound is not None else ''}: if "
        "it is wrong, so is the promise."
        for one in promised
        if one.claimed
    ]


def pledge(promised: Sequence[Promise]) -> list[str]:
    """Explain the guarantee for one person without mathematics; the first sentence is the guarantee."""
    kept = [one for one in promised if one.private]
    if not kept:
        return ["Nothing is promised to anyone in this run."]
    open_ = [one.site for one in promised if not one.private]
    epsilon, delta = (max(_known(one)[k] for one in kept) for k in (0, 1))
    right = math.ceil(100 * right_guesses(epsilon, delta))
    where = f", at {listed([one.site for one in kept])}" if open_ else ""
    where += ", if what was claimed (see below) is true" if cautions(promised) else ""
    guess = (
        f"is right in at most {right} of 100 cases. Tossing a coin is right in 50."
        if right < 100
        else f"may still be right nearly always: ε = {shown_number(epsilon)} is a weak promise."
    )
    out = [
        f"The promise to one person{where}: anyone who knows all other rows of the table, sees everything that the "
        "site sent in this run, and guesses whether this person\N{RIGHT SINGLE QUOTATION MARK}s row is in the table "
        f"too {guess}",
        "This holds whatever else is known, now or later, and for everything that is computed from it, including this "
        "page. The number of rows is protected as well.",
    ]
    if len(kept) > 1:
        together = [math.fsum(_known(one)[k] for one in kept) for k in (0, 1)]
        out.append(
            "The promise is for one row at one site, and prices add up: for a person with one row at each of these "
            f"{len(kept)} sites, ε = {shown_number(together[0])} and δ = {shown_number(together[1])}. Several rows in "
            "one table are also protected less."
        )
    else:
        out.append("The promise is for one row: a person with several rows in the table is protected less.")
    if open_:
        out.append(f"Nothing is promised to a person with a row at {listed(open_, 'or')}.")
    return out


def methods_sentences(promised: Sequence[Promise]) -> list[str]:
    """Describe the privacy of a run as in the methods section of a paper."""
    out = []
    for mechanism, describe in (("statistics", _statistics), ("regret", _regret)):
        for private in (True, False):  # separate sentences for real noise and for test noise
            sites = [one for one in promised if one.mechanism == mechanism and one.private is private]
            if sites:
                names = [one.site for one in sites]
                who = (
                    "Every site" if len(sites) == len(promised) else listed(names) + (" each" if len(sites) > 1 else "")
                )
                out += describe(who, sites, private)
    if not all(one.private for one in promised):
        out.append(f"This run is NOT PRIVATE. {' '.join(alarm(promised))}")
    return out


def rows_in_all(promised: Sequence[Promise]) -> str:
    """Write the number of rows of all sites together; empty if it is not known.

    Examples
    --------
    >>> rows_in_all([])
    ''
    """
    rows = [one.rows for one in promised if one.rows is not None]
    return f"about {sum(rows):,}" if rows and len(rows) == len(promised) else ""


def rows_worth(promised: Sequence[Promise]) -> str:
    """Write the number of rows without noise that would be equally informative; empty if a site does not say."""
    rows = [one.worth for one in promised if one.worth is not None]
    return f"about {sum(rows):,}" if rows and len(rows) == len(promised) else ""


def redrawn(promised: Sequence[Promise]) -> str:
    """Say what bootstrap samples were drawn from."""
    rows = [one.site for one in promised if one.mechanism == "none"]
    text = "the statistics of each site were drawn from a normal distribution with its noisy moments"
    if not rows:
        return f"{text}, and no row was used"
    return f"{text}; only at {listed(rows)}, without noise, rows were drawn"


def right_guesses(epsilon: float, delta: float) -> float:
    """Compute the largest share of correct guesses whether a row is in the table, with prior 1/2.

    Examples
    --------
    >>> round(right_guesses(1.0, 1e-6), 3), right_guesses(5000.0, 0.5)
    (0.731, 1.0)
    """
    odds = math.exp(-epsilon)
    return min(1.0, (1 + delta * odds) / (1 + odds))


def listed(names: Sequence[str], last: str = "and") -> str:
    """Write names for a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"]), listed(list("abcdefgh"), "or")
    ('a', 'a, b and c', 'a, b, c, d or 4 more')
    """
    shown = list(names) if len(names) <= MANY else [*names[: MANY - 1], f"{len(names) - MANY + 1} more"]
    return phrases.listed(shown, last)


def _statistics(who: str, sites: Sequence[Promise], private: bool) -> list[str]:
    source = "both by OpenDP" if private else "both from a seed, in a test"
    worth = [one.worth for one in sites if one.worth is not None]
    rows = [one.rows for one in sites if one.rows is not None]
    counted = (
        f" ({phrases.span(worth)}, of about {phrases.span(rows)})" if len(worth) == len(rows) == len(sites) else ""
    )
    return [
        f"{who} released the second moments of its table once, with noise{', ' if private else ' '}"
        f"{_price(sites, private)} for the whole run; neighbouring tables differ by one row, added or removed, so that "
        f"the number of rows is {'protected' if private else 'covered'} as well.",
        "Values outside public bounds were moved to the nearest bound, columns of numbers were scaled by order "
        "statistics chosen with the exponential mechanism, rows were clipped to a fixed norm, and discrete Gaussian "
        f"noise was added to their moments, {source}; prices were counted in zero-concentrated differential privacy"
        f"{_rho(sites)}.",
        "All answers were computed from these releases; scores counted the rows that noisy moments are "
        f"worth{counted}.",
    ]


def _regret(who: str, sites: Sequence[Promise], private: bool) -> list[str]:
    shared = _together([one.planned for one in sites], lambda n: f"{n:,.0f}")
    each = _together([one.each for one in sites], shown_number)
    count = f"{shared} answers (epsilon = {each} each)" if shared and each else "answers"
    size = _together([one.sensitivity for one in sites], shown_number)
    one_row = f"by at most {size} nats" if size else "by a bounded amount"
    changes = (
        f"One row was proven to change an answer {one_row}."
        if all(one.proven for one in sites)
        else f"One row was assumed to change an answer {one_row}, which was claimed and is not proven."
    )
    return [
        f"{who} added Laplace noise ({'OpenDP' if private else 'from a seed, in a test'}) to each answer, "
        f"{_price(sites, private)} for the whole run, divided among {count} and a noisy release that stays at the "
        "site; neighbouring tables differ by one row, added or removed.",
        "Values outside public bounds were moved to the nearest bound, rows were clipped to a fixed norm, and scores "
        f"had a ridge. {changes} The same question got the same noisy answer.",
    ]


def _price(sites: Sequence[Promise], private: bool) -> str:
    epsilon = _together([one.epsilon for one in sites], shown_number)
    delta = _together([one.delta for one in sites], shown_number)
    law = "under differential privacy with" if private else "of the size that differential privacy would need for"
    return f"{law} epsilon = {epsilon or 'unknown'} and delta = {delta or 'unknown'}"


def _rho(sites: Sequence[Promise]) -> str:
    rho = _together([one.rho for one in sites], shown_number)
    return f" (rho = {rho} at each site)" if rho else ""


def _together(values: Sequence[float | None], write: Callable[[float], str]) -> str:
    """Write one number if all sites have the same, else their range; empty if a site does not say."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return ""
    low, high = write(min(known)), write(max(known))
    return low if low == high else f"{low} to {high}"


def _known(one: Promise) -> tuple[float, float]:
    return one.epsilon or 0.0, one.delta or 0.0
