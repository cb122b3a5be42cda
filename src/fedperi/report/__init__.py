"""How results are shown to a person."""
