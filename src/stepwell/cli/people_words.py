"""Words shared by the commands of people's work: receives typed texts, hands on names, times and tables."""

from __future__ import annotations

import getpass
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, TypeVar

import typer
from rich.table import Table

from stepwell.cli.connect import ask
from stepwell.client import Client
from stepwell.define.duration import parse_duration
from stepwell.errors import UsageError
from stepwell.people import HumanStep, People, StepName

T = TypeVar("T")

StepArgument = Annotated[
    str,
    typer.Argument(
        help="Number of the step, or RUN/STEP, such as 7/sign-off; a task is RUN/STEP/TASK.", metavar="STEP"
    ),
]
AsOption = Annotated[
    str | None, typer.Option("--as", help="Name of the person who acts; default: your user name.")
]
KeyOption = Annotated[
    str | None, typer.Option(help="The same key again changes nothing and gets the first answer.")
]


def person(given: str | None) -> str:
    """Whoever acts."""
    if given:
        return given
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        raise UsageError("your user name is not known", hint="give --as NAME", field="as") from error


def step_name(text: str) -> StepName:
    if text.isascii() and text.isdigit():
        return int(text)
    run, slash, step = text.partition("/")
    if not slash or not step or not (run.isascii() and run.isdigit()):
        raise UsageError(
            f"{text!r} names no step", hint="give a number, or run and step such as 7/sign-off", field="step"
        )
    return int(run), step


def moment(text: str, option: str) -> datetime:
    """A time with its zone, or a duration from now, such as +4h."""
    try:
        if text.startswith("+"):
            return datetime.now().astimezone() + timedelta(seconds=parse_duration(text[1:], option))
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"{option} {text!r} is not a time", hint="write 2026-12-24T17:00:00+01:00 or +4h", field=option
        ) from error
    return found if found.tzinfo is not None else found.astimezone()


def act(context: typer.Context, what: Callable[[People], Awaitable[T]]) -> T:
    """Carry out one call of a person."""

    async def perform(client: Client) -> T:
        return await what(People(client))

    return ask(context, perform)


def tell(answer: dict[str, Any]) -> None:
    """One line: which step, and where it stands now."""
    typer.echo(f"step {answer['step_run_id']} of run {answer['run_id']}: {answer['state']}")


def step_table(rows: Sequence[HumanStep]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("STEP", "RUN", "WORKFLOW", "NAME", "STATE", "PERSON", "FOR", "DEADLINE", "NOTE"):
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(
            str(row.step_run_id),
            str(row.run_id),
            row.workflow,
            row.step_id,
            row.state_code,
            row.pic or "",
            row.assignee or row.role or "",
            "" if row.deadline_at is None else row.deadline_at.astimezone().strftime("%Y-%m-%d %H:%M"),
            note(row),
        )
    return table


def note(row: HumanStep) -> str:
    """What stands in the way, and whether it is late."""
    words = ["late"] if row.is_late else []
    if row.waiting_facet:
        words += [row.waiting_facet, *(row.secondary_facets or ())]
    if row.block_reason:
        words += [f"blocked: {row.block_reason} ({row.blocked_severity})"]
    return ", ".join(words)
