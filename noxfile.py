"""Chores, each in an environment of its own: ``nox -l`` lists them, ``nox -s lint`` runs one."""

from pathlib import Path
from shutil import rmtree

import nox

nox.options.sessions = ["lint", "tests"]
nox.options.reuse_existing_virtualenvs = True

ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1"}

# What each extra adds, in one line that fails without it.
EXTRAS = {
    "": "import tempfile; sites = fp.simulate(4, clients=3, samples=200).sites; "
    "fp.MPERI(progress=False).fit(sites).save(tempfile.mkdtemp())",
    "parquet": "import tempfile, pathlib; f = pathlib.Path(tempfile.mkdtemp(), 'a.parquet'); "
    "fp.simulate(3, clients=1, samples=200).sites[0].to_parquet(f); fp.ges(f)",
    "metrics": "g = fp.PDAG.from_edges([('A', 'B')]); assert fp.adjustment_distance(g, g) == (0.0, 0)",
    "networkx": "fp.PDAG.from_edges([('A', 'B')]).to_networkx()",
    "accounting": "import dp_accounting",
    "keys": "from fedperi.pki.certificates import new_key; new_key()",
    "flower": "from fedperi.transports.flower import inner, need_flower; need_flower(); inner.new_key()",
}


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests; arguments after ``--`` go to pytest."""
    session.install(".[test]")
    session.run("pytest", *session.posargs, env=ENVIRONMENT)


@nox.session
@nox.parametrize("extra", list(EXTRAS), ids=[extra or "none" for extra in EXTRAS])
def extras(session: nox.Session, extra: str) -> None:
    """Install the package with one extra alone, and use it."""
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
    """Write deploy/requirements.lock again: the packages of the image, with hashes. Look at the difference in git."""
    session.install("pip>=23.1")
    session.run("python", "deploy/lock.py")


@nox.session
def docs(session: nox.Session) -> None:
    """Run the examples of the pages and of the docstrings, and check links and names."""
    session.install("-e", ".[test]")
    session.run(
        "pytest", "docs", "README.md", "tests/project/test_docs.py", "tests/project/test_examples.py", env=ENVIRONMENT
    )


@nox.session
def site(session: nox.Session) -> None:
    """Build the documentation site in build/site; a broken link or a request to another host is an error."""
    session.install("-e", ".[docs]")
    session.run("mkdocs", "build", "--strict", env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Run a corner of the main table: a few minutes, to see that it works."""
    session.install(".")
    session.run("fedperi", "benchmark", "table1", "--quick", "--out", session.create_tmp(), env=ENVIRONMENT)


@nox.session
def coverage(session: nox.Session) -> None:
    """Measure which lines and branches the tests reach; slower than the tests, and so not part of CI."""
    session.install("-e", ".[test]", "pytest-cov")
    session.run("pytest", "--cov", "--cov-report=term", *session.posargs, env=ENVIRONMENT)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheel of this system, and check that its loops need nothing beyond the stable interface of Python."""
    session.install("build", "abi3audit")
    folder = Path(session.create_tmp())
    session.run("python", "-m", "build", "--wheel", "--outdir", str(folder))
    wheels = sorted(folder.glob("*-cp311-abi3-*.whl"))
    if not wheels:
        session.error("no abi3 wheel was built: is there a C compiler?")
    session.run("abi3audit", "--strict", str(wheels[-1]))


@nox.session
def release(session: nox.Session) -> None:
    """Build twice and compare the wheels, run the demo from the wheel, and install without a compiler."""
    session.install("build")
    folder = Path(session.create_tmp()).resolve() / "release"
    rmtree(folder, ignore_errors=True)  # of an earlier run
    folder.mkdir()
    built = []
    for turn in ("first", "second"):
        out = folder / turn
        session.run("python", "-m", "build", "--outdir", str(out), env={"SOURCE_DATE_EPOCH": "1700000000"})
        built.append(next(out.glob("*.whl")))
    if built[0].read_bytes() != built[1].read_bytes():
        session.error("two builds of the same sources gave different wheels")
    kind = "from fedperi.scores import _kernel; assert _kernel.kind() == '{}', _kernel.kind()"
    with session.chdir(folder):  # not the sources, which Python would import instead
        session.install(str(built[0]))
        session.run("python", "-c", kind.format("compiled"))
        session.run("fedperi", "demo", "--out", str(folder / "demo"), env=ENVIRONMENT)
        sdist = next((folder / "first").glob("*.tar.gz"))
        session.install("--force-reinstall", "--no-deps", "--no-cache-dir", str(sdist), env={"CC": "/bin/false"})
        session.run("python", "-c", kind.format("numpy"))
