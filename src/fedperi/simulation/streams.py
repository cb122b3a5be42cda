"""One seed, many independent random streams: one per purpose and site.

Every site has its own streams, so its data do not depend on the number of sites after it, or on the numbers of rows at
other sites.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """Purpose of a stream. The results of a seed depend on these numbers: never reuse or change one."""

    GRAPH = 1
    STRUCTURAL_TARGETS = 2
    PARAMETRIC_TARGETS = 3
    REMOVAL = 4
    MECHANISM = 5
    PARAMETERS = 6
    NOISE = 7
    REFERENCE = 8
    TARGETS = 9
    CHANGES = 10
    LEVELS = 11
    MEANS = 12
    DRIFT = 13
    UNITS = 14
    HIDDEN = 15
    MEASUREMENT = 16
    CLINIC_GRAPH = 17
    CLINIC_POLICIES = 18
    CLINIC_MIX = 19
    CLINIC_DRIFT = 20
    CLINIC_ROWS = 21


def stream(seed: int, purpose: Purpose, site: int = 0) -> np.random.Generator:
    """Make the random generator of one purpose at one site.

    Examples
    --------
    >>> float(stream(0, Purpose.NOISE, 1).random()) == float(stream(0, Purpose.NOISE, 1).random())
    True
    >>> float(stream(0, Purpose.NOISE, 1).random()) == float(stream(0, Purpose.NOISE, 2).random())
    False
    """
    # The seed comes last: it may need several 32-bit words, which at the front could look like another purpose or site.
    return np.random.default_rng([int(purpose), site, seed])
