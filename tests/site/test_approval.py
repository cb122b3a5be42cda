"""An owner who decides later: what waits, for how long, and what a decision covers."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.command import fedperi_here
from helpers.refusals import refusal

import fedperi as fp
from fedperi.privacy.ledger import Ledger
from fedperi.privacy.statement import read_statement
from fedperi.protocol import wire
from fedperi.protocol.fields import Pending
from fedperi.protocol.policy import SitePolicy
from fedperi.protocol.requests import Closing, Hello, Stating
from fedperi.site.approval import APPROVED, FILE, REFUSED, decide, items, keep_item, read_item
from fedperi.site.service.work import SiteWork

HOST = "coordinator.example.org:9092"


def table(seed: int = 1) -> pd.DataFrame:
    return fp.simulate(3, clients=2, samples=200, seed=seed).sites[0]


def exact(store: Path, source: Any = None, asker: str = HOST, **options: Any) -> SiteWork:
    return SiteWork(
        table() if source is None else source,
        name="north",
        store=store,
        policy=SitePolicy("moments"),
        later_for=asker,
        **options,
    )


def private(store: Path, source: Any = None, epsilon: float = 1.0, asker: str = HOST) -> SiteWork:
    frame = table() if source is None else source
    privacy = fp.Privacy(epsilon, bounds=dict.fromkeys(frame.columns, (-20, 20)), ceiling=3)
    return SiteWork(frame, name="north", store=store, privacy=privacy, later_for=asker)


def ask(site: SiteWork, run: str = "r1") -> wire.Record:
    card = wire.read_card(site.reply("hello", wire.write(Hello(run))), "north")
    return site.reply("state", wire.write(Stating(run, card.columns)))


def waiting(site: SiteWork) -> str:
    """The code of what waits at a site, and nothing else came."""
    reply = ask(site)
    assert reply == wire.pending()
    with pytest.raises(Pending, match="site 'north' waits: its owner has not decided yet"):
        wire.read_statement(reply, "site 'north'")
    item = read_item(site.place)
    assert item is not None and item.waits
    return item.request.code


def spent(site: SiteWork) -> float:
    ledger = Ledger.look(site.place, site="north", table=site.source.initial_fingerprint)
    return 0.0 if ledger is None else ledger.spent


@pytest.mark.parametrize("make", [exact, private])
def test_a_statement_waits_until_it_is_approved(make: Any, tmp_path: Path) -> None:
    site = make(tmp_path)
    code = waiting(site)
    assert waiting(site) == code == waiting(make(tmp_path))  # asked again, and after a restart
    assert spent(site) == 0 and not list(site.place.path.glob("ledger"))
    decide(site.place, code, APPROVED, "ann")
    for once in (site, make(tmp_path)):
        text = str(ask(once, "r2")["statement"])
        assert read_statement(text, "it").site == "north"
    assert text == ask(site, "r3")["statement"]
    assert spent(site) == (pytest.approx(1.0) if make is private else 0)
    assert len(list(items(tmp_path))) == 1


def test_what_is_refused_is_not_sent_until_the_owner_thinks_better_of_it(tmp_path: Path) -> None:
    site = private(tmp_path)
    code = waiting(site)
    decide(site.place, code, REFUSED, "ann")
    assert ask(site)["refused"] == ask(private(tmp_path))["refused"] == "the people at this site did not approve it"
    assert spent(site) == 0
    decide(site.place, code, APPROVED, "ann")
    assert "statement" in ask(site)
    assert "cannot be called back" in refusal(lambda: decide(site.place, code, REFUSED, "ann"))


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (private, {"epsilon": 2.0}),
        (private, {"source": table(2)}),
        (private, {"asker": "elsewhere.example.org:9092"}),
        (exact, {"source": table(2)}),
        (exact, {"asker": "elsewhere.example.org:9092"}),
        (exact, {"targets": ["X0"]}),
        (exact, {"missing": "drop"}),
    ],
)
def test_an_approval_holds_for_what_was_shown_and_for_nothing_else(make: Any, change: Any, tmp_path: Path) -> None:
    site = make(tmp_path)
    code = waiting(site)
    decide(site.place, code, APPROVED, "ann")
    other = make(tmp_path, **change)
    assert waiting(other) != code
    assert "Not what was approved: it has changed since." in other.log.path.read_text()
    assert "no request with the code" in refusal(lambda: decide(site.place, code, APPROVED, "ann"))
    assert spent(site) == spent(other) == 0


def test_an_approval_does_not_outlive_a_new_price(tmp_path: Path) -> None:
    """The owner was shown what the ledger would say after it; another release in between makes that untrue."""
    site = private(tmp_path)
    code = waiting(site)
    decide(site.place, code, APPROVED, "ann")
    assert private(tmp_path, epsilon=0.5).source.release().epsilon == 0.5
    assert waiting(site) != code
    assert "ledger: spent 0.5 of 3" in read_item(site.place).request.price
    assert spent(site) == pytest.approx(0.5)


def test_what_was_sent_to_one_coordinator_is_not_sent_to_another(tmp_path: Path) -> None:
    site = private(tmp_path)
    decide(site.place, waiting(site), APPROVED, "ann")
    text = ask(site)["statement"]
    elsewhere = private(tmp_path, asker="elsewhere.example.org:9092")
    code = waiting(elsewhere)
    assert read_item(site.place).request.price.startswith("nothing, the noise was drawn before")
    decide(elsewhere.place, code, APPROVED, "ann")
    assert ask(elsewhere)["statement"] == text
    assert spent(site) == pytest.approx(1.0)


def test_a_crash_after_the_noise_was_paid_for_asks_again_and_pays_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = private(tmp_path)
    code = waiting(site)
    decide(site.place, code, APPROVED, "ann")
    monkeypatch.setattr("fedperi.site.service.statement_side.OwnerDesk.mark_sent", lambda *of: 1 / 0)
    assert "statement" not in ask(site)
    monkeypatch.undo()
    again = private(tmp_path)
    assert waiting(again) != code
    decide(again.place, waiting(again), APPROVED, "ann")
    assert "statement" in ask(again)
    assert spent(again) == pytest.approx(1.0)


def test_a_release_that_the_ceiling_forbids_is_refused_although_it_was_approved(tmp_path: Path) -> None:
    site = private(tmp_path, epsilon=4.0)
    code = waiting(site)
    assert "spent 0 of 3, and 4 after it" in read_item(site.place).request.price
    decide(site.place, code, APPROVED, "ann")
    assert "its own log says why" in str(ask(site)["refused"])
    assert spent(site) == 0


def test_questions_about_what_waits_fill_no_log(tmp_path: Path) -> None:
    site = private(tmp_path)
    for _ in range(20):
        waiting(site)
    said = site.log.path.read_text()
    assert said.count("asks for our statement") == 1
    assert (
        f"It waits for the owner (fedperi approve north {read_item(site.place).request.code} --store {tmp_path})."
        in said
    )
    closed = site.reply("close", wire.write(Closing("r1", "stopped by the coordinator")))
    assert "refused" not in closed and not site.stated
    assert "closed (stopped by the coordinator); our statement was not asked for, or not taken." in (
        site.log.path.read_text()
    )


def test_what_waits_is_not_read_from_the_rows_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = private(tmp_path)
    waiting(site)
    monkeypatch.setattr(site.source, "fingerprint", lambda: pytest.fail("the table was read"))
    waiting(site)


def test_nobody_edits_what_was_shown(tmp_path: Path) -> None:
    site = private(tmp_path)
    decide(site.place, waiting(site), APPROVED, "ann")
    path = site.place.path / FILE
    path.write_text(path.read_text().replace("epsilon 1, delta", "epsilon 9, delta"))
    assert "its own log says why" in str(ask(site)["refused"])
    assert "is damaged: delete it, and the site asks its owner again; nothing is sent" in site.log.path.read_text()


def test_a_site_that_answers_questions_cannot_wait(tmp_path: Path) -> None:
    for policy in (SitePolicy("regrets"), SitePolicy("moments", methods=("fedcdh",))):
        said = refusal(partial(SiteWork, table(), name="north", store=tmp_path, policy=policy, later_for=HOST))
        assert "the owner can approve a statement later, but not the answers of a run" in said


# -- the commands -----------------------------------------------------------------------------------------------------


def test_the_owner_sees_what_waits_and_decides_by_its_code(tmp_path: Path) -> None:
    site = private(tmp_path / "store")
    nothing = fedperi_here("pending", "--store", "store", cwd=tmp_path)
    assert nothing.stdout == "No statement was requested from a site in 'store'.\n"
    code = waiting(site)
    shown = fedperi_here("pending", "--store", "store", cwd=tmp_path).stdout
    assert re.sub(r"\d{4}-.* UTC", "TIME", shown) == (
        f"Site 'north', code {code}: waiting for a decision since TIME.\n"
        f"  asked by    {HOST}, run r1\n"
        "  would send  noisy means and covariances. It is one release with noise, of the columns X0, X1, X2; it holds "
        "no row and no exact number\n"
        "  price       epsilon 1, delta 1e-06; ledger: spent 0 of 3, and 1 after it.\n"
    )
    listed = json.loads(fedperi_here("pending", "north", "--json", "--store", "store", cwd=tmp_path).stdout)
    assert listed[0]["code"] == code and listed[0]["decision"] == ""
    done = fedperi_here("approve", "north", code, "--store", "store", cwd=tmp_path)
    assert done.returncode == 0 and "approved by " in done.stdout
    assert f"the statement with the code {code}" in site.log.path.read_text()
    assert "statement" in ask(site)
    late = fedperi_here("refuse", "north", code, "--store", "store", cwd=tmp_path)
    assert late.returncode == 2 and "cannot be called back" in late.stderr


def test_commands_name_what_is_wrong(tmp_path: Path) -> None:
    site = private(tmp_path / "store")
    code = waiting(site)
    where = ("--store", "store")
    for arguments, words in (
        (
            ("approve", "south", code, *where),
            "no statement was requested from a site 'south' in 'store': check that the name",
        ),
        (
            ("approve", "north", "0" * 12, *where),
            f"'{'0' * 12}' waits; the one that waits has the code {code}",
        ),
        (("approve", "north", *where), f"repeat the code, as in `fedperi approve north {code} --store "),
        (("refuse", "north", *where), f"repeat the code, as in `fedperi refuse north {code} --store "),
        (("site", "x.csv", "--approve", "--approve-later"), "give one of the two"),
    ):
        done = fedperi_here(*arguments, cwd=tmp_path)
        assert done.returncode == 2 and words in done.stderr, done
    assert read_item(site.place).waits


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no such accounts on this system")
def test_another_account_cannot_decide_by_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision that root writes could not be read by the site."""
    site = private(tmp_path)
    code = waiting(site)
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    said = refusal(lambda: decide(site.place, code, APPROVED, "root"))
    assert "belongs to the account under which the site runs: decide as that account" in said
    assert read_item(site.place).waits


def test_two_tables_under_one_name_need_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --store every table has a place of its own."""
    monkeypatch.setenv("FEDPERI_STORE", str(tmp_path))
    sites = [exact(None, table(seed)) for seed in (1, 2)]
    codes = [waiting(site) for site in sites]
    done = fedperi_here("approve", "north", cwd=tmp_path)
    assert (
        done.returncode == 2
        and "of 2 tables of site 'north' were requested: add the code of one of them" in done.stderr
    )
    assert fedperi_here("approve", "north", codes[1], cwd=tmp_path).returncode == 0
    assert ask(sites[0]) == wire.pending() and "statement" in ask(sites[1])


def test_names_that_could_act_on_a_terminal_are_escaped(tmp_path: Path) -> None:
    site = private(tmp_path)
    waiting(site)
    item = read_item(site.place)
    assert item is not None
    keep_item(site.place, replace(item, request=replace(item.request, asker="x\x1b[2J")))
    assert "\x1b" not in fedperi_here("pending", "--store", str(tmp_path)).stdout
