"""The store and the ledger: no crash, edit or race makes a site forget what was spent."""

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from helpers.refusals import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

from fedperi.errors import InputError
from fedperi.privacy.accounting import Price, total
from fedperi.privacy.ledger import Ceiling, Ledger
from fedperi.privacy.store import Place, Store
from fedperi.privacy.zcdp import zcdp_epsilon, zcdp_rho

TABLE, OTHER = "ab" * 32, "cd" * 32
ONE = Price(1.0, 0.0, laplace=(1.0, 1))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Store(tmp_path / "store").place("h1", TABLE)


def opened(place: Place, **options: object) -> Ledger:
    return Ledger.open(place, site="h1", table=TABLE, **options)


def charged(place: Place, times: int = 3, **options: object) -> Ledger:
    ledger = opened(place, **options)
    for k in range(times):
        ledger = ledger.charge(ONE, f"answer {k}")
    return ledger


def file(place: Place, name: str = "ledger.jsonl") -> Path:
    return place.path / "ledger" / name


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a process of its own."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def raises_damaged(place: Place, why: str = "") -> None:
    for use in (lambda: opened(place), lambda: Ledger(place, "h1", TABLE, (("", Ceiling()),)).charge(ONE, "more")):
        with pytest.raises(InputError) as caught:
            use()
        assert str(caught.value).startswith(f"the ledger of site 'h1' in {str(place.path / 'ledger')!r} is damaged or")
        assert why in str(caught.value)


# -- the store ------------------------------------------------------------------------------------------------------


def test_a_place_for_each_table_without_a_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FEDPERI_STORE", str(tmp_path / "a"))
    assert Store().place("h1", TABLE).path == tmp_path / "a" / TABLE[:32]
    assert Store().place("h2", TABLE) == Store().place("h1", TABLE)
    monkeypatch.delenv("FEDPERI_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "b"))
    assert Store().root == tmp_path / "b" / "fedperi"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "c"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "c"))
    assert Store().root == tmp_path / "c" / ".local" / "share" / "fedperi"


def test_a_place_for_each_site_with_a_root(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.place("h1", TABLE) == store.place("h1", OTHER)
    assert store.place("h1", TABLE).path.parent == tmp_path


@given(st.text(min_size=1), st.text(min_size=1))
@settings(max_examples=300)
def test_property_two_sites_never_share_a_place(a: str, b: str) -> None:
    first, second = (Store("x").place(name, TABLE).path.name for name in (a, b))
    assert (first == second) == (a == b)
    assert re.fullmatch(r"site-[A-Za-z0-9_-]+", first)


def test_similar_names_have_different_places() -> None:
    names = ["a/b", "a_b", "A_b", "a b", "..", "../a", "a" * 300, "a" * 301, TABLE[:32], "\ud800", "é", "e\u0301"]
    places = {Store("x").place(name, TABLE).path.name.lower() for name in names}
    assert len(places) == len(names)
    assert all(len(name) < 100 for name in places)


@pytest.mark.parametrize("text", ["", "one\ntwo\r\nthree", "é \ud800 \0", "x" * 10**6])
def test_kept_texts_come_back(place: Place, text: str) -> None:
    assert place.kept("a key / of any kind") is None
    place.keep("a key / of any kind", "before")
    place.keep("a key / of any kind", text)
    assert place.kept("a key / of any kind") == text
    assert place.kept("another") is None
    assert len(list(place.path.iterdir())) == 1


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_only_the_owner_can_read(place: Place) -> None:
    place.path.mkdir(parents=True, mode=0o755)
    place.path.chmod(0o755)
    place.keep("key", "text")
    charged(place)
    for path in (place.path, *place.path.rglob("*")):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.parametrize("root", ["", "a\0b", 3, "~nobody-of-this-name/x"])
def test_strange_roots(root: object) -> None:
    with pytest.raises(InputError, match=r"^the store of the privacy ledger is .*, but must be a folder: choose a fol"):
        Store(root)


def test_a_root_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for root in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / ("x" * 300)):
        place = Store(root).place("h1", TABLE)
        for use in (lambda p=place: p.keep("a", "b"), lambda p=place: opened(p)):
            with pytest.raises(
                InputError, match=r"^the privacy store cannot use '.*' \(.+\): choose a folder that you"
            ):
                use()


def test_a_full_disk_leaves_the_old_text_and_no_litter(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.keep("key", "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"\(No space left on device\): choose a folder that you can write"):
        place.keep("key", "new")
    assert place.kept("key") == "old"
    assert len(list(place.path.iterdir())) == 1


def test_a_kept_text_that_is_not_text(place: Place) -> None:
    place.keep("key", "old")
    next(place.path.iterdir()).write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"^the privacy store cannot read '.*', it is not text: restore it$"):
        place.kept("key")


@pytest.mark.parametrize("mark", ["", "xyz", "AB" * 32, "ab" * 15, "../" * 20, None])
def test_strange_fingerprints(mark: object) -> None:
    with pytest.raises(
        InputError, match=r"^the fingerprint of the table of site 'h1' is .* must be a hexadecimal digest"
    ):
        Store("x").place("h1", mark)


@pytest.mark.parametrize("site", ["", None, 3])
def test_strange_sites(site: object) -> None:
    with pytest.raises(InputError, match=r"^the name of a site is .*, but must be a text that is not empty$"):
        Store("x").place(site, TABLE)


# -- the lock -------------------------------------------------------------------------------------------------------

HOLD = """
import sys, time
from pathlib import Path
from fedperi.privacy.store import Place
with Place(Path(sys.argv[1])).locked():
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_held_by_another_process_is_waited_for_and_named(place: Place) -> None:
    other = python(HOLD, place.path)
    assert other.stdout is not None
    try:
        assert other.stdout.readline() == "held\n", other.communicate()
        lock = str(place.path / "lock")
        with pytest.raises(InputError) as caught, place.locked(seconds=0.1):
            pass
        assert str(caught.value) == (
            f"another run has held the lock {lock!r} for 0.1 s: wait for it to end, or end it; the lock then opens by "
            "itself"
        )
    finally:
        other.kill()
        other.communicate()
    with place.locked(seconds=5):  # the system has opened it
        pass


def test_a_lock_is_nested_within_a_thread_and_closed_to_others(place: Place) -> None:
    found: list[str] = []

    def try_it() -> None:
        try:
            with place.locked(seconds=0.05):
                found.append("in")
        except InputError:
            found.append("out")

    def in_thread() -> None:
        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()

    with place.locked():
        with place.locked():
            in_thread()
        in_thread()
        opened(place).charge(ONE, "under the lock")
    in_thread()
    assert found == ["out", "out", "in"]


FORK = """
import os, sys
from pathlib import Path
from fedperi.errors import InputError
from fedperi.privacy.store import Place
place = Place(Path(sys.argv[1]))
with place.locked():
    if not (child := os.fork()):
        try:
            with place.locked(seconds=0.05):
                os._exit(1)
        except InputError:
            os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_does_not_hold_the_lock_of_its_parent(place: Place) -> None:
    assert python(FORK, place.path).communicate(timeout=60) == ("0\n", "")


def test_a_lock_is_opened_by_an_error(place: Place) -> None:
    with pytest.raises(ZeroDivisionError), place.locked():
        _ = 1 / 0
    thread = threading.Thread(target=lambda: opened(place))
    thread.start()
    thread.join(5)
    assert file(place).exists()


# -- the ledger -----------------------------------------------------------------------------------------------------


def test_a_second_run_adds_up(place: Place) -> None:
    first = opened(place)
    assert (first.spent, first.remaining, first.ceiling) == (0.0, 10.0, Ceiling(10.0, 1e-6))
    second = charged(place, 2)
    assert (first.spent, second.spent, second.remaining) == (0.0, 2.0, 8.0)
    again = opened(place)
    assert again == second
    assert [entry.what for entry in again.releases] == ["answer 0", "answer 1"]
    assert again.totals() == total([ONE, ONE], 1e-6)


def test_a_gaussian_release_is_counted_at_the_delta_of_the_ceiling(place: Place) -> None:
    price = Price(1.0, 1e-6, gaussian=zcdp_rho(1.0, 1e-6))
    ledger = opened(place, ceiling=Ceiling(2.0, 1e-6)).charge(price, "a")
    assert ledger.spent == pytest.approx(1.0, rel=1e-9)
    ledger = ledger.charge(price, "b")
    assert ledger.spent == zcdp_epsilon(2 * price.rho, 1e-6) < 2.0


def test_what_passes_the_ceiling_is_refused_before(place: Place) -> None:
    ledger = charged(place, 1, ceiling=Ceiling(1.5))
    before = file(place).read_text()
    for use in (ledger.check, lambda price: ledger.charge(price, "too much")):
        with pytest.raises(InputError) as caught:
            use(ONE)
        assert str(caught.value) == (
            "site 'h1' has spent epsilon 1; a release at epsilon 1, delta 0 would bring it to 2, above its ceiling of "
            "epsilon 1.5 at delta 1e-06; nothing is released: ask for less, use what was released before, or have the "
            "site raise its ceiling"
        )
    assert file(place).read_text() == before
    half = Price(0.5, 0.0, laplace=(0.5, 1))
    ledger.check(half)
    assert ledger.charge(half, "the rest").remaining == 0.0


def test_decimal_sums_reach_their_ceiling(place: Place) -> None:
    """Three times 0.1 is more than 0.3 in floating point."""
    tenth = Price(0.1, 0.0, laplace=(0.1, 1))
    ledger = opened(place, ceiling=Ceiling(0.3))
    for _ in range(3):
        ledger = ledger.charge(tenth, "a")
    assert ledger.remaining == 0.0
    with pytest.raises(InputError, match="above its ceiling"):
        ledger.charge(Price(1e-3, 0.0, laplace=(1e-3, 1)), "more")


def test_an_old_view_cannot_overspend(place: Place) -> None:
    old = opened(place, ceiling=Ceiling(1.0))
    old.charge(ONE, "all of it")
    old.check(ONE)
    with pytest.raises(InputError, match="has spent epsilon 1;"):
        old.charge(ONE, "again")


def test_ceilings_fall_freely_and_rise_only_knowingly(place: Place) -> None:
    charged(place, 2, ceiling=Ceiling(5.0))
    assert opened(place).ceiling == Ceiling(5.0)
    lower = opened(place, ceiling=Ceiling(1.0))
    assert (lower.ceiling, lower.spent, lower.remaining) == (Ceiling(1.0), 2.0, 0.0)
    for higher in (Ceiling(2.0), Ceiling(0.5, 1e-4)):
        with pytest.raises(InputError) as caught:
            opened(place, ceiling=higher)
        assert str(caught.value) == (
            f"the ceiling of site 'h1' is epsilon 1 at delta 1e-06, and epsilon {higher.epsilon:g} at delta "
            f"{higher.delta:g} would raise it: keep it, or have the site raise it knowingly (`fedperi release "
            "--raise-ceiling`), which its ledger records"
        )
    raised = opened(place, ceiling=Ceiling(3.0), raise_ceiling=True)
    assert raised.remaining == 1.0
    assert [c.epsilon for _, c in opened(place).ceilings] == [5.0, 1.0, 3.0]
    assert len(file(place).read_text().splitlines()) == 5
    opened(place, ceiling=Ceiling(3.0))
    assert len(file(place).read_text().splitlines()) == 5


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((0,), "epsilon of a ceiling is 0, but must be a number: above 0"),
        ((float("nan"),), "epsilon of a ceiling is nan, but"),
        ((1, 0), "delta of a ceiling is 0, but must be a number: 0 < delta < 1"),
        ((1, 1), "delta of a ceiling is 1, but"),
    ],
)
def test_bad_ceilings(values: tuple[float, ...], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        Ceiling(*values)


@pytest.mark.parametrize("what", ["", " ", None])
def test_a_release_needs_words(place: Place, what: object) -> None:
    with pytest.raises(InputError, match=r"^the ledger of site 'h1' needs words for what is released, not .*$"):
        opened(place).charge(ONE, what)


def test_the_summary_is_plain_and_does_not_identify_the_table(place: Place) -> None:
    summary = json.loads(json.dumps(charged(place).summary(), allow_nan=False))
    assert TABLE[:8] not in json.dumps(summary)
    assert summary["site"] == "h1"
    assert summary["ceiling"] == {"epsilon": 10.0, "delta": 1e-6}
    assert [sorted(r) for r in summary["releases"]] == [["price", "what", "when"]] * 3
    assert Price.from_dict(summary["releases"][0]["price"]) == ONE
    assert summary["totals"]["basic_epsilon"] == summary["spent"] == 3.0
    assert summary["remaining"] == 7.0


def test_the_file_can_be_read_by_people(place: Place) -> None:
    charged(place, 1)
    header, line = map(json.loads, file(place).read_text().splitlines())
    assert list(header) == ["format", "version", "site", "table", "when", "ceiling", "mac"]
    assert (header["format"], header["version"], header["table"]) == ("fedperi.ledger", 1, TABLE)
    assert list(line) == ["when", "what", "price", "mac"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", line["when"])


# -- whose it is ----------------------------------------------------------------------------------------------------


def test_another_table_is_refused(place: Place) -> None:
    opened(place)
    assert_refused(
        lambda: Ledger.open(place, site="h1", table=OTHER),
        f"the ledger of site 'h1' in {str(place.path / 'ledger')!r} is that of another table; nothing is released, "
        "because for a person who is in both tables the prices add up: restore the table as it was or, only if no "
        "person is in both, begin a new store",
    )


def test_another_site_is_refused(place: Place) -> None:
    opened(place)
    assert_refused(
        lambda: Ledger.open(place, site="h2", table=TABLE),
        f"the ledger in {str(place.path / 'ledger')!r} is that of site 'h1', not of site 'h2': give the site the "
        "name it had, or another store",
    )


def test_another_version_is_refused(place: Place) -> None:
    opened(place)
    file(place).write_text(file(place).read_text().replace('"version": 1', '"version": 2'))
    assert_refused(
        lambda: opened(place),
        "the ledger of site 'h1' has version 2, and this fedperi reads version 1; nothing is released: use the fedperi "
        "that wrote it, or a newer one",
    )


# -- edits ----------------------------------------------------------------------------------------------------------


def test_every_single_byte_counts(place: Place) -> None:
    charged(place, 2)
    good = file(place).read_bytes()
    for k in range(len(good)):
        for new in (bytes([good[k] ^ 1]), b"", good[k : k + 1] * 2)[k % 3 :]:
            file(place).write_bytes(good[:k] + new + good[k + 1 :])
            with pytest.raises(InputError, match="nothing is released"):
                opened(place)
    file(place).write_bytes(good)
    assert opened(place).spent == 2.0


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda lines: lines[:-1], "its length is not the one that was recorded"),
        (lambda lines: lines[:1], "its length is not the one that was recorded"),
        (lambda lines: [], "its last line is not whole"),
        (lambda lines: lines[1:], "line 1 does not carry its code"),
        (lambda lines: [lines[0], lines[2], lines[1], lines[3]], "line 2 does not carry its code"),
        (lambda lines: [lines[0], lines[2], lines[3]], "line 2 does not carry its code"),
        (lambda lines: [*lines, lines[3]], "line 5 does not carry its code"),
        (lambda lines: [*lines, "free text"], "line 5 does not carry its code"),
        (lambda lines: [*lines, ""], "line 5 does not carry its code"),
        (lambda lines: [*lines[:3], lines[3].replace('"epsilon": 1.0', '"epsilon": 0.1')], "line 4 does not carry its"),
        (
            lambda lines: [lines[0].replace('"epsilon": 10.0', '"epsilon": 99.0'), *lines[1:]],
            "line 1 does not carry its",
        ),
        (lambda lines: [lines[0].replace(TABLE, OTHER), *lines[1:]], "line 1 does not carry its code"),
    ],
)
def test_edited_lines_are_noticed(place: Place, edit: object, why: str) -> None:
    charged(place, 3)
    lines = edit(file(place).read_text().splitlines())
    file(place).write_text("".join(f"{line}\n" for line in lines))
    raises_damaged(place, why)


def test_binary_rubbish_is_noticed(place: Place) -> None:
    charged(place)
    for name in ("ledger.jsonl", "key", "head"):
        good = file(place, name).read_bytes()
        for bad in (b"", b"\xff\xfe\x00", b"[" * 10**5, b"\n"):
            file(place, name).write_bytes(bad)
            raises_damaged(place)
        file(place, name).write_bytes(good)
    assert opened(place).spent == 3.0


@pytest.mark.parametrize("name", ["ledger.jsonl", "key", "head"])
def test_a_missing_file_is_noticed(place: Place, name: str) -> None:
    charged(place)
    file(place, name).unlink()
    raises_damaged(place, f"(ledger/{name} is missing)")


def test_an_emptied_folder_is_noticed_and_nothing_starts_over(place: Place) -> None:
    ledger = charged(place)
    for name in ("ledger.jsonl", "key", "head"):
        file(place, name).unlink()
    raises_damaged(place, "(ledger/ledger.jsonl is missing)")
    (place.path / "ledger").rmdir()
    with pytest.raises(InputError, match=r"is damaged or was edited \(it is gone\)"):
        ledger.charge(ONE, "more")


def test_files_of_another_ledger_are_noticed(place: Place, tmp_path: Path) -> None:
    other = Store(tmp_path / "other").place("h1", TABLE)
    charged(place), charged(other)
    for name in ("ledger.jsonl", "key", "head"):
        good = file(place, name).read_bytes()
        file(place, name).write_bytes(file(other, name).read_bytes())
        raises_damaged(place)
        file(place, name).write_bytes(good)


def test_an_old_head_is_a_crash_by_one_line_and_an_edit_by_two(place: Place) -> None:
    charged(place, 1)
    old = file(place, "head").read_text()
    charged(place, 1)
    new = file(place, "head").read_text()
    file(place, "head").write_text(old)
    assert opened(place).spent == 2.0
    assert file(place, "head").read_text() == new, "repaired at once, or a second crash would look like an edit"
    charged(place, 1)
    file(place, "head").write_text(old)
    raises_damaged(place, "its length is not the one that was recorded")


# -- crashes and races ----------------------------------------------------------------------------------------------

CRASH = """
import os, sys
from pathlib import Path
from fedperi.privacy.accounting import Price
from fedperi.privacy.ledger import Ledger
from fedperi.privacy.store import Place

folders, task = sys.argv[1:-1], sys.argv[-1]
left = 0

def dying(call):
    def step(*arguments, **options):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return call(*arguments, **options)
    return step

# Every call that changes the disk: the process dies just before the one it has no steps left for.
for name in ("mkdir", "replace", "rename", "fsync"):
    setattr(os, name, dying(getattr(os, name)))
for steps, folder in enumerate(folders):
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    left = steps
    ledger = Ledger.open(Place(Path(folder)), site="h1", table="ab" * 32)
    if task == "charge":
        ledger.charge(Price(1.0, 0.0, laplace=(1.0, 1)), "answer")
    os._exit(0)
"""


def deaths(places: list[Place], task: str) -> list[bool]:
    """Do a task at every place, each in a process that dies at the step with its number; return whether it died."""
    out, err = python(CRASH, *(place.path for place in places), task).communicate(timeout=60)
    codes = [int(code) for code in out.split()]
    assert len(codes) == len(places), err
    assert set(codes) == {0, 9}, err
    return [code == 9 for code in codes]


def test_a_crash_while_a_ledger_begins(tmp_path: Path) -> None:
    places = [Store(tmp_path / str(step)).place("h1", TABLE) for step in range(20)]
    died = deaths(places, "open")
    assert died == sorted(died, reverse=True)
    assert sum(died) > 8  # folders, and three files that are each written, named and made durable
    for place in places:
        ledger = opened(place).charge(ONE, "after the crash")
        assert ledger.spent == opened(place).spent == 1.0


def test_a_crash_while_charging_counts_at_most_what_was_charged(tmp_path: Path) -> None:
    places = [Store(tmp_path / str(step)).place("h1", TABLE) for step in range(24)]
    for place in places:
        opened(place).charge(ONE, "before the crash")
    died = deaths(places, "charge")
    found = [opened(place).spent for place in places]
    assert found == sorted(found)
    assert set(found) == {1.0, 2.0}
    # It counts from the moment the line is in the file, though the head is written in further steps.
    assert sum(dead and counted == 2.0 for dead, counted in zip(died, found, strict=True)) >= 3
    assert all(counted == 2.0 for dead, counted in zip(died, found, strict=True) if not dead)
    for place, counted in zip(places, found, strict=True):
        assert opened(place).spent == counted, "reading a second time changes nothing"
        assert opened(place).charge(ONE, "after the crash").spent == counted + 1


SPEND = """
import sys
from pathlib import Path
from fedperi.errors import InputError
from fedperi.privacy.accounting import Price
from fedperi.privacy.ledger import Ledger
from fedperi.privacy.store import Place

ledger = Ledger.open(Place(Path(sys.argv[1])), site="h1", table="ab" * 32)
print("ready", flush=True)
sys.stdin.readline()
paid = 0
for k in range(20):
    try:
        ledger.charge(Price(0.25, 0.0, laplace=(0.25, 1)), f"{sys.argv[2]} {k}")
        paid += 1
    except InputError as error:
        assert "above its ceiling" in str(error), error
print(paid)
"""


def test_processes_never_overspend_together(place: Place) -> None:
    opened(place, ceiling=Ceiling(5.0))
    command = [sys.executable, "-c", SPEND, str(place.path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    racers = [subprocess.Popen([*command, str(k)], **pipes) for k in range(3)]  # type: ignore[call-overload]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    paid = [int(racer.communicate(timeout=60)[0]) for racer in racers]
    assert sum(paid) == 20
    ledger = opened(place)
    assert (ledger.spent, ledger.remaining, len(ledger.releases)) == (5.0, 0.0, 20)


def test_processes_that_begin_a_ledger_together_begin_one(place: Place) -> None:
    code = SPEND.replace("sys.stdin.readline()", "").replace("range(20)", "range(2)")
    racers = [python(code, place.path, k) for k in range(3)]
    for racer in racers:
        assert racer.communicate(timeout=60)[0] == "ready\n2\n"
    assert opened(place).spent == 1.5
