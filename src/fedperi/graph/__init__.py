"""Graphs without data: the PDAG value, equivalence classes, Meek's rules, masks, the Phi-CPDAG, metrics."""

from .equivalence import consistent_extension, cpdag, is_cpdag, v_structures
from .interventions import mutilate
from .masks import includes, mu, nu
from .meek import MeekStep, meek_closure, meek_steps
from .members import count_members, members
from .metrics import adjustment_distance, arrowhead_f1, f1, shd, skeleton_f1
from .pdag import PDAG
from .phi import i_cpdag, phi_cpdag, phi_equivalent, revealed_v_structures
from .separation import d_separated

__all__ = [
    "PDAG",
    "MeekStep",
    "adjustment_distance",
    "arrowhead_f1",
    "consistent_extension",
    "count_members",
    "cpdag",
    "d_separated",
    "f1",
    "i_cpdag",
    "includes",
    "is_cpdag",
    "meek_closure",
    "meek_steps",
    "members",
    "mu",
    "mutilate",
    "nu",
    "phi_cpdag",
    "phi_equivalent",
    "revealed_v_structures",
    "shd",
    "skeleton_f1",
    "v_structures",
]
