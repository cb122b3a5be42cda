"""The public keys of the sites that may connect: the files of a folder, also when they change during a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from ....errors import InputError
from .. import need_flower
from .repeat import Daily, repeated, stamps

K = TypeVar("K", bytes, str)

LOOK = 2.0
"""Seconds between two looks at the folder."""


@dataclass(frozen=True)
class _Key:
    """A public key in the format of Flower (PEM), and in that of statements' signatures (OpenSSH)."""

    pem: bytes
    text: str


class Registers(Protocol):
    """The part of `fedperi.transports.flower.inner.control.Control` that admits sites."""

    def register(self, name: str, key: bytes) -> None:
        """Let the site with this key connect."""

    def withdraw(self, name: str) -> None:
        """Shut a site out."""


class SiteKeys(Mapping[str, bytes]):
    """The keys in a folder, by the names of their sites: ``NAME.pub`` is the key of the site NAME.

    Parameters
    ----------
    folder : Path
        The folder.

    Attributes
    ----------
    by_key : dict of bytes to str
        Names of the sites by their keys. This and `signers` change in place when the folder changes.
    signers : dict of str to str
        The same keys in the format of statements' signatures.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     SiteKeys(Path(folder))
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: there is no key of a site (NAME.pub) in ...
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._problem = ""
        self._out: set[str] = set()  # sites that the registry must still shut out
        if not any(folder.glob("*.pub")):
            raise InputError(f"there is no key of a site (NAME.pub) in {str(folder)!r}; `fedperi keys` makes them")
        self._stamps = stamps(folder.glob("*.pub"))
        self._keys = _read(folder)
        self.by_key: dict[bytes, str] = {}
        self.signers: dict[str, str] = {}
        self._list()

    def __getitem__(self, name: str) -> bytes:
        return self._keys[name].pem

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def refresh(self, registry: Registers, note: Callable[[str], None]) -> None:
        """Tell the registry about new and removed keys, if the folder has changed; note each problem once."""
        now = stamps(self.folder.glob("*.pub"))
        if now == self._stamps and not self._problem:
            return
        try:
            keys = _read(self.folder)
            gone = {name for name, key in self._keys.items() if keys.get(name) != key}
            new = [name for name, key in keys.items() if self._keys.get(name) != key]
            # Withdraw first: a name with a new key is in both sets. This object forgets the old key even if the
            # registry cannot be reached.
            self._out |= gone
            self._keys = {name: key for name, key in self._keys.items() if name not in gone}
            self._list()
            for name in sorted(self._out):
                registry.withdraw(name)
                self._out.remove(name)
            for name in new:
                registry.register(name, keys[name].pem)
                self._keys[name] = keys[name]
        except InputError as error:  # a file is half copied, or the SuperLink is being restarted
            if str(error) != self._problem:
                self._problem = str(error)
                note(f"keys of the sites: {error}; looking again.")
            return
        self._stamps, self._problem = now, ""
        self._list()
        _tell(note, gone, set(new))

    def _list(self) -> None:
        """Update the two views in place, since callers hold them, and without a moment when they are empty."""
        _replace(self.by_key, {key.pem: name for name, key in self._keys.items()})
        _replace(self.signers, {name: key.text for name, key in self._keys.items()})


def _replace(view: dict[K, str], now: dict[K, str]) -> None:
    for old in set(view) - set(now):
        del view[old]
    view.update(now)


def names_of(keys: Mapping[str, bytes]) -> Mapping[bytes, str] | None:
    """Return the names of the sites by their keys, always up to date; None if there are no keys (no TLS)."""
    return keys.by_key if isinstance(keys, SiteKeys) else {key: name for name, key in keys.items()} or None


@contextmanager
def followed(
    keys: Mapping[str, bytes],
    registry: Registers,
    note: Callable[[str], None],
    ending: Callable[[], list[str]] = list,
    look: float = LOOK,
) -> Iterator[None]:
    """Register the keys, follow the changes of their folder, and note once a day which certificates end soon."""
    for name, key in keys.items():
        registry.register(name, key)
    daily = Daily()

    def step() -> None:
        if isinstance(keys, SiteKeys):
            keys.refresh(registry, note)
        if daily.due():
            for line in ending():
                note(line)

    step()
    with repeated(look, step):
        yield


def _tell(note: Callable[[str], None], gone: set[str], new: set[str]) -> None:
    for name in sorted(gone & new):
        note(f"the key of site {name!r} was replaced; only the new one is accepted from now on.")
    for name in sorted(gone - new):
        note(f"the key of site {name!r} was withdrawn; the site is shut out.")
    for name in sorted(new - gone):
        note(f"a key of site {name!r} was added; the site may connect.")


def _read(folder: Path) -> dict[str, _Key]:
    need_flower()
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise InputError(
            "reading the keys of sites needs the package cryptography; pip install cryptography (the extra 'keys' "
            "brings it)"
        ) from None
    keys: dict[str, _Key] = {}
    for path in sorted(folder.glob("*.pub")):
        try:
            content = path.read_bytes()
            key = serialization.load_ssh_public_key(content)
        except (ValueError, UnsupportedAlgorithm, OSError):
            key = None
        if not isinstance(key, ec.EllipticCurvePublicKey):
            raise InputError(f"{str(path)!r} is not a public key of a site (ECDSA, OpenSSH's format)")
        pem = key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        keys[path.stem] = _Key(pem, " ".join(content.decode(errors="replace").split()[:2]))
    pems = [key.pem for key in keys.values()]
    same = [name for name, key in keys.items() if pems.count(key.pem) > 1]
    if same:
        raise InputError(f"the sites {', '.join(same)} have the same key: make one for each")
    return keys
