"""How a graph with hidden causes is told: in words, and as a page."""
