"""Words shared by the commands of people's work: receives typed texts, returns names, times and answers."""

from __future__ import annotations

import getpass
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Annotated, Any, TypeVar

import typer

from stepwell.cli.connect import ask
from stepwell.cli.render import Look
from stepwell.client import Client
from stepwell.define.duration import parse_duration
from stepwell.errors import UsageError
from stepwell.machines.model import Lang
from stepwell.people import People, StepName
from stepwell.store.calls import registry

T = TypeVar("T")

StepArgument = Annotated[
    str,
    typer.Argument(
        help="Number of the step, or RUN/STEP as in 7/sign-off; 7/pack[1] in a map, 7/sign/check a task.",
        metavar="STEP",
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
    name = answer["step_id"] or answer["step_run_id"]
    typer.echo(f"{answer['run_id']}/{name}: {answer['state']}")


def look_at(
    context: typer.Context, what: Callable[[People], Awaitable[T]], lang: Lang, as_json: bool
) -> tuple[T, Look | None]:
    """Carry out a call and read the words and colours to show its answer; none for JSON."""

    async def perform(client: Client) -> tuple[T, Look | None]:
        found = await what(People(client))
        return found, None if as_json else Look(registry.read(client.conninfo), lang)

    return ask(context, perform)
