"""docs/reference/wire-format.md is what the code that reads messages says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from fedperi.protocol import wire
from fedperi.protocol.fields import Fields

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    pytest.importorskip("flwr")
    spec = importlib.util.spec_from_file_location("wire_page", DOCS / "site/wire.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current(generator: ModuleType) -> None:
    page = DOCS / "reference" / "wire-format.md"
    assert page.read_text(encoding="utf-8") == generator.page(), "run python docs/site/wire.py"


def test_every_message_and_every_field_of_it_is_on_the_page(generator: ModuleType) -> None:
    page = generator.page()
    for kind, message in generator.REQUESTS.items():
        part = page.split(f"## `{kind}`")[1].split("\n## ")[0]
        for field in set(wire.write(message)) - {"protocol"}:
            assert f"| `{generator._general(field)}` |" in part, f"{kind}: {field}"
    assert set(generator.REQUESTS) == set(generator.REPLIES) == set(wire.KINDS)


def test_a_reader_is_itself_again_after_it_was_watched(generator: ModuleType) -> None:
    before = Fields.text
    with generator.noted() as rows:
        wire.read("close", {"protocol": generator.limits.PROTOCOL, "run": "r1", "why": "complete"})
    assert Fields.text is before
    assert [key for key, _ in rows] == ["protocol", "run", "why"]
