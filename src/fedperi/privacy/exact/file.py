"""The file of an exact summary: JSON that a person can read, with a checksum, and a signature if the site has a key.

Everything in it follows from the summary. A file with anything else in it, or that contradicts itself, is refused. The
same table gives the same text: nothing in it depends on when or where it was written.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from ...errors import InputError
from ...strict import Unreadable, read_json
from ...tables.schema import Column, Schema
from ...tables.summary.qualities import covariance_of
from ...tables.summary.summary import Summary
from ...tables.summary.units import one_hot_unit
from ..release.reader import check_checksum, check_signature, refusal
from ..release.signature import Signature, is_base64, is_key_text
from ..release.text import canonical, sealed, signed
from .reveals import about

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

FORMAT = "fedperi.summary"
LONGEST = 1 << 25
"""Largest number of characters of a file: 1,000 columns have 500,000 covariances, of some 24 characters each."""

LARGEST = 1e100
"""Largest number in a summary: its square is finite."""

AGAIN = "have the site run `fedperi release --exact` again"
TOLERANCE = 1e-6
"""Largest relative difference between an indicator's variance and the one that follows from its mean."""


class _Column(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    kind: Literal["continuous", "categorical"]
    levels: list[str] | None
    bounds: tuple[float, float] | None
    unit: str
    own_spread: bool
    width: int


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: Literal["fedperi.summary"]
    version: Literal[1]
    about: list[str]
    site: str
    targets: list[str] | None
    rows: int
    dropped: int
    columns: list[_Column]
    mean: list[float]
    scatter: list[list[float]]
    signer: str | None = None


def write_summary(summary: Summary) -> str:
    """Write an exact summary as text.

    Examples
    --------
    >>> import fedperi as fp
    >>> print(write_summary(fp.Summary.of(fp.simulate(2, clients=2, samples=500, seed=1).sites[0], name="north")))
    {
      "format": "fedperi.summary",
      "version": 1,
      "about": [
        "NOT PRIVATE: ...
      "checksum": "sha256:..."
    }
    """
    return sealed(content_of(summary), summary.signature)


def sign_summary(summary: Summary, key: EllipticCurvePrivateKey) -> Summary:
    """Return the summary with a signature under a site's private key.

    Examples
    --------
    >>> import fedperi as fp
    >>> from fedperi.pki.certificates import new_key
    >>> sign_summary(fp.Summary.of(fp.simulate(2, clients=2, samples=500).sites[0]), new_key()).signature.fingerprint
    'SHA256:...'
    """
    return signed(summary, content_of, key)


def content_of(summary: Summary) -> dict[str, Any]:
    """Return everything in a file, except the signature and the checksum."""
    if summary.schema is None or summary.scatter is None:
        raise InputError(f"site {summary.site!r}: only a summary of a table can be written; make it with `Summary.of`")
    if not summary.exact:
        raise InputError(f"site {summary.site!r}: this summary is private; write its release instead")
    described = zip(summary.schema.columns, summary.units, summary.kinds, summary.blocks, strict=True)
    columns = [
        _Column(c.name, c.kind, list(c.levels) if c.levels else None, c.bounds, unit, kind == "continuous", len(block))
        for c, unit, kind, block in described
    ]
    content: dict[str, Any] = msgspec.to_builtins(
        _File(
            "fedperi.summary",
            1,
            about(summary),
            summary.site,
            None if summary.targets is None else list(summary.targets),
            int(summary.n),
            summary.dropped,
            columns,
            summary.mean.tolist(),
            [summary.scatter[i, : i + 1].tolist() for i in range(len(summary.mean))],
            None if summary.signature is None else summary.signature.key,
        )
    )
    if content["signer"] is None:
        del content["signer"]
    return content


def read_summary(text: str, where: str) -> Summary:
    """Read what `write_summary` wrote, and refuse everything else.

    Parameters
    ----------
    text : str
    where : str
        Name for error messages: that of the file.

    Raises
    ------
    InputError
        If the text is not a whole summary, was edited, or contradicts itself.

    Examples
    --------
    >>> import fedperi as fp
    >>> text = write_summary(fp.Summary.of(fp.simulate(2, clients=2, samples=500, seed=1).sites[0], name="north"))
    >>> read_summary(text, "north.fedperi").n
    500
    >>> read_summary(text.replace('"rows": 500', '"rows": 501'), "north.fedperi")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: summary file 'north.fedperi' was changed after it was made: its checksum does not fit...
    """
    refuse = refusal(f"summary file {where!r}")
    if len(text) > LONGEST:
        refuse("is far too large to be one; give a file that `fedperi release --exact` wrote")
    try:
        content = read_json(text)
    except Unreadable as error:
        refuse(f"is cut off or not JSON ({error}); {AGAIN}")
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        refuse("is not the file of an exact summary; give one that `fedperi release --exact` wrote")
    check_checksum(content, refuse, AGAIN)
    signature = content.pop("signature", None)
    try:
        summary = _summary(msgspec.convert(content, _File), signature)
        again = content_of(summary)
    except (msgspec.ValidationError, UnicodeError) as error:
        refuse(f"cannot be read: {error}; {AGAIN}")
    except OverflowError:
        refuse(f"cannot be read: a number is too large; {AGAIN}")
    except InputError as error:
        refuse(f"cannot be used: {error}; {AGAIN}")
    if canonical(again) != canonical(content):
        refuse(f"contradicts itself: not everything follows from the rest; {AGAIN}")
    check_signature(content, summary.signature, refuse)
    return summary


def _summary(file: _File, value: object) -> Summary:
    q = len(file.mean)
    if file.rows < 1 or file.dropped < 0 or any(column.width < 1 for column in file.columns):
        raise InputError("there must be rows, and columns for every variable")
    if [len(row) for row in file.scatter] != list(range(1, q + 1)) or sum(c.width for c in file.columns) != q:
        raise InputError("its numbers of means, covariances and columns do not fit")
    schema = Schema(
        tuple(Column(c.name, c.kind, None if c.levels is None else tuple(c.levels), c.bounds) for c in file.columns)
    )
    for column, entry in zip(schema.columns, file.columns, strict=True):
        _check_unit(column, entry)
    scatter = np.zeros((q, q))
    scatter[np.tril_indices(q)] = [number for row in file.scatter for number in row]
    scatter = np.tril(scatter) + np.tril(scatter, -1).T
    mean = np.array(file.mean)
    ends = np.cumsum([0, *(c.width for c in file.columns)]).tolist()
    blocks = tuple(tuple(range(end - c.width, end)) for c, end in zip(file.columns, ends[1:], strict=True))
    _check_numbers(file, scatter, mean, blocks)
    signature = None
    if value is not None or file.signer is not None:
        if not is_base64(value) or not is_key_text(file.signer):
            raise InputError("it has no signature that can be read, though it names a signer")
        signature = Signature(str(file.signer), str(value))
    return Summary(
        file.site,
        schema.names,
        blocks,
        file.rows,
        mean,
        covariance_of(file.rows, mean, scatter),
        tuple("continuous" if c.own_spread else "categorical" for c in file.columns),
        tuple(c.unit for c in file.columns),
        None if file.targets is None else tuple(file.targets),
        file.dropped,
        schema,
        scatter,
        signature,
    )


def _check_unit(column: Column, entry: _Column) -> None:
    """Raise unless a unit is one of those that `fedperi.tables.summary.summary` writes, and fits the column."""
    curve = re.fullmatch(r"Curve (\S+) (\S+)", entry.unit)
    if curve is not None:
        fits = column.levels is None and all(_is_finite(number) for number in curve.groups())
    elif entry.unit.startswith("OneHot"):
        fits = entry.unit == one_hot_unit(column.levels or ()) and entry.width == len(column.levels or ()) - 1
    else:
        fits = entry.unit == "Linear" and entry.width == 1
    if not fits:
        raise InputError(f"column {column.name!r} has a unit that does not fit it")


def _is_finite(text: str) -> bool:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return isinstance(value, float | int) and bool(np.isfinite(value)) and repr(value) == text


def _check_numbers(file: _File, scatter: np.ndarray[Any, Any], mean: np.ndarray[Any, Any], blocks: Any) -> None:
    """Raise unless some table can have these moments."""
    n, variance = file.rows, np.diag(scatter)
    if max(float(np.abs(mean).max()), float(np.abs(scatter).max()), float(n)) > LARGEST:
        raise InputError("its numbers must be smaller")
    root = np.sqrt(np.where(variance > 0, variance, 1.0))
    if not np.isfinite(mean).all() or not np.isfinite(scatter).all() or (variance < 0).any():
        raise InputError("its numbers must be finite, with no negative variance")
    if np.linalg.eigvalsh(scatter / np.outer(root, root))[0] < -TOLERANCE:
        raise InputError("no table can have its covariances")
    for column, block in zip(file.columns, blocks, strict=True):
        if column.unit.startswith("OneHot"):
            share = mean[list(block)]
            counts = n * share
            inside = (share >= 0).all() and share.sum() <= 1 + TOLERANCE
            whole = np.allclose(counts, np.rint(counts), atol=1e-3)
            fits = np.allclose(variance[list(block)], counts * (1 - share), rtol=TOLERANCE, atol=TOLERANCE)
            if not (inside and whole and fits):
                raise InputError(f"column {column.name!r} has counts of levels that no table can have")
