"""Follow a page of the documentation in order: write the files that it shows, and run its commands."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from helpers.command import Done
from helpers.forked import ASKING, can_fork, number_of_server

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^(?:#|--) (\S+\.(?:toml|py|sql))$", re.MULTILINE)
# The tested package, even if the shell's path has another one.
COMMANDS = """
fedperi() { "$PYTHON" %s "$@"; }
python() { "$PYTHON" "$@"; }
set -e
"""
AS_USERS = """-c 'from fedperi.cli import main; main()'"""


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and text of the fenced blocks of a page, in order."""
    return [(language, text) for language, text in BLOCK.findall(page.read_text(encoding="utf-8"))]


def file_name(text: str) -> str | None:
    """Return the name of the file that a block shows: a comment in one of its first two lines."""
    found = FILE.search("\n".join(text.splitlines()[:2]))
    return found and found[1]


def shell(text: str, place: Path, timeout: float = 240) -> Done:
    """Run a block as a user pastes it into a shell, without installations; after the time limit, end all processes."""
    lines = [line for line in text.splitlines() if not line.startswith("pip install")]
    server = number_of_server() if can_fork() else None
    how = AS_USERS if server is None else f"-I -S '{ASKING}' {server}"
    run = subprocess.Popen(
        ["bash", "-c", COMMANDS % how + "\n".join(lines)],
        cwd=place,
        pass_fds=() if server is None else (server,),
        env={**os.environ, "PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        out, err = run.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        out, err = run.communicate()
    return Done(run.returncode, out, err)


def shown_in(expected: str, printed: str) -> bool:
    """Say whether the lines that a page shows were printed in this order; three dots stand for any lines."""
    lines = iter([line.rstrip() for line in printed.splitlines()])
    return all(line.rstrip() in lines for line in expected.splitlines() if line.strip() not in ("", "..."))


def follow(page: Path, place: Path, replaced: tuple[tuple[str, str], ...] = ()) -> list[Done]:
    """Follow a page in the folder `place`, and assert that commands print what it shows.

    `replaced` has pairs: a text of the page, and its replacement here, such as a free port.
    """
    done = []
    for language, text in blocks(page):
        for old, new in replaced:
            text = text.replace(old, new)
        name = file_name(text)
        if language == "sh":
            done.append(shell(text, place))
            assert (done[-1].returncode, done[-1].stderr) == (0, ""), (page.name, text, done[-1])
        elif language == "text":
            assert shown_in(text, done[-1].stdout), (page.name, text, done[-1].stdout)
        elif name is not None:
            (place / name).write_text(text, encoding="utf-8")
        else:
            assert text.startswith(">>> ") or language == "console", f"{page.name}: a block that nothing runs: {text}"
    return done
