"""`fedperi effect`: estimate effects at each site and pooled over sites, from the results of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ...errors import InputError
from ...strict import write_json
from .. import app
from ..common.say import say

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ...methods.effects.estimates import Effects
    from ...methods.effects.records import Effect


@app.command()
def effect(
    directory: Path = typer.Argument(..., metavar="DIR", help="A directory that `fedperi run` wrote with M-PERI."),
    cause: str | None = typer.Option(None, metavar="NAME", help="The variable that is changed."),
    effect: str | None = typer.Option(None, metavar="NAME", help="The variable that is affected."),
    as_json: bool = typer.Option(False, "--json", help="Print the numbers as JSON and nothing else."),
) -> None:
    """Estimate the effect of one variable on another; without --cause and --effect, list those of all arrows."""
    from ...console import console as terminal
    from ...methods import load
    from ...methods.effects.table import effects_of

    found = effects_of(load(directory))
    if found is None:
        raise InputError(
            f"{str(directory)!r} has no summaries.json, from which effects are computed: run M-PERI again with --out, "
            "or ask for the file"
        )
    rows = found.of(cause, effect) if cause is not None and effect is not None else _listed(found, cause, effect)
    if as_json:
        say(write_json([_plain(one) for one in rows], indent=1))
    elif cause and effect:
        _say_one(terminal(), found, rows)
    else:
        _say_all(terminal(), rows, cause, effect)


def _listed(found: Effects, cause: str | None, effect: str | None) -> list[Effect]:
    """Return pooled effects: those of one cause, those on one effect, or those of all arrows."""
    for name in (cause, effect):
        if name is not None:
            found.index(name)
    pairs = [pair for pair in found.pairs() if cause in (None, pair[0]) and effect in (None, pair[1])]
    rows = [one for pair in pairs for one in found.of(*pair) if one.pooled]
    return [one for one in rows if one.direct is not None] if cause is None and effect is None else rows


def _say_one(console: Console, found: Effects, rows: Sequence[Effect]) -> None:
    from rich.text import Text

    from ...methods.effects.words import sentences

    last = rows[-1]
    console.print(Text(f"Effect of {last.cause} on {last.effect} ({last.unit})", style="bold"))
    if last.path:
        console.print(_sites(rows))
        console.print()
    for sentence in sentences(rows, found.moments):
        console.print(sentence)
    reverse = None if last.path else found.of(last.effect, last.cause)[-1]
    if reverse is not None and reverse.path:
        sure = "there is one" if reverse.path > 0.995 else f"there may be one (probability {reverse.path:.2f})"
        console.print(f"In the other direction {sure}: --cause {last.effect} --effect {last.cause}.")


def _sites(rows: Sequence[Effect]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from ...methods.effects.words import interval, number

    levels = len({(one.cause_level, one.effect_level) for one in rows}) > 1
    notes = list(dict.fromkeys(one.note for one in rows if one.note))
    table = Table(box=None, pad_edge=False, header_style="bold", caption="\n".join(f"* {note}" for note in notes))
    table.caption_justify, table.caption_style = "left", "dim"
    for heading in ("Site", *(("Level",) if levels else ())):
        table.add_column(heading)
    for heading in ("Total", "95 % interval", "Direct", "95 % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in rows:
        direct = "-" if one.direct is None else number(one.direct.value)
        named = ((one.cause, one.cause_level), (one.effect, one.effect_level))
        level = (Text(", ".join(_with_level(*pair) for pair in named if pair[1])),) if levels else ()
        cells = (number(one.total.value), interval(one.total), direct, interval(one.direct))
        style = "bold" if one.pooled else ""
        place = "Pooled" if one.pooled else f"{one.site}{' *' * bool(one.note)}"
        table.add_row(Text(place), *level, *cells, style=style)
    return table


def _say_all(console: Console, rows: Sequence[Effect], cause: str | None, effect: str | None) -> None:
    from rich.table import Table
    from rich.text import Text

    from ...methods.effects.words import IF_RIGHT, interval, number

    if not rows:
        console.print(
            f"In the graph no directed path leads from {cause}: it has no effect."
            if cause is not None
            else f"In the graph no directed path leads to {effect}: no variable has an effect on it."
            if effect is not None
            else "There are no effects: the graph has no edge."
        )
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("Cause", "Effect"):
        table.add_column(heading, overflow="fold")
    for heading in ("Arrow", "Total", "95 % interval", "Direct", "I^2"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for one in rows:
        direct = "-" if one.direct is None else number(one.direct.value)
        share = one.total.share
        table.add_row(
            Text(_with_level(one.cause, one.cause_level)),
            Text(_with_level(one.effect, one.effect_level)),
            number(round(one.probability, 2)),
            number(one.total.value),
            interval(one.total),
            direct,
            "-" if share != share else f"{share:.0%}",
            "open" if one.open else "",
        )
    console.print(table)
    console.print(f"\nEffects pooled over sites, per unit of the cause. Arrow: its probability. {IF_RIGHT}")


def _with_level(name: str, level: str) -> str:
    return f"{name} = {level}" if level else name


def _plain(one: Effect) -> dict[str, Any]:
    """Return an effect for JSON, with null for what is not known."""
    record: dict[str, Any] = one._asdict()
    record["probability"] = _or_null(one.probability)
    for kind in ("direct", "total"):
        if record[kind] is not None:
            record[kind] = {key: _or_null(value) for key, value in record[kind]._asdict().items()}
    return record


def _or_null(value: float) -> float | None:
    return value if value == value else None
