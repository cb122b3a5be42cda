"""Run the command line in its own process, as a user does, or in this process, which is faster."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import IO, NamedTuple
from unittest.mock import patch

from fedperi.cli import main
from helpers.forked import Forked, can_fork

COMMAND = [sys.executable, "-c", "from fedperi.cli import main; main()"]
# Warnings that Python hides from users by default.
HIDDEN = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)


class Done(NamedTuple):
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def fedperi(*arguments: object, cwd: Path | None = None, columns: int | None = None, timeout: float = 120) -> Done:
    """Run `fedperi` in its own process, with output to files."""
    words = [str(word) for word in arguments]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = start(words, cwd or Path.cwd(), out, err, env=_width(columns))
        try:
            code = started.wait(timeout)
        except subprocess.TimeoutExpired:
            started.kill()
            raise
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8").replace(os.linesep, "\n"))
    return Done(code, *texts)


def start(
    words: list[str],
    cwd: Path,
    out: IO[bytes],
    err: IO[bytes],
    talking: bool = False,
    env: dict[str, str] | None = None,
) -> Forked | subprocess.Popen[bytes]:
    """Start `fedperi` in its own process."""
    if can_fork():
        return Forked(words, cwd, out, err, talking, env)
    source = subprocess.PIPE if talking else subprocess.DEVNULL
    whole = {**os.environ, **(env or {})}
    return subprocess.Popen([*COMMAND, *words], cwd=cwd, stdin=source, stdout=out, stderr=err, env=whole)


def fedperi_here(*arguments: object, cwd: Path | None = None, columns: int | None = None) -> Done:
    """Run `fedperi` in this process, which saves imports and lets a test replace parts of it.

    Warnings go to standard error, as in a separate process.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    handler = signal.getsignal(signal.SIGINT)
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.chdir(cwd or Path.cwd()),
        patch.object(sys, "argv", ["fedperi", *map(str, arguments)]),
        patch.dict(os.environ, _width(columns)),
        warnings.catch_warnings(),
    ):
        warnings.resetwarnings()
        for category in HIDDEN:
            warnings.simplefilter("ignore", category)
        try:
            main()
            code: object = 0
        except SystemExit as ended:
            code = ended.code
        finally:
            signal.signal(signal.SIGINT, handler)
    texts = (stream.buffer.getvalue().decode("utf-8").replace(os.linesep, "\n") for stream in (out, err))
    return Done(int(code or 0), *texts)  # type: ignore[call-overload]


def _width(columns: int | None) -> dict[str, str]:
    return {} if columns is None else {"COLUMNS": str(columns)}
