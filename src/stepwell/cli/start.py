"""Start a run in a terminal: receives a workflow and its input, prints the run's number or its result."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stepwell.cli.connect import (
    LabelOption,
    LanguageOption,
    ask,
    json_object,
    label_pairs,
    named_values,
    print_json,
)
from stepwell.cli.watch import watch_run
from stepwell.define import parse_duration
from stepwell.errors import StepwellError

if TYPE_CHECKING:
    from stepwell.client import Client, RunHandle

app = typer.Typer(add_completion=False)


@app.command()
def start(
    context: typer.Context,
    workflow: Annotated[str, typer.Argument(help="Name of the workflow.")],
    input_text: Annotated[
        str, typer.Option("--input", help="Input as a JSON object; @file reads it from a file, - from stdin.")
    ] = "{}",
    values: Annotated[
        list[str] | None,
        typer.Option(
            "-i", help="One input value as name=value; read as JSON if it is valid JSON, else as text."
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(help="A second start with the same key starts nothing and returns the first run."),
    ] = None,
    version: Annotated[
        int | None, typer.Option(help="Version of the workflow; default: the latest.", min=1)
    ] = None,
    priority: Annotated[int, typer.Option(help="A higher number runs first.", min=-1000, max=1000)] = 0,
    workspace: Annotated[
        str | None, typer.Option(help="Part of the tenant to which the run belongs.")
    ] = None,
    label: LabelOption = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the end and print the result.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Draw the run until it ends.")] = False,
    timeout: Annotated[
        str | None, typer.Option(help="Longest --wait, such as 90s or 2h; default: no limit.")
    ] = None,
    lang: LanguageOption = "en",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Start a run; with --wait or --watch, exit code 1 if it does not complete."""
    given = {**json_object(input_text, "--input"), **named_values(values or [], "-i")}
    limit = None if timeout is None else float(parse_duration(timeout, "timeout"))

    async def act(client: Client) -> tuple[RunHandle, str | None, Any]:
        run = await client.start(
            workflow, given, key=key, version=version, priority=priority, workspace=workspace,
            labels=label_pairs(label or []),
        )  # fmt: skip
        if not as_json:
            typer.echo(_sentence(run, key), err=wait)
        if watch:
            return run, await watch_run(client, run.id, lang), None
        if wait:
            return run, *await _end(client, run, limit)
        return run, None, None

    run, state, result = ask(context, act)
    if as_json:
        ended = {} if state is None else {"state": state, "result": result}
        print_json({"run_id": run.id, "is_new": run.is_new, **ended})
    elif wait and state == "completed":
        print_json(result)
    if state is not None and state != "completed":
        if wait and not as_json:
            typer.echo(
                f"run {run.id} ended as {state}; 'stepwell runs show {run.id}' shows the reason", err=True
            )
        raise typer.Exit(1)


async def _end(client: Client, run: RunHandle, limit_seconds: float | None) -> tuple[str, Any]:
    try:
        return await client.run_end(run.id, limit_seconds)
    except TimeoutError as error:
        raise StepwellError(
            f"run {run.id} has not ended after {limit_seconds:g} s",
            hint=f"it continues; 'stepwell runs watch {run.id}' shows it",
        ) from error
    except asyncio.CancelledError as error:
        raise typer.Abort from error


def _sentence(run: RunHandle, key: str | None) -> str:
    return f"run {run.id} started" if run.is_new else f"run {run.id} was started before with the key {key}"
