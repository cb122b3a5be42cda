"""The release file: what it says, that it comes back unchanged, and everything that is not read."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.refusals import refusal as words_of_refusal
from helpers.releases import assert_same, draw, forged, table, with_ledger
from hypothesis import given, settings
from hypothesis import strategies as st

from fedperi.errors import InputError
from fedperi.names import name_problem
from fedperi.privacy.accounting import Price
from fedperi.privacy.release.explain import explain, guesses
from fedperi.privacy.release.file import is_release, load_release, read_release, save_release, write_release
from fedperi.privacy.release.release import Plan, Release
from fedperi.privacy.release.sentences import about, printable
from fedperi.privacy.release.summaries import released_summaries
from fedperi.privacy.zcdp import zcdp_rho
from fedperi.tables import Column, Schema
from fedperi.tables.bounded import CONSTANT, GRID, bounded_moments, fingerprint
from fedperi.tables.readers.private import is_number, limits
from fedperi.tables.table import open_table

AGAIN = "have the site run `fedperi release` again: it writes the same release, at no new price"


@pytest.fixture(scope="module")
def release() -> Release:
    return draw()


def refusal(text: str) -> str:
    message = words_of_refusal(lambda: read_release(text, "h1.fedperi"))
    assert message.startswith("release file 'h1.fedperi' ")
    return message.removeprefix("release file 'h1.fedperi' ")


# What it says


def test_the_file_is_read_by_people(release: Release) -> None:
    text = write_release(release)
    assert text.splitlines() == [
        "{",
        '  "format": "fedperi.release",',
        '  "version": 3,',
        '  "about": [',
        *(f"    {json.dumps(line)}{',' * (line != about(release)[-1])}" for line in about(release)),
        "  ],",
        '  "private": true,',
        '  "site": "north",',
        '  "targets": ["arm"],',
        '  "identifier": "0123456789abcdef",',
        '  "created": "2026-11-03",',
        '  "fedperi": "1.0",',
        '  "price": {',
        '    "neighbours": "one row added or removed",',
        '    "epsilon": 1.0,',
        '    "delta": 1e-06,',
        f'    "gaussian": {release.price.gaussian!r},',
        f'    "selections": [{release.price.selections[0]!r}, 4],',
        '    "laplace": [0.0, 0]',
        "  },",
        '  "columns": [',
        '    {"name": "age", "kind": "continuous", "bounds": [0.0, 120.0], '
        '"centre": 59.765625, "unit": 9.903169014084508},',
        '    {"name": "größe", "kind": "continuous", "bounds": [0.0, 250.0], '
        '"centre": 69.580078125, "unit": 9.772864158636027},',
        '    {"name": "arm", "kind": "categorical", "levels": ["placebo", "low", "high"]}',
        "  ],",
        '  "made": {',
        '    "how": [',
        '      "Units: from 2 medians and 2 median distances from them, chosen at random near the true ones '
        '(exponential mechanism, epsilon = 0.06979 each: rho = epsilon^2 / 8, together 10 % of the budget).",',
        '      "Rows: in these units, shortened to length 2 where longer, rounded towards zero to steps of 1/4096.",',
        '      "Moments: the sum over all rows of the products of (0.5, row) with itself. One row changes it by '
        'sensitivity = constant^2 + limit^2 = 4.25 at most (Frobenius norm).",',
        '      "Noise: discrete Gaussian, standard deviation 20.29785 on the diagonal and 14.35701 beside it: '
        'zero-concentrated differential privacy with rho = sensitivity^2 / (2 noise^2) = 0.02192."',
        "    ],",
        '    "data": "mixed",',
        '    "degree": 3,',
        '    "limit": 2.0,',
        '    "constant": 0.5,',
        '    "grid": 4096,',
        '    "weights": [29, 41],',
        '    "sensitivity": 4.25,',
        f'    "noise": {release.noise!r},',
        f'    "noise_beside": {release.noise_beside!r}',
        "  },",
        '  "moments": {',
        '    "columns": ["constant", "age", "größe", "arm = low", "arm = high"],',
        '    "lower_triangle": [',
        "      [ 489.609],",
        "      [  -4.203, 1473.337],",
        "      [   5.182,  615.715, 1369.769],",
        "      [ -16.102,  -34.552,  -22.854, 1568.381],",
        "      [   30.62,   20.785,   12.873, -773.016, 1630.473]",
        "    ]",
        "  },",
        '  "ledger": null,',
        text.splitlines()[-2],
        "}",
    ]
    assert re.fullmatch(r'  "checksum": "sha256:[0-9a-f]{64}"', text.splitlines()[-2])


def test_the_sentences_at_the_top_are_pinned_because_files_with_others_are_not_read(release: Release) -> None:
    assert about(release) == [
        "This file holds noisy statistics of one table of site 'north', made by fedperi to find causes that sites "
        "share.",
        "It holds no row of the table and no exact statistic: every number that was computed from the table was drawn "
        "at random around the true one, which is not here and cannot be had from here.",
        "Promised to every person with one row in the table: whatever anybody computes from this file, knowing "
        "whatever else, no outcome is more than exp(epsilon) times as likely, plus delta, as it would be without that "
        "row; and the same the other way round. Here epsilon = 1 and delta = 1e-06.",
        "Compared are tables that differ by one row added or removed: so the number of rows is protected as well. A "
        "person with several rows, here or at several sites, is promised less.",
        "Not protected, because it was declared without looking at the table: the names of the site and of the "
        "columns, their bounds and levels, and what the site says it has set.",
        "The price is paid once: anything may be computed from this file, as often as wanted, by anybody.",
        "The checksum at the end shows changes by accident. It is no signature: take the file from somebody you know.",
    ]


def test_the_file_holds_no_row_and_no_exact_statistic(release: Release) -> None:
    text = write_release(release)
    rows = table()
    for value in [*rows["age"], *rows["größe"]]:
        assert repr(value) not in text
        assert f"{value:.6f}" not in text
    told = json.loads(text)
    numbers = np.array([abs(x) for row in told["moments"]["lower_triangle"] for x in row])
    exact = bounded_moments(open_table(rows, "north"), release.embedding, release.limit, "error")
    sums = exact.total[np.tril_indices(5)] / GRID**2
    clear = rows[["age", "größe"]].to_numpy()
    others = [*clear.mean(axis=0), *clear.std(axis=0), *np.corrcoef(clear.T).ravel(), *clear.min(axis=0), len(rows)]
    for secret in [*sums, *(sums / len(rows)), *others]:
        assert np.abs(numbers - abs(secret)).min() > 1e-3
    assert str(len(rows)) not in text
    assert fingerprint(open_table(rows))[:16] not in text
    # The noise is there, and of the size that the file says.
    misses = (np.array([x for row in told["moments"]["lower_triangle"] for x in row]) - sums) / release.noise
    assert 0.3 < np.sqrt((misses**2).mean()) < 2


def test_test_noise_shouts_everywhere() -> None:
    loud = draw(private=False)
    told = json.loads(write_release(loud))
    assert told["private"] is False
    assert told["about"][0].startswith("NOT PRIVATE: the noise in this file was drawn from a seed, in a test.")
    assert told["about"][3].startswith("What would be promised if the noise were not from a seed: ")
    again = read_release(write_release(loud), "h1.fedperi")
    assert again.private is False
    sections = explain(again)
    assert sections[0].heading == "NOT PRIVATE"
    assert "What is promised" not in [section.heading for section in sections]
    # A switch from test noise to private noise in the file does not pass for its sentences.
    message = refusal(forged(loud, lambda content: content.update(private=True)))
    assert message == f"contradicts itself: 'about' does not say what follows from the rest; {AGAIN}"


# There and back


NAMES = st.text(min_size=1, max_size=8).filter(lambda name: name_problem(name) is None)
NUMBERS = st.floats(-1e12, 1e12)
LEVELS = st.lists(st.text(max_size=4) | st.integers(0, 9).map(str), min_size=2, max_size=4)


@st.composite
def releases(draw: st.DrawFn) -> Release:
    columns: list[Column] = []
    for name in draw(st.lists(NAMES, min_size=1, max_size=4, unique=True)):
        try:
            levels = tuple(draw(LEVELS)) if draw(st.booleans()) else None
            column = (
                Column(name, "categorical", levels)
                if levels
                else Column(name, "continuous", bounds=tuple(sorted(draw(st.tuples(NUMBERS, NUMBERS)))))
            )
        except InputError:  # levels that are one, bounds that coincide
            column = Column(name, "continuous", bounds=(0, 1))
        columns.append(column)
    schema = Schema(tuple(columns))
    numeric = all(math.isfinite(limit) for column in columns for limit in limits(column))
    data = draw(st.sampled_from(["mixed", "nonlinear", *(["linear"] if numeric else [])]))
    plan = Plan.of(schema, data, draw(st.floats(0.01, 20)), draw(st.floats(1e-12, 1e-3)))
    size = plan.columns + 1
    half = np.tril(np.array(draw(st.lists(NUMBERS, min_size=size**2, max_size=size**2))).reshape(size, size))
    units = {c.name: (draw(NUMBERS), draw(st.floats(1e-9, 1e9))) for c in columns if is_number(c, plan.data)}
    names = draw(st.none() | st.lists(st.sampled_from(schema.names), unique=True).map(tuple))
    text = st.text(max_size=10)
    return Release(
        draw(NAMES), schema, plan.data, plan.epsilon, plan.delta, plan.price, units, plan.limit, plan.noise,
        half + np.tril(half, -1).T, names, draw(st.booleans()), draw(text), draw(text), draw(text),
    )  # fmt: skip


@given(releases())
@settings(max_examples=150)
def test_property_a_release_comes_back_equal_and_its_text_identical(one: Release) -> None:
    text = write_release(one)
    again = read_release(text, "h1.fedperi")
    assert_same(one, again)
    assert write_release(again) == text
    assert all(c.isprintable() or c == "\n" for c in text)


@given(releases())
@settings(max_examples=100)
def test_property_what_can_be_read_can_be_explained(one: Release) -> None:
    said = [part for section in explain(one) for part in (*section.paragraphs, *sum(section.table, ()))]
    assert all(part.isprintable() for part in said)
    assert not any("nan" in part or "inf" in part.split() for part in said if "nan" not in "".join(one.schema.names))


@given(releases(), st.data())
@settings(max_examples=100)
def test_property_a_file_that_is_cut_or_has_a_character_changed_is_refused(one: Release, data: st.DataObject) -> None:
    text = write_release(one)
    at = data.draw(st.integers(0, len(text) - 3))
    with pytest.raises(InputError, match="release file 'x' "):
        read_release(text[:at], "x")
    put = data.draw(st.sampled_from([c for c in "09aZ,:{" if c != text[at]]))
    changed = text[:at] + put + text[at + 1 :]
    try:
        read = read_release(changed, "x")
    except InputError:
        return
    assert write_release(read) == text  # white space, or another spelling of the same


def test_strange_names_do_no_harm(release: Release) -> None:
    strange = replace(release, site="north\udcff\x1b[2J\u202e\U000e0001", targets=("\n", '"'))
    text = write_release(strange)
    assert text.encode().decode() == text
    assert "\x1b" not in text
    assert "\u202e" not in text
    with pytest.raises(InputError, match="which must be the name of a site") as caught:  # another program wrote it
        read_release(text, "x")
    assert str(caught.value).isprintable()
    assert all(part.isprintable() for section in explain(strange) for part in section.paragraphs)
    assert printable("größe 5 µg") == "größe 5 µg"


def test_a_release_that_is_not_finite_is_not_written(release: Release) -> None:
    moments = release.moments.copy()
    moments[1, 0] = math.nan
    with pytest.raises(InputError) as caught:
        write_release(replace(release, moments=moments))
    place = "'moments.lower_triangle.1.0'"
    assert str(caught.value) == f"the release of site 'north' cannot be written: {place} is not a finite number"


# What is refused


def test_a_file_that_is_cut_off(release: Release) -> None:
    text = write_release(release)
    assert refusal(text[: len(text) // 2]).startswith("is cut off or not JSON (line ")
    assert refusal("") == f"is cut off or not JSON (line 1: Expecting value); {AGAIN}"
    assert refusal("[" * 50_000) == f"is cut off or not JSON (its brackets are nested deeper than 32); {AGAIN}"
    huge = f"is cut off or not JSON (it holds a whole number beyond {2**63 - 1}); {AGAIN}"
    assert refusal('{"format": ' + "9" * 5000 + "}") == refusal('{"format": ' + "9" * 20 + "}") == huge


@pytest.mark.parametrize(("text", "found"), [('{"format": "fedperi.graph"}', "'fedperi.graph'"), ("[1]", "None")])
def test_another_format(text: str, found: str) -> None:
    advice = "give a file that `fedperi release` wrote"
    assert refusal(text) == f"is not a release file (format: {found}, not 'fedperi.release'); {advice}"


def test_another_version(release: Release) -> None:
    newer = forged(release, lambda content: content.update(version=5))
    assert refusal(newer) == "has version 5, newer than the 4 that this fedperi reads; update fedperi"
    for version in (0, None, "1", 1.0, True):
        other = forged(release, lambda content, version=version: content.update(version=version))  # type: ignore[misc]
        assert refusal(other) == f"has version {version!r}, and this fedperi reads 1 to 4; {AGAIN}"


def test_a_release_of_version_01_is_read_and_written_as_it_was(release: Release) -> None:
    """A site has paid for it. Its units come from quartiles, which its sentences say."""
    text = Path(__file__).with_name("release-0.1.fedperi").read_text(encoding="utf-8")
    old = read_release(text, "old.fedperi")
    assert old.units_from == "quartiles" and release.units_from == "deviations"
    assert write_release(old) == text and "Units: from 4 quartiles, chosen" in text
    assert len(released_summaries([old, replace(release, site="south")])) == 2
    said = forged(release, lambda content: content.update(version=1))
    assert refusal(said) == f"contradicts itself: 'made' does not say what follows from the rest; {AGAIN}"


def test_an_edited_file(release: Release) -> None:
    text = write_release(release)
    changed = text.replace('"site": "north"', '"site": "south"')
    assert refusal(changed) == f"was changed after it was made: its checksum does not fit; {AGAIN}"
    assert (
        refusal(text.replace("489.609", "489.608"))
        == f"was changed after it was made: its checksum does not fit; {AGAIN}"
    )
    assert refusal(re.sub(r',\s*"checksum".*"', "", text)) == f"has no checksum; {AGAIN}"
    twice = text.replace('"version": 3,', '"version": 3, "site": "west",')
    assert refusal(twice) == f"is cut off or not JSON (it has the field 'site' twice); {AGAIN}"
    # White space is no content: an editor that changes line ends does no harm.
    assert_same(read_release(text.replace("\n", "\r\n"), "x"), release)


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_not_finite(release: Release, literal: str) -> None:
    text = write_release(release).replace("489.609", literal)
    assert refusal(text) == f"is cut off or not JSON (it holds a number that is not finite, {literal}); {AGAIN}"


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("made", "noise", 0),
        ("made", "noise", 0.0),
        ("made", "noise", None),
        ("price", "epsilon", None),
    ],
)
def test_a_file_for_exact_statistics(release: Release, part: str, key: str, value: object) -> None:
    message = (
        "holds exact statistics: it has no noise or promises no epsilon. Such files are not used, because exact "
        "moments can reveal people's values; have the site make one with `fedperi release --epsilon 1`"
    )
    assert refusal(forged(release, lambda content: content[part].update({key: value}))) == message
    assert refusal(forged(release, lambda content: content[part].pop(key))) == message


def broken(release: Release, claimed: str, kept: str, noise: float) -> str:
    return (
        f"does not keep what it promises: epsilon = {claimed} at delta = 1e-06 is claimed, and its noise of {noise:g} "
        f"gives epsilon = {kept}; do not use it, and {AGAIN}"
    )


def test_half_the_noise_is_noticed_though_the_checksum_fits(release: Release) -> None:
    half = release.noise / 2
    text = write_release(replace(release, noise=half))  # sentences, derived numbers and checksum all fit
    assert refusal(text) == broken(release, "1", "2.02409", half)
    # Gaussian rho four times as large: 0.9 * 4 + 0.1 = 3.7 times the whole.
    assert pytest.approx(_epsilon(3.7 * release.price.rho), rel=1e-5) == 2.02409


def _epsilon(rho: float) -> float:
    """The conversion, by brute force."""
    alpha = 1 + np.geomspace(1e-3, 1e5, 200_001)
    a = alpha - 1
    return float((alpha * rho + (np.log(1e6) - np.log(alpha)) / a + np.log(a / alpha)).min())


def test_rows_longer_than_the_noise_allows(release: Release) -> None:
    assert "does not keep what it promises" in refusal(write_release(replace(release, limit=2.001)))
    slightly = replace(release, noise=release.noise * (1 - 1e-5))
    assert "does not keep what it promises" in refusal(write_release(slightly))
    more = replace(release, noise=2 * release.noise)  # than promised, which harms nobody
    assert_same(read_release(write_release(more), "x"), more)


def test_a_smaller_claim_than_the_price(release: Release) -> None:
    message = refusal(forged(release, lambda content: content["price"].update(epsilon=0.5)))
    assert message.startswith("has a price that does not hold: a price claims epsilon 0.5 at delta 1e-06, but its ")


def test_a_price_that_counts_less_than_the_noise_costs(release: Release) -> None:
    """A ledger with such prices would allow too many releases."""
    cheap = replace(release, price=replace(release.price, gaussian=release.price.gaussian / 2))
    assert "does not keep what it promises" in refusal(write_release(cheap))


def test_units_that_were_chosen_for_nothing(release: Release) -> None:
    rho = zcdp_rho(1.0, 1e-6)
    free = replace(release, price=Price(1.0, 1e-6, gaussian=rho))
    assert refusal(write_release(free)) == (
        "has a price that does not fit how it was made, 4 choices for units and Gaussian noise; do not use it, and "
        + AGAIN
    )
    answers = replace(release, price=replace(release.price, epsilon=2.0, laplace=(0.001, 1)), epsilon=2.0)
    assert "has a price that does not fit how it was made" in refusal(write_release(answers))


def test_no_delta(release: Release) -> None:
    pure = replace(release, price=Price(1.0, 0.0, selections=(0.1, 4)), delta=0.0)
    assert "does not keep what it promises" in refusal(write_release(pure))


def drop(*path: str | int) -> Callable[[dict[str, Any]], object]:
    def change(content: Any) -> None:
        for key in path[:-1]:
            content = content[key]
        del content[path[-1]]

    return change


def put(value: object, *path: str | int) -> Callable[[dict[str, Any]], object]:
    def change(content: Any) -> None:
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop("site"), "lacks the field 'site'"),
        (drop("price"), "lacks the field 'price'"),
        (drop("made", "limit"), "lacks the field 'made.limit'"),
        (drop("moments", "columns"), "lacks the field 'moments.columns'"),
        (drop("columns", 0, "unit"), "lacks the field 'columns[0].unit'"),
        (drop("columns", 0, "bounds"), "has no bounds in 'columns[0]'"),
        (drop("columns", 2, "levels"), "has no levels in 'columns[2]'"),
        (drop("price", "neighbours"), "does not promise for neighbours that are one row added or removed"),
        (put([[61.2, 70.1]], "rows"), "has a field that does not belong there, 'rows'"),
        (put(3, "columns", 0, "smallest"), "has a field that does not belong there, 'columns[0].smallest'"),
        (put(1987, "made", "rows"), "has a field that does not belong there, 'made.rows'"),
        (put(1987, "moments", "rows"), "has a field that does not belong there, 'moments.rows'"),
        (put(" ", "site"), "has ' ' as 'site', which must be the name of a site"),
        (put("yes", "private"), "has 'yes' as 'private', which must be true or false"),
        (put([3], "targets"), "has targets that are not names"),
        (put("arm", "targets"), "has 'arm' as 'targets', which must be a list or null"),
        (put([], "price"), "has [] as 'price', which must be a group of fields"),
        (put("spent", "ledger"), "has 'spent' as 'ledger', which must be a group of fields or null"),
        (put("2", "made", "limit"), "has '2' as 'made.limit', which must be a number above 0"),
        (put(-2.0, "made", "noise"), "has -2.0 as 'made.noise', which must be a number above 0"),
        (put(True, "made", "noise"), "has True as 'made.noise', which must be a number above 0"),
        (put("discrete", "made", "data"), "has 'discrete' as 'made.data', which must be linear, nonlinear or mixed"),
        (put([1], "made", "data"), "has [1] as 'made.data', which must be linear, nonlinear or mixed"),
        (put(0, "made", "degree"), "has 0 as 'made.degree', which must be a whole number from 1 to 10"),
        (put(1.0, "made", "constant"), "was made with constant = 1.0, and this fedperi computes with 0.5"),
        (put([1, 1], "made", "weights"), "was made with weights = [1, 1], and this fedperi computes with [29, 41]"),
        (put([], "columns"), "has no column"),
        (put([1], "columns"), "has no name of a column in 'columns[0]'"),
        (
            put("date", "columns", 0, "kind"),
            "has a column that cannot be one: column 'age': kind must be 'continuous' or 'categorical', not 'date'",
        ),
        (
            put([120, 0], "columns", 0, "bounds"),
            "has a column that cannot be one: column 'age': bounds must be finite and increasing, not 120, 0",
        ),
        (put(["low"], "columns", 2, "levels"), "has one level only for column 'arm'"),
        (put([["x"]], "columns", 2, "levels"), "has one level only for column 'arm'"),
        (put("age", "columns", 1, "name"), "the schema names column 'age' twice; names must be unique"),
        (put(0.0, "columns", 0, "unit"), "has 0.0 as 'columns[0].unit', which must be a number above 0"),
        (
            put(1e300, "columns", 0, "centre"),
            "has 1e+300 as 'columns[0].centre', which must be a number of a possible size",
        ),
        (
            put([[1.0]], "moments", "lower_triangle"),
            "has moments of a wrong shape: its columns need a triangle of 5 rows of 1 to 5 numbers",
        ),
        (
            put(7, "moments", "lower_triangle", 1),
            "has moments of a wrong shape: its columns need a triangle of 5 rows of 1 to 5 numbers",
        ),
        (put("7", "moments", "lower_triangle", 0, 0), "has moments that are not numbers of a possible size"),
        (put(1e200, "moments", "lower_triangle", 0, 0), "has moments that are not numbers of a possible size"),
        (
            put(-1.0, "price", "delta"),
            "has a price that does not hold: delta of a price is -1.0, but must be a number: 0 <= delta < 1",
        ),
        (put(["All is well."], "about"), "contradicts itself: 'about' does not say what follows from the rest"),
        (put(1.0, "made", "sensitivity"), "contradicts itself: 'made' does not say what follows from the rest"),
        (put(["a"] * 5, "moments", "columns"), "contradicts itself: 'moments' does not say what follows from the rest"),
    ],
)
def test_fields_that_are_missing_strange_or_too_many(release: Release, change: Any, message: str) -> None:
    assert refusal(forged(release, change)) == f"{message}; {AGAIN}"


def test_the_ledger_comes_along_without_the_tables_fingerprint(release: Release, tmp_path: Path) -> None:
    one = with_ledger(release, tmp_path, 2)
    text = write_release(one)
    assert "0" * 32 not in text
    again = read_release(text, "x")
    assert_same(again, one)
    assert write_release(again) == text
    section = explain(again)[-1]
    assert section.paragraphs[0].startswith("When the file was written, the site had made 2 releases of the table: ")
    assert [row[1:] for row in section.table] == [
        ("What", "epsilon", "delta"),
        ("release 1", "1", "1e-06"),
        ("release 2", "1", "1e-06"),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop("ledger", "ceiling"), "has a ledger that cannot be read"),
        (put(None, "ledger", "ceiling"), "has a ledger that cannot be read"),
        (put(["x"], "ledger", "releases"), "has a ledger that cannot be read"),
        (put("0", "ledger", "spent"), "has a ledger that cannot be read"),
        (put(-1, "ledger", "ceiling", "delta"), "has a ledger that cannot be read"),
        (put(7, "ledger", "releases", 0, "what"), "has a ledger that cannot be read"),
        (put({}, "ledger", "ceiling"), "has a ledger that cannot be read"),
        (put([61.2], "ledger", "rows"), "has a ledger that cannot be read"),
        (put([], "ledger", "releases"), "has a ledger that does not name this release or does not add up"),
        (put(0.1, "ledger", "spent"), "has a ledger that does not name this release or does not add up"),
        (put(9.0, "ledger", "remaining"), "has a ledger that does not name this release or does not add up"),
    ],
)
def test_a_ledger_that_is_wrong(release: Release, tmp_path: Path, change: Any, message: str) -> None:
    assert refusal(forged(with_ledger(release, tmp_path), change)) == f"{message}; {AGAIN}"


# Files


def test_saved_and_loaded(release: Release, tmp_path: Path) -> None:
    file = tmp_path / "h1.fedperi"
    save_release(release, file)
    assert is_release(file)
    assert_same(load_release(str(file)), release)
    assert [path.name for path in tmp_path.iterdir()] == ["h1.fedperi"]
    before = file.stat().st_mtime_ns
    save_release(release, file)  # the same again: nothing to do
    assert file.stat().st_mtime_ns == before
    with_mark = tmp_path / "marked.fedperi"
    with_mark.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert is_release(with_mark)
    assert_same(load_release(with_mark), release)


def test_nothing_else_is_overwritten(release: Release, tmp_path: Path) -> None:
    for name, make in {
        "file": lambda path: path.write_text("precious"),
        "folder": lambda path: path.mkdir(),
        "link": lambda path: path.symlink_to("nowhere"),
        "other": lambda path: save_release(replace(release, site="south"), path),
    }.items():
        make(tmp_path / name)
        with pytest.raises(InputError) as caught:
            save_release(release, tmp_path / name)
        place = str(tmp_path / name)
        assert str(caught.value) == (
            f"release file {place!r}: another file is there already; remove it, or choose another name"
        )
    assert (tmp_path / "file").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "link", "other"]


@pytest.mark.parametrize("step", ["fsync", "replace", "interrupt"])
def test_nothing_is_half_written(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def full(*_: object) -> None:
        raise KeyboardInterrupt if step == "interrupt" else OSError(28, "No space left on device")

    if step == "replace":
        monkeypatch.setattr(Path, "replace", full)
    else:
        monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KeyboardInterrupt if step == "interrupt" else InputError) as caught:
        save_release(release, tmp_path / "h1.fedperi")
    if step != "interrupt":
        assert str(caught.value).endswith("it cannot be written: No space left on device; choose another place")
    assert list(tmp_path.iterdir()) == []


def test_errors_of_the_disk_are_reported(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "h1.fedperi"
    save_release(release, file)

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    monkeypatch.setattr(Path, "read_text", denied)
    assert not is_release(file)
    with pytest.raises(InputError, match="cannot be read: Permission denied; check its permissions"):
        load_release(file)
    monkeypatch.setattr("fedperi.disk.os.open", denied)
    with pytest.raises(InputError, match="it cannot be written: Permission denied; choose another place"):
        save_release(release, tmp_path / "h2.fedperi")


def test_what_is_no_release_file(tmp_path: Path) -> None:
    assert not is_release(tmp_path)
    assert not is_release(tmp_path / "missing")
    assert not is_release("nul\0")
    os.mkfifo(tmp_path / "pipe")
    assert not is_release(tmp_path / "pipe")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    assert not is_release(tmp_path / "t.csv")
    (tmp_path / "latin").write_bytes(b'{"format": "fedperi.release", "site": "\xff"}')
    assert is_release(tmp_path / "latin")
    for name, words in {
        "": "is not a file; give one that `fedperi release` wrote",
        "pipe": "is not a file; give one that `fedperi release` wrote",
        "missing": "does not exist; check the path",
        "latin": f"is not text; {AGAIN}",
        "t.csv": f"is cut off or not JSON (line 1: Expecting value); {AGAIN}",
    }.items():
        with pytest.raises(InputError) as caught:
            load_release(tmp_path / name)
        assert str(caught.value) == f"release file {str(tmp_path / name)!r} {words}"
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 27)
    with pytest.raises(InputError, match="is far too large to be one"):
        load_release(tmp_path / "huge")


# In words


def test_the_explanation(release: Release) -> None:
    told = {section.heading: section for section in explain(release)}
    assert list(told) == [
        "What this is",
        "What is promised",
        "What it holds",
        "How much noise",
        "What can be learned",
        "Who made it",
        "The ledger",
    ]
    assert told["What this is"].paragraphs == (
        "Noisy statistics of one table of site 'north'. It contains no row and no exact statistic. It was made "
        "on 2026-11-03 with fedperi 1.0. The site says that it has set arm.",
    )
    assert told["What it holds"].table == (
        ("Column", "Taken as", "Public limits", "Centre", "Unit"),
        ("age", "number", "0 to 120", "59.77", "9.903"),
        ("größe", "number", "0 to 250", "69.58", "9.773"),
        ("arm", "category", "placebo, low, high", "", ""),
    )
    # One standard deviation of the noise on a sum of constants, 20.3, in rows: divided by the constant's square.
    one = f"plus or minus {release.noise / CONSTANT**2:.0f} (one standard deviation of the noise)."
    assert told["How much noise"].paragraphs[0].endswith(one)


def test_how_much_a_guess_of_membership_can_gain() -> None:
    """By hand: epsilon = ln 3 makes 3 : 1 of 1 : 1; rho = 0.02 is a distance of 0.1 at most, half of it is gain."""
    claimed, average = guesses(Price(math.log(3), 1e-6, gaussian=0.02))
    assert claimed == pytest.approx(0.75, abs=1e-6)
    assert average == pytest.approx(0.55)
    # The exact gain of Gaussian noise is below both.
    mu = math.sqrt(2 * 0.02)
    assert 0.5 + math.erf(mu / 2 / math.sqrt(2)) / 2 < average
    assert guesses(Price(800.0, 1e-6, gaussian=100.0)) == (1.0, 1.0)
