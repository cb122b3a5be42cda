"""The experiments of the paper that compare methods: tables 1 and 2, clients, samples, local discovery, time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .contenders import CONTENDERS, ROWS, SLOW
from .figures import accuracy_figure, time_figure
from .fitting import FILTER, NUMBERS, filter_cells, fit_cells, kept, share_kept
from .grid import Cell, summarize_cells, write_table
from .page import Page, Request, markdown_table
from .published import TABLE1, TABLE2
from .settings import MIXED
from .tables import Printed, comparison_table, failures, standing

WHERE = ("setting", "p", "clients", "samples", "method")
_P = {"p": (3, 4, 8, 10, 20)}


@dataclass(frozen=True)
class Comparison:
    """An experiment: what varies, what is fixed, and which methods take part.

    Parameters
    ----------
    name, title : str
        For files and for people.
    text : str
        What is compared.
    axis, label : str
        The axis of tables and figures, and its label.
    grid, corner : mapping
        Arguments of `fit_cells`; `corner` is for quick runs.
    methods : tuple of str
        Rows.
    printed : mapping, optional
        Numbers printed in the paper.
    timed : bool
        Draw time, not accuracy.
    """

    name: str
    title: str
    text: str
    axis: str = "p"
    label: str = "p"
    grid: Mapping[str, Any] = field(default_factory=lambda: _P)
    corner: Mapping[str, Any] = field(default_factory=lambda: {"p": (3, 8)})
    methods: tuple[str, ...] = ROWS
    printed: Printed = field(default_factory=dict)
    timed: bool = False

    def cells(self, request: Request) -> list[Cell]:
        """List the cells, including those that compute the paper's filter."""
        grid = {**self.grid, **(self.corner if request.quick else {})}
        if request.at is not None:
            grid[self.axis] = request.at
        usual = (*ROWS, "pooled") if request.everything and self.methods == ROWS else self.methods
        fits = fit_cells(request.methods or usual, request.seeds, limit=request.limit, **grid)
        if request.quick and not request.methods:
            fits = [cell for cell in fits if cell["method"] not in SLOW or cell["seed"] == request.seeds[0]]
        return [*filter_cells(fits), *fits]

    def write(self, found: Sequence[Cell], out: Path, request: Request) -> Page:
        """Write tables and figures from the cells that are done."""
        filters = [row for row in found if row["task"] == "filter"]
        fits = [row for row in found if row["task"] == "fit"]
        shares = share_kept(filters, self.axis)
        if request.filtered:
            fits = kept(fits, filters)
        rows = summarize_cells(fits, WHERE, NUMBERS)
        write_table(rows, out / f"{self.name}.csv")
        text, figures = self.text + "\n\n", []
        for part, title, mine in self._panels(rows):
            text += f"**{title}**\n\n" if part else ""
            mixed = part == "mixed"
            some = [row for row in fits if not part or (row["samples"] == MIXED) == mixed]
            text += self._time(mine) if self.timed else self._accuracy(mine, some)
            file = out / f"{self.name}{f'-{part}' if part else ''}.png"
            draw = time_figure if self.timed else accuracy_figure
            if any(row["cells"] for row in mine):
                figures.append(draw(mine, self.axis, self.label, f"{self.title}{f', {title}' if part else ''}", file))
        if not self.timed:
            text += _filter_words(shares, self.label, request.filtered)
        text += failures(fits)
        return Page(self.title, text, tuple(figures))

    def _panels(self, rows: list[Cell]) -> list[tuple[str, str, list[Cell]]]:
        if not any(row["samples"] == MIXED for row in rows):
            return [("", "", rows)]
        same, mixed = ([row for row in rows if (row["samples"] == MIXED) == which] for which in (False, True))
        return [("same", "sites of equal size", same), ("mixed", "500, 1000 or 2000 rows by chance", mixed)]

    def _accuracy(self, rows: list[Cell], fits: list[Cell]) -> str:
        metrics = ("shd", "f1") if self.printed is TABLE1 else ("shd",)
        tables = [comparison_table(rows, metric, self.axis, self.label, self.printed) for metric in metrics]
        return "\n".join(tables) + f"\n{standing(fits, self.axis, self.label)}\n\n"

    def _time(self, rows: list[Cell]) -> str:
        values = sorted({row[self.axis] for row in rows})
        entries = []
        for method in [name for name in CONTENDERS if any(row["method"] == name and row["cells"] for row in rows)]:
            mine = {row[self.axis]: row for row in rows if row["method"] == method and row["cells"]}
            if CONTENDERS[method].kind != "oracle":
                times = [f"{mine[v]['cpu_s']:.3g} ± {mine[v]['cpu_s_sd']:.2g}" if v in mine else "-" for v in values]
                entries.append([CONTENDERS[method].label, *times])
        return markdown_table(["CPU seconds of one fit", *(f"{self.label} = {v}" for v in values)], entries) + "\n"


def _filter_words(shares: Mapping[object, float], label: str, filtered: bool) -> str:
    if not shares:
        return ""
    each = ", ".join(f"{share:.0%} at {label} = {value}" for value, share in shares.items())
    used = "Only these are used here." if filtered else "All seeds are used here (`--filter` leaves the others out)."
    return f"The paper keeps seeds where the sites' own graphs have F1 above {FILTER}. It would keep {each}. {used}\n\n"


_SETTING = (
    "K = 4 sites, n = 1000 rows each, linear, N(0, 1) noise, weights of size 0.1 to 1, each site its own. "
    "Every site but one was intervened on. No seed is left out."
)
_PUBLISHED = {
    "iperi-paper": "iperi-paper",
    "peri": "peri",
    "notears-admm-published": "notears-admm",
    "feddag-published": "feddag",
    "fedcdh-published": "fedcdh",
}
"""Methods as published, and the rows of the paper's table that belong to them."""

COMPARISONS = {
    one.name: one
    for one in (
        Comparison(
            "table1",
            "Table 1: variables, linear data",
            _SETTING,
            printed=TABLE1,
        ),
        Comparison(
            "table2",
            "Table 2: variables, non-linear data",
            "As table 1, but effects are tanh, sine or square. I-PERI and PERI take columns as `nonlinear` "
            "(polynomials), NOTEARS-ADMM uses networks; GES alone stays linear.",
            grid={**_P, "settings": ("own strengths, curved",)},
            printed=TABLE2,
        ),
        Comparison(
            "published",
            "Table 1 with the published code's mistakes",
            "As table 1, for the methods as their published code has them (`faithful=True`): to compare with what the "
            "paper prints.",
            methods=("iperi", *_PUBLISHED, "oracle-phi"),
            printed={name: TABLE1[of] for name, of in _PUBLISHED.items()},
        ),
        Comparison(
            "shared",
            "The same mechanisms everywhere",
            "As table 1, but all sites share weights, and differ by interventions alone. What tells methods apart that "
            "use changes of weights.",
            grid={**_P, "settings": ("cut",)},
        ),
        Comparison(
            "standardized",
            "Columns in standard units",
            "As table 1, but every site divides its columns by their standard deviations. In table 1 all noise has "
            "variance 1, so that effects vary more than their causes; methods that compare squared errors read "
            "directions off that. Units of measurement would take that away, and so does this.",
            grid={**_P, "settings": ("own strengths, standard units",)},
        ),
        Comparison(
            "clients",
            "Number of sites",
            "p = 8, linear; otherwise as table 1. The paper has figures of this without numbers, and does not say p.",
            "clients",
            "K",
            {"clients": (2, 4, 8, 10), "samples": (1000, MIXED)},
            {"clients": (2, 4)},
        ),
        Comparison(
            "samples",
            "Rows of a site",
            "p = 8, K = 4, linear; otherwise as table 1. The paper has figures of this without numbers.",
            "samples",
            "n",
            {"samples": (500, 1000, 2000)},
            {"samples": (500, 2000)},
        ),
        Comparison(
            "local",
            "PC against GES at the sites",
            "The paper's I-PERI masks by graphs that sites learn by themselves; `IPERI()` needs none. As table 1.",
            methods=("iperi", "iperi-paper", "iperi-paper-ges", "alone", "alone-pc", "oracle-cpdag", "oracle-phi"),
        ),
        Comparison(
            "time",
            "Time of one fit",
            "The fits of table 1. CPU seconds of one thread, tables in memory; reading files and networks excluded.",
            timed=True,
        ),
    )
}
