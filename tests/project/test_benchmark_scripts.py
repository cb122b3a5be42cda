"""The scripts in benchmarks/ still fit the package: each can be imported, and the names that it uses exist."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "benchmarks"

IMPORT_ALL = """
import ast, importlib, inspect, pathlib, sys
sys.path.insert(0, sys.argv[1])
sys.argv = ["script"]
for path in sorted(pathlib.Path(sys.path[0]).glob("*.py")):
    try:
        known = vars(importlib.import_module(path.stem))
    except Exception as error:
        print(f"{path.name}: {error!r}")
        continue

    def owner(node):
        if isinstance(node, ast.Name):
            found = known.get(node.id)
        elif isinstance(node, ast.Attribute):
            found = getattr(owner(node.value), node.attr, None)
        else:
            found = owner(node.func) if isinstance(node, ast.Call) else None
            return found if inspect.isclass(found) else None
        return found if inspect.ismodule(found) or inspect.isclass(found) else None

    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and (found := owner(node.value)) and not hasattr(found, node.attr):
            print(f"{path.name}, line {node.lineno}: {found.__name__} has no {node.attr}")
"""


def test_every_script_can_be_imported_and_the_names_that_it_takes_from_modules_and_classes_exist() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL, str(FOLDER)], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
