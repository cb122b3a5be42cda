"""Findings of the check before a run, as warnings of its result: in the terminal, in the report and in files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ....methods import Result
    from ....methods.fci import FCIResult
    from ....tables.checks.findings import Finding

AnyResult = TypeVar("AnyResult", "Result", "FCIResult")

WORDED = ("sentinel", "impossible", "identifier", "date", "unit", "swapped", "sorted", "shared", "determined")
"""Problems that a result reports in the words of the check. The words about others may show levels with few rows, which
only the owner of the table may see: for these a result names only the places."""


SAID = ("missing", "constant")
"""Problems that a result reports in its own words."""


def with_findings(result: AnyResult, findings: Sequence[Finding]) -> AnyResult:
    """Return a result with the warnings of the check before its own; those about units are not repeated.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.tables import Finding
    >>> result = fp.MPERI().fit(fp.simulate(3, clients=3, samples=200, seed=1).sites)
    >>> with_findings(result, [Finding("warning", None, ("a",), "odd", "look", "sentinel")]).warnings[0]
    "Column 'a': odd; look."
    """
    return replace(result, warnings=_together(findings, result.warnings))


def _together(findings: Sequence[Finding], own: Sequence[str]) -> tuple[str, ...]:
    from ....methods.remarks import found_by_check

    warned = [finding for finding in findings if finding.level == "warning" and finding.problem in WORDED]
    places = found_by_check(finding for finding in findings if finding.problem not in (*WORDED, *SAID))
    units = tuple(f"{_sentence(one.where)[:-1]}: mean and spread" for one in warned if one.problem == "unit")
    others = (warning for warning in own if not warning.startswith(units))
    return (*(_sentence(str(finding)) for finding in warned), *places, *others)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."
