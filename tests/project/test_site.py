"""The reference of the site is complete, and the site refuses requests to other hosts."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from helpers.site import ROOT, site_module
from typer.core import TyperGroup, TyperOption

import fedperi as fp
from fedperi.cli import app


def test_every_command_and_option_is_in_the_reference() -> None:
    page = site_module("reference").commands()
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    for name, command in group.commands.items():
        part = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        parts = [command, *(command.commands.values() if isinstance(command, TyperGroup) else ())]
        shown = [one for each in parts for one in each.params if not getattr(one, "hidden", False)]
        missing = [flag for one in shown if isinstance(one, TyperOption) for flag in one.opts if flag not in part]
        assert not missing, (name, missing)
    assert len(group.commands) >= 15


def test_every_public_name_is_in_the_reference() -> None:
    shown = set(re.findall(r"^::: fedperi\.(\w+)$", site_module("reference").names(), re.MULTILINE))
    assert shown == set(fp.__all__) - {"__version__"}


def answers_are_two_clicks_away(place: Path) -> None:
    """From the text of the first page to the question, and from there to the page that shows how."""
    asked = {
        "how-do-i-forbid-an-edge": "tutorials/knowledge.html",
        "what-leaves-a-site": "explanation/threat-model.html",
        "how-sure-is-an-arrow": "guides/report.html#how-sure-is-an-edge",
        "how-do-i-cite-it": "project/CITATION.cff.txt",
        "how-do-i-add-a-site-later": "tutorials/network.html#add-a-site-later",
    }
    first, questions = (_article(place / name) for name in ("index.html", "faq.html"))
    for heading, answer in asked.items():
        assert f'href="faq.html#{heading}"' in first, heading
        section = questions.split(f'id="{heading}"')[1].split("<h2")[0]
        assert f'href="{answer}"' in section, (heading, section)
        name, _, part = answer.partition("#")
        assert (place / name).is_file() and (not part or f'id="{part}"' in _article(place / name)), answer


def _article(page: Path) -> str:
    """What is written on a page, without the navigation around it."""
    return page.read_text(encoding="utf-8").split("<article")[1].split("</article>")[0]


def test_the_site_is_built_and_asks_no_other_host(tmp_path: Path) -> None:
    pytest.importorskip("mkdocstrings", reason="the site needs pip install '.[docs]'")
    for name in ("mkdocs.yml", "docs", "deploy", "src", "tests/data", *site_module("hooks").PROJECT, "CITATION.cff"):
        source, copy = ROOT / name, tmp_path / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, copy) if source.is_dir() else shutil.copy(source, copy)
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pictures = sorted(path.name for path in (tmp_path / "build" / "site" / "notebooks").glob("*.png"))
    assert pictures == ["methods-1.png", "private-1.png", "sachs-1.png"]
    answers_are_two_clicks_away(tmp_path / "build" / "site")
    # The check that runs after each build sees a request when there is one.
    place = tmp_path / "build" / "site"
    page = place / "faq.html"
    page.write_text(page.read_text(encoding="utf-8") + '<img src="https://example.org/x.png">', encoding="utf-8")
    with pytest.raises(Exception, match=r"faq\.html asks another host"):
        site_module("hooks").on_post_build({"site_dir": str(place)})


def test_versions_stand_beside_each_other(tmp_path: Path) -> None:
    versions = site_module("versions")
    assert versions.series(fp.__version__).startswith("0.2")
    for name in ("0.2", "0.10", "0.11.dev", "assets"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text("")
    assert versions.write_list(tmp_path) == ["0.10", "0.2", "0.11.dev"]
    listed = json.loads((tmp_path / "versions.json").read_text())
    assert [one["version"] for one in listed if one["aliases"] == ["latest"]] == ["0.10"]
    assert 'url=0.10/index.html"' in (tmp_path / "index.html").read_text()
