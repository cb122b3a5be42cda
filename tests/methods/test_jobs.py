"""Sites in several threads: the same result to the last bit, and the same errors."""

import pickle
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.questions import all_families, open_orientations

import fedperi as fp
from fedperi.methods import federate
from fedperi.privacy import release_table, save_release
from fedperi.protocol.messages import Settings
from fedperi.scores import _kernel as kernel
from fedperi.tables import in_threads
from fedperi.transports.in_process import InProcess, Threaded

COLLIDER = np.array([[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]])


def assert_same(one: fp.Result, other: fp.Result) -> None:
    """Everything in a result is equal to the last bit, except the option itself and the sites' privacy reports."""
    for field in fields(fp.Result):
        if field.name not in ("method", "manifest", "transcript", "privacy"):
            assert getattr(one, field.name) == getattr(other, field.name), field.name
    assert {**one.method, "jobs": 0} == {**other.method, "jobs": 0}
    assert {**one.manifest, "method": 0} == {**other.manifest, "method": 0}
    assert all(site["sha256"] for site in other.manifest["sites"])
    assert one.transcript is not None and other.transcript is not None
    for before, after in zip(one.transcript.sites, other.transcript.sites, strict=True):
        assert replace(before, privacy=None) == replace(after, privacy=None)
    for (asked, told), (asked_too, told_too) in zip(one.transcript.rounds, other.transcript.rounds, strict=True):
        assert pickle.dumps(asked) == pickle.dumps(asked_too)
        assert [answer.tobytes() for answer in told] == [answer.tobytes() for answer in told_too]


def assert_jobs_change_nothing(method: fp.IPERI, sites: Callable[[], Any], jobs: int = 2) -> fp.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # seeded noise is not private, and says so
        alone = method.fit(sites())
        shared = replace(method, jobs=jobs).fit(sites())
    assert shared.method["jobs"] == shared.manifest["method"]["jobs"] == jobs
    assert_same(alone, shared)
    assert told(alone) == told(shared)
    return shared


def told(result: fp.Result) -> list[dict[str, Any]]:
    """The sites' privacy reports, without the identifier of the release, which is new for every draw."""
    return [{**site, "release": None} for site in (result.privacy or {}).values()]


def oracles(count: int = 3, kind: type[fp.OracleSite] = fp.OracleSite) -> list[fp.OracleSite]:
    return [kind(COLLIDER, n=1e10, names=["A", "B", "C"], name=f"h{k}") for k in range(count)]


# -- when threads are used ---------------------------------------------------------------------------------------------


def used(monkeypatch: pytest.MonkeyPatch, method: fp.IPERI, sites: Any) -> set[str]:
    """The kinds of transport that a run opens."""
    seen: set[str] = set()
    for kind in (InProcess, Threaded):

        def telling(self: Any, settings: Settings, opened: Any = kind.open) -> Any:
            seen.add(type(self).__name__)
            return opened(self, settings)

        monkeypatch.setattr(kind, "open", telling)
    method.fit(sites)
    return seen


@pytest.mark.skipif(kernel.kind() == "numpy", reason="the loops were not compiled")
@pytest.mark.parametrize("options", [{}, {"data": "nonlinear"}])
def test_tables_are_worked_on_in_threads(monkeypatch: pytest.MonkeyPatch, options: Any) -> None:
    sim = fp.simulate(5, clients=3, samples=200, seed=1)
    assert used(monkeypatch, fp.IPERI(**options), sim.sites) == {"InProcess"}
    assert used(monkeypatch, fp.IPERI(jobs=2, **options), sim.sites) == {"Threaded"}
    assert used(monkeypatch, fp.IPERI(jobs=2, **options), [sim.sites[0], sim.sites[1].iloc[:, ::-1]]) == {"Threaded"}
    monkeypatch.setattr(kernel, "loops", kernel.NoLoops())  # what Python does is not done at the same time
    assert used(monkeypatch, fp.IPERI(jobs=2, **options), sim.sites) == {"Threaded"}


@pytest.mark.skipif(kernel.kind() == "numpy", reason="the loops were not compiled")
def test_as_many_as_there_are_cores_where_it_pays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(federate, "cores", lambda: 3)
    small = fp.simulate(4, clients=2, samples=200, seed=1).sites
    wide = fp.simulate(100, clients=20, samples=250, seed=1).sites
    assert (pays(small), pays(wide), pays(wide[1:])) == (1, 3, 1)
    path = tmp_path / "long.csv"
    path.write_text("A,B\n" + "0.123456789,0.987654321\n" * 400_000)
    assert pays([small[0][["X0", "X1"]].set_axis(["A", "B"], axis=1), path]) == 3
    assert used(monkeypatch, fp.IPERI(), wide) == {"Threaded"}
    assert used(monkeypatch, fp.IPERI(jobs=1), wide) == {"InProcess"}
    monkeypatch.setattr(kernel, "loops", kernel.NoLoops())
    assert pays(wide) == 1


def pays(sites: Any) -> int:
    return federate.jobs_that_pay(federate.as_respondents(sites))


def test_what_takes_no_time_is_not_handed_to_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def where(item: int) -> tuple[int, str]:
        return item, threading.current_thread().name

    mine = threading.current_thread().name
    with ThreadPoolExecutor(2, "hand") as threads:
        for limit, handed in ((1e9, 2), (0.0, 6)):  # all is quick; nothing is
            monkeypatch.setattr(in_threads, "QUICK", limit)
            found = list(in_threads.spread(threads, 2, where, range(6)))
            assert [item for item, _ in found] == list(range(6))
            assert [name != mine for _, name in found] == [item < handed for item in range(6)]
        assert list(in_threads.spread(None, 2, where, [7])) == [(7, mine)]
        assert list(in_threads.spread(threads, 1, where, [7, 8])) == [(7, mine), (8, mine)]


def test_threads_give_the_same_answers() -> None:
    with Threaded(oracles(5), 2) as transport:
        transport.open(Settings("adaptive"))
        answers = transport.ask([all_families(), open_orientations()])
        alone = InProcess(oracles(5))
        alone.open(Settings("adaptive"))
        for mine, theirs in zip(answers, alone.ask([all_families(), open_orientations()]), strict=True):
            assert [one.tobytes() for one in mine] == [other.tobytes() for other in theirs]
        assert transport.fingerprints() == alone.fingerprints()


# -- the same result --------------------------------------------------------------------------------------------------


def test_frames_and_more_threads_than_sites() -> None:
    sim = fp.simulate(14, clients=2, samples=500, seed=2)
    result = assert_jobs_change_nothing(fp.IPERI(), lambda: sim.sites, jobs=8)
    assert result.rounds > 2  # the search asked more than once


def test_files_read_where_they_are_worked_on(tmp_path: Path) -> None:
    sim = fp.simulate(5, clients=3, samples=300, seed=1)
    paths = [tmp_path / "north.csv", tmp_path / "east.csv.gz", tmp_path / "south.parquet"]
    for table, path in zip(sim.sites, paths, strict=True):
        table.to_parquet(path) if path.suffix == ".parquet" else table.to_csv(path, index=False)
    result = assert_jobs_change_nothing(fp.PERI(), lambda: [str(path) for path in paths])
    assert result.sites == ("north", "east", "south")


def test_categories_missing_values_and_columns_in_another_order() -> None:
    rng = np.random.default_rng(5)

    def table(n: int, order: list[str]) -> pd.DataFrame:
        dose = rng.normal(size=n)
        ward = pd.Series(np.where(dose + rng.normal(size=n) > 0, "a", "b"), dtype=object)
        stay = dose + rng.normal(size=n)
        stay[::50] = np.nan
        return pd.DataFrame({"dose": dose, "ward": ward, "stay": stay})[order]

    tables = {"x": table(400, ["dose", "ward", "stay"]), "y": table(300, ["stay", "dose", "ward"])}
    assert_jobs_change_nothing(fp.IPERI(missing="drop"), lambda: tables)


def test_the_papers_variant_with_a_bootstrap_and_targets() -> None:
    sim = fp.simulate(5, clients=3, samples=400, seed=3)

    def sites() -> list[fp.Site]:
        return [fp.Site(t, name=f"h{k}", targets=[] if k == 1 else None) for k, t in enumerate(sim.sites)]

    method = fp.IPERI(masking="consensus", aggregate="worst", local="pc", bootstrap=2)
    assert assert_jobs_change_nothing(method, sites).replicates == 2


def test_oracles_and_a_local_method_that_exists_here_only() -> None:
    edges = [("A", "C"), ("B", "C")]
    graph = fp.PDAG.from_edges(edges)
    tables = [fp.simulate(graph, clients=1, samples=300, seed=seed).sites[0] for seed in (1, 2)]
    called: list[str] = []

    def sites() -> list[Any]:
        return [*oracles(2), *(fp.Site(table, name=f"t{k}") for k, table in enumerate(tables))]

    method = fp.IPERI(masking="consensus", local=lambda statistics: called.append("") or graph)  # type: ignore[func-returns-value]
    result = assert_jobs_change_nothing(method, sites)
    assert result.graph == fp.PDAG.from_edges(edges)
    assert len(called) == 4  # once per table, in either run


def test_noise_on_every_answer() -> None:
    sim = fp.simulate(3, clients=2, samples=2000, seed=1)
    bounds = dict.fromkeys(sim.sites[0].columns, (-10, 10))
    privacy = fp.Privacy(50.0, bounds=bounds, mechanism="regret", test_seed=1)
    result = assert_jobs_change_nothing(fp.IPERI(privacy=privacy), lambda: sim.sites)
    assert all(site["answers_used"] > 0 for site in told(result))


def test_releases_from_files(tmp_path: Path) -> None:
    sim = fp.simulate(3, clients=2, samples=2000, seed=1)
    privacy = fp.Privacy(5.0, bounds=dict.fromkeys(sim.sites[0].columns, (-10, 10)), store=tmp_path / "store")
    for k, table in enumerate(sim.sites):
        save_release(release_table(table, privacy, name=f"h{k}")[0], tmp_path / f"h{k}.json")
    result = assert_jobs_change_nothing(fp.IPERI(bootstrap=1), lambda: [tmp_path / "h0.json", tmp_path / "h1.json"])
    assert result.replicates == 1 and len(told(result)) == 2


def test_a_ledger_is_charged_once_and_by_the_site_itself(tmp_path: Path) -> None:
    """Noise is drawn in the threads; a later run in one thread finds it kept, and pays nothing more."""
    sim = fp.simulate(3, clients=2, samples=1000, seed=1)
    bounds = dict.fromkeys(sim.sites[0].columns, (-10, 10))
    privacy = fp.Privacy(20.0, bounds=bounds, mechanism="regret", store=tmp_path, ceiling=25.0)
    shared = fp.IPERI(privacy=privacy, jobs=2).fit(sim.sites)
    kept = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file() and path.name != "lock"}
    alone = fp.IPERI(privacy=privacy).fit(sim.sites)
    assert_same(alone, shared)
    assert alone.privacy == shared.privacy  # as the run ended: with what its last answers cost
    assert all(0 < site["answers_used"] <= site["answers_planned"] for site in told(shared))
    assert all(site["private"] and 0 < site["ledger"]["spent"] <= 25 for site in told(shared))
    assert len(kept) >= 4 and {path: path.read_text() for path in kept} == kept


# -- errors -----------------------------------------------------------------------------------------------------------


def test_of_several_errors_the_first_sites_is_raised() -> None:
    sim = fp.simulate(6, clients=4, samples=300, seed=1)
    tables = [sim.sites[0], sim.sites[1], sim.sites[2][:5], sim.sites[3][:4]]
    with pytest.raises(fp.InputError) as alone:
        fp.IPERI().fit(tables)
    with pytest.raises(fp.InputError) as shared:
        fp.IPERI(jobs=2).fit(tables)
    assert str(shared.value) == str(alone.value)
    assert "site 'site 3' has 5 rows" in str(shared.value)


class Late(fp.OracleSite):
    """The first site fails after the second has failed."""

    def open(self, settings: Any, names: Any) -> Any:
        time.sleep(1.0 if self.name == "h0" else 0.0)
        raise fp.InputError(f"{self.name} fails")


def test_errors_come_in_the_order_of_the_sites_not_of_time() -> None:
    with Threaded(oracles(2, Late), 2) as transport, pytest.raises(fp.InputError, match=r"^h0 fails$"):
        transport.open(Settings("adaptive"))


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True, "2"])
def test_jobs_is_a_whole_number(jobs: Any) -> None:
    with pytest.raises(fp.InputError, match="jobs must be a whole number, 1 or more"):
        fp.IPERI(jobs=jobs)


def test_connected_sites_work_where_they_are() -> None:
    for transport in (InProcess(oracles()), fp.Replay(fp.IPERI().fit(oracles()).transcript.to_json())):
        with pytest.raises(fp.InputError, match=r"jobs=2 is for tables .* connected already"):
            fp.IPERI(jobs=2).fit(transport)
