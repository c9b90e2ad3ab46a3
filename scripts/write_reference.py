"""Write docs/cli.md from the commands, docs/python-calls.md from the calls, docs/renames.md from its table.

A test compares the committed pages with what this would write.
"""

from __future__ import annotations

import inspect
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer.core
import typer.main

import stepwell
from stepwell import content, graphs, jobs, people, runs, schedules, tenants, workflows
from stepwell.cli.main import app
from stepwell.govern import calls
from stepwell.govern import workers as govern_workers

Command = typer.core.TyperCommand | typer.core.TyperGroup
Parameter = typer.core.TyperArgument | typer.core.TyperOption

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "cli.md"
CALLS_PAGE = DOCS / "python-calls.md"
RENAMES_PAGE = DOCS / "renames.md"
HEADER = """# Commands

Written by `make docs` from the commands themselves. `--help` shows the same at the terminal.
"""
CALLS_HEADER = """# Calls in Python

Written by `make docs` from the calls themselves. `app` is a `stepwell.App`, `ctx` the context of a handler,
`run` and `job` are what `app.start` and `app.enqueue` return. `app.sync` has the same calls without `await`.
The [Python reference](python.md) shows how they are used together.
"""
# What begins a call in the page, the title of its part, and the class that has the calls.
CALLS: list[tuple[str, str, type[Any]]] = [
    ("app", "Runs", runs.RunCalls),
    ("app", "Jobs", jobs.JobCalls),
    ("app", "Job graphs and event routes", graphs.GraphCalls),
    ("app", "People and approvals", people.PeopleCalls),
    ("app", "Content", content.ContentCalls),
    ("app", "Policies, problems and receipts", calls.GovernCalls),
    ("app", "Workers and sentences about them", govern_workers.WorkerGovernCalls),
    ("app", "Schedules", schedules.ScheduleCalls),
    ("app", "Tenants and workspaces", tenants.TenantCalls),
    ("app", "Workflows", workflows.WorkflowCalls),
    ("run", "Handle of a run", stepwell.RunHandle),
    ("job", "Handle of a job", stepwell.JobHandle),
    ("ctx", "Context of a handler", stepwell.Context),
]
# Public for other modules of Stepwell, not for programs.
INTERNAL = {"ctx": {"log_fields", "note_progress", "pass_progress", "stop", "unit_id"}, "run": {"outcome_of"}}
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


def calls_reference() -> str:
    """One table for each group of calls."""
    lines = [CALLS_HEADER]
    for owner, title, group in CALLS:
        lines += [f"## {title}\n", "| call | what it does |\n|---|---|"]
        lines += [f"| `{line}` | {meaning} |" for line, meaning in calls_of(owner, group)]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def calls_of(owner: str, group: type[Any]) -> Iterator[tuple[str, str]]:
    """Each public method and property of the class itself, in the order of its source, and its first line."""
    for name, member in vars(group).items():
        if name.startswith("_") or name in INTERNAL.get(owner, ()):
            continue
        if isinstance(member, property):
            yield f"{owner}.{name}", meaning_of(member.fget)
        elif inspect.isfunction(member):
            wait = "await " if inspect.iscoroutinefunction(member) else ""
            yield f"{wait}{owner}.{name}{arguments(member)}", meaning_of(member)


def arguments(function: Callable[..., Any]) -> str:
    """The names of the parameters; `=` marks those that have a default."""
    found = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        found.append(star + parameter.name + ("" if parameter.default is parameter.empty else "="))
    return f"({', '.join(found)})"


def meaning_of(function: Any) -> str:
    text = (inspect.getdoc(function) or "").split("\n\n")[0]
    return " ".join(text.split()).replace("|", "\\|")


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
    pages = {PAGE: cli_reference(), CALLS_PAGE: calls_reference(), RENAMES_PAGE: renames_reference()}
    for page, text in pages.items():
        page.write_text(text, encoding="utf-8")
        print(f"Written: {page.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
