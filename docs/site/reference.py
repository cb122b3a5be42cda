"""The reference, from the code: every command with its options, every public name with its docstring."""

from __future__ import annotations

import inspect
import re

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

# Newer versions of typer bring a click of their own, so that classes of click itself fit no version for sure.
Command = TyperCommand | TyperGroup

# Where a name belongs in the page of public names: the room that it comes from.
GROUPS = {
    "Methods": ("fedperi.methods.mperi", "fedperi.methods.iperi", "fedperi.methods.fci", "fedperi.methods.controls"),
    "Results": ("fedperi.methods",),
    "Baselines": ("fedperi.baselines",),
    "One table alone": ("fedperi.discovery",),
    "Sites and summaries": ("fedperi.site", "fedperi.tables", "fedperi.coordinator"),
    "Privacy": ("fedperi.privacy",),
    "Graphs and distances": ("fedperi.graph",),
    "Simulation": ("fedperi.simulation",),
    "Errors": ("fedperi.errors",),
}


def commands() -> str:
    """Every command and option of the command line, as Markdown."""
    from fedperi.cli import app

    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    lines = ["# Commands and options", "", "Generated from the code; `fedperi COMMAND --help` says the same.", ""]
    lines += ["| command | what |", "|---|---|"]
    lines += [f"| [`{name}`](#{name}) | {_cell(_first(one.help))} |" for name, one in group.commands.items()]
    for name, one in group.commands.items():
        assert isinstance(one, Command)
        lines += ["", f"## {name}", "", *_command(name, one)]
        for part, of in one.commands.items() if isinstance(one, TyperGroup) else ():
            assert isinstance(of, Command)
            lines += ["", f"### {name} {part}", "", *_command(f"{name} {part}", of)]
    lines += [
        "",
        "## Exit codes",
        "",
        "0 success; 2 bad input, named in one sentence; 75 something out of reach that may come back; 1 a bug in "
        "fedperi, or a claim that `audit` found violated; 130 interrupted.",
    ]
    return "\n".join(lines) + "\n"


def _command(name: str, command: Command) -> list[str]:
    context = typer.Context(command, info_name=f"fedperi {name}")
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    arguments = [one for one in shown if isinstance(one, TyperArgument)]
    options = [one for one in shown if isinstance(one, TyperOption)]
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    lines = [_words(command.help), "", "```text", usage, "```"]
    if arguments:
        lines += ["", "| argument | what |", "|---|---|"]
        lines += [f"| `{one.get_usage_pieces(context)[0]}` | {_cell(getattr(one, 'help', ''))} |" for one in arguments]
    if options:
        lines += ["", "| option | what | default |", "|---|---|---|"]
        lines += [f"| {_flags(one, context)} | {_cell(one.help)} | {_default(one, context)} |" for one in options]
    return lines


def _flags(option: TyperOption, context: typer.Context) -> str:
    # Newer versions of typer have another name for it.
    kind_of = getattr(option, "make_metavar", None) or option.display_type_rich
    kind = "" if option.is_flag else f" {kind_of(ctx=context)}"
    names = ", ".join(f"`{name}{kind}`" for name in option.opts)
    return names + "".join(f", `{name}`" for name in option.secondary_opts)


def _default(option: TyperOption, context: typer.Context) -> str:
    value = option.get_default(context, call=False)
    if option.required:
        return "required"
    if value is None or value == () or value is False or callable(value):
        return ""
    return f"`{getattr(value, 'value', value)}`"


def _first(text: str | None) -> str:
    return _words(text).split("\n\n")[0]


def _words(text: str | None) -> str:
    return inspect.cleandoc(text or "").replace("\f", "\n").strip()


def _cell(text: str | None) -> str:
    """Text for a cell of a table, in which `[1e-6]` is no link and `FILE|DIR` no border."""
    flat = re.sub(r"\s+", " ", _words(text))
    return re.sub(r"([|\[\]<>*_])", r"\\\1", flat)


def names() -> str:
    """Every public name, for mkdocstrings to fill in."""
    import fedperi
    from fedperi.graph import formats

    lines = ["# Public names", "", "Everything here is in `fedperi`: `import fedperi as fp`. Other names may change."]
    grouped: dict[str, list[str]] = {title: [] for title in GROUPS}
    for name in fedperi.__all__:
        if name != "__version__":
            grouped[_group(getattr(fedperi, name).__module__)].append(name)
    for title, members in grouped.items():
        lines += ["", f"## {title}"]
        for name in members:
            lines += ["", f"::: fedperi.{name}"]
    lines += ["", "## Graphs for other tools", "", "Methods of `PDAG` too: `graph.to_dot()`, `fp.PDAG.from_dot(text)`."]
    for name in formats.__all__:
        lines += ["", f"::: fedperi.graph.formats.{name}"] if name.startswith(("to_", "from_")) else []
    lines += ["", "## Version", "", "`fedperi.__version__` is the version, as text."]
    return "\n".join(lines) + "\n"


def _group(module: str) -> str:
    """The group with the longest name of a room that the module is in."""
    fits = [
        (len(room), title) for title, rooms in GROUPS.items() for room in rooms if f"{module}.".startswith(f"{room}.")
    ]
    if not fits:
        raise ValueError(f"{module} is in no group of docs/site/reference.py: add its room")
    return max(fits)[1]
