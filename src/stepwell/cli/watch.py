"""Watch one run until it ends: receives a run number, draws a live tree, or prints each change as a line."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime

import typer
from rich.live import Live

from stepwell.cli.render import Look, console
from stepwell.cli.run_tree import Picture, draw, lines, picture
from stepwell.client import RUN_ENDS, Client
from stepwell.store.calls import registry
from stepwell.store.connection.listen import Listener
from stepwell.translations import Lang

# The longest time between two reads; a notification starts the next read earlier.
LOOK_SECONDS = 0.5
CHANNEL = "stepwell_ready"
# Reasons need one call for each step, so they are read only if no state has changed for so long.
QUIET_SECONDS = 1.0


async def watch_run(client: Client, run_id: int, lang: Lang) -> str:
    """Return the state in which the run ended. Ctrl-C stops the watching, not the run."""
    look = Look(await asyncio.to_thread(registry.read, client.conninfo), lang)
    screen = console()
    try:
        async with Listener(client.conninfo, [CHANNEL]) as listener:
            if screen.is_terminal:
                return await _draw(client, run_id, look, listener)
            return await _say(client, run_id, look, listener)
    except asyncio.CancelledError as error:
        typer.echo(f"The run continues; 'stepwell runs watch {run_id}' shows it again.", err=True)
        raise typer.Abort from error


async def _draw(client: Client, run_id: int, look: Look, listener: Listener) -> str:
    screen = console()
    shown = await picture(client, run_id)
    moved = time.monotonic()
    with Live(console=screen, auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            # The heading takes five lines.
            live.update(draw(look, shown, row_limit=max(screen.height - 7, 5)), refresh=True)
            if shown.run.state_code in RUN_ENDS:
                return shown.run.state_code
            await listener.wait(LOOK_SECONDS)
            is_quiet = time.monotonic() - moved > QUIET_SECONDS
            seen, shown = shown, await picture(client, run_id, with_reasons=is_quiet)
            if _states(seen) != _states(shown):
                moved = time.monotonic()


async def _say(client: Client, run_id: int, look: Look, listener: Listener) -> str:
    said: dict[int, str] = {}
    while True:
        shown = await picture(client, run_id, with_reasons=False)
        for unit_id, state, line in lines(look, shown):
            if said.get(unit_id, "not_started") != state:
                typer.echo(f"{_clock(shown.run.now_at)}  {line}")
            said[unit_id] = state
        if shown.run.state_code in RUN_ENDS:
            label = look.label("workflow_run", shown.run.state_code)
            typer.echo(f"{_clock(shown.run.now_at)}  {look.word('run')} {run_id}  {label}")
            return shown.run.state_code
        await listener.wait(LOOK_SECONDS)


def _states(shown: Picture) -> list[str]:
    found = [step.state_code for step in shown.steps]
    for child in shown.children.values():
        found += _states(child)
    return found


def _clock(at: datetime) -> str:
    return f"{at.astimezone():%H:%M:%S}"
