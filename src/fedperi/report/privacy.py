"""Each site's privacy guarantee for one person's row, its price, and the site's ledger.

A result may come from a file that anyone could have edited. Unreadable entries count as not private, and missing ones
are shown as missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..methods.fci.result import FCIResult
    from ..methods.result import Result

MECHANISMS = {"statistics": "noisy statistics, drawn once", "regret": "noise on every answer", "none": "no noise"}

MISSING = "\N{EN DASH}"
LARGEST = 1e12
"""Larger numbers cannot come from a run."""


class LedgerLine(NamedTuple):
    """One line of a ledger: when, what was released, and its claim."""

    when: str
    what: str
    epsilon: float | None
    delta: float | None


class LedgerView(NamedTuple):
    """The content of a site's ledger.

    Attributes
    ----------
    entries : tuple of LedgerLine
        All releases of the table, including this run.
    ceilings : tuple of (str, float or None)
        Dates and ceilings that the site set; the last one is in force.
    spent, left, ceiling : float or None
        Epsilon, at `delta`.
    basic, basic_delta, zcdp, pld : float or None
        Totals by three kinds of composition; the last two are at `delta`.
    """

    entries: tuple[LedgerLine, ...]
    ceilings: tuple[tuple[str, float | None], ...]
    spent: float | None
    left: float | None
    ceiling: float | None
    delta: float | None
    basic: float | None
    basic_delta: float | None
    zcdp: float | None
    pld: float | None

    @property
    def share(self) -> float:
        """Share of the ceiling that is spent, from 0 to 1."""
        if self.spent is None or not self.ceiling:
            return 0.0
        return min(1.0, max(0.0, self.spent / self.ceiling))


class Promise(NamedTuple):
    """The privacy guarantee of one site.

    Attributes
    ----------
    site : str
        Its name.
    mechanism : str
        ``statistics``, ``regret``, ``none``, or ``unknown``.
    private : bool
        Whether there is a guarantee; False for test noise.
    epsilon, delta, rho : float or None
        The price of the run.
    rows, worth : int or None
        The noisy number of rows (exact for a site without noise), and the number of rows without noise that would be
        equally informative (for ``statistics``).
    each, sensitivity, bound : float or None
        For ``regret``: epsilon of one answer, the assumed largest change of an answer by one row, and the proven one.
    proven : bool
        For ``regret``: False if the sensitivity is the user's claim.
    used, planned : int or None
        For ``regret``: numbers of answers.
    account : LedgerView or None
        The ledger, if the site reported it.
    """

    site: str
    mechanism: str
    private: bool
    epsilon: float | None
    delta: float | None
    rho: float | None
    rows: int | None
    worth: int | None
    each: float | None
    sensitivity: float | None
    bound: float | None
    proven: bool
    used: int | None
    planned: int | None
    account: LedgerView | None

    @property
    def noisy(self) -> bool:
        """Whether its numbers have noise, including test noise."""
        return self.mechanism in ("statistics", "regret")

    @property
    def claimed(self) -> bool:
        """Whether the guarantee depends on a number that is not proven."""
        return self.private and self.mechanism == "regret" and not self.proven

    @property
    def early(self) -> bool:
        """Whether it was reported before the first answer; answers and ledger are then not final."""
        return self.mechanism == "regret" and not self.used

    @property
    def how(self) -> str:
        """The mechanism in a few words."""
        words = MECHANISMS.get(self.mechanism, "not known")
        return f"{words}, from a test seed" if self.noisy and not self.private else words


def promises(result: Result | FCIResult) -> list[Promise]:
    """List the guarantee of every site; empty if the run had no privacy.

    Examples
    --------
    >>> import fedperi as fp
    >>> from dataclasses import replace
    >>> result = fp.IPERI().fit(fp.simulate(3, clients=2, samples=100).sites)
    >>> promises(result)
    []
    >>> [one.private for one in promises(replace(result, privacy={"site 1": {"mechanism": "none"}}))]
    [False, False]
    """
    if result.privacy is None:
        return []
    record = _mapping(result.privacy)
    counted = {entry.get("site"): entry.get("n") for entry in result.manifest.get("sites", ())}
    sites = list(dict.fromkeys((*result.sites, *record)))
    return [_promise(site, _mapping(record.get(site)), _count(counted.get(site))) for site in sites]


def shown_number(value: float | None, direction: int = 1) -> str:
    """Write a price with three digits, rounded up (or down for what is left), to never overstate privacy.

    Examples
    --------
    >>> shown_number(1.0), shown_number(2.2721), shown_number(7.7279, -1), shown_number(1e-6), shown_number(None)
    ('1', '2.28', '7.72', '10⁻⁶', '–')
    """
    if value is None:
        return MISSING
    if value <= 0:
        return "0"
    exponent = math.floor(math.log10(value)) - 2
    # In floating point 1.1 * 100 is a little above 110: numbers this close to an integer count as integers.
    scaled = round(value / 10.0**exponent, 6)
    digits = math.ceil(scaled) if direction > 0 else math.floor(scaled)
    plain = f"{digits * 10.0**exponent:.3g}" if value < 1000 else f"{digits * 10.0**exponent:,.0f}"
    factor, _, power = plain.partition("e")
    if not power:
        return plain
    raised = f"10{str(int(power)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
    return raised if factor == "1" else f"{factor}·{raised}"


def _promise(site: str, record: Mapping[str, Any], counted: int | None) -> Promise:
    mechanism = next((name for name in MECHANISMS if name == record.get("mechanism")), "unknown")
    epsilon, delta = _real(record.get("epsilon")), _real(record.get("delta"))
    priced = bool(epsilon) and delta is not None and delta < 1
    private = record.get("private")
    if mechanism != "none" and not (priced and isinstance(private, bool)):
        mechanism = "unknown"
    noisy = mechanism in ("statistics", "regret")
    exact = counted if mechanism == "none" else None
    return Promise(
        site=site,
        mechanism=mechanism,
        private=private is True and noisy,
        epsilon=epsilon,
        delta=delta,
        rho=_real(record.get("rho")),
        rows=_count(record.get("rows")) if noisy else exact,
        # With "regret" it describes the release that stays at the site, not the answers.
        worth=_count(record.get("worth")) if mechanism == "statistics" else exact,
        each=_real(record.get("epsilon_per_answer")),
        sensitivity=_real(record.get("sensitivity")),
        bound=_real(record.get("sensitivity_proven")),
        proven=str(record.get("sensitivity_is")).startswith("proven"),
        used=_count(record.get("answers_used")),
        planned=_count(record.get("answers_planned")),
        account=_account(record.get("ledger")),
    )


def _account(record: object) -> LedgerView | None:
    if not isinstance(record, Mapping):
        return None
    totals, ceiling = _mapping(record.get("totals")), _mapping(record.get("ceiling"))
    return LedgerView(
        entries=tuple(_entry(line) for line in _list(record.get("releases"))),
        ceilings=tuple((_date(line), _real(line.get("epsilon"))) for line in _list(record.get("ceilings"))),
        spent=_real(record.get("spent")),
        left=_real(record.get("remaining")),
        ceiling=_real(ceiling.get("epsilon")),
        delta=_real(ceiling.get("delta")),
        basic=_real(totals.get("basic_epsilon")),
        basic_delta=_real(totals.get("basic_delta")),
        zcdp=_real(totals.get("zcdp_epsilon")),
        pld=_real(totals.get("pld_epsilon")),
    )


def _entry(line: Mapping[str, Any]) -> LedgerLine:
    price = _mapping(line.get("price"))
    return LedgerLine(
        _date(line), str(line.get("what", MISSING)), _real(price.get("epsilon")), _real(price.get("delta"))
    )


def _date(line: Mapping[str, Any]) -> str:
    return str(line.get("when", MISSING)).replace("T", " ").replace("+00:00", " UTC")


def _list(value: object) -> list[Mapping[str, Any]]:
    return [_mapping(line) for line in value] if isinstance(value, list | tuple) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _real(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST:
        return float(value)
    return None


def _count(value: object) -> int | None:
    number = _real(value)
    return None if number is None else round(number)
