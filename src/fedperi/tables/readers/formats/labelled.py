"""Files of Stata, SPSS and SAS, with the labels of their values; needs pyreadstat, which is optional.

A column whose values all have labels is a category, and its labels are the levels. A column in which only some values
have labels (0 "no pain" and 10 "worst pain" of a scale), or that SPSS calls a scale, stays a column of numbers. Values
that the file declares missing are missing: ``.`` and ``.a`` to ``.z``, user-missing values, empty text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....errors import InputError
from ...table import Table
from .file_format import MARK, FileFormat, TextForm, no_noise
from .naming import stem
from .untyped import whole_as_integers

if TYPE_CHECKING:
    import pandas as pd

_OLD_STATA = tuple(bytes([release, order]) + b"\x01\x00" for release in (113, 114, 115) for order in (1, 2))
_SAS = bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00\x09\xc7\x31\x8c"


def program_of(start: bytes) -> str | None:
    """Return the program whose files begin like this: "Stata", "SPSS", "SAS", "SAS transport", or None.

    Examples
    --------
    >>> program_of(b"$FL2@(#) SPSS DATA FILE"), program_of(b"age,sex")
    ('SPSS', None)
    """
    marks = {
        "Stata": (b"<stata_dta>", *_OLD_STATA),
        "SPSS": (b"$FL2", b"$FL3"),
        "SAS": (_SAS,),
        "SAS transport": (b"HEADER RECORD*******LIB",),
    }
    return next((program for program, some in marks.items() if start.startswith(some)), None)


class LabelledFile:
    """A file of Stata, SPSS or SAS.

    Parameters
    ----------
    path : Path
    program : str
        See `program_of`.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> file = Path(tempfile.mkdtemp()) / "north.dta"
    >>> pd.DataFrame({"sex": [1, 2, 1]}).to_stata(file, write_index=False, value_labels={"sex": {1: "f", 2: "m"}})
    >>> north = LabelledFile(file, "Stata")
    >>> north.names, [chunk["sex"].tolist() for chunk in north.read(2)]
    (('sex',), [['f', 'm'], ['f']])
    """

    def __init__(self, path: Path, program: str) -> None:
        self.path, self.program = path, program
        try:
            import pyreadstat
        except ImportError:
            raise InputError(
                f"{str(path)!r} is a {program} file and pyreadstat is not installed; pip install pyreadstat (the extra "
                "'files' brings it), or save it as CSV"
            ) from None
        readers: dict[str, Callable[..., Any]] = {
            "Stata": pyreadstat.read_dta,
            "SPSS": pyreadstat.read_sav,
            "SAS": pyreadstat.read_sas7bdat,
            "SAS transport": pyreadstat.read_xport,
        }
        catalogue = path.with_suffix(".sas7bcat")
        beside = {"catalog_file": str(catalogue)} if program == "SAS" and catalogue.is_file() else {}
        self._reader: Callable[..., Any] = partial(readers[program], str(path), **beside)
        described = self._call(metadataonly=True)[1]
        self.names = tuple(str(name).strip() for name in described.column_names)
        measures = described.variable_measure
        self._labels: dict[str, dict[Any, str]] = {
            name: labels
            for name, labels in described.variable_value_labels.items()
            if name in described.column_names and measures.get(name) != "scale"
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """The columns whose labels were not used."""
        left = [name for name in self._labels if name not in self._levels]
        return tuple(f"column {name!r} has labels for some of its values only, and stays numbers" for name in left)

    def read(self, size: int) -> Iterator[pd.DataFrame]:
        """Yield the rows in frames of at most `size`."""
        start, last = 0, False
        while not last and len(frame := self._call(row_offset=start, row_limit=size)[0]):
            for name in frame.columns:
                frame[name] = self._column(frame[name], self._levels.get(name))
            yield frame.set_axis(list(self.names), axis=1)
            start += len(frame)
            last = len(frame) < size
        if not start:
            raise InputError(f"{str(self.path)!r} has columns but no rows; a site needs at least 2")

    def _column(self, series: pd.Series[Any], labels: dict[Any, str] | None) -> pd.Series[Any]:
        import pandas as pd

        if labels is not None:
            return series.map(labels, na_action="ignore").astype(object)
        if isinstance(series.dtype, pd.StringDtype) or series.dtype == object:
            return series.mask(series == "")
        # SPSS and SAS store all numbers as floats; Stata has integers of its own.
        return series if self.program == "Stata" else whole_as_integers(series)

    @cached_property
    def _levels(self) -> dict[str, dict[Any, str]]:
        """The labels of the columns whose values all have one. To know this, the labelled columns are read once."""
        frame = self._call(usecols=list(self._labels))[0] if self._labels else {}
        return {
            name: labels
            for name, labels in self._labels.items()
            if set(frame[name].dropna().unique().tolist()) <= set(labels)
        }

    def _call(self, **how: Any) -> Any:
        from pyreadstat import PyreadstatError
        from pyreadstat._readstat_parser import ReadstatError

        try:
            return self._reader(**how)
        except (PyreadstatError, ReadstatError, ValueError, OSError, OverflowError) as error:
            raise InputError(
                f"{str(self.path)!r} is not a complete {self.program} file ({type(error).__name__}); write it again, "
                "or save it as CSV"
            ) from None


def _open_labelled(path: Path, form: TextForm) -> Table:
    with path.open("rb") as stream:
        program = str(program_of(stream.read(MARK)))
    file = LabelledFile(path, program)
    return Table(
        stem(path),
        file.names,
        str(path),
        _read=lambda size, text: file.read(size),
        _cells=lambda size: no_noise(path, f"a {program} file"),
        _notes=lambda: file.notes,
    )


LABELLED = FileFormat(
    (".dta", ".sav", ".sas7bdat", ".xpt"), lambda path, start: program_of(start) is not None, _open_labelled
)
