"""Imports of packages that are gone say where to look."""

import importlib

import pytest

import fedperi as fp
from fedperi._moved import MOVED


@pytest.mark.parametrize("name", MOVED)
def test_an_old_package_says_where_its_modules_are(name: str) -> None:
    for module in (name, f"{name}.anything"):
        with pytest.raises(ModuleNotFoundError, match=r"was split up after version 0\.1: see fedperi\.\w+"):
            importlib.import_module(module)


def test_the_places_named_are_there() -> None:
    for places in MOVED.values():
        for place in places.replace(" and ", ", ").split(", "):
            assert importlib.import_module(place)


def test_other_modules_that_are_not_there_are_left_alone() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'fedperi\.nowhere'"):
        importlib.import_module("fedperi.nowhere")
    assert fp.PDAG  # type: ignore[truthy-function]
