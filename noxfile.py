"""Tasks, each in its own environment: ``nox -l`` lists them, ``nox -s lint`` runs one."""

import gzip
import io
import os
import tarfile
from pathlib import Path
from shutil import rmtree

import nox

nox.options.sessions = ["lint", "tests"]
nox.options.reuse_existing_virtualenvs = True

ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1"}

# For each extra, code that fails without it.
EXTRAS = {
    "": "import tempfile; sites = fp.simulate(4, clients=3, samples=200).sites; "
    "fp.MPERI(progress=False).fit(sites).save(tempfile.mkdtemp())",
    "parquet": "import tempfile, pathlib; f = pathlib.Path(tempfile.mkdtemp(), 'a.parquet'); "
    "fp.simulate(3, clients=1, samples=200).sites[0].to_parquet(f); fp.ges(f)",
    "metrics": "g = fp.PDAG.from_edges([('A', 'B')]); assert fp.adjustment_distance(g, g) == (0.0, 0)",
    "networkx": "fp.PDAG.from_edges([('A', 'B')]).to_networkx()",
    "accounting": "import dp_accounting",
    "keys": "from fedperi.pki.certificates import new_key; new_key()",
    "flower": "from fedperi.transports.flower import need_flower; need_flower(); "
    "from fedperi.transports.flower.inner.fleet import new_key; new_key()",
}


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests; arguments after ``--`` go to pytest."""
    session.install(".[test]")
    session.run("pytest", *session.posargs, env=ENVIRONMENT)


@nox.session
@nox.parametrize("extra", list(EXTRAS), ids=[extra or "none" for extra in EXTRAS])
def extras(session: nox.Session, extra: str) -> None:
    """Install the package with only one extra, and use it."""
    session.install(f".[{extra}]" if extra else ".")
    session.run("python", "-c", f"import fedperi as fp; {EXTRAS[extra]}", env=ENVIRONMENT)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format, imports between rooms and types."""
    session.install("-e", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")
    session.run("mypy")


@nox.session
def lock(session: nox.Session) -> None:
    """Update deploy/requirements.lock: the packages of the image, with hashes. Read the diff in git."""
    session.install("pip>=23.1")
    session.run("python", "deploy/lock.py")


@nox.session
def containers(session: nox.Session) -> None:
    """Build and run the image and the pilot of the compose file; arguments after ``--`` go to ``docker build``."""
    session.install("-e", ".[test]")
    build = ("docker", "build", "-f", "deploy/Dockerfile", "-t", "fedperi", *session.posargs, ".")
    session.run(*build, external=True)
    session.run("pytest", "tests/project/test_containers.py", env={**ENVIRONMENT, "FEDPERI_CONTAINERS": "1"})


@nox.session
def docs(session: nox.Session) -> None:
    """Run the examples of the pages and of the docstrings, and check links and names."""
    session.install("-e", ".[test]")
    session.run(
        "pytest", "docs", "README.md", "tests/project/test_docs.py", "tests/project/test_examples.py", env=ENVIRONMENT
    )


@nox.session
def site(session: nox.Session) -> None:
    """Build this version's documentation in build/site, beside other versions; a broken link is an error."""
    session.install("-e", ".[docs]")
    session.run("python", "docs/site/versions.py", "build/site", env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Run a small part of the main table, to see that it works (a few minutes)."""
    session.install(".")
    session.run("fedperi", "benchmark", "table1", "--quick", "--out", session.create_tmp(), env=ENVIRONMENT)


@nox.session
def coverage(session: nox.Session) -> None:
    """Measure which lines and branches the tests reach; fail below a minimum. Too slow for CI."""
    session.install("-e", ".[test]", "pytest-cov")
    # In these tests a process is killed at its nth write to the disk; coverage would add writes.
    crashes = "not test_a_crash_while"
    session.run("pytest", "-n", "4", "-k", crashes, "--cov", "--cov-report=term", *session.posargs, env=ENVIRONMENT)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheel of this system, and check that its loops use only the stable interface of Python."""
    session.install("build", "abi3audit")
    folder = Path(session.create_tmp())
    session.run("python", "-m", "build", "--wheel", "--outdir", str(folder))
    wheels = sorted(folder.glob("*-cp311-abi3-*.whl"))
    if not wheels:
        session.error("no abi3 wheel was built: is there a C compiler?")
    session.run("abi3audit", "--strict", str(wheels[-1]))


EPOCH = 1700000000
USED = "import fedperi as fp; from fedperi.scores import _kernel; assert _kernel.kind() == '{}', _kernel.kind(); "
RUN = "assert fp.MPERI(progress=False).fit(fp.simulate(4, clients=3, samples=200).sites).graph"


@nox.session
def release(session: nox.Session) -> None:
    """Build twice and compare; install and use the wheel, and the sources with and without a compiler."""
    session.install("build", "twine", "setuptools>=77")
    folder = Path(session.create_tmp()).resolve() / "release"
    rmtree(folder, ignore_errors=True)  # from an earlier run
    for turn in ("first", "second"):
        session.run("python", "-m", "build", "--outdir", str(folder / turn), env={"SOURCE_DATE_EPOCH": str(EPOCH)})
        for archive in (folder / turn).glob("*.tar.gz"):
            _pack_again(archive)
    _assert_equal(session, folder)
    built = [str(path) for path in sorted((folder / "first").iterdir())]
    session.run("twine", "check", "--strict", *built)
    (sdist,), (wheel,) = ([name for name in built if name.endswith(end)] for end in (".tar.gz", ".whl"))
    with session.chdir(folder):  # outside the sources, which Python would import instead
        session.install("--force-reinstall", "--no-cache-dir", wheel)
        session.run("python", "-c", USED.format("compiled") + RUN)
        session.run("fedperi", "demo", "--out", str(folder / "demo"), env=ENVIRONMENT)
        again = ("--force-reinstall", "--no-deps", "--no-cache-dir", sdist)
        session.install(*again)
        session.run("python", "-c", USED.format("compiled") + RUN)
        session.install(*again, env={"CC": "/bin/false"})
        session.run("python", "-c", USED.format("numpy") + RUN)


def _pack_again(archive: Path) -> None:
    """Pack the files again with fixed times, owners and order; setuptools uses those of this machine."""
    with tarfile.open(archive) as packed:
        files = [(one.name, one.mode, packed.extractfile(one).read()) for one in packed if one.isfile()]
    with (
        archive.open("wb") as out,
        gzip.GzipFile("", "wb", mtime=EPOCH, fileobj=out) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as packed,
    ):
        for name, mode, content in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(content), EPOCH, 0o755 if mode & 0o100 else 0o644
            packed.addfile(entry, io.BytesIO(content))


def _assert_equal(session: nox.Session, folder: Path) -> None:
    """Compare two builds of the same sources byte by byte."""
    names = sorted(path.name for path in (folder / "first").iterdir())
    if len(names) != 2 or names != sorted(path.name for path in (folder / "second").iterdir()):
        session.error(f"expected one wheel and one archive of sources from each build, got {names}")
    for name in names:
        if (folder / "first" / name).read_bytes() != (folder / "second" / name).read_bytes():
            session.error(f"two builds of the same sources differ: {name}")


@nox.session
def licences(session: nox.Session) -> None:
    """Write docs/reference/licences.md and build/sbom.json from the metadata of the installed packages."""
    session.install("cyclonedx-bom")
    used = Path(session.create_tmp()).resolve() / "used"  # an environment with only what users install
    rmtree(used, ignore_errors=True)
    session.run("python", "-m", "venv", "--without-pip", str(used))
    python = str(used / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    extras = ".[files,sql,flower,metrics,networkx,accounting]"
    session.run("python", "-m", "pip", "--python", python, "install", extras)
    session.run(python, "docs/site/licences.py", "docs/reference/licences.md", external=True)
    Path("build").mkdir(exist_ok=True)
    bill = ("--pyproject", "pyproject.toml", "--of", "JSON", "-o", "build/sbom.json")
    session.run("cyclonedx-py", "environment", python, *bill)


@nox.session
def neighbours(session: nox.Session) -> None:
    """Run the programs of the page for users of other tools, with DoWhy and pgmpy, and with R where it is installed."""
    session.install(".[test]", "dowhy", "pgmpy")
    session.run("pytest", "tests/project/test_other_tools.py", "-rs", env=ENVIRONMENT)
