"""Keys and certificates that are withdrawn, added, replaced and renewed in a run, without restarts."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from helpers.flower import Pilot, free_port

pytest.importorskip("flwr")

from fedperi.errors import InputError
from fedperi.pki.certificates import make_ca, make_server, new_key, openssh_private, openssh_public, pem, pem_key
from fedperi.pki.keys import make_keys
from fedperi.pki.withdraw import withdraw
from fedperi.transports.flower.address import Address, check_reachable
from fedperi.transports.flower.link import Certificates, superlink
from fedperi.transports.flower.live.site_keys import SiteKeys, followed

ENDS = timedelta(days=20)


@pytest.fixture
def pilot(tmp_path: Path) -> Iterator[Pilot]:
    made = Pilot(tmp_path, p=3, more=["west"])
    yield made
    made.end()


def put(path: Path, content: bytes) -> None:
    """Replace a file as an administrator does, by copying."""
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.chmod(0o600)
    new.replace(path)


@pytest.mark.network
@pytest.mark.slow
def test_keys_change_while_a_coordinator_waits_and_nobody_is_restarted(pilot: Pilot) -> None:
    """Sites are shut out and added, one gets another key, and the certificate is renewed."""
    keys = pilot.folder / "keys"
    withdraw(keys, ["west"])
    coordinator = pilot.coordinate("--min-sites", 2, channel="statements", timeout=600)
    coordinator.wait_for("0 of 3 sites connected")
    east = pilot.site("east", channel="moments")
    coordinator.wait_for("1 of 3 sites connected: east; waiting for north, south")
    # The site first, then the coordinator: in between the site uses the key that it has in memory.
    fresh = new_key()
    put(keys / "sites/east/east.key", openssh_private(fresh))
    put(keys / "coordinator/sites/east.pub", openssh_public(fresh) + b" east\n")
    coordinator.wait_for("the key of site 'east' was replaced; only the new one is accepted from now on.")
    east.wait_for("connected to", times=2)
    make_keys(keys, renew=True, days=20)
    coordinator.wait_for("fedperi took a new certificate: server.pem; new connections get it.")
    until = check_reachable(Address(f"localhost:{pilot.port}", keys / "coordinator/ca.pem"))
    assert until is not None and abs(until - datetime.now(UTC) - ENDS) < timedelta(hours=1)
    withdraw(keys / "coordinator", ["south"])
    coordinator.wait_for("the key of site 'south' was withdrawn; the site is shut out.")
    coordinator.wait_for("of 2 sites connected")
    shut_out = pilot.site("south", channel="moments")
    make_keys(keys, sites=["harbour"])
    coordinator.wait_for("a key of site 'harbour' was added; the site may connect.")
    coordinator.wait_for("of 3 sites connected")
    harbour = pilot.site("harbour", data="south", channel="moments")
    harbour.wait_for("WARNING: the coordinator's certificate ends on")
    coordinator.wait_for("2 of 3 sites connected: east, harbour; waiting for north until")
    coordinator.wait_for("fedperi refused a key")
    assert re.search("fedperi refused a key: [0-9a-f]{16} from 127.0.0.1: not one of --keys", coordinator.said)
    north = pilot.site("north", channel="moments")
    assert coordinator.done() == 0, coordinator.said
    assert pilot.result().sites == ("east", "harbour", "north")
    for site in (east, north, harbour):
        assert site.done() == 0, site.said
    assert "connected to" not in shut_out.said
    signed = (pilot.folder / "results/statements/east.fedperi").read_text()
    assert openssh_public(fresh).decode().split()[1] in signed, "signed by the key that was put there in the run"


@pytest.mark.network
def test_a_key_withdrawn_in_a_round_ends_the_wait_for_its_site(pilot: Pilot) -> None:
    withdraw(pilot.folder / "keys", ["west", "south"])
    coordinator = pilot.coordinate("--min-sites", 1, channel="statements", timeout=600)
    slow = pilot.site("east", channel="moments", talking=True)
    pilot.site("north", channel="moments")
    slow.wait_for(" asks to ")
    withdraw(pilot.folder / "keys", ["east"])
    assert coordinator.done(60) == 0, coordinator.said
    assert pilot.result().sites == ("north",)
    assert pilot.result().dropped == {"east": "site 'east' was shut out: its key was withdrawn"}


@pytest.mark.network
def test_a_certificate_of_ones_own_authority_needs_no_loopback_address(pilot: Pilot, tmp_path: Path) -> None:
    """A root, an intermediate authority, and a certificate for one host name only, as hospitals issue them."""
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA384
    from cryptography.x509.oid import NameOID

    now = datetime.now(UTC).replace(microsecond=0)
    root, middle, server = new_key(), new_key(), new_key()
    top = make_ca(root, now, 1)
    between = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hospital issuing CA")]))
        .issuer_name(top.subject)
        .public_key(middle.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=400))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(root, SHA384())
    )
    certificate = make_server(
        server, between, middle, ["localhost"], [], now, now + timedelta(days=300), loopback=False
    )
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.IPAddress) == []
    (tmp_path / "root.pem").write_bytes(pem(top))
    (tmp_path / "chain.pem").write_bytes(pem(certificate) + pem(between))
    (tmp_path / "chain.key").write_bytes(pem_key(server))
    (tmp_path / "chain.key").chmod(0o600)
    own = Certificates(tmp_path / "root.pem", tmp_path / "chain.pem", tmp_path / "chain.key")
    keys = SiteKeys(pilot.folder / "keys/coordinator/sites")
    port, said = free_port(), list[str]()
    with superlink("127.0.0.1", port, own, keys, None, said.append) as link, link.grid() as grid:
        assert list(grid.get_nodes()) == []
        assert check_reachable(Address(f"localhost:{port}", tmp_path / "root.pem")) is not None
    (tmp_path / "chain.pem").write_bytes(pem(certificate))
    with (
        pytest.raises(InputError, match=r"for localhost \(unable to get local issuer .* --cert must hold their"),
        superlink("127.0.0.1", free_port(), own, keys),
    ):
        pass


def test_a_certificate_that_has_ended_is_refused_before_anybody_connects(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    root, server = new_key(), new_key()
    ca = make_ca(root, now)
    old = make_server(server, ca, root, ["c.example.org"], [], now - timedelta(days=9), now - timedelta(days=3))
    for name, content in (("ca.pem", pem(ca)), ("server.pem", pem(old)), ("server.key", pem_key(server))):
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o600)
    with pytest.raises(InputError, match=r"server.pem' ended on 20.*so that no site would accept it: renew it"):
        Certificates(*(tmp_path / name for name in ("ca.pem", "server.pem", "server.key"))).check()


@pytest.mark.parametrize("content", [b"", b"hello\n", bytes(range(200)), b"-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_an_authority_whose_file_holds_no_certificate_is_refused_at_once(tmp_path: Path, content: bytes) -> None:
    """In earlier versions the site tried again forever, and the coordinator waited a minute for its SuperLink."""
    make_keys(tmp_path / "keys", hosts=["localhost"])
    own = [tmp_path / "keys/coordinator" / name for name in ("ca.pem", "server.pem", "server.key")]
    put(own[0], content)
    message = r"--ca '.*ca.pem' holds no certificate in PEM format: give that of the authority"
    with socket.create_server(("127.0.0.1", 0)) as coordinator, pytest.raises(InputError, match=message):
        check_reachable(Address(f"127.0.0.1:{coordinator.getsockname()[1]}", own[0]))
    with pytest.raises(InputError, match=message):
        Certificates(*own).check()


class Registry:
    """Records its calls; fails as often as `failures` says."""

    def __init__(self) -> None:
        self.known: dict[str, bytes] = {}
        self.failures = 0

    def register(self, name: str, key: bytes) -> None:
        self._fail()
        assert name not in self.known, "a registry takes no key twice"
        self.known[name] = key

    def withdraw(self, name: str) -> None:
        self._fail()
        del self.known[name]

    def _fail(self) -> None:
        self.failures -= 1
        if self.failures >= 0:
            raise InputError("the link is away")


def test_a_folder_is_followed_through_half_copied_files_and_a_link_that_is_away(tmp_path: Path) -> None:
    for name in ("north", "south"):
        (tmp_path / f"{name}.pub").write_bytes(openssh_public(new_key()))
    keys, registry, said = SiteKeys(tmp_path), Registry(), list[str]()
    with followed(keys, registry, said.append, lambda: ["a warning"], look=3600):
        assert set(registry.known) == {"north", "south"} and said == ["a warning"]
        keys.refresh(registry, said.append)
        (tmp_path / "east.pub").write_text("ecdsa-sha2-ni")
        (tmp_path / "north.pub").unlink()
        keys.refresh(registry, said.append)
        keys.refresh(registry, said.append)
        assert len(said) == 2 and "east.pub' is not a public key of a site" in said[1] and "looking again" in said[1]
        (tmp_path / "east.pub").write_bytes(openssh_public(new_key()))
        (tmp_path / "west.pub").write_bytes(openssh_public(new_key()))
        registry.failures = 1
        keys.refresh(registry, said.append)  # the withdrawal fails: this side ignores the site all the same
        assert "north" not in keys and "north" in registry.known and "north" not in keys.by_key.values()
        keys.refresh(registry, said.append)
    assert dict(keys) == registry.known and set(keys) == {"south", "east", "west"}
    assert set(keys.signers) == set(keys) == set(keys.by_key.values())


def test_a_renewed_pair_is_taken_only_when_it_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fedperi.transports.flower.live.certificate import RENEWED, renew

    make_keys(tmp_path / "keys", hosts=["localhost"])
    place = tmp_path / "keys/coordinator"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place / "server.pem", place / "server.key")
    former = (place / "server.pem").read_bytes()
    make_keys(tmp_path / "keys", renew=True)
    fresh = (place / "server.pem").read_bytes()
    put(place / "server.pem", former)  # only the key was copied so far
    assert not renew(context, place / "server.pem", place / "server.key")
    put(place / "server.pem", fresh)
    assert renew(context, place / "server.pem", place / "server.key")
    assert RENEWED in capsys.readouterr().out


def test_a_site_follows_the_file_of_its_own_key(tmp_path: Path) -> None:
    """A site tries its new key and the accepted one in turn; a half-copied file is ignored."""
    from fedperi.pki.certificates import OwnKey

    old, new = new_key(), new_key()
    path = tmp_path / "north.key"
    put(path, openssh_private(old))
    own = OwnKey(path)

    def tried() -> str:
        return "old" if own.next().public_key() == old.public_key() else "new"

    assert tried() == tried() == "old"
    own.accepted()
    put(path, openssh_private(new))
    assert [tried() for _ in range(4)] == ["new", "old", "new", "old"]
    assert tried() == "new"
    own.accepted()
    assert [tried() for _ in range(2)] == ["new", "new"]
    put(path, b"-----BEGIN")
    assert tried() == "new" and "is not a private key" in str(own.problem)
    assert own.current().public_key() == new.public_key()
