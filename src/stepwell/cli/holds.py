"""Incident holds in a terminal: receives what is held, prints holds; opens, releases and proves them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from stepwell.cli.connect import JsonOption, LimitOption, answer, ask, print_json
from stepwell.cli.people_words import AsOption, person
from stepwell.cli.render import console, moment, table
from stepwell.errors import InvalidInput, NotFound, UsageError
from stepwell.govern import hold_evidence
from stepwell.store.calls import holds as calls
from stepwell.store.calls.holds import Hold

if TYPE_CHECKING:
    from stepwell.client import Client

app = typer.Typer(no_args_is_help=True, add_completion=False)


HoldArgument = Annotated[int, typer.Argument(help="Number of the hold.", metavar="HOLD", min=1)]
KindArgument = Annotated[
    str, typer.Argument(help="operation, connector, workflow, tenant or person.", metavar="KIND")
]
ValueArgument = Annotated[str, typer.Argument(help="The name of what is held.", metavar="NAME")]


@app.command("open")
def open_hold(
    context: typer.Context,
    kind: KindArgument,
    name: ValueArgument,
    reason: Annotated[str, typer.Option(help="Why this work must stand still; it is stored in the log.")],
    preview: Annotated[
        bool, typer.Option("--preview", help="Only show what it would stop; open nothing.")
    ] = False,
    who: AsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open a hold: stepwell hold open operation post_goods --reason 'SAP period closed'."""
    if preview:
        reach = ask(context, lambda client: client.perform(calls.reach(client.tenant_id, kind, name)))
        if as_json:
            print_json(reach)
        else:
            typer.echo(f"a hold on {kind} {name} would stop {_reach(reach)}")
        return
    actor = person(context, who)

    async def act(client: Client) -> tuple[dict[str, Any], Hold | None]:
        acting = client.acting_as(actor)
        made = await acting.perform(calls.open_hold(acting.tenant_id, kind, name, reason, acting.actor))
        return made, await acting.perform(calls.hold(acting.tenant_id, int(made["hold_id"])))

    made, found = ask(context, act)
    assert found is not None
    if made["is_new"]:
        sentence = f"hold {found.hold_id} on {kind} {found.scope_value} stops {_reach(found.reach)}"
    else:
        sentence = (
            f"hold {found.hold_id} on {kind} {found.scope_value} is open since {moment(found.opened_at)}"
        )
    answer(as_json, made, sentence)


@app.command("list")
def list_holds(
    context: typer.Context,
    all_holds: Annotated[bool, typer.Option("--all", help="Released holds too.")] = False,
    limit: LimitOption = 20,
    as_json: JsonOption = False,
) -> None:
    """List open holds, the newest first."""
    found = ask(
        context,
        lambda client: client.perform(calls.holds(client.tenant_id, with_ended=all_holds, limit=limit)),
    )
    if as_json:
        print_json(found)
    elif not found:
        typer.echo("no holds")
    else:
        made = table(
            "hold", "state", "on", "goes on", "held", "clocks", "by", "since", "reason",
            right=("held", "clocks"),
        )  # fmt: skip
        for one in found:
            made.add_row(
                str(one.hold_id), one.hold_state, Text(f"{one.scope_kind} {one.scope_value}"),
                f"{one.share} %", str(one.held_count), str(one.stopped_count), one.opened_by,
                moment(one.opened_at), Text(one.reason),
            )  # fmt: skip
        console().print(made)


@app.command()
def show(context: typer.Context, hold: HoldArgument, as_json: JsonOption = False) -> None:
    """Show a hold: what it stopped, what stands still now, and what was released when."""
    found = ask(context, lambda client: client.perform(calls.hold(client.tenant_id, hold)))
    if found is None:
        raise NotFound(f"hold {hold} does not exist", hint="'stepwell hold list --all' shows the holds")
    if as_json:
        print_json(found)
        return
    shown = Table(box=None, pad_edge=False, show_header=False)
    shown.add_column(style="bold")
    shown.add_column(overflow="fold")
    for key, value in _lines(found):
        if value:
            shown.add_row(key, Text(value))
    console().print(shown)


@app.command()
def release(
    context: typer.Context,
    hold: HoldArgument,
    reason: Annotated[str, typer.Option(help="Why this work may go on; it is stored in the log.")],
    share: Annotated[int, typer.Option(help="So many of a hundred runs go on: 10, 50 or 100.")] = 100,
    who: AsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let held work go on: stepwell hold release 12 --share 10 --reason 'the period is open again'."""
    actor = person(context, who)

    async def act(client: Client) -> dict[str, Any]:
        acting = client.acting_as(actor)
        return await acting.perform(calls.release(acting.tenant_id, hold, share, reason, acting.actor))

    made = ask(context, act)
    goes_on = "everything goes on" if share == 100 else f"{share} of a hundred runs go on"
    answer(as_json, made, f"hold {hold}: {goes_on}")


@app.command()
def evidence(
    context: typer.Context,
    hold: HoldArgument,
    to: Annotated[
        Path | None, typer.Option(help="File to write; without it the document is printed.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the evidence file of a hold, which the keeper makes when it has ended; before, what there is."""
    found = ask(context, lambda client: client.perform(calls.evidence(client.tenant_id, hold)))
    if to is None:
        print_json(found)
        return
    try:
        to.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{to} cannot be written: {error.strerror}") from None
    ended = found["hold"]["ended_at"] is not None
    made = {"file": str(to), "event_count": len(found["events"]), "is_complete": ended}
    state = "complete" if ended else "so far: the hold has not ended"
    answer(as_json, made, f"{to}  {made['event_count']} events, {state}")


@app.command()
def verify(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="An evidence file of a hold.")],
    offline: Annotated[
        bool, typer.Option("--offline", help="Check the file by itself; do not compare it with the log.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Verify an evidence file: its events and their sealed blocks; the log must have these and its digest."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file} cannot be read as JSON: {error}", field="file") from None
    found = hold_evidence.findings(document)
    if not found and not offline:
        found = ask(context, lambda client: _compared(client, document))
    answer(as_json, {"findings": found}, "\n".join(found) if found else _intact(document, offline))
    if found:
        raise typer.Exit(1)


async def _compared(client: Client, document: dict[str, Any]) -> list[str]:
    wanted = hold_evidence.block_hashes(document)
    sealed = await client.perform(calls.sealed_hashes(client.tenant_id, sorted(wanted)))
    others = [number for number in wanted if sealed.get(number) != wanted[number]]
    found = [f"block {number} is another one in the log" for number in others]
    return found or await client.perform(calls.compared(client.tenant_id, document))


def _intact(document: dict[str, Any], offline: bool) -> str:
    where = "in themselves" if offline else "and the log has them"
    said = f"intact: {len(document['events'])} events in {len(document['blocks'])} sealed blocks, {where}"
    outcome = document["hold"]["outcome"]
    if outcome is None or len(document["clocks"]) == outcome["clocks"]:
        return said
    return f"{said}; it lists {len(document['clocks'])} of {outcome['clocks']} clocks"


def _reach(reach: dict[str, Any]) -> str:
    more = "at least " if reach["is_more"] else ""
    counted = f"{more}{reach['steps']} steps in {reach['runs']} runs and {reach['jobs']} jobs"
    return f"{counted}; {reach['working']} handlers work now, {reach['clocks']} deadlines stand still"


def _lines(one: Hold) -> list[tuple[str, str | None]]:
    return [
        ("hold", str(one.hold_id)),
        ("state", one.hold_state),
        ("on", f"{one.scope_kind} {one.scope_value}"),
        ("reason", one.reason),
        ("opened", f"{moment(one.opened_at)}, {one.opened_by} (event {one.opened_event_id})"),
        ("stopped then", _reach(one.reach)),
        ("goes on", f"{one.share} of a hundred runs"),
        ("graded", None if one.graded_at is None else f"{moment(one.graded_at)}, {one.graded_by}"),
        (
            "released",
            None
            if one.released_at is None
            else f"{moment(one.released_at)}, {one.released_by} (event {one.released_event_id})",
        ),
        ("ended", None if one.ended_at is None else moment(one.ended_at)),
        ("beside the queue", str(one.held_count)),
        ("clocks", f"{one.stopped_count} stand still, {one.moved_count} were moved"),
        ("denied", None if one.outcome is None else f"{one.outcome['denied']} actions"),
        ("evidence", "made" if one.has_evidence else None),
    ]
