"""One statement per site: made once, checked on arrival, refused with a reason, never asked for twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.refusals import assert_refused

import fedperi as fp
from fedperi.coordinator.statements import Statements
from fedperi.pki.certificates import new_key
from fedperi.privacy.release.signature import public_text
from fedperi.privacy.statement import load_statement, read_statement, write_statement
from fedperi.protocol import wire
from fedperi.protocol.policy import SitePolicy
from fedperi.protocol.requests import WITHOUT, Closing, Hello, Stating
from fedperi.site.service.work import SiteWork

NAMES = ("north", "south", "west")


def tables(rows: int = 600) -> dict[str, pd.DataFrame]:
    return dict(zip(NAMES, fp.simulate(4, clients=3, samples=rows, seed=4, intervention="shift").sites, strict=True))


def exact_site(name: str, table: pd.DataFrame, store: Path, **options: Any) -> SiteWork:
    return SiteWork(table, name=name, store=store, policy=SitePolicy("moments"), **options)


def private_site(name: str, table: pd.DataFrame, store: Path, **options: Any) -> SiteWork:
    privacy = fp.Privacy(2.0, bounds=dict.fromkeys(table.columns, (-9, 9)))
    return SiteWork(table, name=name, store=store, privacy=privacy, **options)


def stated(site: SiteWork) -> str:
    card = wire.read_card(site.reply("hello", wire.write(Hello("r1"))), site.name)
    return wire.read_statement(site.reply("state", wire.write(Stating("r1", card.columns))), site.name)


def test_messages_files_and_tables_give_the_same_result_bit_by_bit(tmp_path: Path) -> None:
    data = tables()
    box = Statements(tmp_path / "statements")
    for name, table in data.items():
        box.add(name, stated(exact_site(name, table, tmp_path / "store")))
    messages = fp.MPERI().fit(box.all())
    files = fp.MPERI().fit(sorted(map(str, (tmp_path / "statements").glob("*.fedperi"))))
    here = fp.MPERI(data="mixed").fit(data)
    for other in (files, here):
        assert messages.graph == other.graph
        assert messages.probabilities.equals(other.probabilities)
        assert messages.differences == other.differences


def test_hospital_tables_with_a_schema_that_declares_levels_and_bounds(tmp_path: Path) -> None:
    """With curves, yes/no columns and a level that occurs nowhere: the same bits, read together or separately."""
    hospitals = {f"h{k}": table for k, table in enumerate(fp.clinic(sites=4, rows=800, seed=2).sites)}
    found = fp.tables.infer_schema(list(hospitals.values()))
    columns = []
    for column in found.columns:
        values = pd.concat([table[column.name] for table in hospitals.values()])
        if column.levels is None:
            columns.append(replace(column, bounds=(float(values.min()) - 1, float(values.max()) + 1)))
        else:
            columns.append(replace(column, levels=(*column.levels, "9")))
    schema = fp.tables.Schema(tuple(columns))
    here = fp.MPERI(schema=schema).fit(hospitals)
    apart = fp.MPERI().fit([fp.Summary.of(table, schema, name=name) for name, table in hospitals.items()])
    assert here.graph == apart.graph
    assert here.probabilities.equals(apart.probabilities)
    assert here.differences == apart.differences


def test_asked_again_a_site_says_the_same_and_pays_nothing(tmp_path: Path) -> None:
    table, key = tables()["north"], new_key()
    for make in (exact_site, private_site):
        first = stated(make("north", table, tmp_path / "store", key=lambda: key))
        assert stated(make("north", table, tmp_path / "store", key=lambda: key)) == first
        # With another key it is signed again, and says the same to the last digit.
        other = new_key()
        again = read_statement(stated(make("north", table, tmp_path / "store", key=lambda: other)), "x")
        assert again.signature is not None and again.signature.key == public_text(other)
        assert write_statement(replace(again, signature=None)) == write_statement(
            replace(read_statement(first, "x"), signature=None)
        )


def test_a_site_ends_when_its_statement_is_taken_and_stays_when_it_is_not(tmp_path: Path) -> None:
    ended: list[bool] = []
    site = exact_site("north", tables()["north"], tmp_path, finished=lambda: ended.append(True))
    stated(site)
    assert "refused" not in site.reply("close", wire.write(Closing("r1", WITHOUT + "another key has signed it")))
    assert not ended
    assert "closed (without this site: another key has signed it)" in site.log.path.read_text()
    site.reply("close", wire.write(Closing("r1")))
    assert ended


def test_a_box_that_is_opened_again_knows_who_has_spoken(tmp_path: Path) -> None:
    data = tables()
    box = Statements(tmp_path / "box")
    box.add("north", stated(exact_site("north", data["north"], tmp_path / "store")))
    again = Statements(tmp_path / "box")
    assert again.sites == ("north",)
    again.add("south", stated(private_site("south", data["south"], tmp_path / "store")))
    assert Statements(tmp_path / "box").sites == ("north", "south")


def test_a_second_different_statement_is_refused(tmp_path: Path) -> None:
    data, box = tables(), Statements()
    box.add("north", stated(exact_site("north", data["north"], tmp_path / "a")))
    other = stated(exact_site("north", data["south"], tmp_path / "b"))
    assert_refused(
        lambda: box.add("north", other),
        "the statement of site 'north' differs from the one it gave before, which is kept; ask the site why",
    )
    assert box.sites == ("north",)


def test_signatures_names_and_columns_are_checked(tmp_path: Path) -> None:
    table, key, stranger = tables()["north"], new_key(), new_key()
    signed = stated(exact_site("north", table, tmp_path / "a", key=lambda: key))
    keys = {"north": public_text(key), "south": public_text(stranger)}
    Statements(keys=keys).add("north", signed)
    with pytest.raises(fp.InputError, match="the statement of site 'south' is of site 'north'"):
        Statements(keys=keys).add("south", signed)
    unsigned = stated(exact_site("north", table, tmp_path / "b"))
    with pytest.raises(fp.InputError, match="is not signed, so that anyone could have written it"):
        Statements(keys=keys).add("north", unsigned)
    forged = stated(exact_site("north", table, tmp_path / "c", key=lambda: stranger))
    with pytest.raises(fp.InputError, match="is signed by another key"):
        Statements(keys=keys).add("north", forged)
    columns = read_statement(signed, "x").schema
    assert columns is not None
    with pytest.raises(fp.InputError, match="does not fit what was agreed on"):
        Statements().add("north", unsigned, columns.columns[:-1])
    edited = unsigned.replace('"rows": 600', '"rows": 900')
    with pytest.raises(fp.InputError, match="was changed after it was made"):
        Statements().add("north", edited)


def test_a_site_gives_only_what_its_owner_allows(tmp_path: Path) -> None:
    table = tables()["north"]
    with pytest.raises(fp.InputError, match="site 'north': say what this site may give: --epsilon"):
        SiteWork(table, name="north", store=tmp_path)
    asks = SiteWork(table, name="north", store=tmp_path, policy=SitePolicy("regrets"))
    card = wire.read_card(asks.reply("hello", wire.write(Hello("r1"))), "north")
    assert card.channel == "regrets"
    refused = asks.reply("state", wire.write(Stating("r1", card.columns)))["refused"]
    assert refused == "this site answers questions, and gives no statement: coordinate with --channel regrets"
    statements = exact_site("north", table, tmp_path)
    from fedperi.protocol.messages import Settings
    from fedperi.protocol.requests import Opening

    refused = str(statements.reply("open", wire.write(Opening("r1", Settings("adaptive"), card.columns)))["refused"])
    assert refused.startswith("this site gives one statement and answers no questions")


def test_rare_levels_never_leave_exactly(tmp_path: Path) -> None:
    """What the coordinator hears does not say which level it was; the owner's log does."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"dose": rng.normal(size=200), "arm": ["u"] * 120 + ["v"] * 77 + ["w"] * 3})
    schema = fp.tables.infer_schema([table])
    site = exact_site("north", table, tmp_path, schema=schema)
    card = wire.read_card(site.reply("hello", wire.write(Hello("r1"))), "north")
    reply = site.reply("state", wire.write(Stating("r1", card.columns)))
    assert "arm" not in str(reply["refused"]) and "statement" not in reply
    assert "level 'w' has 1 to 4 rows; merge it with level 'v', or leave the column out" in site.log.path.read_text()


def test_the_owner_is_shown_what_leaves_and_may_refuse(tmp_path: Path) -> None:
    asked: list[str] = []

    def no(words: str) -> bool:
        asked.append(words)
        return False

    site = exact_site("north", tables()["north"], tmp_path, approve=no)
    card = wire.read_card(site.reply("hello", wire.write(Hello("r1"))), "north")
    reply = site.reply("state", wire.write(Stating("r1", card.columns)))
    assert reply["refused"] == "the people at this site did not approve it"
    assert "EXACT means and covariances, NOT PRIVATE" in asked[0]


def test_a_summary_survives_its_file(tmp_path: Path) -> None:
    for table in (tables()["north"], fp.clinic(seed=1).sites[0]):
        summary = fp.Summary.of(table, name="north")
        (tmp_path / "x.fedperi").write_text(write_statement(summary))
        again = load_statement(tmp_path / "x.fedperi")
        assert isinstance(again, fp.Summary)
        for field in ("mean", "covariance", "scatter"):
            assert np.array_equal(getattr(again, field), getattr(summary, field))
        assert (again.names, again.blocks, again.units, again.kinds, again.n) == (
            summary.names,
            summary.blocks,
            summary.units,
            summary.kinds,
            summary.n,
        )


def test_an_exact_site_without_bounds_and_a_private_one_fit_together(tmp_path: Path) -> None:
    """Before: the private statement was refused, after its site had paid for it."""
    from fedperi.coordinator.agreement import agree

    data = tables()
    sites = [exact_site("north", data["north"], tmp_path), private_site("south", data["south"], tmp_path)]
    cards = [wire.read_card(site.reply("hello", wire.write(Hello("r1"))), site.name) for site in sites]
    columns = agree(cards)
    box = Statements()
    for site in sites:
        reply = site.reply("state", wire.write(Stating("r1", columns)))
        box.add(site.name, wire.read_statement(reply, site.name), columns)
    assert fp.MPERI().fit(box.all()).sites == ("north", "south")
