"""A secret that only the site knows, so that nobody else can compute the weights of resampled rows."""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from ..privacy.store import Place

FILE = "resampling.secret"
_BYTES = 32


def secret_seed(place: Place, *parts: object) -> int:
    """Derive a seed from public values and the site's secret; it is the same in every process.

    Examples
    --------
    >>> import tempfile
    >>> from fedperi.privacy.store import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Store(folder).place("north", "0" * 64)
    ...     secret_seed(place, 1) == secret_seed(place, 1), secret_seed(place, 1) == secret_seed(place, 2)
    (True, False)
    """
    return int.from_bytes(hmac.digest(_secret(place), repr(parts).encode("utf-8", "surrogatepass"), "sha256"))


def _secret(place: Place) -> bytes:
    """Return the secret, which is drawn at its first use. Only the owner can read files of a place (mode 0600)."""
    with place.locked():
        text = place.read(FILE)
        if text is None:
            text = secrets.token_hex(_BYTES)
            place.write(FILE, text)
    try:
        secret = bytes.fromhex(text)
    except ValueError:
        secret = b""
    if len(secret) != _BYTES:
        raise InputError(
            f"{str(place.path / FILE)!r}, the secret for resampling rows, is damaged: restore it from a backup, or "
            "delete it (then later bootstrap draws differ from earlier ones)"
        )
    return secret
