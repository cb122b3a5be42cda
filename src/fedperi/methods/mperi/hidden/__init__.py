"""Signs of hidden common causes in a run of M-PERI."""

from .sign import Sign
from .signs import find_signs, hidden_causes

__all__ = ["Sign", "find_signs", "hidden_causes"]
