"""A site's log as a data-protection officer reads it: what was paid, why it was paid again, and what that makes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from helpers.questions import one_family
from helpers.sites import answering

import fedperi as fp
from fedperi.protocol import wire
from fedperi.protocol.messages import Settings
from fedperi.protocol.requests import Asking, Closing, Hello, Opening, Stating
from fedperi.site.service.work import SiteWork

TABLE = fp.simulate(3, clients=2, samples=2000, seed=1).sites[0]
BOUNDS = dict.fromkeys(TABLE.columns, (-8.0, 8.0))


def started(store: Path, mechanism: Any = "statistics", **options: Any) -> SiteWork:
    """A site as it is after a start: nothing in memory, and the same store."""
    privacy = fp.Privacy(1.0, bounds=BOUNDS, mechanism=mechanism, ceiling=3)
    made: SiteWork = answering(TABLE, name="north", store=store, privacy=privacy, **options)
    return made


def told(site: SiteWork) -> list[str]:
    """The lines of the log, without times and sizes."""
    lines = site.log.path.read_text().splitlines()
    return [re.sub(r" Sent \d+ bytes\.$", "", line.split("UTC  run ")[1]) for line in lines]


def opened(site: SiteWork, run: str = "r1") -> Opening:
    return Opening(run, Settings("adaptive"), site.card.columns)


PAID = "Paid: epsilon 1, delta 1e-06 for noisy moments of the table. Ledger: epsilon 1 of 3 spent."
FREE = "Paid: nothing, the noise of it was drawn and paid for before. Ledger: epsilon 1 of 3 spent."
ROUND = "round 1{}: sent 4 regrets of candidate parent sets. " + FREE
ONCE_MORE = " once more (the coordinator began again, or did not get the answer)"


def test_a_run_that_is_interrupted_and_resumed(tmp_path: Path) -> None:
    for _ in range(2):  # the second time after both sides were restarted
        site = started(tmp_path)
        for kind, message in (("open", opened(site)), ("ask", Asking("r1", 1, (one_family(0, 1, 2),)))):
            assert "refused" not in site.reply(kind, wire.write(message))
    site.reply("close", wire.write(Closing("r1", "complete")))
    how = "with masking 'adaptive'; told the number of rows (noisy) and declared targets. "
    assert told(site) == [
        f"r1: opened {how}{PAID}",
        f"r1: {ROUND.format('')}",
        f"r1: opened again, as before, {how}{FREE}",
        f"r1: {ROUND.format(ONCE_MORE)}",
        "r1: closed (complete), after 8 numbers in all. Ledger: epsilon 1 of 3 spent.",
    ]


def test_two_releases_at_epsilon_1_make_1_451_and_the_log_says_why(tmp_path: Path) -> None:
    site = started(tmp_path)
    site.reply("open", wire.write(opened(site)))
    site = started(tmp_path, data="nonlinear")  # its owner reads the columns in another way: another release
    site.reply("open", wire.write(opened(site, "r2")))
    assert told(site)[-1].endswith(
        "Paid: epsilon 1, delta 1e-06 for noisy moments of the table; nothing that was drawn before answers this. "
        "Ledger: epsilon 1.451 of 3 spent in 2 entries (their sum is 2; together they reveal less than that)."
    )


def test_noise_on_every_answer_is_paid_once(tmp_path: Path) -> None:
    for _ in range(2):
        site = started(tmp_path, "regret")
        site.reply("open", wire.write(opened(site)))
        assert "refused" not in site.reply("ask", wire.write(Asking("r1", 1, (one_family(0, 1, 2),))))
    first, answered, again, resumed = (line.split("Paid: ")[1] for line in told(site))
    own = r"epsilon ([\d.]+), delta 1e-06 for noisy moments of the table"
    assert re.fullmatch(rf"{own}\. Ledger: epsilon \1 of 3 spent\.", first)
    added = r"epsilon [\d.]+, delta [\d.e-]+ for 4 regrets with noise on each\. Ledger: .* in 2 entries .*"
    assert re.fullmatch(added, answered)
    total = answered.split("Ledger: ")[1]
    assert again == resumed == f"nothing, the noise of it was drawn and paid for before. Ledger: {total}"


def test_a_statement_is_paid_once_and_given_again(tmp_path: Path) -> None:
    site = SiteWork(TABLE, name="north", store=tmp_path, privacy=fp.Privacy(1.0, bounds=BOUNDS, ceiling=3))
    for run in ("r1", "r2"):
        card = wire.read_card(site.reply("hello", wire.write(Hello(run))), "north")
        assert "statement" in site.reply("state", wire.write(Stating(run, card.columns)))
    given = [line for line in told(site) if "gave" in line]
    assert given == [
        f"r1: gave our statement: noisy means and covariances. {PAID}",
        f"r2: gave our statement, the same as before: noisy means and covariances. {FREE}",
    ]


def test_a_site_without_noise_says_so_with_every_price(tmp_path: Path) -> None:
    site = answering(TABLE, name="north", store=tmp_path)
    site.reply("open", wire.write(opened(site)))
    assert told(site)[-1].endswith("Privacy price: none paid, no noise was added.")


def test_a_damaged_ledger_does_not_stop_the_log(tmp_path: Path) -> None:
    site = started(tmp_path)
    site.reply("open", wire.write(opened(site)))
    (site.place.path / "ledger" / "ledger.jsonl").write_text("{}")
    assert "refused" not in site.reply("close", wire.write(Closing("r1", "complete")))
    assert told(site)[-1].startswith("r1: closed (complete), after 0 numbers in all.")
