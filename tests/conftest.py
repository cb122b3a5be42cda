"""Settings shared by all tests: hypothesis draws a thousand cases per property, the same ones in every run.

For daily work, ``HYPOTHESIS_PROFILE=dev`` or ``--hypothesis-profile=dev`` draws fifty.

Ledgers and noise go to a folder of their own, so that no test spends the budget of a table of the user's.
"""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from fedperi.scores import _kernel as kernel

settings.register_profile(
    "fedperi",
    max_examples=1000,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("dev", settings.get_profile("fedperi"), max_examples=50)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fedperi"))

os.environ["COLUMNS"] = "80"
os.environ["FEDPERI_STORE"] = tempfile.mkdtemp(prefix="fedperi-tests-")
atexit.register(shutil.rmtree, os.environ["FEDPERI_STORE"], ignore_errors=True)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Use four processes if no file or test is named. A run of named tests is one process: a debugger works there.

    What one process compiles, the others use: each would take 7 s for the tests alone, and every command 0.1 s.
    """
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    alone = named or config.option.usepdb or config.option.collectonly or hasattr(config, "workerinput")
    if not alone and config.getoption("numprocesses", 0) is None:
        config.option.numprocesses, config.option.dist = 4, "worksteal"
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let every process begin with its share of the tests that wait for networks; begun last, they would run alone.

    A file of such tests stays together, since they share federations. ``--dist worksteal`` hands out equal slices of
    the list, in order, and moves tests from the end of a slice to a process that has none left.
    """
    files: dict[Path, list[pytest.Item]] = {}
    others = []
    for item in items:
        if item.get_closest_marker("network") or item.get_closest_marker("slow"):
            files.setdefault(item.path, []).append(item)
        else:
            others.append(item)
    shares: list[list[pytest.Item]] = [[] for _ in range(int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))]
    for tests in sorted(files.values(), key=_length, reverse=True):
        min(shares, key=_length).extend(tests)
    left = len(items)
    items.clear()
    for k, share in enumerate(shares):
        size = left // (len(shares) - k)  # as the scheduler of xdist counts
        filled = share + others[: max(0, size - len(share))]
        del others[: max(0, size - len(share))]
        items += filled
        left -= len(filled)


def _length(tests: list[pytest.Item]) -> int:
    return sum(4 if test.get_closest_marker("slow") else 1 for test in tests)


@pytest.fixture(params=["compiled", "numpy"], scope="module")
def each_kernel(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run a module's tests with compiled loops, then with numpy alone."""
    loops = kernel.loops
    if request.param == "compiled" and kernel.kind() == "numpy":
        pytest.skip("the loops were not compiled: there is no C compiler")
    if request.param == "numpy":
        kernel.loops = kernel.NoLoops()  # type: ignore[assignment]
    yield
    kernel.loops = loops
