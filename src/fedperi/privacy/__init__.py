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
_LAZY = {
    "Ceiling": ".ledger",
    "Ledger": ".ledger",
    "Plan": ".release.release",
    "Price": ".accounting",
    "Privacy": ".options",
    "Release": ".release.release",
    "Store": ".store",
    "Totals": ".accounting",
    "is_release": ".release.file",
    "lemma_sensitivity": ".regret_noise",
    "load_release": ".release.file",
    "plan_release": ".release.site_release",
    "release_table": ".release.site_release",
    "save_release": ".release.file",
    "sign_release": ".release.file",
    "total": ".accounting",
    "zcdp_epsilon": ".zcdp",
    "zcdp_rho": ".zcdp",
}

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
