"""Write and compare content units in a terminal: receives codes and Markdown files, returns versions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from stepwell.cli.connect import JsonOption, answer, ask, print_json
from stepwell.content import Content
from stepwell.errors import UsageError

if TYPE_CHECKING:
    from stepwell.client import Client

T = TypeVar("T")

app = typer.Typer(no_args_is_help=True, add_completion=False)

CodeArgument = Annotated[str, typer.Argument(help="Code of the content unit, such as manual.packing.")]


def _act(context: typer.Context, what: Callable[[Content], Awaitable[T]]) -> T:
    async def perform(client: Client) -> T:
        return await what(Content(client))

    return ask(context, perform)


@app.command()
def write(
    context: typer.Context,
    code: CodeArgument,
    file: Annotated[Path, typer.Argument(help="A Markdown file; - reads standard input.")],
    vi: Annotated[str | None, typer.Option(help="Label in Vietnamese.")] = None,
    en: Annotated[str | None, typer.Option(help="Label in English.")] = None,
    note: Annotated[str | None, typer.Option(help="What changed.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a version; a text that equals the current version creates none."""
    try:
        stream = typer.get_text_stream("stdin")
        body = stream.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}", field="file") from error
    labels = {lang: label for lang, label in (("vi", vi), ("en", en)) if label is not None}
    made = _act(context, lambda content: content.content_write(code, body, labels=labels, note=note))
    _tell(code, made, as_json)


@app.command()
def bundle(
    context: typer.Context,
    code: CodeArgument,
    item: Annotated[list[str], typer.Argument(help="Codes of its content units, in order.")],
    note: Annotated[str | None, typer.Option(help="What changed.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a version of a bundle: these content units, each at its current version."""
    made = _act(context, lambda content: content.content_write(code, items=item, note=note))
    _tell(code, made, as_json)


def _tell(code: str, made: Any, as_json: bool) -> None:
    document = {"code": code, "version_no": made.version_no, "is_new": made.is_new}
    answer(as_json, document, f"{code}: version {made.version_no}{'' if made.is_new else ', as before'}")


@app.command()
def show(
    context: typer.Context,
    code: CodeArgument,
    version: Annotated[int | None, typer.Option(help="Which version; default: the current one.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a version of a content unit."""
    found = _act(context, lambda content: content.content(code, version))
    if as_json:
        print_json(found)
    else:
        typer.echo(found.body)


@app.command()
def versions(context: typer.Context, code: CodeArgument, as_json: JsonOption = False) -> None:
    """List the versions of a content unit, the newest first."""
    found = _act(context, lambda content: content.content_versions(code))
    if as_json:
        print_json(found)
        return
    for one in found:
        note = f", {one.note}" if one.note else ""
        typer.echo(f"{one.version_no}: {one.written_at.isoformat()} by {one.written_by}{note}")


@app.command()
def diff(
    context: typer.Context,
    code: CodeArgument,
    old: Annotated[int, typer.Argument(help="The earlier version.", min=1)],
    new: Annotated[int | None, typer.Argument(help="The later version; default: the current one.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the lines that differ between two versions."""
    found = _act(context, lambda content: content.content_diff(code, old, new))
    answer(as_json, {"code": code, "diff": found}, found or "no difference")
