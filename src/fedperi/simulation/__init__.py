"""Random DAGs, interventions and structural equation models: data whose truth is known."""

from .covariance import implied_covariance, implied_mean
from .result import Simulation
from .simulate import simulate

__all__ = ["Simulation", "implied_covariance", "implied_mean", "simulate"]
