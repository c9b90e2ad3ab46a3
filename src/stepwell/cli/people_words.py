"""Arguments and answers that the commands for people share: receives texts, returns names, times, answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from stepwell.cli.connect import answer, ask
from stepwell.cli.render import Look
from stepwell.config import Settings, user_name
from stepwell.define.duration import parse_duration
from stepwell.errors import UsageError
from stepwell.people import People, StepName
from stepwell.translations import Lang
from stepwell.unit_numbers import read_unit, short

if TYPE_CHECKING:
    from stepwell.client import Client

T = TypeVar("T")

StepArgument = Annotated[
    str,
    typer.Argument(
        help="RUN/STEP such as 7/sign-off, WORKFLOW/KEY/STEP, 7.3; 7/pack[1] in a map, 7/sign/check a task.",
        metavar="STEP",
    ),
]
AsOption = Annotated[
    str | None,
    typer.Option(
        "--as",
        help="Name of the person who acts; default: who STEPWELL_TOKEN belongs to, else your user name.",
    ),
]


def person(context: typer.Context, given: str | None) -> str:
    """The person who acts: the name given, else that of the token, else the user name."""
    if given:
        return given
    settings: Settings = context.obj
    if settings.token is None:
        return user_name()

    async def bound(client: Client) -> str:
        return client.actor.partition(":")[2]

    return ask(context, bound)


def step_name(text: str) -> StepName:
    """The step of `7/sign-off`, `7/sign/check`, `order.process/A-1/sign-off` or `7.3`.

    The form with workflow and key takes no task and no key with a slash: the number of the run does.
    """
    parts = text.split("/")
    match parts:
        case [number]:
            with suppress(ValueError):
                return read_unit(number)
        case [run, *steps] if run.isascii() and run.isdigit() and all(steps):
            return int(run), "/".join(steps)
        case [workflow, key, step] if all(parts):
            return (workflow, key), step
    raise UsageError(
        f"{text!r} is not a step",
        hint="give run and step such as 7/sign-off or order.process/A-1/sign-off, or a number such as 7.3",
        field="step",
    )


def moment(text: str, option: str) -> datetime:
    """The time of a text such as 2026-12-24T17:00:00+01:00, or of a duration from now such as +4h."""
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
    """Perform one call on `People`."""

    async def perform(client: Client) -> T:
        return await what(People(client))

    return ask(context, perform)


def act_as(
    context: typer.Context,
    who: str | None,
    what: Callable[[People, str], Awaitable[dict[str, Any]]],
    as_json: bool,
) -> dict[str, Any]:
    """Perform a call on `People` as the person who acts, and print the new state of the step."""
    name = person(context, who)
    found = act(context, lambda people: what(people, name))
    step = found["step_id"] or short(found["step_run_id"])
    answer(as_json, found, f"{found['run_id']}/{step}: {found['state']}")
    return found


def look_at(
    context: typer.Context, what: Callable[[People], Awaitable[T]], lang: Lang, as_json: bool
) -> tuple[T, Look | None]:
    """Perform a call and read the words and colours that show its answer; no `Look` for JSON."""

    async def perform(client: Client) -> tuple[T, Look | None]:
        found = await what(People(client))
        return found, None if as_json else await Look.read(client, lang)

    return ask(context, perform)
