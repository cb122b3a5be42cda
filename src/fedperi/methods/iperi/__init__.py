"""PERI and I-PERI, the paper's methods, phase by phase."""

from .method import IPERI, PERI

__all__ = ["IPERI", "PERI"]
