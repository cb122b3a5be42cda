"""Export and import: every pair of writer and reader loses nothing, and bad text is one clear sentence."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from helpers.refusals import assert_refused
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fedperi as fp
from fedperi.graph import formats

nx = pytest.importorskip("networkx")
quick = settings(max_examples=200)

# -- strategies -------------------------------------------------------------------------------------------------

NASTY = [
    "blood pressure", " lead", "trail ", 'say "hi"', "it's", "a-b", "-1", "1st", "3.5", "größe", "血压", "🙂",
    "a->b", "--", "a;b", "a,b", "{x}", "[x]", "# no", "// no", "/* no */", "a\\", "\\", '\\"', '"', "a\\nb", "a\\\\",
    "&amp;", "&#38;", "=", "+", "edge", "Digraph", "subgraph", "strict", "dag", "NAN", "INF", "true", "null", "from",
    "x.dot", "y.gml", "z.txt", "graph {a}", "<b>", "@", "A:n", "\u00a0", "\u2028", "\x85", "%", "()x", "\ufeff",
]  # fmt: skip
CONTROL = ["a\nb", "tab\t", "\r", "\r\n", "\x00", "\x1c", "a\\\nb", "\x7f"]


def names(control: bool) -> st.SearchStrategy[str]:
    """Names a table could have, with or without control characters."""
    free = st.text(st.characters(exclude_categories=["Cs"] if control else ["Cs", "Cc"]), min_size=1, max_size=5)
    return st.sampled_from(NASTY + CONTROL if control else NASTY) | free | st.text('ab"\\ -', min_size=1, max_size=4)


@st.composite
def named_pdags(draw: st.DrawFn, control: bool = True, refused: tuple[str, ...] = ()) -> fp.PDAG:
    """A random DAG in any order, some edges made undirected, under nasty names."""
    labels = draw(st.lists(names(control).filter(lambda name: name not in refused), max_size=5, unique=True))
    p = len(labels)
    kinds = draw(st.lists(st.sampled_from(["", "->", "--"]), min_size=p * (p - 1) // 2, max_size=p * (p - 1) // 2))
    order = draw(st.permutations(range(p)))
    matrix = np.zeros((p, p), dtype=bool)
    for (i, j), kind in zip(combinations(order, 2), kinds, strict=True):
        matrix[i, j], matrix[j, i] = kind != "", kind == "--"
    return fp.PDAG(matrix, labels)


anything = named_pdags()
for_dagitty = named_pdags(control=False, refused=("graph", "node"))
for_gml = named_pdags(refused=("()", "[]"))

WRITERS: dict[str, tuple[Callable[[fp.PDAG], str], Callable[[str], fp.PDAG]]] = {
    name: (form.write, form.read) for name, form in formats.TEXT_FORMATS.items()
}


def assert_same(read: fp.PDAG, written: fp.PDAG) -> None:
    """Equal, and in the same order of variables."""
    assert read.names == written.names
    assert np.array_equal(read.adjacency, written.adjacency)


# -- round trips ------------------------------------------------------------------------------------------------


@quick
@given(anything)
def test_dot_round_trip(graph: fp.PDAG) -> None:
    assert_same(formats.from_dot(formats.to_dot(graph)), graph)


@quick
@given(for_dagitty)
def test_dagitty_round_trip(graph: fp.PDAG) -> None:
    assert_same(formats.from_dagitty(formats.to_dagitty(graph)), graph)


@quick
@given(for_gml)
def test_gml_round_trip(graph: fp.PDAG) -> None:
    assert_same(formats.from_gml(formats.to_gml(graph)), graph)


@quick
@given(anything)
def test_csv_round_trip(graph: fp.PDAG) -> None:
    assert_same(formats.from_csv(formats.to_csv(graph)), graph)


@quick
@given(anything)
def test_json_round_trip(graph: fp.PDAG) -> None:
    assert_same(formats.from_json(formats.to_json(graph)), graph)


@quick
@given(anything)
def test_networkx_round_trip(graph: fp.PDAG) -> None:
    assert_same(formats.from_networkx(formats.to_networkx(graph)), graph)


@quick
@given(anything)
def test_causallearn_round_trip(graph: fp.PDAG) -> None:
    assert_same(formats.from_causallearn(formats.to_causallearn(graph), graph.names), graph)


@quick
@given(anything)
def test_pgmpy_round_trip(graph: fp.PDAG) -> None:
    assert_same(formats.from_pgmpy(*formats.to_pgmpy(graph), names=graph.names), graph)


@quick
@given(for_dagitty.filter(lambda graph: not {"()", "[]"} & set(graph.names)))
def test_methods_are_the_functions(graph: fp.PDAG) -> None:
    for x in ("dot", "dagitty", "gml", "csv", "json", "networkx"):
        assert_same(getattr(fp.PDAG, f"from_{x}")(getattr(graph, f"to_{x}")()), graph)
    assert_same(fp.PDAG.from_causallearn(graph.to_causallearn(), graph.names), graph)
    assert_same(fp.PDAG.from_pgmpy(*graph.to_pgmpy(), names=graph.names), graph)


@pytest.mark.parametrize("name", NASTY + CONTROL)
@pytest.mark.parametrize("form", WRITERS)
def test_every_nasty_name_survives_every_text(form: str, name: str) -> None:
    write, read = WRITERS[form]
    graph = fp.PDAG.from_edges([(name, "B")], [("C", name)], names=["C", name, "B", "alone"])
    if form == "DAGitty" and name in CONTROL:
        with pytest.raises(fp.InputError, match="control characters"):
            write(graph)
        return
    assert_same(read(write(graph)), graph)


@quick
@given(anything)
def test_equal_graphs_in_one_order_have_one_text(graph: fp.PDAG) -> None:
    again = fp.PDAG.from_edges(graph.directed, [(b, a) for a, b in graph.undirected], graph.names)
    for write in (formats.to_dot, formats.to_csv, formats.to_json):
        assert write(again) == write(graph)


# -- by hand ----------------------------------------------------------------------------------------------------

HAND = fp.PDAG.from_edges([("Z", 'a "b"')], [('a "b"', "ü-1")], names=["Z", 'a "b"', "ü-1", "alone"])

SNAPSHOTS = {
    "DOT": """digraph {
  "Z";
  "a \\"b\\"";
  "ü-1";
  "alone";
  "Z" -> "a \\"b\\"";
  "a \\"b\\"" -> "ü-1" [dir=none];
}
""",
    "DAGitty": """pdag {
  "Z"
  "a \\"b\\""
  "ü-1"
  "alone"
  "Z" -> "a \\"b\\""
  "a \\"b\\"" -- "ü-1"
}
""",
    "GML": """graph [
  comment "kind arrow: source causes target. kind open: a line, written once each way; its direction is not known."
  directed 1
  node [ id 0 label "Z" ]
  node [ id 1 label "a &#34;b&#34;" ]
  node [ id 2 label "&#252;-1" ]
  node [ id 3 label "alone" ]
  edge [ source 0 target 1 kind "arrow" ]
  edge [ source 1 target 2 kind "open" graphics [ arrow "none" ] ]
  edge [ source 2 target 1 kind "open" graphics [ arrow "none" ] ]
]
""",
    "CSV": """from,to,type
Z,,node
"a ""b""\",,node
ü-1,,node
alone,,node
Z,"a ""b""\",->
"a ""b""\",ü-1,--
""",
    "JSON": """{
  "format": "fedperi.graph",
  "version": 1,
  "names": ["Z", "a \\"b\\"", "\\u00fc-1", "alone"],
  "directed": [["Z", "a \\"b\\""]],
  "undirected": [["a \\"b\\"", "\\u00fc-1"]]
}
""",
}


@pytest.mark.parametrize("form", WRITERS)
def test_text_by_hand(form: str) -> None:
    write, read = WRITERS[form]
    assert write(HAND) == SNAPSHOTS[form]
    assert_same(read(SNAPSHOTS[form]), HAND)


def test_objects_by_hand() -> None:
    assert formats.to_causallearn(HAND).tolist() == [[0, -1, 0, 0], [1, 0, -1, 0], [0, -1, 0, 0], [0, 0, 0, 0]]
    assert formats.to_pgmpy(HAND) == ([("Z", 'a "b"')], [('a "b"', "ü-1")])
    out = formats.to_networkx(HAND)
    assert type(out) is nx.DiGraph
    assert list(out.nodes) == ["Z", 'a "b"', "ü-1", "alone"]
    assert list(out.edges) == [("Z", 'a "b"'), ('a "b"', "ü-1"), ("ü-1", 'a "b"')]


def test_a_dag_is_a_dag_for_dagitty_and_the_empty_graph_survives() -> None:
    assert formats.to_dagitty(fp.PDAG.from_edges([("A", "B")])).startswith("dag {\n")
    empty = fp.PDAG([], [])
    for write, read in WRITERS.values():
        assert_same(read(write(empty)), empty)
    assert_same(formats.from_networkx(formats.to_networkx(empty)), empty)
    assert_same(formats.from_causallearn(formats.to_causallearn(empty)), empty)
    assert_same(formats.from_pgmpy(*formats.to_pgmpy(empty)), empty)


def test_dagitty_spelling_of_backslashes_follows_its_grammar() -> None:
    # Its grammar: \" is a quote, a backslash and a line break are nothing, any other backslash is itself.
    graph = fp.PDAG.from_edges([("a\\b", 'c\\"'), ("a\\b", "d\\")])
    assert formats.to_dagitty(graph) == (
        'dag {\n  "a\\b"\n  "c\\\\""\n  "d\\\\\n"\n  "a\\b" -> "c\\\\""\n  "a\\b" -> "d\\\\\n"\n}\n'
    )


# -- hand-written texts -----------------------------------------------------------------------------------------


def edges(graph: fp.PDAG) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    return sorted(graph.directed), sorted(graph.undirected)


@pytest.mark.parametrize(
    ("text", "directed", "undirected"),
    [
        ('digraph { a -> b; "c d" -- e; a -> c }', [("a", "b"), ("a", "c")], [("c d", "e")]),
        ("digraph G { a -> b -> c }", [("a", "b"), ("b", "c")], []),
        ("digraph { a -> b -> c [dir=none, color=red] }", [], [("a", "b"), ("b", "c")]),
        ("graph{a--b--c}", [], [("a", "b"), ("b", "c")]),
        ("strict digraph{a->b\nc->b}", [("a", "b"), ("c", "b")], []),
        ("DIGRAPH { a -> {b c} -> d }", [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")], []),
        ("digraph { subgraph cluster_0 { label=x; a -> b } b -> c }", [("a", "b"), ("b", "c")], []),
        ("digraph { rankdir=LR; node [shape=box]; edge [color=blue]; a -> b [label=\"x -> y\"] }", [("a", "b")], []),
        ("digraph { edge [dir=none]; a -> b; c -> d [dir=forward] }", [("c", "d")], [("a", "b")]),
        ("digraph { subgraph { edge [dir=none]; a -> b } b -> c }", [("b", "c")], [("a", "b")]),
        ("digraph { a -> b [dir=back] }", [("b", "a")], []),
        ("digraph { 0 -> 1 [dir=both, arrowtail=none, arrowhead=normal] }", [("0", "1")], []),
        ("digraph { 0 -> 1 [dir=both, arrowtail=none, arrowhead=none] }", [], [("0", "1")]),
        ("digraph { a -> b [arrowhead=none] }", [], [("a", "b")]),
        ("# by hand\ndigraph { // one\n a -> b /* two\n three */ ; # four\n b -> c }", [("a", "b"), ("b", "c")], []),
        ('digraph { "a" + "b" -> "-1"; "x\\\ny" -> -1 }', [("ab", "-1"), ("xy", "-1")], []),
        ("digraph { größe -> x.1; -.5 -> größe }", [("-.5", "größe"), ("größe", "x.1")], []),
        ('digraph { "node" -> "edge" }', [("node", "edge")], []),
        ("digraph { a [label=x][shape=box]; a -> b [x=1;y=2][dir=none] }", [], [("a", "b")]),
    ],
)  # fmt: skip
def test_dot_as_people_write_it(text: str, directed: list[tuple[str, str]], undirected: list[tuple[str, str]]) -> None:
    assert edges(formats.from_dot(text)) == (directed, undirected)


@pytest.mark.parametrize(
    ("text", "directed", "undirected"),
    [
        ('pdag { "A" -> "B" "B" -- "C" }', [("A", "B")], [("B", "C")]),
        ("dag{a->b->c<-d}", [("a", "b"), ("b", "c"), ("d", "c")], []),
        ('dag {\nbb="-2,-1,2,1"\nX [exposure,pos="-1.0,0.3"]\nY [outcome,pos="1,0"]\nX -> Y [pos="0,1",beta=.5]\n}\n',
         [("X", "Y")], []),
        ("dag { {x m} -> y }", [("m", "y"), ("x", "y")], []),
        ("PDAG g { x -- {y z} ; edge -> x }", [("edge", "x")], [("x", "y"), ("x", "z")]),
    ],
)  # fmt: skip
def test_dagitty_as_people_write_it(
    text: str, directed: list[tuple[str, str]], undirected: list[tuple[str, str]]
) -> None:
    assert edges(formats.from_dagitty(text)) == (directed, undirected)


def test_gml_as_others_write_it() -> None:
    dowhy_style = 'graph[directed 1node[ id "y" label "y"]node[ id "v0" label "v0"]edge[source "v0" target "y"]]'
    assert edges(formats.from_gml(dowhy_style.replace("1node", "1 node"))) == ([("v0", "y")], [])
    undirected = (
        'Creator "x" graph [ node [ id 0 label 5 w 1.5 ] # c\n node [ id 1 label B ] edge [ source 0 target 1 ] ]'
    )
    assert edges(formats.from_gml(undirected)) == ([], [("5", "B")])
    assert formats.from_gml('graph [ node [ id 0 label "&eacute;&#xe9;&nothing;&#99999999999;&" ] ]').names == (
        "éé&nothing;&#99999999999;&",
    )


def test_csv_as_others_write_it() -> None:
    spreadsheet = '\ufefffrom,to,type\r\nage, "b, p" ,->\r\n'.replace('" ,', '",')
    assert edges(formats.from_csv(spreadsheet)) == ([("age", "b, p")], [])
    assert formats.from_csv("from, to, type\nA, B, --\n\n,,\nC,,node\n").names == ("A", "B", "C")
    assert edges(formats.from_csv("from,to,type\nA, B, --\nB,C,->")) == ([("B", "C")], [("A", "B")])


def test_csv_opens_in_pandas_and_the_csv_module() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.read_csv(io.StringIO(formats.to_csv(HAND)), keep_default_na=False)
    assert table[table["type"] == "->"].values.tolist() == [["Z", 'a "b"', "->"]]
    assert list(csv.reader(io.StringIO(formats.to_csv(HAND))))[-1] == ['a "b"', "ü-1", "--"]


# -- agreement with the other tools -----------------------------------------------------------------------------


@quick
@given(for_gml)
def test_networkx_reads_our_gml_to_the_same_arcs(graph: fp.PDAG) -> None:
    if not graph.names:
        return
    text = formats.to_gml(graph)
    assert text.isascii()
    # DoWhy joins the lines before it hands the text to networkx.
    for version in (text, text.replace("\n", " ")):
        read = nx.parse_gml(version)
        expected = formats.to_networkx(graph)
        assert list(read.nodes) == list(expected.nodes)
        assert set(read.edges) == set(expected.edges)
        assert read.is_directed()


@quick
@given(for_gml)
def test_dowhy_takes_our_gml_for_gml(graph: fp.PDAG) -> None:
    joined = formats.to_gml(graph).replace("\n", " ")
    for other in (r".*\.txt", r"^dag", r".*\.dot", r".*\.gml", r".*graph\s*\{.*\}\s*"):
        assert not re.match(other, joined)
    assert re.match(r".*graph\s*\[.*\]\s*", joined)


@quick
@given(for_gml)
def test_we_read_the_gml_of_networkx(graph: fp.PDAG) -> None:
    out = nx.relabel_nodes(formats.to_networkx(graph), {name: name for name in graph.names})
    assert_same(formats.from_gml("\n".join(nx.generate_gml(out))), graph)


def test_an_open_edge_in_gml_is_not_two_arrows() -> None:
    """Every entry says what it is, in networkx as in igraph; arrows can be told from lines without our reader."""
    igraph = pytest.importorskip("igraph")
    text = formats.to_gml(HAND)
    read = nx.parse_gml(text)
    assert [edge for *edge, kind in read.edges(data="kind") if kind == "arrow"] == [["Z", 'a "b"']]
    lines = [data for _, _, data in read.edges(data=True) if data["kind"] == "open"]
    assert lines == [{"kind": "open", "graphics": {"arrow": "none"}}] * 2
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # igraph says that it does not keep the key graphics
        (Path(folder) / "graph.gml").write_text(text)
        other = igraph.Graph.Read_GML(str(Path(folder) / "graph.gml"))
    assert other.is_directed() and [html.unescape(label) for label in other.vs["label"]] == list(HAND.names)
    assert [(edge.tuple, edge["kind"]) for edge in other.es] == [((0, 1), "arrow"), ((1, 2), "open"), ((2, 1), "open")]
    assert other.is_mutual() == [False, True, True]


def test_networkx_undirected_and_multigraphs() -> None:
    assert edges(formats.from_networkx(nx.Graph([("A", "B")]))) == ([], [("A", "B")])
    assert edges(formats.from_networkx(nx.MultiDiGraph([("A", "B"), ("B", "A"), ("A", "C")]))) == (
        [("A", "C")],
        [("A", "B")],
    )


@quick
@given(anything)
def test_causallearn_builds_the_same_matrix(graph: fp.PDAG) -> None:
    from causallearn.graph.Edge import Edge
    from causallearn.graph.Endpoint import Endpoint
    from causallearn.graph.GeneralGraph import GeneralGraph
    from causallearn.graph.GraphNode import GraphNode

    node = {name: GraphNode(name) for name in graph.names}
    general = GeneralGraph(list(node.values()))
    for tail, head in graph.directed:
        general.add_directed_edge(node[tail], node[head])
    for a, b in graph.undirected:
        general.add_edge(Edge(node[a], node[b], Endpoint.TAIL, Endpoint.TAIL))
    assert np.array_equal(general.graph, formats.to_causallearn(graph))
    assert_same(formats.from_causallearn(general), graph)
    assert_same(formats.from_causallearn(general.graph.astype(float), graph.names), graph)


def test_causallearn_result_of_pc() -> None:
    from causallearn.search.ConstraintBased.PC import pc

    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 2000))
    data = np.column_stack([a, b, a + b + rng.normal(size=2000)])
    found = pc(data, show_progress=False, node_names=["A", "B", "C"])
    expected = ([("A", "C"), ("B", "C")], [])  # type: ignore[var-annotated]
    assert edges(formats.from_causallearn(found)) == expected
    assert edges(formats.from_causallearn(found.G)) == expected
    assert edges(formats.from_causallearn(found.G, names=["x", "y", "z"])) == ([("x", "z"), ("y", "z")], [])
    assert formats.from_causallearn(found.G.graph).names == ("X0", "X1", "X2")
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(found.G.graph, columns=["G", "graph", "C"])
    assert formats.from_causallearn(table, table.columns).directed == {("G", "C"), ("graph", "C")}


def test_pgmpy_reads_our_lists() -> None:
    base = pytest.importorskip("pgmpy.base", reason="pgmpy is not installed: it needs PyTorch")
    read = base.PDAG(*formats.to_pgmpy(HAND))
    assert set(read.directed_edges) == HAND.directed
    assert {frozenset(edge) for edge in read.undirected_edges} == {frozenset(edge) for edge in HAND.undirected}
    dag = fp.PDAG.from_edges([("age", "dose"), ("age", "pain"), ("dose", "pain")])
    lists = formats.to_pgmpy(dag)
    assert set(base.DAG(lists.directed_ebunch).edges) == dag.directed and not lists.undirected_ebunch
    assert_same(formats.from_pgmpy(read.directed_edges, read.undirected_edges, HAND.names), HAND)


@quick
@given(named_pdags(control=False).filter(lambda graph: not any(re.search(r"[;,\s]", name) for name in graph.names)))
def test_tetrad_round_trip(graph: fp.PDAG) -> None:
    assert_same(formats.from_tetrad(formats.to_tetrad(graph)), graph)


def test_causallearn_reads_our_text_for_tetrad(tmp_path: Path) -> None:
    from causallearn.utils.TXT2GeneralGraph import txt2generalgraph

    graph = fp.PDAG.from_edges(
        [("age", "dose"), ("dose", "pain")], [("age", "sex")], names=["age", "sex", "dose", "pain"]
    )
    (tmp_path / "graph.txt").write_text(formats.to_tetrad(graph))
    read = txt2generalgraph(str(tmp_path / "graph.txt"))
    assert_same(formats.from_causallearn(read), graph)


def test_a_pag_is_no_pdag_in_tetrads_text() -> None:
    text = fp.PAG.from_edges([("A", "o->", "B")]).to_tetrad()
    with pytest.raises(fp.InputError, match=r"Tetrad: A o-> B is an edge of a PAG; read it with PAG\.from_tetrad"):
        fp.PDAG.from_tetrad(text)


@settings(max_examples=20)  # pydot takes 0.1 s a graph
@given(named_pdags(control=False).filter(lambda graph: not any("\\" in name for name in graph.names)))
def test_pydot_reads_our_dot(graph: fp.PDAG) -> None:
    pydot = pytest.importorskip("pydot")
    (read,) = pydot.graph_from_dot_data(formats.to_dot(graph))

    def name(quoted: str) -> str:
        return quoted[1:-1].replace('\\"', '"')

    assert [name(node.get_name()) for node in read.get_nodes()] == list(graph.names)
    drawn = [(name(e.get_source()), name(e.get_destination()), e.get("dir")) for e in read.get_edges()]
    assert {(a, b) for a, b, direction in drawn if direction is None} == graph.directed
    assert {(a, b) for a, b, direction in drawn if direction == "none"} == graph.undirected


# -- errors -----------------------------------------------------------------------------------------------------

DUPLICATE = "is a second edge between the two, after"
NO_EDGE = "is not an edge of a PDAG, which has only ->, <- and --"
NO_FILE = "(the text itself, not a file name)"
QUOTE = "put names that are not plain words in double quotes"
CUT_OFF = "the text may be cut off, or a file name instead of its content"
BAD_TEXT = [
    # not that format
    ("DOT", "graph.dot", f"DOT, line 1: expected digraph {{ or graph {{ {NO_FILE}, found 'graph.dot'"),
    ("DOT", "", f"DOT, line 1: expected digraph {{ or graph {{ {NO_FILE}, found the end of the text"),
    ("DAGitty", "mag { a -> b }", f"DAGitty, line 1: expected dag {{ or pdag {{ {NO_FILE}, found 'mag'"),
    ("GML", "net.gml", "GML: the text ends where a value for 'net.gml' should follow"),
    ("GML", "", f"GML: expected one 'graph [ ... ]' {NO_FILE}, found 0"),
    ("GML", "graph [ ] graph [ ]", f"GML: expected one 'graph [ ... ]' {NO_FILE}, found 2"),
    ("CSV", "", "CSV: the text is empty; the header must be from,to,type"),
    ("CSV", "a;b", "CSV, line 1: the header must be from,to,type, not 'a;b'"),
    ("JSON", "net.json", f"JSON, line 1: Expecting value; {CUT_OFF}"),
    ("JSON", "[1]", "JSON: this is not a graph written by fedperi: 'format' must be 'fedperi.graph', found [1]"),
    ("JSON", "{}", "JSON: this is not a graph written by fedperi: 'format' must be 'fedperi.graph', found null"),
    # cut off
    ("DOT", "digraph {\n a -> b", "DOT, line 2: expected a statement or }, found the end of the text"),
    ("DOT", "digraph {\n a -> ", "DOT, line 2: expected a name, found the end of the text"),
    ("DOT", 'digraph {\n a -> "b', "DOT, line 2: a quoted name starts here and does not end"),
    ("DOT", "digraph {\n a /* b", "DOT, line 2: a comment starts here and does not end"),
    ("DOT", "digraph { a -> b [dir=none", "DOT, line 1: expected an attribute or ], found the end of the text"),
    ("DOT", "digraph", "DOT, line 1: expected {, found the end of the text"),
    ("GML", "graph [\n directed 1", "GML, line 1: a bracket opens here and does not close; the text is cut off"),
    ("GML", "graph [\n directed", "GML: the text ends where a value for 'directed' should follow"),
    ("GML", 'graph [ node [ id 0\nlabel "A', "GML, line 2: a quoted value starts here and does not end"),
    ("CSV", "from,to,type\nA,B", "CSV, line 2: 2 fields instead of 3 (from,to,type); quote names that hold a comma"),
    ("CSV", 'from,to,type\n"A', "CSV, line 2: unexpected end of data; the text may be cut off"),
    ("JSON", '{"format":', f"JSON, line 1: Expecting value; {CUT_OFF}"),
    # syntax
    ("DOT", "digraph { a-b -> c }", f"DOT, line 1: cannot read '-b -> c }}'; {QUOTE}"),
    ("DOT", "digraph {\na:n -> c }", f"DOT, line 2: cannot read ':n -> c }}'; {QUOTE}"),
    ("DOT", "digraph { node -> a }",
     "DOT, line 1: expected attributes after 'node' (as a name, write it in double quotes), found '->'"),
    ("DOT", "digraph { a -> edge }", "DOT, line 1: expected a name, found 'edge'"),
    ("DOT", "digraph { a } x", "DOT, line 1: expected the end of the text, one graph only, found 'x'"),
    ("DOT", 'digraph { "a" + b }', "DOT, line 1: expected a quoted name after +, found 'b'"),
    ("DOT", "digraph { subgraph x; }", "DOT, line 1: expected {, found ';'"),
    ("DOT", "digraph " + "{" * 60 + "}" * 60, "DOT, line 1: more than 50 groups in one another; write the edges out"),
    ("GML", "graph [ ]\n]", "GML, line 2: expected a key or ], found ']'"),
    ("GML", "graph [ directed ]", "GML, line 1: expected a value for 'directed', found ']'"),
    ("GML", "graph [ directed 2 ]", "GML, line 1: 'directed' must be 0 or 1"),
    ("GML", "graph [\nnode [ id 0 ] ]", "GML, line 2: every node needs one 'label' with a single value"),
    ("GML", "graph [ edge [ source [ ] ] ]", "GML, line 1: every edge needs one 'source' with a single value"),
    ("GML", "graph [ node 5 ]", "GML, line 1: every node needs one 'id' with a single value"),
    ("GML", "graph [ node [ id 0 label A ] node [ id 0 label B ] ]", "GML, line 1: a second node has the id 0"),
    ("CSV", "from,to,type\nA,B,>", "CSV, line 2: type must be ->, -- or node, not '>'"),
    ("CSV", "from,to,type\nA,B,node", "CSV, line 2: a row of type node has an empty 'to', not 'B'"),
    ("CSV", "from,to,type\n,,node", "CSV, line 2: a row of type node needs a name in 'from'"),
    ("CSV", "from,to,type\nA,,->",
     "CSV, line 2: an edge needs a name in 'from' and in 'to'; an isolated variable has type node"),
    ("CSV", 'from,to,type\n"A"x,B,->', "CSV, line 2: ',' expected after '\"'; the text may be cut off"),
    # edges a PDAG cannot have
    ("DOT", "digraph {\n a -> b [dir=both] }", f"DOT, line 2: a <-> b {NO_EDGE}"),
    ("DOT", "digraph { a -> b [dir=both, arrowtail=odot] }",
     f"DOT, line 1: a [arrowtail=odot, arrowhead=normal] b {NO_EDGE}"),
    ("DOT", "digraph { a -> b [dir=up] }", f"DOT, line 1: a [dir=up] b {NO_EDGE}"),
    ("DAGitty", "pdag { a <-> b }", f"DAGitty, line 1: a <-> b {NO_EDGE}"),
    ("DAGitty", "pdag { a @-> b }", f"DAGitty, line 1: a @-> b {NO_EDGE}"),
    ("DAGitty", "dag {\n a -- b }",
     "DAGitty, line 2: a -- b is undirected, in a text that begins with dag; begin with pdag"),
    # duplicates
    ("DOT", "digraph {\n a -> b\n a -> b }", f"DOT, line 3: a -> b {DUPLICATE} a -> b; keep one"),
    ("DOT", "digraph {\n a -> b\n b -> a }", f"DOT, line 3: b -> a {DUPLICATE} a -> b; keep one"),
    ("DAGitty", "pdag { a -> b; b -- a }", f"DAGitty, line 1: b -- a {DUPLICATE} a -> b; keep one"),
    ("CSV", "from,to,type\nA,B,--\nB,A,--", f"CSV, line 3: B -- A {DUPLICATE} A -- B; keep one"),
    ("GML", "graph [ directed 1 node [ id 0 label A ] node [ id 1 label B ]\nedge [ source 0 target 1 ]\n"
     "edge [ source 0 target 1 ] ]", f"GML, line 3: A -> B {DUPLICATE} A -> B; keep one"),
    ("GML", "graph [ directed 1 node [ id 0 label A ] node [ id 1 label A ] ]",
     "GML: duplicate variable name 'A': names must be unique"),
    # loops and cycles
    ("DOT", "digraph { a -> a }", "DOT, line 1: edge a -> a joins a variable with itself"),
    ("DAGitty", "dag { a -> b -> c -> a }",
     "DAGitty: the directed edges form a cycle: a -> b -> c -> a; a causal graph must have none"),
    ("CSV", "from,to,type\nA,B,->\nB,C,->\nC,A,->",
     "CSV: the directed edges form a cycle: A -> B -> C -> A; a causal graph must have none"),
    ("GML", "graph [ directed 1 node [ id 0 label A ] edge [ source 0 target 0 ] ]",
     "GML, line 1: edge A -> A joins a variable with itself"),
    # unknown ends and empty names
    ("GML", "graph [ node [ id 0 label A ]\nedge [ source 0 target 7 ] ]",
     "GML, line 2: an edge refers to the node id 7, which no node has"),
    ("DOT", 'digraph { "" -> b }', "DOT: names must be non-empty strings; position 0 holds ''"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "text", "message"), BAD_TEXT)
def test_bad_text_is_one_clear_error(form: str, text: str, message: str) -> None:
    assert_refused(lambda: WRITERS[form][1](text), message)


def json_graph(**changes: object) -> str:
    whole = {"format": "fedperi.graph", "version": 1, "names": ["A", "B"], "directed": [["A", "B"]], "undirected": []}
    whole.update(changes)
    return json.dumps({key: value for key, value in whole.items() if value != "absent"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "JSON: version 2 of fedperi.graph; this fedperi reads version 1: "
         "use the fedperi that wrote it, or a newer one"),
        ({"version": True}, "JSON: version true of fedperi.graph; this fedperi reads version 1: "
         "use the fedperi that wrote it, or a newer one"),
        ({"version": "absent"}, "JSON: version null of fedperi.graph; this fedperi reads version 1: "
         "use the fedperi that wrote it, or a newer one"),
        ({"names": "absent", "edges": []}, "JSON: key 'names' is missing, key 'edges' is unknown; "
         "the keys are format, version, names, directed, undirected"),
        ({"names": "AB"}, "JSON: 'names' must be a list of strings, not \"AB\""),
        ({"names": ["A", 1]}, "JSON: names must be non-empty strings; position 1 holds 1"),
        ({"names": ["A", "A"]}, "JSON: duplicate variable name 'A': names must be unique"),
        ({"names": ["A"]}, "JSON: edge A -> B uses unknown variable 'B'; known: A"),
        ({"directed": {}}, "JSON: 'directed' must be a list of pairs of names, not {}"),
        ({"directed": [["A", "B", "C"]]}, 'JSON: directed[0] must be a pair of names, not ["A", "B", "C"]'),
        ({"undirected": [[["A"], "B"]]}, 'JSON: undirected[0] must be a pair of names, not [["A"], "B"]'),
        ({"undirected": [["B", "A"]]}, f"JSON, undirected[0]: B -- A {DUPLICATE} A -> B; keep one"),
        ({"directed": [["A", "B"], ["B", "A"]]}, f"JSON, directed[1]: B -> A {DUPLICATE} A -> B; keep one"),
        ({"directed": [["A", "A"]]}, "JSON, directed[0]: edge A -> A joins a variable with itself"),
        ({"names": ["A", "B", "C"], "directed": [["A", "B"], ["B", "C"], ["C", "A"]]},
         "JSON: the directed edges form a cycle: A -> B -> C -> A; a causal graph must have none"),
    ],
)  # fmt: skip
def test_bad_json_is_one_clear_error(changes: dict[str, object], message: str) -> None:
    assert_refused(lambda: formats.from_json(json_graph(**changes)), message)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 100_000, "its brackets are nested deeper than 32"),
        ('{"format": ' + "1" * 5000 + "}", f"it holds a whole number beyond {2**63 - 1}"),
        ('{"format": 1e999}', "it holds a number that is not finite, 1e999"),
        ('{"format": 1, "format": 2}', "it has the field 'format' twice"),
    ],
)
def test_json_that_overflows_is_an_error_too(text: str, why: str) -> None:
    assert_refused(lambda: formats.from_json(text), f"JSON: {why}; no graph of fedperi has this")


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("piece", ["a", "\\", '\\"', "{", "[", "/*", "a -> ", "&#", "a,", "\nx", "# "])
def test_long_unfinished_text_does_not_hang(form: str, piece: str) -> None:
    start = SNAPSHOTS[form][: SNAPSHOTS[form].index('"') + 1]  # a name begins, or another text in quotes
    for text in (start + piece * 20_000, start[:-1] + piece * 20_000):
        with pytest.raises(fp.InputError):
            WRITERS[form][1](text)


def test_deep_gml_is_no_problem() -> None:
    assert formats.from_gml("graph [ " + "a [ " * 50_000 + "] " * 50_000 + "]").names == ()


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("value", [None, b"graph", 3])
def test_a_reader_takes_a_string(form: str, value: object) -> None:
    with pytest.raises(fp.InputError) as caught:
        WRITERS[form][1](value)
    kind = type(value).__name__
    assert str(caught.value) == f"{form}: expected the text as a string, got {kind}; read the file first"


@pytest.mark.parametrize(
    ("matrix", "names", "message"),
    [
        ([[0, 1], [1, 0]], ["A", "B"], "the edge between A and B is bidirected (end marks 1 and 1), a hidden common "
         "cause; a PDAG has no such edge"),
        ([[0, 2], [1, 0]], ["A", "B"], "the edge between A and B has a circle (end marks 2 and 1), as in the PAG of "
         "FCI; a PDAG has no such edge"),
        ([[0, 2], [2, 0]], None, "the edge between X0 and X1 has a circle (end marks 2 and 2), as in the PAG of FCI; "
         "a PDAG has no such edge"),
        ([[0, 1], [0, 0]], ["A", "B"], "the edge between A and B has end marks 1 and 0; an arrow is -1 and 1, an "
         "undirected edge -1 twice (for a matrix of 0 and 1 use PDAG(adjacency))"),
        ([[0, 4], [5, 0]], ["A", "B"], "the edge between A and B has end marks 4 and 5; an arrow is -1 and 1, an "
         "undirected edge -1 twice (for a matrix of 0 and 1 use PDAG(adjacency))"),
        ([[-1]], ["A"], "entry [0, 0] is -1: A has an edge to itself"),
        ([[0, 0.5], [0, 0]], None, "entry [0, 1] is 0.5; the end marks of a PDAG are -1, 0 and 1"),
        ([[0, np.nan], [0, 0]], None, "entry [0, 1] is nan; the end marks of a PDAG are -1, 0 and 1"),
        ([[0, 1]], None, "expected a square matrix of end marks, got 1 x 2 of int64 values"),
        ([[0], [1, 2]], None, "not a matrix: its rows have different lengths"),
        (["ab"], None, "expected a square matrix of end marks, got 1 of <U2 values"),
        (None, None, "expected a square matrix of end marks, got a single object of object values"),
        ([[0, -1], [1, 0]], ["A"], "1 names for 2 variables"),
        ([[0, -1], [1, 0]], "AB", "names must be a list of strings, not 'AB'"),
        ([[0, -1], [1, 0]], 5, "names must be a list of strings, not 5"),
        ([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], None,
         "the directed edges form a cycle: X0 -> X1 -> X2 -> X0; a causal graph must have none"),
    ],
)  # fmt: skip
def test_bad_causallearn_is_one_clear_error(matrix: object, names: object, message: str) -> None:
    assert_refused(lambda: formats.from_causallearn(matrix, names), f"causal-learn: {message}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("AB",), "pgmpy: directed_ebunch must be a list of pairs of names, not 'AB'"),
        (([], 3), "pgmpy: undirected_ebunch must be a list of pairs of names, not 3"),
        ((["AB"],), "pgmpy: directed_ebunch[0] must be a pair of names, not 'AB'; rename nodes that are not strings"),
        (([(0, 1)],),
         "pgmpy: directed_ebunch[0] must be a pair of names, not (0, 1); rename nodes that are not strings"),
        (([("A", "B"), ("A", "B")],), f"pgmpy, directed_ebunch[1]: A -> B {DUPLICATE} A -> B; keep one"),
        (([("A", "B")], [], ["A"]), "pgmpy: edge A -> B uses unknown variable 'B'; known: A"),
        (([("A", "B")], [], "AB"), "pgmpy: names must be a list of strings, not 'AB'"),
        (([("A", "B"), ("B", "C"), ("C", "A")],),
         "pgmpy: the directed edges form a cycle: A -> B -> C -> A; a causal graph must have none"),
    ],
)  # fmt: skip
def test_bad_pgmpy_lists_are_one_clear_error(arguments: tuple[object, ...], message: str) -> None:
    assert_refused(lambda: formats.from_pgmpy(*arguments), message)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("A -> B", "networkx: expected a networkx graph, got str"),
        (nx.DiGraph([(0, 1)]),
         "networkx: node 0 is not a string; rename the nodes, e.g. networkx.relabel_nodes(graph, str)"),
        (nx.DiGraph([("A", "A")]), "networkx: edge A -> A joins a variable with itself"),
        (nx.DiGraph([("A", "B"), ("B", "C"), ("C", "A")]),
         "networkx: the directed edges form a cycle: A -> B -> C -> A; a causal graph must have none"),
        (nx.MultiDiGraph([("A", "B"), ("A", "B")]), f"networkx: A -> B {DUPLICATE} A -> B; keep one"),
        (nx.MultiDiGraph([("A", "B"), ("B", "A"), ("B", "A")]), f"networkx: B -- A {DUPLICATE} A -- B; keep one"),
    ],
)  # fmt: skip
def test_bad_networkx_graphs_are_one_clear_error(graph: object, message: str) -> None:
    assert_refused(lambda: formats.from_networkx(graph), message)


def test_writers_refuse_names_their_tool_cannot_read() -> None:
    with pytest.raises(
        fp.InputError, match=r"^DAGitty has no variable named 'node'; give it another name with renamed\(\)$"
    ):
        fp.PDAG.from_edges([("node", "B")]).to_dagitty()
    with pytest.raises(fp.InputError, match=r"^GML: networkx reads the name '\[\]' as an empty value; give it another"):
        fp.PDAG.from_edges([("[]", "B")]).to_gml()


def test_without_networkx_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(fp.InputError) as caught:
        HAND.to_networkx()
    remedy = "pip install networkx (the extra 'networkx' brings it)"
    assert str(caught.value) == f"to_networkx needs networkx, which is not installed; {remedy}"
    assert_same(fp.PDAG.from_gml(HAND.to_gml()), HAND)


def test_the_formats_import_nothing_heavy() -> None:
    code = "import sys, fedperi.graph.formats; print([m for m in ('networkx', 'pandas', 'scipy') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


# -- nothing but a graph or an InputError, whatever the text ----------------------------------------------------

PIECES = [
    '"',
    "\\",
    "{",
    "}",
    "[",
    "]",
    "->",
    "--",
    "<->",
    ",",
    ";",
    "=",
    "+",
    "\n",
    " ",
    "#",
    "/*",
    "a",
    "1",
    "-",
    "&#",
    "é",
]


@st.composite
def damaged(draw: st.DrawFn, write: Callable[[fp.PDAG], str]) -> str:
    """A text of ours with pieces cut out and put in."""
    text = write(draw(named_pdags(control=False, refused=("graph", "node", "()", "[]"))))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        stop = draw(st.integers(start, min(len(text), start + 10)))
        text = text[:start] + "".join(draw(st.lists(st.sampled_from(PIECES), max_size=3))) + text[stop:]
    return text


@pytest.mark.parametrize("form", WRITERS)
def test_damaged_text_never_gives_another_error(form: str) -> None:
    write, read = WRITERS[form]

    @quick
    @given(st.one_of(damaged(write), st.text(max_size=30), st.lists(st.sampled_from(PIECES)).map("".join)))
    @example("\x00")
    def check(text: str) -> None:
        try:
            graph = read(text)
        except fp.InputError as problem:
            assert str(problem).startswith(form)
        else:
            assert isinstance(graph, fp.PDAG)

    check()


@pytest.mark.parametrize("form", ["DOT", "DAGitty", "GML", "JSON"])
def test_every_truncation_is_noticed(form: str) -> None:
    write, read = WRITERS[form]
    text = write(HAND).rstrip()
    for length in range(len(text)):
        with pytest.raises(fp.InputError):
            read(text[:length])
