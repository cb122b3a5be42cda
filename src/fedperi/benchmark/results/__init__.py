"""`fedperi benchmark plan`: the published results, from a fixed plan to the pages that show them."""

from .pages import write
from .plan import cells

__all__ = ["cells", "write"]
