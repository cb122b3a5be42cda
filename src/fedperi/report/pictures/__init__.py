"""Graphs as pictures: layout, curves, labels, SVG."""
