"""Programs of the page for users of other tools, where those are: `nox -s neighbours` installs those of Python."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.following import DOCS, blocks, file_name

GUIDES = DOCS / "guides"


@pytest.mark.parametrize("package", ["dowhy", "pgmpy", "tetrad"])
def test_the_hand_over_prints_what_the_page_says(package: str, tmp_path: Path) -> None:
    pytest.importorskip("jpype" if package == "tetrad" else package)
    if package == "tetrad" and "TETRAD" not in os.environ:
        pytest.skip("the variable TETRAD does not name Tetrad's jar")
    page = GUIDES / "other-tools.md"
    (program,) = [text for _, text in blocks(page) if file_name(text) == f"with_{package}.py"]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    after = page.read_text(encoding="utf-8").split(program)[1].splitlines()[2]
    shown = re.findall(r"`([^`]+)`", after)[: 2 if package == "pgmpy" else 1]
    assert done.stdout.splitlines()[-len(shown) :] == shown


def test_the_page_for_r_runs_in_r(tmp_path: Path) -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    known = subprocess.run(["Rscript", "-e", "library(reticulate)"], capture_output=True, check=False)
    if known.returncode:
        pytest.skip("the R package reticulate is not installed")
    page = GUIDES / "r.md"
    program = "\n".join(text for language, text in blocks(page) if language == "r")
    done = subprocess.run(
        ["Rscript", "-e", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "RETICULATE_PYTHON": sys.executable},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = re.findall(r'It prints `([^`]+)`, and "([^"]+)"', page.read_text(encoding="utf-8"))
    assert said and all(words in done.stdout for words in said[0])
    assert done.stdout.count("age -> weight") == 2
