"""The arguments of `clinic`: checked once, then passed on as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ...errors import InputError
from ..checks import flag, not_negative, one_of, row_counts, whole

ClinicGraph = Literal["stroke", "diabetes", "sepsis", "random"]


@dataclass(frozen=True)
class ClinicArguments:
    """Checked arguments of `clinic`; `rows` has one number per site.

    Examples
    --------
    >>> import fedperi as fp
    >>> fp.clinic(sites=2, policies=3)
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: policies must be at most the number of sites, 2, not 3: a site has one policy or none
    """

    sites: int
    rows: tuple[int, ...]
    graph: ClinicGraph
    drift: float
    policies: int
    case_mix: bool
    log: bool
    seed: int

    def config(self) -> dict[str, Any]:
        """Write the arguments in JSON's types, as `clinic` takes them back."""
        rows: Any = self.rows[0] if len(set(self.rows)) == 1 else list(self.rows)
        return {**asdict(self), "rows": rows}


def check_clinic(given: Mapping[str, Any]) -> ClinicArguments:
    """Check the arguments of `clinic`, all of them, before anything is drawn."""
    sites = whole("sites", given["sites"], 1)
    policies = whole("policies", given["policies"], 0)
    if policies > sites:
        raise InputError(
            f"policies must be at most the number of sites, {sites}, not {policies}: a site has one policy or none"
        )
    return ClinicArguments(
        sites=sites,
        rows=row_counts(given["rows"], sites, "rows"),
        graph=one_of("graph", given["graph"], ClinicGraph),
        drift=not_negative("drift", given["drift"]),
        policies=policies,
        case_mix=flag("case_mix", given["case_mix"]),
        log=flag("log", given["log"]),
        seed=whole("seed", given["seed"], 0),
    )
