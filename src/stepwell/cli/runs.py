"""Show and control runs in a terminal: receives run numbers, prints tables, trees and changes."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from stepwell.cli import render
from stepwell.cli.connect import (
    JsonOption,
    KeyOption,
    LabelOption,
    LanguageOption,
    LimitOption,
    ReasonOption,
    ask,
    each,
    label_pairs,
    print_json,
)
from stepwell.cli.ids import ApprovalOption, RunArgument, RunName, RunsArgument
from stepwell.store.calls import events, past, unblock, words
from stepwell.translations import Lang
from stepwell.unit_numbers import PLACE_BITS

if TYPE_CHECKING:
    from stepwell.cli.run_tree import Picture
    from stepwell.client import Client, RunHandle
    from stepwell.store.calls.run_list import Run, RunState

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.command("list")
def list_runs(
    context: typer.Context,
    state: Annotated[
        str | None, typer.Option(help="Only runs in this state, such as in_progress, failed or completed.")
    ] = None,
    workflow: Annotated[str | None, typer.Option(help="Only runs of this workflow.")] = None,
    label: LabelOption = None,
    limit: LimitOption = 20,
    after: Annotated[
        int | None, typer.Option(help="Only runs older than this one; give the last run of a page.")
    ] = None,
    lang: LanguageOption = "en",
    as_json: JsonOption = False,
) -> None:
    """List runs, the newest first."""

    async def read(client: Client) -> tuple[list[Run], render.Look | None]:
        found = await client.runs(
            state=cast("RunState | None", state), workflow=workflow, after=after, limit=limit,
            labels=label_pairs(label or []),
        )  # fmt: skip
        if not found and workflow is not None and not as_json:
            # No runs of a workflow, or no such workflow: the second is an error.
            await client.workflow(workflow)
        return found, None if as_json else await render.Look.read(client, lang)

    found, look = ask(context, read)
    if look is None:
        print_json(found)
        return
    if not found:
        typer.echo("no runs")
        return
    screen = render.console()
    screen.print(render.run_table(look, found))
    if len(found) == limit:
        typer.echo(f"more with --after {found[-1].run_id}")


@app.command()
def show(
    context: typer.Context,
    run: RunArgument,
    at: Annotated[
        str | None,
        typer.Option(
            help="Show a past state: the number of an event, or a time like 2026-03-01T14:00+01:00."
        ),
    ] = None,
    lang: LanguageOption = "en",
    as_json: JsonOption = False,
) -> None:
    """Show a run: its state, each step, and why a step that has not ended is not running."""
    from stepwell.cli.run_tree import draw, picture
    from stepwell.cli.way_out import draw_way

    if at is not None:
        _show_then(context, run, past.read_point(at), lang, as_json)
        return

    async def read(client: Client) -> tuple[Picture, list[unblock.Cause], render.Look | None]:
        shown = await picture(client, await run.number(client))
        way: list[unblock.Cause] = []
        if shown.run.finished_at is None:
            way = await client.perform(unblock.path(client.tenant_id, shown.run.run_id << PLACE_BITS))
        return shown, way, None if as_json else await render.Look.read(client, lang)

    shown, way, look = ask(context, read)
    if look is None:
        print_json({**_document(shown), "unblock_path": way})
        return
    render.console().print(draw(look, shown))
    if way:
        render.console().print("", draw_way(look, way), sep="\n")


@app.command()
def watch(context: typer.Context, run: RunArgument, lang: LanguageOption = "en") -> None:
    """Draw a run live until it ends; Ctrl-C stops watching only; exit code 1 if the run does not complete."""

    from stepwell.cli.watch import watch_run

    async def follow(client: Client) -> str:
        return await watch_run(client, await run.number(client), lang)

    if ask(context, follow) != "completed":
        raise typer.Exit(1)


@app.command("events")
def list_events(
    context: typer.Context,
    run: RunArgument,
    after: Annotated[
        int, typer.Option(help="Only events after this number; give the last event of a page.", min=0)
    ] = 0,
    limit: LimitOption = 100,
    as_json: JsonOption = False,
) -> None:
    """List the events of a run, the oldest first: what happened, when, and who did it.

    Example: stepwell runs events 7 --json
    """

    async def read(client: Client) -> list[dict[str, Any]]:
        run_id = await run.number(client)
        await client.run_outcome(run_id)
        call = events.run_events(client.tenant_id, run_id, after=after, limit=limit)
        found = await client.perform(call)
        names = await client.perform(words.units(client.tenant_id, [event.unit_id for event in found]))
        return [
            {**asdict(event), "step_id": name.name if (name := names.get(event.unit_id)) else None}
            for event in found
        ]

    found = ask(context, read)
    if as_json:
        print_json(found)
        return
    made = render.table("event", "at", "step", "what", "change", "by", right=("event",))
    for event in found:
        change = f"{event['from_state'] or ''} → {event['to_state']}" if event["to_state"] else ""
        made.add_row(
            str(event["event_id"]), render.moment(event["at"]), event["step_id"] or "run",
            event["event_type"], change.strip(), event["actor"] or "",
        )  # fmt: skip
    render.console().print(made)
    if len(found) == limit:
        typer.echo(f"more with --after {found[-1]['event_id']}")


@app.command()
def cancel(
    context: typer.Context,
    runs: RunsArgument,
    reason: ReasonOption = None,
    approval: ApprovalOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cancel runs: no further step starts, and running handlers get a request to stop."""
    each(
        context,
        "run",
        runs,
        lambda client, run: _handle(client, run).cancel(reason, approval, key=key),
        "cancelled",
        as_json=as_json,
    )


@app.command()
def pause(
    context: typer.Context, runs: RunsArgument, key: KeyOption = None, as_json: JsonOption = False
) -> None:
    """Pause runs: running steps may finish, no further step starts."""
    each(
        context, "run", runs, lambda client, run: _handle(client, run).pause(key=key), "paused",
        as_json=as_json,
    )  # fmt: skip


@app.command()
def resume(
    context: typer.Context, runs: RunsArgument, key: KeyOption = None, as_json: JsonOption = False
) -> None:
    """Continue paused runs."""
    each(
        context, "run", runs, lambda client, run: _handle(client, run).resume(key=key), "in progress again",
        as_json=as_json,
    )  # fmt: skip


@app.command()
def retry(
    context: typer.Context,
    runs: RunsArgument,
    reason: ReasonOption = None,
    key: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Retry failed runs: queue again the steps that could not be completed."""
    each(
        context,
        "run",
        runs,
        lambda client, run: _handle(client, run).retry(reason, key=key),
        "in progress again",
        as_json=as_json,
    )


@app.command("label")
def label_run(
    context: typer.Context,
    run: RunArgument,
    pairs: Annotated[list[str] | None, typer.Argument(help="Labels to set, as name=text.")] = None,
    remove: Annotated[list[str] | None, typer.Option(help="Label to remove; may be repeated.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Set or remove labels of a run; without any, print them.

    Example: stepwell runs label 7 customer=Acme --remove draft
    """
    changes: dict[str, str | None] = {**label_pairs(pairs or [], "label"), **dict.fromkeys(remove or [])}

    async def change(client: Client) -> dict[str, str]:
        handle = _handle(client, await run.number(client))
        return await handle.label(changes) if changes else (await handle.info()).labels

    found = ask(context, change)
    if as_json:
        print_json(found)
    elif not found:
        typer.echo("no labels")
    for name, text in () if as_json else sorted(found.items()):
        typer.echo(f"{name}={text}")


def _handle(client: Client, run: int) -> RunHandle[Any]:
    from stepwell.handles import RunHandle

    return RunHandle(client, run)


def _show_then(
    context: typer.Context, run: RunName, point: int | datetime, lang: Lang, as_json: bool
) -> None:
    async def read(client: Client) -> tuple[list[past.PastState], render.Look | None]:
        found = await client.perform(past.state_at(client.tenant_id, await run.number(client), point))
        return found, None if as_json else await render.Look.read(client, lang)

    found, look = ask(context, read)
    if look is None:
        print_json(found)
        return
    made = render.table(look.word("step"), look.word("state"), "since", "event")
    for unit in found:
        event = "" if unit.event_id is None else str(unit.event_id)
        made.add_row(unit.name, look.chip(unit.scope, unit.state_code), render.moment(unit.since_at), event)
    render.console().print(made)


def _document(shown: Picture) -> dict[str, Any]:
    return {
        "run": shown.run,
        "steps": shown.steps,
        "children": [_document(child) for child in shown.children.values()],
    }
