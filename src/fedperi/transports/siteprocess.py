"""A process that holds some of the sites of a run: asked over its pipes, one question at a time, ended with the run.

Not by `multiprocessing`. Its fresh processes import the user's script once more, which then starts the run anew unless
the script guards against that; its forked ones inherit locks that threads of BLAS may hold. Nor a pool of tasks: a site
must be asked where it was opened, and such pools replace their processes as they see fit.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, Any

from ..errors import InputError
from ..site.site import Respondent

_READY = b"fedperi: ready for sites\n"
# What Ctrl-C means, the run decides; the search path is that of the run, so that the same modules are found.
_START = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.path[:] = sys.argv[1:]; "
    f"from {__name__} import serve; serve()"
)
_LENGTH = struct.Struct("<Q")
_PROTOCOL = 5
_PATIENCE = 60.0  # seconds that a process may take to end; only one that is paying for an answer takes any


# -- the end of the run ---------------------------------------------------------------------------------------------


class SiteProcess:
    """The run's end of one process. Questions are put by a thread, so that an interruption cannot cut one in two."""

    def __init__(self) -> None:
        if getattr(sys, "frozen", False) or not sys.executable:
            raise InputError("this program has no Python interpreter of its own that could be started; use jobs=1")
        path = [entry for entry in sys.path if isinstance(entry, str)]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, *path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        except OSError as error:
            raise InputError(f"no process for the sites could be started ({error.strerror}); use jobs=1") from None
        self._thread = ThreadPoolExecutor(1, "fedperi-site-process")
        self._ready = False

    @property
    def pid(self) -> int:
        """The number that the operating system gave to the process."""
        return self._process.pid

    def take(self, at: int, site: Respondent) -> Future[None]:
        """Hand a site over, under a number."""
        called = f"site {site.name!r}"
        return self._thread.submit(self._exchange, called, lambda: _request("take", at, called, sealed(site, called)))

    def call(self, what: str, at: int, name: str, *arguments: Any) -> Future[Any]:
        """Let a site do something: "open", "answer", "privacy". Errors there are raised by the result."""
        return self._thread.submit(self._exchange, f"site {name!r}", lambda: _request(what, at, *arguments))

    def _exchange(self, called: str, request: Callable[[], bytes]) -> Any:
        wanted = request()
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            if not self._ready:
                # Whatever Python is made to print before it gets to us, that is no answer.
                self._ready = any(line.endswith(_READY) for line in iter(self._process.stdout.readline, b""))
            _send(self._process.stdin, wanted)
            reply = _receive(self._process.stdout)
        except (OSError, ValueError):  # a pipe broke, or this end was closed
            reply = None
        if reply is None:
            raise self._ended(called)
        fine, content = pickle.loads(reply)
        if not fine:
            raise unsealed(content)
        return content

    def _ended(self, called: str) -> InputError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        code = self._process.returncode
        if not self._ready:
            return InputError(f"the process for {called} did not start (exit code {code}); use jobs=1")
        why = f"exit code {code}"
        if code is not None and code < 0:
            why = f"signal {-code}" + (": killed, often for want of memory" if -code == 9 else "")
        return InputError(
            f"the process that worked for {called} has ended ({why}), and the run with it: run again with jobs=1, "
            "which needs less memory"
        )

    def leave(self) -> None:
        """Tell the process to end, now or when what it is paying for is done."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._process.terminate()

    def end(self) -> None:
        """Wait until the process has ended, after `leave`."""
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._process.kill()
            self._process.wait()
            self._thread.shutdown(wait=True)
            for pipe in (self._process.stdin, self._process.stdout):
                with suppress(OSError):
                    assert pipe is not None
                    pipe.close()


def sealed(what: object, called: str) -> bytes:
    """Pack something for another process; functions of scripts and notebooks and what they use go along.

    Examples
    --------
    >>> unsealed(sealed(lambda x: x + 1, "local"))(1)
    2
    >>> sealed((line for line in "ab"), "local")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: local cannot be sent to another process (cannot pickle 'generator' object): use jobs=1
    """
    from joblib import wrap_non_picklable_objects

    try:
        return pickle.dumps(wrap_non_picklable_objects([what], keep_wrapper=False), _PROTOCOL)
    except Exception as error:
        raise InputError(f"{called} cannot be sent to another process ({error}): use jobs=1") from None


def unsealed(packed: bytes) -> Any:
    """Unpack what `sealed` has packed."""
    return pickle.loads(packed)[0]


def _request(what: str, *arguments: Any) -> bytes:
    return pickle.dumps((what, *arguments), _PROTOCOL)


# -- the end of the sites -------------------------------------------------------------------------------------------


class _Sites:
    """Sites in a process of their own, by number."""

    def __init__(self) -> None:
        self._sites: dict[int, Respondent] = {}
        self._paying = self._leaving = False

    def do(self, what: str, at: int, *arguments: Any) -> Any:
        """Do what the run asks of one site."""
        if what == "take":
            self._sites[at] = _rebuilt(*arguments)
            return None
        site = self._sites[at]
        self._paying = _pays(site)
        try:
            if what == "open":
                return site.open(*arguments), site.fingerprint()
            if what == "answer":
                return [site.answer(question) for question in arguments[0]]
            return site.privacy
        finally:
            self._paying = False
            if self._leaving:
                os._exit(0)

    def leave(self, *_: object) -> None:
        """End at once, but never between a payment and what was paid for."""
        self._leaving = True
        if not self._paying:
            os._exit(0)


def serve() -> None:
    """Answer for sites until the run ends: what a process does that `SiteProcess` started."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what a local method prints must not get between the answers
    sites = _Sites()
    signal.signal(signal.SIGTERM, sites.leave)
    waiting: SimpleQueue[bytes] = SimpleQueue()

    def listen() -> None:
        while (request := _receive(requests)) is not None:
            waiting.put(request)
        sites.leave()  # the run has ended, even if it was killed while a site is at work

    threading.Thread(target=listen, daemon=True).start()
    with suppress(BrokenPipeError):
        replies.write(_READY)
        replies.flush()
        while True:
            _send(replies, _reply(sites, waiting.get()))
    os._exit(0)  # nobody is there to hear more


def _reply(sites: _Sites, request: bytes) -> bytes:
    try:
        return pickle.dumps((True, sites.do(*pickle.loads(request))), _PROTOCOL)
    except BaseException as error:
        return pickle.dumps((False, _portable(error)), _PROTOCOL)


def _portable(error: BaseException) -> bytes:
    """Pack an error so that it is the same error in the run; other than bad input, with where it came from."""
    told = "".join(traceback.format_exception(error))
    if not isinstance(error, InputError):
        error.add_note(told)
    try:
        packed = sealed(error, "the error")
        unsealed(packed)
        return packed
    except Exception:  # it holds what cannot be sent, or cannot be made from its message
        return sealed(RuntimeError(told), "the error")


def _rebuilt(called: str, packed: bytes) -> Respondent:
    try:
        site: Respondent = unsealed(packed)
    except Exception as error:
        raise InputError(f"{called} cannot be sent to another process ({error}): use jobs=1") from None
    return site


def _pays(site: Respondent) -> bool:
    noisy = sys.modules.get(f"{__package__}.noisy")  # not there: no site of it has come, and it takes time to load
    return noisy is not None and isinstance(site, noisy.NoisySite)


# -- both -----------------------------------------------------------------------------------------------------------


def _send(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(_LENGTH.pack(len(message)))
    pipe.write(message)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes | None:
    """Read a whole message; None if the other end has gone."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    length = _LENGTH.unpack(head)[0]
    message = pipe.read(length)
    return message if len(message) == length else None
