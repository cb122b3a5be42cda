"""Storage of what is needed after a run: a site's ledger, and the noise that is drawn only once."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import disk
from ..errors import InputError

REMEDY = "choose a folder that you can write, by the store option or the environment variable FEDPERI_STORE"

_DIGITS = 32  # of a fingerprint, in the name of a folder


class Store:
    """A folder on the site's own disk, with one place for each site or table.

    Parameters
    ----------
    root : path, optional
        The folder. If given, every *site* has one place in it; its ledger refuses another table. Ledgers of one table
        under several names count as one (`fedperi.privacy.ledger`). If not given, ``$FEDPERI_STORE``, else
        ``$XDG_DATA_HOME/fedperi``, else ``~/.local/share/fedperi``; then every *table*, by its content, has one place.

    Examples
    --------
    >>> Store("budget").place("Hospital 1", "0" * 64).path.as_posix()
    'budget/site-Hospital_1-5498c8a960dfdb3d729a3fb9527a1314'
    """

    def __init__(self, root: str | os.PathLike[str] | None = None) -> None:
        self._per_site = root is not None
        self.root = _folder(root) if root is not None else _default_root()

    def place(self, site: str, fingerprint: str) -> Place:
        """Find the place of a site and its table. It is created only when something is kept or locked there.

        Parameters
        ----------
        site : str
            The site's name.
        fingerprint : str
            Hexadecimal digest of the table, at least 32 digits.

        Examples
        --------
        >>> Store().place("h1", "c0ffee" * 10).path.name
        'c0ffeec0ffeec0ffeec0ffeec0ffeec0'
        """
        if not isinstance(site, str) or not site:
            raise InputError(f"the name of a site is {site!r:.80}, but must be a text that is not empty")
        if not isinstance(fingerprint, str) or not re.fullmatch(r"[0-9a-f]{32,}", fingerprint):
            raise InputError(
                f"the fingerprint of the table of site {site!r} is {fingerprint!r:.80}, but must be a hexadecimal "
                "digest of at least 32 digits: take it from fedperi"
            )
        if self._per_site:
            return Place(self.root / _safe(site))
        return Place(self.root / fingerprint[:_DIGITS], of_table=True)


@dataclass(frozen=True)
class Place:
    """One folder of a store: texts under keys, and a lock between processes. Only its owner can read it.

    Parameters
    ----------
    path : Path
        The folder.
    of_table : bool
        Whether the place belongs to a table (under any name of the site), not to a site.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Store(folder).place("h1", "0" * 64)
    ...     with place.locked():
    ...         if place.kept("noise") is None:
    ...             place.keep("noise", "0.25")
    ...     place.kept("noise")
    '0.25'
    """

    path: Path
    of_table: bool = False

    def kept(self, key: str) -> str | None:
        """Return the text kept under a key, or None.

        Examples
        --------
        >>> Store("nowhere").place("h1", "0" * 64).kept("noise") is None
        True
        """
        return self.read(_file(key))

    def keep(self, key: str, text: str) -> None:
        """Keep a text under a key, replacing any former text; it is safely on the disk when this returns.

        To keep a text only if there is none yet, call `kept` and this under one `locked`.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     place = Store(folder).place("h1", "0" * 64)
        ...     place.keep("noise", "0.25")
        ...     place.kept("noise")
        '0.25'
        """
        self.write(_file(key), text)

    def forget(self, key: str) -> None:
        """Delete the text kept under a key. Never call it for noise, or for anything that was paid for."""
        path = self.path / _file(key)
        with explained(path):
            path.unlink(missing_ok=True)

    def keeps(self, beginning: str) -> bool:
        """Whether a text that begins like this is kept under any key.

        Examples
        --------
        >>> Store("nowhere").place("h1", "0" * 64).keeps("{")
        False
        """
        wanted = beginning.encode()
        with explained(self.path):
            for path in self.path.glob("kept-*"):
                with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
                    if file.read(len(wanted)) == wanted:
                        return True
        return False

    def neighbours(self, fingerprint: str) -> tuple[Place, ...]:
        """Return all other places of the store in which a table with this fingerprint may be kept: under any name.

        Examples
        --------
        >>> Store("nowhere").place("h1", "0" * 64).neighbours("0" * 64)
        ()
        """
        root = self.path.parent
        with explained(root):
            named = [Place(path) for path in sorted(root.glob("site-*")) if path.is_dir()]
            tables = [Place(path, of_table=True) for path in (root / fingerprint[:_DIGITS],) if path.is_dir()]
        return tuple(place for place in (*named, *tables) if place.path != self.path)

    def store_locked(self) -> contextlib.AbstractContextManager[None]:
        """Lock the ledgers of the whole store; see `locked`."""
        return Place(self.path.parent / "tables").locked()

    def read(self, name: str) -> str | None:
        """Return the text of a file of the place, or None if there is no such file."""
        path = self.path / name
        with explained(path):
            try:
                return path.read_bytes().decode("utf-8", "surrogatepass")
            except FileNotFoundError:
                return None

    def write(self, name: str, text: str) -> None:
        """Write a file of the place: after a crash at any moment it has either its old or its new content."""
        self._make()
        with explained(self.path / name):
            disk.write_whole(self.path / name, _encoded(text))

    def create(self, folder: str, texts: dict[str, str]) -> None:
        """Write a folder with files: after a crash at any moment it exists with all of them or not at all."""
        self._make()
        with explained(self.path / folder):
            made = Path(tempfile.mkdtemp(prefix=".new-", dir=self.path))
            for name, text in texts.items():
                disk.write_whole(made / name, _encoded(text))
            made.rename(self.path / folder)
            disk.sync_folder(self.path)

    @contextlib.contextmanager
    def locked(self, seconds: float = 60.0) -> Iterator[None]:
        """Lock the place: other threads and processes that lock it must wait. Locks may be nested.

        Parameters
        ----------
        seconds : float
            How long to wait for another holder of the lock before raising an error.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     place = Store(folder).place("h1", "0" * 64)
        ...     with place.locked(), place.locked():
        ...         sorted(p.name for p in place.path.iterdir())
        ['lock']
        """
        self._make()
        path = self.path / "lock"
        with contextlib.ExitStack() as held:
            try:
                with explained(path):
                    held.enter_context(disk.locked(path, seconds))
            except disk.Busy:
                raise InputError(
                    f"another run has held the lock {str(path)!r} for {seconds:g} s: wait for it to end, or end it; "
                    "the lock then opens by itself"
                ) from None
            yield

    def _make(self) -> None:
        with explained(self.path):
            for folder in (self.path.parent, self.path):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.name == "posix" and self.path.stat().st_mode & 0o077:
                self.path.chmod(0o700)


def _default_root() -> Path:
    if given := os.environ.get("FEDPERI_STORE"):
        return _folder(given)
    # The standard for these folders says that relative paths must be ignored.
    base = os.environ.get("XDG_DATA_HOME", "")
    try:
        return (Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "share") / "fedperi"
    except RuntimeError:
        raise InputError(f"there is no home folder to keep the privacy ledger in: {REMEDY}") from None


def _folder(path: object) -> Path:
    if isinstance(path, str | os.PathLike) and str(path) and "\0" not in str(path):
        with contextlib.suppress(RuntimeError):  # the home folder of an unknown user
            return Path(path).expanduser()
    raise InputError(f"the store of the privacy ledger is {path!r:.80}, but must be a folder: {REMEDY}")


def _safe(site: str) -> str:
    # The digest distinguishes names ("a/b" and "a_b", or "A" and "a" where case does not matter); the rest is for
    # people who look into the folder.
    digest = hashlib.sha256(site.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"site-{re.sub(r'[^A-Za-z0-9-]', '_', site)[:40]}-{digest}"


def _file(key: str) -> str:
    return f"kept-{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn errors of the disk into clear messages.

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
