"""GES: forward, backward and turning phases on equivalence classes."""
