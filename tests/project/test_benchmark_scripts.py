"""The scripts in benchmarks/ still fit the package: each can be imported, although nobody runs them every day."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "benchmarks"

IMPORT_ALL = """
import importlib, pathlib, sys
sys.path.insert(0, sys.argv[1])
sys.argv = ["script"]
for path in sorted(pathlib.Path(sys.path[0]).glob("*.py")):
    try:
        importlib.import_module(path.stem)
    except Exception as error:
        print(f"{path.name}: {error!r}")
"""


def test_every_script_can_be_imported() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL, str(FOLDER)], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
