"""The methods that are compared, of this package and others, each with one name, one label and one colour."""

from .contender import Contender, Found, Problem
from .limits import LIMIT, TooSlowError
from .registry import CONTENDERS, PEERS, ROWS, SLOW, contender, left_out
from .solving import solve

__all__ = [
    "CONTENDERS",
    "LIMIT",
    "PEERS",
    "ROWS",
    "SLOW",
    "Contender",
    "Found",
    "Problem",
    "TooSlowError",
    "contender",
    "left_out",
    "solve",
]
