"""The coordinator's log: lines with the time, shown to people and kept in a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ...errors import InputError
from ...names import visible

FORMS = ("text", "json")


def now() -> str:
    """Return the time, as logs and manifests write it."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}Z"


class RunLog:
    """Show lines with the time, and add them to a file.

    Parameters
    ----------
    folder : Path
        Where the file is kept, ``log.txt`` or ``log.jsonl``; created if necessary, so that a folder that cannot be
        written is noticed before any site connects.
    form : {"text", "json"}
        Format of the lines, for people or for programs that collect logs.
    show : callable
        Gets each line.
    also : callable, optional
        Also gets each line, with the time, in the form for people.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     note = RunLog(Path(place) / "run", "text", lambda line: None)
    ...     note("2 sites take part: east, north.")
    ...     print(note.path.read_text())  # doctest: +ELLIPSIS
    20...Z 2 sites take part: east, north.
    <BLANKLINE>
    """

    def __init__(
        self, folder: Path, form: str, show: Callable[[str], None], also: Callable[[str], None] = lambda line: None
    ) -> None:
        if form not in FORMS:
            raise InputError(f"--log-format is {' or '.join(FORMS)}, not {form!r}")
        self._form, self._show, self._also = form, show, also
        self.path = folder / ("log.txt" if form == "text" else "log.jsonl")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.path.open("a", encoding="utf-8").close()
        except OSError as error:
            raise InputError(f"cannot write to {str(folder)!r}: {error.strerror or error}") from None

    def __call__(self, line: str) -> None:
        """Show a line, and add it to the file."""
        plain = " ".join(visible(line).split())
        written = self._written(plain)
        self._show(written)
        self._also(f"{now()} {plain}")
        self._keep(written)

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Keep the error that ends a run in the file; the command line shows it."""
        try:
            yield
        except InputError as error:
            self._keep(self._written(f"error: {' '.join(visible(str(error)).split())}"))
            raise

    def _keep(self, written: str) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(written + "\n")
        except OSError as error:  # a full disk must not stop a run that is nearly done
            self._show(self._written(f"this log could not be written ({error.strerror or error})."))

    def _written(self, line: str) -> str:
        time = now()
        return f"{time} {line}" if self._form == "text" else json.dumps({"time": time, "message": line})
