"""What one site does alone: scores, independence tests, PC and GES."""

from .discrete import DiscreteScore
from .gaussian import GaussianScore
from .ges import GESResult, ges_fit
from .independence import G2, ChiSquare, DSeparation, FisherZ, IndependenceTest
from .pc import PCResult, pc_fit
from .score import Query, Score, ScoreCache

__all__ = [
    "G2",
    "ChiSquare",
    "DSeparation",
    "DiscreteScore",
    "FisherZ",
    "GESResult",
    "GaussianScore",
    "IndependenceTest",
    "PCResult",
    "Query",
    "Score",
    "ScoreCache",
    "ges_fit",
    "pc_fit",
]
