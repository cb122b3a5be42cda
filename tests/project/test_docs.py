"""The documentation stays correct: its commands run, its links work, and every public name is in it.

Python blocks of docs/*.md are doctests, which pytest collects by itself.
"""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from helpers.command import fedperi
from helpers.following import DOCS, blocks, file_name, follow

import fedperi as fp

LINK = re.compile(r"\]\(([^)\s]+)\)")
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if not path.name.startswith("notes"))


def commands(text: str) -> list[list[str]]:
    """The `fedperi` commands of a shell block, as arguments; anything else is a mistake."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert all(line.startswith("fedperi ") for line in lines), lines
    return [shlex.split(line)[1:] for line in lines]


def expanded(arguments: list[str], place: Path) -> list[str]:
    """Replace patterns by files, as a shell does."""
    out: list[str] = []
    for argument in arguments:
        found = sorted(str(path.relative_to(place)) for path in place.glob(argument)) if "*" in argument else []
        out += found or [argument]
    return out


def test_the_benchmark_page_runs(tmp_path: Path) -> None:
    """All but its first block, which takes hours."""
    told = [text for language, text in blocks(DOCS / "guides" / "benchmark.md") if language == "sh"][1:]
    done = [fedperi(*expanded(arguments, tmp_path), cwd=tmp_path) for text in told for arguments in commands(text)]
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * 3
    assert '"found": {"shd": ' in done[0].stdout and "| M-PERI |" in done[2].stdout


def test_configuration_of_the_options_page_runs(tmp_path: Path) -> None:
    (done,) = follow(DOCS / "guides" / "options.md", tmp_path)
    result = fp.Result.from_json((tmp_path / "results" / "result.json").read_text(encoding="utf-8"))
    assert [result.method[key] for key in ("name", "seed", "confidence", "sharing")] == ["M-PERI", 8, 0.9, "exact"]
    printed = fp.Result.from_json(done.stdout[done.stdout.index("\n{\n") :])
    assert [printed.method[key] for key in ("seed", "confidence", "sharing")] == [7, 0.8, "exact"]


def test_every_option_is_in_the_options_page() -> None:
    from dataclasses import fields

    page = (DOCS / "guides" / "options.md").read_text(encoding="utf-8")
    options = {option.name for method in (fp.MPERI, fp.IPERI) for option in fields(method)}
    assert [name for name in sorted(options) if not re.search(rf"\b{name}\b", page)] == []


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    for target in LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, heading = target.partition("#")
        other = (DOCS / page).parent / name if name else DOCS / page
        assert other.exists(), f"{page} links to {target}"
        if heading:
            headings = re.findall(r"^#+ (.*)$", other.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_are_doctests_with_a_blank_line_before_the_fence(page: str) -> None:
    """Or programs with a name, which tests write to a file and run (`follow`, and test_other_tools.py)."""
    for language, text in blocks(DOCS / page):
        if language == "python" and file_name(text) is None:
            assert text.startswith(">>> "), f"{page}: a Python block that no test runs: {text[:60]!r}"
            assert text.endswith("\n\n"), f"{page}: the fence would be taken for output: {text[-60:]!r}"


def test_the_map_names_every_page() -> None:
    listed = set(LINK.findall((DOCS / "index.md").read_text(encoding="utf-8")))
    notebooks = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.ipynb")}
    assert {*PAGES, *notebooks} - {"index.md", "reference/index.md"} <= listed


def test_nothing_hints_at_a_package_on_an_index() -> None:
    """The package is installed from its folder or wheel: `pip install fedperi` would find nothing, or a stranger."""
    hint = re.compile(r"pip install(?! --no-index)[^\n`]*[ '\"]fedperi\b")
    roots = [DOCS.parent / name for name in ("src", "docs", "deploy", "README.md", "CONTRIBUTING.md")]
    files = [path for root in roots for path in (root.rglob("*") if root.is_dir() else [root])]
    texts = [path for path in files if path.suffix in (".py", ".md", ".toml", ".yml", ".ipynb", ".html")]
    assert len(texts) > 300
    assert [str(path) for path in texts if hint.search(path.read_text(encoding="utf-8"))] == []


def test_licences_of_all_direct_dependencies_are_listed() -> None:
    """`nox -s licences` writes the page; it is old if a dependency is missing."""
    page = (DOCS / "reference" / "licences.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| ([a-z0-9-]+) \| [0-9]", page, re.MULTILINE))
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [project["optional-dependencies"][name] for name in ("files", "sql", "flower", "metrics", "networkx")]
    wanted = [re.split(r"[\[<>=!~ ]", need)[0].lower() for need in sum(extras, project["dependencies"])]
    assert [name for name in wanted if name != "fedperi" and name not in listed] == []
    assert "not stated" not in page
