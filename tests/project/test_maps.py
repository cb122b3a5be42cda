"""ARCHITECTURE.md, CONTRIBUTING.md and tests/README.md name files and functions that are there, and all rooms."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "fedperi"
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "tests/README.md")
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|md|toml))`")
FUNCTION = re.compile(r"`([a-zA-Z_.]+)`(?:, `([a-zA-Z_]+)`)? \(`((?:\w+/)+\w+\.py)`")


def found(path: str) -> Path | None:
    """The file that a page means: from the root, from the sources or from the tests."""
    return next((base / path for base in (ROOT, SOURCES, ROOT / "src", ROOT / "tests") if (base / path).exists()), None)


@pytest.mark.parametrize("page", PAGES)
def test_files_are_there(page: str) -> None:
    named = [path for path in PATH.findall((ROOT / page).read_text(encoding="utf-8")) if "yours" not in path]
    assert len(named) >= 10
    assert [path for path in named if found(path) is None] == []


def test_functions_are_where_the_map_of_the_algorithms_says() -> None:
    named = FUNCTION.findall((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    assert len(named) >= 25
    gone = []
    for first, second, path in named:
        tree = ast.parse((SOURCES / path).read_text(encoding="utf-8"))
        there = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        gone += [(name, path) for name in (first, second) if name and not set(name.split(".")) <= there]
    assert gone == []


def test_all_rooms_are_in_the_table() -> None:
    table = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = [path for path in SOURCES.iterdir() if path.is_dir() and path.name != "__pycache__"]
    leaves = [path.name for path in SOURCES.glob("*.py") if path.name != "__init__.py"]
    names = [*(f"{path.name}/" for path in rooms), *leaves]
    assert len(names) > 20
    assert [name for name in names if f"`{name}`" not in table] == []
