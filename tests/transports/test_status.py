"""The status pages: access, content, and appearance in a real browser."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.pages import HOSTILE, words_of
from helpers.refusals import refusal

import fedperi as fp
from fedperi.cli.status.serving import finished, showing_run, showing_site
from fedperi.coordinator import tally as run_tally
from fedperi.coordinator.tally import ASKING, DONE, RunTally, told_so_far
from fedperi.protocol import wire
from fedperi.protocol.policy import SitePolicy
from fedperi.protocol.requests import Hello, Stating
from fedperi.report.status.page import StatusPage, StatusTable, render_status
from fedperi.report.status.views import run_page
from fedperi.site import tally as site_tally
from fedperi.site.approval import APPROVED, FILE, decide, read_item
from fedperi.site.service.work import SiteWork
from fedperi.transports.status import MOST_AT_ONCE, Answer, status_server

HOST = "coordinator.example.org:9092"


def private(store: Path, name: str = "north") -> SiteWork:
    table = fp.simulate(3, clients=2, samples=200, seed=1).sites[0]
    privacy = fp.Privacy(1.0, bounds=dict.fromkeys(table.columns, (-20, 20)), ceiling=3)
    return SiteWork(table, name=name, store=store, privacy=privacy, later_for=HOST)


def ask(site: SiteWork) -> wire.Record:
    card = wire.read_card(site.reply("hello", wire.write(Hello("r1"))), site.name)
    return site.reply("state", wire.write(Stating("r1", card.columns)))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def get(port: int, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, str, dict[str, str]]:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    client.request(method, path, headers=headers)
    reply = client.getresponse()
    text = reply.read().decode()
    client.close()
    return reply.status, text, {name.lower(): value for name, value in reply.getheaders()}


def numbers(text: str) -> dict[str, float]:
    """Read metrics strictly: each name is described before its first value, and no value occurs twice."""
    found: dict[str, float] = {}
    described = set()
    for line in text.splitlines():
        if line.startswith("# "):
            described.add(line.split()[2])
            continue
        key, _, value = line.rpartition(" ")
        assert key.partition("{")[0] in described and key not in found
        found[key] = float(value)
    return found


@contextmanager
def shown_site(site: SiteWork) -> Iterator[int]:
    port = free_port()
    with showing_site(site, port, "127.0.0.1", lambda line: None):
        yield port


# -- who may read ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    with status_server("127.0.0.1", 0, {"/": lambda: Answer("secret")}) as port:
        yield port


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "localhost:1", "LOCALHOST", "[::1]:80"])
def test_this_machine_reads_the_page(server: int, host: str) -> None:
    assert get(server, Host=host)[:2] == (200, "secret")


@pytest.mark.parametrize(
    "host", ["evil.example.org", "localhost.evil.example.org", "127.0.0.1.nip.io", "8.8.8.8", "", "localhost@evil", "["]
)
def test_a_page_elsewhere_whose_name_points_here_reads_nothing(server: int, host: str) -> None:
    status, text, _ = get(server, Host=host)
    assert status == 421 and "secret" not in text and "evil" not in text


def test_two_hosts_and_none_are_refused(server: int) -> None:
    for lines in (b"", b"Host: localhost\r\nHost: evil.example.org\r\n"):
        with socket.create_connection(("127.0.0.1", server), timeout=10) as client:
            client.sendall(b"GET / HTTP/1.0\r\n" + lines + b"\r\n")
            assert b" 421 " in client.recv(200)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"])
def test_nothing_can_be_changed(server: int, method: str) -> None:
    status, text, _ = get(server, method=method, Host="localhost")
    assert status == 405 and "secret" not in text


def test_head_gives_no_body_and_other_paths_nothing(server: int) -> None:
    assert get(server, method="HEAD")[:2] == (200, "")
    status, text, _ = get(server, "/<script>")
    assert status == 404 and "script" not in text


def test_a_browser_is_told_to_load_nothing_and_to_keep_nothing(server: int) -> None:
    headers = get(server)[2]
    assert headers["content-security-policy"].startswith("default-src 'none'; ")
    assert "script-src" not in headers["content-security-policy"]  # so default-src applies: no script
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers and "python" not in headers["server"].lower()


def test_it_listens_on_this_machine_only(server: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no other address")
        other = probe.getsockname()[0]
    if other.startswith("127."):
        pytest.skip("this machine has no other address")
    with socket.socket() as client:
        assert client.connect_ex((other, server)) != 0


def test_silent_clients_do_not_pile_up() -> None:
    with status_server("127.0.0.1", 0, {"/": lambda: Answer("fine")}) as port:
        before = threading.active_count()
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(MOST_AT_ONCE + 4)]
        time.sleep(0.5)
        assert threading.active_count() <= before + MOST_AT_ONCE
        for client in silent:
            client.close()
        end = time.monotonic() + 20
        while True:
            try:
                assert get(port)[1] == "fine"
                break
            except (OSError, http.client.HTTPException):
                assert time.monotonic() < end
                time.sleep(0.1)


def test_what_is_wrong_is_said(server: int) -> None:
    def at(host: str, port: int | None) -> Any:
        with showing_run(RunTally(1), port, host, Path(), lambda line: None):
            pass

    assert "--status-host must be an address of this machine" in refusal(lambda: at("localhost", None))
    assert "--status-port is a port between 1 and 65535, not 70000" in refusal(lambda: at("127.0.0.1", 70000))
    said = refusal(lambda: at("127.0.0.1", server))
    assert f"cannot show the status at 127.0.0.1:{server} (Address already in use)" in said
    warned: list[str] = []
    with showing_run(RunTally(1), free_port(), "0.0.0.0", Path(), warned.append):
        pass
    assert "it has no password" in warned[1]


# -- a site ------------------------------------------------------------------------------------------------------------


def test_a_site_shows_what_waits_and_then_what_it_sent(tmp_path: Path) -> None:
    site = private(tmp_path)
    with shown_site(site) as port:
        assert numbers(get(port, "/metrics")[1])["fedperi_connected"] == 0
        site.tally.reached()
        assert ask(site) == wire.pending()
        words = words_of(get(port)[1])
        item = read_item(site.place)
        assert f"fedperi approve north {item.request.code}" in words and "spent 0 of 3, and 1 after it" in words
        told = json.loads(get(port, "/healthz")[1])
        assert (told["status"], told["pending"], told["connected"]) == ("ok", 1, True)
        before = numbers(get(port, "/metrics")[1])
        assert before["fedperi_pending"] == 1 and before["fedperi_privacy_spent_epsilon"] == 0
        decide(site.place, item.request.code, APPROVED, "ann")
        sent = wire.size(ask(site))
        after = numbers(get(port, "/metrics")[1])
        assert after["fedperi_pending"] == 0 and after["fedperi_stated"] == 1
        assert after["fedperi_privacy_spent_epsilon"] == pytest.approx(1)
        assert after["fedperi_privacy_ceiling_epsilon"] == 3
        assert after["fedperi_sent_bytes_total"] > before["fedperi_sent_bytes_total"] + sent
        assert after['fedperi_messages_total{kind="state"}'] == 2 == after['fedperi_messages_total{kind="hello"}']
        words = words_of(get(port)[1])
        assert "noisy moments of the table" in words and "epsilon 1 of 3" in words
        assert "approved by ann" in words and "gave our statement" in words


def test_reasons_that_may_name_values_of_the_table_are_not_on_the_page(tmp_path: Path) -> None:
    """Other accounts of the machine can open the page; the log is its owner's."""
    table = fp.simulate(3, clients=2, samples=200, seed=1).sites[0].assign(arm=["u"] * 120 + ["v"] * 77 + ["w"] * 3)
    site = SiteWork(
        table, name="north", store=tmp_path, policy=SitePolicy("moments"), schema=fp.tables.infer_schema([table])
    )
    assert "refused" in ask(site)
    assert "level 'w' has 1 to 4 rows" in site.log.path.read_text()
    with shown_site(site) as port:
        page, metrics = get(port)[1], get(port, "/metrics")[1]
    assert "level" not in page and "refused &#39;state&#39;: the log says why." in page
    assert numbers(metrics)["fedperi_refusals_total"] == 1
    assert "fedperi_privacy_spent_epsilon" not in metrics  # no noise, no ledger


def test_a_site_that_hangs_or_cannot_read_its_store_is_not_healthy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = private(tmp_path)
    with shown_site(site) as port:
        assert get(port, "/healthz")[0] == 200
        site.place.write(FILE, "{")
        status, text, _ = get(port, "/healthz")
        assert status == 503 and json.loads(text)["status"] == "failing"
        assert numbers(get(port, "/metrics")[1])["fedperi_store_readable"] == 0
        assert "is damaged: delete it" in words_of(get(port)[1])
        (site.place.path / FILE).unlink()
        monkeypatch.setattr(site_tally, "SILENT", -1.0)
        assert get(port, "/healthz")[0] == 503
        with site.tally.answering("state"):  # a long answer does not mean that it is stuck
            assert get(port, "/healthz")[0] == 200


# -- a coordinator -----------------------------------------------------------------------------------------------------


def run() -> RunTally:
    made = RunTally(3, ["east", "north", "south"], run="r1", place="results")
    made.phase = ASKING
    made.reached(["east", "north"])
    made.stated = lambda: {"east": ("a private release, epsilon 2, delta 1e-06", 2.0)}
    made.waiting = ("north",)
    made.dropped = [{"site": "south", "why": "site 'south' refused: no"}]
    made.note("2026-11-18T20:36:01Z listening.")
    made.note("2026-11-18T20:36:02Z fedperi refused a key: none from 10.0.0.7")
    return made


def test_a_coordinator_shows_who_is_there_and_what_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, port = run(), free_port()
    with showing_run(made, port, "127.0.0.1", tmp_path, lambda line: None):
        found = numbers(get(port, "/metrics")[1])
        for name, value in {
            "sites_wanted": 3,
            "sites_connected": 2,
            "statements": 1,
            "pending": 1,
            "sites_dropped": 1,
            "refused_keys_total": 1,
            'privacy_spent_epsilon{site="east"}': 2,
            'site_connected{site="south"}': 0,
            'phase{phase="asking sites"}': 1,
        }.items():
            assert found[f"fedperi_{name}"] == value, name
        words = words_of(get(port)[1])
        for said in ("waits for its owner", "dropped out", "site 'south' refused: no", "a private release, epsilon 2"):
            assert said in words
        assert get(port, "/report.html")[0] == 404
        assert get(port, "/healthz")[0] == 200
        monkeypatch.setattr(run_tally, "SILENT", -1.0)
        assert get(port, "/healthz")[0] == 503
        result = fp.MPERI().fit(fp.simulate(3, clients=3, samples=300, seed=1).sites)
        result.save(tmp_path / "results")
        finished(made, result)
        assert made.phase == DONE and get(port, "/healthz")[0] == 200  # a finished run is not stuck
    with showing_run(made, port, "127.0.0.1", tmp_path / "results", lambda line: None):
        words = words_of(get(port)[1])
        a, b = next(iter(result.graph.directed))
        assert f"{a} → {b}" in words
        status, page, headers = get(port, "/report.html")
        assert status == 200 and headers["content-security-policy"] == "frame-ancestors 'none'"
        assert page == (tmp_path / "results" / "report.html").read_text()


def test_what_sites_that_answer_questions_have_spent(tmp_path: Path) -> None:
    from fedperi.coordinator.record import Journal
    from fedperi.protocol.messages import Welcome

    journal = Journal()
    told = {"epsilon": 1.0, "ledger": {"spent": 1.5}}
    journal.welcomed("s", Welcome("east", ("a",), 10.0, None, told))
    journal.welcomed("s", Welcome("north", ("a",), 10.0))
    assert told_so_far(journal) == {
        "east": ("answers with noise", 1.5),
        "north": ("answers without noise, NOT PRIVATE", None),
    }


def test_names_are_escaped_everywhere() -> None:
    made = RunTally(1, [HOSTILE], run="r1", place=HOSTILE)
    made.note(HOSTILE)
    made.edges = ((HOSTILE, HOSTILE, "", ""),)
    made.dropped = [{"site": HOSTILE, "why": HOSTILE}]
    page = render_status(run_page(made.status()))
    assert HOSTILE not in page and "<script" not in page and page.count("&lt;script&gt;") >= 5
    page = render_status(
        StatusPage(
            HOSTILE, HOSTILE, HOSTILE, True, ((HOSTILE, HOSTILE),), ((HOSTILE,) * 3,), (StatusTable(HOSTILE, (), ()),)
        )
    )
    assert "<script" not in page


# -- a real browser ----------------------------------------------------------------------------------------------------

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


@contextmanager
def browser(folder: Path, *more: str) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1150,1000")
    for flag in (*flags, f"--user-data-dir={folder}", "--disable-background-networking", *more):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def requested(driver: Any) -> set[str]:
    """Return the hosts that the browser has contacted since the last call."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    urls = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    return {url.split("/")[2] for url in urls if url.startswith(("http:", "https:", "ws:"))}


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="chromium and chromedriver are not installed")
def test_the_pages_in_a_browser(tmp_path: Path) -> None:
    site = private(tmp_path / "store", name="Hôpital <b>nord</b>")
    ask(site)
    made, port = run(), free_port()
    shown = showing_run(made, port, "127.0.0.1", tmp_path, lambda line: None)
    with shown_site(site) as at, shown, browser(tmp_path / "light") as driver:
        for address, where in ((at, "site"), (port, "coordinator")):
            driver.get_log("performance")
            driver.get(f"http://127.0.0.1:{address}/")
            assert driver.get_log("browser") == [], where
            assert requested(driver) == {f"127.0.0.1:{address}"}
            for width in (360, 1150):
                driver.set_window_size(width, 900)
                wide, inner = driver.execute_script(
                    "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
                )
                assert wide <= inner, (where, width)
            assert _contrast(driver) > 4.5
        driver.get(f"http://127.0.0.1:{at}/")
        assert driver.find_element("css selector", "h1").text == "Hôpital <b>nord</b>"
        code = read_item(site.place).request.code
        assert f"fedperi approve 'Hôpital <b>nord</b>' {code}" in driver.find_element("css selector", ".ask pre").text
    with shown_site(site) as at, browser(tmp_path / "dark", "--blink-settings=preferredColorScheme=0") as driver:
        driver.get(f"http://127.0.0.1:{at}/")
        dark = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert dark == "rgb(15, 19, 25)" and _contrast(driver) > 4.5


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="chromium and chromedriver are not installed")
def test_a_browser_whose_names_point_here_reads_nothing(tmp_path: Path) -> None:
    """DNS rebinding: the name of a page elsewhere resolves to this machine."""
    site = private(tmp_path / "store")
    rule = "--host-resolver-rules=MAP evil.example.org 127.0.0.1"
    with shown_site(site) as at, browser(tmp_path / "light", rule) as driver:
        driver.get(f"http://evil.example.org:{at}/")
        said = driver.find_element("css selector", "body").text
        assert "This page is for this machine" in said and "north" not in said


def _contrast(driver: Any) -> float:
    """Return the smallest contrast between any visible text and its background."""
    return float(
        driver.execute_script(
            """
    const light = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(
        (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
        if (!c.endsWith(", 0)")) return c; } return "rgb(255, 255, 255)"; };
    return Math.min(...[...document.querySelectorAll("body *")].filter(
        (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())).map((e) => {
        const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
        return (a + 0.05) / (b + 0.05); }));
    """
        )
    )
