"""Calendars of working hours in a terminal: receives hours and holidays, stores them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stepwell.cli.connect import JsonOption, answer, ask, json_object
from stepwell.errors import UsageError
from stepwell.store.calls import people as calls

if TYPE_CHECKING:
    from stepwell.client import Client

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def people() -> None:
    """Set the calendars of working hours."""


@app.command()
def calendar(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the calendar.")],
    time_zone: Annotated[str, typer.Option(help="Such as Asia/Ho_Chi_Minh.")],
    hours: Annotated[
        list[str], typer.Option(help="Such as 1-5:09:00-17:00, Monday to Friday; may be given several times.")
    ],
    holidays: Annotated[
        str, typer.Option(help="""A JSON object, such as {"2026-12-25": "Christmas"}; @file reads a file.""")
    ] = "{}",
    as_json: JsonOption = False,
) -> None:
    """Write a calendar of working hours; it replaces a calendar with the same name."""
    given = [entry for text in hours for entry in _hours(text)]
    days = json_object(holidays, "--holidays")

    async def write(client: Client) -> None:
        await client.perform(calls.set_calendar(client.tenant_id, name, time_zone, given, days))

    ask(context, write)
    document = {"calendar": name, "time_zone": time_zone, "hours": given, "holidays": days}
    sentence = f"calendar {name}: {len(given)} periods a week, {len(days)} holidays"
    answer(as_json, document, sentence)


def _hours(text: str) -> list[dict[str, str | int]]:
    days, _, times = text.partition(":")
    opens, dash, closes = times.partition("-")
    first, _, last = days.partition("-")
    if not dash or not first.isdigit() or not (last or first).isdigit():
        raise UsageError(f"--hours {text!r} is not accepted", hint="write 1-5:09:00-17:00", field="hours")
    return [
        {"weekday": day, "opens": opens, "closes": closes}
        for day in range(int(first), int(last or first) + 1)
    ]
