"""A site's log of requests and of what it sent, in words, for the people who are responsible for its data.

There is one line per message: the run, how many numbers and bytes left the site, and their price in privacy. No value
of the table is in it, except in the reasons of some refusals.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from .. import disk
from ..errors import InputError

_LONGEST = 1000
"""Bytes of a long line, about. If lines are longer, `tail` shows fewer of them."""


def moment() -> str:
    """Return the time, as the log writes it."""
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True)
class SiteLog:
    r"""A file that only its owner can read, to which lines are added.

    Parameters
    ----------
    path : Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = SiteLog(Path(folder) / "log.txt")
    ...     line = log.write("r1", "sent 24 numbers")
    ...     log.path.read_text() == line + "\n", line[20:]
    (True, 'UTC  run r1: sent 24 numbers')
    """

    path: Path

    def write(self, run: str, what: str) -> str:
        """Add a line, and return it; it is on the disk for good when this returns."""
        line = f"{moment()}  run {run}: {what}".replace("\n", " ")
        try:
            disk.append(self.path, (line + "\n").encode("utf-8", "replace"))
        except OSError as error:
            raise InputError(
                f"the log {str(self.path)!r} cannot be written ({error.strerror or error}); nothing is sent without it"
            ) from None
        return line

    def tail(self, most: int) -> list[str]:
        """Return the last lines; none if there is no log yet."""
        try:
            with self.path.open("rb") as file:
                end = file.seek(0, 2)
                file.seek(max(0, end - _LONGEST * most))
                text = file.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"the log {str(self.path)!r} cannot be read ({error.strerror or error})") from None
        lines = text.split("\n")[:-1]  # a last line without an end is still being written
        return lines[-most:] if end <= _LONGEST * most else lines[1:][-most:]  # the first one may be cut
