"""The plan of the published results: written before the first fit, and not changed while it ran.

Steps are in the order of importance. A stopped run has complete steps and, for the step in progress, all settings for
the first seeds. The page lists the rest as not run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..comparisons import COMPARISONS
from ..contenders import CONTENDERS, PEERS
from ..experiments import experiment
from ..fitting import filter_cells, fit_cells
from ..grid import Cell
from ..page import Request, markdown_table
from ..settings import MIXED, SETTINGS
from ..survey.cells import CLINIC_SITES, CLINIC_SIZE, SITES, SURVEYED

FIRST = 41_000
"""The first seed: no seed from here on was used for anything before, neither in development nor in an earlier run."""

LIMIT = 60.0
"""Limit of CPU seconds for one fit."""

OURS = ("mperi", "mperi-75", "iperi", "peri")
ORACLES = ("oracle-cpdag", "oracle-phi", "oracle-targets")
QUICK = (*OURS, *(name for name in PEERS if name != "gnies"), *ORACLES)
"""Methods that take less than a second with ten variables, M-PERI included."""

PAPER = (*OURS, "iperi-paper", *(name for name in PEERS if name != "gnies"), "alone", "oracle-cpdag", "oracle-phi")
"""The rows of the paper's tables, without the methods that are slow."""

AT_50 = (*OURS, "ut-igsp", "cd-nod", "pc", *ORACLES)
"""Of these those that take at most a few seconds with 50 variables."""

SLOWER = ("notears-admm", "fedcdh")
"""Federated methods for which a few seeds must be enough."""

CORE = ("cut", "some cut", "strengths", "shift", "scale", "mixed", "no policy", "own strengths")
"""Settings for methods and sizes that are too expensive for all settings."""

EVERYWHERE = tuple(name for name in SURVEYED if not SETTINGS[name].clinic)
CLINIC = tuple(name for name in SURVEYED if SETTINGS[name].clinic)


@dataclass(frozen=True)
class Step:
    """A part of the plan.

    Parameters
    ----------
    of : str
        The experiment whose page shows it.
    methods, settings : tuple of str
        The methods and the settings.
    p, clients : tuple of int
        Numbers of variables and of sites.
    seeds : int
        Number of seeds, beginning with `FIRST`.
    samples : tuple
        Rows per site.
    """

    of: str
    methods: tuple[str, ...]
    settings: tuple[str, ...]
    p: tuple[int, ...]
    seeds: int
    clients: tuple[int, ...] = (SITES,)
    samples: tuple[int | str, ...] = (1000,)

    def cells(self) -> list[Cell]:
        """List the fits: all settings for one seed before the next seed.

        Examples
        --------
        >>> [cell["seed"] for cell in Step("settings", ("peri",), ("cut", "shift"), (5,), 2).cells()]
        [41000, 41000, 41001, 41001]
        """
        found = fit_cells(
            self.methods,
            range(FIRST, FIRST + self.seeds),
            settings=self.settings,
            p=self.p,
            clients=self.clients,
            samples=self.samples,
            limit=LIMIT,
        )
        order = {name: place for place, name in enumerate(self.settings)}
        return sorted(found, key=lambda cell: (cell["seed"], cell["p"], order[cell["setting"]], cell["clients"]))


_SITES = (4,)
_OWN = ("own strengths",)
_UNITS = ("own strengths, standard units",)
_CURVED = ("own strengths, curved",)

STEPS = (
    Step("settings", QUICK, EVERYWHERE, (5,), 20),
    Step("settings", QUICK, EVERYWHERE, (10,), 10),
    Step("settings", QUICK, CLINIC, (CLINIC_SIZE,), 20, (CLINIC_SITES,)),
    Step("settings", (*SLOWER, "gnies"), EVERYWHERE, (5,), 3),
    Step("settings", QUICK, EVERYWHERE, (20,), 5),
    Step("settings", AT_50, EVERYWHERE, (50,), 1),
    Step("settings", QUICK, EVERYWHERE, (10,), 20),
    Step("settings", ("feddag",), CORE, (5,), 3),
    Step("settings", SLOWER, CORE, (10,), 3),
    Step("table1", PAPER, _OWN, (3, 4, 8, 10, 20), 20, _SITES),
    Step("settings", QUICK, EVERYWHERE, (20,), 10),
    Step("table2", PAPER, _CURVED, (3, 4, 8, 10), 20, _SITES),
    Step("shared", PAPER, ("cut",), (3, 4, 8, 10), 20, _SITES),
    Step("standardized", PAPER, _UNITS, (3, 4, 8, 10), 20, _SITES),
    Step("samples", PAPER, _OWN, (8,), 20, _SITES, (500, 1000, 2000)),
    Step("clients", PAPER, _OWN, (8,), 20, (2, 4, 8, 10), (1000, MIXED)),
    Step("local", ("iperi-paper-ges", "alone-pc"), _OWN, (3, 4, 8, 10, 20), 20, _SITES),
    Step("table1", SLOWER, _OWN, (3, 4, 8, 10), 3, _SITES),
    Step("standardized", SLOWER, _UNITS, (3, 4, 8, 10), 3, _SITES),
    Step("settings", AT_50, EVERYWHERE, (50,), 3),
    Step("settings", QUICK, EVERYWHERE, (20,), 20),
    Step("published", ("notears-admm-published", "fedcdh-published"), _OWN, (3, 4, 8), 3, _SITES),
    Step("settings", SLOWER, EVERYWHERE, (10,), 3),
    Step("settings", ("gnies",), CORE, (10,), 3),
    Step("settings", SLOWER, CORE, (20,), 1),
    Step("settings", ("feddag",), CORE, (10,), 1),
    Step("settings", AT_50, EVERYWHERE, (50,), 20),
)
"""The plan, in the order in which it runs."""


ALSO = {"exactness": 1, "ablation": 10, "privacy": 3, "scale": 3}
"""Experiments about the paper's methods alone, after the plan, and their numbers of seeds."""


def also(name: str) -> list[Cell]:
    """List the cells of an experiment about the paper's methods.

    Examples
    --------
    >>> also("privacy")[0]["seed"]
    41000
    """
    return experiment(name).cells(Request(seeds=range(FIRST, FIRST + ALSO[name])))


def cells(request: Request) -> list[Cell]:
    """List all fits in the order of the plan, each once; seeds of the request are not used.

    Examples
    --------
    >>> len(cells(Request())) > 20_000
    True
    """
    out: dict[tuple[object, ...], Cell] = {}
    for step in STEPS:
        fits = step.cells()
        for cell in [*(filter_cells(fits) if step.of in COMPARISONS else ()), *fits]:
            out.setdefault(tuple(cell.values()), cell)
    return [*out.values(), *(cell for name in ALSO for cell in also(name))]


def not_run(found: Sequence[Cell], experiment: str) -> str:
    """List the numbers of variables and the methods of an experiment that have not been run at all.

    Examples
    --------
    >>> not_run([{"task": "fit", "method": "mperi", "p": 5}], "table1")
    '3, 4, 8, 10, 20 variables; M-PERI .75, ...'
    """
    steps = [step for step in STEPS if step.of == experiment]
    there = {(row["method"], row["p"]) for row in found if row["task"] == "fit"}
    sizes = sorted({p for step in steps for p in step.p} - {p for _, p in there})
    asked = dict.fromkeys(name for step in steps for name in step.methods)
    methods = [CONTENDERS[name].label for name in asked if name not in {method for method, _ in there}]
    words = [f"{', '.join(map(str, sizes))} variables"] if sizes else []
    return "; ".join([*words, *([", ".join(methods)] if methods else [])])


def progress(found: Sequence[Cell]) -> str:
    """Say which part of the plan has been run, step by step.

    Examples
    --------
    >>> print(progress([]).splitlines()[2])
    | 1 | settings | M-PERI, M-PERI .75, I-PERI (ours), PERI, UT-IGSP, ... | 21 | 5 | 20 | none of 5,040 |
    """
    done = {tuple(row[name] for name in _WHICH) for row in found if row["task"] == "fit"}
    lines = []
    for place, step in enumerate(STEPS, start=1):
        mine = step.cells()
        run = sum(tuple(cell[name] for name in _WHICH) in done for cell in mine)
        settings = step.settings[0] if len(step.settings) == 1 else str(len(step.settings))
        methods = [CONTENDERS[name].label for name in step.methods]
        some = [*methods[:5], "..."] if len(methods) > 6 else methods
        sizes = ", ".join(map(str, step.p))
        fits = f"{run:,}" if run == len(mine) else f"{f'{run:,}' if run else 'none'} of {len(mine):,}"
        lines.append([str(place), step.of, ", ".join(some), settings, sizes, str(step.seeds), fits])
    return markdown_table(["step", "for", "methods", "settings", "variables", "seeds", "fits"], lines)


_WHICH = ("setting", "p", "clients", "samples", "method", "seed")
