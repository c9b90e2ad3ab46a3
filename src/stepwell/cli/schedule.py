"""Set, show, pause and delete schedules in a terminal: receives cron expressions and names, prints times."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, cast
from zoneinfo import ZoneInfo

import typer

from stepwell.cli.connect import JsonOption, answer, ask, json_object, print_json
from stepwell.define import cron as reading
from stepwell.schedules import Misfire
from stepwell.store.calls.schedules import Schedule

if TYPE_CHECKING:
    from stepwell.client import Client

app = typer.Typer(no_args_is_help=True, add_completion=False)

NameArgument = Annotated[str, typer.Argument(help="Name of the schedule.")]


@app.command("set")
def set_schedule(
    context: typer.Context,
    name: NameArgument,
    workflow: Annotated[str, typer.Argument(help="Name of the published workflow to start.")],
    cron: Annotated[str, typer.Option(help="Minute, hour, day, month, weekday, such as '30 6 * * MON-FRI'.")],
    time_zone: Annotated[
        str, typer.Option(help="Time zone of the expression, such as Europe/Berlin.")
    ] = "UTC",
    input: Annotated[str, typer.Option(help="Input of each run, a JSON object.")] = "{}",
    misfire: Annotated[
        str, typer.Option(help="Which missed times start a run: skip (none), latest or all.")
    ] = "latest",
    backfill_limit: Annotated[
        int, typer.Option(help="With --misfire all: most missed times that start a run.", min=1, max=10000)
    ] = 100,
    workspace: Annotated[
        str | None, typer.Option(help="Part of the tenant to which its runs belong.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create or change a schedule, and print its next time."""
    given = json_object(input, "--input")
    made = ask(
        context,
        lambda client: client.schedule_set(
            name, workflow, cron, time_zone=time_zone, input=given, misfire=cast(Misfire, misfire),
            backfill_limit=backfill_limit, workspace=workspace,
        ),
    )  # fmt: skip
    answer(as_json, made, f"schedule {name} is set, {_standing(made)}")


@app.command("list")
def list_schedules(context: typer.Context, as_json: JsonOption = False) -> None:
    """List all schedules with their last and next time."""
    found = ask(context, lambda client: client.schedules())
    if as_json:
        print_json(found)
        return
    if not found:
        typer.echo("no schedules")
    for schedule in found:
        typer.echo(f"{schedule.name}  {schedule.cron}  {schedule.workflow}  {_standing(schedule)}")


@app.command()
def show(context: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Show one schedule."""
    schedule = ask(context, lambda client: client.schedule(name))
    if as_json:
        print_json(schedule)
        return
    for key, value in asdict(schedule).items():
        shown = value.isoformat() if isinstance(value, datetime) else value
        typer.echo(f"{key:16}{json.dumps(shown) if isinstance(shown, dict) else shown}")


@app.command()
def pause(context: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Pause a schedule; times that pass while it is paused start no run later."""
    ask(context, lambda client: client.schedule_pause(name))
    answer(as_json, {"schedule": name, "is_paused": True}, f"schedule {name} is paused")


@app.command()
def resume(context: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Continue a paused schedule from its next time."""
    ask(context, lambda client: client.schedule_resume(name))
    answer(as_json, {"schedule": name, "is_paused": False}, f"schedule {name} continues")


@app.command()
def delete(context: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Delete a schedule; the runs that it started stay."""
    ask(context, lambda client: client.schedule_delete(name))
    answer(as_json, {"schedule": name, "is_deleted": True}, f"schedule {name} is deleted")


@app.command("next")
def next_times(
    context: typer.Context,
    name: NameArgument,
    count: Annotated[int, typer.Option(help="How many times to show.", min=1, max=1000)] = 5,
    as_json: JsonOption = False,
) -> None:
    """Show the next times of a schedule, in its time zone."""

    async def read(client: Client) -> tuple[Schedule, list[datetime]]:
        return await client.schedule(name), await client.schedule_times(name, count)

    schedule, times = ask(context, read)
    if as_json:
        typer.echo(json.dumps([at.isoformat() for at in times]))
        return
    for at in times:
        typer.echo(_local(at, schedule.time_zone))


def _standing(schedule: Schedule) -> str:
    if schedule.is_paused:
        return "paused"
    if schedule.next_at is None:
        return "next time not known yet"
    return f"next at {_local(schedule.next_at, schedule.time_zone)}"


def _local(at: datetime, time_zone: str) -> str:
    if at >= reading.NEVER:
        return "no time: the expression never matches"
    universal = f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    local = at.astimezone(ZoneInfo(time_zone))
    return f"{local.isoformat()} ({universal})" if local.utcoffset() else universal
