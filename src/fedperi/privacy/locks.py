"""A lock on a file between threads and processes, and what a disk refuses in words."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import InputError

REMEDY = "choose a folder that you can write, by the store option or the environment variable FEDPERI_STORE"


@contextlib.contextmanager
def locked(path: Path, seconds: float) -> Iterator[None]:
    """Keep all other threads and processes that lock the same file waiting; may be nested.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder) / "lock", 1.0):
    ...     os.listdir(folder)
    ['lock']
    """
    with explained(path):
        lock = _LOCKS.setdefault(os.path.realpath(path), _Lock())
    end = time.monotonic() + seconds
    if not lock.thread.acquire(timeout=seconds):
        raise _busy(path, seconds)
    try:
        if not lock.depth:
            with explained(path):
                handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            lock.handle = handle
            try:
                _wait(handle, path, end, seconds)
            except BaseException:
                os.close(handle)
                raise
        lock.depth += 1
        try:
            yield
        finally:
            lock.depth -= 1
            if not lock.depth:
                _unlock(lock.handle)
                os.close(lock.handle)
    finally:
        lock.thread.release()


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what the disk refuses into words.

    Examples
    --------
    >>> with explained(Path("store/ledger")):
    ...     raise PermissionError(13, "Permission denied")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: the privacy store cannot use 'store/ledger' (Permission denied): choose a folder ...
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"the privacy store cannot use {str(path)!r} ({reason}): {REMEDY}") from None
    except UnicodeDecodeError:
        raise InputError(f"the privacy store cannot read {str(path)!r}, it is not text: restore it") from None


@dataclass
class _Lock:
    """What this process holds of one lock file: files know no threads, and would lock out a nested use."""

    thread: threading.RLock = field(default_factory=threading.RLock)
    depth: int = 0
    handle: int = -1


_LOCKS: dict[str, _Lock] = {}
if hasattr(os, "register_at_fork"):
    # A forked child holds nothing of what its parent has locked.
    os.register_at_fork(after_in_child=_LOCKS.clear)


def _wait(handle: int, path: Path, end: float, seconds: float) -> None:
    while True:
        with explained(path):
            if _try_lock(handle):
                return
        if time.monotonic() >= end:
            raise _busy(path, seconds)
        time.sleep(0.02)


def _busy(path: Path, seconds: float) -> InputError:
    return InputError(
        f"another run has held the lock {str(path)!r} for {seconds:g} s: wait for it to end, or end it; the lock then "
        "opens by itself"
    )


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _unlock(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(handle: int) -> None:
        # Not left to closing: a child that was forked meanwhile has the same open file.
        fcntl.flock(handle, fcntl.LOCK_UN)
