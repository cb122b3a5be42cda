"""Figures that can be read without the text: each method has the same colour everywhere, limits are lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .contenders import CONTENDERS
from .grid import Cell
from .paired import OURS
from .settings import SETTINGS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES = {"oracle-cpdag": ":", "oracle-phi": "--"}
WORDS = {"p": "variables, p", "clients": "sites, K", "samples": "rows of each site, n"}
LOGARITHMIC = 20
"""If SHD exceeds this, its axis is logarithmic above 2: differences between methods matter most near zero."""

MARKS = {"federated": "o", "pooled": "^", "control": "s"}


def accuracy_figure(rows: Sequence[Cell], axis: str, label: str, title: str, file: Path) -> Path:
    """Draw SHD and F1 over an axis, side by side: means with 95 % intervals, oracles as lines without marks."""
    from matplotlib.ticker import NullLocator

    figure = _figure((11.5, 4.6))
    left, right = figure.subplots(1, 2)
    for ax, metric, name in (
        (left, "shd", "SHD to the true DAG  (lower is better)"),
        (right, "f1", "F1  (higher is better)"),
    ):
        _lines(ax, rows, axis, metric)
        ax.set_xlabel(WORDS.get(axis, label))
        ax.set_title(name, fontsize=10, loc="left")
    means = [row["shd"] for row in rows if row["cells"]]
    top = 1.25 * max(means, default=1.0) + 0.5  # a few seeds have intervals beyond all bounds
    if top > LOGARITHMIC:
        left.set_yscale("symlog", linthresh=2)
        left.set_yticks(ticks := [t for t in (0, 1, 2, 5, 10, 20, 50, 100, 200) if t < top], [str(t) for t in ticks])
        left.yaxis.set_minor_locator(NullLocator())
    left.set_ylim(0, top)
    right.set_ylim(0, 1.02)
    _legend(figure, left)
    figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    return _saved(figure, file)


def time_figure(rows: Sequence[Cell], axis: str, label: str, title: str, file: Path) -> Path:
    """Draw CPU seconds of a fit over an axis, on a logarithmic scale; oracles take no time and are left out."""
    figure = _figure((8.4, 4.6))
    ax = figure.subplots()
    _lines(ax, [row for row in rows if CONTENDERS[row["method"]].kind != "oracle"], axis, "cpu_s")
    ax.set_yscale("log")
    ax.set_xlabel(WORDS.get(axis, label))
    ax.set_title("CPU seconds of one fit, all sites and the coordinator together (log scale)", fontsize=10, loc="left")
    _legend(figure, ax)
    figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    return _saved(figure, file)


def growth_figure(panels: Sequence[tuple[str, str, Sequence[Cell]]], title: str, file: Path) -> Path:
    """Draw CPU seconds against each size, one panel each, on logarithmic axes with the fitted power."""
    figure = _figure((4.2 * len(panels), 4.0))
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for ax, (axis, label, rows) in zip(axes, panels, strict=True):
        x, y = [float(row[axis]) for row in rows], [float(row["cpu_s"]) for row in rows]
        ax.plot(x, y, "o-", color=CONTENDERS["iperi"].colour)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel(label)
        power = fitted_power(x, y)
        ax.set_title(f"grows like {axis} to the {power:.1f}", fontsize=10, loc="left")
        _plain(ax)
    axes[0].set_ylabel("CPU seconds")
    figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    return _saved(figure, file)


def settings_figure(rows: Sequence[Cell], title: str, file: Path) -> Path:
    """Draw the mean SHD of every method in every setting as a marker, one line per setting; limits as black markers."""
    settings = [name for name in reversed(SETTINGS) if any(row["setting"] == name and row["cells"] for row in rows)]
    figure = _figure((9.6, 1.6 + 0.3 * len(settings)))
    ax = figure.subplots()
    for name, one in CONTENDERS.items():
        mine = [row for row in rows if row["method"] == name and row["cells"]]
        if mine and name != "oracle-cpdag":
            oracle, ours = one.kind == "oracle", name in OURS
            ax.scatter(
                [row["shd"] for row in mine],
                [settings.index(row["setting"]) for row in mine],
                marker="|" if oracle else MARKS[one.kind],
                s=130 if oracle else 70 if ours else 28,
                color=one.colour,
                label=one.label,
                zorder=4 if ours else 3,
                alpha=0.9,
            )
    ax.set_yticks(range(len(settings)), settings)
    ax.set_xscale("symlog", linthresh=2)
    top = 1.15 * max((row["shd"] for row in rows if row["cells"]), default=1.0) + 0.5
    ticks = [t for t in (0, 1, 2, 5, 10, 20, 50, 100, 200, 500) if t < top]
    ax.set_xticks(ticks, [str(t) for t in ticks])
    ax.set_xlim(-0.15, top)
    ax.set_xlabel("SHD to the true DAG  (lower is better; circles: federated, triangles: all rows in one place)")
    _plain(ax)
    _legend(figure, ax)
    figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    return _saved(figure, file)


def fitted_power(x: Sequence[float], y: Sequence[float]) -> float:
    """Fit y = c x^a by least squares of the logarithms, and return a.

    Examples
    --------
    >>> round(fitted_power([1, 10, 100], [2, 200, 20000]), 6)
    2.0
    """
    import numpy as np

    if len(x) < 2:
        return float("nan")
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _lines(ax: Axes, rows: Sequence[Cell], axis: str, metric: str) -> None:
    values = sorted({row[axis] for row in rows}, key=lambda value: (isinstance(value, str), value))
    shown = [name for name in CONTENDERS if any(row["method"] == name and row["cells"] for row in rows)]
    marked = [name for name in shown if name not in LINES]
    for name in shown:
        one = CONTENDERS[name]
        mine = {row[axis]: row for row in rows if row["method"] == name and row["cells"]}
        at = [values.index(value) for value in mine]
        mean = [row[metric] for row in mine.values()]
        if name in LINES:
            ax.plot(at, mean, LINES[name], color=one.colour, label=one.label, linewidth=1.4, zorder=1)
            continue
        # Side by side, so that intervals do not hide each other.
        shift = 0.05 * (marked.index(name) - (len(marked) - 1) / 2)
        reach = [row[f"{metric}_ci"] for row in mine.values()]
        low = [min(r, 0.9 * m) if metric == "cpu_s" else r for r, m in zip(reach, mean, strict=True)]
        ours = name in OURS
        ax.errorbar(
            [a + shift for a in at],
            mean,
            yerr=[low, reach],
            fmt=MARKS[one.kind] + "-",
            color=one.colour,
            label=one.label,
            linewidth=2.4 if ours else 1.2,
            elinewidth=1.0,
            markersize=6 if ours else 4.5,
            zorder=3 if ours else 2,
        )
    ax.set_xticks(range(len(values)), [str(value) for value in values])
    _plain(ax)


def _figure(size: tuple[float, float]) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def _plain(ax: Axes) -> None:
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)


def _legend(figure: Figure, ax: Axes) -> None:
    found = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    labels = [one.label for one in CONTENDERS.values() if one.label in found]
    handles = [found[label] for label in labels]
    keep: Any = {"loc": "outside right center", "frameon": False, "fontsize": 9}
    figure.legend(handles, labels, **keep)


def _saved(figure: Figure, file: Path) -> Path:
    figure.savefig(file, dpi=130)
    # Without a date and with fixed names, the same numbers give the same file.
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "fedperi"}):
        figure.savefig(file.with_suffix(".svg"), metadata={"Date": None})
    return file
