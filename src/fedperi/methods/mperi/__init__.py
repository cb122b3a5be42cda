"""M-PERI: compare the mechanisms of sites, sum over all DAGs, and say how sure each arrow is."""

from .method import MPERI

__all__ = ["MPERI"]
