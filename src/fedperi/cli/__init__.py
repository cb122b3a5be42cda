"""The command line: one module per command.

Exit codes: 0 success, 1 a defect of fedperi, 2 bad input, 75 a failure that may pass, 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import warnings
from importlib import import_module

import typer

from .._version import __version__
from ..errors import InputError, TemporaryError
from .common.argument_help import keep_argument_help
from .common.say import say

keep_argument_help()
app = typer.Typer(
    name="fedperi",
    help="Find the causal graph that sites share when their tables cannot be pooled.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        say(f"fedperi {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Find the causal graph that sites share when their tables cannot be pooled."""


_READING = ("results.report", "results.effect", "results.explain")
_COMMANDS = ("demo", "init", "check", "run", "release", "inspect", *_READING, "simulate", "audit", "benchmark", "keys")
for _command in (*_COMMANDS, "schema.commands", "site", "owner.commands", "coordinate"):
    import_module(f".{_command}", __name__)


DISK = {errno.ENOSPC: 75, errno.EDQUOT: 75, errno.EROFS: 2}
"""Exit codes for a disk that is full, which may pass (75), and for one that is read-only (2)."""


class Interrupted(BaseException):
    """Ctrl-C at the command line. On a KeyboardInterrupt typer would say nothing, and `fit` return a partial result."""


def _interrupt(number: int, frame: object) -> None:
    raise Interrupted


def main() -> None:
    """Run the command line; end errors of users with one line and an exit code, not with a traceback."""
    signal.signal(signal.SIGINT, _interrupt)
    warnings.showwarning = _show_warning
    try:
        app()
    except TemporaryError as error:
        _fail(f"error: {error}", 75)
    except InputError as error:
        _fail(f"error: {error}", 2)
    except Interrupted:
        _fail("interrupted: no result was written", 130)
    except BrokenPipeError:
        # The reader of our output has closed it (`fedperi ... | head`): not an error, and nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in DISK:
            place = f" ({error.filename})" if error.filename else ""
            _fail(
                f"error: {error.strerror}{place}: nothing can be written; what was saved before is still there",
                DISK[error.errno],
            )
        import traceback

        traceback.print_exc()
        _fail("this is a defect of fedperi, not of your input: please report it with the lines above", 1)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Show a library's warning in one line, without the place in the code, which means nothing to a user."""
    say(f"warning: {message}", file=sys.stderr)


def _fail(message: str, code: int) -> None:
    say(message, file=sys.stderr)
    sys.exit(code)
