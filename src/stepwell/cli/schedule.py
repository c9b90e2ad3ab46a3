"""Care for schedules from a terminal: receives cron expressions and names, hands on what is due when."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from stepwell.client import Client
from stepwell.config import Settings
from stepwell.errors import NotFound, UsageError
from stepwell.keeper import cron as reading
from stepwell.store.calls import keep, schedules
from stepwell.store.calls.schedules import Schedule
from stepwell.store.connection.call import Call
from stepwell.store.connection.target import database

app = typer.Typer(no_args_is_help=True, add_completion=False)

NameArgument = Annotated[str, typer.Argument(help="Name of the schedule.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


@app.command("set")
def set_schedule(
    context: typer.Context,
    name: NameArgument,
    workflow: Annotated[str, typer.Argument(help="Name of the published workflow to start.")],
    cron: Annotated[str, typer.Option(help="Minute, hour, day, month, weekday, such as '30 6 * * MON-FRI'.")],
    time_zone: Annotated[
        str, typer.Option(help="Zone the expression is read in, such as Europe/Berlin.")
    ] = "UTC",
    input: Annotated[str, typer.Option(help="Input of each run, a JSON object.")] = "{}",
    misfire: Annotated[
        str, typer.Option(help="What to do about times that passed unseen: skip, latest or all.")
    ] = "latest",
    backfill_limit: Annotated[
        int, typer.Option(help="Most missed times made up for at once, with misfire 'all'.", min=1, max=10000)
    ] = 100,
) -> None:
    """Make a schedule or change it; the next time is printed."""
    reading.check(cron, time_zone)
    given = _object(input)

    async def act(client: Client) -> tuple[bool, datetime]:
        now = await client.perform(keep.database_now())
        ahead = reading.next_times(cron, time_zone, now, 1)
        next_at = ahead[0] if ahead else reading.NEVER
        call = schedules.set_schedule(
            client.tenant_id, name, workflow, cron=cron, time_zone=time_zone, input=given, misfire=misfire,
            backfill_limit=backfill_limit, next_at=next_at, actor=client.actor,
        )  # fmt: skip
        return await client.perform(call), next_at

    is_new, next_at = _with_client(context, act)
    typer.echo(f"schedule {name} {'made' if is_new else 'changed'}, next at {_local(next_at, time_zone)}")


@app.command("list")
def list_schedules(context: typer.Context, as_json: JsonOption = False) -> None:
    """List all schedules with their last and next time."""
    found = _perform(context, lambda client: schedules.list_schedules(client.tenant_id))
    if as_json:
        typer.echo(json.dumps([_document(schedule) for schedule in found]))
        return
    if not found:
        typer.echo("no schedules")
    for schedule in found:
        typer.echo(f"{schedule.name}  {schedule.cron}  {schedule.workflow}  {_standing(schedule)}")


@app.command()
def show(context: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Show one schedule."""
    schedule = _find(context, name)
    document = _document(schedule)
    if as_json:
        typer.echo(json.dumps(document))
        return
    for key, value in document.items():
        typer.echo(f"{key:16}{json.dumps(value) if isinstance(value, dict) else value}")


@app.command()
def pause(context: typer.Context, name: NameArgument) -> None:
    """Stop a schedule from starting runs; times that pass meanwhile are not made up for."""
    _perform(context, lambda client: schedules.pause_schedule(client.tenant_id, name, is_paused=True))
    typer.echo(f"schedule {name} is paused")


@app.command()
def resume(context: typer.Context, name: NameArgument) -> None:
    """Let a paused schedule go on with its next time."""
    _perform(context, lambda client: schedules.pause_schedule(client.tenant_id, name, is_paused=False))
    typer.echo(f"schedule {name} goes on")


@app.command()
def delete(context: typer.Context, name: NameArgument) -> None:
    """Remove a schedule; the runs it started stay."""
    _perform(context, lambda client: schedules.delete_schedule(client.tenant_id, name))
    typer.echo(f"schedule {name} is gone")


@app.command("next")
def next_times(
    context: typer.Context,
    name: NameArgument,
    count: Annotated[int, typer.Option(help="How many times to show.", min=1, max=1000)] = 5,
    as_json: JsonOption = False,
) -> None:
    """Show the next times of a schedule, in its own zone."""

    async def act(client: Client) -> tuple[list[Schedule], datetime]:
        found = await client.perform(schedules.list_schedules(client.tenant_id, name))
        return found, await client.perform(keep.database_now())

    found, now = _with_client(context, act)
    schedule = _single(found, name)
    times = reading.next_times(schedule.cron, schedule.time_zone, now, count)
    if as_json:
        typer.echo(json.dumps([at.isoformat() for at in times]))
        return
    for at in times:
        typer.echo(_local(at, schedule.time_zone))


def _with_client(context: typer.Context, act: Any) -> Any:
    settings: Settings = context.obj

    async def connected(conninfo: str) -> Any:
        client = await Client.connect(conninfo, actor="cli", pool_max_size=1)
        try:
            return await act(client)
        finally:
            await client.close()

    with database(settings) as conninfo:
        return asyncio.run(connected(conninfo))


def _perform(context: typer.Context, make: Any) -> Any:
    async def act(client: Client) -> Any:
        call: Call[Any] = make(client)
        return await client.perform(call)

    return _with_client(context, act)


def _find(context: typer.Context, name: str) -> Schedule:
    return _single(_perform(context, lambda client: schedules.list_schedules(client.tenant_id, name)), name)


def _single(found: list[Schedule], name: str) -> Schedule:
    if not found:
        raise NotFound(f"schedule {name} does not exist", hint="'stepwell schedule list' shows all")
    return found[0]


def _object(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"--input is not JSON: {error}", field="input") from error
    if not isinstance(given, dict):
        raise UsageError("--input must be a JSON object of named values", field="input")
    return given


def _document(schedule: Schedule) -> dict[str, Any]:
    return {
        key: value.isoformat() if isinstance(value, datetime) else value
        for key, value in asdict(schedule).items()
    }


def _standing(schedule: Schedule) -> str:
    if schedule.is_paused:
        return "paused"
    if schedule.next_at is None:
        return "next time not known yet"
    return f"next at {_local(schedule.next_at, schedule.time_zone)}"


def _local(at: datetime, time_zone: str) -> str:
    if at >= reading.NEVER:
        return "no time: the expression never matches"
    return f"{at.astimezone(ZoneInfo(time_zone)).isoformat()} ({at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ})"
