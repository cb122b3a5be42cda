"""Each notebook runs from top to bottom, without Jupyter; it is kept without outputs."""

import json
from pathlib import Path

import pytest
from helpers.site import ROOT, site_module

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_something(path: Path) -> None:
    ran = site_module("notebooks").run(path)
    code = [cell for cell in ran if cell.kind == "code"]
    assert len(code) >= 2
    # A result draws its graph, and every notebook has a picture.
    assert any(cell.pictures or "<svg" in cell.html for cell in code)
    assert all(b"PNG" in picture[:8] for cell in code for picture in cell.pictures)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell for cell in code if cell["outputs"] or cell["execution_count"] is not None] == []


def test_a_cell_that_fails_is_an_error_and_the_last_value_is_shown(tmp_path: Path) -> None:
    def notebook(*sources: str) -> Path:
        path = tmp_path / "x.ipynb"
        path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": [one]} for one in sources]}))
        return path

    run = site_module("notebooks").run
    assert [cell.text for cell in run(notebook("a = 1\nprint('x')", "a + 1", "a;", "a = 2"))] == ["x", "2", "", ""]
    with pytest.raises(ZeroDivisionError):
        run(notebook("a = 1", "a / 0"))
