"""A catalogue of bad tables: what is said of each, that no cell is shown, and that the run is not changed or refused.

And the other side: clean federations, of which nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fedperi as fp
from fedperi.errors import InputError
from fedperi.tables import CheckReport, Schema, check
from fedperi.tables.checks.findings import Finding
from fedperi.tables.preparing.opening import Opening
from fedperi.tables.preparing.preparation import Preparation

Tables = dict[str, pd.DataFrame]
Rng = np.random.Generator


def clean(n: int = 400) -> Tables:
    """Three hospitals with a common mechanism; at nice, patients are older."""
    rng = np.random.default_rng(11)
    tables = {}
    for site in ("lyon", "metz", "nice"):
        age = rng.normal(66 if site == "nice" else 60, 9, n)
        chol = 120 + 1.5 * age + rng.normal(0, 25, n)
        sbp = 90 + 0.6 * age + rng.normal(0, 12, n)
        weight = rng.normal(80, 11, n)
        dbp = 20 + 0.4 * sbp + rng.normal(0, 5, n)
        smoker = np.where(rng.random(n) < 0.3, "yes", "no")
        sex = rng.choice(["F", "M"], n)
        tables[site] = pd.DataFrame(
            {"age": age, "chol": chol, "sbp": sbp, "dbp": dbp, "weight": weight, "smoker": smoker, "sex": sex}
        )
    return tables


@dataclass(frozen=True)
class Bad:
    """A mistake in some tables, and what is said of it."""

    what: str
    spoil: Callable[[Tables, Rng], None]
    problem: str
    level: str
    column: str
    says: str
    hidden: tuple[str, ...] = ()
    mends: Preparation | None = None


def put(site: str, column: str, value: Any, rows: int) -> Callable[[Tables, Rng], None]:
    """Put one value into some rows of a column."""

    def spoil(tables: Tables, rng: Rng) -> None:
        frame = tables[site]
        kept = frame[column].astype(object) if isinstance(value, str) else frame[column].copy()
        kept.iloc[rng.permutation(len(frame))[:rows]] = value
        tables[site] = frame.assign(**{column: kept})

    return spoil


def change(site: str, **columns: Callable[[pd.DataFrame, Rng], Any]) -> Callable[[Tables, Rng], None]:
    """Replace columns of one site, or of all (site "all")."""

    def spoil(tables: Tables, rng: Rng) -> None:
        for name in tables if site == "all" else [site]:
            tables[name] = tables[name].assign(**{key: make(tables[name], rng) for key, make in columns.items()})

    return spoil


def both(*parts: Callable[[Tables, Rng], None]) -> Callable[[Tables, Rng], None]:
    def spoil(tables: Tables, rng: Rng) -> None:
        for part in parts:
            part(tables, rng)

    return spoil


def share_rows(share: float) -> Callable[[Tables, Rng], None]:
    def spoil(tables: Tables, rng: Rng) -> None:
        rows = tables["lyon"].sample(frac=share, random_state=3)
        tables["metz"] = pd.concat([tables["metz"], rows], ignore_index=True)

    return spoil


def swap(site: str, a: str, b: str) -> Callable[[Tables, Rng], None]:
    return change(site, **{a: lambda t, _: t[b].to_numpy(), b: lambda t, _: t[a].to_numpy()})


def days(frame: pd.DataFrame, rng: Rng) -> Any:
    return pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 700, len(frame)), unit="D")


def spelled(pattern: str) -> Callable[[pd.DataFrame, Rng], Any]:
    return lambda frame, rng: pd.Series(days(frame, rng)).dt.strftime(pattern)


def words(frame: pd.DataFrame, rng: Rng) -> list[str]:
    return [f"Patient {rng.integers(10**6)} was seen with pain in the chest, secretword" for _ in range(len(frame))]


def code(column: str, value: float) -> Preparation:
    return Preparation(column, missing_values=[value])


CATALOGUE = [
    # sentinels
    Bad(
        "zero",
        put("lyon", "chol", 0.0, 60),
        "sentinel",
        "warning",
        "chol",
        "the value 0 at 'lyon' (60 of 400 rows) is far from all other values",
        mends=code("chol", 0),
    ),
    Bad(
        "all zero at a site",
        put("lyon", "chol", 0.0, 400),
        "sentinel",
        "warning",
        "chol",
        "the value 0 at 'lyon' (400 of 400 rows)",
    ),
    Bad(
        "zero at two sites",
        both(put("lyon", "chol", 0.0, 30), put("metz", "chol", 0.0, 9)),
        "sentinel",
        "warning",
        "chol",
        "'lyon' (30 of 400 rows) and 'metz' (9 of 400 rows)",
        mends=code("chol", 0),
    ),
    Bad(
        "-999",
        put("metz", "sbp", -999.0, 12),
        "sentinel",
        "error",
        "sbp",
        "declare missing_values = [-999] for sbp in the schema",
        mends=code("sbp", -999),
    ),
    Bad(
        "9999",
        put("nice", "weight", 9999.0, 40),
        "sentinel",
        "error",
        "weight",
        "the value 9999 at 'nice' (40 of 400 rows)",
        mends=code("weight", 9999),
    ),
    Bad(
        "-9 in weights",
        put("nice", "weight", -9.0, 8),
        "sentinel",
        "error",
        "weight",
        "the value -9 at 'nice'",
        mends=code("weight", -9),
    ),
    Bad(
        "999",
        put("lyon", "dbp", 999.0, 20),
        "sentinel",
        "error",
        "dbp",
        "the value 999 at 'lyon'",
        mends=code("dbp", 999),
    ),
    Bad(
        "two codes",
        both(put("lyon", "dbp", 999.0, 20), put("lyon", "dbp", -99.0, 20)),
        "sentinel",
        "error",
        "dbp",
        "the value -99 at 'lyon'",
    ),
    Bad(
        "a level 9",
        both(change("all", ward=lambda t, r: r.integers(0, 3, len(t))), put("lyon", "ward", 9, 30)),
        "sentinel",
        "warning",
        "ward",
        "the value 9 at 'lyon' (30 of 400 rows)",
        mends=code("ward", 9),
    ),
    Bad(
        "unknown code at the edge",
        put("metz", "chol", 4321.0, 25),
        "sentinel",
        "error",
        "chol",
        "the largest value at 'metz' occurs in 25 of 400 rows",
        hidden=("4321",),
    ),
    # single impossible values
    Bad(
        "slipped decimal point",
        put("metz", "weight", 812.5, 1),
        "impossible",
        "error",
        "weight",
        "a few values at 'metz' are more than 10 standard deviations",
        hidden=("812",),
    ),
    Bad(
        "two of them",
        both(put("metz", "age", 618.25, 1), put("nice", "age", 655.5, 1)),
        "impossible",
        "error",
        "age",
        "a few values at 'metz', 'nice'",
        hidden=("618", "655"),
    ),
    Bad(
        "negative",
        put("lyon", "sbp", -1317.5, 1),
        "impossible",
        "error",
        "sbp",
        "check the smallest there",
        hidden=("1317",),
    ),
    # identifiers
    Bad(
        "row numbers",
        change("all", number=lambda t, _: range(len(t))),
        "identifier",
        "warning",
        "number",
        "whole numbers that never repeat: probably an identifier; leave it out: --exclude number",
    ),
    Bad(
        "shuffled numbers",
        change("all", case=lambda t, r: r.permutation(2000)[: len(t)]),
        "identifier",
        "warning",
        "case",
        'kind = "ignore" in the schema',
    ),
    Bad(
        "by name: mrn",
        change("all", mrn=lambda t, r: r.integers(10**6, 10**7, len(t))),
        "identifier",
        "warning",
        "mrn",
        "its name suggests that it identifies",
    ),
    Bad(
        "by name: zip",
        change("all", zip_code=lambda t, r: r.integers(69000, 69009, len(t))),
        "identifier",
        "warning",
        "zip_code",
        "its name suggests that it identifies",
    ),
    Bad(
        "text",
        change("all", key=lambda t, r: [f"P-{v:06d}" for v in r.integers(0, 10**6, len(t))]),
        "text",
        "error",
        "key",
        "different values: names, identifiers or free text",
        hidden=("P-0",),
    ),
    # dates and free text
    Bad(
        "ISO dates",
        change("all", seen=spelled("%Y-%m-%d")),
        "text",
        "error",
        "seen",
        "dates or times at 'lyon', 'metz', 'nice'; convert them to days since",
        hidden=("2021-", "2022-"),
    ),
    Bad(
        "German dates",
        change("all", seen=spelled("%d.%m.%Y")),
        "text",
        "error",
        "seen",
        "dates or times",
        hidden=(".2021", ".2022"),
    ),
    Bad(
        "dates as numbers",
        change("all", seen=lambda t, r: spelled("%Y%m%d")(t, r).astype(int)),
        "date",
        "warning",
        "seen",
        "dates written as whole numbers",
        hidden=("2021", "2022"),
    ),
    Bad(
        "times",
        change("all", seen=spelled("%Y-%m-%d %H:%M:%S")),
        "text",
        "error",
        "seen",
        "dates or times",
        hidden=("2021-",),
    ),
    Bad(
        "free text",
        change("all", note=words),
        "text",
        "error",
        "note",
        "free text at 'lyon', 'metz', 'nice'; leave it out: --exclude note",
        hidden=("secretword",),
    ),
    Bad(
        "free text at a small site",
        change("all", note=lambda t, r: [f"nn{v}" for v in r.integers(0, 300, len(t))]),
        "text",
        "error",
        "note",
        "text with many",
        hidden=("nn1",),
    ),
    Bad(
        "numbers with a word",
        put("lyon", "chol", "see letter", 3),
        "text",
        "error",
        "chol",
        "numbers, but also text; numbers only at 'metz', 'nice'",
        hidden=("letter",),
    ),
    # categories and numbers
    Bad(
        "categories stored as decimals",
        change("all", stage=lambda t, r: r.integers(1, 5, len(t)).astype(float)),
        "codes",
        "note",
        "stage",
        "few different whole numbers, stored as decimals and taken as amounts",
    ),
    Bad(
        "1 and 1.0",
        change("all", arm=lambda t, r: r.choice(["1", "1.0", "both", "none"], len(t))),
        "spelling",
        "error",
        "arm",
        "different spellings of the same level: '1', '1.0'",
        mends=Preparation("arm", rename={"1.0": "1"}),
    ),
    # spellings
    Bad(
        "yes and Yes",
        put("metz", "smoker", "Yes", 70),
        "spelling",
        "error",
        "smoker",
        'declare rename = { "Yes" = "yes" } for smoker',
        mends=Preparation("smoker", rename={"Yes": "yes"}),
    ),
    Bad(
        "M and male",
        change("nice", sex=lambda t, _: t["sex"].map({"F": "female", "M": "male"})),
        "spelling",
        "error",
        "sex",
        '"male" = "M"',
        mends=Preparation("sex", rename={"male": "M", "female": "F"}),
    ),
    Bad(
        "small letters at a site",
        change("nice", sex=lambda t, _: t["sex"].str.lower()),
        "spelling",
        "error",
        "sex",
        "different spellings of the same level: 'F', 'f'; 'M', 'm'",
    ),
    Bad(
        "y and yes", change("nice", smoker=lambda t, _: t["smoker"].str[0]), "spelling", "error", "smoker", "'n', 'no'"
    ),
    Bad(
        "blanks",
        change("all", ward=lambda t, r: r.choice(["north wing", "North_wing", "south"], len(t))),
        "spelling",
        "error",
        "ward",
        "'North_wing', 'north wing'",
    ),
    # units
    Bad(
        "pounds",
        change("nice", weight=lambda t, _: t["weight"] * 2.2046),
        "unit",
        "error",
        "weight",
        "scale = { 'nice' = 0.4536 } for weight in the schema",
        mends=Preparation("weight", scale={"nice": 0.4536}),
    ),
    Bad(
        "mmol/l",
        change("lyon", chol=lambda t, _: t["chol"] / 38.67),
        "unit",
        "error",
        "chol",
        "cholesterol in mg/dl and mmol/l",
    ),
    Bad("kPa", change("metz", sbp=lambda t, _: t["sbp"] / 7.5006), "unit", "error", "sbp", "mmHg and kPa"),
    # places, order, copies
    Bad(
        "swapped",
        swap("metz", "sbp", "dbp"),
        "swapped",
        "error",
        "sbp",
        "each has the values that the other has elsewhere: probably they are swapped",
    ),
    Bad(
        "swapped at another site",
        swap("lyon", "chol", "weight"),
        "swapped",
        "error",
        "chol",
        "correct the column names at this site",
    ),
    Bad(
        "each column sorted",
        change("metz", age=lambda t, _: np.sort(t["age"]), chol=lambda t, _: np.sort(t["chol"])),
        "sorted",
        "error",
        "age",
        "all of them are sorted: perhaps each was sorted by itself",
    ),
    Bad(
        "one column sorted",
        change("metz", age=lambda t, _: np.sort(t["age"])),
        "sorted",
        "error",
        "age",
        "unrelated to all other columns, although elsewhere it is related to 'chol', 'sbp'",
    ),
    Bad(
        "rows sorted by a column",
        lambda tables, _: tables.update(metz=tables["metz"].sort_values("age", ignore_index=True)),
        "sorted",
        "note",
        "age",
        "sorted at 'metz'",
    ),
    Bad("shared rows", share_rows(0.2), "shared", "warning", "", "'lyon' and 'metz': 80 (20.0 %)"),
    Bad("a few shared rows", share_rows(0.03), "shared", "warning", "", "'lyon' and 'metz': 12 (3.0 %)"),
    # levels
    Bad(
        "a level at one site only",
        put("metz", "smoker", "former", 40),
        "levels",
        "warning",
        "smoker",
        "levels that occur at one site only: 'former' at 'metz'",
    ),
    Bad(
        "two levels at one site only",
        both(put("metz", "smoker", "former", 40), put("metz", "smoker", "cigars", 20)),
        "levels",
        "warning",
        "smoker",
        "'cigars', 'former' at 'metz'",
    ),
    # near-determinism
    Bad(
        "nearly a copy",
        change("all", kilos=lambda t, r: t["weight"] * 1.1 + r.normal(0, 0.1, len(t))),
        "determined",
        "error",
        "weight",
        "at all sites together; leave one of them out: --exclude kilos",
    ),
    Bad(
        "nearly a sum",
        change("all", pressure=lambda t, r: t["sbp"] + t["dbp"] + r.normal(0, 0.1, len(t))),
        "determined",
        "error",
        "sbp",
        "one of them is nearly determined by the others",
    ),
    Bad(
        "a sum with rounding",
        change("all", pressure=lambda t, r: np.round(t["sbp"] + t["dbp"]) + 0.5 * r.integers(0, 2, len(t))),
        "determined",
        "error",
        "sbp",
        "--exclude pressure; if the values are right, use --accept sbp,dbp,pressure",
    ),
]


def spoiled(bad: Bad) -> Tables:
    tables = clean(30 if bad.what == "free text at a small site" else 400)
    bad.spoil(tables, np.random.default_rng(17))
    return tables


def checked(tables: Tables, **how: Any) -> CheckReport:
    """Check tables as `fedperi run` does."""
    return check(tables, missing="auto", **how)


def found(bad: Bad, tables: Tables) -> list[Finding]:
    report = checked(tables)
    return [
        one for one in report.findings if one.problem == bad.problem and (not bad.column or bad.column in one.columns)
    ]


def test_there_are_forty() -> None:
    assert len(CATALOGUE) >= 40
    assert len({bad.what for bad in CATALOGUE}) == len(CATALOGUE)


@pytest.mark.parametrize("bad", CATALOGUE, ids=lambda bad: bad.what)
def test_what_is_said(bad: Bad) -> None:
    tables = spoiled(bad)
    findings = found(bad, tables)
    assert any(bad.says in str(one) and one.level == bad.level for one in findings), checked(tables).findings
    most = 2 if bad.what == "two codes" else 1
    assert len(findings) <= most, findings  # one per problem, not per site
    everything = str(checked(tables).to_dict()["findings"])
    assert not any(secret in everything for secret in bad.hidden)
    if bad.problem and bad.problem != "determined":
        others = [one for one in checked(tables).findings if one.problem not in (bad.problem, "codes", "")]
        gaps = [one for one in others if one.problem == "missing" and one.columns == (bad.column,)]
        assert len(others) == len(gaps) <= (len(tables) if bad.problem == "sentinel" else 0), others


def test_zeros_are_amounts_if_somebody_says_so_and_refused_where_gaps_are() -> None:
    tables = clean()
    put("lyon", "chol", 0.0, 60)(tables, np.random.default_rng(17))
    (refused,) = [one for one in check(tables, missing="error").findings if one.level == "error"]
    assert "probably a code for missing" in str(refused) and "--accept chol" in str(refused)
    accepted = checked(tables, how=Opening(accept=("chol",)))
    assert accepted.ok
    assert accepted.tables[0].first_reading is not None
    assert accepted.tables[0].first_reading.profile.columns["chol"].missing == 0
    dropped = check(tables, missing="drop")
    assert dropped.ok and dropped.sites[0].incomplete == 60


@pytest.mark.parametrize("bad", [bad for bad in CATALOGUE if bad.mends], ids=lambda bad: bad.what)
def test_the_remedy_works(bad: Bad) -> None:
    assert bad.mends is not None
    report = check(spoiled(bad), Schema((), (bad.mends,)), missing="drop")
    assert report.ok
    assert not [one for one in report.findings if one.problem == bad.problem]


@pytest.mark.parametrize("bad", [bad for bad in CATALOGUE if bad.mends], ids=lambda bad: bad.what)
def test_with_the_remedy_the_graph_is_that_of_clean_tables(bad: Bad) -> None:
    assert bad.mends is not None
    expected = fp.MPERI().fit(clean()).graph
    found = fp.MPERI(schema=Schema((), (bad.mends,))).fit(spoiled(bad)).graph
    assert found.directed == expected.directed and found.undirected == expected.undirected  # some have a column more


TRUE = {("age", "chol"), ("age", "sbp"), ("sbp", "dbp")}
ACCEPTABLE = ("sentinel", "impossible", "unit", "swapped", "sorted", "determined")
"""Problems that stop a run, unless someone has looked and says that the values are right."""


@pytest.mark.parametrize("bad", CATALOGUE, ids=lambda bad: bad.what)
def test_the_graph_is_unchanged_or_the_run_refused(bad: Bad) -> None:
    """What a check lets through leaves the graph as clean tables give it, among the columns that the run keeps."""
    report = checked(spoiled(bad))
    assert report.ok == (bad.level != "error")
    if not report.ok:
        return
    result = fp.MPERI().fit(list(report.tables))
    names = [name for name in clean(2)["lyon"] if name in result.graph.names]
    left = set(clean(2)["lyon"]) - set(names)
    assert left == ({"chol"} if bad.what == "all zero at a site" else set())
    assert all(any(f"'{name}'" in warning and "left out" in warning for warning in result.warnings) for name in left)
    expected = fp.MPERI().fit({site: table[names] for site, table in clean().items()}).graph
    found = result.graph
    assert {edge for edge in found.directed if {*names}.issuperset(edge)} == expected.directed
    assert {edge for edge in found.undirected if {*names}.issuperset(edge)} == expected.undirected
    assert expected.directed <= TRUE


@pytest.mark.parametrize("bad", [bad for bad in CATALOGUE if bad.level != "error"], ids=lambda bad: bad.what)
def test_a_method_alone_computes_the_same(bad: Bad) -> None:
    """What was checked before gives the same as a table given to a method, unless the check took zeros as missing."""
    tables = spoiled(bad)
    zeros = bad.column == "chol"
    given = fp.MPERI(schema=Schema((), (code("chol", 0),)) if zeros else None).fit(tables)
    found = fp.MPERI().fit(list(checked(tables).tables))
    assert found.graph == given.graph and found.differences == given.differences


@pytest.mark.parametrize(
    "bad", [bad for bad in CATALOGUE if bad.level == "error" and bad.problem in ACCEPTABLE], ids=lambda bad: bad.what
)
def test_accepted_columns_are_warned_of_only(bad: Bad) -> None:
    tables = spoiled(bad)
    columns = sorted({column for one in checked(tables).findings if one.level == "error" for column in one.columns})
    report = checked(tables, how=Opening(accept=tuple(columns)))
    assert report.ok
    assert any(one.problem == bad.problem and one.level == "warning" for one in report.findings)


@pytest.mark.parametrize(
    "bad",
    [bad for bad in CATALOGUE if bad.level == "error" and bad.problem not in ACCEPTABLE],
    ids=lambda bad: bad.what,
)
def test_what_cannot_be_read_is_refused_by_methods_too(bad: Bad) -> None:
    with pytest.raises(InputError, match=bad.column):
        fp.MPERI().fit(spoiled(bad))


DOUBTS = {
    "sentinel",
    "impossible",
    "identifier",
    "date",
    "unit",
    "swapped",
    "sorted",
    "shared",
    "spelling",
    "levels",
    "text",
    "determined",
}


def federation(seed: int) -> Tables:
    """A clean federation: hospital-like, linear, or linear with some columns as categories and whole numbers."""
    rng = np.random.default_rng(seed)
    sites, rows = int(rng.integers(4, 8)), int(rng.choice([60, 200, 1000]))
    if seed % 2:
        made: Any = fp.clinic(sites=sites, rows=rows, seed=seed)
    else:
        kind: Any = rng.choice(["structural", "strengths", "shift", "scale", "mixed", "none"])
        made = fp.simulate(int(rng.integers(3, 12)), clients=sites, samples=rows, intervention=str(kind), seed=seed)
    tables = {f"s{k}": table.copy() for k, table in enumerate(made.sites)}
    names = list(tables["s0"].columns)
    for table in tables.values() if seed % 4 == 0 else ():
        for name in names[::3]:
            table[name] = np.where(table[name] > 0, "high", "usual")
        for name in names[1::3]:
            table[name] = np.round(100 + 15 * table[name])
    return tables


@pytest.mark.parametrize("start", range(5000, 5050, 10))
def test_nothing_is_said_of_clean_federations(start: int) -> None:
    """Fifty of them, with seeds that were not used to choose the limits."""
    for seed in range(start, start + 10):
        findings = checked(federation(seed)).findings
        assert not [str(one) for one in findings if one.problem in DOUBTS and one.level != "note"]
        assert not [str(one) for one in findings if one.level == "error"]
