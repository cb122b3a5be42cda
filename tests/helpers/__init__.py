"""Shared by several tests: random graphs, networks, oracles, files, a Flower link, runs of the command."""
