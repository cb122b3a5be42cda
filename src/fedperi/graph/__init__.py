"""Graphs without data: the PDAG value, equivalence classes, Meek's rules, masks, the Phi-CPDAG, metrics."""
