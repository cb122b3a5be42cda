"""The examples in docstrings, of the package as it is installed: with what was compiled for it."""

import doctest
import importlib
import pkgutil

import pytest

import fedperi

MODULES = ["fedperi", *(module.name for module in pkgutil.walk_packages(fedperi.__path__, "fedperi."))]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=FLAGS).failed == 0


def test_there_are_examples() -> None:
    found = [importlib.import_module(name) for name in MODULES]
    assert sum(bool(test.examples) for module in found for test in doctest.DocTestFinder().find(module)) > 300


@pytest.mark.parametrize("name", [name for name in fedperi.__all__ if name != "__version__"])
def test_every_public_name_has_an_example(name: str) -> None:
    assert ">>> " in (getattr(fedperi, name).__doc__ or "")
