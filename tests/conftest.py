"""Settings shared by all tests: hypothesis draws a thousand cases a property, the same ones in every run.

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
settings.load_profile("fedperi")

os.environ["COLUMNS"] = "80"
os.environ["FEDPERI_STORE"] = tempfile.mkdtemp(prefix="fedperi-tests-")
atexit.register(shutil.rmtree, os.environ["FEDPERI_STORE"], ignore_errors=True)


@pytest.fixture(params=["compiled", "numpy"], scope="module")
def each_kernel(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run a module's tests with compiled loops, then with numpy alone."""
    loops = kernel.loops
    if request.param == "compiled" and kernel.kind() == "numpy":
        pytest.skip("the loops were not compiled: there is no C compiler")
    if request.param == "numpy":
        kernel.loops = kernel.NoLoops()
    yield
    kernel.loops = loops
