"""Are the probabilities of M-PERI right? What it says with probability p should be true in a share p of cases.

Settings of `fedperi benchmark settings` at p = 8, K in {4, 10}; data that break the model (uniform noise, heavy tails,
curves, drift, a hidden variable, measurement error; interventions of all kinds); and hospital-like tables, six sites
of 1,000 rows, with and without drift. For every pair of variables the likelier direction counts if its probability is
at least one half; it is right if that arrow is in the true DAG. Bins with 100 entries or more whose share of right ones
is more than 0.05 below what was stated are marked with "too sure". Where a variable is hidden, an arrow between two of
its effects counts as wrong, unless the DAG without it has the same arrow.

Run: python benchmarks/mperi_calibration.py [--seeds 0 20] [--jobs 2] [--plot docs/calibration.png]

Started again, it computes only what is missing (see mperi_cases.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from mperi_cases import (
    GRAPHS,
    MISSPECIFIED,
    SHARED,
    Case,
    arguments,
    cpu_times,
    markdown,
    run,
    seeds_of,
    simulated,
    ward,
)
from numpy.typing import NDArray

METHOD = "MPERI()"
EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
MANY, SLACK = 100, 0.05
SITES = (4, 10)
COLOURS = ("#1f4e79", "#2a9d8f", "#8c564b", "#7f7f7f", "#e07b39", "#b5179e")
Floats = NDArray[np.float64]


def groups(seeds: Iterable[int]) -> dict[str, dict[str, list[Case]]]:
    """Groups of settings, and the cases of each setting."""

    def cases(setting: str) -> list[Case]:
        return [simulated(setting, 8, clients, seed) for clients in SITES for seed in seeds]

    clinics = {
        f"{graph}{', drift 0.1' if drift else ''}": [ward(graph, seed, drift=drift) for seed in seeds]
        for graph in GRAPHS
        for drift in (0.0, 0.1)
    }
    return {
        "shared": {setting: cases(setting) for setting in SHARED},
        "own strengths": {"own strengths": cases("own strengths")},
        "nothing shared": {"nothing shared": cases("nothing shared")},
        "no policy": {"no policy": cases("no policy")},
        "misspecified": {setting: cases(setting) for setting in MISSPECIFIED},
        "clinic": clinics,
    }


def binned(stated: Floats) -> list[tuple[str, int, float, float]]:
    """Of rows (probability, right): for each bin its name, count, mean stated, share right."""
    out = []
    for low, high in pairwise(EDGES):
        inside = stated[(stated[:, 0] >= low) & ((stated[:, 0] < high) | (high == 1))]
        mean, right = inside.mean(axis=0) if len(inside) else (np.nan, np.nan)
        out.append((f"{low:g} to {high:g}", len(inside), float(mean), float(right)))
    return out


def too_sure(count: int, mean: float, right: float) -> bool:
    return count >= MANY and right < mean - SLACK


def print_bins(title: str, stated: Floats) -> None:
    rows = [
        (name, count, f"{mean:.3f}", f"{right:.3f}", "too sure" if too_sure(count, mean, right) else "")
        for name, count, mean, right in binned(stated)
    ]
    markdown(title, ("stated", "count", "mean stated", "share right", ""), rows)


def print_settings(found: dict[str, dict[str, Floats]]) -> None:
    """One line per setting: all that is said with .5 or more, and with .9 or more."""
    rows = []
    for group, settings in found.items():
        for setting, stated in settings.items():
            cells: list[object] = []
            for some in (stated, stated[stated[:, 0] >= 0.9]):
                mean, right = some.mean(axis=0) if len(some) else (np.nan, np.nan)
                cells += [
                    len(some),
                    f"{mean:.3f}",
                    f"{right:.3f}",
                    "too sure" if too_sure(len(some), mean, right) else "",
                ]
            rows.append((group, setting, *cells))
    part = ("count", "mean stated", "share right", "")
    markdown("By setting: stated .5 or more; .9 or more", ("group", "setting", *part, *part), rows)


def interval(right: float, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z = 1.96
    middle, half = right + z * z / (2 * count), z * np.sqrt(right * (1 - right) / count + z * z / (4 * count**2))
    return (middle - half) / (1 + z * z / count), (middle + half) / (1 + z * z / count)


def draw(found: dict[str, Floats], everything: Floats, file: Path) -> None:
    """Draw for each bin what was stated, as a line, and the share that was right in each group."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.4), layout="constrained")
    ax = figure.subplots()
    for at, (_, count, mean, _) in enumerate(binned(everything)):
        if count:
            ax.plot(
                [at - 0.42, at + 0.42], [mean, mean], color="black", linewidth=2, zorder=1, label="" if at else "stated"
            )
    for number, (group, stated) in enumerate(found.items()):
        shift = 0.12 * (number - (len(found) - 1) / 2)
        shown = [(at, n, right) for at, (_, n, _, right) in enumerate(binned(stated)) if n >= MANY // 5]
        bounds = [interval(right, n) for _, n, right in shown]
        ax.errorbar(
            [at + shift for at, _, _ in shown],
            [right for *_, right in shown],
            yerr=np.array([(r - low, high - r) for (*_, r), (low, high) in zip(shown, bounds, strict=True)]).clip(0).T
            if shown
            else None,
            fmt="o",
            color=COLOURS[number],
            label=group,
            markersize=4.5,
            elinewidth=1.0,
        )
    names = [f"{low:g} to\n{high:g}".replace("0.", ".") for low, high in pairwise(EDGES)]
    ax.set_xticks(range(len(names)), names)
    ax.set_xlabel("what M-PERI states for a direction")
    ax.set_ylabel("share that is right (95 % intervals)")
    ax.set_ylim(top=1.01)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="lower right")
    figure.suptitle("Above the black line: right more often than stated", fontsize=12, x=0.01, ha="left")
    figure.savefig(file, dpi=130)


def joined(parts: Sequence[Floats]) -> Floats:
    return np.concatenate(parts) if parts else np.zeros((0, 2))


def main() -> None:
    parser = arguments(__doc__, 20)
    parser.add_argument("--plot", type=Path, help="file of the figure")
    given = parser.parse_args()
    seeds = seeds_of(given)
    print(f"Seeds {seeds.start} to {seeds.stop - 1}")
    cases = groups(seeds)
    tasks = [{"case": case, "method": METHOD} for some in cases.values() for part in some.values() for case in part]
    record = run(tasks, given)
    found = {
        group: {
            setting: joined([np.reshape(record({"case": c, "method": METHOD})["stated"], (-1, 2)) for c in part])
            for setting, part in settings.items()
        }
        for group, settings in cases.items()
    }
    together = {group: joined(list(settings.values())) for group, settings in found.items()}
    everything = joined(list(together.values()))
    print_bins("All together", everything)
    for group, stated in together.items():
        print_bins(group, stated)
    print_settings(found)
    cpu_times(
        {
            group: [record({"case": c, "method": METHOD}) for part in settings.values() for c in part]
            for group, settings in cases.items()
        }
    )
    if given.plot:
        draw(together, everything, given.plot)


if __name__ == "__main__":
    main()
