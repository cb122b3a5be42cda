"""Published tables, recognised by the names of their files: how to prepare them, and what is known about them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOSTLY = 0.5
"""A column that lacks more than this share of its values at some site is left out at all sites."""


@dataclass(frozen=True)
class Recipe:
    """What is known about published tables.

    Parameters
    ----------
    title, words : str
        Title and description.
    prepare : callable, optional
        A function from files to tables; if not given, files are used as they are.
    roots : tuple of str
        Variables that nothing in the table can cause.
    policies : mapping of str to tuple of str
        Variables with a policy, by site.
    """

    title: str = ""
    words: str = ""
    prepare: Callable[[Mapping[str, Path]], dict[str, Any]] | None = None
    roots: tuple[str, ...] = ()
    policies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def heart_tables(files: Mapping[str, Path]) -> dict[str, Any]:
    """Read the UCI heart disease tables: the columns that all hospitals have, and complete rows."""
    import pandas as pd

    tables = {site: pd.read_csv(file) for site, file in files.items()}
    for table in tables.values():
        table["chol"] = table["chol"].replace(0, float("nan"))
        table["disease"] = (table.pop("num") > 0).astype(int)
    gone = {str(name) for table in tables.values() for name in table.columns if table[name].isna().mean() > MOSTLY}
    tables = {site: table.drop(columns=sorted(gone)).dropna() for site, table in tables.items()}
    for table in tables.values():  # the same words in all files, whether 1 or 1.0 is written
        for name in ("cp", "restecg"):
            table[name] = table[name].astype(int).astype(str)
    return tables


HEART = Recipe(
    "Heart disease at four hospitals",
    "UCI Heart Disease (A. Janosi, W. Steinbrunn, M. Pfisterer, R. Detrano; CC BY 4.0). In `chol`, 0 means not "
    "measured. A column that lacks more than half of its values at some hospital is left out everywhere; then rows "
    "that lack a value are left out. `num`, a grade from 0 to 4 that hospitals recorded differently, becomes "
    "`disease`: 1 if it is above 0. For methods of this package chest pain (`cp`) and electrocardiogram (`restecg`) "
    "are categories; other packages get the numbers of the files. There is no truth, but nothing in the table causes "
    "age or sex.",
    heart_tables,
    ("age", "sex"),
)

SACHS = Recipe(
    "Proteins of Sachs et al.",
    "Flow cytometry of 11 proteins in human T cells (Sachs et al., Science 2005), nine conditions as nine sites, "
    "logarithms. The truth is the network that biologists agreed on in 2005, 20 edges; the cells have feedback, which "
    "no DAG can show. Seven conditions have a reagent with a known target.",
    policies={
        "cd3_cd28_aktinhib": ("akt",),
        "cd3_cd28_g0076": ("pkc",),
        "cd3_cd28_psitect": ("pip2",),
        "cd3_cd28_u0126": ("mek",),
        "cd3_cd28_ly": ("akt",),
        "pma": ("pkc",),
        "b2camp": ("pka",),
    },
)


def recipe(files: Collection[str]) -> Recipe:
    """Find the recipe of tables by the names of their files.

    Examples
    --------
    >>> recipe({"cleveland", "hungarian", "switzerland", "va"}).roots
    ('age', 'sex')
    >>> recipe({"north", "south"})
    Recipe(title='', words='', prepare=None, roots=(), policies={})
    """
    if set(files) == {"cleveland", "hungarian", "switzerland", "va"}:
        return HEART
    if SACHS.policies.keys() <= set(files):
        return SACHS
    return Recipe()
