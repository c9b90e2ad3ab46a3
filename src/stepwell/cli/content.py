"""Write and compare content units in a terminal: receives codes and Markdown files, returns versions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from stepwell.cli.connect import JsonOption, answer, ask, print_json
from stepwell.content import Content, Cut
from stepwell.errors import UsageError
from stepwell.unit_numbers import read_unit, short

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
    body = _read(file)
    labels = {lang: label for lang, label in (("vi", vi), ("en", en)) if label is not None}
    made = _act(context, lambda content: content.content_write(code, body, labels=labels, note=note))
    _tell(code, made, as_json)


def _read(file: Path) -> str:
    try:
        stream = typer.get_text_stream("stdin")
        return stream.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}", field="file") from error


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


# -- cuts ---------------------------------------------------------------------------------------------------

CutArgument = Annotated[str, typer.Argument(help="Number of the cut, as `content cuts` shows it.")]


@app.command()
def split(
    context: typer.Context,
    code: CodeArgument,
    part: Annotated[list[str], typer.Argument(help="The parts in order, each as code=file.")],
    version: Annotated[
        int | None, typer.Option(help="The version that was cut; default: the current one.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Split a content unit into parts, which replace it: together they are exactly its text."""
    parts: dict[str, str] = {}
    for text in part:
        name, equals, file = text.partition("=")
        if not (name and equals and file) or name in parts:
            raise UsageError(f"{text!r} is not accepted; accepted: code=file, each code once", field="part")
        parts[name] = _read(Path(file))
    _tell_cut(_act(context, lambda content: content.content_split(code, parts, version_no=version)), as_json)


@app.command()
def merge(
    context: typer.Context,
    into: Annotated[str, typer.Argument(help="Code of the new content unit.")],
    code: Annotated[list[str], typer.Argument(help="Codes of the content units, in order.")],
    separator: Annotated[str, typer.Option(help="Text between them; \\n is a new line.")] = "\\n\\n",
    as_json: JsonOption = False,
) -> None:
    """Merge content units into a new one, which replaces them."""
    between = separator.replace("\\n", "\n")
    _tell_cut(_act(context, lambda content: content.content_merge(code, into, separator=between)), as_json)


@app.command()
def restage(
    context: typer.Context,
    code: CodeArgument,
    version: Annotated[int, typer.Argument(help="The version that is current again.", min=1)],
    as_json: JsonOption = False,
) -> None:
    """Make an earlier version current again, as a new version."""
    _tell_cut(_act(context, lambda content: content.content_restage(code, version)), as_json)


@app.command()
def cuts(
    context: typer.Context,
    failed: Annotated[bool, typer.Option("--failed", help="Only those that failed.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List cuts of content, the newest first."""
    state = "failed" if failed else None
    found = _act(context, lambda content: content.content_cuts(state=state))
    if as_json:
        print_json(found)
        return
    for one in found:
        typer.echo(_line(one))
    if not found:
        typer.echo("no failed cut" if failed else "no cut")


@app.command()
def retry(context: typer.Context, cut: CutArgument, as_json: JsonOption = False) -> None:
    """Carry out a failed cut again, after its cause is mended."""
    _tell_cut(_act(context, lambda content: content.content_cut_retry(_number(cut))), as_json)


@app.command()
def cancel(
    context: typer.Context,
    cut: CutArgument,
    reason: Annotated[str | None, typer.Option(help="Why; it is stored in the log.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Give up a failed cut."""
    _tell_cut(_act(context, lambda content: content.content_cut_cancel(_number(cut), reason)), as_json)


@app.command()
def life(context: typer.Context, code: CodeArgument, as_json: JsonOption = False) -> None:
    """Show what happened to a content unit: versions, cuts, failed cuts and warnings."""
    found = _act(context, lambda content: content.content_life(code))
    if as_json:
        print_json(found)
        return
    for one in found:
        by = "" if one.cut_request_id is None else f", cut {short(one.cut_request_id)}"
        typer.echo(f"{one.at.isoformat()} {one.severity}: {one.what} ({one.detail}) by {one.written_by}{by}")
    if not found:
        typer.echo(f"nothing is known of content {code}")


def _number(text: str) -> int:
    try:
        return read_unit(text)
    except ValueError as error:
        raise UsageError(f"cut: {error}", field="cut") from error


def _line(cut: Cut) -> str:
    reason = f": {cut.reason}" if cut.reason else ""
    sources, targets = ", ".join(cut.sources), ", ".join(cut.targets)
    return f"cut {short(cut.cut_request_id)}: {cut.op} {sources} -> {targets} is {cut.state_code}{reason}"


def _tell_cut(cut: Cut, as_json: bool) -> None:
    """A cut that failed is an answer, and ends the command with code 1."""
    if as_json:
        print_json(cut)
    else:
        typer.echo(_line(cut))
        if cut.state_code == "failed":
            number = short(cut.cut_request_id)
            typer.echo(f"next: stepwell content retry {number}, or stepwell content cancel {number}")
    if cut.state_code == "failed":
        raise typer.Exit(1)
