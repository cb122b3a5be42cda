"""Certificates and site keys: they verify, they fail where they must, nothing secret is left open or overwritten."""

import builtins
import os
import re
import shutil
import socket
import ssl
import stat
import subprocess
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from helpers.command import fedperi, fedperi_here
from hypothesis import given
from hypothesis import strategies as st

from fedperi.errors import InputError
from fedperi.pki import keys as module
from fedperi.pki.keys import make_keys

HOST = "coordinator.example.org"
ADD = {"sites": ["west"]}
BEGIN = {"hosts": [HOST]}
GUIDES = Path(__file__).parents[2] / "docs" / "guides"
PAGES = [GUIDES / "deployment.md", *sorted((GUIDES / "network").glob("*.md"))]
DEPLOY = GUIDES.parents[1] / "deploy"


@pytest.fixture
def pilot(tmp_path: Path) -> Path:
    pytest.importorskip("cryptography")
    make_keys(tmp_path / "keys", hosts=[HOST], addresses=["10.0.0.5"], sites=["north", "south"])
    return tmp_path / "keys"


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def shake_hands(server: Path, ca: Path, name: str) -> tuple[str, bool]:
    """Do a real TLS handshake: a server with the pair in a folder, a client that trusts only the CA.

    Returns what the client saw: the version of TLS, and whether it was shown the certificate of that folder.
    """
    ours, theirs = socket.socketpair()
    listening = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    listening.load_cert_chain(server / "server.pem", server / "server.key")
    calling = ssl.create_default_context(cafile=str(ca))
    calling.verify_flags |= ssl.VERIFY_X509_STRICT  # the default from Python 3.13 on

    def serve() -> None:
        try:
            with listening.wrap_socket(theirs, server_side=True):
                pass
        except (ssl.SSLError, OSError):
            theirs.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with ours, calling.wrap_socket(ours, server_hostname=name) as met:
            shown = ssl.PEM_cert_to_DER_cert((server / "server.pem").read_text())
            return str(met.version()), met.getpeercert(binary_form=True) == shown
    finally:
        ours.close()
        thread.join(10)


@pytest.mark.parametrize("name", [HOST, "10.0.0.5", "localhost", "127.0.0.1", "::1"])
def test_certificate_verifies_for_every_name_and_for_loopback(pilot: Path, name: str) -> None:
    seen = shake_hands(pilot / "coordinator", pilot / "sites" / "north" / "ca.pem", name)
    assert seen == ("TLSv1.3", True)


@pytest.mark.parametrize("name", ["example.org", "other.example.org", "x.coordinator.example.org", "10.0.0.6"])
def test_another_host_is_refused(pilot: Path, name: str) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match=r"mismatch|not valid for"):
        shake_hands(pilot / "coordinator", pilot / "ca" / "ca.pem", name)


def test_another_pilots_coordinator_is_refused(pilot: Path, tmp_path: Path) -> None:
    make_keys(tmp_path / "other", hosts=[HOST])
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer certificate"):
        shake_hands(tmp_path / "other" / "coordinator", pilot / "ca" / "ca.pem", HOST)


def test_expired_certificate_is_refused_and_a_renewed_one_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cryptography")
    now = module._now()
    with monkeypatch.context() as past:
        past.setattr(module, "_now", lambda: now - timedelta(days=40))
        make_keys(tmp_path / "keys", hosts=[HOST], addresses=["10.0.0.5"], days=39)
    folder = tmp_path / "keys"
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate has expired"):
        shake_hands(folder / "coordinator", folder / "ca" / "ca.pem", HOST)
    before = content(folder)
    made = make_keys(folder, renew=True, days=30)
    assert (made.hosts, made.addresses) == ((HOST,), ("10.0.0.5",))
    assert made.until is not None
    assert timedelta(0) <= made.until - now - timedelta(days=30) < timedelta(minutes=1)
    for name in (HOST, "10.0.0.5", "127.0.0.1"):
        shake_hands(folder / "coordinator", folder / "ca" / "ca.pem", name)
    assert made.replaced is not None
    for name in ("server.pem", "server.key"):
        assert (made.replaced / name).read_bytes() == before[f"coordinator/{name}"]
    kept = {name: text for name, text in before.items() if "server" not in name}
    assert kept.items() <= content(folder).items()


def test_the_coordinator_can_sign_nothing_and_the_ca_no_further_ca(pilot: Path) -> None:
    from cryptography import x509

    server, ca = (
        x509.load_pem_x509_certificate((pilot / name).read_bytes()).extensions
        for name in ("coordinator/server.pem", "ca/ca.pem")
    )
    for extensions, may_sign, length in ((server, False, None), (ca, True, 0)):
        limits = extensions.get_extension_for_class(x509.BasicConstraints)
        assert (limits.critical, limits.value.ca, limits.value.path_length) == (True, may_sign, length)
        usage = extensions.get_extension_for_class(x509.KeyUsage)
        assert (usage.critical, usage.value.key_cert_sign, usage.value.digital_signature) == (
            True,
            may_sign,
            not may_sign,
        )


def test_clocks_may_differ_by_hours(pilot: Path) -> None:
    from cryptography import x509

    for name in ("ca/ca.pem", "coordinator/server.pem"):
        certificate = x509.load_pem_x509_certificate((pilot / name).read_bytes())
        assert certificate.not_valid_before_utc <= module._now() - timedelta(hours=23)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on this machine")
def test_openssl_agrees(pilot: Path) -> None:
    def verify(*options: str) -> str:
        command = [
            "openssl",
            "verify",
            "-x509_strict",
            "-purpose",
            "sslserver",
            "-CAfile",
            str(pilot / "ca" / "ca.pem"),
        ]
        done = subprocess.run(
            [*command, *options, str(pilot / "coordinator" / "server.pem")], capture_output=True, text=True, timeout=30
        )
        return done.stdout + done.stderr

    assert "server.pem: OK" in verify("-verify_hostname", HOST)
    assert "server.pem: OK" in verify("-verify_ip", "10.0.0.5")
    assert "hostname mismatch" in verify("-verify_hostname", "other.example.org")
    assert "certificate has expired" in verify("-attime", str(int(module._now().timestamp()) + 366 * 86400))
    text = ["openssl", "x509", "-noout", "-fingerprint", "-sha256", "-in", str(pilot / "ca" / "ca.pem")]
    shown = subprocess.run(text, capture_output=True, text=True, timeout=30).stdout.strip().split("=")[1]
    assert shown in (pilot / "sites" / "north" / "README.txt").read_text()


def test_keys_are_what_flower_expects(pilot: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    prints = set()
    for site in ("north", "south"):
        private = (pilot / "sites" / site / f"{site}.key").read_bytes()
        public = (pilot / "coordinator" / "sites" / f"{site}.pub").read_bytes()
        assert private.startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----\n")
        assert re.fullmatch(rf"ecdsa-sha2-nistp384 [A-Za-z0-9+/=]+ {site}\n", public.decode())
        key = serialization.load_ssh_private_key(private, None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        assert isinstance(key.curve, ec.SECP384R1)
        assert serialization.load_ssh_public_key(public) == key.public_key()
        prints.add(public.split()[1])
    assert len(prints) == 2


def test_flower_itself_takes_them(pilot: Path) -> None:
    pytest.importorskip("flwr")
    from argparse import Namespace

    from flwr.cli.supernode.register import try_load_public_key
    from flwr.supercore.primitives.asymmetric import public_key_to_bytes
    from flwr.supernode.cli.flower_supernode import _try_setup_client_authentication

    given = Namespace(
        auth_supernode_private_key=str(pilot / "sites" / "north" / "north.key"), auth_supernode_public_key=None
    )
    pair = _try_setup_client_authentication(given)
    assert pair is not None
    assert public_key_to_bytes(pair[1]) == try_load_public_key(pilot / "coordinator" / "sites" / "north.pub")


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen on this machine")
def test_fingerprints_are_those_of_ssh_keygen(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    made = make_keys(tmp_path / "keys", hosts=[HOST], sites=["north"])
    for file in ("sites/north/north.key", "coordinator/sites/north.pub"):
        done = subprocess.run(
            ["ssh-keygen", "-l", "-f", str(made.folder / file)], capture_output=True, text=True, timeout=30
        )
        assert done.stdout.split()[:2] == ["384", made.sites["north"]]
    assert made.sites["north"] in (made.folder / "sites" / "north" / "README.txt").read_text()


def test_a_folder_that_is_handed_over_holds_no_secret_of_others(pilot: Path) -> None:
    files = content(pilot)
    assert {name for name in files if name.startswith("sites/north/")} == {
        "sites/north/north.key",
        "sites/north/ca.pem",
        "sites/north/README.txt",
    }
    private = {name for name, text in files.items() if b"PRIVATE KEY" in text}
    assert private == {"ca/ca.key", "coordinator/server.key", "sites/north/north.key", "sites/south/south.key"}
    assert {name for name in files if name.startswith("coordinator/")} == {
        f"coordinator/{name}"
        for name in ("ca.pem", "server.pem", "server.key", "README.txt", "sites/north.pub", "sites/south.pub")
    }
    assert len({files[name] for name in files if name.endswith("ca.pem")}) == 1


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_only_the_owner_can_read_whatever_the_umask(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    (tmp_path / "keys").mkdir(mode=0o755)
    before = os.umask(0)
    try:
        make_keys(tmp_path / "keys", hosts=[HOST], sites=["north"])
        make_keys(tmp_path / "keys", sites=["west"], renew=True)
    finally:
        os.umask(before)
    for path in [tmp_path / "keys", *(tmp_path / "keys").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_adding_a_site_changes_nothing_else_and_needs_nothing_of_the_ca(pilot: Path) -> None:
    shutil.rmtree(pilot / "ca")
    before = content(pilot)
    made = make_keys(pilot, sites=["west"])
    after = content(pilot)
    assert before.items() <= after.items()
    assert after.keys() - before.keys() == {
        "sites/west/west.key",
        "sites/west/ca.pem",
        "sites/west/README.txt",
        "coordinator/sites/west.pub",
    }
    assert (list(made.sites), made.until, made.replaced) == (["west"], None, None)
    assert f"--coordinator {HOST}:" in after["sites/west/README.txt"].decode()


@pytest.mark.parametrize(
    ("options", "reach"),
    [({"addresses": ["fd00::5"]}, "[fd00::5]:"), ({"addresses": ["10.0.0.5"]}, "10.0.0.5:"), (BEGIN, f"{HOST}:")],
)
def test_a_site_is_told_where_to_connect(tmp_path: Path, options: dict[str, Any], reach: str) -> None:
    pytest.importorskip("cryptography")
    make_keys(tmp_path / "keys", sites=["north"], **options)
    make_keys(tmp_path / "keys", sites=["west"])
    for site in ("north", "west"):
        assert f"--coordinator {reach}" in (tmp_path / "keys" / "sites" / site / "README.txt").read_text()


def test_renewal_can_change_the_names(pilot: Path) -> None:
    make_keys(pilot, hosts=["new.example.org"], renew=True)
    shake_hands(pilot / "coordinator", pilot / "ca" / "ca.pem", "new.example.org")
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(pilot / "coordinator", pilot / "ca" / "ca.pem", HOST)


def test_renewal_that_was_cut_off_can_be_repeated(pilot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = content(pilot)
    replace = module.write_whole  # type: ignore[attr-defined]

    def cut(path: Path, text: bytes) -> None:
        if path.name == "server.pem":
            raise OSError(28, "No space left on device", str(path))
        replace(path, text)

    with monkeypatch.context() as broken:
        broken.setattr(module, "write_whole", cut)
        with pytest.raises(InputError, match="No space left on device"):
            make_keys(pilot, renew=True)
    made = make_keys(pilot, renew=True)
    shake_hands(pilot / "coordinator", pilot / "ca" / "ca.pem", HOST)
    assert made.replaced is not None
    assert (made.replaced / "server.key").read_bytes() == first["coordinator/server.key"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"hosts": ["https://a.org"]},
            "the host 'https://a.org' is not a host name: give the name alone, without https://",
        ),
        ({"hosts": ["a.org:9092"]}, "the host 'a.org:9092' is not a host name"),
        ({"hosts": ["*.a.org"]}, "is not a host name"),
        ({"hosts": ["a..org"]}, "is not a host name"),
        ({"hosts": ["a.org."]}, "is not a host name"),
        ({"hosts": ["-a.org"]}, "is not a host name"),
        ({"hosts": ["a_b.org"]}, "is not a host name"),
        ({"hosts": [""]}, "the host '' is not a host name"),
        ({"hosts": ["10.0.0.256"]}, "the host '10.0.0.256' is not a host name"),
        ({"hosts": ["a" * 64 + ".org"]}, "is not a host name"),
        ({"hosts": [".".join(["a" * 60] * 5)]}, "is not a host name"),
        ({"hosts": ["10.0.0.5"]}, "the host '10.0.0.5' is an address, not a name: give it with --ip"),
        ({"hosts": ["klinik-süd.de"]}, "has letters beyond ASCII: give the form that begins with xn--"),
        ({"hosts": ["a.org", "A.org"]}, "the host 'a.org' is given twice: give it once"),
        ({"addresses": ["a.org"]}, "'a.org' is not an IP address such as 10.0.0.5 or fd00::5; names go to --host"),
        ({"addresses": ["10.0.0.5/24"]}, "is not an IP address"),
        (
            {"addresses": ["0.0.0.0"]},
            "no site can reach a coordinator at '0.0.0.0': give the address that sites connect",
        ),
        ({"addresses": ["fe80::1%eth0"]}, "no site can reach a coordinator at 'fe80::1%eth0'"),
        ({"addresses": ["::5", "0::5"]}, "the IP address '::5' is given twice"),
        (
            {**BEGIN, "sites": ["north", "North"]},
            "the site 'North' is given twice: give it once (capitals do not count)",
        ),
        ({**BEGIN, "sites": ["../up"]}, "'../up' cannot name a site's keys: use up to 63 letters, digits, - and _"),
        ({**BEGIN, "sites": ["a b"]}, "'a b' cannot name a site's keys"),
        ({**BEGIN, "sites": ["-a"]}, "'-a' cannot name a site's keys"),
        ({**BEGIN, "sites": ["a" * 64]}, "cannot name a site's keys"),
        ({**BEGIN, "sites": [""]}, "'' cannot name a site's keys"),
        ({**BEGIN, "days": 0}, "a certificate cannot hold for 0 days: choose 1 to 825"),
        ({**BEGIN, "days": 826}, "a certificate cannot hold for 826 days: choose 1 to 825"),
        ({**BEGIN, "days": -1}, "a certificate cannot hold for -1 days"),
        ({"hosts": None}, "the host must be given as a list of texts, not None"),
        ({"hosts": HOST}, "the host must be given as a list of texts, not 'coordinator.example.org'"),
        ({**BEGIN, "sites": [7]}, "the site must be given as a list of texts, not [7]"),
        ({**BEGIN, "days": "30"}, "a certificate cannot hold for '30' days"),
        ({}, "holds no keys yet: give the coordinator's name to begin a pilot, as in --host coordinator.example.org"),
        (ADD, "holds no keys yet: give the coordinator's name to begin a pilot"),
        ({"renew": True}, "holds no keys to renew: check the folder, or leave out --renew to begin a pilot"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        make_keys(tmp_path / "keys", **options)
    assert not (tmp_path / "keys").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (BEGIN, "has a certificate for the coordinator already: give --renew to replace it, or leave out --host and"),
        ({}, "holds keys already, and there is nothing to add: give --sites, or --renew"),
        (
            {**ADD, "days": 30},
            "the days are those of the coordinator's certificate, and none is made: leave out --days",
        ),
        ({"sites": ["north"]}, "site 'north' has keys in "),
        (
            {"sites": ["west", "NORTH"]},
            "already: choose another name; or, to give it new ones, first put the old ones aside (fedperi keys --out",
        ),
    ],
)
def test_what_is_there_is_never_overwritten(pilot: Path, options: dict[str, Any], message: str) -> None:
    before = content(pilot)
    with pytest.raises(InputError, match=re.escape(message)):
        make_keys(pilot, **options)
    assert content(pilot) == before


def test_a_file_that_appears_meanwhile_is_not_overwritten(pilot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = content(pilot)
    monkeypatch.setattr(module, "_check_new", lambda folder, sites: None)
    with pytest.raises(InputError, match=r"cannot be used \(File exists: .*north.key"):
        make_keys(pilot, sites=["west", "north"])
    assert content(pilot) == before


def test_damaged_folders_are_explained(pilot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = module._now()
    with monkeypatch.context() as fixed:
        fixed.setattr(module, "_now", lambda: now)
        make_keys(tmp_path / "other", hosts=[HOST])
    key = pilot / "ca" / "ca.key"
    right = key.read_bytes()
    for wrong in ((tmp_path / "other" / "ca" / "ca.key").read_bytes(), b"no key"):
        key.write_bytes(wrong)
        with pytest.raises(InputError, match=r"is not the key of the CA in coordinator/ca.pem: restore the right one"):
            make_keys(pilot, renew=True)
    key.write_bytes(right)
    if os.name == "posix":
        key.chmod(0o640)
        with pytest.raises(InputError, match="others on this machine can read the CA's key: chmod 600"):
            make_keys(pilot, renew=True)
    key.unlink()
    with pytest.raises(InputError, match=r"renewing needs the CA's key, and .* is not there: restore it from where"):
        make_keys(pilot, renew=True)
    (pilot / "coordinator" / "server.pem").write_text("no certificate")
    with pytest.raises(InputError, match=r"server.pem' is not a certificate: restore it from your backup"):
        make_keys(pilot, sites=["west"])
    (pilot / "coordinator" / "server.pem").unlink()
    with pytest.raises(InputError, match=r"server.pem' is missing: restore it from your backup"):
        make_keys(pilot, sites=["west"])
    monkeypatch.setattr(module, "_now", lambda: now + timedelta(days=module.CA_DAYS - 10))
    with pytest.raises(InputError, match=r"before a certificate of 365 days would: choose at most --days 10, or begin"):
        make_keys(tmp_path / "other", renew=True)
    monkeypatch.setattr(module, "_now", lambda: now + timedelta(days=module.CA_DAYS + 1))
    with pytest.raises(InputError, match=r"the CA in .* ended on \d{4}-\d\d-\d\d: begin a new folder of keys"):
        make_keys(pilot, sites=["west"])


def test_other_folders_are_left_alone(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "thesis.txt").write_text("mine")
    with pytest.raises(
        InputError, match=r"is not empty, and holds no keys of a pilot \(no coordinator/ca.pem\): choose a"
    ):
        make_keys(full, hosts=[HOST])
    with pytest.raises(InputError, match="is a file: choose another name for the folder of keys"):
        make_keys(full / "thesis.txt", hosts=[HOST])
    with pytest.raises(InputError, match=r"there is no folder .* to put the keys in: make it first"):
        make_keys(tmp_path / "a" / "b", hosts=[HOST])
    for nothing in ("", "a\0b"):
        with pytest.raises(InputError, match="give a name, as in --out keys"):
            make_keys(nothing, hosts=[HOST])
    assert content(tmp_path) == {"full/thesis.txt": b"mine"}


def test_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cryptography")

    def refused(path: object, *rest: object, **more: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))  # by hand: nothing is refused to root

    with monkeypatch.context() as closed:
        closed.setattr(os, "mkdir", refused)
        with pytest.raises(
            InputError, match=r"cannot be used \(Permission denied: .*\): choose one that you can write"
        ):
            make_keys(tmp_path / "keys", hosts=[HOST])
    assert list(tmp_path.iterdir()) == []


def test_a_failure_on_the_way_leaves_nothing(pilot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = content(pilot)
    folders = {path for path in pilot.rglob("*") if path.is_dir()}
    opened = os.open

    def full(path: object, *rest: object, **more: object) -> int:
        if str(path).endswith("west.pub"):
            raise OSError(28, "No space left on device", str(path))
        return opened(path, *rest, **more)

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(InputError, match=r"cannot be used \(No space left on device: .*west.pub"):
        make_keys(pilot, sites=["west"])
    assert content(pilot) == before
    assert {path for path in pilot.rglob("*") if path.is_dir()} == folders


def test_without_cryptography_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: object) -> object:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(InputError, match=re.escape("pip install cryptography (the extra 'keys' brings it)")):
        make_keys(tmp_path / "keys", hosts=[HOST])
    assert not (tmp_path / "keys").exists()


@given(st.text(max_size=80))
def test_property_any_text_is_a_good_name_or_an_input_error(text: str) -> None:
    for check in (module.host_name, module.ip_address, module.site_name):  # type: ignore[attr-defined]
        try:
            good = check(text)
        except InputError:
            continue
        assert check(good) == good
        assert Path(good).name == good


def test_command_line(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    done = fedperi("keys", "--host", HOST, "--ip", "10.0.0.5", "--sites", "north, south", "--out", "keys", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"certificate for {HOST}, 10.0.0.5, until 20" in done.stdout
    assert "keys/sites/south: hand this folder to site south" in done.stdout.replace("\\", "/")
    assert "ca.key is the secret of the whole pilot" in done.stdout
    assert "PRIVATE" not in done.stdout
    again = fedperi("keys", "--host", HOST, "--sites", "north", "--out", "keys", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr == (
        "error: 'keys' has a certificate for the coordinator already: give --renew to replace it, or leave out --host "
        "and --ip to add sites only\n"
    )
    assert fedperi("keys", "--out", "keys", "--renew", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give the folder to write: --out keys"),
        (
            ["--out", "k", "--host", "a.org", "--sites", "a,,b"],
            "--sites 'a,,b' has an empty name: give names separated by commas",
        ),
        (["--out", "k", "--host", "a.org", "--sites", ""], "--sites '' has an empty name"),
        (["--out", "k", "--host", "a.org", "--days", "9999"], "a certificate cannot hold for 9999 days"),
    ],
)
def test_command_line_refuses(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = fedperi_here("keys", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def shell_lines(text: str) -> list[str]:
    """The `fedperi` commands in a text: continued lines joined, prompts, paths of the program and comments left out."""
    joined = re.sub(r"\\\n\s*", "", text)
    return re.findall(r"(?:^|[\s`/(])(fedperi (?:keys|site|coordinate|release|inspect|run|check) [^\n`)#]*)", joined)


def shown_commands() -> list[str]:
    texts = ["\n".join(page.read_text(encoding="utf-8") for page in PAGES)]
    texts += [getattr(module, f"{side}_README") for side in ("CA", "COORDINATOR", "SITE")]
    texts += [path.read_text(encoding="utf-8") for path in sorted(DEPLOY.glob("*.service"))]
    options = re.findall(r"/fedperi/(\w+)\.env`:\n\n```text\n.*?^OPTIONS=(.*?)$", texts[0], re.DOTALL | re.MULTILINE)
    assert len(options) == 2
    return [line for text in texts for line in shell_lines(text)] + [" ".join(("fedperi", *pair)) for pair in options]


def test_options_in_guide_units_and_readmes_exist() -> None:
    import typer.main

    from fedperi.cli import app

    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    checked = 0
    for line in shown_commands():
        name = line.split()[1]
        known = {option for parameter in commands[name].params for option in parameter.opts}
        assert set(re.findall(r"(?<=\s)--[a-z-]+", line)) <= known, line
        checked += 1
    assert checked >= 20


def test_commands_of_the_guide_run_in_order(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    blocks = re.findall(
        r"^```sh\n(.*?)^```$", (GUIDES / "network/keys.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    lines = [line for block in blocks for line in block.splitlines() if not line.startswith("#")]
    assert len(lines) == 5
    for line in lines:
        done = fedperi_here(*line.split()[1:], cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), line
    shake_hands(tmp_path / "keys" / "coordinator", tmp_path / "keys" / "sites" / "north" / "ca.pem", HOST)
    assert not (tmp_path / "keys/coordinator/sites/valley.pub").exists()


def test_image_needs_no_network_but_packages_and_runs_as_nobody_special() -> None:
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    steps = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert not re.search(r"apt|curl|wget|git |ADD ", "\n".join(steps))
    for line in steps:
        if line.startswith("COPY --from=build "):
            assert "FROM ${BUILD_IMAGE} AS build" in steps and "ARG BUILD_IMAGE=python:3.11" in steps
            assert f"RUN python3 -m venv {line.split()[2]}" in steps  # what the first stage has made
        elif line.startswith("COPY "):
            for source in line.split()[1:-1]:
                assert "[" in source or (DEPLOY.parent / source).exists(), source
    assert "USER 10001" in steps
    assert 'ENTRYPOINT ["fedperi"]' in steps


def test_units_say_what_their_environment_files_must_set() -> None:
    page = (GUIDES / "network/operate.md").read_text(encoding="utf-8")
    for role in ("site", "coordinate"):
        unit = (DEPLOY / f"fedperi-{role}.service").read_text(encoding="utf-8")
        (start,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
        (shown,) = re.findall(rf"`/etc/fedperi/{role}\.env`:\n\n```text\n(.*?)```", page, re.DOTALL)
        assert set(re.findall(r"\$\{?([A-Z]+)", start)) == set(re.findall(r"^([A-Z]+)=", shown, re.MULTILINE))
        for line in ("User=fedperi", "UMask=0077", "NoNewPrivileges=yes", "StateDirectoryMode=0700"):
            assert line in unit.splitlines()
