"""The report of a graph with hidden causes: in words, and as a page."""
