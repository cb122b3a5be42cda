"""Methods, results and assumptions of a run as sentences for a paper; citations."""
