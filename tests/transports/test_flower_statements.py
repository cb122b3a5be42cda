"""One statement per site over Flower with TLS and keys: bit-identical to files, and no site is asked twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.flower import NAMES, Pilot

import fedperi as fp

pytestmark = [pytest.mark.network]


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Pilot:
    return Pilot(tmp_path_factory.mktemp("statements"), p=5)


def test_statements_over_a_network(pilot: Pilot) -> None:
    """Two exact sites and a private one; a site that comes late; another method later, without any site."""
    try:
        _assert_first_run(pilot)
        _assert_late_site(pilot)
        _assert_another_method(pilot)
    finally:
        for process in pilot.processes:
            process.end()


def _assert_first_run(pilot: Pilot) -> None:
    _write_schema(pilot)
    coordinator = pilot.coordinate("--sites", 2, channel="statements")
    sites = [
        pilot.site("east", "--schema", "schema.toml", channel="moments"),
        pilot.site("north", "--bounds", "bounds.toml", "--epsilon", 2, channel="release"),
    ]
    assert coordinator.done() == 0, coordinator.said
    for site in sites:  # their statements are stored, so they end by themselves
        assert site.done() == 0, site.said
        assert "its statement is with the coordinator; it may go offline." in site.said
    assert "east: an exact summary of 500 rows, NOT PRIVATE." in coordinator.said
    assert "north: a private release, epsilon 2, delta 1e-06." in coordinator.said
    files = sorted((pilot.folder / "results" / "statements").glob("*.fedperi"))
    assert [file.stem for file in files] == ["east", "north"]
    _assert_same(pilot.result(), fp.MPERI().fit(files))
    for name in ("east", "north"):
        log = pilot.log_of(name, coordinator)
        assert log.count("gave our statement") == 1 and "round" not in log


def _assert_late_site(pilot: Pilot) -> None:
    """The third site is added by running again; the others have left, and no site is asked twice."""
    again = pilot.coordinate("--journal", "results", "--sites", 3, label="late", out="late", channel="statements")
    late = pilot.site("south", "--schema", "schema.toml", channel="moments")
    assert again.done() == 0, again.said
    assert late.done() == 0, late.said
    assert "2 statements are here already, and are not asked for again: east, north." in again.said
    files = sorted((pilot.folder / "results" / "statements").glob("*.fedperi"))
    assert [file.stem for file in files] == list(NAMES)
    _assert_same(pilot.result("late"), fp.MPERI().fit(files))


def _assert_another_method(pilot: Pilot) -> None:
    other = pilot.coordinate(
        "--journal", "results", "--sites", 3, "--method", "iperi", label="other", out="other", channel="statements"
    )
    assert other.done() == 0, other.said
    files = sorted((pilot.folder / "results" / "statements").glob("*.fedperi"))
    assert pilot.result("other").graph == fp.IPERI().fit(files).graph
    drawn = pilot.coordinate(
        "--journal", "results", "--sites", 3, "--bootstrap", 3, label="drawn", out="drawn", channel="statements"
    )
    assert drawn.done() == 0, drawn.said
    assert pilot.result("drawn").stability == fp.MPERI(bootstrap=3).fit(files).stability


def _write_schema(pilot: Pilot) -> None:
    names = [f"X{i}" for i in range(5)]
    text = "".join(f'[columns.{name}]\nkind = "continuous"\nbounds = [-20, 20]\n' for name in names)
    Path(pilot.folder / "schema.toml").write_text(text)


def _assert_same(over_the_network: fp.Result, from_files: fp.Result) -> None:
    assert over_the_network.graph == from_files.graph
    assert over_the_network.probabilities.equals(from_files.probabilities)
    assert over_the_network.differences == from_files.differences
