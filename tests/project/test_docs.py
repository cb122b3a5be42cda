"""The documentation cannot rot: its commands run, its links lead somewhere, and every public name is in it.

Python blocks of docs/*.md are doctests, which pytest collects by itself.
"""

import json
import re
import shlex
from pathlib import Path

import pytest
from helpers.command import Done, fedperi

import fedperi as fp

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text of the fenced blocks of a page, in order."""
    return [(language, text) for language, text in BLOCK.findall(page.read_text(encoding="utf-8"))]


def commands(text: str) -> list[list[str]]:
    """The `fedperi` commands of a shell block, as arguments; what installs is left out, anything else is a mistake."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(("#", "pip install"))]
    assert all(line.startswith("fedperi ") for line in lines), lines
    return [shlex.split(line)[1:] for line in lines]


def expanded(arguments: list[str], place: Path) -> list[str]:
    """Replace patterns by files, as a shell does."""
    out: list[str] = []
    for argument in arguments:
        found = sorted(str(path.relative_to(place)) for path in place.glob(argument)) if "*" in argument else []
        out += found or [argument]
    return out


def follow(page: str, place: Path) -> list[Done]:
    """Do what a page says, in order: write the files that it shows, run the commands that it gives."""
    done = []
    for language, text in blocks(DOCS / page):
        if language == "toml":
            name = re.match(r"# (\S+\.toml)\n", text)
            assert name is not None, f"a TOML block of {page} does not begin with its file name"
            (place / name[1]).write_text(text, encoding="utf-8")
        elif language == "sh":
            for arguments in commands(text):
                result = fedperi(*expanded(arguments, place), cwd=place)
                assert result.returncode == 0, (page, arguments, result.stderr)
                assert result.stderr == "", (page, arguments)
                done.append(result)
    return done


def test_quick_start_runs_and_says_what_it_shows(tmp_path: Path) -> None:
    done = follow("quickstart.md", tmp_path)
    assert len(done) == 8
    (shown,) = [text for language, text in blocks(DOCS / "quickstart.md") if language == "text"]
    printed = {line.rstrip() for line in done[3].stdout.splitlines()}
    lines = [line.removesuffix("...").rstrip() for line in shown.splitlines() if line]
    assert len(lines) == 12
    assert set(lines) <= printed
    written = {path.name for path in (tmp_path / "results").iterdir()}
    promised = re.findall(r"`(graph\.[\w.]+|result\.json|manifest\.json)`", (DOCS / "quickstart.md").read_text())
    assert set(promised) <= written
    result, known = (fp.load(tmp_path / name) for name in ("results", "results-with-knowledge"))
    assert len(known.graph.directed) > len(result.graph.directed)
    assert not [one for one in known.robustness if one.grade == "one site"]
    truth = json.loads((tmp_path / "data" / "truth.json").read_text(encoding="utf-8"))
    assert result.graph.directed <= {tuple(edge) for edge in truth["dag"]["directed"]}
    targets = {(f"site_{k}", name) for k, names in enumerate(truth["targets"]) for name in names}
    assert targets == {(one.site, one.variable) for one in result.differences}
    for name in ("data", "fedperi-demo", "results-with-knowledge"):
        assert (tmp_path / name).is_dir()


def test_the_benchmark_page_runs(tmp_path: Path) -> None:
    """All but its first block, which takes hours."""
    told = [text for language, text in blocks(DOCS / "benchmark.md") if language == "sh"][1:]
    done = [fedperi(*expanded(arguments, tmp_path), cwd=tmp_path) for text in told for arguments in commands(text)]
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * 3
    assert '"found": {"shd": ' in done[0].stdout and "| I-PERI (ours) |" in done[2].stdout


def test_configuration_of_the_options_page_runs(tmp_path: Path) -> None:
    done = follow("options.md", tmp_path)
    assert len(done) == 3
    result = fp.Result.from_json((tmp_path / "results" / "result.json").read_text(encoding="utf-8"))
    assert [result.method[key] for key in ("name", "seed", "confidence", "sharing")] == ["M-PERI", 8, 0.9, "exact"]
    printed = fp.Result.from_json(done[2].stdout)
    assert [printed.method[key] for key in ("seed", "confidence", "sharing")] == [7, 0.8, "exact"]


def test_every_public_name_is_in_the_api_page() -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    code = " ".join(re.findall(r"`([^`]+)`", page))
    assert [name for name in fp.__all__ if not re.search(rf"\b{re.escape(name)}\b", code)] == []


def test_signatures_in_the_api_page_are_right() -> None:
    """Calls shown in the first column name parameters that exist."""
    import inspect

    page = (DOCS / "api.md").read_text(encoding="utf-8")
    shown = [call for row in page.splitlines() if row.startswith("| `") for call in row.split("|")[1].split(", `")]
    checked = 0
    for call in shown:
        match = re.match(r"\s*`?(\w+)\(([^)*]*)\)", call)
        if match is None or not hasattr(fp, match[1]):
            continue
        known = list(inspect.signature(getattr(fp, match[1])).parameters)
        given = [part.split("=")[0].strip() for part in match[2].split(",")]
        for name in given:
            assert name in (*known, "...", "") or known == ["args", "kwargs"], (match[0], known)
        checked += 1
    assert checked >= 20


def test_every_option_is_in_the_options_page() -> None:
    from dataclasses import fields

    page = (DOCS / "options.md").read_text(encoding="utf-8")
    options = {option.name for method in (fp.MPERI, fp.IPERI) for option in fields(method)}
    assert [name for name in sorted(options) if not re.search(rf"\b{name}\b", page)] == []


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_links_lead_to_files_and_headings(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    for target in LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, heading = target.partition("#")
        other = DOCS / name if name else DOCS / page
        assert other.exists(), f"{page} links to {target}"
        if heading:
            headings = re.findall(r"^#+ (.*)$", other.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_python_blocks_are_doctests_with_a_blank_line_before_the_fence(page: str) -> None:
    for language, text in blocks(DOCS / page):
        if language == "python":
            assert text.startswith(">>> "), f"{page}: a Python block that no test runs: {text[:60]!r}"
            assert text.endswith("\n\n"), f"{page}: the fence would be taken for output: {text[-60:]!r}"


def test_the_map_names_every_page() -> None:
    listed = set(LINK.findall((DOCS / "index.md").read_text(encoding="utf-8")))
    assert {path.name for path in DOCS.glob("*.md")} - {"index.md"} <= listed


def test_nothing_hints_at_a_package_on_an_index() -> None:
    """The package is installed from its folder or wheel: `pip install fedperi` would find nothing, or a stranger."""
    hint = re.compile(r"pip install(?! --no-index)[^\n`]*[ '\"]fedperi\b")
    roots = [DOCS.parent / name for name in ("src", "docs", "deploy", "README.md", "CONTRIBUTING.md")]
    files = [path for root in roots for path in (root.rglob("*") if root.is_dir() else [root])]
    texts = [path for path in files if path.suffix in (".py", ".md", ".toml", ".yml", ".ipynb", ".html")]
    assert len(texts) > 300
    assert [str(path) for path in texts if hint.search(path.read_text(encoding="utf-8"))] == []
