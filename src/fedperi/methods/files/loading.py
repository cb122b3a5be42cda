"""Read results from the directories in which they were saved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...errors import InputError
from ...strict import Unreadable, read_json
from ..effects.moments import Moments
from ..fci.result import FORMAT, FCIResult
from ..result import Result
from .saving import SUMMARIES, file_of, read_text_of


def load(directory: str | Path) -> Result:
    """Read a result that `Result.save` wrote.

    Parameters
    ----------
    directory : str or Path
        The directory, or its result.json.

    Returns
    -------
    Result

    Examples
    --------
    >>> import tempfile
    >>> import fedperi as fp
    >>> result = fp.MPERI().fit(fp.simulate(3, clients=2, samples=100).sites)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fp.load(result.save(folder)).graph == result.graph
    True
    """
    found = load_any(directory)
    if isinstance(found, FCIResult):
        raise InputError(
            f"{str(directory)!r} holds a PAG of FCI, which has no effects and no probabilities; its report.html and "
            "edges.csv say what was found, and FCIResult.load of fedperi.methods.fci reads it"
        )
    return found


def load_any(directory: str | Path) -> Result | FCIResult:
    """Read a result of any method.

    Examples
    --------
    >>> import tempfile
    >>> import fedperi as fp
    >>> result = fp.FCI().fit(fp.simulate(3, clients=2, samples=100).sites)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_any(result.save(folder)).graph == result.graph
    True
    """
    text = read_text_of(directory)
    if _is_pag(text):
        return FCIResult.from_json(text)
    result = Result.from_json(text)
    numbers = file_of(directory).with_name(SUMMARIES)
    return replace(result, moments=Moments.from_json(read_text_of(numbers))) if numbers.is_file() else result


def _is_pag(text: str) -> bool:
    try:
        record = read_json(text)
    except Unreadable:
        return False  # the reader of results says what is wrong
    return isinstance(record, dict) and record.get("format") == FORMAT
