"""The simulated settings, each defined once for all benchmarks."""

from .catalogue import BREAKING, GRAPHS, PAPER, POLICIES, SETTINGS, setting
from .drawing import MIXED, World, draw
from .setting import Setting

__all__ = ["BREAKING", "GRAPHS", "MIXED", "PAPER", "POLICIES", "SETTINGS", "Setting", "World", "draw", "setting"]
