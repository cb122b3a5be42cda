"""A stroke unit as data: what is measured, what causes what, and which policies make sense where."""

from __future__ import annotations

from .mechanisms import Model, Term, Variable
from .policy_kinds import LABORATORY, TREATED, TREATMENT

STROKE: Model = (
    Variable("age", "measured", "years", 70, 12, 12, least=18, most=103),
    Variable("sex", "yes/no", "male", 0.52),
    Variable("smoker", "yes/no", "", 0.3).caused_by(Term("sex", 0.8), Term("age", -0.6)),
    Variable("bmi", "measured", "kg/m2", 27, 4.5, 4.0, decimals=1, least=14, most=60).caused_by(
        Term("age", -1.4, "bend"), Term("smoker", -1.5)
    ),
    Variable(
        "ldl", "measured", "mmol/l", 3.3, 0.9, 0.8, decimals=1, least=0.5, most=9, policies=("assay", "target")
    ).caused_by(Term("bmi", 0.35, "saturating"), Term("sex", -0.3)),
    Variable("statin", "yes/no", "", 0.4, policies=TREATMENT).caused_by(Term("ldl", 1.2, "above"), Term("age", 0.6)),
    Variable(
        "glucose", "skewed", "mmol/l", 6.2, 0.27, 0.24, decimals=1, least=2, most=40, policies=LABORATORY
    ).caused_by(Term("bmi", 0.11)),
    Variable("systolic", "measured", "mmHg", 142, 20, 15, least=70, most=260, policies=TREATED).caused_by(
        Term("age", 9.0, "saturating"), Term("bmi", 6.0)
    ),
    Variable("antihypertensive", "yes/no", "", 0.45, policies=TREATMENT).caused_by(
        Term("systolic", 0.9, "step"), Term("age", 0.4)
    ),
    Variable("creatinine", "skewed", "umol/l", 84, 0.28, 0.23, least=25, most=900, policies=LABORATORY).caused_by(
        Term("age", 0.11), Term("systolic", 0.08, "above")
    ),
    Variable("nihss", "count", "points", 6, 4.5, 0.6, most=42).caused_by(
        Term("systolic", 0.25, "bend"), Term("glucose", 0.25, "above"), Term("antihypertensive", -0.55)
    ),
    Variable("death", "yes/no", "within 90 days", 0.14).caused_by(
        Term("nihss", 0.9), Term("age", 0.7), Term("creatinine", 0.4, "above"), Term("nihss", 0.3, times="age")
    ),
)
