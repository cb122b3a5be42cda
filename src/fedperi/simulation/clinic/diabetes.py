"""A diabetes clinic as data: what is measured, what causes what, and which policies make sense where."""

from __future__ import annotations

from .mechanisms import Model, Term, Variable
from .policy_kinds import COUNTED, LABORATORY, TREATED, TREATMENT

DIABETES: Model = (
    Variable("age", "measured", "years", 59, 13, 13, least=18, most=100),
    Variable("sex", "yes/no", "male", 0.55),
    Variable("activity", "skewed", "hours a week", 3.0, 0.7, 0.62, decimals=1, least=0.1).caused_by(
        Term("age", -0.25, "above"), Term("sex", 0.3)
    ),
    Variable("bmi", "measured", "kg/m2", 30, 5.5, 4.8, decimals=1, least=15, most=70).caused_by(
        Term("activity", -2.4), Term("age", -1.2, "bend")
    ),
    Variable(
        "hba1c",
        "measured",
        "mmol/mol",
        55,
        13,
        11,
        least=20,
        most=160,
        policies=("ignores", "target", "narrow", "assay"),
    ).caused_by(Term("bmi", 5.5, "saturating"), Term("activity", -3.5)),
    Variable(
        "triglycerides", "skewed", "mmol/l", 1.9, 0.48, 0.42, decimals=2, least=0.2, most=40, policies=LABORATORY
    ).caused_by(Term("bmi", 0.16), Term("hba1c", 0.14, "above")),
    Variable("systolic", "measured", "mmHg", 136, 17, 14, least=75, most=250, policies=TREATED).caused_by(
        Term("age", 6.0), Term("bmi", 5.0, "saturating")
    ),
    Variable("egfr", "measured", "ml/min", 82, 20, 15, least=5, most=150, policies=("assay",)).caused_by(
        Term("age", -9.0), Term("systolic", -4.0, "bend")
    ),
    Variable("metformin", "yes/no", "", 0.6, policies=TREATMENT).caused_by(
        Term("egfr", 1.6, "below"), Term("bmi", 0.5)
    ),
    Variable("insulin", "yes/no", "", 0.25, policies=TREATMENT).caused_by(
        Term("hba1c", 1.1, "step"), Term("metformin", -0.7)
    ),
    Variable("visits", "count", "a year", 5, 3.2, 0.4, most=60, policies=COUNTED).caused_by(
        Term("insulin", 0.45), Term("age", 0.15), Term("hba1c", 0.18, "saturating")
    ),
    Variable("retinopathy", "yes/no", "", 0.2).caused_by(
        Term("hba1c", 0.8), Term("systolic", 0.6, "above"), Term("hba1c", 0.35, times="systolic")
    ),
)
