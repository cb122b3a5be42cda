"""The methods: each composes sites, coordinator and search into `fit(sites) -> Result`."""

from .evidence import EdgeEvidence
from .iperi import IPERI, PERI
from .result import Result

__all__ = ["IPERI", "PERI", "EdgeEvidence", "Result"]
