"""The first lines of the page of conclusions: where M-PERI is first, where not, why, and what would change it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..contenders import CONTENDERS
from ..survey.places import ENOUGH, Place, Rival
from .reasons import EVERY, reason

Found = Mapping[str, Sequence[Place]]
At = tuple[str, int]

FEW = 4
"""Up to this number of settings are named; otherwise only their number is given."""


def in_short(found: Found) -> str:
    """Write a sentence with the counts for each confidence, and an item for each reason why M-PERI is not first."""
    text = "".join(_counts(first, some) for first, some in found.items())
    few = {(one.setting, one.p) for some in found.values() for one in some if one.runs < ENOUGH}
    if few:
        text += f"- {len(few)} of these places have fewer than {ENOUGH} runs: take differences there for hints.\n"
    shd, ratio = (_why(found, ratio=which) for which in (False, True))
    if not shd and not ratio:
        return text
    text += "\nWhere it is not first, why, and what would change it:\n\n"
    sizes: dict[int, int] = {}
    for place in next(iter(found.values())):
        sizes[place.p] = sizes.get(place.p, 0) + 1
    for one in EVERY:
        told = [
            f"in {what}: {_listed(where[one.name], sizes)}"
            for what, where in (("SHD", shd), ("directions", ratio))
            if one.name in where
        ]
        if told:
            text += f"- **{one.name.capitalize()}** ({'; '.join(told)}). {one.text}\n"
    return text


def against(found: Found) -> dict[tuple[str, int, str], dict[str, Rival]]:
    """Sort rivals by place and method; each has those against M-PERI at its confidences."""
    out: dict[tuple[str, int, str], dict[str, Rival]] = {}
    for first, some in found.items():
        for one in some:
            for rival in one.rivals:
                out.setdefault((one.setting, one.p, rival.name), {})[first] = rival
    return out


def _counts(first: str, some: Sequence[Place]) -> str:
    clear = sum(any(one.behind and one.clear for one in place.rivals) for place in some)
    shd, best, of = sum(one.best_shd for one in some), sum(one.best_ratio for one in some), len(some)
    return (
        f"- **{CONTENDERS[first].label}** has the lowest mean SHD of all federated methods in {shd} of {of} places, "
        f"and the best ratio of right to wrong directions in {best}. Another method has a clearly lower SHD (by more "
        f"than two standard errors, in five runs or more) in {clear}.\n"
    )


def _why(found: Found, *, ratio: bool) -> dict[str, list[At]]:
    """List the places to which each reason applies."""
    out: dict[str, dict[At, None]] = {}
    for (setting, p, _), rivals in against(found).items():
        why = reason(setting, p, rivals, ratio=ratio)
        if why is not None:
            out.setdefault(why.name, {})[setting, p] = None
    return {name: list(some) for name, some in out.items()}


def _listed(places: Iterable[At], sizes: Mapping[int, int]) -> str:
    """List settings by their numbers of variables; if they are many, give only their number."""
    by_size: dict[int, list[str]] = {}
    for setting, p in places:
        by_size.setdefault(p, []).append(setting)
    told = [
        f"{', '.join(some) if len(some) <= FEW else f'{len(some)} of {sizes[p]} settings'} with {p} variables"
        for p, some in sorted(by_size.items())
    ]
    return "; ".join(told)
