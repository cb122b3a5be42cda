"""Hospital-like tables with a known graph."""
