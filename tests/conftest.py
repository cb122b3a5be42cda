"""Settings shared by all tests: hypothesis draws a thousand cases a property, the same ones in every run.

Ledgers and noise go to a folder of their own, so that no test spends the budget of a table of the user's.
"""

import atexit
import os
import shutil
import tempfile

from hypothesis import HealthCheck, settings

settings.register_profile(
    "fedperi",
    max_examples=1000,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("fedperi")

os.environ["FEDPERI_STORE"] = tempfile.mkdtemp(prefix="fedperi-tests-")
atexit.register(shutil.rmtree, os.environ["FEDPERI_STORE"], ignore_errors=True)
