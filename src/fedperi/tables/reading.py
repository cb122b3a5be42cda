"""How a table is read: the declared schema, how columns are taken, and what to do with incomplete rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..option_values import DATA, MISSING, check_one_of

if TYPE_CHECKING:
    from .checks.profile import Missing
    from .embedding import Data
    from .infer import SchemaLike
    from .schema import Schema


@dataclass(frozen=True)
class Reading:
    """How a table is read.

    Parameters
    ----------
    schema : Schema, optional
        What is declared about the columns.
    data : {"auto", "linear", "nonlinear", "discrete", "mixed"}
        How columns are taken.
    missing : {"auto", "em", "error", "drop"}
        What to do with rows in which a value is missing.

    Examples
    --------
    >>> Reading(missing="fill")
    Traceback (most recent call last):
    ...
    fedperi.errors.InputError: missing must be one of auto, em, error, drop; not 'fill'
    """

    schema: Schema | None = None
    data: Data = "auto"
    missing: Missing = "error"

    def __post_init__(self) -> None:
        check_one_of("data", self.data, DATA)
        check_one_of("missing", self.missing, MISSING)

    @classmethod
    def of(cls, schema: SchemaLike | None, data: Any, missing: Any) -> Reading:
        """Make a reading from what a user gave; the schema may be the path of a file.

        Examples
        --------
        >>> Reading.of(None, "linear", "drop")
        Reading(schema=None, data='linear', missing='drop')
        """
        from .infer import as_schema

        return cls(as_schema(schema), data, missing)

    def private(self) -> Reading:
        """Return how the same table is read for a private release, where missing values cannot be estimated by EM.

        Examples
        --------
        >>> Reading(missing="auto").private().missing
        'error'
        >>> Reading(missing="em").private()
        Traceback (most recent call last):
        ...
        fedperi.errors.InputError: missing='em' is not private: with noise a public default replaces gaps ...
        """
        if self.missing == "em":
            raise InputError(
                "missing='em' is not private: with noise a public default replaces gaps (missing='error'), or "
                "incomplete rows are left out (missing='drop')"
            )
        return replace(self, missing="error") if self.missing == "auto" else self

    @property
    def arguments(self) -> dict[str, Any]:
        """The fields as keyword arguments, for functions that users call."""
        return {"schema": self.schema, "data": self.data, "missing": self.missing}
