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
from stepwell.store.health.deep import examine_deep
from stepwell.store.health.examine import examine, unreachable
from stepwell.store.health.finding import Finding, Level

app = typer.Typer(add_completion=False)

_SIGNS = {Level.OK: ("✓", "green"), Level.WARNING: ("!", "yellow"), Level.FAILED: ("✗", "red")}


@app.command()
def doctor(
    context: typer.Context,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also check every invariant on the rows of every run and job.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Check database, settings, schema, clock, permissions, disk and more; exit code 1 if one fails."""
    findings = _findings(context.obj, deep)
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings]))
    else:
        for finding in findings:
            typer.echo(_line(finding))
    if any(finding.level is Level.FAILED for finding in findings):
        raise typer.Exit(1)


def _findings(settings: Settings, deep: bool) -> list[Finding]:
    with ExitStack() as stack:
        try:
            conninfo = stack.enter_context(database(settings, Process.READER))
        except StepwellError as error:
            return [unreachable(error)]
        found = list(examine(settings, conninfo))
        return found + list(examine_deep(settings, conninfo)) if deep else found


def _line(finding: Finding) -> str:
    sign, colour = _SIGNS[finding.level]
    remedy = f" → {finding.remedy}" if finding.remedy else ""
    return f"{typer.style(sign, fg=colour)} {finding.check}: {finding.detail}{remedy}"
