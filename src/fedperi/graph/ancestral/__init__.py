"""Graphs that allow for hidden causes: partial ancestral graphs, and ancestral graphs by definition."""
