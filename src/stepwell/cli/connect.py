"""Connect for one command: receives its context, runs the calls of the command, prints the answer."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from stepwell.cli.ids import RunName
from stepwell.errors import PermissionDenied, StepwellError, UsageError
from stepwell.lazy import without_collector
from stepwell.translations import Lang
from stepwell.unit_numbers import short

if TYPE_CHECKING:
    from stepwell.client import Client
    from stepwell.config import Settings
    from stepwell.store.connection.target import Place, Process

T = TypeVar("T")

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
LanguageOption = Annotated[Lang, typer.Option("--lang", help="Language of the labels: en or vi.")]
LimitOption = Annotated[int, typer.Option(help="Number of rows to show.", min=1, max=500)]
LabelOption = Annotated[
    list[str] | None, typer.Option(help="Label of the run as name=text; may be repeated.")
]
ReasonOption = Annotated[str | None, typer.Option(help="The reason; it is stored in the log.")]
KeyOption = Annotated[
    str | None,
    typer.Option(
        help="Idempotency key: a repeat with the same key changes nothing and returns the first answer."
    ),
]


def ask(context: typer.Context, question: Callable[[Client], Awaitable[T]], *, as_owner: bool = False) -> T:
    """Connect to the database of the command line, await the question, close.

    `as_owner` is for what belongs to the whole installation, such as tenants.
    """
    # Imported here: the help of a command needs neither the event loop nor the database driver.
    with without_collector():
        import asyncio

        from stepwell.store.connection.target import databases

    settings: Settings = context.obj

    async def connected(place: Place) -> T:
        client = await _client(settings, place, as_owner=as_owner)
        try:
            return await question(client)
        finally:
            await client.close()

    with databases(settings) as place:
        return asyncio.run(connected(place))


async def _client(settings: Settings, place: Place, *, as_owner: bool) -> Client:
    """Connect with the role of the API, as the token says or, in development mode, as the user.

    Whoever reaches the socket of an embedded database without a token is its operator, also after its
    development mode: the owner, with the name of the user.
    """
    with without_collector():
        from stepwell.client import Client
        from stepwell.store.connection.target import Process

    async def connect(process: Process) -> Client:
        return await Client.connect(
            place.address(process), actor=actor(), token=settings.token, is_command=True
        )

    try:
        return await connect(Process.OWNER if as_owner else Process.API)
    except PermissionDenied:
        if as_owner or settings.token is not None or not settings.is_embedded:
            raise
        return await connect(Process.OWNER)


def each(
    context: typer.Context,
    what: str,
    names: Sequence[int | RunName],
    act: Callable[[Client, int], Awaitable[Any]],
    done: str,
    *,
    shown: Callable[[int], str] = str,
    as_json: bool = False,
) -> None:
    """Act on each unit or run and print one line for each; exit code 1 if one was refused."""

    async def act_on_all(client: Client) -> list[dict[str, Any]]:
        answers = []
        for named in names:
            answer: dict[str, Any] = {f"{what}_id": None, "ok": True}
            try:
                number = await named.number(client) if isinstance(named, RunName) else named
                answer[f"{what}_id"] = number
                sentence = _outcome(await act(client, number), done)
                if not as_json:
                    typer.echo(f"{what} {shown(number)} {sentence}")
            except StepwellError as error:
                said = error.sentence()
                answer |= {"ok": False, "error": error.code, "message": said}
                if not as_json:
                    name = f"{what} {shown(named) if isinstance(named, int) else named}"
                    typer.echo(said if said.startswith(name) else f"{name}: {said}", err=True)
            answers.append(answer)
        return answers

    answers = ask(context, act_on_all)
    if as_json:
        print_json(answers)
    if not all(answer["ok"] for answer in answers):
        raise typer.Exit(1)


def answer(as_json: bool, document: Any, sentence: str) -> None:
    """Print the result of a change: the document as JSON, or the sentence."""
    if as_json:
        print_json(document)
    else:
        typer.echo(sentence)


def _outcome(found: Any, done: str) -> str:
    if isinstance(found, dict) and found.get("state") == "approval_requested":
        return f"waits for approval {short(int(found['approval_id']))}"
    return f"is {done}"


def actor() -> str:
    """The user of the terminal, as the log names them."""
    from stepwell.config import user_name

    return f"cli:{user_name()}"


def print_json(value: Any) -> None:
    from pydantic_core import to_json

    typer.echo(to_json(value, indent=2).decode())


def json_object(text: str, option: str) -> dict[str, Any]:
    """The JSON object in the text, or in the file of `@file`; `-` and `@-` read standard input."""
    value = json_value(text, option)
    if not isinstance(value, dict):
        raise UsageError(f"{option} is not a JSON object", hint="""write '{"name": "value"}'""", field=option)
    return value


def json_value(text: str, option: str) -> Any:
    """The JSON value in the text, or in the file of `@file`; `-` and `@-` read standard input."""
    found = text
    if text.startswith("@") or text == "-":
        found = _file(text.removeprefix("@"), option)
    try:
        return json.loads(found)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{option} is not JSON: {error}",
            hint="""write '{"name": "value"}', or @file to read it from a file""",
            field=option,
        ) from error


def named_values(pairs: list[str], option: str) -> dict[str, Any]:
    """`name=value` pairs as a dict; a value that is valid JSON is read as JSON, any other is text."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"{option} {pair!r} is not name=value", hint="write order=A-1", field=option)
        try:
            found[name] = json.loads(text)
        except json.JSONDecodeError:
            found[name] = text
    return found


def label_pairs(pairs: list[str], option: str = "--label") -> dict[str, str]:
    """`name=text` pairs as a dict of texts."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {pair!r} is not name=text", hint="write customer=Acme", field=option)
        found[name] = text
    return found


def _file(name: str, option: str) -> str:
    if name == "-":
        return typer.get_text_stream("stdin").read()
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{option}: {name} cannot be read: {reason}", field=option) from error
