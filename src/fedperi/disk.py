"""Writing files that must survive a crash, and locking them against other processes.

Functions raise `OSError`; each caller says in its own words which file that was and what to do.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


class Busy(Exception):
    """Another process or thread holds a lock."""


def write_whole(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file so that, after a crash at any moment, it holds its old content or all of the new one.

    By default only its owner can read it. A file that is replaced keeps its owner where the system allows it, because
    root may write for the account of a service.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "ledger", b"1")
    ...     os.listdir(folder)
    ['ledger']
    """
    new = path.with_name(f".new-{secrets.token_hex(8)}")
    write_new(new, content, mode)
    try:
        _keep_owner(path, new)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def _keep_owner(old: Path, new: Path) -> None:
    if os.name != "posix":
        return
    with contextlib.suppress(FileNotFoundError, PermissionError):
        was, now = old.stat(), new.stat()
        if (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
            os.chown(new, was.st_uid, was.st_gid)


def write_new(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a new file; remove it if it could not be written completely."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        _write(handle, content)
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise


def append(path: Path, content: bytes) -> None:
    """Add to the end of a file that only its owner can read; create it if there is none."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), content)


def _write(handle: int, content: bytes) -> None:
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Write the list of files in a folder to disk; Windows cannot open a folder, and needs this less."""
    if os.name == "posix":
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def locked(path: Path, seconds: float) -> Iterator[None]:
    """Hold a lock that all other threads and processes wait for; may be nested.

    Raises
    ------
    Busy
        If another holder did not release it in time.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder) / "lock", 1.0):
    ...     os.listdir(folder)
    ['lock']
    """
    from filelock import FileLock, Timeout

    # One object for all uses of a file, so that a nested use is recognised; the system frees the lock of a process
    # that has ended.
    lock = FileLock(path, mode=0o600, is_singleton=True)
    try:
        lock.acquire(timeout=seconds, poll_interval=0.02)
    except Timeout:
        raise Busy(str(path)) from None
    try:
        yield
    finally:
        lock.release()
