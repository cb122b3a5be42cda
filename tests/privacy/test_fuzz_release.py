"""The release reader against anything: a release that is finite and can be explained, or a refusal in words.

Seeds and times: helpers/fuzzing.py.
"""

from __future__ import annotations

import copy
import json
import math
import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.fuzzing import LITERALS, fuzz, mutate
from helpers.releases import draw, sealed, with_ledger

from fedperi.errors import InputError
from fedperi.pki.certificates import new_key
from fedperi.privacy.bounds import as_bounds
from fedperi.privacy.release.explain import explain
from fedperi.privacy.release.file import load_release, read_release, sign_release, write_release
from fedperi.privacy.release.release import Release
from fedperi.tables import Column, Schema
from fedperi.tables.levels import level_text


def check_reading(text: str) -> bool:
    """Whether a text is read. Assert that it is refused in words, or that all in it is finite and can be explained."""
    try:
        release = read_release(text, "h1.fedperi")
    except InputError as error:
        assert str(error).startswith("release file 'h1.fedperi' "), error
        return False
    numbers = [release.epsilon, release.delta, release.noise, release.limit, release.rows, release.price.rho]
    assert all(math.isfinite(number) for number in numbers) and np.isfinite(release.moments).all()
    assert "Infinity" not in json.dumps(release.summary()) and "NaN" not in json.dumps(release.summary())
    assert not any(re.search(r"\b(nan|inf)\b", part) for s in explain(release) for part in s.paragraphs)
    assert np.isfinite(release.statistics().correlation).all()
    assert write_release(read_release(write_release(release), "x")) == write_release(release)
    return True


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> list[Release]:
    plain = draw()
    kept = with_ledger(plain, tmp_path_factory.mktemp("store"), 2)
    return [plain, kept, sign_release(kept, new_key()), replace(plain, targets=None, private=False)]


def test_fuzz_any_change_of_a_value_that_is_sealed_again(releases: list[Release]) -> None:
    contents = [json.loads(write_release(release)) for release in releases]
    for content in contents:
        assert check_reading(sealed(content))

    def attempt(rng: random.Random) -> None:
        content = copy.deepcopy(rng.choice(contents))
        for _ in range(rng.choice([1, 1, 1, 2, 4])):
            mutate(content, rng)
        check_reading(sealed(content))

    fuzz(attempt, 300)


def test_fuzz_any_change_of_the_text(releases: list[Release]) -> None:
    texts = [write_release(release) for release in releases]

    def attempt(rng: random.Random) -> None:
        text = rng.choice(texts)
        for _ in range(rng.choice([1, 1, 3])):
            at = rng.randrange(len(text))
            new = rng.choice(
                ["", rng.choice(LITERALS), chr(rng.randrange(0x10FFFF)), text[at : at + 30], "[", "}", ","]
            )
            text = text[:at] + new + text[at + rng.choice([0, 1, 1, 5, 200]) :]
        check_reading(text)

    fuzz(attempt, 300)


def test_fuzz_any_bytes(releases: list[Release], tmp_path: Path) -> None:
    good = write_release(releases[0]).encode()
    file = tmp_path / "h1.fedperi"

    def attempt(rng: random.Random) -> None:
        kept = good[: rng.randrange(len(good))] if rng.random() < 0.5 else b""
        file.write_bytes(kept + rng.randbytes(rng.randrange(200)))
        with pytest.raises(InputError, match=r"^release file "):
            load_release(file)

    fuzz(attempt, 300)


@pytest.mark.parametrize("literal", LITERALS)
@pytest.mark.parametrize("key", ["epsilon", "limit", "centre", "version", "degree", "noise"])
def test_numbers_that_are_none_are_refused_everywhere(releases: list[Release], literal: str, key: str) -> None:
    text = write_release(releases[1])
    start = text.index(f'"{key}": ') + len(key) + 4
    end = min(at for at in (text.find(mark, start) for mark in ",}\n") if at > 0)
    with pytest.raises(InputError, match=r"is cut off or not JSON \((it|its) "):
        read_release(text[:start] + literal + text[end:], "h1.fedperi")


# Item 13: the same in schemas, levels and bounds


@pytest.mark.parametrize("number", [10**400, -(10**400), 10**5000, math.inf, math.nan], ids=range(5))
def test_a_number_that_no_float_holds_is_refused_in_words(number: float) -> None:
    for make in (
        lambda: Column("age", "continuous", bounds=(0, number)),
        lambda: Column("age", "continuous", bounds=(number, 5)),
        lambda: Column("age", "categorical", levels=(1, number)),
        lambda: as_bounds({"age": (0, number)}),
        lambda: as_bounds({"age": [1, 2, number]}),
    ):
        with pytest.raises(InputError, match=r"^column 'age': "):
            make()
    assert level_text(number) in ("inf", "-inf", "nan")


def test_numbers_of_any_type_can_be_levels() -> None:
    given = (np.int64(1), np.float32(2.0), 3, 4.5, True, "x", 10**20)
    assert Column("arm", "categorical", levels=given).levels == ("1", "2", "3", "4.5", "True", "x", str(10**20))


@pytest.mark.parametrize("name", ["s.json", "s.toml"])
@pytest.mark.parametrize("literal", ["1e999", "nan", "inf", "9" * 400, "9" * 5000, "[" * 2000 + "]" * 2000])
def test_files_of_schemas_and_bounds(tmp_path: Path, name: str, literal: str) -> None:
    literal = {"nan": "NaN", "inf": "Infinity"}.get(literal, literal) if name == "s.json" else literal
    json_text = f'{{"columns": {{"age": {{"kind": "continuous", "bounds": [0, {literal}]}}}}}}'
    file = tmp_path / name
    file.write_text(json_text if name == "s.json" else f'[columns.age]\nkind = "continuous"\nbounds = [0, {literal}]\n')
    with pytest.raises(InputError, match=f"^schema file .*{name}' is not valid (JSON|TOML): (it|its) "):
        Schema.from_file(file)
    with pytest.raises(InputError, match=f"^the bounds .*{name}' are neither valid TOML nor JSON: (it|its) "):
        as_bounds(file)


def test_a_field_given_twice_in_a_schema(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"columns": {"a": {"kind": "continuous"}, "a": {"kind": "categorical"}}}')
    with pytest.raises(InputError, match="it has the field 'a' twice"):
        Schema.from_file(tmp_path / "s.json")


def test_a_ceiling_without_its_fields_is_no_ledger(releases: list[Release]) -> None:
    """It was read, and `explain` failed with KeyError: 'delta'."""
    content = json.loads(write_release(releases[0]))
    price = {key: value for key, value in content["price"].items() if key != "neighbours"}
    entry = {"when": "x", "what": "y", "price": price}
    content["ledger"] = {"ceiling": {}, "releases": [entry], "spent": 1.0, "remaining": 9.0}
    with pytest.raises(InputError, match="has a ledger that cannot be read"):
        read_release(sealed(content), "h1.fedperi")
