"""`fedperi benchmark real`: all methods on folders of site files, with or without a known graph."""

from .cells import METHODS, cells, work
from .datasets import Dataset, datasets
from .page import write

__all__ = ["METHODS", "Dataset", "cells", "datasets", "work", "write"]
