"""Encrypted site keys, what is shown of a folder of keys, and sites that are shut out."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from helpers.command import fedperi, fedperi_here
from helpers.refusals import assert_refused

pytest.importorskip("cryptography")

from fedperi.pki.certificates import ending, make_ca, make_server, new_key, pem, read_site_key, warnings_of
from fedperi.pki.keys import make_keys
from fedperi.pki.lifetimes import overview
from fedperi.pki.private import CREDENTIAL, PASSPHRASE_FILE, encrypt_key, find_passphrase

SECRET = "correct horse battery"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    make_keys(tmp_path / "keys", hosts=["c.example.org"], sites=["north", "south"])
    return tmp_path / "keys/sites/north/north.key"


@pytest.fixture
def passphrase(tmp_path: Path) -> Path:
    file = tmp_path / "passphrase"
    file.touch(mode=0o600)
    file.write_text(SECRET + "\n")
    return file


def test_an_encrypted_key_is_the_same_key_with_its_passphrase_and_none_without(key: Path, passphrase: Path) -> None:
    plain = read_site_key(key)
    encrypt_key(key, passphrase)
    text = key.read_text()
    assert text.startswith("-----BEGIN ENCRYPTED PRIVATE KEY-----") and key.stat().st_mode & 0o777 == 0o600
    assert read_site_key(key, passphrase).public_key() == plain.public_key()
    message = (
        f"the key {str(key)!r} is encrypted: give the file with its passphrase (--passphrase-file, or "
        f"{PASSPHRASE_FILE}, or the credential {CREDENTIAL} of its systemd unit)"
    )
    assert_refused(lambda: read_site_key(key), message)
    passphrase.write_text("another passphrase\n")
    wrong = f"the key {str(key)!r} cannot be decrypted: the passphrase is not that of this key"
    assert_refused(lambda: read_site_key(key, passphrase), wrong)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_root_encrypts_a_key_for_the_account_of_a_service(key: Path, passphrase: Path) -> None:
    os.chown(key, 10001, 10001)
    encrypt_key(key, passphrase)
    assert (key.stat().st_uid, key.stat().st_gid, key.stat().st_mode & 0o777) == (10001, 10001, 0o600)


def test_a_credential_that_cannot_be_looked_at_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = "x" * 300  # no system has names as long
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", folder)
    message = f"the credential {folder + '/' + CREDENTIAL!r} cannot be read: File name too long"
    assert_refused(lambda: find_passphrase(None), message)


def test_openssl_decrypts_it(key: Path, passphrase: Path) -> None:
    encrypt_key(key, passphrase)
    command = ["openssl", "pkey", "-in", str(key), "-passin", f"file:{passphrase}", "-noout", "-text"]
    try:
        shown = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl")
    assert shown.returncode == 0 and "P-384" in shown.stdout


def test_a_key_that_ssh_keygen_encrypted_works_too(tmp_path: Path, passphrase: Path) -> None:
    path = tmp_path / "own.key"
    command = ["ssh-keygen", "-q", "-t", "ecdsa", "-b", "384", "-m", "PKCS8", "-N", SECRET, "-f", str(path)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no ssh-keygen")
    assert read_site_key(path, passphrase).curve.name == "secp384r1"


def test_a_passphrase_comes_from_a_file_the_environment_or_systemd(
    key: Path, passphrase: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_passphrase(None) is None
    (tmp_path / "credentials").mkdir()
    credential = tmp_path / "credentials" / CREDENTIAL
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credential.parent))
    assert find_passphrase(None) is None
    credential.touch(mode=0o640)  # systemd lets the service read it by an access list, which shows as a group's right
    assert find_passphrase(None) is None
    credential.write_text("-")
    assert find_passphrase(None) is None, "the default of the unit: no passphrase was set up"
    credential.write_text("of systemd")
    assert find_passphrase(None) == b"of systemd"
    monkeypatch.setenv(PASSPHRASE_FILE, str(passphrase))
    assert find_passphrase(None) == SECRET.encode()
    other = tmp_path / "other"
    other.touch(mode=0o600)
    assert_refused(lambda: find_passphrase(other), f"the passphrase file {str(other)!r} is empty")
    other.chmod(0o644)
    message = (
        f"the passphrase file {str(other)!r} can be read or changed by others on this machine (mode 644): run chmod "
        f"600 {other}; if others may have seen it, ask for a new key"
    )
    assert_refused(lambda: find_passphrase(other), message)


def test_command_line_encrypts_and_reads(key: Path, passphrase: Path, tmp_path: Path) -> None:
    done = fedperi_here("keys", "--encrypt", str(key), "--passphrase-file", str(passphrase))
    assert done.returncode == 0 and "is encrypted now. Without the passphrase it is lost" in done.stdout
    again = fedperi_here("keys", "--encrypt", str(key), "--passphrase-file", str(passphrase))
    assert (again.returncode, again.stderr) == (2, f"error: the key {str(key)!r} is encrypted already\n")
    (tmp_path / "north.csv").write_text("a,b\n" + "".join(f"{i % 7}.5,{i % 5}.25\n" for i in range(100)))
    common = ["site", "north.csv", "--channel", "moments", "--key", str(key), "--dry-run"]
    refused = fedperi(*common, cwd=tmp_path)
    assert refused.returncode == 2 and "is encrypted: give the file with its passphrase" in refused.stderr
    assert fedperi(*common, "--passphrase-file", str(passphrase), cwd=tmp_path).returncode == 0
    passphrase.write_text("short")
    (tmp_path / "south.key").touch(mode=0o600)
    south = key.parents[1] / "south/south.key"
    done = fedperi_here("keys", "--encrypt", str(south), "--passphrase-file", str(passphrase))
    assert done.stderr == "error: the passphrase has 5 characters, and 8 are needed: take a longer one\n"
    assert fedperi_here("keys", "--encrypt", str(south)).stderr == (
        "error: give a file with the passphrase: --passphrase-file FILE\n"
    )


def test_what_a_folder_holds_is_shown_and_nothing_secret(key: Path, passphrase: Path) -> None:
    encrypt_key(key, passphrase)
    done = fedperi_here("keys", "--show", str(key.parents[2]))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    server = next(line for line in lines if line.startswith("coordinator/server.pem"))
    assert "certificate for c.example.org (CN=fedperi coordinator), until 20" in server and " 364 days left" in server
    assert any(line.startswith("coordinator/sites/north.pub: public key of a site, SHA256:") for line in lines)
    assert "sites/north/north.key: private key, encrypted" in lines
    assert "sites/south/south.key: private key, NOT encrypted" in lines
    assert "WARNING" not in done.stdout and "BEGIN" not in done.stdout
    alone = fedperi_here("keys", "--show", str(key.parents[2] / "coordinator/ca.pem"))
    assert alone.returncode == 0 and len(alone.stdout.splitlines()) == 2


def test_certificates_that_end_soon_are_mentioned(tmp_path: Path) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    root = new_key()
    ca = make_ca(root, now)
    for name, days in (("soon", 12.5), ("over", -3.5), ("later", 200.5)):
        made = make_server(new_key(), ca, root, [], [], now - timedelta(days=20), now + timedelta(days=days))
        (tmp_path / f"{name}.pem").write_bytes(pem(made))
    found = warnings_of(sorted(tmp_path.glob("*.pem")))
    assert len(found) == 2
    assert found[0].startswith("WARNING: 'over.pem' ended on ") and found[0].endswith("or your own authority)")
    assert ", in 12 days: renew it (fedperi keys --renew" in found[1]
    assert sum("WARNING" in line for line in overview(tmp_path)) == 2
    assert ending("x", now + timedelta(days=31)) is None
    assert warnings_of([tmp_path / "nowhere.pem"]) == []


def test_a_withdrawn_site_keeps_its_record_and_can_get_another_key(key: Path) -> None:
    keys = key.parents[2]
    public = (keys / "coordinator/sites/north.pub").read_bytes()
    done = fedperi_here("keys", "--out", str(keys), "--withdraw", "north")
    assert done.returncode == 0 and "north is shut out: its key is in" in done.stdout, done.stderr
    assert [path.name for path in (keys / "coordinator/sites").iterdir()] == ["south.pub"]
    assert [path.read_bytes() for path in (keys / "coordinator/withdrawn").iterdir()] == [public]
    assert not key.exists() and len(list((keys / "withdrawn").glob("north-*/north.key"))) == 1
    make_keys(keys, sites=["north"])
    assert (keys / "coordinator/sites/north.pub").read_bytes() != public
    copy = keys / "coordinator"
    assert fedperi_here("keys", "--out", str(copy), "--withdraw", "south").returncode == 0
    assert not (copy / "sites/south.pub").exists()


def test_tasks_are_not_mixed(key: Path) -> None:
    keys = str(key.parents[2])
    for arguments, message in (
        (["--out", keys, "--withdraw", "west"], "there is no key of site 'west' in"),
        (["--out", keys, "--withdraw", "north", "--renew"], "--withdraw is a separate task: omit --host"),
        (["--out", keys, "--show", keys], "give one task: --out (with --withdraw to shut sites out), --show, or"),
        (["--show", keys + "-nowhere"], "there is nothing at"),
        (["--withdraw", "north"], "give the folder to write: --out keys"),
    ):
        done = fedperi_here("keys", *arguments)
        assert done.returncode == 2 and done.stderr.startswith(f"error: {message}"), (arguments, done.stderr)
    assert (key.parents[2] / "coordinator/sites/north.pub").exists()
