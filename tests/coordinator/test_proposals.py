"""An agreement on a schema before a run: what sites propose, what rules decide, what people must decide."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.command import fedperi_here
from helpers.refusals import refusal
from hypothesis import given, settings
from hypothesis import strategies as st

from fedperi.coordinator.proposals import Proposal, accepted, merge
from fedperi.tables.preparing.preparation import Preparation
from fedperi.tables.schema import Column, Schema

AGE, SEX = Column("age", "continuous", bounds=(0, 120)), Column("sex", "categorical", ("f", "m"))


def proposals(**schemas: Schema) -> list[Proposal]:
    return [Proposal(site, schema) for site, schema in schemas.items()]


def conflict(**schemas: Schema) -> str:
    merged = merge(proposals(**schemas))
    assert len(merged.conflicts) == 1, merged
    return merged.conflicts[0]


def remark(**schemas: Schema) -> str:
    merged = merge(proposals(**schemas))
    assert not merged.conflicts and len(merged.remarks) == 1, merged
    return merged.remarks[0]


def test_sites_that_say_the_same_agree_without_a_word() -> None:
    merged = merge(proposals(east=Schema((AGE, SEX)), north=Schema((SEX, AGE))))
    assert merged.schema == Schema((AGE, SEX)) and not merged.conflicts and not merged.remarks


def test_conflicts_name_the_sites_and_the_remedy() -> None:
    assert conflict(east=Schema((AGE, SEX)), north=Schema((AGE,)), west=Schema((AGE, SEX))) == (
        "column 'sex': proposed by east, west, not by north; add it there, or leave it out everywhere "
        "(fedperi schema merge --leave-out)"
    )
    ignoring = Schema((AGE,), (Preparation("sex", ignore=True),))
    assert "not by north (north leaves it out); add it there" in conflict(east=Schema((AGE, SEX)), north=ignoring)
    assert conflict(east=Schema((SEX,)), north=Schema((Column("sex", "continuous"),))) == (
        "column 'sex': categorical at east and continuous at north; agree on one kind, and write it in every file"
    )
    assert conflict(east=Schema((Column("sex", "categorical"),)), north=Schema((Column("sex", "categorical"),))) == (
        "column 'sex': no site lists its levels; at least one site must list all that may occur at any site"
    )
    other = Column("sex", "categorical", ("F", "m"))
    assert "'f' at east and 'F' at north look like one level; agree on one spelling, and add the other to rename" in (
        conflict(east=Schema((SEX,)), north=Schema((other,)))
    )
    kilograms, pounds = (Schema((Column("weight", "continuous"),), units=(("weight", unit),)) for unit in ("kg", "lb"))
    assert conflict(east=kilograms, north=pounds) == (
        "column 'weight': kg at east and lb at north; agree on one unit. A site with another unit keeps its table, "
        "and writes the agreed unit and the factor, as in scale = { SITE = 0.4536 }; with noise it converts its table "
        "instead"
    )


def test_what_a_rule_settles_is_said() -> None:
    more = Column("sex", "categorical", ("f", "m", "x"))
    assert remark(east=Schema((SEX,)), north=Schema((more,))) == (
        "column 'sex': level 'x' is listed by north only; it is added for all sites"
    )
    wide = Column("age", "continuous", bounds=(-1, 110))
    assert remark(east=Schema((AGE,)), north=Schema((wide,))).startswith(
        "column 'age': bounds are 0 to 120 at east, -1 to 110 at north; the widest are used, -1 to 120. Wider bounds "
        "mean"
    )
    assert remark(east=Schema((AGE,)), north=Schema((Column("age", "continuous"),))) == (
        "column 'age': no bounds from north; 0 to 120 are used there"
    )
    assert remark(east=Schema((SEX,)), north=Schema((Column("sex", "categorical"),))) == (
        "column 'sex': no levels from north; those of east are used there"
    )
    years = Schema((AGE,), units=(("age", "years"),))
    assert remark(east=years, north=Schema((AGE,))) == "column 'age': the unit is years, but north gave none; ask there"
    merged = merge(proposals(east=Schema((AGE, SEX)), north=Schema((AGE,))), ["sex"])
    assert merged.schema.names == ("age",) and merged.remarks == ("column 'sex': left out, as asked for",)


def test_what_cannot_be_merged_is_said() -> None:
    same = [Proposal("east", Schema((AGE,)))] * 2
    assert "two proposals are of site 'east'" in refusal(lambda: merge(same))
    assert "needs two proposals or more, not 1" in refusal(lambda: merge(same[:1]))
    two = proposals(east=Schema((AGE,)), north=Schema((AGE,)))
    assert "no site proposes the column 'sex'; they propose age" in refusal(lambda: merge(two, ["sex"]))


BOUNDS = st.one_of(st.none(), st.tuples(st.integers(-9, 0), st.integers(1, 9)))
LEVELS = st.one_of(st.none(), st.lists(st.sampled_from("uvwxyz"), min_size=1, unique=True).map(tuple))


@st.composite
def proposing(draw: st.DrawFn) -> list[Schema]:
    """Sites with the same columns and mostly the same kinds: there most is settled by rules."""
    sites = draw(st.integers(2, 4))
    kinds = draw(st.lists(st.sampled_from(["continuous", "categorical", "both"]), min_size=1, max_size=3))
    schemas = []
    for _ in range(sites):
        columns = []
        for name, kind in zip("abc", kinds, strict=False):
            own = draw(st.sampled_from(["continuous", "categorical"])) if kind == "both" else kind
            number = own == "continuous"
            columns.append(Column(name, own, None if number else draw(LEVELS), draw(BOUNDS) if number else None))
        schemas.append(Schema(tuple(columns)))
    return schemas


@settings(max_examples=200)
@given(proposing())
def test_an_agreement_is_stable_and_contains_what_all_sites_said(schemas: list[Schema]) -> None:
    """A site that accepts returns the agreed schema; then nothing is left to decide."""
    told = [Proposal(f"s{at}", one) for at, one in enumerate(schemas)]
    merged = merge(told)
    reverse = merge(told[::-1])
    assert len(merged.conflicts) == len(reverse.conflicts)  # whoever is first wins nothing
    if merged.conflicts:
        return
    for one in schemas:
        made, _ = accepted(one, merged.schema)
        assert made == merged.schema
        for column in one.columns:
            agreed = merged.schema[column.name]
            assert agreed.kind == column.kind and set(column.levels or ()) <= set(agreed.levels or ())
            if column.bounds is not None:
                assert agreed.bounds[0] <= column.bounds[0] and column.bounds[1] <= agreed.bounds[1]
    again = merge([Proposal(one.site, merged.schema) for one in told])
    assert again.schema == merged.schema and not again.conflicts and not again.remarks


def test_accepting_keeps_how_the_site_prepares_its_cells() -> None:
    own = Schema(
        (AGE, SEX, Column("ward", "categorical", ("a", "b"))),
        (Preparation("sex", rename={"male": "m"}), Preparation("ward", rename={"A": "a"}), Preparation("id", True)),
    )
    agreed = Schema((Column("age", "continuous", bounds=(0, 130)), SEX), units=(("age", "years"),))
    made, changes = accepted(own, agreed)
    assert made.columns == agreed.columns and made.units == agreed.units
    kept = {one.name: one for one in made.preparations}
    assert dict(kept["sex"].rename) == {"male": "m"} and kept["id"].ignore and kept["ward"].ignore
    assert changes == [
        "column 'ward' is in your schema and not in the agreed one: it is left out here",
        "column 'age': bounds are (0.0, 120.0) in your schema but (0.0, 130.0) in the agreed one",
        "column 'age': the unit is not said in your schema and years in the agreed one",
    ]
    assert "your schema leaves out column 'id'" in refusal(lambda: accepted(own, Schema((Column("id", "continuous"),))))


# -- the commands -----------------------------------------------------------------------------------------------------

EAST = """[columns.age]
kind = "continuous"
bounds = [0, 120]
unit = "years"

[columns.sex]
kind = "categorical"
levels = ["f", "m"]
rename = { male = "m" }
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "east.toml").write_text(EAST)
    (tmp_path / "north.toml").write_text(EAST.replace("120", "110").replace('rename = { male = "m" }\n', ""))
    return tmp_path


def test_from_proposals_to_a_schema_that_every_site_has_accepted(place: Path) -> None:
    done = fedperi_here("schema", "merge", "east.toml", "nord=north.toml", "--out", "agreed.toml", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "bounds are 0 to 120 at east, 0 to 110 at nord; the widest are used, 0 to 120." in done.stdout
    assert "2 columns agreed on, 0 conflicts." in done.stdout
    assert "rename" not in (place / "agreed.toml").read_text()  # how a site prepares its cells stays there
    asked = fedperi_here("schema", "accept", "agreed.toml", "--schema", "north.toml", "--out", "new.toml", cwd=place)
    assert asked.returncode == 2 and "repeat the command with --yes" in asked.stderr
    assert not (place / "new.toml").exists()
    said = "column 'age': bounds are (0.0, 110.0) in your schema but (0.0, 120.0) in the agreed one"
    assert said in asked.stdout
    for site in ("east", "north"):
        arguments = ("agreed.toml", "--schema", f"{site}.toml", "--out", f"{site}-new.toml", "--yes")
        assert fedperi_here("schema", "accept", *arguments, cwd=place).returncode == 0
    again = fedperi_here("schema", "merge", "east-new.toml", "north-new.toml", "--json", cwd=place)
    assert json.loads(again.stdout) == {
        "agreed": {"age": "continuous", "sex": "categorical"},
        "conflicts": [],
        "remarks": [],
    }
    assert dict(Schema.from_file(place / "east-new.toml").preparations[0].rename) == {"male": "m"}
    once_more = fedperi_here("schema", "accept", *arguments, cwd=place)
    assert once_more.returncode == 2 and "already exists" in once_more.stderr


def test_conflicts_write_nothing(place: Path) -> None:
    (place / "west.toml").write_text(EAST.replace("years", "months"))
    done = fedperi_here("schema", "merge", "east.toml", "west.toml", "--out", "agreed.toml", cwd=place)
    assert done.returncode == 2 and not (place / "agreed.toml").exists()
    assert "The sites must settle first:\n  column 'age': years at east and months at west" in done.stdout
    assert "'agreed.toml' was not written: there are conflicts" in done.stderr
    assert fedperi_here("schema", "merge", "east.toml", "west.toml", cwd=place).returncode == 2
    left = fedperi_here("schema", "merge", "east.toml", "west.toml", "--leave-out", "age", "--out", "a.toml", cwd=place)
    assert left.returncode == 0 and Schema.from_file(place / "a.toml").names == ("sex",)


def test_an_agreed_schema_cannot_change_how_a_site_reads_its_cells(place: Path) -> None:
    """What a coordinator sends says what columns are; spellings, codes for missing and factors are the site's."""
    (place / "agreed.toml").write_text(EAST + '\n[columns.x]\nkind = "continuous"\nmissing_values = [1]\n')
    arguments = ("agreed.toml", "--schema", "north.toml", "--out", "new.toml", "--yes")
    done = fedperi_here("schema", "accept", *arguments, cwd=place)
    assert done.returncode == 2 and "would change the cells of sex, x" in done.stderr
    assert not (place / "new.toml").exists()


def test_a_unit_belongs_to_a_number(tmp_path: Path) -> None:
    for text, words in (
        ('kind = "categorical"\nunit = "kg"', "column 'a' has a unit, 'kg', and is not a number"),
        ('kind = "continuous"\nunit = 3', "the unit must be a text"),
        ('unit = "kg"', "column 'a' has a unit, 'kg', and is not a number"),
        ('kind = "continuous"\nunit = "k\\u0007g"', "the unit of column 'a': the name 'k\\x07g' holds"),
    ):
        (tmp_path / "s.toml").write_text(f"[columns.a]\n{text}\n")
        assert words in refusal(lambda: Schema.from_file(tmp_path / "s.toml")), text
