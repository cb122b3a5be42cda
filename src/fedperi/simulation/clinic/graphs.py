"""Three clinics to choose from.

Sizes are invented, with the order of magnitude of textbooks; they say nothing about medicine.
"""

from __future__ import annotations

from collections.abc import Mapping

from .diabetes import DIABETES
from .mechanisms import Model
from .sepsis import SEPSIS
from .stroke import STROKE

GRAPHS: Mapping[str, Model] = {"stroke": STROKE, "diabetes": DIABETES, "sepsis": SEPSIS}
