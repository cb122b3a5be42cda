"""PAGs: values, checks, exports and pictures."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from causallearn.utils.TXT2GeneralGraph import txt2generalgraph

import fedperi as fp
from fedperi.graph.ancestral.mag import equivalents, mag, pag_by_definition
from fedperi.graph.ancestral.pag import SYMBOLS
from fedperi.graph.formats.pag import from_causallearn, from_tetrad, pag_files, to_causallearn, to_tetrad
from fedperi.report.pictures.pag import pag_svg

EVERY = fp.PAG.from_edges([(f"a{k}", symbol, f"blood_pressure_{k}") for k, symbol in enumerate(SYMBOLS)], names=None)


def test_a_pag_is_a_value() -> None:
    other = EVERY.reordered(EVERY.names[::-1])
    assert other == EVERY and hash(other) == hash(EVERY) and other.names != EVERY.names
    assert pickle.loads(pickle.dumps(EVERY)) == EVERY
    assert fp.PAG.from_edges([("A", "o->", "B")]) != fp.PAG.from_edges([("A", "-->", "B")])
    with pytest.raises(AttributeError, match="immutable"):
        EVERY.names = ()  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        EVERY.marks[0, 1] = 1


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ([[0, 2], [0, 0]], "the edge between 0 and 1 has a mark at one end only"),
        ([[0, 4], [1, 0]], r"marks\[0, 1\] is 4; it must be 0 \(none\)"),
        ([[1, 0], [0, 0]], "a variable cannot have an edge to itself"),
        ([[0, 1]], "square matrix"),
        ([[0, 0.5], [0.5, 0]], "whole numbers"),
    ],
)
def test_what_is_no_pag_is_refused(marks: object, message: str) -> None:
    with pytest.raises(fp.InputError, match=message):
        fp.PAG(marks)


def test_edges_that_cannot_be_are_refused() -> None:
    with pytest.raises(fp.InputError, match="two edges between B and A"):
        fp.PAG.from_edges([("A", "o->", "B"), ("B", "o-o", "A")])
    with pytest.raises(fp.InputError, match="'=>' is not an edge of a PAG"):
        fp.PAG.from_edges([("A", "=>", "B")])


def test_exports_round_trip() -> None:
    assert from_causallearn(to_causallearn(EVERY), EVERY.names) == EVERY
    assert from_tetrad(to_tetrad(EVERY)) == EVERY
    spaces = fp.PAG(EVERY.marks, [name.replace("_", " ") for name in EVERY.names])  # as other programs may write them
    assert fp.PAG.from_tetrad(to_tetrad(EVERY).replace("blood_pressure_", "blood pressure ")) == spaces


@pytest.mark.parametrize("name", ["A;B", "A B", "A,B", " A"])
def test_names_that_tetrad_cannot_read_are_refused_and_do_not_stop_other_files(name: str) -> None:
    graph = fp.PAG.from_edges([(name, "o->", "C")])
    with pytest.raises(fp.InputError, match="cannot be written"):
        graph.to_tetrad()
    assert sorted(pag_files(graph)) == ["edges.csv", "graph.causallearn.csv", "graph.dot"]


def test_causallearn_reads_our_tetrad_text(tmp_path: object) -> None:
    graph = fp.PAG.from_edges([("A", "o->", "B"), ("B", "<->", "C"), ("C", "-->", "D"), ("A", "o-o", "D")])
    path = tmp_path / "graph.txt"
    path.write_text(graph.to_tetrad())
    assert from_causallearn(txt2generalgraph(str(path))) == graph


def test_a_picture_shows_every_mark() -> None:
    picture = pag_svg(EVERY)
    assert picture.count("<circle") == 6 and picture.count('class="head"') == 6
    assert "white" not in picture, "it must do on a dark page"


def test_a_mag_by_hand() -> None:
    """A <- H -> B, B -> C: A and B have a hidden cause, and A is informative about C only through B."""
    truth = mag(fp.PDAG.from_edges([("H", "A"), ("H", "B"), ("B", "C")]), ["H"])
    assert truth == fp.PAG.from_edges([("A", "<->", "B"), ("B", "-->", "C")])
    assert all(np.count_nonzero(marks) == 4 for marks in equivalents(truth))
    assert pag_by_definition(truth) == fp.PAG.from_edges([("A", "o-o", "B"), ("B", "o-o", "C")])
