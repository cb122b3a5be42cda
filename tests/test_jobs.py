"""Sites in several processes or threads: the same result to the last bit, the same errors, and no process left over."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
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

import fedperi as fp
from fedperi.coordinator.coordinator import InProcess
from fedperi.methods import federate
from fedperi.privacy import release_table, save_release
from fedperi.protocol.messages import Families, Orientations, Settings
from fedperi.scores import _kernel as kernel
from fedperi.tables import in_threads
from fedperi.transports.pool import Pooled, Threaded

COLLIDER = np.array([[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]])


def assert_same(one: fp.Result, other: fp.Result) -> None:
    """All that a result holds, to the last bit, but for the option itself and what sites tell of their privacy."""
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
    """What sites tell of their privacy, but for the name of the release, which every drawing has anew."""
    return [{**site, "release": None} for site in (result.privacy or {}).values()]


def families(p: int = 3) -> Families:
    others = np.array([[j for j in range(p) if j != i] for i in range(p)])
    return Families(np.arange(p), np.zeros((p, 0), dtype=np.int64), others)


def orientations(p: int = 3) -> Orientations:
    return Orientations(np.zeros((p, p), dtype=bool), np.array([0]), np.zeros((1, p), dtype=np.int64))


def oracles(count: int = 3, kind: type[fp.OracleSite] = fp.OracleSite) -> list[fp.OracleSite]:
    return [kind(COLLIDER, n=1e10, names=["A", "B", "C"], name=f"h{k}") for k in range(count)]


# -- threads or processes ---------------------------------------------------------------------------------------------


def used(monkeypatch: pytest.MonkeyPatch, method: fp.IPERI, sites: Any) -> set[str]:
    """The kinds of transport that a run opens."""
    seen: set[str] = set()
    for kind in (InProcess, Threaded, Pooled):

        def telling(self: Any, settings: Settings, opened: Any = kind.open) -> Any:
            seen.add(type(self).__name__)
            return opened(self, settings)

        monkeypatch.setattr(kind, "open", telling)
    method.fit(sites)
    return seen


@pytest.mark.skipif(kernel.loops is None, reason="the loops were not compiled")
@pytest.mark.parametrize("options", [{}, {"data": "nonlinear"}])
def test_tables_are_worked_on_in_threads(monkeypatch, options):
    sim = fp.simulate(5, clients=3, samples=200, seed=1)
    assert used(monkeypatch, fp.IPERI(**options), sim.sites) == {"InProcess"}
    assert used(monkeypatch, fp.IPERI(jobs=2, **options), sim.sites) == {"Threaded"}
    assert used(monkeypatch, fp.IPERI(jobs=2, **options), [sim.sites[0], sim.sites[1].iloc[:, ::-1]]) == {"Threaded"}
    monkeypatch.setattr(kernel, "loops", None)  # what Python does is not done at the same time
    assert used(monkeypatch, fp.IPERI(jobs=2, **options), sim.sites) == {"Pooled"}


@pytest.mark.skipif(kernel.loops is None, reason="the loops were not compiled")
def test_as_many_as_there_are_cores_where_it_pays(monkeypatch, tmp_path):
    monkeypatch.setattr(federate, "cores", lambda: 3)
    small = fp.simulate(4, clients=2, samples=200, seed=1).sites
    wide = fp.simulate(100, clients=20, samples=250, seed=1).sites
    assert (pays(small), pays(wide), pays(wide[1:])) == (1, 3, 1)
    path = tmp_path / "long.csv"
    path.write_text("A,B\n" + "0.123456789,0.987654321\n" * 400_000)
    assert pays([small[0][["X0", "X1"]].set_axis(["A", "B"], axis=1), path]) == 3
    assert used(monkeypatch, fp.IPERI(), wide) == {"Threaded"}
    assert used(monkeypatch, fp.IPERI(jobs=1), wide) == {"InProcess"}
    monkeypatch.setattr(kernel, "loops", None)
    assert pays(wide) == 1


@pytest.mark.skipif(kernel.loops is None, reason="the loops were not compiled")
def test_processes_are_for_those_who_ask_for_them(monkeypatch):
    for limit in ("WIDE", "MUCH"):
        monkeypatch.setattr(federate, limit, 1)
    monkeypatch.setattr(federate, "cores", lambda: 2)
    sim = fp.simulate(3, clients=2, samples=200, seed=1)
    lock = threading.Lock()

    def mine(statistics: Any) -> fp.PDAG:
        with lock:
            return fp.PDAG(np.zeros((3, 3)), statistics.names)

    assert used(monkeypatch, fp.IPERI(), oracles()) == {"InProcess"}
    assert used(monkeypatch, fp.IPERI(masking="consensus"), sim.sites) == {"InProcess"}
    assert used(monkeypatch, fp.IPERI(local=mine), sim.sites) == {"Threaded"}  # which cannot be sent, and need not be


def pays(sites: Any) -> int:
    return federate.jobs_that_pay(federate.as_respondents(sites))


def test_what_takes_no_time_is_not_handed_to_threads(monkeypatch):
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


def test_other_work_is_done_in_processes(monkeypatch):
    sim = fp.simulate(4, clients=2, samples=200, seed=1)
    assert used(monkeypatch, fp.IPERI(jobs=2, masking="consensus"), sim.sites) == {"Pooled"}
    assert used(monkeypatch, fp.IPERI(jobs=2), oracles()) == {"Pooled"}


def test_threads_give_the_same_answers():
    with Threaded(oracles(5), 2) as transport:
        transport.open(Settings("adaptive"))
        answers = transport.ask([families(), orientations()])
        alone = InProcess(oracles(5))
        alone.open(Settings("adaptive"))
        for mine, theirs in zip(answers, alone.ask([families(), orientations()]), strict=True):
            assert [one.tobytes() for one in mine] == [other.tobytes() for other in theirs]
        assert transport.fingerprints() == alone.fingerprints()


def test_sites_that_have_run_can_be_sent_to_other_processes():
    for discretize in (None, 3):
        sim = fp.simulate(4, clients=2, samples=300, discretize=discretize, seed=1)
        sites = [fp.Site(table, name=f"h{k}") for k, table in enumerate(sim.sites)]
        for method in (fp.IPERI(), fp.IPERI(masking="consensus")):
            assert method.fit(sites).graph == replace(method, jobs=2).fit(sites).graph


# -- the same result --------------------------------------------------------------------------------------------------


def test_frames_and_more_processes_than_sites():
    sim = fp.simulate(14, clients=2, samples=500, seed=2)
    result = assert_jobs_change_nothing(fp.IPERI(), lambda: sim.sites, jobs=8)
    assert result.rounds > 2  # the search asked more than once


def test_files_read_where_they_are_worked_on(tmp_path):
    sim = fp.simulate(5, clients=3, samples=300, seed=1)
    paths = [tmp_path / "north.csv", tmp_path / "east.csv.gz", tmp_path / "south.parquet"]
    for table, path in zip(sim.sites, paths, strict=True):
        table.to_parquet(path) if path.suffix == ".parquet" else table.to_csv(path, index=False)
    result = assert_jobs_change_nothing(fp.PERI(), lambda: [str(path) for path in paths])
    assert result.sites == ("north", "east", "south")


def test_categories_missing_values_and_columns_in_another_order():
    rng = np.random.default_rng(5)

    def table(n: int, order: list[str]) -> pd.DataFrame:
        dose = rng.normal(size=n)
        ward = pd.Series(np.where(dose + rng.normal(size=n) > 0, "a", "b"), dtype=object)
        stay = dose + rng.normal(size=n)
        stay[::50] = np.nan
        return pd.DataFrame({"dose": dose, "ward": ward, "stay": stay})[order]

    tables = {"x": table(400, ["dose", "ward", "stay"]), "y": table(300, ["stay", "dose", "ward"])}
    assert_jobs_change_nothing(fp.IPERI(missing="drop"), lambda: tables)


def test_the_papers_variant_with_a_bootstrap_and_targets():
    sim = fp.simulate(5, clients=3, samples=400, seed=3)

    def sites() -> list[fp.Site]:
        return [fp.Site(t, name=f"h{k}", targets=[] if k == 1 else None) for k, t in enumerate(sim.sites)]

    method = fp.IPERI(masking="consensus", aggregate="worst", local="pc", bootstrap=2)
    assert assert_jobs_change_nothing(method, sites).replicates == 2


def test_oracles_and_a_local_method_that_exists_here_only():
    edges = [("A", "C"), ("B", "C")]
    graph = fp.PDAG.from_edges(edges)
    tables = [fp.simulate(graph, clients=1, samples=300, seed=seed).sites[0] for seed in (1, 2)]
    called: list[str] = []

    def sites() -> list[Any]:
        return [*oracles(2), *(fp.Site(table, name=f"t{k}") for k, table in enumerate(tables))]

    method = fp.IPERI(masking="consensus", local=lambda statistics: called.append("") or graph)
    result = assert_jobs_change_nothing(method, sites)
    assert result.graph == fp.PDAG.from_edges(edges)
    assert len(called) == 2  # by the run in one process: functions are sent with all that they use, not shared


def test_noise_on_every_answer():
    sim = fp.simulate(3, clients=2, samples=2000, seed=1)
    bounds = dict.fromkeys(sim.sites[0].columns, (-10, 10))
    privacy = fp.Privacy(50.0, bounds=bounds, mechanism="regret", test_seed=1)
    result = assert_jobs_change_nothing(fp.IPERI(privacy=privacy), lambda: sim.sites)
    assert all(site["answers_used"] > 0 for site in told(result))


def test_releases_from_files(tmp_path):
    sim = fp.simulate(3, clients=2, samples=2000, seed=1)
    privacy = fp.Privacy(5.0, bounds=dict.fromkeys(sim.sites[0].columns, (-10, 10)), store=tmp_path / "store")
    for k, table in enumerate(sim.sites):
        save_release(release_table(table, privacy, name=f"h{k}")[0], tmp_path / f"h{k}.json")
    result = assert_jobs_change_nothing(fp.IPERI(bootstrap=1), lambda: [tmp_path / "h0.json", tmp_path / "h1.json"])
    assert result.replicates == 1 and len(told(result)) == 2


def test_a_ledger_is_charged_once_and_by_the_site_itself(tmp_path):
    """Noise is drawn in the processes; a later run in one process finds it kept, and pays nothing more."""
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


def test_of_several_errors_the_first_sites_is_raised():
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


class Odd(Exception):
    """Cannot be made from its message."""

    def __init__(self, where: str, what: object) -> None:
        super().__init__(f"{what} at {where}")


class Raising(fp.OracleSite):
    """Fails in a way that is no bad input: in phase 1 with a common error, in phase 2 with one that cannot be sent."""

    def answer(self, question: Any) -> Any:
        if isinstance(question, Families):
            return {}["no such key"]
        raise Odd(self.name, threading.Lock())


@pytest.mark.parametrize("kind", [Pooled, Threaded])
def test_errors_come_in_the_order_of_the_sites_not_of_time(kind):
    with kind(oracles(2, Late), 2) as transport, pytest.raises(fp.InputError, match=r"^h0 fails$"):
        transport.open(Settings("adaptive"))


def test_defects_stay_what_they_are_and_say_where_they_are_from():
    with Pooled(oracles(2, Raising), 2) as transport:
        transport.open(Settings("adaptive"))
        with pytest.raises(KeyError, match="no such key") as caught:
            transport.ask([families()])
        assert 'return {}["no such key"]' in caught.value.__notes__[0]
        with pytest.raises(RuntimeError, match=r"Odd: .*lock.* at h0"):
            transport.ask([orientations()])


def killer(statistics: Any) -> fp.PDAG:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_a_process_that_dies_at_work_ends_the_run():
    sim = fp.simulate(3, clients=3, samples=100, seed=1)
    with pytest.raises(fp.InputError, match=r"worked for site 'site 1' has ended \(signal 9: .*memory.*jobs=1"):
        fp.IPERI(masking="consensus", local=killer, jobs=2).fit(sim.sites)


class Sleeping(fp.OracleSite):
    """Takes a minute for phase 2."""

    def answer(self, question: Any) -> Any:
        if isinstance(question, Orientations):
            time.sleep(60)
        return super().answer(question)


def test_processes_that_are_killed_from_outside():
    with Pooled(oracles(3), 2) as transport:
        transport.open(Settings("adaptive"))
        first = transport.ask([families()])
        os.kill(transport.pids[1], signal.SIGKILL)
        with pytest.raises(fp.InputError, match=r"worked for site 'h1' has ended \(signal 9"):
            transport.ask([families()])
    assert [len(answers) for answers in first] == [1, 1, 1]
    with pytest.raises(fp.InputError, match="have ended"):
        transport.ask([families()])

    begin = time.monotonic()
    with Pooled(oracles(2, Sleeping), 2) as transport:
        transport.open(Settings("adaptive"))
        threading.Timer(0.3, os.kill, (transport.pids[0], signal.SIGKILL)).start()
        with pytest.raises(fp.InputError, match="worked for site 'h0' has ended"):
            transport.ask([orientations()])
    assert time.monotonic() - begin < 30  # the other one is not waited for


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True, "2"])
def test_jobs_is_a_whole_number(jobs):
    with pytest.raises(fp.InputError, match="jobs must be a whole number, 1 or more"):
        fp.IPERI(jobs=jobs)


def test_connected_sites_work_where_they_are():
    for transport in (InProcess(oracles()), fp.Replay(fp.IPERI().fit(oracles()).transcript.to_json())):
        with pytest.raises(fp.InputError, match=r"jobs=2 is for tables .* connected already"):
            fp.IPERI(jobs=2).fit(transport)


def test_what_cannot_be_sent_is_refused_before_anything_is_drawn(tmp_path):
    sim = fp.simulate(3, clients=2, samples=100, seed=1)
    lock = threading.Lock()

    def mine(statistics: Any) -> fp.PDAG:
        with lock:
            return fp.PDAG(np.zeros((3, 3)), statistics.names)

    privacy = fp.Privacy(20.0, bounds=dict.fromkeys(sim.sites[0].columns, (-10, 10)), store=tmp_path)
    with pytest.raises(fp.InputError, match=r"local=mine cannot be sent to another process \(.*lock.*\): use jobs=1"):
        fp.IPERI(masking="consensus", local=mine, privacy=privacy, jobs=2).fit(sim.sites)
    assert list(tmp_path.iterdir()) == []
    sites = oracles(2)
    sites[1].lock = lock
    with pytest.raises(fp.InputError, match="site 'h1' cannot be sent to another process"):
        fp.IPERI(jobs=2).fit(sites)


class Unbuildable(fp.OracleSite):
    """Can be packed, and not unpacked."""

    def __reduce__(self) -> Any:
        return int, ("no number",)


def test_what_cannot_be_rebuilt_is_refused():
    with pytest.raises(ValueError):
        pickle.loads(pickle.dumps(oracles(1, Unbuildable)[0]))
    with pytest.raises(fp.InputError, match="site 'h0' cannot be sent to another process"):
        fp.IPERI(jobs=2).fit(oracles(2, Unbuildable))


# -- scripts ----------------------------------------------------------------------------------------------------------

SCRIPT = """
import fedperi as fp

print("a part of the script that must run once")
edges = [("A", "C"), ("B", "C")]

def mine(statistics):
    print("at work")
    return fp.PDAG.from_edges(edges)

tables = fp.simulate(fp.PDAG.from_edges(edges), clients=2, samples=2000, weights=(0.5, 1.0), seed=1).sites
print(fp.IPERI(masking="consensus", local=mine, jobs=2).fit(tables).graph)
"""


@pytest.mark.parametrize("how", ["file", "standard input"])
def test_a_script_needs_no_guard(tmp_path, how):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "numpy.py").write_text("raise SystemExit('a file of this folder is no module of ours')")
    done = subprocess.run(
        [sys.executable, "-P", "script.py" if how == "file" else "-"],
        input=SCRIPT if how == "standard input" else None,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == [
        "a part of the script that must run once",
        "PDAG('A -> C, B -> C', names=['A', 'C', 'B'])",
    ]
    assert done.stderr.split() == ["at", "work", "at", "work"] or done.stderr == "at workat work\n\n"  # two at once
    assert done.returncode == 0


TELLING = """
import signal, sys, time
import fedperi as fp

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs tests in the background ignores it
from fedperi.federation import Orientations, Pooled

opened = Pooled.open

def telling(self, settings):
    print(*self.pids, flush=True)
    return opened(self, settings)

Pooled.open = telling

class Sleeping(fp.Site):
    def answer(self, question):
        if isinstance(question, Orientations):
            sys.stderr.write("asleep\\n")  # in one piece: two processes write here
            time.sleep(60)
        return super().answer(question)

truth = fp.PDAG.from_edges([("A", "B"), ("A", "C"), ("B", "C")])
tables = fp.simulate(truth, clients=2, samples=5000, weights=(0.5, 1.0), seed=1).sites
sites = [Sleeping(table, name=f"h{k}") for k, table in enumerate(tables)]
result = fp.IPERI(jobs=2).fit(sites)
print(result.complete, len(result.graph), result.rounds, all(site["sha256"] for site in result.manifest["sites"]))
"""


def asleep() -> tuple[subprocess.Popen[str], list[int]]:
    """Start a run in a session of its own, and wait until its sites are at work for phase 2."""
    run = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(TELLING)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert run.stdout is not None and run.stderr is not None
    pids = [int(pid) for pid in run.stdout.readline().split()]
    assert len(pids) == 2
    assert [run.stderr.readline(), run.stderr.readline()] == ["asleep\n"] * 2
    return run, pids


def gone(pid: int) -> bool:
    """Whether a process has ended; nobody may have asked yet how (a zombie)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes by /proc")
def test_ctrl_c_keeps_what_phase_1_found():
    run, pids = asleep()
    begin = time.monotonic()
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does: the run and its processes
    out, errors = run.communicate(timeout=30)
    assert (out, errors, run.returncode) == ("False 3 1 True\n", "", 0)
    assert time.monotonic() - begin < 15
    assert all(map(gone, pids))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes by /proc")
def test_no_process_outlives_a_run_that_is_killed():
    run, pids = asleep()
    run.send_signal(signal.SIGTERM)  # Python has no handler for it: the run ends without a word
    run.communicate(timeout=30)
    end = time.monotonic() + 10
    while not all(map(gone, pids)) and time.monotonic() < end:
        time.sleep(0.1)
    assert all(map(gone, pids))
