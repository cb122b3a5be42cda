"""The plan of a run: what it would ask of each site, and the price; for `fedperi run --dry-run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...methods import IPERI, MPERI
from ...phrases import with_noun

if TYPE_CHECKING:
    from rich.console import Console

    from ...tables import Schema, Table
    from ...tables.checks.profile import Missing
    from ...tables.checks.report import CheckReport


def show_prices(console: Console, tables: list[Table], method: IPERI, dry_run: bool) -> None:
    """Show the price of a private run; in a dry run also the state of each site's ledger. Nothing is drawn."""
    from ...privacy.owner import owner_findings
    from ...tables.reading import Reading

    assert method.privacy is not None
    console.print(
        f"Differential privacy, mechanism {method.privacy.mechanism!r}: epsilon = {method.privacy.epsilon:g}, "
        f"delta = {method.privacy.delta:g} for each site, for the whole run.",
        soft_wrap=True,
    )
    # A private run does not refuse odd rows, so the owners of the tables should know.
    missing = Reading(missing=method.missing).private().missing
    how: dict[str, Any] = {"schema": method.schema, "data": method.data, "missing": missing}
    for table in tables:
        for finding in owner_findings(table, method.privacy, **how):
            console.print(str(finding), soft_wrap=True)
    if not dry_run:
        return
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False)
    for heading in ("site", "price", "spent", "left", "ceiling"):
        grid.add_column(heading, justify="left" if heading == "site" else "right")
    for table in tables:
        grid.add_row(table.name, *_price(table, method, missing))
    console.print(grid)
    console.print("Spent and left: epsilon before this run, at the ceiling's delta, as releases add up under zCDP.")


def _price(table: Table, method: IPERI, missing: Missing) -> tuple[str, ...]:
    """Return the price of a run at one site, and the state of its ledger before."""
    from ...privacy import plan_release
    from ...privacy.release.site_release import Budget

    assert method.privacy is not None
    budget = Budget.look(table, method.privacy)
    price = f"at most {method.privacy.epsilon:g}"
    if method.privacy.mechanism == "statistics":
        plan = plan_release(table, method.privacy, schema=method.schema, data=method.data)
        drawn = budget.holds(plan, missing)
        if not drawn:
            budget.ledger.check(plan.price)
        price = "0 (drawn before)" if drawn else f"{method.privacy.epsilon:g}"
    ledger = budget.ledger
    return price, f"{ledger.spent:.3g}", f"{ledger.remaining:.3g}", f"{ledger.ceiling.epsilon:g}"


def show_plan(console: Console, report: CheckReport, method: Any) -> None:
    """Show what a run would ask of each site."""
    console.print(f"{method!r}", soft_wrap=True)
    if isinstance(method, MPERI):
        _plan_of_statements(console, report.schema, method)
    elif isinstance(method, IPERI):
        _plan_of_regrets(console, report.schema, method)
    else:
        console.print("Each site would compute with its rows and exchange numbers with the coordinator, in rounds.")
        console.print("No row leaves a site; but this method is NOT PRIVATE (docs/explanation/baselines.md).")


def said_columns(schema: Schema, data: str) -> int:
    """Count the columns of a site's statement, at most: a category gives one for every level but the first.

    A number also gives its square, or more powers. A yes/no number gives no powers, but the schema does not show that.

    Examples
    --------
    >>> from fedperi.tables import Column, Schema
    >>> schema = Schema((Column("age", "continuous"), Column("arm", "categorical", ("a", "b", "c"))))
    >>> said_columns(schema, "auto"), said_columns(schema, "nonlinear")
    (4, 5)
    """
    from ...tables.embedding import CURVES
    from ...tables.summary.summaries import DEGREE

    number = {"auto": CURVES, "nonlinear": DEGREE}.get(data, 1)
    return sum(
        len(column.levels) - 1 if column.levels is not None and data != "linear" else number
        for column in schema.columns
    )


def _plan_of_statements(console: Console, schema: Schema, method: MPERI) -> None:
    q = said_columns(schema, method.data)
    pairs = q * (q + 1) // 2
    console.print("Each site would make one statement:")
    console.print(
        f"  its row count, {with_noun(q, 'mean')}, and {with_noun(pairs, 'variance')} and covariances of the columns "
        f"and their squares: at most {1 + q + pairs} numbers",
        soft_wrap=True,
    )
    console.print("No further question is asked, and no row leaves a site.")
    console.print(
        "But exact means and covariances are not private. For a private run: --epsilon 1 --bounds FILE", soft_wrap=True
    )


def _plan_of_regrets(console: Console, schema: Schema, method: IPERI) -> None:
    from ...search.phase1 import rounds_for_subsets
    from ...search.screening import FULL, SCREENING
    from ...search.widening import MOST_NEIGHBOURS

    p = len(schema.names)
    console.print("Each site would receive these settings, and be asked for regrets in rounds:")
    console.print("how much worse candidate parents explain a variable than the site's best ones.")
    console.print("No row leaves a site; but regrets without noise reveal much of a table:")
    console.print("docs/explanation/paper-methods.md")
    if p <= FULL:
        console.print(f"  1 round:  {p} variables x {1 << (p - 1)} parent sets = {p << (p - 1)} numbers")
    else:
        singles = p * (p - 1) * 2
        console.print(
            f"  {SCREENING} rounds: single parents, {singles} numbers, and what each would add to the best sets"
        )
        most = rounds_for_subsets(p)
        console.print(
            f"  up to {most}:  subsets of candidate parents, at most {1 << MOST_NEIGHBOURS} numbers per variable"
        )
    console.print("  1 round:  directions of the edges still open, a few numbers per edge")
    if method.bootstrap:
        console.print(f"  and all of this {method.bootstrap} more times, on rows that each site resamples")
