"""Write the help of a command: receives a command and its context, returns plain text in aligned columns.

The help is plain text because drawing boxes with Rich takes more time than all the rest of the help.
"""

from __future__ import annotations

import inspect
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any, Final

from stepwell.cli.commands import COMMANDS, SECTIONS

WIDTH_LIMIT: Final = 100
TERM_LIMIT: Final = 30
INDENT: Final = "  "
# Typer's name of a type → the word that the help shows for a value of it.
VALUES: Final = {
    "int": "NUMBER",
    "int range": "NUMBER",
    "float": "NUMBER",
    "float range": "NUMBER",
    "path": "PATH",
    "str": "TEXT",
    "list[str]": "TEXT",
}

Rows = list[tuple[str, str]]

_WIDEST: Final = max(map(len, COMMANDS))


def write_help(command: Any, context: Any, formatter: Any) -> None:
    """Write what `--help` shows; the formatter does not change the text."""
    formatter.write(help_text(command, context))


def help_text(command: Any, context: Any) -> str:
    blocks = [_wrapped(inspect.cleandoc(command.help or "")), _usage(command, context)]
    if context.parent is None:
        for title, section in SECTIONS.items():
            blocks.append(_block(title, [(name, entry.summary) for name, entry in section.items()], _WIDEST))
    elif commands := getattr(command, "commands", None):
        blocks.append(_block("Commands", [(name, summary(found)) for name, found in commands.items()]))
    arguments, options = _parameters(command, context)
    blocks += [_block("Arguments", arguments), _block("Options", options)]
    if context.parent is None:
        blocks.append("'stepwell COMMAND --help' shows the help of a command.")
    return "\n\n".join(block for block in blocks if block) + "\n"


def summary(command: Any) -> str:
    """The first paragraph of a command's help, on one line."""
    return " ".join(inspect.cleandoc(command.help or "").split("\n\n")[0].split())


def argument_name(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name).upper()


def _usage(command: Any, context: Any) -> str:
    words = [context.command_path]
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            name = argument_name(parameter) + (" ..." if parameter.nargs == -1 else "")
            words.append(name if parameter.required else f"[{name}]")
    if hasattr(command, "commands"):
        words.append("COMMAND")
    return f"{_bold('Usage:')} {' '.join(words)} [OPTIONS]"


def _parameters(command: Any, context: Any) -> tuple[Rows, Rows]:
    arguments: Rows = []
    options: Rows = []
    for parameter in command.get_params(context):
        if getattr(parameter, "hidden", False):
            continue
        text = " ".join((parameter.help or "").split())
        if marks := "; ".join(_marks(parameter)):
            text = f"{text} [{marks}]"
        if parameter.param_type_name == "argument":
            arguments.append((argument_name(parameter), text))
        else:
            options.append((_option_name(parameter, context), text))
    return arguments, options


def _option_name(parameter: Any, context: Any) -> str:
    names = ", ".join(sorted((*parameter.opts, *parameter.secondary_opts), key=len))
    if parameter.is_flag or parameter.name == "help":
        return names
    shown = str(parameter.metavar or parameter.display_type(context) or "TEXT").strip("<>")
    return f"{names} {VALUES.get(shown, shown)}"


def _marks(parameter: Any) -> Iterator[str]:
    if parameter.required and parameter.param_type_name == "option":
        yield "required"
    default = parameter.default
    if default is not None and not callable(default) and not isinstance(default, bool):
        yield f"default: {default}"
    lowest, highest = getattr(parameter, "min", None), getattr(parameter, "max", None)
    if lowest is not None and highest is not None:
        yield f"{lowest:,} to {highest:,}"
    elif lowest is not None and lowest != 1:
        yield f"at least {lowest:,}"


def _block(title: str, rows: Rows, widest: int = 0) -> str:
    if not rows:
        return ""
    indent = len(INDENT)
    column = min(max(widest, *(len(term) for term, _ in rows)), TERM_LIMIT) + indent
    lines = [_bold(title)]
    for term, text in rows:
        found = textwrap.wrap(text, _width() - column - indent) or [""]
        if len(term) > column - indent:
            lines.append(f"{INDENT}{term}")
        else:
            lines.append(f"{INDENT}{term.ljust(column)}{found.pop(0)}".rstrip())
        lines += [f"{INDENT}{'':{column}}{line}" for line in found]
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    paragraphs: Iterable[str] = (" ".join(part.split()) for part in text.split("\n\n"))
    return "\n\n".join(textwrap.fill(part, _width()) for part in paragraphs)


def _bold(text: str) -> str:
    is_drawn = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return f"\033[1m{text}\033[0m" if is_drawn else text


def _width() -> int:
    return min(shutil.get_terminal_size().columns, WIDTH_LIMIT)
