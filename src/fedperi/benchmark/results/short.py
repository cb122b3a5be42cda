"""The first lines of the page of conclusions: where M-PERI is first, where not, why, and what would change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..contenders import CONTENDERS
from ..survey.places import Place, Rival
from .reasons import CHANCE, REASONS, UNEXPLAINED, ratio_reason, reason

Found = Mapping[str, Sequence[Place]]


def in_short(found: Found) -> str:
    """Write a sentence with the counts for each confidence, and an item for each reason why M-PERI is not first."""
    lines = [_counts(first, some) for first, some in found.items()]
    why: dict[str, dict[tuple[str, int], None]] = {}
    for some in found.values():
        for place in some:
            for name in _why(place):
                why.setdefault(name, {})[place.setting, place.p] = None
    if not why:
        return "".join(lines)
    lines.append("\nWhere it is not first at one of its confidences, why, and what would change it:\n\n")
    for one in REASONS:
        if one.name in why:
            lines.append(f"- **{one.name.capitalize()}** ({_listed(why[one.name])}). {one.text}\n")
    if UNEXPLAINED in why:
        lines.append(f"- **Not explained** ({_listed(why[UNEXPLAINED])}).\n")
    if CHANCE in why:
        lines.append(f"- **May be chance** ({_listed(why[CHANCE])}): differences within two standard errors.\n")
    return "".join(lines)


def _counts(first: str, some: Sequence[Place]) -> str:
    clear = sum(any(one.behind and one.clear for one in place.rivals) for place in some)
    shd, best, of = sum(one.best_shd for one in some), sum(one.best_ratio for one in some), len(some)
    return (
        f"- **{CONTENDERS[first].label}** has the lowest mean SHD of all federated methods in {shd} of {of} places, "
        f"and the best ratio of right to wrong directions in {best}. Another method has a clearly lower SHD (by more "
        f"than two standard errors) in {clear}.\n"
    )


def _why(place: Place) -> list[str]:
    """The reasons why others are ahead, in SHD or in directions."""
    behind = [reason(place.setting, place.p, rival) for rival in place.rivals if rival.behind]
    worse: list[Rival] = [rival for rival in place.rivals if rival.better_ratio]
    return [*behind, *(ratio_reason(place.setting, place.p, rival) for rival in worse)]


def _listed(places: Mapping[tuple[str, int], None]) -> str:
    """Settings with their numbers of variables."""
    sizes: dict[str, list[int]] = {}
    for setting, p in places:
        sizes.setdefault(setting, []).append(p)
    return "; ".join(f"{setting}, p = {', '.join(map(str, sorted(some)))}" for setting, some in sizes.items())
