"""The sentences in a release file: what it is, how it was made, and who signed it.

They are computed from the release, never from the table, so they cannot reveal more than the file itself.

Sentences of `about` and `how` are part of the format: a reader compares them with those that follow from the numbers.
With a new wording, all files written before would be refused.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...tables.bounded import CONSTANT, GRID

if TYPE_CHECKING:
    from .release import Release

NOT_PRIVATE = (
    "NOT PRIVATE: the noise in this file was drawn from a seed, in a test. Whoever knows the seed can take it off "
    "again. Never make or send such a file for a table of real people."
)
"""The first sentence about a release with test noise."""


NEIGHBOURS = "one row added or removed"
"""The difference between the two tables that the promise compares."""


def about(release: Release) -> list[str]:
    """Return the sentences at the top of a release file.

    They are part of the format: a file whose sentences do not follow from its numbers is refused. Other sentences need
    another version; otherwise the releases that sites have kept could not be read any more.

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
    r"""Return how a release was made, step by step, with the formulas for checking its promise.

    Like the sentences of `about`, these are part of the format; releases of fedperi 0.1 have others.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.privacy.release.site_release import release_table
    >>> table = fp.simulate(3, clients=2, samples=500, seed=1).sites[0]
    >>> privacy = fp.Privacy(1.0, bounds=dict.fromkeys(table.columns, (-9, 9)), test_seed=0)
    >>> release, _ = release_table(table, privacy)
    >>> print(*how(release)[:2], sep="\n")
    Units: from 3 medians and 3 median distances from them, chosen at random near the true ones (exponential ...
    Rows: in these units, shortened to length 1.299038 where longer, rounded towards zero to steps of 1/4096.
    """
    each, count = release.price.selections
    share = 100 * count * each**2 / 8 / release.price.rho
    price = (
        f"(exponential mechanism, epsilon = {each:.4g} each: rho = epsilon^2 / 8, together {share:.3g} % of the budget)"
    )
    units = (
        f"from {chosen_words(release)}, chosen at random near the true ones {price}"
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


def chosen_words(release: Release) -> str:
    """Name the statistics from which the units of a release were chosen."""
    count = release.price.selections[1]
    if release.units_from == "quartiles":
        return f"{count} quartiles"
    return f"{count // 2} medians and {count // 2} median distances from them"


def printable(text: str) -> str:
    r"""Return a text without characters that control a terminal, or that hide or reorder others.

    Examples
    --------
    >>> print(printable("dose\x1b[2J\u202e"))
    dose\u001b[2J\u202e
    """
    if text.isprintable():  # fast path: nearly always true, and a release of 1,000 columns has seven million characters
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def signed_words(release: Release) -> str:
    """Say what is proven about the author of a release."""
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
