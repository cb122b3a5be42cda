"""causal-learn's PC and GES as local methods. They read the rows, so they run where the rows are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graph.pdag import PDAG
from ..tables.checks.findings import quoted
from ..tables.encode import codes, numbers, read_rows
from ..tables.infer import infer_schema
from ..tables.levels import style_of
from ..tables.schema import Schema
from ..tables.statistics import summarize
from ..tables.table import CHUNK, open_table

if TYPE_CHECKING:
    import pandas as pd

# Tests and scores of causal-learn that treat codes as categories; all others treat them as numbers.
_CATEGORICAL = ("gsq", "chisq", "local_score_BDeu")


def causallearn_pc(alpha: float = 0.01, **options: Any) -> CausalLearn:
    """Return causal-learn's PC as a local method.

    Parameters
    ----------
    alpha : float
        As for `fedperi.pc`.
    **options
        Passed on to ``causallearn.search.ConstraintBased.PC.pc``. Without ``indep_test``, it is ``"gsq"`` if all
        columns are categories, else ``"fisherz"``.

    Returns
    -------
    CausalLearn
        A callable that takes a DataFrame and returns a PDAG over its columns.

    Raises
    ------
    InputError
        When called: if causal-learn is not installed, fails, or returns a graph that is not a PDAG, as its PC does when
        findings contradict each other.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from fedperi.discovery.adapters import causallearn_pc
    >>> a, b, noise = np.random.default_rng(0).normal(size=(3, 1000))
    >>> causallearn_pc(alpha=0.01)(pd.DataFrame({"a": a, "b": b, "c": a + b + noise}))
    PDAG('a -> c, b -> c', names=['a', 'b', 'c'])
    """
    return CausalLearn("pc", {"alpha": alpha, "show_progress": False, **options})


def causallearn_ges(**options: Any) -> CausalLearn:
    """Return causal-learn's GES as a local method.

    Parameters
    ----------
    **options
        Passed on to ``causallearn.search.ScoreBased.GES.ges``. Without ``score_func``, it is ``"local_score_BDeu"`` if
        all columns are categories, else ``"local_score_BIC_from_cov"``.

    Returns
    -------
    CausalLearn
        A callable that takes a DataFrame and returns a PDAG over its columns.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from fedperi.discovery.adapters import causallearn_ges
    >>> a, b, noise = np.random.default_rng(0).normal(size=(3, 1000))
    >>> causallearn_ges()(pd.DataFrame({"a": a, "b": b, "c": a + b + noise}))
    PDAG('a -> c, b -> c', names=['a', 'b', 'c'])
    """
    return CausalLearn("ges", options)


@dataclass(frozen=True)
class CausalLearn:
    """A method of causal-learn with its options, ready to be called with a table.

    Examples
    --------
    >>> from fedperi.discovery.adapters import causallearn_ges
    >>> causallearn_ges().wants_table, causallearn_ges().__name__
    (True, 'causallearn_ges')
    """

    method: Literal["pc", "ges"]
    options: Mapping[str, Any]
    wants_table: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))

    @property
    def __name__(self) -> str:  # `local_graph` uses it in errors
        return f"causallearn_{self.method}"

    def __reduce__(self) -> tuple[Any, ...]:  # a mapping that cannot be written to cannot be pickled either
        return CausalLearn, (self.method, dict(self.options))

    def __call__(self, table: pd.DataFrame) -> PDAG:
        """Run causal-learn on the rows of a table."""
        search = _load(self.method)
        summarize(table)  # unusable tables are refused here, with our messages
        schema = infer_schema([table])
        option, discrete, other = (
            ("indep_test", "gsq", "fisherz")
            if self.method == "pc"
            else ("score_func", "local_score_BDeu", "local_score_BIC_from_cov")
        )
        categorical = all(column.kind == "categorical" for column in schema.columns)
        options = {option: discrete if categorical else other, **self.options}
        values = _matrix(table, schema, f"{option}={options[option]!r}", options[option] in _CATEGORICAL)
        try:
            found = search(values, **options)
        except Exception as error:  # any error of the other package becomes one clear sentence
            raise InputError(f"causal-learn failed with {type(error).__name__}: {error}") from error
        return PDAG.from_causallearn(found["G"] if self.method == "ges" else found.G, names=list(schema.names))


def _load(method: str) -> Any:
    try:
        if method == "pc":
            from causallearn.search.ConstraintBased.PC import pc

            return pc
        from causallearn.search.ScoreBased.GES import ges
    except ImportError:
        raise InputError("causal-learn is not installed; pip install causal-learn, or use 'pc' or 'ges'") from None
    return ges


def _matrix(table: pd.DataFrame, schema: Schema, option: str, categories: bool) -> NDArray[np.float64]:
    """Return the rows as numbers; text with more than two levels only where codes are taken as categories."""
    texts = [column for column in schema.columns if column.levels and style_of(column.levels) != "number"]
    wide = [column.name for column in texts if len(column.levels or ()) > 2]
    if wide and not categories:
        raise InputError(
            f"column{'s' if len(wide) > 1 else ''} {quoted(wide)}: causal-learn with {option} would take the "
            "categories as numbers; use 'pc' or 'ges' instead"
        )
    frames = read_rows(open_table(table), schema, CHUNK, "error")
    return np.vstack(
        [
            np.column_stack([(codes if c in texts else numbers)(frame[c.name], c, "table") for c in schema.columns])
            for frame in frames
        ]
    ).astype(np.float64)
