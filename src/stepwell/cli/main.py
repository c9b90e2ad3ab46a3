"""Read a command line: receives arguments, hands on a call to one command group, and an exit code.

Exit codes: 0 done; 1 it failed, in one sentence on stderr; 2 the command line or a setting is wrong;
130 interrupted. STEPWELL_DEBUG=1 shows the traceback of an error too.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from stepwell import __version__
from stepwell.errors import StepwellError, UsageError

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

# One line per command or group: the module has `app`, a Typer. Loaded when used, so that starting stays fast.
COMMANDS = {
    "up": "stepwell.cli.up",
    "serve": "stepwell.cli.serve",
    "publish": "stepwell.cli.publish",
    "simulate": "stepwell.cli.simulate",
    "start": "stepwell.cli.start",
    "runs": "stepwell.cli.runs",
    "jobs": "stepwell.cli.jobs",
    "signal": "stepwell.cli.signal",
    "inbox": "stepwell.cli.inbox",
    "step": "stepwell.cli.step",
    "approvals": "stepwell.cli.approvals",
    "policy": "stepwell.cli.policy",
    "receipts": "stepwell.cli.receipts",
    "reverse": "stepwell.cli.reverse",
    "people": "stepwell.cli.people",
    "tenants": "stepwell.cli.tenants",
    "slack": "stepwell.cli.slack",
    "content": "stepwell.cli.content",
    "worker": "stepwell.cli.worker",
    "keeper": "stepwell.cli.keeper",
    "audit": "stepwell.cli.audit",
    "evidence": "stepwell.cli.evidence",
    "schedule": "stepwell.cli.schedule",
    "db": "stepwell.cli.db",
    "machine": "stepwell.cli.machine",
    "doctor": "stepwell.cli.doctor",
}


class _LazyCommands(MutableMapping[str, Any]):
    """Looks like a dict of commands; imports a command's module when it is asked for."""

    def __init__(self, modules: dict[str, str]) -> None:
        self._modules = modules
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            command = typer.main.get_command(importlib.import_module(self._modules[name]).app)
            command.name = name
            self._loaded[name] = command
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._modules, **self._loaded})

    def __len__(self) -> int:
        return len({**self._modules, **self._loaded})


class _LazyGroup(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _LazyCommands(COMMANDS)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)


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
            help="Address of a PostgreSQL 15 or newer; default: STEPWELL_DATABASE_URL, else embedded."
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
    from stepwell import config

    context.obj = config.load(database_url=database_url, data_dir=data_dir)
    logging.basicConfig(
        level=context.obj.log_level.upper(), format="%(levelname)s: %(message)s", stream=sys.stderr
    )


def run(arguments: list[str] | None = None) -> NoReturn:
    """The entry point: every failure becomes one sentence and an exit code."""
    try:
        code = app(arguments, prog_name="stepwell", standalone_mode=False)
    except Exception as error:
        if os.environ.get("STEPWELL_DEBUG") in ("1", "true"):
            raise
        sentence, code = _explain(error)
        sys.stderr.write(f"stepwell: {sentence}\n" if sentence else "")
    # A reader that closed the pipe early is no error of ours, nor is it worth a traceback at exit.
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code if isinstance(code, int) else 0)


def _explain(error: Exception) -> tuple[str, int]:
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
    text = error.format_message()
    context = getattr(error, "ctx", None)
    # Typer shows the help of a group that was called without a command through an "error" as well.
    if context is None or type(error).__name__ == "NoArgsIsHelpError":
        return text
    return f"{text.rstrip('.')}; see '{context.command_path} --help'."
