"""Watch one run until it ends: receives a run number, draws a live tree, or prints each change as a line.

Both follow the log of the run and of the runs inside it: a change is seen when it happens.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

import typer
from rich.live import Live

from stepwell.cli.render import Look, console, error_line, span
from stepwell.cli.run_tree import ENDED, Picture, draw, picture
from stepwell.events import RunEvent, follow_events
from stepwell.store.calls.runs import RUN_ENDS
from stepwell.translations import Lang

if TYPE_CHECKING:
    from stepwell.client import Client

# Why a step waits may change without an event of its run: another run gives a slot back, a worker comes.
REASON_SECONDS = 5.0
# Reasons cost a call per step: they are looked up when nothing has moved for a while.
QUIET_SECONDS = 1.0


async def watch_run(client: Client, run_id: int, lang: Lang) -> str:
    """Returns the state in which the run ended; Ctrl-C leaves it alone."""
    look = await Look.read(client, lang)
    screen = console()
    try:
        shown = await picture(client, run_id, with_reasons=screen.is_terminal)
        async with _Changes(client, shown) as changes:
            if screen.is_terminal:
                return await _draw(client, shown, look, changes)
            return await _say(client, shown, look, changes)
    except asyncio.CancelledError as error:
        typer.echo(f"The run continues; 'stepwell runs watch {run_id}' shows it again.", err=True)
        raise typer.Abort from error


class Change(NamedTuple):
    """An event of the watched run, or of a run inside it at `path` (`ship/`); None: its log has ended."""

    path: str
    event: RunEvent | None


class _Changes:
    """The logs of a run and of the runs inside it, followed at once."""

    def __init__(self, client: Client, shown: Picture) -> None:
        self._client = client
        self._found: asyncio.Queue[Change | BaseException] = asyncio.Queue()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self.follow(shown)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def follow(self, shown: Picture, path: str = "") -> None:
        """This run, and those inside it, as far as they are not followed yet."""
        if shown.run.run_id not in self._tasks:
            self._tasks[shown.run.run_id] = asyncio.create_task(self._read(shown.run.run_id, path))
        for step in shown.steps:
            if step.child_run_id in shown.children:
                self.follow(shown.children[step.child_run_id], f"{path}{step.name}/")

    async def next(self, limit_seconds: float | None = None) -> Change | None:
        """The next change; None when nothing has changed for so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_seconds):
                found = await self._found.get()
                if isinstance(found, BaseException):
                    raise found
                return found
        return None

    async def finish(self) -> None:
        """The watched run has ended, and so have those inside it: wait for what they still have to say."""
        await asyncio.wait(self._tasks.values(), timeout=REASON_SECONDS)

    @property
    def is_empty(self) -> bool:
        return self._found.empty()

    async def _read(self, run_id: int, path: str) -> None:
        try:
            async for event in follow_events(self._client, run_id):
                self._found.put_nowait(Change(path, event))
            self._found.put_nowait(Change(path, None))
        except Exception as error:
            self._found.put_nowait(error)


async def _draw(client: Client, shown: Picture, look: Look, changes: _Changes) -> str:
    screen = console()
    run_id = shown.run.run_id
    quiet_seconds = QUIET_SECONDS
    with Live(console=screen, auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            # The heading takes five lines.
            live.update(draw(look, shown, row_limit=max(screen.height - 7, 5)), refresh=True)
            if shown.run.state_code in RUN_ENDS:
                return shown.run.state_code
            changed = await changes.next(quiet_seconds)
            while changed is not None and not changes.is_empty:
                await changes.next()
            quiet_seconds = QUIET_SECONDS if changed is not None else REASON_SECONDS
            shown = await picture(client, run_id, with_reasons=changed is None)
            changes.follow(shown)


async def _say(client: Client, shown: Picture, look: Look, changes: _Changes) -> str:
    run_id = shown.run.run_id
    began: dict[int, datetime] = {}
    kinds: dict[int, str] = {}
    # A run that failed may have been retried: only the end of its log says which end is the last.
    end: RunEvent | None = None
    is_over = False
    while not (is_over and changes.is_empty):
        change = await changes.next()
        assert change is not None
        path, event = change
        if event is None:
            if not path:
                is_over = True
                await changes.finish()
            continue
        if event.step_id is None:
            if not path and event.to_state in RUN_ENDS:
                end = event
        elif event.to_state is not None and event.to_state not in ("not_started", "ready"):
            typer.echo(f"{_clock(event.at)}  {path}{_line(look, event, began.get(event.unit_id))}")
        if event.to_state in ("in_progress", "waiting") and event.step_id is not None:
            began.setdefault(event.unit_id, event.at)
            if kinds.get(event.unit_id, "subworkflow") == "subworkflow":
                # Its work is a run of its own, which is there from now on.
                shown = await picture(client, run_id, with_reasons=False)
                kinds |= {step.step_run_id: step.step_kind for step in shown.steps}
                changes.follow(shown)
    assert end is not None
    assert end.to_state is not None
    label = look.label("workflow_run", end.to_state)
    typer.echo(f"{_clock(end.at)}  {look.word('run')} {run_id}  {label}")
    return end.to_state


def _line(look: Look, event: RunEvent, began_at: datetime | None) -> str:
    assert event.to_state is not None
    parts = [str(event.step_id), look.label("step", event.to_state)]
    if event.to_state in ENDED and began_at is not None:
        parts.append(span(event.at - began_at))
    if isinstance(event.payload, dict) and isinstance(event.payload.get("error"), dict):
        parts.append(error_line(event.payload["error"]))
    return "  ".join(parts)


def _clock(at: datetime) -> str:
    return f"{at.astimezone():%H:%M:%S}"
