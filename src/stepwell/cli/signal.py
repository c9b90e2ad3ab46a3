"""Send an event to a run in a terminal: receives run and type, prints which step received it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stepwell.cli.connect import JsonOption, ask, json_object, print_json
from stepwell.cli.ids import RunArgument
from stepwell.store.calls import words
from stepwell.unit_numbers import short

if TYPE_CHECKING:
    from stepwell.client import Client
    from stepwell.store.calls.runs import Signalled

app = typer.Typer(add_completion=False)


@app.command()
def signal(
    context: typer.Context,
    run: RunArgument,
    event_type: Annotated[str, typer.Argument(help="Type of the event.", metavar="TYPE")],
    payload: Annotated[
        str, typer.Option(help="A JSON object; @file reads it from a file, - from stdin.")
    ] = "{}",
    event_id: Annotated[
        str | None,
        typer.Option(help="Id of the event; the same id again changes nothing; default: a new id."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Send an event: the step that waits for it continues; if none waits yet, the event is stored for it."""
    given = json_object(payload, "--payload")

    async def send(client: Client) -> tuple[Signalled, str]:
        sent = await client.signal(run.target, event_type, given, event_id=event_id)
        woken = sent.woken_unit_id
        if woken is None or as_json:
            return sent, ""
        name = (await client.perform(words.units(client.tenant_id, [woken]))).get(woken)
        return sent, f"{name.name if name else 'step'} ({short(woken)})"

    sent, receiver = ask(context, send)
    if as_json:
        print_json(sent)
    elif not sent.accepted:
        typer.echo(f"the event {event_id} was delivered before; nothing changed")
    elif sent.woken_unit_id is None:
        typer.echo("stored: no step waits for it yet")
    else:
        typer.echo(f"delivered to {receiver}")
