"""Results read back from the directories in which they were saved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..errors import InputError
from ..strict import Unreadable, read_json
from .effects.moments import Moments
from .fci_result import FORMAT, FCIResult
from .result import Result


def load(directory: str | Path) -> Result | FCIResult:
    """Read a result that `save` wrote.

    Parameters
    ----------
    directory : str or Path
        The directory, or its result.json.

    Returns
    -------
    Result or FCIResult
        As the method returned it.

    Examples
    --------
    >>> import tempfile
    >>> import fedperi as fp
    >>> result = fp.MPERI().fit(fp.simulate(3, clients=2, samples=100).sites)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fp.load(result.save(folder)).graph == result.graph
    True
    """
    from .saving import SUMMARIES

    folder = Path(directory)
    file = folder / "result.json" if folder.is_dir() else folder
    try:
        text = file.read_text(encoding="utf-8")
        if _form(text) == FORMAT:
            return FCIResult.from_json(text)
        result = Result.from_json(text)
        numbers = file.with_name(SUMMARIES)
        if not numbers.is_file():
            return result
        return replace(result, moments=Moments.from_json(numbers.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"cannot read the result {str(file)!r}: {reason}") from None


def load_dag_result(directory: str | Path, purpose: str) -> Result:
    """Read a result for something that needs directions without hidden causes; a PAG is refused.

    Parameters
    ----------
    directory : str or Path
        The directory, or its result.json.
    purpose : str
        What the result is needed for, as the end of a sentence.
    """
    result = load(directory)
    if isinstance(result, FCIResult):
        raise InputError(
            f"{str(directory)!r} holds a result of FCI, and {purpose} needs one of M-PERI; its report.html and "
            "edges.csv say what FCI found"
        )
    return result


def _form(text: str) -> object:
    try:
        record = read_json(text)
    except Unreadable:
        return None  # the reader of results says what is wrong
    return record.get("format") if isinstance(record, dict) else None
