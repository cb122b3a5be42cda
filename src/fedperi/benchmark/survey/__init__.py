"""`fedperi benchmark settings`: all methods in all settings; which is best where; every row has its command."""

from .cells import cells
from .page import write

__all__ = ["cells", "write"]
