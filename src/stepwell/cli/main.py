"""Read a command line: receives arguments, returns a call to one command group, and an exit code.

Exit codes: 0 done; 1 failed, with one sentence on stderr; 2 the command line or a setting is wrong;
130 interrupted. With STEPWELL_DEBUG=1 an error shows its traceback.
"""

from __future__ import annotations

import functools
import gc
import importlib
import os
import sys
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from stepwell import __version__
from stepwell.cli.commands import COMMANDS
from stepwell.cli.help import write_help
from stepwell.cli.values import convert_plainly
from stepwell.errors import StepwellError, UsageError

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
# Group → command that was there → where it is now.
MOVED = {
    "stepwell jobs": {"dead": "dead-letters list"},
    "stepwell people": {"add": "user add", "list": "user list"},
}


class _LazyCommands(MutableMapping[str, Any]):
    """A dict of commands that imports the module of a command when the command is read."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _load(name)
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**COMMANDS, **self._loaded})

    def __len__(self) -> int:
        return len({**COMMANDS, **self._loaded})


def _load(name: str) -> Any:
    module, summary = COMMANDS[name]
    command = typer.main.get_command(importlib.import_module(module).app)
    command.name = name
    command.help = command.help or summary
    for part in (command, *getattr(command, "commands", {}).values()):
        part.format_help = functools.partial(write_help, part)
        convert_plainly(part)
    return command


class _LazyGroup(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _LazyCommands()
        convert_plainly(self)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        write_help(self, ctx, formatter)


app = typer.Typer(
    name="stepwell",
    cls=_LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"stepwell {__version__}")
        raise typer.Exit


@app.callback()
def stepwell(
    context: typer.Context,
    database_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Address of a PostgreSQL 15 or newer; default: STEPWELL_DATABASE_URL, else embedded.",
        ),
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the embedded server; default: STEPWELL_DATA_DIR, else the user's data folder."
        ),
    ] = None,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Stepwell: a governed workflow engine that lives in Postgres."""
    from stepwell import config, logs

    # The modules of the command are loaded. What they made stays, so the collector need not look at it.
    gc.enable()
    gc.freeze()
    context.obj = config.load(database_url=database_url, data_dir=data_dir)
    logs.configure(context.obj.log_level, context.obj.log_format)


def run(arguments: list[str] | None = None) -> NoReturn:
    """The entry point; it turns each failure into one sentence and an exit code."""
    # Loading modules makes many objects and no garbage.
    gc.disable()
    try:
        code = app(arguments, prog_name="stepwell", standalone_mode=False)
    except Exception as error:
        if os.environ.get("STEPWELL_DEBUG") in ("1", "true"):
            raise
        sentence, code = _explain(error)
        sys.stderr.write(sentence)
    # A reader may close the pipe early, as `head` does. That is no error, so no traceback is shown at exit.
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code if isinstance(code, int) else 0)


def _explain(error: Exception) -> tuple[str, int]:
    """What goes to stderr, and the exit code."""
    if type(error).__name__ == "NoArgsIsHelpError" and isinstance(error, typer.TyperException):
        # For a group that is called without a command, Typer raises an error that contains the help.
        return error.format_message(), error.exit_code
    from stepwell import redaction  # only a command that fails loads its patterns

    sentence, code = _sentence(error)
    return f"stepwell: {redaction.text(sentence)}\n" if sentence else "", code


def _sentence(error: Exception) -> tuple[str, int]:
    match error:
        case UsageError():
            return error.sentence(), EXIT_USAGE
        case StepwellError():
            return error.sentence(), EXIT_FAILED
        case typer.TyperException():
            return _explain_usage(error), error.exit_code
        case typer.Abort():
            return "interrupted.", EXIT_INTERRUPTED
        case BrokenPipeError():
            return "", EXIT_FAILED
    if getattr(error, "sqlstate", None) is not None or type(error).__module__.startswith("psycopg"):
        from stepwell.errors import from_database

        return from_database(error).sentence(), EXIT_FAILED
    what = " ".join(str(error).split()) or type(error).__name__
    return f"unexpected {type(error).__name__}: {what} (STEPWELL_DEBUG=1 shows where).", EXIT_FAILED


def _explain_usage(error: typer.TyperException) -> str:
    """The problem, the accepted word that is most similar, and which help to read."""
    text = error.format_message()
    if possibilities := getattr(error, "possibilities", None):
        text = f"{str(getattr(error, 'message', text)).rstrip('.')}. Did you mean {possibilities[0]}?"
    context = getattr(error, "ctx", None)
    if context is None:
        return text
    for old, new in MOVED.get(context.command_path, {}).items():
        if text.startswith(f"No such command '{old}'"):
            return f"'{context.command_path} {old}' is now 'stepwell {new}'."
    return f"{text if text.endswith('?') else text.rstrip('.') + '.'} See '{context.command_path} --help'."
