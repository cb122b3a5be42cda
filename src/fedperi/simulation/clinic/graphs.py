"""Three clinics to choose from.

Sizes are invented, in the order of magnitude that textbooks have; they teach nothing about medicine.
"""

from __future__ import annotations

from collections.abc import Mapping

from .diabetes import DIABETES
from .mechanisms import Model
from .sepsis import SEPSIS
from .stroke import STROKE

GRAPHS: Mapping[str, Model] = {"stroke": STROKE, "diabetes": DIABETES, "sepsis": SEPSIS}
