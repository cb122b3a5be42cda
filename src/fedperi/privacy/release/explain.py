"""A release in plain words, for a data-protection officer and for the people whose rows it was made from.

Only the release is looked at, never the table, so nothing said here can tell more than the file itself.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...tables.bounded import CONSTANT, GRID
from ...tables.readers.private import is_number, limits
from .repair import covariance_of

if TYPE_CHECKING:
    from ...tables.schema import Column
    from ...tables.statistics import Statistics
    from ..accounting import Price
    from .release import Release

NOT_PRIVATE = (
    "NOT PRIVATE: the noise in this file was drawn from a seed, in a test. Whoever knows the seed can take it off "
    "again. Never make or send such a file for a table of real people."
)
"""Said first wherever a release with test noise is spoken of."""

NEIGHBOURS = "one row added or removed"
"""What the promise compares: tables that differ by this."""

FEW = 5  # levels of a category, and correlations, that are shown


@dataclass(frozen=True)
class Section:
    """A heading, what is said under it, and a table (its first row names the columns), or none."""

    heading: str
    paragraphs: tuple[str, ...]
    table: tuple[tuple[str, ...], ...] = ()


def about(release: Release) -> list[str]:
    """Return the sentences at the top of a release file.

    They are a part of the format: a file whose sentences do not follow from its numbers is not read. Other
    sentences need another version, or the releases that sites have kept could not be read any more.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.privacy.release.site_release import release_table
    >>> table = fp.simulate(3, clients=2, samples=500, seed=1).sites[0]
    >>> privacy = fp.Privacy(1.0, bounds=dict.fromkeys(table.columns, (-9, 9)), test_seed=0)
    >>> release, _ = release_table(table, privacy, name="north")
    >>> about(release)[1]
    "This file holds noisy statistics of one table of site 'north', made by fedperi to find causes that sites share."
    """
    promise = (
        "Promised to every person with one row in the table: whatever anybody computes from this file, knowing "
        "whatever else, no outcome is more than exp(epsilon) times as likely, plus delta, as it would be without that "
        f"row; and the same the other way round. Here epsilon = {release.epsilon:g} and delta = {release.delta:g}."
    )
    return [
        *([] if release.private else [NOT_PRIVATE]),
        f"This file holds noisy statistics of one table of site {printable(repr(release.site))}, made by fedperi to "
        "find causes that sites share.",
        "It holds no row of the table and no exact statistic: every number that was computed from the table was drawn "
        "at random around the true one, which is not here and cannot be had from here.",
        promise if release.private else f"What would be promised if the noise were not from a seed: {promise}",
        f"Compared are tables that differ by {NEIGHBOURS}: so the number of rows is protected as well. A person with "
        "several rows, here or at several sites, is promised less.",
        "Not protected, because it was declared without looking at the table: the names of the site and of the "
        "columns, their bounds and levels, and what the site says it has set.",
        "The price is paid once: anything may be computed from this file, as often as wanted, by anybody.",
        "The checksum at the end shows changes by accident. It is no signature: take the file from somebody you know."
        if release.signature is None
        else f"The signature at the end was made with the key {release.signature.fingerprint}. Only its owner can have "
        "written this file as it is: compare the fingerprint with that of the site's key.",
    ]


def how(release: Release) -> list[str]:
    """Return how a release was made, step by step, with the formulas by which its promise can be calculated again.

    Like the sentences of `about`, these are a part of version 1 of the format.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.privacy.release.site_release import release_table
    >>> table = fp.simulate(3, clients=2, samples=500, seed=1).sites[0]
    >>> privacy = fp.Privacy(1.0, bounds=dict.fromkeys(table.columns, (-9, 9)), test_seed=0)
    >>> release, _ = release_table(table, privacy)
    >>> how(release)[1]
    'Rows: in these units, shortened to length 1.299038 where longer, rounded towards zero to steps of 1/4096.'
    """
    each, count = release.price.selections
    share = 100 * count * each**2 / 8 / release.price.rho
    units = (
        f"from {count} quartiles, chosen at random near the true ones (exponential mechanism, epsilon = {each:.4g} "
        f"each: rho = epsilon^2 / 8, together {share:.3g} % of the budget)"
        if count
        else "no column is taken as a number, so none was chosen and nothing was spent"
    )
    sensitivity = CONSTANT**2 + release.limit**2
    return [
        f"Units: {units}.",
        f"Rows: in these units, shortened to length {release.limit:.7g} where longer, rounded towards zero to steps of "
        f"1/{GRID}.",
        f"Moments: the sum over all rows of the products of ({CONSTANT}, row) with itself. One row changes it by "
        f"sensitivity = constant^2 + limit^2 = {sensitivity:.7g} at most (Frobenius norm).",
        f"Noise: discrete Gaussian, standard deviation {release.noise:.7g} on the diagonal and "
        f"{release.noise_beside:.7g} beside it: zero-concentrated differential privacy with rho = "
        f"sensitivity^2 / (2 noise^2) = "
        f"{(sensitivity / release.noise) ** 2 / 2:.4g}.",
    ]


def explain(release: Release) -> list[Section]:
    """Explain a release: whose it is, what was promised, what it holds, what can be learned, what the ledger says.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.privacy.release.site_release import release_table
    >>> table = fp.simulate(3, clients=2, samples=500, seed=1).sites[0]
    >>> privacy = fp.Privacy(1.0, bounds=dict.fromkeys(table.columns, (-9, 9)), test_seed=0)
    >>> release, _ = release_table(table, privacy, name="north")
    >>> [section.heading for section in explain(release)][:4]
    ['NOT PRIVATE', 'What this is', 'What would be promised with real noise', 'What it holds']
    >>> explain(release)[2].paragraphs[1]
    'For a patient: somebody who knows all other rows and must guess whether yours is in the table is right in 50 of 100
    cases by tossing a coin, and with this file in at most 73.11; by the kind of noise, on average, in at most 55.52.'
    """
    made = Section("Who made it", (signed_words(release),))
    sections = [_what(release), _promise(release), _holds(release), *_learned(release), made, _ledger(release)]
    return sections if release.private else [Section("NOT PRIVATE", (NOT_PRIVATE,)), *sections]


def guesses(price: Price) -> tuple[float, float]:
    """Share of right guesses, prior even, whether a row is in the table: by the promise, and by the kind of noise.

    A test with rates of error bounded by (epsilon, delta) is right in (exp(epsilon) + delta) / (1 + exp(epsilon)) of
    the cases at most. What is rho-zCDP has a divergence of at most rho, and by Pinsker's inequality a distance in total
    variation of sqrt(rho / 2); half of that is what guessing gains.

    Examples
    --------
    >>> from fedperi.privacy.accounting import Price, zcdp_rho
    >>> [round(share, 3) for share in guesses(Price(1.0, 1e-6, gaussian=zcdp_rho(1.0, 1e-6)))]
    [0.731, 0.555]
    """
    odds = math.exp(-price.epsilon)
    claimed = min(1.0, (1 + price.delta * odds) / (1 + odds))
    return claimed, min(claimed, 0.5 + math.sqrt(price.rho / 2) / 2)


def printable(text: str) -> str:
    r"""Return a text without characters that a terminal obeys or that hide or reorder others.

    Examples
    --------
    >>> print(printable("dose\x1b[2J\u202e"))
    dose\u001b[2J\u202e
    """
    if text.isprintable():  # nearly always, and a release of 1,000 columns has seven million characters
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def signed_words(release: Release) -> str:
    """Say what is proven about who made a release.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.privacy.release.site_release import release_table
    >>> table = fp.simulate(3, clients=2, samples=500, seed=1).sites[0]
    >>> privacy = fp.Privacy(1.0, bounds=dict.fromkeys(table.columns, (-9, 9)), test_seed=0)
    >>> signed_words(release_table(table, privacy, name="north")[0])
    'Nobody signed it. Its checksum shows damage on the way. It does not show who wrote it, ...'
    """
    if release.signature is None:
        return (
            "Nobody signed it. Its checksum shows damage on the way. It does not show who wrote it, since anyone can "
            "edit such a file and calculate the checksum again: take it only from somebody you know, by a way that "
            "others cannot change, or have the site sign it (`fedperi release --key`)."
        )
    return (
        f"It is signed, and the signature fits: the owner of the key {release.signature.fingerprint} wrote it as it "
        f"is. That this is the key of site {printable(repr(release.site))} is proven only by a list of public keys "
        "that you trust (--site-keys), or by comparing the fingerprint by telephone. A signature does not prove that "
        "the noise was really drawn, or that the table is real."
    )


def _what(release: Release) -> Section:
    made = f" It was made on {release.created} with fedperi {release.version}." if release.created else ""
    targets = release.targets
    told = (
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
                f"Noisy statistics of one table of site {release.site!r}. No row is in it, and no exact statistic."
                f"{made} {told}"
            ),
        ),
    )


def _promise(release: Release) -> Section:
    claimed, average = (f"{100 * share:.4g}" for share in guesses(release.price))
    strength = "strong" if release.epsilon <= 1 else "moderate" if release.epsilon <= 5 else "weak"
    count = release.price.selections[1]
    units = f" and {count} choices of quartiles (exponential mechanism)" if count else ""
    return Section(
        "What is promised" if release.private else "What would be promised with real noise",
        (
            f"epsilon = {release.epsilon:g}, delta = {release.delta:g}; tables compared differ by {NEIGHBOURS}, and "
            f"the number of rows is protected too. That is a {strength} promise"
            + (": little is left of it in the worst case." if strength == "weak" else "."),
            "For a patient: somebody who knows all other rows and must guess whether yours is in the table is right in "
            f"50 of 100 cases by tossing a coin, and with this file in at most {claimed}; by the kind of noise, on "
            f"average, in at most {average}.",
            f"It is kept by Gaussian noise on the moments (rho = {release.price.gaussian:.4g}){units}, together "
            f"rho = {release.price.rho:.4g}. That the noise in the file is large enough for the promise was calculated "
            "again when it was read; that it was really drawn, only the site can know.",
        ),
    )


def _holds(release: Release) -> Section:
    rows = tuple(_row(release, column) for column in release.schema.columns)
    size = len(release.moments)
    return Section(
        "What it holds",
        (
            f"{size * (size + 1) // 2} noisy sums of products of the {size - 1} columns below and of a constant. "
            "Values outside the limits were moved to the nearest limit, and rows far from the centre were drawn in, so "
            "that nobody counts for more than is promised.",
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
    weak = "" if noise < 0.2 else " That is nearly nothing: a larger epsilon or more rows are needed."
    amount = Section(
        "How much noise",
        (
            f"About {rows:,.0f} rows, give or take {uncertain:,.0f} (one standard deviation of the noise).",
            f"For finding a graph they are worth about {statistics.n:,} rows without noise ({100 * worth:.2g} %): the "
            f"noise on a correlation is about {noise:.2g}, beside {chance:.2g} from so few rows alone.{weak}",
        ),
    )
    strongest = _strongest(statistics, 2 * math.hypot(noise, chance))
    return amount, Section(
        "What can be learned",
        (
            "Of the people together: the means, the spreads and the correlations of the columns, roughly. "
            + (f"The strongest: {strongest}. " if strongest else "No correlation stands out of the noise. ")
            + "That is what the file is for; and what holds of people in general can be said of a person, in the table "
            "or not.",
            "Not of one person, beyond what the promise allows: whether the row is in the table, its values, the "
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
    told = release.ledger
    if told is None:
        return Section("The ledger", ("The file does not say what else the site has given of this table.",))
    releases, ceiling = told["releases"], told["ceiling"]
    one = len(releases) == 1
    total = f"epsilon = {told['spent']:.4g} at delta = {ceiling['delta']:g}"
    return Section(
        "The ledger",
        (
            f"The site had given {'this release' if one else f'{len(releases)} releases'} of the table when the file "
            f"was written: {total}, of {ceiling['epsilon']:g} that it allows in all; {told['remaining']:.4g} is left."
            + ("" if one else " Whoever has them all is held to this total, not to the price of this file alone."),
        ),
        (
            ("When", "What", "epsilon", "delta"),
            *(
                (
                    printable(entry["when"]),
                    printable(entry["what"]),
                    f"{entry['price']['epsilon']:g}",
                    f"{entry['price']['delta']:g}",
                )
                for entry in releases
            ),
        ),
    )
