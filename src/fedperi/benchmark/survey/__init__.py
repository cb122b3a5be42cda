"""`fedperi benchmark settings`: all methods in all settings; who is first where, and every row with its command."""

from .cells import cells
from .page import write

__all__ = ["cells", "write"]
