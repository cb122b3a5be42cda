"""Shared by several tests: random graphs, networks, oracles, files, a Flower link, and runs of commands."""
