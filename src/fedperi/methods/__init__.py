"""The methods, each with `fit(sites) -> Result`, and their results."""

from .evidence import EdgeEvidence
from .files.loading import load
from .iperi.method import IPERI, PERI
from .mperi import MPERI
from .result import Result

__all__ = ["IPERI", "MPERI", "PERI", "EdgeEvidence", "Result", "load"]
