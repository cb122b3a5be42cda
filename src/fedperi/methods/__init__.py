"""The methods: each composes sites, coordinator and search into `fit(sites) -> Result`."""

from .evidence import EdgeEvidence
from .iperi.method import IPERI, PERI
from .loading import load
from .mperi import MPERI
from .result import Result

__all__ = ["IPERI", "MPERI", "PERI", "EdgeEvidence", "Result", "load"]
