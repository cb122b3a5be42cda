"""Settings shared by all tests: hypothesis draws a thousand cases per property, the same ones in every run.

For daily work, ``HYPOTHESIS_PROFILE=dev`` or ``--hypothesis-profile=dev`` draws fifty.

Ledgers and noise go to a folder of their own, so that no test spends the budget of a table of the user's.
"""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator

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
    """Use three processes if no file or test is named. A run of named tests is one process: a debugger works there."""
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    alone = named or config.option.usepdb or config.option.collectonly or hasattr(config, "workerinput")
    if not alone and config.getoption("numprocesses", 0) is None:
        config.option.numprocesses, config.option.dist = 3, "worksteal"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with tests that wait for processes and networks: begun last, they would run alone for minutes."""
    items.sort(key=lambda item: not any(item.get_closest_marker(mark) for mark in ("slow", "network")))


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
