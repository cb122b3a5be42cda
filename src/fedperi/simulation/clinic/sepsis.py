"""Intensive care of sepsis as data: what is measured, what causes what, and which policies make sense where."""

from __future__ import annotations

from .mechanisms import Model, Term, Variable
from .policy_kinds import COUNTED, LABORATORY, TREATED, TREATMENT

SEPSIS: Model = (
    Variable("age", "measured", "years", 66, 15, 15, least=18, most=102),
    Variable("sex", "yes/no", "male", 0.56),
    Variable("immunosuppressed", "yes/no", "", 0.18).caused_by(Term("age", -0.6)),
    Variable("crp", "skewed", "mg/l", 95, 0.85, 0.8, least=1, most=700, policies=LABORATORY).caused_by(
        Term("immunosuppressed", -0.7), Term("sex", 0.25)
    ),
    Variable(
        "temperature",
        "measured",
        "degrees C",
        38.2,
        0.9,
        0.75,
        decimals=1,
        least=33,
        most=42.5,
        policies=("target", "narrow"),
    ).caused_by(Term("crp", 0.45, "saturating"), Term("age", -0.3), Term("immunosuppressed", -0.4)),
    Variable("pressure", "measured", "mmHg", 72, 12, 10.5, least=30, most=140, policies=TREATED).caused_by(
        Term("crp", -4.5), Term("temperature", -3.0, "above")
    ),
    Variable(
        "lactate", "skewed", "mmol/l", 2.1, 0.55, 0.45, decimals=1, least=0.3, most=25, policies=LABORATORY
    ).caused_by(Term("pressure", -0.45, "below")),
    Variable("fluids", "measured", "litres", 2.4, 0.9, 0.7, decimals=1, least=0, most=9, policies=TREATED).caused_by(
        Term("pressure", -0.4), Term("lactate", 0.35, "saturating")
    ),
    Variable("noradrenaline", "yes/no", "", 0.4, policies=TREATMENT).caused_by(
        Term("pressure", -1.4, "saturating"), Term("fluids", -0.5)
    ),
    Variable("creatinine", "skewed", "umol/l", 112, 0.45, 0.38, least=25, most=1200, policies=LABORATORY).caused_by(
        Term("lactate", 0.13), Term("age", 0.14, "bend"), Term("sex", 0.18)
    ),
    Variable("ventilated", "yes/no", "", 0.3, policies=COUNTED).caused_by(
        Term("lactate", 0.8, "above"), Term("age", 0.5), Term("lactate", 0.3, times="age")
    ),
    Variable("days", "count", "in intensive care", 6, 5.0, 0.6, most=120, policies=COUNTED).caused_by(
        Term("ventilated", 0.75), Term("noradrenaline", 0.45), Term("creatinine", 0.18, "saturating")
    ),
)
