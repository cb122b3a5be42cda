"""Graphs side by side, and every pair of variables by method, to show agreement and mistakes."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...graph.pdag import PDAG
from ..contenders import CONTENDERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RIGHT, WRONG, OPEN, PLAIN, MISSED = "#1b9e77", "#c0392b", "#8a8a8a", "#0b5394", "#c9c9c9"
COLOURS = {"right": RIGHT, "wrong": WRONG, "plain": PLAIN}
ACROSS = 4


def verdict(a: str, b: str, truth: PDAG | None, roots: Collection[str]) -> str:
    """Judge the arrow a -> b: "right", "wrong", or "plain" if nothing is known.

    Examples
    --------
    >>> verdict("x", "age", None, {"age"})
    'wrong'
    """
    if truth is None:
        return "wrong" if b in roots else "plain"
    return "right" if (a, b) in truth.directed else "wrong"


def graphs_figure(
    graphs: Mapping[str, PDAG], truth: PDAG | None, roots: Collection[str], title: str, file: Path
) -> Path:
    """Draw each graph on a circle of the same variables; edges that only the truth has are dotted."""
    from matplotlib.figure import Figure

    names = (truth or next(iter(graphs.values()))).names
    down = math.ceil(len(graphs) / ACROSS)
    figure = Figure(figsize=(3.1 * ACROSS, 3.2 * down + 0.5), layout="constrained")
    axes = figure.subplots(down, ACROSS, squeeze=False)
    for ax in axes.flat:
        ax.set_axis_off()
    for ax, (method, graph) in zip(axes.flat, graphs.items(), strict=False):
        _draw(ax, graph, names, truth, roots)
        ax.set_title(CONTENDERS[method].label, fontsize=10, color=CONTENDERS[method].colour)
    known = "green: as in the truth, red: not, grey: no direction, dotted: missed" if truth else ""
    known = known or ("red: into " + " or ".join(roots) + ", which is impossible" if roots else "")
    figure.suptitle(f"{title}{f' ({known})' if known else ''}", fontsize=12, x=0.01, ha="left")
    figure.savefig(file, dpi=110)
    return file


def pairs_figure(
    graphs: Mapping[str, PDAG], truth: PDAG | None, roots: Collection[str], title: str, file: Path
) -> Path:
    """Draw a table: pairs that are adjacent in some graph as rows, methods as columns."""
    from matplotlib.figure import Figure

    every = [*graphs.values(), *([truth] if truth else [])]
    pairs = sorted({pair for graph in every for pair in _pairs(graph)}, key=lambda pair: -_count(graphs, pair))
    columns = [*(["truth"] if truth else []), *graphs]
    figure = Figure(figsize=(3.2 + 0.62 * len(columns), 1.6 + 0.21 * len(pairs)), layout="constrained")
    ax = figure.subplots()
    for row, (a, b) in enumerate(pairs):
        for column, name in enumerate(columns):
            graph = truth if name == "truth" else graphs[name]
            mark = _mark(graph, a, b, truth, roots) if graph is not None else None
            if mark is not None:
                ax.text(column, row, mark[0], color=mark[1], ha="center", va="center", fontsize=11, weight="bold")
    ax.set_yticks(range(len(pairs)), [f"{a}, {b}" for a, b in pairs], fontsize=8)
    labels = ["truth" if name == "truth" else CONTENDERS[name].label for name in columns]
    ax.set_xticks(range(len(columns)), labels, rotation=60, ha="left", fontsize=8)
    ax.xaxis.tick_top()
    ax.set_xlim(-0.5, len(columns) - 0.5)
    ax.set_ylim(len(pairs) - 0.5, -0.5)
    ax.grid(alpha=0.2)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    figure.suptitle(
        f"{title}: pairs that are joined, most agreed on first (a → b or ←)", fontsize=11, x=0.01, ha="left"
    )
    figure.savefig(file, dpi=110)
    return file


def _draw(ax: Axes, graph: PDAG, names: Sequence[str], truth: PDAG | None, roots: Collection[str]) -> None:
    angle = {name: math.pi / 2 - 2 * math.pi * k / len(names) for k, name in enumerate(names)}
    at = {name: (math.cos(one), math.sin(one)) for name, one in angle.items()}
    found = graph.skeleton.undirected
    for a, b in sorted(truth.directed) if truth else ():
        if not {(a, b), (b, a)} & found:
            _line(ax, at[a], at[b], "-|>", MISSED, ":")
    for a, b in sorted(graph.directed):
        _line(ax, at[a], at[b], "-|>", COLOURS[verdict(a, b, truth, roots)], "-")
    for a, b in sorted(graph.undirected):
        _line(ax, at[a], at[b], "-", OPEN, "-")
    for name, (x, y) in at.items():
        ax.text(
            x,
            y,
            name,
            ha="center",
            va="center",
            fontsize=7,
            bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": "#777777"},
        )
    ax.set_xlim(-1.3, 1.3)
    ax.set_ylim(-1.2, 1.2)


def _line(ax: Axes, start: tuple[float, float], end: tuple[float, float], style: str, colour: str, dash: str) -> None:
    from matplotlib.patches import FancyArrowPatch

    ax.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle=style, color=colour, linestyle=dash, mutation_scale=9, shrinkA=11, shrinkB=11
        )
    )


def _pairs(graph: PDAG) -> set[tuple[str, str]]:
    return {(min(pair), max(pair)) for pair in (*graph.directed, *graph.undirected)}


def _count(graphs: Mapping[str, PDAG], pair: tuple[str, str]) -> int:
    return sum(pair in _pairs(graph) for graph in graphs.values())


def _mark(graph: PDAG, a: str, b: str, truth: PDAG | None, roots: Collection[str]) -> tuple[str, str] | None:
    if (a, b) in graph.directed:
        return "→", COLOURS[verdict(a, b, truth, roots)]
    if (b, a) in graph.directed:
        return "←", COLOURS[verdict(b, a, truth, roots)]
    joined = {(a, b), (b, a)} & graph.undirected
    return ("—", OPEN) if joined else None
