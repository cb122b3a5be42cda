"""Formatted output to a terminal: nothing is interpreted as markup, and control characters have no effect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from .names import visible


class PlainConsole(Console):
    """A rich console for text that others wrote: names of columns, sites and files, reasons, levels.

    Strings are shown as they are: ``[/day]`` is not a tag and ``:smile:`` not a picture. Only `rich.text.Text` has
    style. Control characters are shown as escapes everywhere, in tables too.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render, with control characters in the text shown as escapes; those that rich itself sends stay."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def console(**options: Any) -> Console:
    """Make a console for everything that fedperi shows; options are those of `rich.console.Console`.

    Examples
    --------
    >>> console(width=40).print("dose [/day] :smile:")
    dose [/day] :smile:
    """
    return PlainConsole(highlight=False, markup=False, emoji=False, **options)
