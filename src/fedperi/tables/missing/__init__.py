"""Values that are missing: what is left out, and moments of incomplete rows by EM."""
