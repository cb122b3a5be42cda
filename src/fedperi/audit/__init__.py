"""Attacks on our own promises: who is in a table, and what answers reveal."""
