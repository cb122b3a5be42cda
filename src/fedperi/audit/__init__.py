"""Attacks that test our own privacy claims: who is in a table, and what answers reveal."""
