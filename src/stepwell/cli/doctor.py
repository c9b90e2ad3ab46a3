"""Check an installation: receives settings, prints one line per check, with the remedy of each problem."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import asdict
from typing import Annotated

import typer

from stepwell.config import Settings
from stepwell.errors import StepwellError
from stepwell.store.connection.target import Process, database
from stepwell.store.health.examine import Finding, Level, examine, unreachable

app = typer.Typer(add_completion=False)

_SIGNS = {Level.OK: ("✓", "green"), Level.WARNING: ("!", "yellow"), Level.FAILED: ("✗", "red")}


@app.command()
def doctor(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Check database, settings, schema, clock, permissions, disk and more; exit code 1 if one fails."""
    findings = _findings(context.obj)
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings]))
    else:
        for finding in findings:
            typer.echo(_line(finding))
    if any(finding.level is Level.FAILED for finding in findings):
        raise typer.Exit(1)


def _findings(settings: Settings) -> list[Finding]:
    with ExitStack() as stack:
        try:
            conninfo = stack.enter_context(database(settings, Process.READER))
        except StepwellError as error:
            return [unreachable(error)]
        return list(examine(settings, conninfo))


def _line(finding: Finding) -> str:
    sign, colour = _SIGNS[finding.level]
    remedy = f" → {finding.remedy}" if finding.remedy else ""
    return f"{typer.style(sign, fg=colour)} {finding.check}: {finding.detail}{remedy}"
