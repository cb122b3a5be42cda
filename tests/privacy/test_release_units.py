"""Units of a release: what one row can change of the scores, and what is chosen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedperi.privacy.noise import SecureNoise
from fedperi.privacy.release.units import (
    CELLS,
    SENSITIVITY,
    choices_of,
    choose_unit,
    median_scores,
    radius_scores,
    unit_of,
)
from fedperi.tables import Column

CELLS_OF_ROWS = st.lists(st.integers(0, CELLS - 1), max_size=60)


@given(rows=CELLS_OF_ROWS, cell=st.integers(0, CELLS - 1), middle=st.integers(1, CELLS - 1))
def test_property_one_row_more_or_less_changes_every_score_by_exactly_one(
    rows: list[int], cell: int, middle: int
) -> None:
    """Neighbours are tables that differ by one row, added or removed: the same pair, seen from both sides."""
    smaller = np.bincount(rows, minlength=CELLS).astype(np.int64)
    larger = smaller + np.bincount([cell], minlength=CELLS)
    for before, after in (
        (median_scores(smaller), median_scores(larger)),
        (radius_scores(smaller, middle), radius_scores(larger, middle)),
    ):
        assert (np.abs(after - before) == SENSITIVITY).all()


@given(
    middle=st.integers(1, CELLS - 1), radius=st.integers(1, CELLS), low=st.floats(-1e6, 1e6), width=st.floats(1, 1e6)
)
def test_property_choices_can_be_read_from_units(middle: int, radius: int, low: float, width: float) -> None:
    column = Column("a", "continuous", bounds=(low, low + width))
    centre, unit = unit_of(column, middle, radius)
    assert choices_of(column, centre, unit) == (middle, radius)
    assert unit > 0


@pytest.mark.parametrize("rows", [[], [3], [3, 3, 3], [0, CELLS - 1]])
def test_few_rows_give_a_unit(rows: list[int]) -> None:
    column = Column("a", "continuous", bounds=(0, 1))
    centre, unit = choose_unit(column, np.bincount(rows, minlength=CELLS).astype(np.int64), SecureNoise(), 1e-4)
    assert 0 < centre < 1 and unit > 0


def test_one_frequent_value_does_not_make_a_tiny_unit() -> None:
    """Nine of ten rows have the value 0, the others 5. Any edge between is a median; the unit fits the distance.

    With a unit of one cell, all rows with another value would be clipped. False alarm: below 1e-300, as all other edges
    and radii have scores lower by 1,000 and more, and the noise a scale of 0.7.
    """
    counts = np.zeros(CELLS, dtype=np.int64)
    counts[0], counts[CELLS // 2] = 9000, 1000
    unit = choose_unit(Column("a", "continuous", bounds=(0, 10)), counts, SecureNoise(), 1.0)[1]
    assert 0.6 < 5 / unit < 40
