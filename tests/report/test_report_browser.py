"""The report in a real browser: Debian's Chromium, from disk. Skipped where there is none."""

import itertools
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.pages import by_hand

import fedperi as fp
from fedperi.cli.demo import EDGES
from fedperi.methods import EdgeEvidence, Result
from fedperi.report import graph_svg, render_report
from fedperi.search.phase1 import Step

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="chromium and chromedriver are not installed"),
]
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,1000",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def demo() -> Result:
    sim = fp.simulate(fp.PDAG.from_edges(EDGES), clients=5, samples=1000, weights=(0.3, 1.0), seed=0)
    return fp.IPERI(bootstrap=5).fit({f"Hospital {k}": site for k, site in enumerate(sim.sites)})


def protected(**options: Any) -> Result:
    """Fit a small private run at two sites."""
    tables = fp.simulate(3, clients=2, samples=3000, seed=1).sites
    privacy = fp.Privacy(1.0, 1e-6, bounds=dict.fromkeys(tables[0].columns, (-8, 8)), **options)
    return fp.IPERI(privacy=privacy).fit({"St. Mary's Hospital": tables[0], "Registry of the South": tables[1]})


def made_up(variables: int, seed: int = 0) -> Result:
    """Make a result without a search, which takes time; some edges of each kind."""
    rng = np.random.default_rng(seed)
    names = [f"a_rather_long_variable_name_{i}" if i % 3 == 0 else f"X{i}" for i in range(variables)]
    dag = fp.PDAG(np.triu(rng.random((variables, variables)) < 4 / variables, 1), names)
    client = fp.mutilate(dag, names[1:variables:4])
    cpdag, phi = fp.cpdag(dag), fp.phi_cpdag(dag, [dag, client])
    graph = fp.meek_closure(phi)
    edges = [EdgeEvidence(a, b, True, 3.0, ("one",), "v-structure", "why") for a, b in sorted(graph.directed)]
    edges += [EdgeEvidence(a, b, False, 2.0, ("two",), "", "") for a, b in sorted(graph.undirected)]
    return Result(
        graph=graph,
        phi_cpdag=phi,
        cpdag=cpdag,
        dag=dag,
        regrets={"one": 1.0, "two": 0.5},
        rounds=3,
        queries=100,
        bytes=800,
        history=(Step("first search", 1, 9.0, 3.0), Step("restart", 2, 8.0, 1.0)),
        edges=tuple(edges),
        method={"name": "I-PERI", "data": "linear", "seed": 0},
    )


def opened(browser: Any, page: str, folder: Path) -> None:
    """Load a page from disk, in a window of the usual size, with all logs emptied before."""
    file = folder / "report.html"
    file.write_text(page, encoding="utf-8")
    browser.set_window_size(1400, 1000)
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(file.as_uri())


def one(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def edge_of(browser: Any, result: Result, first: str, second: str) -> Any:
    """Return the drawn edge between two variables."""
    for edge in browser.find_elements("css selector", ".edge"):
        if edge.get_attribute("aria-label") in (
            f"edge between {first} and {second}",
            f"edge between {second} and {first}",
        ):
            return edge
    raise AssertionError(f"no edge between {first} and {second}")


def click(browser: Any, element: Any) -> None:
    """Click an element where it is drawn: for a curved edge, at its middle."""
    browser.execute_script(
        """const path = arguments[0].querySelector(".hit");
        arguments[0].scrollIntoView({block: "center"});
        const at = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
        const target = document.elementFromPoint(at.x, at.y);
        target.dispatchEvent(new MouseEvent("click", {bubbles: true}));""",
        element,
    )


def visible_entry(browser: Any) -> str:
    return " ".join(one(browser, "#details .entry:not([hidden])").text.split())


def boxes(browser: Any) -> np.ndarray:
    """Return left, top, right, bottom of every drawn variable."""
    found = browser.execute_script(
        """return [...document.querySelectorAll("#graph .node rect")].map((r) => {
        const b = r.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; });"""
    )
    return np.array(found)


@pytest.mark.parametrize("variables", [5, 12, 60])
def test_it_loads_without_errors_or_requests_and_boxes_do_not_overlap(
    browser: Any, tmp_path: Path, variables: int
) -> None:
    opened(browser, render_report(made_up(variables)), tmp_path)
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert asked
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert browser.execute_script("return performance.getEntriesByType('resource').map((e) => e.name)") == []
    at = boxes(browser)
    assert len(at) == variables
    apart = (at[:, None, 2] <= at[None, :, 0]) | (at[:, None, 3] <= at[None, :, 1])
    assert (apart | apart.T | np.eye(variables, dtype=bool)).all()


def test_labels_fit_their_boxes(browser: Any, tmp_path: Path) -> None:
    names = [
        "systolic_blood_pressure_at_admission_in_mmHg",
        "WWWWWWWWWWWWWWW",
        "血圧と体重の測定値と年齢",
        "mmmm mmmm mmmm",
    ]
    opened(browser, graph_svg(fp.PDAG.from_edges(itertools.pairwise(names))), tmp_path)
    outside = browser.execute_script(
        """return [...document.querySelectorAll("text")].filter((t) => {
        const inner = t.getBBox(), outer = t.parentNode.querySelector("rect").getBBox();
        return inner.x < outer.x || inner.x + inner.width > outer.x + outer.width;
        }).map((t) => t.textContent);"""
    )
    assert outside == []


def test_toggles_change_the_marks_and_leave_the_places(browser: Any, tmp_path: Path, demo: Result) -> None:
    opened(browser, render_report(demo), tmp_path)
    before = boxes(browser)
    graphs = {"cpdag": demo.cpdag, "phi": demo.phi_cpdag, "closed": demo.graph}
    for view in ("cpdag", "phi", "closed", "cpdag"):
        one(browser, f"#views input[value={view}]").click()
        graph = graphs[view]
        shown = {kind: len(browser.find_elements("css selector", f".edge.{kind}")) for kind in ("down", "up", "line")}
        assert shown["down"] + shown["up"] == len(graph.directed)
        assert shown["line"] == len(graph.undirected)
        heads = [h for h in browser.find_elements("css selector", ".head-down, .head-up") if h.is_displayed()]
        assert len(heads) == len(graph.directed)
        dashed = browser.execute_script(
            """return [...document.querySelectorAll(".edge .stroke")]
            .filter((p) => getComputedStyle(p).strokeDasharray !== "none").length"""
        )
        assert dashed == len(graph.undirected)
        signs = browser.find_elements("css selector", ".edge .differs, .edge .follows")
        assert len([s for s in signs if s.is_displayed()]) == len(graph.directed) - len(demo.cpdag.directed)
    assert (boxes(browser) == before).all()
    assert browser.get_log("browser") == []


def test_a_click_on_an_edge_shows_its_evidence(browser: Any, tmp_path: Path, demo: Result) -> None:
    opened(browser, render_report(demo), tmp_path)
    evidence = next(edge for edge in demo.edges if edge.reason == "difference")
    assert visible_entry(browser).startswith("Why is an edge there?")
    edge = edge_of(browser, demo, evidence.a, evidence.b)
    click(browser, edge)
    text = visible_entry(browser)
    assert text.startswith(f"{evidence.a} → {evidence.b}")
    assert f"{evidence.gain:,.1f} nats" in text
    assert all(site in text for site in evidence.sites)
    assert evidence.words[1:] in text
    assert "Stability, 5 resampled runs" in text
    assert edge.get_attribute("aria-pressed") == "true"
    click(browser, edge)
    assert visible_entry(browser).startswith("Why is an edge there?")


def test_the_keyboard_reaches_every_variable_and_edge(browser: Any, tmp_path: Path, demo: Result) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(browser, render_report(demo), tmp_path)
    assert len(browser.find_elements("css selector", '#graph [tabindex="0"]')) == 1
    one(browser, "#canvas").send_keys(Keys.TAB)
    seen = []
    for _ in range(len(demo.graph.names) + len(demo.graph)):
        here = browser.switch_to.active_element
        seen.append(here.get_attribute("aria-label"))
        assert "nothing" not in one(browser, "#details .entry:not([hidden])").get_attribute("id")
        here.send_keys(Keys.ARROW_RIGHT)
    assert len(set(seen)) == len(seen)
    here = browser.switch_to.active_element
    here.send_keys(Keys.ENTER)
    assert here.get_attribute("aria-pressed") == "true"
    here.send_keys(Keys.ESCAPE)
    assert here.get_attribute("aria-pressed") == "false"


def test_the_table_filters_sorts_and_opens_evidence(browser: Any, tmp_path: Path, demo: Result) -> None:
    opened(browser, render_report(demo), tmp_path)
    one(browser, "#edges th:nth-child(3) button").click()
    gains = [
        float(cell.get_attribute("data-key"))
        for cell in browser.find_elements("css selector", "#edges td:nth-child(3)")
    ]
    assert gains == sorted((edge.gain for edge in demo.edges), reverse=True)
    one(browser, "#filter").send_keys("stroke")
    rows = [row for row in browser.find_elements("css selector", "#edges tbody tr") if row.is_displayed()]
    assert len(rows) == len(demo.graph.adjacent("stroke"))
    assert one(browser, "#matches").text == f"{len(rows)} of {len(demo.graph)}"
    button = rows[0].find_element("css selector", "[data-open]")
    name = " ".join(button.text.split())
    button.click()
    assert visible_entry(browser).startswith(name)


def contrast(browser: Any, one_: str, two: str) -> float:
    """Compute the contrast of two colours of the style sheet, as WCAG defines it."""
    light = []
    for name in (one_, two):
        text = browser.execute_script(
            "return getComputedStyle(document.documentElement).getPropertyValue(arguments[0]).trim()", name
        )
        red, green, blue = (
            c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
            for c in (int(text[k : k + 2], 16) / 255 for k in (1, 3, 5))
        )
        light.append(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    return (max(light) + 0.05) / (min(light) + 0.05)


def test_dark_and_light(browser: Any, tmp_path: Path, demo: Result) -> None:
    opened(browser, render_report(demo), tmp_path)
    colours = []
    for preferred in ("light", "dark"):
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": preferred}]}
        )
        for _ in range(2):  # as preferred, then the other by the button
            colours.append(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
            for ink in ("--ink", "--muted", "--accent", "--differs"):
                assert contrast(browser, ink, "--paper") >= 4.5
                assert contrast(browser, ink, "--page") >= 4.5
            one(browser, "#theme").click()
        browser.refresh()
    assert colours[0] == colours[3]
    assert colours[1] == colours[2]
    assert colours[0] != colours[1]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_untrusted_names_run_nothing(browser: Any, tmp_path: Path, demo: Result) -> None:
    bad = "<script>document.title='stolen'</script><img src=x onerror=document.title='stolen'>"
    renamed = {n: getattr(demo, n).renamed({"age": bad}) for n in ("graph", "phi_cpdag", "cpdag", "dag")}
    result = replace(demo, **renamed, regrets={bad: 1.0}, edges=(), stability=())
    opened(browser, render_report(result), tmp_path)
    assert browser.title == "Causal graph of 7 variables from 1 site"
    assert browser.find_elements("css selector", "img") == []
    assert bad in browser.execute_script("return document.querySelector('main').textContent")
    assert browser.get_log("browser") == []


def test_a_narrow_window_does_not_scroll_sideways(browser: Any, tmp_path: Path, demo: Result) -> None:
    opened(browser, render_report(demo), tmp_path)
    try:
        size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_buttons_for_size_and_copy(browser: Any, tmp_path: Path, demo: Result) -> None:
    opened(browser, render_report(demo), tmp_path)
    width = one(browser, "#graph").size["width"]
    one(browser, "[data-zoom=in]").click()
    assert one(browser, "#graph").size["width"] > width
    one(browser, "[data-zoom=fit]").click()
    assert one(browser, "#graph").size["width"] == width
    button = one(browser, "[data-copy=methods]")
    button.click()
    assert button.text in ("Copied", "Selected: press Ctrl-C")
    assert browser.execute_script("return getSelection().toString()").startswith("Causal structure was estimated")


def test_the_privacy_panel_of_a_private_run(browser: Any, tmp_path: Path) -> None:
    result = protected(store=tmp_path / "store")
    opened(browser, render_report(result), tmp_path)
    assert browser.get_log("browser") == []
    link = one(browser, ".facts a[href='#privacy']")
    assert "1" in link.find_element("xpath", "./..").text
    link.click()
    panel = one(browser, "#privacy")
    assert panel.is_displayed()
    assert 0 <= browser.execute_script("return arguments[0].getBoundingClientRect().top", panel) < 500
    assert "right in at most 74 of 100 cases" in panel.text
    assert [cell.text for cell in panel.find_elements("css selector", ".promises td:nth-child(2)")] == ["yes", "yes"]
    bars = panel.find_elements("css selector", ".ledgers .meter")
    spent = [site["ledger"]["spent"] / site["ledger"]["ceiling"]["epsilon"] for site in result.privacy.values()]
    for bar, share in zip(bars, spent, strict=True):
        filled = one(bar, "span").size["width"]
        assert filled == pytest.approx(share * bar.size["width"], abs=1)
    assert not panel.find_element("css selector", "details table").is_displayed()
    panel.find_element("css selector", "summary").click()
    assert "noisy moments of the table" in panel.find_element("css selector", "details").text
    assert "NOT PRIVATE" not in one(browser, "body").text


@pytest.mark.filterwarnings("ignore:test_seed")
def test_not_private_is_loud_in_any_light_and_on_paper(browser: Any, tmp_path: Path) -> None:
    opened(browser, render_report(protected(test_seed=1)), tmp_path)
    assert browser.title.startswith("NOT PRIVATE")
    try:
        for media, light in (("", "light"), ("", "dark"), ("print", "light")):
            features = [{"name": "prefers-color-scheme", "value": light}]
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
            banners = browser.find_elements("css selector", ".not-private")
            assert len(banners) == 2
            for banner in banners:
                assert banner.text.startswith("NOT PRIVATE")
                assert float(banner.value_of_css_property("border-top-width").removesuffix("px")) >= 4
            assert banners[0].location["y"] < 300  # seen before anything else
            if not media:
                assert contrast(browser, "--warn-ink", "--warn") >= 4.5
        size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_grades_of_mechanisms_look_different_and_tell_what_they_rest_on(browser: Any, tmp_path: Path) -> None:
    result = by_hand()
    opened(browser, render_report(result), tmp_path)

    def look(first: str, second: str) -> tuple[str, str, bool]:
        edge = edge_of(browser, result, first, second)
        line = edge.find_element("css selector", ".stroke")
        dashes, wide = (line.value_of_css_property(name) for name in ("stroke-dasharray", "stroke-width"))
        heads = [head.value_of_css_property("display") for head in edge.find_elements("css selector", "[class^=head]")]
        return dashes, wide, any(display != "none" for display in heads)

    assert look("age", "dose") == ("none", "3px", True)
    assert look("dose", "stroke") == ("none", "1.9px", True)
    assert look("age", "smoker") == ("2px, 4px", "1.7px", False)
    sure, alone = (edge_of(browser, result, *pair) for pair in (("age", "dose"), ("dose", "stroke")))
    assert sure.value_of_css_property("color") != alone.value_of_css_property("color")  # it rests on one site
    click(browser, edge_of(browser, result, "dose", "stroke"))
    said = visible_entry(browser)
    assert said.startswith("dose → stroke likely, 0.90 rests on Lyon alone How probable it is") and "0.90" in said
    warning, graph = (one(browser, f"#{name}").location["y"] for name in ("h-warnings", "h-graph"))
    assert warning < graph
    browser.set_window_size(500, 900)
    width = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert width[0] <= width[1]
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_a_cell_of_the_matrix_opens_its_evidence(browser: Any, tmp_path: Path) -> None:
    opened(browser, render_report(by_hand()), tmp_path)
    lyon, metz = browser.find_elements("css selector", "[data-cell]")
    entries = browser.find_elements("css selector", ".cell-entry")
    assert [entry.is_displayed() for entry in entries] == [False, False]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", lyon)
    lyon.click()
    shown = [entry for entry in entries if entry.is_displayed()]
    assert len(shown) == 1 and "At Lyon, stroke is less likely by 0.1 than elsewhere." in shown[0].text
    assert lyon.get_attribute("aria-expanded") == "true"
    metz.send_keys("\n")  # from the keyboard: the other closes
    assert [entry.is_displayed() for entry in entries].count(True) == 1
    assert lyon.get_attribute("aria-expanded") == "false"
    metz.click()
    assert [entry.is_displayed() for entry in entries] == [False, False]


def typed(browser: Any, selector: str, value: str, event: str = "input") -> None:
    browser.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event(arguments[2], {bubbles: true}));",
        one(browser, selector),
        value,
        event,
    )


def shown(browser: Any, kind: str) -> list[str]:
    """Return the labels of the variables or edges that are drawn."""
    return [
        item.get_attribute("aria-label")
        for item in browser.find_elements("css selector", f"#graph .{kind}")
        if item.value_of_css_property("display") != "none"
    ]


def test_find_filter_and_neighbourhood(browser: Any, tmp_path: Path) -> None:
    opened(browser, render_report(by_hand()), tmp_path)
    one(browser, "#find").send_keys("DOS")
    assert [node.get_attribute("aria-label") for node in browser.find_elements("css selector", ".found")] == [
        "variable dose"
    ]
    assert one(browser, "#found").text == "1 variable"
    one(browser, "#only").click()
    assert len(shown(browser, "node")) == 4  # nothing is chosen yet
    one(browser, "#find").send_keys("\n")
    assert visible_entry(browser).startswith("dose Causes")
    assert sorted(shown(browser, "node")) == ["variable age", "variable dose", "variable stroke"]
    one(browser, "#only").click()
    assert len(shown(browser, "node")) == 4
    typed(browser, "#least", "0.95")
    assert shown(browser, "edge") == ["edge between age and dose"] and one(browser, "#least-now").text == "0.95"
    typed(browser, "#least", "0")
    assert len(shown(browser, "edge")) == 3
    typed(browser, "#site", "Metz", "change")
    marked = browser.find_elements("css selector", ".node.differs")
    assert [node.get_attribute("aria-label") for node in marked] == ["variable dose"]


def width_of(browser: Any) -> float:
    width: float = browser.execute_script('return document.getElementById("graph").getBoundingClientRect().width')
    return width


def wheel(browser: Any, delta: float, target: str = "canvas", **keys: bool) -> bool:
    """Turn the wheel over an element; return whether the page used it instead of scrolling."""
    taken: bool = browser.execute_script(
        """const element = document.getElementById(arguments[0]), at = element.getBoundingClientRect();
        return !element.dispatchEvent(new WheelEvent("wheel", {deltaY: arguments[1], ...arguments[2],
        clientX: at.left + 40, clientY: at.top + 40, bubbles: true, cancelable: true}));""",
        target,
        delta,
        keys,
    )
    return taken


def test_the_wheel_zooms_and_catches_nobody(browser: Any, tmp_path: Path) -> None:
    opened(browser, render_report(by_hand()), tmp_path)
    before = width_of(browser)
    assert not wheel(browser, 200) and width_of(browser) == before  # everything is visible: the page scrolls
    browser.execute_script("return new Promise((done) => setTimeout(done, 400))")
    assert wheel(browser, -200)
    assert width_of(browser) == pytest.approx(before * np.exp(0.5), rel=0.02)
    assert wheel(browser, -200, ctrlKey=True)  # what a trackpad sends for two fingers
    assert width_of(browser) == pytest.approx(before * np.exp(1.0), rel=0.02)
    assert wheel(browser, 200)
    assert width_of(browser) == pytest.approx(before * np.exp(0.5), rel=0.02)
    wheel(browser, -200, target="h-graph")  # the page is being scrolled, and continues over the picture
    assert not wheel(browser, -200)
    assert width_of(browser) == pytest.approx(before * np.exp(0.5), rel=0.02)
    browser.set_window_size(1390, 1000)  # as when a phone hides its address bar
    assert width_of(browser) == pytest.approx(before * np.exp(0.5), rel=0.02)
    one(browser, "[data-zoom=fit]").click()
    assert width_of(browser) == pytest.approx(before, rel=0.02)


def test_two_fingers_zoom(browser: Any, tmp_path: Path) -> None:
    opened(browser, render_report(by_hand()), tmp_path)
    before = width_of(browser)
    browser.execute_script("document.getElementById('h-graph').scrollIntoView()")
    at = one(browser, "#canvas").rect
    top = browser.execute_script("return document.getElementById('canvas').getBoundingClientRect().top")
    x, y = at["x"] + 200, top + 120
    for kind, apart in (("touchStart", 40), ("touchMove", 50), ("touchMove", 100), ("touchEnd", 0)):
        points = [{"x": x - apart, "y": y, "id": 1}, {"x": x + apart, "y": y, "id": 2}] if apart else []
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert width_of(browser) == pytest.approx(2 * before, rel=0.05)


def centre(browser: Any, name: str) -> np.ndarray:
    box = browser.execute_script(
        """const b = document.querySelector(`[aria-label="variable ${arguments[0]}"] rect`).getBoundingClientRect();
        return [b.left + b.width / 2, b.top + b.height / 2];""",
        name,
    )
    return np.array(box)


def ends_of(browser: Any, edge: Any) -> np.ndarray:
    """Return where the line of an edge begins and ends on the screen."""
    points = browser.execute_script(
        """const p = arguments[0].querySelector(".stroke"), m = p.getScreenCTM();
        return [0, p.getTotalLength()].map((t) => { const q = p.getPointAtLength(t).matrixTransform(m);
        return [q.x, q.y]; });""",
        edge,
    )
    return np.array(points)


def drag(browser: Any, name: str, dx: int, dy: int) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    box = one(browser, f'[aria-label="variable {name}"]')
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", box)
    chain = ActionChains(browser, duration=20)  # to a point: the driver would scroll to an element
    chain.w3c_actions.pointer_action.move_to_location(*map(round, centre(browser, name)))
    chain.click_and_hold().move_by_offset(dx, dy).release().perform()


def test_a_variable_is_dragged_with_its_edges_and_put_back(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    result = by_hand()
    opened(browser, render_report(result), tmp_path)
    nothing = visible_entry(browser)
    edge = edge_of(browser, result, "age", "dose")
    drag(browser, "age", 0, 0)  # a click opens the variable, a drag does not
    assert visible_entry(browser) != nothing
    drag(browser, "age", 0, 0)
    lines, age, dose = ends_of(browser, edge), centre(browser, "age"), centre(browser, "dose")
    drag(browser, "age", 60, 30)
    assert centre(browser, "age") - age == pytest.approx([60, 30], abs=3)
    assert centre(browser, "dose") == pytest.approx(dose)
    assert visible_entry(browser) == nothing
    box = one(browser, '[aria-label="variable age"] rect').rect
    begin, end = ends_of(browser, edge)
    assert abs(begin - centre(browser, "age")).max() < max(box["width"], box["height"]) / 2 + 6  # it moves with it
    assert end == pytest.approx(lines[1], abs=40)
    one(browser, "#put-back").click()
    assert centre(browser, "age") == pytest.approx(age)
    assert ends_of(browser, edge) == pytest.approx(lines)
    assert not one(browser, "#put-back").is_displayed()
    node = one(browser, '[aria-label="variable age"]')
    browser.execute_script("arguments[0].focus()", node)
    node.send_keys(Keys.SHIFT, Keys.ARROW_RIGHT)
    assert centre(browser, "age")[0] > age[0] + 8
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_the_background_is_dragged_to_move_a_large_picture(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    opened(browser, render_report(made_up(60)), tmp_path)
    for _ in range(3):
        one(browser, "[data-zoom=in]").click()
    canvas = one(browser, "#canvas")
    x, y = browser.execute_script(
        """const canvas = document.getElementById("canvas"), graph = document.getElementById("graph");
        canvas.scrollIntoView({block: "start"});
        const b = canvas.getBoundingClientRect();
        for (let x = b.left + 100; x < b.right - 60; x += 9) for (let y = b.top + 30; y < b.top + 500; y += 9)
          if (document.elementFromPoint(x, y) === graph) return [Math.round(x), Math.round(y)];"""
    )
    before = canvas.get_property("scrollLeft")
    chain = ActionChains(browser, duration=20)
    chain.w3c_actions.pointer_action.move_to_location(x, y)
    chain.click_and_hold().move_by_offset(-50, 0).release().perform()
    assert canvas.get_property("scrollLeft") == pytest.approx(before + 50, abs=3)


def test_sixty_variables_collapse_to_the_neighbourhood_of_one(browser: Any, tmp_path: Path) -> None:
    result = made_up(60)
    opened(browser, render_report(result), tmp_path)
    name = max(result.graph.names, key=lambda name: len(result.graph.adjacent(name)))
    one(browser, "#only").click()
    one(browser, "#find").send_keys(name + "\n")
    near = {name, *result.graph.adjacent(name)}
    assert set(shown(browser, "node")) == {f"variable {other}" for other in near}
    assert len(shown(browser, "edge")) == len(near) - 1
    at = {other: centre(browser, other) for other in near}
    assert all(at[other][1] < at[name][1] for other in result.graph.parents(name))
    assert all(at[other][1] > at[name][1] for other in result.graph.children(name))
    size = one(browser, f'[aria-label="variable {name}"] text').value_of_css_property("font-size")
    scale = width_of(browser) / float(one(browser, "#graph").get_dom_attribute("viewBox").split()[2])
    assert float(size.removesuffix("px")) * scale >= 11  # readable, without zooming
    frame = browser.execute_script(
        """const b = document.getElementById("canvas").getBoundingClientRect(); return [b.left, b.right];"""
    )
    assert all(frame[0] <= x <= frame[1] for x, _ in at.values())
    other = sorted(near - {name})[0]
    browser.execute_script(  # continue: press a neighbour
        """document.querySelector(`[aria-label="variable ${arguments[0]}"]`)
        .dispatchEvent(new MouseEvent("click", {bubbles: true}));""",
        other,
    )
    assert len(shown(browser, "node")) == 1 + len(result.graph.adjacent(other))
    one(browser, "#only").click()
    assert len(shown(browser, "node")) == 60


def test_the_picture_is_offered_as_svg_and_png(browser: Any, tmp_path: Path) -> None:
    opened(browser, render_report(by_hand()), tmp_path)
    browser.execute_script('document.getElementById("download").addEventListener("click", (e) => e.preventDefault());')
    one(browser, "#save-svg").click()
    link = one(browser, "#download")
    svg = link.get_attribute("href")
    assert svg.startswith("data:image/svg+xml") and "stroke-dasharray" in svg and link.get_attribute("download")
    one(browser, "#save-png").click()
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 10).until(lambda _: link.get_attribute("href").startswith("data:image/png;base64,iVBOR"))
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


@pytest.fixture(scope="module")
def compared() -> Result:
    """Fit M-PERI with effects, and more warnings than are shown at once."""
    truth = fp.PDAG.from_edges([("age", "body_weight"), ("age", "blood_pressure"), ("body_weight", "blood_pressure")])
    sim = fp.simulate(truth, clients=4, samples=1000, weights=(0.5, 1.0), intervention="shift", seed=3)
    result = fp.MPERI().fit(dict(zip(["Brest", "Lyon", "Metz", "Nice"], sim.sites, strict=True)))
    return replace(result, warnings=tuple(f"Warning {k} of the test." for k in range(12)))


def cells(browser: Any, table: str, column: int) -> list[str]:
    """Return the texts of a column, in the visible rows."""
    rows = browser.find_elements("css selector", f"#{table} tbody tr:not([hidden])")
    return [row.find_elements("css selector", "td")[column].text for row in rows]


def test_every_column_of_the_edges_sorts_both_ways(browser: Any, tmp_path: Path, compared: Result) -> None:
    opened(browser, render_report(compared), tmp_path)
    heads = browser.find_elements("css selector", "#edges thead th")
    assert [head.text for head in heads][:2] == ["Edge", "How sure"] and len(heads) == 8
    for k, head in enumerate(heads):
        head.find_element("css selector", "button").click()
        first = head.get_attribute("aria-sort")
        keys = [
            cell.get_attribute("data-key") or cell.text
            for cell in browser.find_elements("css selector", f"#edges td:nth-child({k + 1})")
        ]
        order: Any = float if "num" in str(head.get_attribute("class")) else str.casefold
        assert keys == sorted(keys, key=order, reverse=first == "descending")
        head.find_element("css selector", "button").send_keys("\n")  # from the keyboard: the other way round
        assert {first, head.get_attribute("aria-sort")} == {"ascending", "descending"}
        assert len(browser.find_elements("css selector", "#edges [aria-sort]:not([aria-sort=none])")) == 1
    one(browser, "#filter").send_keys("age")
    assert all("age" in cell for cell in cells(browser, "edges", 0))


def test_effects_of_one_cause_and_the_links_of_the_answers(browser: Any, tmp_path: Path, compared: Result) -> None:
    opened(browser, render_report(compared), tmp_path)
    common = compared.effects[compared.effects["pooled"]]
    assert len(cells(browser, "effects", 0)) == len(common)
    typed(browser, "#of-cause", "age", "change")
    assert cells(browser, "effects", 0) == ["age"] * (common["cause"] == "age").sum()
    typed(browser, "#on-effect", "blood_pressure", "change")
    assert cells(browser, "effects", 1) == ["blood_pressure"]
    assert one(browser, "#effects-shown").text == f"1 of {len(common)}"
    typed(browser, "#of-cause", "", "change")
    typed(browser, "#on-effect", "", "change")
    one(browser, "#effects th:nth-child(3) button").click()
    totals = [float(cell.split()[0]) for cell in cells(browser, "effects", 2)]
    assert totals == sorted(totals, reverse=True)
    for link in browser.find_elements("css selector", ".short a"):
        browser.execute_script("window.scrollTo(0, 0)")
        link.click()
        place = str(link.get_attribute("href")).partition("#")[2]
        top = browser.execute_script("return document.getElementById(arguments[0]).getBoundingClientRect().top", place)
        assert 0 <= top < 1000
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_paper_hides_what_is_pressed_and_shows_what_is_closed(browser: Any, tmp_path: Path, compared: Result) -> None:
    opened(browser, render_report(compared), tmp_path)
    hidden = ("#theme", ".tools", ".zoom", "#filter", ".short a")
    try:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
        browser.set_window_size(760, 1000)  # about the width of A4
        browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
        pressed = [element for what in hidden for element in browser.find_elements("css selector", what)]
        assert pressed and not any(element.is_displayed() for element in pressed)
        for k in range(12):  # the last ones are folded on the screen
            assert f"Warning {k} of the test." in one(browser, ".warnings").text
        entries = browser.find_elements("css selector", ".cell-entry")
        assert entries and all(entry.is_displayed() for entry in entries)
        for table in ("edges", "effects"):  # no column is cut off, and no row
            wide = browser.execute_script(
                "return document.getElementById(arguments[0]).getBoundingClientRect().right", table
            )
            assert wide <= browser.execute_script("return document.documentElement.clientWidth")
        assert one(browser, ".tall").value_of_css_property("max-height") == "none"
        assert not one(browser, "[aria-labelledby=h-config] pre").is_displayed()
        browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
        assert not one(browser, ".warnings details ul").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_a_phone_shows_every_number_and_breaks_no_word(browser: Any, tmp_path: Path, compared: Result) -> None:
    opened(browser, render_report(compared), tmp_path)
    try:
        size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
        for table in ("edges", "effects"):
            right = browser.execute_script(
                """return Math.max(...[...document.querySelectorAll(`#${arguments[0]} td`)]
                .map((cell) => cell.getBoundingClientRect().right));""",
                table,
            )
            assert right <= 390
        heads = [head.rect for head in browser.find_elements("css selector", "#edges thead button")]
        for one_, two in itertools.combinations(heads, 2):  # the buttons that sort are separate
            aside = one_["x"] + one_["width"] <= two["x"] + 1 or two["x"] + two["width"] <= one_["x"] + 1
            below = one_["y"] + one_["height"] <= two["y"] + 1 or two["y"] + two["height"] <= one_["y"] + 1
            assert aside or below
        assert all(head["x"] + head["width"] <= 390 for head in heads)
        said = browser.find_elements("css selector", "#edges tbody tr")[0].text
        assert all(label in browser.page_source for label in ("How sure", "What changes it")) and "0." in said
        broken = browser.execute_script(  # a name is in one line, or in lines that end after an underscore
            """const range = document.createRange(), out = [];
            for (const link of document.querySelectorAll("#edges .link")) for (const part of link.childNodes) {
              if (part.nodeType !== 3 || !part.data.trim()) continue;
              const word = part.data.trim(), at = part.data.indexOf(word);
              range.setStart(part, at); range.setEnd(part, at + word.length);
              if (new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size > 1) out.push(word);
            } return out;"""
        )
        assert broken == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_suspected_hidden_cause_is_marked_at_its_edge(browser: Any, tmp_path: Path) -> None:
    warning = "age and dose may have a hidden common cause: their mechanisms change together (by chance: 1e-3)."
    result = by_hand(warnings=(warning,))
    opened(browser, render_report(result), tmp_path)
    marked = [edge for edge in browser.find_elements("css selector", ".edge") if one_shown(edge, ".follows")]
    assert [edge.get_attribute("aria-label") for edge in marked] == ["edge between age and dose"]
    click(browser, marked[0])
    assert warning in visible_entry(browser)
    assert warning in one(browser, "#suspected").text


def one_shown(element: Any, selector: str) -> bool:
    """Return whether a part of a picture is drawn."""
    shown: bool = element.find_element("css selector", selector).value_of_css_property("display") != "none"
    return shown


def test_the_page_of_a_comparison_is_readable_in_the_dark(browser: Any, tmp_path: Path, compared: Result) -> None:
    opened(browser, render_report(compared), tmp_path)
    try:
        for light in ("light", "dark"):
            browser.execute_cdp_cmd(
                "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": light}]}
            )
            pairs = (("--warn-ink", "--warn"), ("--ink", "--fill"), ("--ink", "--mark"), ("--accent", "--paper"))
            for ink, paper in pairs:
                assert contrast(browser, ink, paper) >= 4.5
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
