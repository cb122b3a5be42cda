"""Statistics and counts: against numpy on the whole frame, whatever the chunks; and the awkward tables."""

import gc
import pickle
import tracemalloc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.refusals import assert_refused
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from fedperi import InputError
from fedperi.tables import Column, Counts, Schema, Statistics, summarize
from fedperi.tables.counts import distinct_rows
from fedperi.tables.moments import merge, moments_of


def normal(n: Any = 200, p: Any = 4, seed: Any = 0) -> Any:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, p)) @ rng.normal(size=(p, p)), columns=list("abcdefgh"[:p]))


def assert_agree(one: Any, other: Any, tolerance: Any = 1e-10) -> None:
    assert one.names == other.names
    assert one.blocks == other.blocks
    assert one.n == other.n
    np.testing.assert_allclose(one.mean, other.mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(one.scale, other.scale, rtol=tolerance)
    np.testing.assert_allclose(one.correlation, other.correlation, atol=tolerance)


def north(frame: Any, **options: Any) -> Any:
    return summarize(frame, name="north", **options)


# --- values ------------------------------------------------------------------------------------------------------


def test_linear_statistics_by_hand() -> None:
    # Deviations (-1, 0, 1) and (-2, 1, 1): variances 2/3 and 2, covariance 1.
    found = summarize(pd.DataFrame({"a": [0.5, 1.5, 2.5], "b": [0.5, 3.5, 3.5]}), name="north")
    assert isinstance(found, Statistics)
    assert (found.names, found.blocks, found.kinds) == (("a", "b"), ((0,), (1,)), ("continuous", "continuous"))
    assert (found.n, found.dropped, found.site) == (3, 0, "north")
    np.testing.assert_allclose(found.mean, [1.5, 2.5])
    np.testing.assert_allclose(found.scale, np.sqrt([2 / 3, 2]))
    np.testing.assert_allclose(found.covariance, [[2 / 3, 1], [1, 2]])
    assert np.diag(found.correlation).tolist() == [1.0, 1.0]


def test_linear_statistics_are_numpys() -> None:
    frame = normal()
    found = summarize(frame)
    np.testing.assert_allclose(found.correlation, np.corrcoef(frame, rowvar=False), atol=1e-12)
    np.testing.assert_allclose(found.covariance, np.cov(frame, rowvar=False, bias=True), rtol=1e-12)


def test_mixed_statistics_are_numpys_of_the_indicators() -> None:
    frame = normal().assign(g=np.array(["u", "v", "w"])[np.arange(200) % 3], t=np.arange(200) % 7 > 2)
    found = summarize(frame)
    embedded = np.column_stack([frame[list("abcd")], frame["g"] == "v", frame["g"] == "w", frame["t"]])
    assert found.blocks == ((0,), (1,), (2,), (3,), (4, 5), (6,))
    assert found.kinds == ("continuous",) * 4 + ("categorical",) * 2
    np.testing.assert_allclose(found.covariance, np.cov(embedded.astype(float), rowvar=False, bias=True), atol=1e-12)


def test_nonlinear_statistics_by_hand() -> None:
    frame = normal(p=2).assign(a=lambda f: f["a"] * 5 + 100)
    found = summarize(frame, data="nonlinear", degree=3)
    assert found.blocks == ((0, 1, 2), (3, 4, 5))
    columns = []
    for name in "ab":
        x = np.clip((frame[name] - frame[name].mean()) / (3 * frame[name].std(ddof=0)), -1, 1)
        columns += [x, (3 * x**2 - 1) / 2, (5 * x**3 - 3 * x) / 2]
    np.testing.assert_allclose(found.covariance, np.cov(columns, bias=True), atol=1e-12)


def test_bounds_replace_the_sites_own_scale() -> None:
    schema = Schema((Column("a", "continuous", bounds=(-10, 30)), Column("b", "continuous")))
    frame = normal(p=2)
    found = summarize(frame, schema, data="nonlinear", degree=1)
    np.testing.assert_allclose(found.mean[0], ((frame["a"] - 10) / 20).mean())
    outside = Schema((Column("a", "continuous", bounds=(100, 200)), Column("b", "continuous")))
    message = (
        "site 'north', column 'a': all values lie beyond the declared bounds (100.0, 200.0); correct the bounds in the"
    )
    assert_refused(lambda: north(frame, schema=outside, data="nonlinear"), message + " schema")


def test_a_basis_has_no_more_columns_than_the_values_can_carry() -> None:
    """Two values span one dimension, three span two; a square that is constant is not a column."""
    frame = pd.DataFrame({"two": [0.5, 1.5] * 30, "three": [0.5, 1.5, 4.5] * 20, "many": np.arange(60) / 7})
    found = summarize(frame, data="nonlinear", degree=3)
    assert list(map(len, found.blocks)) == [1, 2, 3]
    assert all(np.linalg.eigvalsh(found.correlation[np.ix_(b, b)]).min() > 1e-6 for b in found.blocks)


def test_a_level_that_does_not_occur_here_has_no_column() -> None:
    schema = Schema((Column("g", "categorical", ("t", "u", "v", "w")), Column("x", "continuous")))
    frame = pd.DataFrame({"x": [0.5, 1.5, 2.0, 5.0], "g": ["w", "u", "u", "w"]})
    found = summarize(frame, schema)
    assert (found.names, found.blocks) == (("g", "x"), ((0,), (1,)))
    assert found.mean[0] == 0.5


def test_codes_are_numbers_under_linear_and_categories_under_auto() -> None:
    frame = pd.DataFrame({"a": [0, 1, 2] * 20, "b": [True, False] * 30, "x": np.arange(60) / 7})
    assert list(map(len, summarize(frame).blocks)) == [2, 1, 1]
    linear = summarize(frame, data="linear")
    assert linear.kinds == ("continuous",) * 3
    np.testing.assert_allclose(linear.covariance, np.cov(frame.astype(float), rowvar=False, bias=True), atol=1e-12)


def test_counts_by_hand() -> None:
    frame = pd.DataFrame({"a": ["v", "u", "v", "v"], "b": [True, False, True, False]})
    found = summarize(frame, name="north")
    assert isinstance(found, Counts)
    assert found.levels == (("u", "v"), ("False", "True"))
    assert found.codes.tolist() == [[0, 0], [1, 0], [1, 1]]
    assert found.counts.tolist() == [1, 1, 2]
    assert (found.names, found.n, found.site, found.dropped) == (("a", "b"), 4, "north", 0)


def test_counts_keep_levels_of_other_sites_and_numeric_order() -> None:
    schema = Schema((Column("a", "categorical", ("9", "10", "11")), Column("b", "categorical", ("u", "v"))))
    found = summarize(pd.DataFrame({"b": ["u", "v"], "a": [10, 9]}), schema)
    assert found.levels == (("9", "10", "11"), ("u", "v"))
    assert found.codes.tolist() == [[0, 1], [1, 0]]


def test_text_under_linear_and_numbers_under_discrete_are_refused() -> None:
    frame = pd.DataFrame({"a": ["u", "v"], "b": ["u", "w"], "c": [0.5, 1.5]})
    assert_refused(
        lambda: north(frame, data="linear"),
        "site 'north', columns 'a', 'b': data='linear' needs numbers, and this is text; "
        "use data='mixed', or code it as numbers",
    )
    assert_refused(
        lambda: north(frame, data="discrete"),
        "site 'north', column 'c': data='discrete' needs categories, and this is continuous; "
        "bin it first, or use data='mixed'",
    )


# --- properties --------------------------------------------------------------------------------------------------

# Explaining a failure traces every line of pandas, which is ten times slower even while nothing fails.
quick = settings(max_examples=40, deadline=None, phases=[phase for phase in Phase if phase is not Phase.explain])

frames = st.builds(
    lambda n, p, seed, shift, scale: normal(n, p, seed) * 10.0**scale + shift,
    st.integers(3, 60),
    st.integers(1, 5),
    st.integers(0, 10**6),
    st.sampled_from([0.0, -3.0, 1e4]),
    st.integers(-3, 3),
)


@quick
@given(frames, st.integers(1, 70), st.sampled_from(["linear", "nonlinear"]))
def test_property_the_chunk_size_does_not_matter(frame: Any, chunk: Any, data: Any) -> None:
    assert_agree(summarize(frame, data=data), summarize(frame, data=data, chunk=chunk))


@quick
@given(frames, st.randoms(use_true_random=False))
def test_property_the_order_of_columns_only_reorders(frame: Any, random: Any) -> None:
    order = list(frame.columns)
    random.shuffle(order)
    found, shuffled = summarize(frame), summarize(frame[order])
    back = [order.index(name) for name in frame.columns]
    np.testing.assert_allclose(shuffled.correlation[np.ix_(back, back)], found.correlation, atol=1e-12)
    schema = Schema(tuple(Column(name, "continuous") for name in frame.columns))
    assert_agree(summarize(frame[order], schema), found)


@quick
@given(frames, st.randoms(use_true_random=False))
def test_property_the_order_of_rows_does_not_matter(frame: Any, random: Any) -> None:
    order = list(range(len(frame)))
    random.shuffle(order)
    assert_agree(summarize(frame.iloc[order], chunk=7), summarize(frame, chunk=5))


@quick
@given(st.integers(0, 10**6), st.sampled_from([1e8, -1e8, 12345.0]), st.floats(0.01, 100))
def test_property_shift_and_scale_change_mean_and_scale_only(seed: Any, shift: Any, factor: Any) -> None:
    # Multiples of 2**-20 are exact even at 1e8 beside them, so that the shift itself does not round.
    frame = (normal(50, 3, seed) * 2**20).round() / 2**20
    found, moved = summarize(frame), summarize(frame + shift, chunk=7)
    np.testing.assert_allclose(moved.correlation, found.correlation, atol=1e-10)
    np.testing.assert_allclose(moved.scale, found.scale, rtol=1e-10)
    np.testing.assert_allclose(moved.mean, found.mean + shift, rtol=1e-12)
    scaled = summarize(frame * factor)
    np.testing.assert_allclose(scaled.correlation, found.correlation, atol=1e-10)
    np.testing.assert_allclose(scaled.scale, found.scale * factor, rtol=1e-10)


@quick
@given(st.integers(1, 5), st.integers(2, 80), st.integers(1, 90), st.integers(0, 10**6))
def test_property_counts_are_value_counts(p: Any, n: Any, chunk: Any, seed: Any) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"x{j}": np.r_[["u", "v"], rng.choice(["u", "v", "w"], n)] for j in range(p)})
    found = summarize(frame, chunk=chunk)
    rows = {
        tuple(found.levels[j][code] for j, code in enumerate(row)): int(count)
        for row, count in zip(found.codes, found.counts, strict=True)
    }
    expected = {key if isinstance(key, tuple) else (key,): count for key, count in frame.value_counts().items()}
    assert rows == expected
    assert found.codes.tolist() == sorted(found.codes.tolist())


@quick
@given(st.integers(0, 10**6))
def test_property_distinct_rows_survive_more_columns_than_an_integer_holds(seed: Any) -> None:
    codes = np.random.default_rng(seed).integers(0, 3, size=(30, 60))
    codes = codes[np.random.default_rng(seed).integers(0, 30, size=50)]
    rows, counts = distinct_rows(codes, np.ones(50), (3,) * 60)
    expected, expected_counts = np.unique(codes, axis=0, return_counts=True)
    assert rows.tolist() == expected.tolist()
    assert counts.tolist() == expected_counts.tolist()


@quick
@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 10**6))
def test_property_merge_is_the_moments_of_both(n: Any, m: Any, seed: Any) -> None:
    rows = np.random.default_rng(seed).normal(size=(n + m, 3))
    whole, merged = moments_of(rows), merge(moments_of(rows[:n]), moments_of(rows[n:]))
    np.testing.assert_allclose(merged.scatter, whole.scatter, atol=1e-12)
    np.testing.assert_allclose(merged.mean, whole.mean, atol=1e-12)


@quick
@given(frames)
def test_property_files_give_the_statistics_of_the_frame(tmp_path_factory: pytest.TempPathFactory, frame: Any) -> None:
    frame = frame.assign(z=np.arange(len(frame)) ** 1.5)  # a file has two columns at least
    folder = tmp_path_factory.mktemp("files")
    frame.to_csv(folder / "a.csv", index=False)
    frame.to_parquet(folder / "a.parquet")
    assert_agree(summarize(folder / "a.csv", chunk=7), summarize(frame))
    assert_agree(summarize(folder / "a.parquet", chunk=7), summarize(frame), 1e-12)


# --- awkward tables ----------------------------------------------------------------------------------------------


def test_fewer_rows_than_columns() -> None:
    frame = normal(4, 8)
    found = summarize(frame)
    np.testing.assert_allclose(found.correlation, np.corrcoef(frame, rowvar=False), atol=1e-12)


def test_exact_collinearity_is_a_correlation_of_one() -> None:
    found = summarize(normal(p=2).assign(c=lambda f: -3 * f["a"] + 1, d=lambda f: f["a"] + f["b"]))
    assert np.isfinite(found.correlation).all()
    assert abs(found.correlation).max() == 1
    assert found.correlation[0, 2] == pytest.approx(-1, abs=1e-12)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([3.0] * 4, "all values are the same (3)"),
        ([0.1] * 4, "all values are the same (0.1)"),
        (["u"] * 4, "all values are the same ('u')"),
        ([True] * 4, "all values are the same ('True')"),
        ([7] * 4, "all values are the same (7)"),
        ([0.3, 0.1 + 0.2, 0.3, 0.3], "values differ by rounding only (0.3)"),
    ],
)
def test_constant_columns_are_refused(column: Any, message: str) -> None:
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.0, 5.0], "b": column})
    remedy = "leave the column or the site out; among several sites M-PERI takes it as a policy"
    assert_refused(lambda: north(frame), f"site 'north', column 'b': {message}; {remedy}")


def test_one_row_is_refused() -> None:
    message = "site 'north': only 1 row; a site needs at least 2 (and many more to learn from)"
    assert_refused(lambda: north(pd.DataFrame({"a": [1.5], "b": [2.5]})), message)
    message = "site 'north': only 1 row is left after dropping those with missing values; a site needs at least 2"
    assert_refused(
        lambda: north(pd.DataFrame({"a": [1.5, None], "b": [2.5, 1]}), missing="drop"),
        message + " (and many more to learn from)",
    )


def test_missing_values_are_an_error_or_dropped() -> None:
    frame = pd.DataFrame({"a": [1.5, None, 3.5, 4.0], "b": ["u", "v", None, "v"], "c": [0.5, 1, 2, 3.5]})
    remedy = "fill them, drop the column, leave incomplete rows out (missing=drop), or use M-PERI with missing=auto"
    assert_refused(
        lambda: north(frame),
        "2 problems:"
        f"\n  - site 'north', column 'a': 25.0 % of the values are missing (1 of 4); {remedy}"
        f"\n  - site 'north', column 'b': 25.0 % of the values are missing (1 of 4); {remedy}",
    )
    found = summarize(frame, missing="drop")
    assert (found.n, found.dropped) == (2, 2)
    assert_agree(found, summarize(frame.dropna()))
    discrete = pd.DataFrame({"a": ["u", "v", None], "b": ["x", "y", "x"]})
    assert summarize(discrete, missing="drop").dropped == 1


@pytest.mark.parametrize("values", [[np.nan] * 3, [None] * 3, pd.array([pd.NA] * 3, dtype="Int64")])
def test_all_missing(values: Any) -> None:
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.0], "b": values})
    assert_refused(lambda: north(frame), "site 'north', column 'b': all values are missing; drop the column")
    assert_refused(
        lambda: north(frame, missing="drop"),
        "site 'north', column 'b': no row is complete, and in this column 100 % of the values are missing; "
        "drop the columns that are mostly missing",
    )


def test_infinite_values_are_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.5, np.inf, -np.inf, 2.5], "b": [1.5, 2, 1, 0.5]})
    message = "site 'north', column 'a': 2 infinite values; correct them, or mark them as missing"
    assert_refused(lambda: north(frame), message)
    assert_refused(lambda: north(frame, missing="drop"), message)
    frame.to_csv(tmp_path / "x.csv", index=False)
    assert_refused(lambda: north(tmp_path / "x.csv"), message)


@pytest.mark.parametrize("extreme", [1e300, 1.7e308])
def test_values_too_extreme_to_be_squared_are_refused(extreme: float) -> None:
    frame = pd.DataFrame({"a": [1.5, extreme, -extreme], "b": [1.5, 2, 1]})
    message = f"site 'north', column 'a': values range from {-extreme:g} to {extreme:g}, too extreme to be squared"
    assert_refused(lambda: north(frame), message + "; use another unit of measurement")
    tiny = pd.DataFrame({"a": [0.0, 1e-300, 2e-300], "b": [1.5, 2, 1]})
    assert_refused(
        lambda: north(tiny),
        message.split(" range")[0]
        + " range from 0 to 2e-300, too extreme to be squared; use another unit of measurement",
    )


def test_a_table_that_does_not_fit_the_schema_is_refused() -> None:
    schema = Schema((Column("a", "continuous"), Column("b", "categorical", ("u", "v"))))
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": ["u", "w"], "z": [1.5, 0.5]})
    assert_refused(
        lambda: north(frame, schema=schema),
        "2 problems:"
        "\n  - site 'north', column 'b': some values are not among the declared levels; "
        "the levels are 'u', 'v'; correct the values or the schema"
        "\n  - site 'north', column 'z': not in the schema; add it to the schema, or drop it from the table",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": "gaussian"}, "data must be one of auto, linear, nonlinear, discrete, mixed; not 'gaussian'"),
        ({"missing": "ignore"}, "missing must be one of error, drop; not 'ignore'"),
        ({"chunk": 0}, "chunk must be a positive number of rows, not 0"),
        ({"data": "nonlinear", "degree": 0}, "degree must be a whole number from 1 to 10, not 0"),
    ],
)
def test_bad_options_are_refused(options: Any, message: str) -> None:
    assert_refused(lambda: north(normal(), **options), message)


@pytest.mark.parametrize("dtype", ["float32", "Float64", "float64[pyarrow]", "object"])
def test_other_dtypes_of_numbers(dtype: str) -> None:
    frame = normal().round(2)
    assert_agree(summarize(frame.astype(dtype)), summarize(frame.astype(dtype).astype(float)), 1e-12)


def test_decimals_and_text_dtypes() -> None:
    from decimal import Decimal

    frame = pd.DataFrame({"a": [Decimal("1.5"), Decimal("2.5"), Decimal("4")], "b": ["u", "v", "u"]})
    plain = pd.DataFrame({"a": [1.5, 2.5, 4.0], "b": ["u", "v", "u"]})
    for dtype in ("object", "string", "category"):
        assert_agree(summarize(frame.astype({"b": dtype})), summarize(plain), 1e-12)


# --- rows are dropped, memory is bounded -------------------------------------------------------------------------


def test_results_keep_no_row_and_cannot_be_written_to() -> None:
    for frame in (normal(), normal().assign(g=["u", "v"] * 100), pd.DataFrame({"a": ["u", "v"], "b": ["v", "u"]})):
        copy = frame.copy()
        alive = weakref.ref(copy)
        found = summarize(copy)
        del copy
        gc.collect()
        assert alive() is None
        arrays = [value for value in vars(found).values() if isinstance(value, np.ndarray)]
        assert arrays
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
        with pytest.raises(AttributeError):
            found.n = 5  # type: ignore[misc]
        assert pickle.loads(pickle.dumps(found)).names == found.names


def test_a_million_rows_are_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "big.csv"
    block = normal(10_000, 6).round(3).to_csv(index=False, header=False)
    with path.open("w") as stream:
        stream.write("a,b,c,d,e,f\n")
        for _ in range(100):
            stream.write(block)
    whole = 1_000_000 * 6 * 8
    summarize(normal(), chunk=50)  # imports are not the table's memory
    tracemalloc.start()
    found = summarize(path, chunk=20_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.n == 1_000_000
    assert peak < whole / 5
    assert_agree(
        Statistics(found.names, found.blocks, 10_000, found.mean, found.scale, found.correlation),
        summarize(normal(10_000, 6).round(3)),
    )


# --- values made by hand -----------------------------------------------------------------------------------------


def test_statistics_made_by_hand_are_checked() -> None:
    one = np.eye(2)
    assert Statistics(("a", "b"), ((0,), (1,)), 9, [0, 0], [1, 2], one).kinds == ("continuous", "continuous")
    for arguments, message in [
        ((("a", "b"), ((0,), (0,)), 9, [0, 0], [1, 2], one), "blocks must hold each of the columns 0 to 1 once"),
        ((("a",), ((0,), (1,)), 9, [0, 0], [1, 2], one), "1 names, 2 blocks and 1 kinds do not fit"),
        ((("a", "b"), ((0,), (1,)), 9, [0, 0], [1], one), r"2 means, scales of shape \(1,\) and correlations of"),
        ((("a", "b"), ((0,), (1,)), 9, [0, 0], [1, 0], one), "statistics must be finite, with n and scales above 0"),
        ((("a", "b"), ((0,), (1,)), 9, [0, 0], [1, 1], one * 2), "statistics must be finite, with n and scales above"),
        ((("a", "b"), ((0,), (1,)), 9, [0, np.nan], [1, 1], one), "statistics must be finite, with n and scales above"),
    ]:
        with pytest.raises(InputError, match=message):
            Statistics(*arguments)


def test_counts_made_by_hand_are_checked() -> None:
    levels = (("u", "v"), ("u", "v"))
    assert Counts(("a", "b"), levels, [[0, 1]], [3], 3).n == 3
    for arguments, message in [
        ((("a", "b"), levels, [[0, 2]], [3], 3), "codes must be positions among the levels, from 0 to the number"),
        ((("a", "b"), levels, [[0, 1]], [3], 4), "counts must be positive and add up to n = 4, not 3"),
        ((("a",), levels, [[0, 1]], [3], 3), "counts of 1 variables with 2 lists of levels do not fit codes of shape"),
    ]:
        with pytest.raises(InputError, match=message):
            Counts(*arguments)
