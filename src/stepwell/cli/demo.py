"""The demo in a terminal: plays it, or turns it off."""

from __future__ import annotations

import asyncio
import json

import typer

from stepwell.cli.connect import JsonOption, ask
from stepwell.config import Settings
from stepwell.store.calls import mode

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.command()
def off(context: typer.Context, as_json: JsonOption = False) -> None:
    """Turn the demo off: its people and runs stay, nothing new comes, and no page speaks of a demo."""
    has_left = ask(context, lambda client: client.perform(mode.leave_demo(client.actor)), as_owner=True)
    if as_json:
        typer.echo(json.dumps({"is_demo": False, "has_changed": has_left}))
    else:
        typer.echo(
            "the demo is off; its people and runs stay" if has_left else "nothing to do, this is no demo"
        )


@app.command(hidden=True)
def play(context: typer.Context) -> None:
    """Start runs and let the people of the demo work until it is off; `up --demo` starts this."""
    from stepwell.demo.app import app as demo
    from stepwell.demo.play import Play

    settings: Settings = context.obj
    demo.use_settings(settings)

    async def run() -> None:
        async with demo:
            await Play(demo).until_left()
            typer.echo("The demo was turned off.")
        # The process tree keeps its children running: nothing is left to do here.
        await asyncio.Event().wait()

    asyncio.run(run())
