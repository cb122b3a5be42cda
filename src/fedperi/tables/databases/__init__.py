"""Tables that stay in a database: the engine computes counts and moments, and no row is fetched."""
