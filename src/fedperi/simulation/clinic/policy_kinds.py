"""Which kinds of policies make sense for which variables."""

TREATMENT = ("ignores", "protocol", "threshold", "intensity")
TREATED = ("ignores", "target", "narrow", "intensity")
LABORATORY = ("assay", "narrow")
COUNTED = ("ignores", "threshold", "intensity")
