"""Write a schema and a knowledge file to start from, filled in from the tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..schema_file import toml_value
from .obvious import comes_first, names_an_identifier

if TYPE_CHECKING:
    from ..checks.findings import Finding
    from ..checks.report import CheckReport
    from ..schema import Column

_SCHEMA = """\
# What the columns are. All sites use this one file: --schema schema.toml
# Look through it, and correct what is wrong. A column that is left out here is inferred from the tables.
#
#   kind = "continuous"                numbers; "categorical": categories; "ignore": not part of the analysis
#   levels = ["low", "high"]           the categories, in order
#   bounds = [0, 120]                  public limits of a number; private runs need them
#   missing_values = [-999, 9999]      codes that stand for "not known"
#   rename = { male = "m" }            other spellings of a level
#   scale = { lyon = 0.4536 }          a site that measures in another unit: its numbers are multiplied
"""

_KNOWLEDGE = """\
# What is known before any data are seen: --knowledge knowledge.toml
# These are hard constraints. Write down only what cannot be otherwise; the order in time is the safest knowledge.
#
#   tiers = [["age", "sex"], ["bmi"], ["stroke"]]     no variable causes one of an earlier tier
#   forbidden = ["* -> age", "stroke -> bmi"]         arrows that cannot be; * stands for every variable
#   required = ["smoking -> stroke"]                  arrows that must be
"""


def schema_template(columns: Sequence[str], report: CheckReport) -> str:
    """Write a schema file with the inferred types, and with comments where a person must decide.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import check
    >>> report = check([pd.DataFrame({"id": range(40), "age": [20.5 + i for i in range(40)]})])
    >>> print(schema_template(["id", "age"], report).partition("multiplied")[2])
    <BLANKLINE>
    <BLANKLINE>
    [columns."id"]
    kind = "ignore"            # its name says that it identifies cases
    <BLANKLINE>
    [columns."age"]
    kind = "continuous"
    <BLANKLINE>
    """
    known = {column.name: column for column in report.schema.columns}
    entries = [_entry(name, known.get(name), report.findings) for name in columns]
    return "\n\n".join([_SCHEMA.rstrip(), *entries]) + "\n"


def knowledge_template(columns: Sequence[str], report: CheckReport) -> str:
    r"""Write a knowledge file whose first tier holds the variables that come first in time.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedperi.tables import check
    >>> report = check([pd.DataFrame({"bmi": [20.5 + i * i for i in range(40)], "age": [50.5 + i for i in range(40)]})])
    >>> print(knowledge_template(["bmi", "age"], report).partition("must be\n")[2])
    <BLANKLINE>
    # Filled in by the names of the columns: nothing that is measured later causes these.
    tiers = [
        ["age"],
        ["bmi"],
    ]
    <BLANKLINE>
    """
    used = [name for name in columns if name in report.schema and not names_an_identifier(name)]
    first = [name for name in used if comes_first(name)]
    later = [name for name in used if name not in first]
    if not first or not later:
        return _KNOWLEDGE
    lines = "".join(f"    [{', '.join(map(toml_value, tier))}],\n" for tier in (first, later))
    why = "# Filled in by the names of the columns: nothing that is measured later causes these."
    return f"{_KNOWLEDGE}\n{why}\ntiers = [\n{lines}]\n"


def _entry(name: str, column: Column | None, findings: Sequence[Finding]) -> str:
    head = f"[columns.{toml_value(name)}]"
    if names_an_identifier(name):
        return f'{head}\nkind = "ignore"            # its name says that it identifies cases'
    own = [one for one in findings if one.columns == (name,) and one.level != "note"]
    lines = [f"# {one.level}: {f'{one.site}: ' if one.site else ''}{one.message}" for one in own]
    if column is None:
        why = lines[0].partition(": ")[2] if lines else "its type is not clear"
        return f'# {why}\n{head}\nkind = "ignore"            # decide: correct the tables, or leave the column out'
    lines += [head, f'kind = "{column.kind}"']
    if column.kind == "continuous" and any(one.problem == "sentinel" and one.level == "warning" for one in own):
        lines.append("missing_values = [0]")
    if column.levels is not None:
        lines.append(f"levels = [{', '.join(map(toml_value, column.levels))}]")
    return "\n".join(lines)
