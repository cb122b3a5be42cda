"""The status of a running site or coordinator: a page for people, metrics for monitors. Both are self-contained."""
