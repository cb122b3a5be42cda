"""The image and the pilot, really run: skipped unless FEDPERI_CONTAINERS=1, since it takes an engine and minutes.

`nox -s containers` builds the image ``fedperi`` and runs these tests. They need docker with its compose plugin.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.command import fedperi_here

pytestmark = pytest.mark.skipif(os.environ.get("FEDPERI_CONTAINERS") != "1", reason="FEDPERI_CONTAINERS is not 1")
DEPLOY = Path(__file__).parents[2] / "deploy"
SHUT_IN = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
CONTROL = """
import ssl, urllib.error, urllib.request
url = "https://coordinator:9092/v1/control/list-runs"
try:
    urllib.request.urlopen(urllib.request.Request(url, b""), context=ssl.create_default_context(cafile="/keys/ca.pem"))
except urllib.error.HTTPError as error:
    print(error.code)
"""
"""Asks for what only the coordinator's own machine may ask (docs/guides/deployment.md)."""
SITES = ("east", "north", "south")
LIMIT = 300.0
SAME = ("graph.csv", "graph.dot", "graph.gml", "edges.csv", "summaries.json")


def docker(*words: object) -> str:
    done = subprocess.run(["docker", *map(str, words)], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, f"docker {' '.join(map(str, words))}: {done.stderr}"
    return done.stdout + done.stderr


def python(code: str, *options: str) -> str:
    return docker("run", "--rm", *options, "--entrypoint", "python", "fedperi", "-c", code)


def until(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.2)


def process_of(container: str) -> int:
    return int(docker("inspect", "--format", "{{.State.Pid}}", container))


def signal(container: str, number: int) -> None:
    """Send a signal as if the process had died by itself: after `docker kill` no engine starts a container again."""
    code = f"import os; os.kill({process_of(container)}, {number})"
    python(code, "--user", "0", "--cap-add", "KILL", "--pid", "host", "--network", "none")


def give(folder: Path, owner: int) -> None:
    """Let a user of the image own a folder: files of another user are none of ours to change, or to clean up."""
    docker(
        "run",
        "--rm",
        "--user",
        "0",
        "--entrypoint",
        "chown",
        "-v",
        f"{folder}:/given",
        "fedperi",
        "-R",
        owner,
        "/given",
    )


# -- the image --------------------------------------------------------------------------------------------------------


def test_the_image_writes_to_its_volume_and_has_no_rights() -> None:
    code = """
import os, pathlib, json
def writes(folder):
    try:
        pathlib.Path(folder, "x").touch()
    except OSError:
        return False
    return True
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({"user": os.getuid(), "rights": int(status["CapBnd"], 16), "more": status["NoNewPrivs"].strip(),
    "places": [f for f in ("/", "/opt/fedperi", "/usr/bin", "/etc", "/tmp", os.path.expanduser("~")) if writes(f)]}))
"""
    seen = json.loads(python(code, *SHUT_IN, "--network", "none"))
    assert seen == {"user": 10001, "rights": 0, "more": "1", "places": ["/tmp", "/var/lib/fedperi"]}


def test_the_image_computes_without_a_network_and_with_the_loops_in_c() -> None:
    python("from fedperi.scores import _kernel; assert _kernel.kind() == 'compiled'", *SHUT_IN, "--network", "none")
    told = docker("run", "--rm", *SHUT_IN, "--network", "none", "fedperi", "demo")
    assert "Wrote the report to" in told


def test_neither_mirror_nor_key_is_in_the_history_of_the_image() -> None:
    history = docker("history", "--no-trunc", "--format", "{{.CreatedBy}}", "fedperi")
    environment = docker("inspect", "--format", "{{json .Config.Env}}", "fedperi")
    assert "HEALTHCHECK" in history
    assert not any(word in history + environment for word in ("http://", "https://", "PIP_", "BEGIN", ".key"))


# -- the pilot --------------------------------------------------------------------------------------------------------


class Pilot:
    """The pilot of the compose file, in a folder of its own, under another name than one that may be there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "deploy").mkdir()
        shutil.copy(DEPLOY / "compose.yaml", folder / "deploy")
        # An engine cannot give more open files than it may have, and it seldom has less than we do.
        most = min(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        limits = {"services": {name: {"ulimits": {"nofile": most}} for name in ("coordinator", *SITES)}}
        (folder / "limits.json").write_text(json.dumps(limits))
        tables, keys = folder / "data", folder / "keys"
        simulated = fedperi_here("simulate", "--out", tables, "--clients", 3, "--variables", 8, "--seed", 1)
        made = fedperi_here("keys", "--host", "coordinator", "--sites", ",".join(SITES), "--out", keys)
        assert simulated.returncode == made.returncode == 0, simulated.stderr + made.stderr
        for number, name in enumerate(SITES):
            (tables / f"site_{number}.csv").rename(tables / f"{name}.csv")
        give(keys, 10001)

    def compose(self, *words: object) -> str:
        files = ("-f", self.folder / "deploy/compose.yaml", "-f", self.folder / "limits.json")
        return docker("compose", "-p", "fedperi-tried", *files, *words)

    def log(self, name: str) -> str:
        return docker("logs", self.of(name))

    def state(self, name: str) -> tuple[str, int, int]:
        told = docker(
            "inspect", "--format", "{{json .State.Status}} {{.State.ExitCode}} {{.RestartCount}}", self.of(name)
        )
        status, code, restarts = told.split()
        return json.loads(status), int(code), int(restarts)

    def of(self, name: str) -> str:
        return f"fedperi-tried-{name}-1"


@pytest.fixture
def pilot(tmp_path: Path) -> Iterator[Pilot]:
    made = Pilot(tmp_path)
    try:
        yield made
    finally:
        made.compose("down", "--volumes", "--timeout", "30")
        give(tmp_path, os.getuid())


def test_a_pilot_survives_crashes_of_a_site_and_of_the_coordinator(pilot: Pilot) -> None:
    pilot.compose("up", "--detach", "--no-build")
    until(lambda: "3 of 3 sites connected" in pilot.log("coordinator"), "not all sites came")
    signal(pilot.of("north"), 9)
    until(lambda: "an exact summary" in pilot.log("coordinator"), "no statement came")
    signal(pilot.of("coordinator"), 9)
    for name in ("coordinator", *SITES):
        until(lambda name=name: pilot.state(name)[0] == "exited", f"{name} did not end")  # type: ignore[misc]
        assert pilot.state(name)[1] == 0, pilot.log(name)
    assert pilot.state("north")[2] == pilot.state("coordinator")[2] == 1
    pilot.compose("cp", "coordinator:/var/lib/fedperi/results", pilot.folder / "results")
    # The same files in one process of the same image: other builds of numpy may differ in the last digit.
    tables = [f"/data/{name}.csv" for name in SITES]
    volumes = ("-v", f"{pilot.folder / 'data'}:/data:ro", "-v", "fedperi-tried_coordinator:/var/lib/fedperi")
    docker("run", "--rm", *volumes, "fedperi", "run", *tables, "--data", "linear", "--out", "/var/lib/fedperi/direct")
    pilot.compose("cp", "coordinator:/var/lib/fedperi/direct", pilot.folder / "direct")
    for file in SAME:
        assert (pilot.folder / "results" / file).read_bytes() == (pilot.folder / "direct" / file).read_bytes(), file


def test_health_and_stopping(pilot: Pilot) -> None:
    pilot.compose("up", "--detach", "--no-build", "coordinator", "north")
    health = ("exec", pilot.of("north"), "python", "/opt/fedperi/healthcheck.py")
    until(lambda: "1 of 3 sites connected" in pilot.log("coordinator"), "north did not connect")
    docker(*health)
    docker("exec", pilot.of("coordinator"), "python", "/opt/fedperi/healthcheck.py")
    assert "403" in docker("exec", pilot.of("north"), "python", "-c", CONTROL), "a site controls the SuperLink"
    signal(pilot.of("north"), 19)
    with pytest.raises(AssertionError, match="timed out"):
        docker(*health)
    signal(pilot.of("north"), 18)
    for name, code in (("north", 0), ("coordinator", 130)):
        docker("stop", "--time", 60, pilot.of(name))
        assert pilot.state(name)[:2] == ("exited", code), "ended by itself, not by a signal that cannot be refused"
