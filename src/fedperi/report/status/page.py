"""A status page: facts, requests to a person, tables. It runs no script, loads nothing, and reloads itself."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ..._version import __version__
from ..page import environment, template

RELOAD = 10
"""Seconds after which the page reloads."""


@dataclass(frozen=True)
class StatusTable:
    """A titled table; without rows it shows the sentence `empty`. Cells of the columns `tags` are coloured."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    empty: str = "Nothing yet."
    note: str = ""
    tags: tuple[int, ...] = ()


@dataclass(frozen=True)
class StatusPage:
    """The content of a status page.

    Parameters
    ----------
    role, name : str
        "Site" and its name, or "Coordinator" and its run.
    state, good : str and bool
        The state in a few words, and whether it is good.
    facts : tuple of (str, str)
        Labels and values.
    asks : tuple of tuples of str
        Requests to a person: a title, then sentences; the last one is a command.
    tables : tuple of StatusTable
        The rest.
    links : tuple of (str, str)
        Addresses on this server, and their content.
    """

    role: str
    name: str
    state: str
    good: bool
    facts: tuple[tuple[str, str], ...]
    asks: tuple[tuple[str, ...], ...] = ()
    tables: tuple[StatusTable, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    taken: float = field(default_factory=time.time)


def render_status(page: StatusPage) -> str:
    """Write the page as HTML; all names in it are escaped.

    Examples
    --------
    >>> made = render_status(StatusPage("Site", "<north>", "connected", True, (("Sent", "1.2 kB"),)))
    >>> "&lt;north&gt;" in made, "<script" in made, "http" in made.replace("http-equiv", "")
    (True, False, False)
    """
    from markupsafe import Markup

    html = environment().get_template("status.html")
    style = Markup(template("status.css"))
    return html.render(page=page, style=style, version=__version__, reload=RELOAD, taken=clock(page.taken))


def clock(seconds: float) -> str:
    """Write a moment as date and time.

    Examples
    --------
    >>> clock(0)
    '1970-01-01 00:00:00 UTC'
    """
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def ago(moment: float | None, now: float | None = None) -> str:
    """Say how long ago a moment is.

    Examples
    --------
    >>> ago(None), ago(1000, 1004), ago(1000, 1000 + 5 * 3600)
    ('never', '4 s ago', '5 h ago')
    """
    if moment is None:
        return "never"
    seconds = max(0.0, (time.time() if now is None else now) - moment)
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def size(count: int) -> str:
    """Write a number of bytes.

    Examples
    --------
    >>> size(0), size(4589), size(2_000_000)
    ('0 bytes', '4.6 kB', '2.0 MB')
    """
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB" if count >= 1000 else f"{count} bytes"
