"""Repeatable experiments: grids of cells (a configuration and a seed), each saved when it is done."""
