"""The reference of the site is complete, and the site refuses requests to other hosts."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest
import typer

import fedperi as fp
from fedperi.cli import app

ROOT = Path(__file__).parents[2]


def site_module(name: str) -> ModuleType:
    """Load a module of docs/site, which is no package."""
    spec = importlib.util.spec_from_file_location(f"site_{name}", ROOT / "docs" / "site" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_and_option_is_in_the_reference() -> None:
    page = site_module("reference").commands()
    group = typer.main.get_command(app)
    assert isinstance(group, click.Group)
    for name, command in group.commands.items():
        part = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        parts = [command, *(command.commands.values() if isinstance(command, click.Group) else ())]
        shown = [one for each in parts for one in each.params if not getattr(one, "hidden", False)]
        missing = [flag for one in shown if isinstance(one, click.Option) for flag in one.opts if flag not in part]
        assert not missing, (name, missing)
    assert len(group.commands) >= 15


def test_every_public_name_is_in_the_reference() -> None:
    shown = set(re.findall(r"^::: fedperi\.(\w+)$", site_module("reference").names(), re.MULTILINE))
    assert shown == set(fp.__all__) - {"__version__"}


def test_the_site_is_built_and_asks_no_other_host(tmp_path: Path) -> None:
    pytest.importorskip("mkdocstrings", reason="the site needs pip install '.[docs]'")
    for name in ("mkdocs.yml", "docs", "deploy", "src", "tests/data", *site_module("hooks").PROJECT, "CITATION.cff"):
        source, copy = ROOT / name, tmp_path / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, copy) if source.is_dir() else shutil.copy(source, copy)
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    # The same check sees a request when there is one.
    with (tmp_path / "docs" / "faq.md").open("a", encoding="utf-8") as page:
        page.write('\n<img src="https://example.org/x.png">\n')
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "faq.html asks another host" in done.stdout + done.stderr
