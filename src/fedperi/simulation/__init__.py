"""Random DAGs, interventions and structural equation models: data whose truth is known."""

from .clinic.clinic import Clinic, clinic
from .covariance import implied_covariance, implied_mean
from .result import Simulation
from .simulate import simulate

__all__ = ["Clinic", "Simulation", "clinic", "implied_covariance", "implied_mean", "simulate"]
