"""Tables, their schema and checks, and the statistics that replace them. The only room that sees rows."""

from .checks.check import check
from .checks.findings import Finding
from .checks.report import CheckReport
from .infer import infer_schema
from .preparing.preparation import Preparation
from .schema import Column, Schema, differences
from .statistics import Counts, Statistics, summarize
from .table import Table, open_table, open_tables

__all__ = [
    "CheckReport",
    "Column",
    "Counts",
    "Finding",
    "Preparation",
    "Schema",
    "Statistics",
    "Table",
    "check",
    "differences",
    "infer_schema",
    "open_table",
    "open_tables",
    "summarize",
]
