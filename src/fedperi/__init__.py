"""Federated causal discovery from sites that differ by interventions nobody wrote down."""

from ._version import __version__
from .errors import InputError
from .graph.pdag import PDAG

__all__ = ["PDAG", "InputError", "__version__"]
