"""The report and the files of FCI: what they say, that they are safe, and that they can be read back."""

from __future__ import annotations

from pathlib import Path

import pytest

import fedperi as fp
from fedperi.errors import InputError
from fedperi.graph.ancestral.pag import SYMBOLS
from fedperi.graph.formats.pag import from_tetrad
from fedperi.methods.fci import FCIResult
from fedperi.methods.files.loading import load_any
from fedperi.report.pag.page import render_pag_report
from fedperi.report.pag.words import edge_words


def found() -> FCIResult:
    return fp.FCI().fit(fp.simulate(5, clients=3, samples=800, seed=2).sites)


def edge_pag(*edges: tuple[str, str, str]) -> FCIResult:
    return FCIResult(fp.PAG.from_edges(edges), (), {}, 3, ("Mind the gap.",))


def test_every_edge_of_a_fit_has_its_meaning_on_the_page() -> None:
    result = found()
    page = render_pag_report(result)
    assert result.graph.edges
    for edge in result.graph.edges:
        assert edge_words(*edge).replace("'", "&#39;") in page


@pytest.mark.parametrize("symbol", [symbol for symbol in SYMBOLS if symbol not in ("<--", "<-o")])
def test_every_kind_of_edge_has_words(symbol: str) -> None:
    edges = fp.PAG.from_edges([("A", symbol, "B")]).edges
    assert "A" in edge_words(*edges[0]) or "They" in edge_words(*edges[0]) or "oth" in edge_words(*edges[0])


def test_names_cannot_add_markup_and_warnings_are_shown() -> None:
    page = render_pag_report(edge_pag(("<script>alert(1)</script>", "o->", "b")))
    assert "<script" not in page
    assert "Mind the gap." in page
    assert "default-src 'none'" in page


def test_a_saved_result_is_read_back(tmp_path: Path) -> None:
    result = found()
    result.save(tmp_path / "out")
    again = load_any(tmp_path / "out")
    assert isinstance(again, FCIResult)
    assert again.to_json() == result.to_json()
    assert from_tetrad((tmp_path / "out/graph.tetrad.txt").read_text()) == result.graph
    with pytest.raises(InputError, match="a PAG of FCI"):
        fp.load(tmp_path / "out")
    with pytest.raises(InputError, match="already holds"):
        result.save(tmp_path / "out")


@pytest.mark.parametrize("text", ["", "[]", '{"format": "fedperi.pag"}', '{"format": "fedperi.pag", "version": 9}'])
def test_damaged_results_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(InputError):
        load_any(tmp_path)
