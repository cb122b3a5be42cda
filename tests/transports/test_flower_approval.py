"""Owners who decide later, with real processes that restart, and what the coordinator is told."""

from __future__ import annotations

import json
import re
import signal
import urllib.request
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from helpers.command import fedperi
from helpers.flower import Pilot, Running, free_port

from fedperi.privacy.statement import load_statement, write_statement

pytestmark = [pytest.mark.network]


@pytest.fixture
def pilot(tmp_path: Path) -> Pilot:
    made = Pilot(tmp_path, p=3)
    (tmp_path / "schema.toml").write_text(
        "".join(f'[columns.X{i}]\nkind = "continuous"\nbounds = [-20, 20]\n' for i in range(3))
    )
    return made


def exact(pilot: Pilot, name: str, more: Sequence[object] = ()) -> Running:
    return pilot.site(name, "--schema", "schema.toml", "--approve-later", *more, channel="moments")


def private(pilot: Pilot, name: str, label: str | None = None) -> Running:
    return pilot.site(
        name, "--bounds", "bounds.toml", "--epsilon", 2, "--approve-later", label=label, channel="release"
    )


def read(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as reply:
        return str(reply.read().decode())


def code_of(pilot: Pilot, name: str) -> str:
    found = re.search(r"code (\w+)", fedperi("pending", name, "--store", f"store-{name}", cwd=pilot.folder).stdout)
    assert found is not None
    return found[1]


def test_owners_decide_while_everybody_is_restarted(pilot: Pilot) -> None:
    try:
        first = pilot.coordinate("--sites", 2, channel="statements", timeout=12)
        sites = [exact(pilot, "east"), private(pilot, "north")]
        first.wait_for("east, north: their owners have not decided yet; waiting until ")
        codes = {name: code_of(pilot, name) for name in ("east", "north")}
        assert first.done() == 75, first.said  # a temporary fault: the service starts it again
        assert "site 'east' waits for its owner, who has not approved its statement yet" in first.said
        sites[1].send(signal.SIGKILL)
        sites[1].process.wait()
        done = fedperi("approve", "north", codes["north"], "--store", "store-north", cwd=pilot.folder)
        assert done.returncode == 0, done
        assert not list(pilot.place("north").glob("ledger"))  # a decision draws no noise
        page = free_port()
        second = pilot.coordinate("--sites", 2, "--status-port", page, channel="statements", label="second")
        again = private(pilot, "north", label="north-again")
        again.wait_for("gave our statement")
        second.wait_for("east: its owner has not decided yet")
        said = read(page, "/metrics")
        for line in ("sites_connected 2", "statements 1", "pending 1", 'privacy_spent_epsilon{site="north"} 2'):
            assert f"\nfedperi_{line}\n" in said, line
        assert code_of(pilot, "east") == codes["east"]  # another run of the same coordinator asks for the same
        assert fedperi("approve", "east", codes["east"], "--store", "store-east", cwd=pilot.folder).returncode == 0
        assert second.done() == 0, second.said
        assert sites[0].done() == again.done() == 0, sites[0].said + again.said
        log = (pilot.place("north") / "log.txt").read_text()
        assert log.count("gave our statement") == 1 and "Approved by " in log
        sent = json.loads((pilot.place("north") / "approval.json").read_text())
        kept = pilot.folder / "results" / "statements" / "north.fedperi"
        unsigned = write_statement(replace(load_statement(kept), signature=None))  # a site may get another key
        assert sha256(unsigned.encode()).hexdigest() == sent["digest"]
    finally:
        pilot.end()


def test_a_site_that_is_refused_does_not_hold_up_the_others(pilot: Pilot) -> None:
    try:
        page, own = free_port(), free_port()
        shown = ("--status-port", page, "--status-stay")
        coordinator = pilot.coordinate("--sites", 2, "--min-sites", 1, *shown, channel="statements")
        refused = exact(pilot, "north", more=("--status-port", own))
        asked = pilot.site("east", "--schema", "schema.toml", channel="moments")
        coordinator.wait_for("north: its owner has not decided yet")
        code = code_of(pilot, "north")
        assert fedperi("refuse", "north", code, "--store", "store-north", cwd=pilot.folder).returncode == 0
        coordinator.wait_for("the status page stays up")
        assert "fedperi_sites_dropped 1\n" in read(page, "/metrics") and "Result</h2>" in read(page, "/")
        assert json.loads(read(page, "/healthz"))["phase"] == "done"
        assert read(page, "/report.html") == (pilot.folder / "results" / "report.html").read_text()
        said = read(own, "/metrics")
        assert "\nfedperi_refusals_total 1\n" in said and "\nfedperi_stated 0\n" in said
        assert coordinator.end() == 0, coordinator.said
        assert "site 'north' refused: the people at this site did not approve it" in coordinator.said
        assert asked.done() == 0
        assert [path.stem for path in (pilot.folder / "results" / "statements").iterdir()] == ["east"]
        refused.wait_for("closed (without this site: site 'north' refused: the people at this site did not approve it)")
        assert refused.alive and "gave our statement" not in refused.said
        assert refused.end() == 0
    finally:
        pilot.end()


def test_sites_that_differ_get_a_proposal_and_accept_it(pilot: Pilot) -> None:
    """Nothing changes at a site before its owner accepts: the run ends, and lists all differences."""
    folder = pilot.folder
    other = (folder / "schema.toml").read_text().replace("[-20, 20]", "[-10, 30]", 1)
    (folder / "other.toml").write_text(other.replace("X2]", "X2]\nmissing_values = [-999]"))
    more = ("--data", "nonlinear")  # bounds at that site move values

    def sites(east: str, north: str, label: str) -> list[Running]:
        files = {"east": east, "north": north}
        return [
            pilot.site(name, "--schema", file, *more, label=f"{name}-{label}", channel="moments")
            for name, file in files.items()
        ]

    try:
        first = pilot.coordinate("--sites", 2, channel="statements", label="differing")
        waiting = sites("schema.toml", "other.toml", "first")
        assert first.done() == 2, first.said
        assert (
            "column 'X0': bounds are -20 to 20 at east, -10 to 30 at north; the widest are used, -20 to 30."
            in first.said
        )
        assert "column 'X0' has different bounds at site 'east' and at site 'north'" in first.said
        for site in waiting:
            assert "gave our statement" not in site.said and site.end() == 0
        for name, own in (("east", "schema.toml"), ("north", "other.toml")):
            arguments = ("results/proposal.toml", "--schema", own, "--out", f"{name}-new.toml", "--yes")
            assert fedperi("schema", "accept", *arguments, cwd=folder).returncode == 0
        assert "missing_values = [-999]" in (folder / "north-new.toml").read_text()  # the site's own, which is kept
        second = pilot.coordinate("--sites", 2, channel="statements", label="agreed")
        sites("east-new.toml", "north-new.toml", "second")
        assert second.done() == 0, second.said
    finally:
        pilot.end()
