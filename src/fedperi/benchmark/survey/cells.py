"""The grid of the survey: settings x numbers of variables x methods x seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..contenders import PEERS, SLOW, contender
from ..fitting import fit_cells
from ..grid import Cell
from ..page import Request
from ..settings import SETTINGS, setting

SIZES = (5, 10, 20, 50)
SITES, ROWS = 5, 1000
CLINIC_SIZE, CLINIC_SITES = 12, 6
FEW = 3
"""Number of seeds for slow methods that are not requested by name."""

METHODS = (
    *("mperi", "mperi-75", "iperi", "peri", "notears-admm", "feddag", "fedcdh"),
    *PEERS,
    *("oracle-cpdag", "oracle-phi", "oracle-targets"),
)

_OTHERWISE = ("own strengths, curved", "own strengths, standard units")
"""Settings of the paper's tables that the survey has in another form."""

SURVEYED = tuple(name for name in SETTINGS if name not in _OTHERWISE)


def cells(request: Request) -> list[Cell]:
    """List the grid: all settings for a few seeds before further seeds, so that a stopped run is broad."""
    settings = tuple(setting(name).name for name in request.settings or SURVEYED)
    sizes = request.at or ((5, CLINIC_SIZE) if request.quick else (*SIZES, CLINIC_SIZE))
    out: list[Cell] = []
    for method in request.methods or METHODS:
        seeds = _seeds(method, request)
        for size in sizes:
            most = contender(method).most if not _asked(request) else None
            if most is None or size <= most:
                out += _of_size(method, seeds, settings, size, request)
    return sorted(
        out, key=lambda cell: (cell["method"] in SLOW, cell["seed"], cell["p"], settings.index(cell["setting"]))
    )


def _seeds(method: str, request: Request) -> Sequence[int]:
    return request.seeds if _asked(request) or method not in SLOW else request.seeds[:FEW]


def _asked(request: Request) -> bool:
    """Whether methods are run even if they are slow."""
    return request.methods is not None or request.everything


def _of_size(method: str, seeds: Sequence[int], settings: Sequence[str], size: int, request: Request) -> list[Cell]:
    """List the cells of a method at a size; hospital-like tables have their own size."""
    clinic = [name for name in settings if SETTINGS[name].clinic and size == CLINIC_SIZE]
    others = [name for name in settings if not SETTINGS[name].clinic and (size != CLINIC_SIZE or request.at)]
    grid: dict[str, Any] = {"p": (size,), "samples": (ROWS,), "limit": request.limit}
    return [
        *fit_cells((method,), seeds, settings=clinic, clients=(CLINIC_SITES,), **grid),
        *fit_cells((method,), seeds, settings=others, clients=(SITES,), **grid),
    ]
