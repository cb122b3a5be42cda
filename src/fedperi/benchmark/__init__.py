"""Experiments that can be repeated: grids of cells, each a configuration and a seed, saved as soon as it is done."""
