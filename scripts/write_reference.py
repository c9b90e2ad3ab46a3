"""Write docs/cli.md from the commands themselves, and docs/renames.md from its table.

A test compares the committed pages with what this would write.
"""

from __future__ import annotations

import inspect
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import typer.core
import typer.main

from stepwell.cli.main import app

Command = typer.core.TyperCommand | typer.core.TyperGroup
Parameter = typer.core.TyperArgument | typer.core.TyperOption

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "cli.md"
RENAMES_PAGE = DOCS / "renames.md"
HEADER = """# Commands

Written by `make docs` from the commands themselves. `--help` shows the same at the terminal.
"""
RENAMES_HEADER = """# Renamed

The old and the new names. Written by `make docs` from `docs/renames.toml`; what each
word means stands in the [glossary](../GLOSSARY.md).
"""


def renames_reference() -> str:
    """One table for each part of the file, in its order."""
    parts = tomllib.loads((DOCS / "renames.toml").read_text(encoding="utf-8"))["part"]
    lines = [RENAMES_HEADER]
    for part in parts:
        lines += [f"## {part['title']}\n", "| old | new | remark |\n|---|---|---|"]
        lines += [f"| {' | '.join(row)} |" for row in part["renames"]]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def cli_reference() -> str:
    """The whole page: every visible command, its arguments and options."""
    root = typer.main.get_command(app)
    sections = [HEADER]
    for path, command in commands("stepwell", root):
        sections.extend(describe(path, command))
    return "\n".join(sections).rstrip() + "\n"


def commands(path: str, command: Command) -> Iterator[tuple[str, Command]]:
    """The command and everything below it, in alphabetical order, hidden ones left out."""
    if command.hidden:
        return
    yield path, command
    children = getattr(command, "commands", {})
    for name in sorted(children):
        yield from commands(f"{path} {name}", children[name])


def describe(path: str, command: Command) -> Iterator[str]:
    yield f"## `{usage(path, command)}`\n"
    if command.help:
        yield inspect.cleandoc(command.help).replace("\b\n", "") + "\n"
    rows = [row for parameter in command.params if (row := describe_option(parameter))]
    if rows:
        yield "| option | meaning |\n|---|---|"
        yield from rows
        yield ""


def usage(path: str, command: Command) -> str:
    arguments = [argument(parameter) for parameter in command.params if is_argument(parameter)]
    return " ".join([path, *arguments, *(["COMMAND"] if getattr(command, "commands", None) else [])])


def is_argument(parameter: Parameter) -> bool:
    return parameter.param_type_name == "argument"


def argument(parameter: Parameter) -> str:
    name = str(parameter.metavar or parameter.name).upper() + ("..." if parameter.nargs == -1 else "")
    return name if parameter.required else f"[{name}]"


def describe_option(parameter: Parameter) -> str | None:
    if getattr(parameter, "hidden", False):
        return None
    meaning = " ".join((getattr(parameter, "help", None) or "").split())
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    if is_argument(parameter):
        names = f"`{parameter.name}`"
    return f"| {names} | {meaning} |"


def main() -> int:
    for page, text in ((PAGE, cli_reference()), (RENAMES_PAGE, renames_reference())):
        page.write_text(text, encoding="utf-8")
        print(f"Written: {page.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
