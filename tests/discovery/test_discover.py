"""`pc` and `ges` on one table, the user's methods, causal-learn's methods, and a list of difficult tables."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.graphs import random_dag
from helpers.networks import ASIA, CANCER, dag, sample
from helpers.refusals import assert_refused, refusal

import fedperi as fp
from fedperi import ges, pc
from fedperi.discovery.adapters import CausalLearn, causallearn_ges, causallearn_pc
from fedperi.discovery.discover import local_graph
from fedperi.discovery.ges.ges import ges_fit
from fedperi.discovery.pc.independence import G2, ChiSquare, FisherZ
from fedperi.discovery.pc.pc import pc_fit
from fedperi.scores.discrete import DiscreteScore
from fedperi.scores.gaussian import GaussianScore
from fedperi.tables import Column, Counts, Schema, Statistics, check, summarize


def collider(n: int = 1000, seed: int = 0) -> pd.DataFrame:
    a, b, noise = np.random.default_rng(seed).normal(size=(3, n))
    return pd.DataFrame({"a": a, "b": b, "c": a + b + noise})


COLLIDER = fp.PDAG.from_edges([("a", "c"), ("b", "c")], names=["a", "b", "c"])


def normal(n: int, p: int, seed: int = 0) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, p)), columns=[f"x{i}" for i in range(p)])


# -- one table alone -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [pc, ges])
def test_all_sources_give_the_same_graph(method: Callable[..., fp.PDAG], tmp_path: Path) -> None:
    frame = collider()
    frame.to_csv(tmp_path / "north.csv", index=False)
    frame.to_parquet(tmp_path / "north.parquet")
    for source in (frame, tmp_path / "north.csv", str(tmp_path / "north.parquet"), summarize(frame)):
        assert method(source) == COLLIDER


def test_options_reach_the_search() -> None:
    frame = collider(200)
    summary, counts = summarize(frame), summarize(sample(ASIA, 500, np.random.default_rng(0)))
    assert isinstance(summary, Statistics)
    assert isinstance(counts, Counts)
    for options in ({}, {"alpha": 0.3}, {"max_depth": 0}):
        assert pc(frame, **options) == pc_fit(FisherZ(summary), **options).graph
    assert pc(counts) == pc(counts, test="g2") == pc_fit(G2(counts)).graph
    assert pc(counts, test="chi2") == pc_fit(ChiSquare(counts)).graph
    assert ges(frame, penalty=4) == ges_fit(GaussianScore.of(summary, 4)).graph
    assert ges(counts) == ges(counts, score="bdeu") == ges_fit(DiscreteScore(counts, "bdeu")).graph
    assert ges(counts, score="bic", penalty=0.5) == ges_fit(DiscreteScore(counts, "bic", penalty=0.5)).graph
    assert ges(frame, score="bic") == ges(frame)


def test_kinds_of_data() -> None:
    a, noise = np.random.default_rng(1).normal(size=(2, 2000))
    square = pd.DataFrame({"a": a, "b": a**2 + 0.5 * noise})
    for method in (pc, ges):
        assert len(method(square)) == 0
        assert len(method(square, data="nonlinear")) == 1
        assert len(method(sample(CANCER, 5000, np.random.default_rng(0)), data="mixed")) >= 2
        mixed = square.assign(g=np.where(a > 0, "high", "low"))
        assert ("a", "g") in method(mixed).skeleton.undirected


def test_a_schema_may_name_some_of_the_columns() -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"k": rng.integers(0, 4, 300), "g": rng.choice(["u", "v"], 300)})
    with pytest.raises(fp.InputError, match=r"^site 'table': test='fisherz' needs numbers, and all columns are categ"):
        pc(frame, test="fisherz")
    declared = Schema((Column("k", "continuous"),))
    assert pc(frame, test="fisherz", schema=declared).names == ("k", "g")
    with pytest.raises(fp.InputError, match="column 'z': named in the schema but in no table"):
        ges(frame, schema=Schema((Column("z", "continuous"),)))


def test_missing_rows_may_be_dropped() -> None:
    frame = collider()
    frame.loc[:99, "a"] = np.nan
    for method in (pc, ges):
        with pytest.raises(fp.InputError, match=r"column 'a': 10.0 % of the values are missing \(100 of 1000\)"):
            method(frame)
        assert method(frame, missing="drop") == method(frame.dropna())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda t: pc(t, test="chi2"),
            "site 'table', columns 'a', 'b', 'c': test='chi2' needs categories, and these are continuous; "
            "use test='fisherz', or declare categories in a schema",
        ),
        (
            lambda t: pc(t.assign(b="u").assign(c="w").assign(b=np.where(t["a"] > 0, "u", "v"))[["a", "b"]], test="g2"),
            "site 'table', column 'a': test='g2' needs categories, and this is continuous; "
            "use test='fisherz', or declare categories in a schema",
        ),
        (
            lambda t: ges(t, score="bdeu"),
            "site 'table', columns 'a', 'b', 'c': score='bdeu' needs categories, and these are continuous; "
            "use score='bic', or declare categories in a schema",
        ),
        (
            lambda t: ges(t > 0, score="bdeu", data="mixed"),
            "site 'table': score='bdeu' needs counts; use data='discrete', or score='bic'",
        ),
        (
            lambda t: pc(t > 0, test="fisherz"),
            "site 'table': test='fisherz' needs numbers, and all columns are categories; use test='g2', "
            "or data='mixed' to take them as indicators",
        ),
        (
            lambda t: ges(t > 0, penalty=2),
            "penalty=2 multiplies BIC's price, and BDeu has none; use score='bic'",
        ),
        (
            lambda t: pc(summarize(t), data="linear", missing="drop"),
            "site 'table': the rows are already summarised, so 'data', 'missing' can change nothing; "
            "give the table, or leave the option out",
        ),
        (lambda t: pc(t, test="z"), "test must be 'auto', 'fisherz', 'g2' or 'chi2', not 'z'"),
        (lambda t: ges(t, score="aic"), "score must be one of 'auto', 'bic', 'bdeu'; not 'aic'"),
        (lambda t: pc(t, alpha=2), "alpha must lie between 0 and 1, both excluded, not 2; 0.01 is usual"),
        (lambda t: ges(t, penalty=np.inf), "penalty must be a finite number of 0 or more, not inf; 1 is usual"),
        (lambda t: ges(t, penalty="1"), "penalty must be a finite number of 0 or more, not '1'; 1 is usual"),
        (lambda t: ges(t, data="tabular"), "data must be one of auto, linear, nonlinear, discrete, mixed; not "),
        (lambda t: pc(t, missing="skip"), "missing must be one of error, drop; not 'skip'"),
        (
            lambda t: pc(t.to_numpy()[:, 0]),
            "a table must be a pandas DataFrame or the path of a CSV or Parquet file, not ",
        ),
    ],
)
def test_options_that_do_not_fit(call: Callable[[pd.DataFrame], fp.PDAG], message: str) -> None:
    with pytest.raises(fp.InputError) as error:
        call(collider(100))
    assert str(error.value).startswith(message)


# -- methods of the user's -------------------------------------------------------------------------------------------


def test_local_graph_runs_ours_and_theirs() -> None:
    frame = collider()
    statistics = summarize(frame, name="north")
    assert local_graph("pc", statistics, alpha=0.2) == pc(frame, alpha=0.2)
    assert local_graph("ges", statistics, penalty=3) == ges(frame, penalty=3)
    assert local_graph("ges", summarize(frame > 0), penalty=3) == ges(frame > 0)  # BDeu has no penalty
    seen = []

    def mine(given: Statistics) -> fp.PDAG:
        seen.append(given)
        return fp.PDAG.from_edges([("c", "a")], names=["c", "b", "a"])

    found = local_graph(mine, statistics)
    assert seen == [statistics]
    assert (found.names, found.directed) == (("a", "b", "c"), {("c", "a")})  # type: ignore[comparison-overlap]


def test_a_callable_may_ask_for_the_rows(tmp_path: Path) -> None:
    frame = collider()[["c", "b", "a"]]
    frame.loc[3, "a"] = np.nan
    frame.to_csv(tmp_path / "north.csv", index=False)
    statistics = summarize(frame, Schema(tuple(Column(n, "continuous") for n in "abc")), missing="drop", name="north")
    seen = []

    class Mine:
        wants_table = True

        def __call__(self, table: pd.DataFrame) -> fp.PDAG:
            seen.append(table)
            return COLLIDER

    for source in (frame, tmp_path / "north.csv"):
        assert local_graph(Mine(), statistics, source) == COLLIDER
        assert list(seen[-1].columns) == ["a", "b", "c"]
        np.testing.assert_allclose(seen[-1], frame.dropna()[["a", "b", "c"]])
    message = (
        "site 'north': local method 'Mine' needs the rows, and only their statistics are kept; use 'pc' or 'ges' here"
    )
    with pytest.raises(fp.InputError, match=f"^{message}$"):
        local_graph(Mine(), statistics)
    with pytest.raises(fp.InputError, match=r"^site 'north': the table has no column 'c'; give the one summarised$"):
        local_graph(Mine(), statistics, frame[["a", "b"]])


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (np.zeros((3, 3)), "local method 'mine' returned ndarray; it must return a fedperi.PDAG"),
        (
            fp.PDAG.from_edges([("a", "c")], names=["a", "c", "d"]),
            "local method 'mine' returned a graph without 'b' and with 'd' that the table has not; "
            "its variables must be the table's columns",
        ),
        (
            fp.PDAG.from_edges([("a", "b")]),
            "local method 'mine' returned a graph without 'c'; its variables must be the table's columns",
        ),
        (
            fp.PDAG.from_edges([("a", "b")], [("b", "c"), ("a", "c")]).renamed({}),
            None,
        ),
    ],
)
def test_what_a_callable_returns_is_checked(returned: object, message: str | None) -> None:
    def mine(statistics: object) -> object:
        return returned

    statistics = summarize(collider(50), name="north")
    if message is None:
        assert local_graph(mine, statistics) == returned
        return
    assert_refused(lambda: local_graph(mine, statistics), f"site 'north': {message}")


def test_a_graph_without_an_extension_or_with_a_cycle_is_refused() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 4)), columns=list("abcd"))
    statistics = summarize(frame, name="north")

    def square(_: object) -> fp.PDAG:
        return fp.PDAG.from_edges(undirected=[("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])

    def cyclic(_: object) -> fp.PDAG:
        return fp.PDAG.from_edges([("a", "b"), ("b", "c"), ("c", "a")], names=list("abcd"))

    with pytest.raises(
        fp.InputError,
        match=r"^site 'north': local method 'square': the graph has no consistent extension: .*; it must return a CPD",
    ):
        local_graph(square, statistics)
    with pytest.raises(fp.InputError, match=r"^site 'north': local method 'cyclic': the directed edges form a cycle: "):
        local_graph(cyclic, statistics)
    with pytest.raises(
        fp.InputError, match=r"^a local method is 'pc', 'ges' or a callable that returns a PDAG, not 'fc"
    ):
        local_graph("fci", statistics)


# -- causal-learn ----------------------------------------------------------------------------------------------------


def test_adapters_agree_with_ours() -> None:
    rng = np.random.default_rng(3)
    for seed in range(5):
        truth = random_dag(rng, 5, 3)
        weights = truth.adjacency * rng.uniform(0.5, 1, (5, 5))
        values = rng.normal(size=(5000, 5)) @ np.linalg.inv(np.eye(5) - weights)
        frame = pd.DataFrame(values, columns=truth.names)
        assert causallearn_pc(alpha=0.001)(frame) == pc(frame, alpha=0.001), seed
        assert causallearn_ges()(frame) == ges(frame), seed
    table = sample(ASIA, 3000, rng)
    assert causallearn_pc()(table).skeleton == pc(table).skeleton
    assert causallearn_pc(indep_test="chisq")(table).skeleton == pc(table, test="chi2").skeleton
    assert fp.skeleton_f1(causallearn_ges()(table), dag(ASIA)) > 0.7


def test_adapters_are_local_methods(tmp_path: Path) -> None:
    frame = collider()
    statistics = summarize(frame, name="north")
    for adapter in (causallearn_pc(alpha=0.001), causallearn_ges()):
        assert local_graph(adapter, statistics, frame) == COLLIDER
        assert pickle.loads(pickle.dumps(adapter)) == adapter
    with pytest.raises(fp.InputError, match=r"^site 'north': local method 'causallearn_pc' needs the rows, and only "):
        local_graph(causallearn_pc(), statistics)


def test_codes_keep_their_values_and_words_are_refused_where_they_would_be_numbers() -> None:
    rng = np.random.default_rng(4)
    a = rng.choice([0, 1, 5], 2000)
    frame = pd.DataFrame({"a": a, "b": a + rng.normal(size=2000), "t": rng.random(2000) < 0.5})
    found = causallearn_pc()(frame)
    assert found.skeleton == fp.PDAG.from_edges(undirected=[("a", "b")], names=["a", "b", "t"])
    words = frame.assign(g=rng.choice(["u", "v", "w"], 2000))
    with pytest.raises(
        fp.InputError,
        match=r"^column 'g': causal-learn with indep_test='fisherz' would take the categories as numbers; use 'pc'",
    ):
        causallearn_pc()(words)


def test_what_causal_learn_cannot_do_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = collider(100)
    with pytest.raises(fp.InputError, match=r"^site 'table', column 'a': all values are the same \(1\)"):
        causallearn_pc()(frame.assign(a=1.0))
    with pytest.raises(fp.InputError, match=r"^causal-learn failed with .*: "):
        causallearn_ges(score_func="nonsense")(frame)
    with pytest.raises(fp.InputError, match=r"^causal-learn failed with ValueError: "):
        causallearn_pc()(frame.assign(d=frame["a"] * 2))
    monkeypatch.setitem(sys.modules, "causallearn.search.ConstraintBased.PC", None)
    monkeypatch.setitem(sys.modules, "causallearn.search.ScoreBased.GES", None)
    for adapter in (causallearn_pc(), causallearn_ges()):
        with pytest.raises(fp.InputError, match=r"^causal-learn is not installed; pip install causal-learn, or use"):
            adapter(frame)


def test_a_graph_of_causal_learn_that_is_no_pdag_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Found:
        def __init__(self, graph: list[list[int]]) -> None:
            self.graph = np.array(graph)
            self.G = self

        def get_nodes(self) -> list[object]:
            return []

    statistics = summarize(collider(50), name="north")
    marks = {
        "bidirected": ([[0, 1, 0], [1, 0, 0], [0, 0, 0]], "the edge between a and b is bidirected"),
        "cyclic": ([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], "the directed edges form a cycle: "),
    }
    for graph, message in marks.values():
        monkeypatch.setattr(
            "fedperi.discovery.adapters._load", lambda method, graph=graph: lambda *_, **__: Found(graph)
        )
        with pytest.raises(
            fp.InputError, match=f"^site 'north': local method 'causallearn_pc': causal-learn: {message}"
        ):
            local_graph(causallearn_pc(), statistics, collider(50))
    assert isinstance(causallearn_pc(), CausalLearn)


# -- the awkward tables: each through check, pc and ges --------------------------------------------------------------


def assert_refused_everywhere(source: object, message: str) -> None:
    """Check finds the error, and both searches raise it."""
    report = check([source])  # type: ignore[list-item]
    errors = [str(finding) for finding in report.findings if finding.level == "error"]
    assert not report.ok
    assert any(message in error for error in errors), errors
    for method in (pc, ges):
        assert message in refusal(lambda method=method: method(source))  # type: ignore[misc]


def assert_accepted(source: object) -> tuple[fp.PDAG, fp.PDAG]:
    report = check([source])  # type: ignore[list-item]
    assert report.ok, report.findings
    found = pc(source), ges(source)
    assert all(fp.is_cpdag(graph) for graph in found)
    return found


@pytest.mark.parametrize(("n", "p"), [(4, 9), (8, 20), (12, 12), (30, 30)])
def test_fewer_rows_than_columns(n: int, p: int) -> None:
    frame = normal(n, p)
    # One table alone can be searched; BIC is too cheap for so few rows, and finds many edges in noise; tests do not.
    assert len(pc(frame)) <= 4
    assert fp.is_cpdag(ges(frame))
    assert check([frame]).ok == (n >= p)
    assert (
        f"site 'site 1': {n} rows are not more than the {p} variables: most edges would be found by chance; "
        "drop variables, or collect more rows"
    ) in map(str, check([frame]).findings)


def test_many_more_columns_than_rows() -> None:
    assert fp.is_cpdag(pc(normal(30, 60)))
    assert fp.is_cpdag(ges(normal(30, 60)))


def test_two_and_three_rows() -> None:
    for n in (2, 3):
        frame = normal(n, 4)
        assert not check([frame]).ok
        assert fp.is_cpdag(ges(frame))
        with pytest.raises(
            fp.InputError, match=f"^site 'table': {n} rows are too few to test independence; at least 4 are needed$"
        ):
            pc(frame)


@pytest.mark.parametrize("value", [1.5, 7, "u", True])
def test_constant_columns_and_a_single_category(value: object) -> None:
    shown = repr(str(value)) if not isinstance(value, float) else f"{value}"
    assert_refused_everywhere(
        collider(100).assign(k=value), f"column 'k': all values are the same ({shown}); leave the column"
    )
    assert_refused_everywhere(
        pd.DataFrame({"k": [value] * 50, "g": ["u", "v"] * 25}), "column 'k': all values are the same ("
    )


def test_exact_collinearity() -> None:
    frame = collider(300)
    report = check([frame.assign(twice=2 * frame["a"] + 1)])
    assert [(f.level, f.columns) for f in report.findings] == [("error", ("a", "twice"))]
    for method in (pc, ges):
        with pytest.raises(fp.InputError, match=r"twice.* a|a, .*twice|twice, a"):
            method(frame.assign(twice=2 * frame["a"] + 1))
        with pytest.raises(fp.InputError, match=r"collinear|linear function"):
            method(frame.assign(total=frame["a"] + frame["b"]))
    report = check([frame.assign(total=frame["a"] + frame["b"])])
    assert [(f.level, f.columns) for f in report.findings] == [("error", ("a", "b", "total"))]
    # A category that another determines: refused beside numbers, fine among categories alone.
    g = np.where(frame["a"] > 1, "high", np.where(frame["a"] > 0, "middle", "low"))
    levels = pd.DataFrame({"g": g, "h": np.where(g == "low", "no", "yes"), "t": np.where(frame["b"] > 0, "u", "v")})
    assert_accepted(levels)
    assert not check([levels.assign(b=frame["b"])]).ok
    for method in (pc, ges):
        with pytest.raises(fp.InputError, match=r"collinear|linear function"):
            method(levels.assign(b=frame["b"]))


def test_one_row() -> None:
    assert_refused_everywhere(normal(1, 3), "only 1 row; a site needs at least 2")


def test_no_rows() -> None:
    assert_refused_everywhere(normal(0, 3), "the DataFrame has no rows; a site needs at least 2")


def test_all_values_missing() -> None:
    assert_refused_everywhere(collider(100).assign(b=np.nan), "column 'b': all values are missing; drop the column")
    assert_refused_everywhere(collider(100) * np.nan, "column 'a': all values are missing; drop the column")
    frame = collider(100).assign(b=np.nan)
    assert "no row is complete, and in this column 100 % of the values are missing" in str(
        check([frame], missing="drop").findings[0]
    )
    for method in (pc, ges):
        with pytest.raises(fp.InputError, match="column 'b': no row is complete"):
            method(frame, missing="drop")


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values(value: float, tmp_path: Path) -> None:
    frame = collider(100)
    frame.loc[5, "b"] = value
    assert_refused_everywhere(frame, "column 'b': 1 infinite value; correct them, or mark them as missing")
    frame.to_csv(tmp_path / "north.csv", index=False)
    assert_refused_everywhere(
        tmp_path / "north.csv", "column 'b': 1 infinite value; correct them, or mark them as missing"
    )


def test_three_columns_with_the_same_name(tmp_path: Path) -> None:
    frame = collider(100).set_axis(["x"] * 3, axis=1)
    assert_refused_everywhere(frame, "3 columns are named 'x'; rename them so that every name is unique")
    frame.to_csv(tmp_path / "north.csv", index=False)
    assert_refused_everywhere(
        tmp_path / "north.csv", "3 columns are named 'x'; rename them so that every name is unique"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; a table needs a header and at least 2 rows"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "is a binary file, not a table; give a CSV or Parquet file"),
        (b"PK\x03\x04", "is an Excel or zip file, not a table; export it as CSV or Parquet"),
        (b"PAR1 but no more", "is not a complete Parquet file"),
        (b"Dear all,\nplease find\n", "column 2 has no name; name it, or drop it"),
        (b"<html>\n<p>404</p>\n</html>\n", "has a single column"),
        (b'{"a": [1, 2]}', "has a header but no rows; a site needs at least 2"),
    ],
)
def test_a_file_that_is_not_a_table(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "north.csv").write_bytes(content)
    assert_refused_everywhere(tmp_path / "north.csv", message)


def test_a_million_rows(tmp_path: Path) -> None:
    frame = collider(10**6)
    assert assert_accepted(frame) == (COLLIDER, COLLIDER)
    levels = pd.DataFrame(np.where(frame > 0, "u", "v"), columns=frame.columns)
    assert assert_accepted(levels) == (COLLIDER, COLLIDER)


# -- check and the searches agree ------------------------------------------------------------------------------------


def test_property_what_passes_check_runs_and_what_does_not_is_refused() -> None:
    """Random tables with random mistakes: check says ok if and only if GES, the default of a run, works.

    With fewer rows than four a score looks at no set at all, so it cannot meet a collinear one; check still names it.
    And a run refuses a site with fewer rows than variables, which a search of one table does not.
    """
    rng = np.random.default_rng(5)
    verdicts = []
    for _ in range(300):
        n, p = int(rng.choice([2, 3, 5, 8, 20, 60])), int(rng.integers(1, 6))
        frame = normal(n, p, int(rng.integers(1 << 30)))
        for name in frame.columns[1:]:
            kind = rng.integers(0, 14)
            other = frame[rng.choice(frame.columns[: frame.columns.get_loc(name)])]
            if kind == 0:
                frame[name] = 3.0
            elif kind == 1 and other.dtype == float:
                frame[name] = 2 * other - 1
            elif kind == 2:
                frame.loc[rng.integers(n), name] = rng.choice([np.nan, np.inf])
            elif kind in (3, 4):
                frame[name] = rng.choice(["u", "v", "w"], n)
            elif kind == 5:
                frame[name] = rng.integers(0, 3, n)
            elif kind == 6:
                frame[name] = np.round(frame[name])
        report = check([frame])
        try:
            assert fp.is_cpdag(ges(frame))
            works = True
        except fp.InputError:
            works = False
        too_few = n < p or (n < 4 and "exactly" in str(report.findings))
        assert report.ok == works or (works and too_few), (frame, report.findings)
        if report.ok:
            try:
                assert fp.is_cpdag(pc(frame))
            except fp.InputError as error:
                assert "too few to test independence" in str(error)
        verdicts.append(works)
    assert 60 < sum(verdicts) < 240
