"""The request for an experiment, the page that it returns, and tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .contenders import LIMIT


@dataclass(frozen=True)
class Request:
    """What to run.

    Parameters
    ----------
    seeds : sequence of int
        Seeds of the simulations.
    quick : bool
        Run only a corner of the grid, as a check.
    methods : tuple of str, optional
        Methods; those of the experiment if not given.
    at : tuple of int, optional
        Only these values on the axis; all values of the experiment if not given.
    filtered : bool
        Leave out the seeds that the paper would have left out.
    settings : tuple of str, optional
        For `settings`: only these.
    limit : float
        CPU seconds after which a fit is stopped.
    everything : bool
        Include methods that are usually left out because they are slow: for saved cells.
    versions : tuple of str
        Versions of the package that made saved cells.
    """

    seeds: Sequence[int] = range(20)
    quick: bool = False
    methods: tuple[str, ...] | None = None
    at: tuple[int, ...] | None = None
    filtered: bool = False
    settings: tuple[str, ...] | None = None
    limit: float = LIMIT
    everything: bool = False
    versions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """A title, a text in Markdown, its figures, and the files that it links to, all in one folder."""

    title: str
    text: str
    figures: tuple[Path, ...]
    links: tuple[str, ...] = ()

    def markdown(self, folder: str = "") -> str:
        """Write the page; `folder` is the path from the page to its figures.

        Examples
        --------
        >>> print(Page("Time", "Seconds.", (Path("out/time.png"),)).markdown("results/"))
        ## Time
        <BLANKLINE>
        ![Time](results/time.png)
        <BLANKLINE>
        Seconds.
        """
        pictures = "".join(f"![{self.title}]({folder}{file.name})\n\n" for file in self.figures)
        text = self.text
        for name in self.links:
            text = text.replace(f"]({name})", f"]({folder}{name})")
        return f"## {self.title}\n\n{pictures}{text}"


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown.

    Examples
    --------
    >>> print(markdown_table(["method", "SHD"], [["PERI", "3.00"]]))
    | method | SHD |
    |---|---|
    | PERI | 3.00 |
    <BLANKLINE>
    """
    lines = [f"| {' | '.join(entries)} |\n" for entries in (heads, *rows)]
    return "".join([lines[0], "|" + "---|" * len(heads) + "\n", *lines[1:]])
