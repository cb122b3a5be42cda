"""A stroke unit as data: what is measured, what causes what, and which policies make sense where."""

from __future__ import annotations

from .mechanisms import Effect, Model, Variable
from .policy_kinds import LABORATORY, TREATED, TREATMENT

STROKE: Model = (
    Variable("age", "measured", "years", 70, 12, 12, least=18, most=103),
    Variable("sex", "yes/no", "male", 0.52),
    Variable("smoker", "yes/no", "", 0.30, effects=(Effect("sex", 0.8), Effect("age", -0.6))),
    Variable(
        "bmi", "measured", "kg/m2", 27, 4.5, 4.0, (Effect("age", -1.4, "bend"), Effect("smoker", -1.5)), 1, 14, 60
    ),
    Variable(
        "ldl",
        "measured",
        "mmol/l",
        3.3,
        0.9,
        0.8,
        (Effect("bmi", 0.35, "saturating"), Effect("sex", -0.3)),
        1,
        0.5,
        9,
        ("assay", "target"),
    ),
    Variable(
        "statin", "yes/no", "", 0.40, effects=(Effect("ldl", 1.2, "above"), Effect("age", 0.6)), policies=TREATMENT
    ),
    Variable("glucose", "skewed", "mmol/l", 6.2, 0.27, 0.24, (Effect("bmi", 0.11),), 1, 2, 40, LABORATORY),
    Variable(
        "systolic",
        "measured",
        "mmHg",
        142,
        20,
        15,
        (Effect("age", 9.0, "saturating"), Effect("bmi", 6.0)),
        0,
        70,
        260,
        TREATED,
    ),
    Variable(
        "antihypertensive",
        "yes/no",
        "",
        0.45,
        effects=(Effect("systolic", 0.9, "step"), Effect("age", 0.4)),
        policies=TREATMENT,
    ),
    Variable(
        "creatinine",
        "skewed",
        "umol/l",
        84,
        0.28,
        0.23,
        (Effect("age", 0.11), Effect("systolic", 0.08, "above")),
        0,
        25,
        900,
        LABORATORY,
    ),
    Variable(
        "nihss",
        "count",
        "points",
        6,
        4.5,
        0.6,
        (
            Effect("systolic", 0.25, "bend"),
            Effect("glucose", 0.25, "above"),
            Effect("antihypertensive", -0.55),
        ),
        most=42,
    ),
    Variable(
        "death",
        "yes/no",
        "within 90 days",
        0.14,
        effects=(
            Effect("nihss", 0.9),
            Effect("age", 0.7),
            Effect("creatinine", 0.4, "above"),
            Effect("nihss", 0.3, times="age"),
        ),
    ),
)
