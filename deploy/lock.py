"""Write deploy/requirements.lock: every package of the image, at one version, with the hashes of its files.

    python deploy/lock.py            (nox -s lock; needs an index of packages, and pip 23.1 or newer)

It asks pip what it would install for Python 3.11 on Linux, for the two kinds of processors that servers have, and
installs nothing. Read the diff before you commit it, and run the network tests with these versions.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "deploy" / "requirements.lock"
MACHINES = ("x86_64", "aarch64")
EXTRAS = ("flower", "keys", "files")
HEAD = "# Written by deploy/lock.py (nox -s lock): Python 3.11 on Linux, {}. Do not edit.\n"


def main() -> None:
    """Resolve for both kinds of processors; write one file, or stop if their versions differ."""
    wanted = requirements(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    found = [resolved(wanted, machine) for machine in MACHINES]
    versions = [{name: version for name, (version, _) in packages.items()} for packages in found]
    if versions[0] != versions[1]:
        sys.exit(
            f"{MACHINES[0]} and {MACHINES[1]} get other packages: {set(versions[0].items()) ^ set(versions[1].items())}"
        )
    lines = [HEAD.format(" and ".join(MACHINES))]
    for name in sorted(found[0]):
        hashes = sorted({packages[name][1] for packages in found})
        lines.append(" \\\n".join([f"{name}=={versions[0][name]}", *(f"    --hash=sha256:{h}" for h in hashes)]) + "\n")
    LOCK.write_text("".join(lines), encoding="utf-8")
    sys.stdout.write(f"{LOCK}: {len(found[0])} packages\n")


def requirements(project: dict) -> list[str]:  # type: ignore[type-arg]
    """List what the image needs to build the package, and to run it with keys, network and all kinds of files."""
    extras = project["project"]["optional-dependencies"]
    listed = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    listed += [requirement for extra in (*EXTRAS, "parquet") for requirement in extras[extra]]
    return [requirement for requirement in dict.fromkeys(listed) if not requirement.startswith("fedperi[")]


def resolved(wanted: list[str], machine: str) -> dict[str, tuple[str, str]]:
    """Return versions and hashes of all packages that pip would install on this kind of processor."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--dry-run",
            "--ignore-installed",
            "--target",
            folder,
        ]
        command += ["--report", str(report), "--only-binary", ":all:", "--python-version", "3.11"]
        for tag in ("manylinux_2_28", "manylinux_2_27", "manylinux_2_24", "manylinux_2_17", "manylinux2014"):
            command += ["--platform", f"{tag}_{machine}"]
        subprocess.run([*command, *wanted], check=True)
        entries = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {
        entry["metadata"]["name"].lower().replace("_", "-"): (
            entry["metadata"]["version"],
            entry["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for entry in entries
    }


if __name__ == "__main__":
    main()
