"""The tables of the site sort in a browser, and methods have the colours of the figures. Skipped without Chromium."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fedperi.benchmark.contenders import CONTENDERS

CHROMIUM = shutil.which("chromium")
SCRIPT = Path(__file__).parents[2] / "docs" / "site" / "sortable.js"
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]

PAGE = """<html><body><article><table><thead><tr><th>method</th><th>SHD</th></tr></thead><tbody>
<tr><td>PERI</td><td>10.5 ± 2</td></tr><tr><td>M-PERI</td><td><b>2.00</b> ± 0.3 (5)</td></tr>
<tr><td>GnIES</td><td>-</td></tr><tr><td>FedDAG</td><td>stopped</td></tr><tr><td>FedCDH</td><td>1,020</td></tr>
</tbody></table></article>
<script>window.METHOD_COLOURS = {"M-PERI": "#0b5394"};</script><script src="SCRIPT"></script>
<script>document.addEventListener("DOMContentLoaded", function () {
  var heads = document.querySelectorAll("th"); CLICKS
  var shown = Array.from(document.querySelectorAll("td:first-child")).map(function (c) { return c.textContent; });
  document.body.innerHTML = "<p>" + shown.join(",") + "|" + heads[1].getAttribute("aria-sort") + "</p>"
    + "<i>" + dots + "</i>";
});</script></body></html>"""


def shown(folder: Path, clicks: str, text: str = PAGE) -> str:
    page = folder / "page.html"
    dots = 'var dots = Array.from(document.querySelectorAll(".method-dot")).map(d => d.style.backgroundColor).join();'
    page.write_text(text.replace("SCRIPT", SCRIPT.as_uri()).replace("CLICKS", dots + clicks), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder}/c"]
    done = subprocess.run(
        [str(CHROMIUM), *flags, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120
    )
    return done.stdout


def test_a_click_sorts_numbers_before_words_and_dashes_last(tmp_path: Path) -> None:
    assert "<p>M-PERI,PERI,FedCDH,FedDAG,GnIES|ascending</p>" in shown(tmp_path, "heads[1].click();")
    twice = shown(tmp_path, "heads[1].click(); heads[1].click();")
    order = re.search(r"<p>(.*)\|descending</p>", twice)
    assert order is not None and order[1].split(",")[-1] == "GnIES" and "FedCDH,PERI,M-PERI" in order[1]
    assert "<p>FedCDH,FedDAG,GnIES,M-PERI,PERI|none</p>" in shown(tmp_path, "heads[0].click();")


def test_a_table_of_words_keeps_its_order(tmp_path: Path) -> None:
    page = PAGE.replace("10.5 ± 2", "first").replace("<b>2.00</b> ± 0.3 (5)", "second").replace("1,020", "last")
    assert "<p>PERI,M-PERI,GnIES,FedDAG,FedCDH|null</p>" in shown(tmp_path, "heads[0].click();", page)


def test_a_method_has_its_colour_and_nothing_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    assert "<i>rgb(11, 83, 148)</i>" in shown(tmp_path, "")
    assert CONTENDERS["mperi"].colour == "#0b5394"
    assert not re.search(r"https?://|fetch\(|XMLHttpRequest|import\(", SCRIPT.read_text(encoding="utf-8"))
