"""M-PERI: compare the mechanisms of sites, sum over all DAGs, and state how certain each arrow is."""

from .method import MPERI

__all__ = ["MPERI"]
