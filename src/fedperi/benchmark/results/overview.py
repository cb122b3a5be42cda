"""The page of conclusions: where M-PERI is the best federated method, where it is not, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...phrases import span, with_noun
from ..contenders import CONTENDERS
from ..grid import Cell
from ..page import markdown_table
from ..paired import OURS
from ..settings import POLICIES, SETTINGS
from ..survey.cells import CLINIC_SIZE
from ..survey.conclusions import overall, run
from ..survey.numbers import calibration, named
from ..survey.places import ENOUGH, Place, Rival, odds, places
from .plan import not_run, progress
from .reasons import reason
from .short import against, in_short

Found = Mapping[str, Sequence[Place]]


def overview(fits: Sequence[Cell], every: Sequence[Cell], words: str = "") -> str:
    """Write the page from fits of the settings; `every` has all cells of the plan, `words` say how they were run."""
    found = {first: places(fits, first) for first in run(fits)}
    settings = len({row["setting"] for row in fits})
    missing = not_run(fits, "settings")
    left = f"Planned, and not run: {missing}.\n\n" if missing else ""
    return (
        f"# Results: where M-PERI is first, and where not\n\n{in_short(found)}\n"
        f"These are {len(fits):,} fits in {settings} settings, on simulated sites whose truth is known. No method or "
        "option was tuned on these seeds ([one exception](#what-was-run)), no fit was left out because of its result, "
        "and [the plan](#what-was-run) was written down before "
        "the run. A *place* is a setting with a number of variables. Methods are compared on the same simulations "
        "only. Every number with the command that makes it again: [settings-rows.md](settings-rows.md).\n\n"
        f"{_by_size(found)}\n{left}{_also(fits)}\n"
        f"## Against each method\n\n{_ABOUT_METHODS}\n\n{overall(fits)}\n"
        f"## Place by place\n\n{_ABOUT_PLACES}\n\n{_matrix(found)}\n"
        f"## Where it is not first\n\n{_behind(found)}\n{_worse_ratio(found)}"
        f"## How to read this\n\n{_HOW}\n\n"
        f"## What was run\n\n{words}{progress(every)}"
    )


def verdict(fits: Sequence[Cell]) -> str:
    """Say for each number of variables in how many places M-PERI is first, and list the others."""
    found = {first: places(fits, first) for first in run(fits)}
    return f"{in_short(found)}\n{_by_size(found)}\n{_behind(found)}\n{_worse_ratio(found)}"


def _size(p: int) -> str:
    """Return the group of a number of variables: hospital-like tables are shown with 10 variables."""
    return f"10, clinic {CLINIC_SIZE}" if p in (10, CLINIC_SIZE) else str(p)


def _by_size(found: Found) -> str:
    sizes = sorted({one.p for some in found.values() for one in some})
    groups = list(dict.fromkeys(_size(p) for p in sizes))
    heads = [f"{what}, {CONTENDERS[first].label}" for what in ("lowest SHD", "best right : wrong") for first in found]
    lines = []
    for group in groups:
        some = {first: [one for one in found[first] if _size(one.p) == group] for first in found}
        entries = [f"{sum(one.best_shd for one in mine)} of {len(mine)}" for mine in some.values()]
        entries += [f"{sum(one.best_ratio for one in mine)} of {len(mine)}" for mine in some.values()]
        lines.append([group, span([one.runs for mine in some.values() for one in mine]), *entries])
    return markdown_table(["variables", "runs of a place", *heads], lines)


def _also(fits: Sequence[Cell]) -> str:
    """Write one sentence each about the policies found and about calibration."""
    mine = [row for row in fits if row["method"] == "mperi" and "error" not in row]
    clean = {one.name for one in POLICIES}
    lines, policies = [], []
    for name in ("mperi", "ut-igsp"):
        told = [row for row in fits if row["method"] == name and "named" in row and row["setting"] in clean]
        if told:
            recall, precision = named(told)
            policies.append(
                f"{CONTENDERS[name].label} names {recall:.0%} of the policies, and {precision:.0%} of what it names is "
                f"one ({len(told):,} runs)"
            )
    if policies:
        lines.append(
            f"- **Policies.** Where nothing but policies differs, {'; '.join(policies)}. UT-IGSP compares each site "
            "with the rows of all, so that a policy at one site can show at others."
        )
    _, _, count, mean, right = calibration(mine, (0.9, 1.0))[0]
    if count:
        lines.append(
            f"- **Calibration.** Of {count:,} directions that M-PERI states with .9 or more (mean {mean:.3f}), "
            f"{right:.3f} are right, over all settings, also those that break its assumptions; "
            "[by setting](settings.md#calibration-of-m-peri) it is too sure in some of them."
        )
    return "\n".join(lines) + "\n"


def _matrix(found: Found) -> str:
    sizes = sorted({one.p for some in found.values() for one in some} - {CLINIC_SIZE})
    here = {(one.setting, one.p, first): one for first in found for one in found[first]}
    lines = []
    for name in [name for name in SETTINGS if any(key[0] == name for key in here)]:
        entries = []
        for p in sizes:
            at = CLINIC_SIZE if SETTINGS[name].clinic and p == 10 else p
            ones = {first: here[name, at, first] for first in found if (name, at, first) in here}
            entries.append(_standing(ones) if ones else "-")
        lines.append([name, *entries])
    return markdown_table(["setting", *(f"p = {p}" for p in sizes)], lines)


def _standing(ones: Mapping[str, Place]) -> str:
    best = [first for first, one in ones.items() if one.best_shd]
    if len(best) == len(ones):
        repeated = [rival for one in ones.values() for rival in one.rivals if rival.pair.runs >= ENOUGH]
        if not repeated:
            return f"○ first ({with_noun(max(one.runs for one in ones.values()), 'run')})"
        return "● first" if all(rival.clear for rival in repeated) else "○ first, not clearly"
    if best:
        return f"○ first at {_AT[best[0]]} only"
    least = max((one.nearest for one in ones.values() if one.nearest is not None), key=lambda one: one.lead)
    few = f" ({with_noun(least.pair.runs, 'run')})" if least.pair.runs < max(one.runs for one in ones.values()) else ""
    return f"▼ **behind {CONTENDERS[least.name].label}** by {_less(least)}{few}"


def _behind(found: Found) -> str:
    """Write a row for each method that is ahead of M-PERI at some place, at either confidence, with the reason."""
    rows = {key: ones for key, ones in against(found).items() if any(rival.behind for rival in ones.values())}
    if not rows:
        return "There is no such place.\n"
    heads = ["setting", "p", "ahead is", "runs", "its SHD"]
    heads += [*(f"{CONTENDERS[first].label} behind by" for first in found), "why"]
    lines = []
    for (name, p, other), ones in rows.items():
        worst = min(ones.values(), key=lambda rival: rival.lead)
        why = reason(name, p, ones)
        ahead = [CONTENDERS[other].label, str(worst.pair.runs), f"{worst.pair.other:.2f}"]
        behind_by = [_mine(ones.get(first)) for first in found]
        lines.append([name, str(p), *ahead, *behind_by, why.name if why else "-"])
    return f"{_ABOUT_BEHIND}\n\n{markdown_table(heads, lines)}"


def _worse_ratio(found: Found) -> str:
    """Write a row for each place where another method has a better ratio of right to wrong directions."""
    lines = []
    every = against(found)
    for first, some in found.items():
        for one in some:
            worse = [rival for rival in one.rivals if rival.better_ratio]
            for rival in sorted(worse, key=lambda rival: -odds(rival.theirs))[:1]:
                why = reason(one.setting, one.p, every[one.setting, one.p, rival.name], ratio=True)
                ours, theirs = (f"{right} : {wrong}" for right, wrong in (rival.ours, rival.theirs))
                better = [CONTENDERS[rival.name].label, theirs, str(rival.pair.runs)]
                lines.append([one.setting, str(one.p), _AT[first], ours, *better, why.name if why else "-"])
    if not lines:
        return ""
    heads = ["setting", "p", "M-PERI at", "its right : wrong", "better is", "right : wrong", "runs", "why"]
    return f"### Directions\n\n{_ABOUT_RATIO}\n\n{markdown_table(heads, lines)}\n"


def _mine(rival: Rival | None) -> str:
    if rival is None:
        return "-"
    return _less(rival) if rival.behind else "not behind"


def _less(rival: Rival) -> str:
    """Return by how much M-PERI is behind, with the standard error."""
    error = rival.pair.error
    return f"{-rival.lead:.2f}" + ("" if math.isnan(error) else f" ± {error:.2f}")


_AT = {OURS[0]: ".95", OURS[1]: ".75"}

_ABOUT_METHODS = (
    "Means over all runs that a method has in common with M-PERI at both confidences: the default (.95), and .75, "
    "which leaves less open and is wrong more often. Methods of the kind *all rows* need them in one "
    "place."
)

_ABOUT_PLACES = (
    "*First*: the lowest mean SHD of the federated methods at both confidences, by more than two standard errors of "
    f"the difference from each that has {ENOUGH} runs in common or more; *not clearly*: by less. Where M-PERI is "
    "behind, it is by so much at the better of its two confidences (± standard error)."
)

_ABOUT_BEHIND = (
    "In mean SHD, ± the standard error of the mean difference. A dash: not run. What the reasons mean, and what would "
    "change it, is at the top of this page."
)

_ABOUT_RATIO = (
    "Where another federated method (the best one is shown) has more right directions for each wrong one, in all runs "
    "that both have of the place. "
    "No wrong one counts as a half, so that more right directions win if nobody is wrong; a method that states nothing "
    "loses to one that does."
)

_HOW = (
    "SHD counts a reversed edge as 2 and an open one as 1, as the paper does. A method that leaves open what it does "
    "not know has a higher SHD than one that guesses more than half of it right: look at wrong directions beside it. "
    "The paper keeps only seeds where the sites' own graphs have F1 above 0.85; here all count. All tables: "
    "[settings.md](settings.md); the paper's tables with its printed numbers: [paper-tables.md](paper-tables.md); "
    "published data: [real-tables.md](real-tables.md); how to run it: [benchmark.md](../guides/benchmark.md). "
    "`fedperi benchmark plan --saved --out docs/results` writes this page from the rows, and prints who is first where."
)
