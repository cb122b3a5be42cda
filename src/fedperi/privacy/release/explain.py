"""A release in plain words, for a data-protection officer and for the people whose rows it was made from.

It is computed from the release, never from the table, so it cannot reveal more than the file itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tables.bounded import CONSTANT
from ...tables.readers.private import is_number, limits
from .repair import covariance_of
from .sentences import NEIGHBOURS, NOT_PRIVATE, chosen_words, printable, signed_words

if TYPE_CHECKING:
    from ...tables.schema import Column
    from ...tables.statistics import Statistics
    from ..accounting import Price
    from .release import Release

FEW = 5  # levels of a category, and correlations, that are shown


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs, and a table (its first row names the columns), or none."""

    heading: str
    paragraphs: tuple[str, ...]
    table: tuple[tuple[str, ...], ...] = ()


def explain(release: Release) -> list[Section]:
    """Explain a release: who made it, what it promises and contains, what can be learned, what the ledger says.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.privacy.release.site_release import release_table
    >>> table = fp.simulate(3, clients=2, samples=500, seed=1).sites[0]
    >>> privacy = fp.Privacy(1.0, bounds=dict.fromkeys(table.columns, (-9, 9)), test_seed=0)
    >>> release, _ = release_table(table, privacy, name="north")
    >>> [section.heading for section in explain(release)][:4]
    ['NOT PRIVATE', 'What this is', 'What would be promised with real noise', 'What it holds']
    >>> explain(release)[-2].paragraphs
    ('Nobody signed it. Its checksum shows damage on the way. It does not show who wrote it, ...)
    >>> explain(release)[2].paragraphs[1]
    'For a patient: someone who knows all other rows and guesses whether yours is in the table is right in 50 of 100
    cases by tossing a coin, and with this file in at most 73.11; for this kind of noise, on average, in at most 55.52.'
    """
    made = Section("Who made it", (signed_words(release),))
    sections = [_what(release), _promise(release), _holds(release), *_learned(release), made, _ledger(release)]
    return sections if release.private else [Section("NOT PRIVATE", (NOT_PRIVATE,)), *sections]


def guesses(price: Price) -> tuple[float, float]:
    """Return the share of correct guesses, with prior 1/2, whether a row is in the table: by the promise, by the noise.

    A test with error rates bounded by (epsilon, delta) is right in at most (exp(epsilon) + delta) / (1 + exp(epsilon))
    of the cases. A rho-zCDP mechanism has a divergence of at most rho, and by Pinsker's inequality a total variation
    distance of at most sqrt(rho / 2); guessing gains half of this.

    Examples
    --------
    >>> from fedperi.privacy.accounting import Price
    >>> from fedperi.privacy.zcdp import zcdp_rho
    >>> [round(share, 3) for share in guesses(Price(1.0, 1e-6, gaussian=zcdp_rho(1.0, 1e-6)))]
    [0.731, 0.555]
    """
    odds = math.exp(-price.epsilon)
    claimed = min(1.0, (1 + price.delta * odds) / (1 + odds))
    return claimed, min(claimed, 0.5 + math.sqrt(price.rho / 2) / 2)


def _what(release: Release) -> Section:
    made = f" It was made on {release.created} with fedperi {release.version}." if release.created else ""
    targets = release.targets
    about_targets = (
        "The site did not say whether it has set variables."
        if targets is None
        else f"The site says that it has set {', '.join(targets)}."
        if targets
        else "The site says that it has set no variable."
    )
    return Section(
        "What this is",
        (
            printable(
                f"Noisy statistics of one table of site {release.site!r}. It contains no row and no exact statistic."
                f"{made} {about_targets}"
            ),
        ),
    )


def _promise(release: Release) -> Section:
    claimed, average = (f"{100 * share:.4g}" for share in guesses(release.price))
    strength = "strong" if release.epsilon <= 1 else "moderate" if release.epsilon <= 5 else "weak"
    count = release.price.selections[1]
    units = f" and the choice of {chosen_words(release)} (exponential mechanism)" if count else ""
    return Section(
        "What is promised" if release.private else "What would be promised with real noise",
        (
            f"epsilon = {release.epsilon:g}, delta = {release.delta:g}; neighbouring tables differ by {NEIGHBOURS}, "
            f"and the number of rows is protected too. That is a {strength} promise"
            + (": in the worst case it protects little." if strength == "weak" else "."),
            "For a patient: someone who knows all other rows and guesses whether yours is in the table is right in "
            f"50 of 100 cases by tossing a coin, and with this file in at most {claimed}; for this kind of noise, on "
            f"average, in at most {average}.",
            f"It is kept by Gaussian noise on the moments (rho = {release.price.gaussian:.4g}){units}, together "
            f"rho = {release.price.rho:.4g}. When the file was read, it was checked that this noise is large enough "
            "for the promise; whether it was really drawn, only the site can know.",
        ),
    )


def _holds(release: Release) -> Section:
    rows = tuple(_row(release, column) for column in release.schema.columns)
    size = len(release.moments)
    return Section(
        "What it holds",
        (
            f"{size * (size + 1) // 2} noisy sums of products of the {size - 1} columns below and of a constant. "
            "Values outside the limits were moved to the nearest limit, and rows far from the centre were shortened, "
            "so that no one has more influence than is promised.",
        ),
        (("Column", "Taken as", "Public limits", "Centre", "Unit"), *rows),
    )


def _row(release: Release, column: Column) -> tuple[str, ...]:
    if not is_number(column, release.data):
        levels = column.levels or ()
        few = ", ".join(levels) if len(levels) <= FEW else f"{', '.join(levels[: FEW - 1])}, ... ({len(levels)})"
        return printable(column.name), "category", printable(few), "", ""
    low, high = limits(column)
    centre, scale = release.units[column.name]
    kind = f"curve, degree {release.degree}" if release.data == "nonlinear" else "number"
    return printable(column.name), kind, f"{low:g} to {high:g}", f"{centre:.4g}", f"{scale:.4g}"


def _learned(release: Release) -> tuple[Section, Section]:
    statistics = release.statistics()
    covariance, rows = covariance_of(release.moments, CONSTANT, release.noise)
    uncertain = release.noise / CONSTANT**2
    noise, chance = release.noise_beside / rows / float(np.diag(covariance).mean()), 1 / math.sqrt(rows)
    worth = min(1.0, statistics.n / rows)
    weak = "" if noise < 0.2 else " That is very little: a larger epsilon or more rows are needed."
    amount = Section(
        "How much noise",
        (
            f"About {rows:,.0f} rows, plus or minus {uncertain:,.0f} (one standard deviation of the noise).",
            f"For finding a graph they are worth about {statistics.n:,} rows without noise ({100 * worth:.2g} %): the "
            f"noise on a correlation is about {noise:.2g}, in addition to {chance:.2g} by sampling.{weak}",
        ),
    )
    strongest = _strongest(statistics, 2 * math.hypot(noise, chance))
    return amount, Section(
        "What can be learned",
        (
            "About the people together: approximate means, spreads and correlations of the columns. "
            + (f"The strongest: {strongest}. " if strongest else "No correlation stands out from the noise. ")
            + "That is the purpose of the file; and what holds for people in general can be inferred about any person, "
            "in the table or not.",
            "Not about one person, beyond what the promise allows: whether the row is in the table, its values, the "
            "smallest or largest value of a column, a rare combination; nor the exact number of rows.",
        ),
    )


def _strongest(statistics: Statistics, least: float) -> str:
    """Name the largest correlations of variables that are one column each."""
    blocks = zip(statistics.names, statistics.blocks, strict=True)
    single = [(name, block[0]) for name, block in blocks if len(block) == 1]
    pairs = [(float(statistics.correlation[i, j]), b, a) for k, (a, i) in enumerate(single) for b, j in single[:k]]
    found = sorted((pair for pair in pairs if abs(pair[0]) > least), key=lambda pair: -abs(pair[0]))[:FEW]
    return printable(", ".join(f"{one} and {other} {value:.2f}" for value, one, other in found))


def _ledger(release: Release) -> Section:
    ledger = release.ledger
    if ledger is None:
        return Section("The ledger", ("The file does not say what else the site has released about this table.",))
    releases, ceiling = ledger["releases"], ledger["ceiling"]
    one = len(releases) == 1
    total = f"epsilon = {ledger['spent']:.4g} at delta = {ceiling['delta']:g}"
    return Section(
        "The ledger",
        (
            f"When the file was written, the site had made {'this release' if one else f'{len(releases)} releases'} of "
            f"the table: {total}, of at most {ceiling['epsilon']:g} that it allows; {ledger['remaining']:.4g} is left."
            + ("" if one else " Against anyone who has all of them, this total counts, not the price of this file."),
        ),
        (("When", "What", "epsilon", "delta"), *(_release_row(entry) for entry in releases)),
    )


def _release_row(entry: dict[str, Any]) -> tuple[str, ...]:
    price = entry["price"]
    return printable(entry["when"]), printable(entry["what"]), f"{price['epsilon']:g}", f"{price['delta']:g}"
