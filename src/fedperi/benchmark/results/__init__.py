"""`fedperi benchmark plan`: the published results, from a plan that is written down to the pages that show them."""

from .pages import write
from .plan import cells

__all__ = ["cells", "write"]
