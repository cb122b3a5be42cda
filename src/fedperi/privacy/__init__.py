"""Differential privacy: mechanisms, prices, the ledger and the release file. Wraps statistics or answers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .accounting import Price, Totals, total
    from .ledger import Ceiling, Ledger
    from .options import Privacy
    from .regret_noise import lemma_sensitivity
    from .release.file import is_release, load_release, save_release, sign_release
    from .release.release import Plan, Release
    from .release.site_release import plan_release, release_table
    from .store import Store
    from .zcdp import zcdp_epsilon, zcdp_rho

# Loaded when first used: `import fedperi` needs none of them.
_MODULES = {
    ".accounting": ("Price", "Totals", "total"),
    ".ledger": ("Ceiling", "Ledger"),
    ".options": ("Privacy",),
    ".regret_noise": ("lemma_sensitivity",),
    ".release.file": ("is_release", "load_release", "save_release", "sign_release"),
    ".release.release": ("Plan", "Release"),
    ".release.site_release": ("plan_release", "release_table"),
    ".store": ("Store",),
    ".zcdp": ("zcdp_epsilon", "zcdp_rho"),
}
_LAZY = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Ceiling",
    "Ledger",
    "Plan",
    "Price",
    "Privacy",
    "Release",
    "Store",
    "Totals",
    "is_release",
    "lemma_sensitivity",
    "load_release",
    "plan_release",
    "release_table",
    "save_release",
    "sign_release",
    "total",
    "zcdp_epsilon",
    "zcdp_rho",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(import_module(_LAZY[name], __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
