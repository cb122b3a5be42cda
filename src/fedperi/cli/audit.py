"""`fedperi audit`: attack our own releases, and report the outcome."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import InputError
from ..strict import write_json
from . import app
from .common.say import say

if TYPE_CHECKING:
    from ..audit.bounds import Audit
    from ..audit.files import FileAudit
    from ..audit.reconstruct import Closeness

SITES, VARIABLES, ROWS, SEED = 4, 5, 2000, 0
"""The simulated federation, always the same, that shows what can be reconstructed."""

BOUND = 6.0
"""Public bounds of its columns, which have a standard deviation near 1."""


@app.command()
def audit(
    epsilon: float = typer.Option(1.0, help="The claimed epsilon that is attacked."),
    delta: float = typer.Option(1e-6, help="The claimed delta that is attacked."),
    runs: int = typer.Option(4000, help="Releases of each of two tables; fewer are faster but detect less."),
    confidence: float = typer.Option(0.999, help="Confidence level of the lower bounds on epsilon."),
    as_json: bool = typer.Option(False, "--json", help="Print what was found as JSON and nothing else."),
) -> None:
    """Attack fedperi's own releases. Exit code 0 if no claim is found violated, 1 if one is: a defect of fedperi."""
    from tempfile import TemporaryDirectory

    from ..audit.bounds import check_runs
    from ..audit.files import audit_files
    from ..audit.membership import audit_answer, audit_statistics
    from ..audit.pairs import worst_files

    check_runs(runs, confidence)
    with TemporaryDirectory() as folder, _progress() as note:
        pair = worst_files(Path(folder))
        how: dict[str, Any] = {"runs": runs, "confidence": confidence, "neighbours": pair, "progress": note}
        release = audit_statistics(epsilon, delta, **how)
    files = audit_files(epsilon, delta)
    answer = audit_answer(epsilon, runs=runs, confidence=confidence)
    unprotected, protected = _reconstructions(epsilon, delta)
    violated = release.violated or answer.violated or files.violated
    if as_json:
        found = {
            "membership": {"release": release.to_dict(), "answer": answer.to_dict(), "files": files.to_dict()},
            "reconstruction": {"without_privacy": vars(unprotected), "with_privacy": protected and vars(protected)},
            "violated": violated,
        }
        say(write_json(found, indent=2))
    else:
        _print(release, answer, files, unprotected, protected)
    if violated:
        raise typer.Exit(1)


def _reconstructions(epsilon: float, delta: float) -> tuple[Closeness, Closeness | None]:
    """Return how close an eavesdropper comes to every site's correlations and graph, without and with privacy."""
    from ..audit.reconstruct import closeness, reconstruct
    from ..discovery.discover import ges
    from ..methods import IPERI
    from ..privacy.noise import SecureNoise
    from ..privacy.release.draw import count_rows, draw_release
    from ..privacy.release.release import Plan
    from ..simulation import simulate
    from ..site.released import ReleasedSite
    from ..tables import open_table
    from ..tables.schema import Column, Schema

    sim = simulate(VARIABLES, clients=SITES, samples=ROWS, seed=SEED)
    tables = {f"site {k}": table for k, table in enumerate(sim.sites)}
    schema = Schema(tuple(Column(name, "continuous", bounds=(-BOUND, BOUND)) for name in sim.dag.names))
    plan = Plan.of(schema, "auto", epsilon, delta)

    def released(name: str, table: Any) -> ReleasedSite:
        # Simulated rows, so there is no ledger to charge and no noise to keep.
        source = open_table(table, name)
        return ReleasedSite(draw_release(source, plan, count_rows(source, plan, "error")[0], SecureNoise(), "error")[0])

    correlations = {name: table.corr().to_numpy() for name, table in tables.items()}
    graphs = {name: ges(table) for name, table in tables.items()}

    def attacked(sites: Any) -> Closeness:
        transcript = IPERI(progress=False).fit(sites).transcript
        assert transcript is not None
        return closeness(reconstruct(transcript), correlations, graphs)

    releases = [released(*entry) for entry in tables.items()]
    try:
        protected = attacked(releases)
    except InputError:  # the budget is too small for any site to take part: nothing was sent that could be attacked
        protected = None
    return attacked(tables), protected


def _print(
    release: Audit, answer: Audit, files: FileAudit, unprotected: Closeness, protected: Closeness | None
) -> None:
    say(f"1. Was one person in the table? ({release.runs} releases with and {release.runs} without one extreme row;")
    say("   from two files; the attacker knows all other rows, the row itself, and the code: everything but the noise)")
    _print_membership(release, "mechanism 'statistics', the release of a whole table", f", delta = {release.delta:g}")
    _print_membership(answer, "mechanism 'regret', a single answer", "")
    _print_files(files)
    say(
        f"2. What does a listener learn of each site? ({SITES} simulated sites, {ROWS} rows, {VARIABLES} variables; the"
    )
    say("   listener reads every message and sees no table)")
    _print_closeness(unprotected, "without privacy")
    when = f"with epsilon = {release.epsilon:g}, delta = {release.delta:g}"
    if protected is None:
        say(f"   {when}: nothing; with so much noise the sites refuse to run")
    else:
        _print_closeness(protected, when)
    if release.violated or answer.violated or files.violated:
        say("VIOLATED: the claim does not hold. This is a defect of fedperi: please report it, and release nothing.")
    else:
        say("No violation found. That is no proof: an audit can refute a claim, never show that it is true.")


def _print_membership(found: Audit, what: str, delta: str) -> None:
    say(f"   {what}: claimed epsilon = {found.epsilon:g}{delta}")
    say(f"     the two tables were told apart in {found.wins:.1%} of pairs; guessing gives 50%")
    say(f"     so epsilon is at least {found.shaped:.2f} if the noise has its shape, {found.free:.2f} for any noise")
    verdict = "VIOLATED" if found.violated else "below the claim"
    say(f"     (confidence {found.confidence:g}): {verdict}; half the noise would have shown {found.at_half:.2f}")
    if not found.telling:
        say("     which does not exceed the claim: so few runs would miss it; increase --runs")


def _print_files(found: FileAudit) -> None:
    say(f"   {found.pairs} pairs of files that differ by one odd line: it changes the statistics by at most")
    say(
        f"     {found.change:.3g} of the sensitivity that the noise is scaled to; in {found.refused} pairs one file is "
        "refused"
    )
    if found.violated:
        say(f"     VIOLATED; the largest change is from {found.worst}")


def _print_closeness(found: Closeness, when: str) -> None:
    say(f"   {when}: correlations to {found.typical_error:.4f} (median), {found.largest_error:.4f} (worst);")
    say(f"     the site's own graph exactly at {found.exact_graphs:.0%} of the sites")


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """Show the progress of an attack on standard error, if it is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress

    from ..console import console as terminal

    with Progress(console=terminal(stderr=True), transient=True) as bar:
        task = bar.add_task("attacking fedperi's own releases", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
