"""Who wrote a release: signatures under the site's key, keys that others can read, and files that are too large."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.command import Done, fedperi_here
from helpers.refusals import assert_refused
from helpers.releases import assert_same, draw, forged
from helpers.sites import answering

from fedperi.errors import InputError
from fedperi.pki.certificates import new_key, read_site_key
from fedperi.pki.keys import make_keys
from fedperi.privacy.release.file import load_release, read_release, save_release, sign_release, write_release
from fedperi.privacy.release.reader import largest_text
from fedperi.privacy.release.release import MOST_COLUMNS, Plan, Release
from fedperi.privacy.release.signature import check_signer, public_text, read_roster
from fedperi.tables import Column, Schema


@pytest.fixture(scope="module")
def release() -> Release:
    return draw()


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pilot") / "keys"
    make_keys(folder, hosts=["coordinator.example.org"], sites=["north", "south"])
    return folder


@pytest.fixture(scope="module")
def signed(release: Release, keys: Path) -> Release:
    return sign_release(release, read_site_key(keys / "sites/north/north.key"))


def halved(content: dict[str, Any]) -> None:
    triangle = content["moments"]["lower_triangle"]
    triangle[2][1] = -triangle[2][1]


# Item 14: signatures


def test_an_edited_file_is_refused_if_it_was_signed(signed: Release, release: Release) -> None:
    # What an unsigned file proves: nothing about who wrote it. The explanation and `fedperi inspect` say so.
    other = read_release(forged(release, halved), "h1.fedperi")
    assert not np.array_equal(other.moments, release.moments) and other.signature is None
    with pytest.raises(InputError, match="was changed after it was signed: its signature does not fit"):
        read_release(forged(signed, halved), "h1.fedperi")


@pytest.mark.parametrize("field", ["site", "identifier", "created", "fedperi", "targets", "private"])
def test_every_field_is_signed(signed: Release, field: str) -> None:
    other = {"targets": None, "private": False}.get(field, "other")
    changed = replace(signed, **{"version" if field == "fedperi" else field: other})
    with pytest.raises(InputError, match="its signature does not fit"):
        read_release(write_release(changed), "h1.fedperi")


def test_a_signed_release_comes_back_and_is_written_the_same(signed: Release, keys: Path) -> None:
    text = write_release(signed)
    again = read_release(text, "x")
    assert_same(again, signed)
    assert write_release(again) == text and '"version": 4' in text
    [line] = [line for line in (keys / "sites/north/README.txt").read_text().splitlines() if "SHA256:" in line]
    assert signed.signature is not None and line.split()[-1] == signed.signature.fingerprint
    assert f"made with the key {signed.signature.fingerprint}" in text


def test_an_unsigned_release_names_no_signer(release: Release) -> None:
    text = write_release(release)
    assert '"version": 3,' in text and "signer" not in text and "signature" in text  # of the word in `about` only
    assert read_release(text, "x").signature is None


def take_off(content: dict[str, Any]) -> None:
    del content["signer"], content["signature"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda c: c.pop("signature"), "has no signature that can be read"),
        (lambda c: c.pop("signer"), "has no signature that can be read"),
        (lambda c: c.update(signature=""), "has no signature that can be read"),
        (lambda c: c.update(signature="AAAA"), "its signature does not fit"),
        (lambda c: c.update(signature=[1]), "has no signature that can be read"),
        (lambda c: c.update(signature="ä"), "has no signature that can be read"),
        (lambda c: c.update(signer="ecdsa-sha2-nistp384 AAAA"), "contradicts itself: 'about'"),
        (lambda c: c.update(signer="ssh-rsa AAAA"), "has no signature that can be read"),
        (lambda c: c.update(signer=c["signer"] + " north"), "has no signature that can be read"),
        (lambda c: c.update(version=3), "has a field that does not belong there"),
        (take_off, "has no signature that can be read"),
    ],
)
def test_broken_signatures(signed: Release, change: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        read_release(forged(signed, change), "h1.fedperi")


def test_a_roster_says_whose_key_it_is(signed: Release, release: Release, keys: Path, tmp_path: Path) -> None:
    roster = keys / "coordinator/sites"
    for name, one in {
        "good": signed,
        "bare": release,
        "thief": sign_release(release, new_key()),
        "other": sign_release(release, read_site_key(keys / "sites/south/south.key")),
        "unknown": sign_release(replace(release, site="west"), read_site_key(keys / "sites/north/north.key")),
    }.items():
        save_release(one, tmp_path / name)
        load_release(tmp_path / name)  # without a roster a signature by anybody will do, and none as well
    assert_same(load_release(tmp_path / "good", roster), signed)
    for name, why in {
        "bare": "is not signed, so that anyone could have written it: have site 'north' run `fedperi release` again",
        "thief": "is signed by another key (SHA256:",
        "other": "than that of site 'north': do not use it, and ask the site",
        "unknown": "is of site 'west', whose public key is not among the given ones ('north', 'south')",
    }.items():
        with pytest.raises(InputError) as caught:
            load_release(tmp_path / name, roster)
        assert why in str(caught.value)


def test_bad_rosters(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file SITE\.pub in"):
        read_roster(tmp_path)
    for content in (b"", b"\xff\xfe", b"ssh-rsa AAAA", b"ecdsa-sha2-nistp384"):
        (tmp_path / "north.pub").write_bytes(content)
        with pytest.raises(InputError, match="holds no public key"):
            read_roster(tmp_path)


def test_keys_of_ssh_keygen_sign_too(release: Release, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    key = tmp_path / "own.key"
    try:
        command = ["ssh-keygen", "-q", "-t", "ecdsa", "-b", "384", "-N", "", "-C", "north", "-f", str(key)]
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no ssh-keygen")
    (tmp_path / "roster").mkdir()
    (tmp_path / "own.key.pub").rename(tmp_path / "roster/north.pub")
    check_signer(sign_release(release, read_site_key(key)), read_roster(tmp_path / "roster"))


def test_without_cryptography_a_signed_file_is_refused_with_the_remedy(
    signed: Release, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = write_release(signed)
    for name in [name for name in sys.modules if name.startswith("cryptography")] + ["cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    assert read_release(write_release(release), "x").signature is None
    with pytest.raises(InputError, match=r"is signed, and to check .* pip install cryptography \(the extra 'keys' "):
        read_release(text, "h1.fedperi")


# The command line


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    for name in ("north", "south"):
        a = rng.normal(size=3000)
        pd.DataFrame({"a": a, "b": a + rng.normal(size=3000)}).to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "bounds.toml").write_text("a = [-5, 5]\nb = [-5, 5]\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shell(line: str) -> Done:
    return fedperi_here(*line.split())


def test_sites_sign_and_a_run_checks(folder: Path, keys: Path) -> None:
    release = "release {0}.csv --epsilon 2 --bounds bounds.toml --store store"
    for name in ("north", "south"):
        done = shell(f"{release.format(name)} --out {name}.fedperi --key {keys}/sites/{name}/{name}.key")
        assert done.returncode == 0, done.stdout
        assert "Signed with the key SHA256:" in done.stdout
    roster = keys / "coordinator/sites"
    assert shell(f"inspect north.fedperi --site-keys {roster}").returncode == 0
    assert json.loads(fedperi_here(*["inspect", "north.fedperi", "--json"]).stdout)["signed_by"].startswith("SHA256:")
    run = f"run north.fedperi south.fedperi --method iperi --site-keys {roster} --out"
    done = shell(f"{run} one")
    assert done.returncode == 0 and "Not signed" not in done.stdout, done.stdout
    assert json.loads((folder / "one/result.json").read_text())["privacy"]["north"]["signed_by"].startswith("SHA256:")
    # Written again without a key: the same release, not signed, and the run with a roster refuses it.
    done = shell(f"{release.format('south')} --out bare.fedperi")
    assert done.returncode == 0 and "Not signed: anyone could edit it on the way" in done.stdout
    refused = shell(f"{run.replace('south.fedperi', 'bare.fedperi')} two")
    assert refused.returncode == 2 and "'bare.fedperi' is not signed" in refused.stderr
    assert not (folder / "two").exists()
    done = fedperi_here(*["run", "north.fedperi", "bare.fedperi", "--method", "iperi", "--out", "three"])
    assert done.returncode == 0 and "Not signed: the statement of south. Anyone could have edited" in done.stdout
    assert "It is not signed" in fedperi_here(*["inspect", "bare.fedperi"]).stdout
    # A file that is there is left alone, and no signature is taken off or put on silently.
    again = shell(f"{release.format('south')} --out south.fedperi --key {keys}/sites/south/south.key")
    assert again.returncode == 0 and "was not changed" in again.stdout
    for out in ("south.fedperi", f"bare.fedperi --key {keys}/sites/south/south.key"):
        refused = shell(f"{release.format('south')} --out {out}")
        assert refused.returncode == 2 and "choose another name" in refused.stderr
    refused = shell(f"run north.csv south.csv --method iperi --site-keys {roster} --out four")
    assert refused.returncode == 2 and "--site-keys checks the signatures" in refused.stderr


# From item 16: keys that others can read


@pytest.mark.skipif(os.name != "posix", reason="modes of files are those of POSIX")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o602])
def test_a_site_key_that_others_can_read_is_refused(folder: Path, mode: int) -> None:
    make_keys(folder / "keys", hosts=["coordinator.example.org"], sites=["north"])
    key = folder / "keys/sites/north/north.key"
    key.chmod(mode)
    message = (
        f"the key {str(key)!r} can be read or changed by others on this machine (mode {mode:o}): run chmod 600 "
        f"{key}; if others may have seen it, ask for a new key"
    )
    assert_refused(lambda: read_site_key(key), message)
    assert_refused(lambda: serve(key), message)
    done = shell(f"release north.csv --epsilon 1 --bounds bounds.toml --store store --out x --key {key}")
    assert done == (2, "", f"error: {message}\n")
    assert not (folder / "store").exists() and not (folder / "x").exists()
    key.chmod(0o400)
    assert public_text(read_site_key(key)) == read_roster(folder / "keys/coordinator/sites")["north"]


def serve(key: Path) -> None:
    from fedperi.transports.flower.address import Address
    from fedperi.transports.flower.node import serve

    table = pd.DataFrame({"a": [0.1, 0.5, 0.2], "b": [0.3, 0.1, 0.4]})
    work = answering(table, name="north", store=key.parent / "store")
    serve(work, Address("127.0.0.1:9", None, key), wait=0.0, note=lambda line: None)


# From item 16: the size of a release


def wide(columns: int) -> Release:
    schema = Schema(tuple(Column(f"column {i}", "continuous", bounds=(-5, 5)) for i in range(columns)))
    plan = Plan.of(schema, "linear", 1.0, 1e-6)
    numbers = np.random.default_rng(0).normal(0, 1e5, (columns + 1, columns + 1)).round(3)
    moments = np.tril(numbers) + np.tril(numbers, -1).T
    moments[np.diag_indices(columns + 1)] = 1e7
    units = dict.fromkeys(schema.names, (0.0, 1.0))
    return Release("north", schema, "linear", 1.0, 1e-6, plan.price, units, plan.limit, plan.noise, moments)


def test_a_release_has_a_limited_number_of_columns() -> None:
    with pytest.raises(InputError, match=r"at most 1000 columns, and this one would have 1001 .* leave columns out"):
        wide(MOST_COLUMNS + 1)


def test_the_largest_release_can_be_read(tmp_path: Path) -> None:
    release = wide(MOST_COLUMNS)
    save_release(release, tmp_path / "wide.fedperi")
    assert (tmp_path / "wide.fedperi").stat().st_size < largest_text() / 2
    assert_same(load_release(tmp_path / "wide.fedperi"), release)


MEASURE = """
import resource, sys
from fedperi.errors import InputError
from fedperi.privacy.release.file import load_release
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    load_release(sys.argv[1])
except InputError as error:
    assert "too large" in str(error) or "larger than" in str(error) or "cut off" in str(error), error
else:
    raise AssertionError("it was read")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="resource is of POSIX")
@pytest.mark.parametrize(
    ("filler", "size", "most"),
    [("[],", 64, 10), ("[],", 30, 90), ("0.1,", 30, 90), ('"ab",', 15, 60), ("[" + "0.1," * 4999 + "0.1],", 16, 260)],
)
def test_a_large_file_takes_little_memory(tmp_path: Path, filler: str, size: int, most: int) -> None:
    """Megabytes that it takes beyond the import: with 64 MB of `[],` it was 1,580. Nothing here is random."""
    file = tmp_path / "large.fedperi"
    file.write_text('{"format": "fedperi.release", "version": 1, "about": [' + filler * ((size << 20) // len(filler)))
    done = subprocess.run([sys.executable, "-c", MEASURE, str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= most
