"""FCI on summaries: what can be known although causes are hidden."""

from .method import FCI
from .result import FCIResult

__all__ = ["FCI", "FCIResult"]
