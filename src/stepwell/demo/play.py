"""The demo goes on while somebody watches: receives its app, starts runs and lets its people work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final

import stepwell as sw
from stepwell.demo import plan
from stepwell.demo.chance import chance
from stepwell.demo.crew import Crew
from stepwell.demo.history import begin_run, pick_up
from stepwell.demo.pace import watched_seconds
from stepwell.demo.plan import Start
from stepwell.store.calls import mode

LOOK_SECONDS: Final = 4.0
# Somebody who watches has so much time to decide before the people of the demo do.
DECIDE_LIMIT_SECONDS: Final = 240.0
PICK_UP_SECONDS: Final = 90.0
# A workflow with so many open runs gets no further one.
OPEN_LIMIT: Final = 8
# Seconds between two starts of each kind; each seventh order meets a provider of payments that is down.
EVERY_SECONDS: Final = {
    "incident.triage": 75.0,
    "order.process": 45.0,
    "agent.refund": 100.0,
    "plant.turnaround": 60.0,
}
STORM_EVERY: Final = 7
# One open run of each kind is left for whoever watches.
FOR_YOU: Final = {"order.process": plan.order_for_you, "agent.refund": plan.refund_for_you}


class Play:
    """Starts runs and lets people act; every act is a task of its own."""

    def __init__(self, app: sw.App) -> None:
        self._app = app
        self._crew = Crew(app)
        self._tasks: set[asyncio.Task[None]] = set()
        self._due = dict.fromkeys(EVERY_SECONDS, 0.0)

    async def until_left(self) -> None:
        """Play until the demo is turned off."""
        client = await self._app.client()
        loop = asyncio.get_running_loop()
        while await client.perform(mode.is_demo()):
            for act in await self._crew.look():
                self._later(watched_seconds(act.minutes * 60, DECIDE_LIMIT_SECONDS), act.perform)
            for workflow, due in self._due.items():
                if due <= loop.time():
                    self._due[workflow] = loop.time() + EVERY_SECONDS[workflow]
                    await self._start(workflow)
            await self._leave()
            await asyncio.sleep(LOOK_SECONDS)

    async def _start(self, workflow: str) -> None:
        limit = 1 if workflow == "plant.turnaround" else OPEN_LIMIT
        if await self._app.run_count(workflow=workflow, state="in_progress") >= limit:
            return
        start = _new(workflow, datetime.now(UTC), await self._app.run_count(workflow=workflow) + 1)
        run = await begin_run(self._app, start)
        if start.picked_up_minutes is not None:
            self._later(PICK_UP_SECONDS * (1 + chance("pick up", run.id)), lambda: pick_up(run))

    async def _leave(self) -> None:
        for workflow, new in FOR_YOU.items():
            if not await self._app.run_count(workflow=workflow, state="in_progress", labels=plan.YOURS):
                number = await self._app.run_count(workflow=workflow, labels=plan.YOURS) + 1
                await begin_run(self._app, new(datetime.now(UTC), number))

    def _later(self, seconds: float, do: Callable[[], Awaitable[None]]) -> None:
        async def act() -> None:
            await asyncio.sleep(seconds)
            await do()

        task = asyncio.create_task(act())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _new(workflow: str, at: datetime, number: int) -> Start:
    # Numbers that the history does not use.
    beyond = 1000 + number
    match workflow:
        case "plant.turnaround":
            return plan.turnaround(at, number)
        case "incident.triage":
            return plan.incident(at, beyond)
        case "agent.refund":
            return plan.refund(at, beyond)
        case _:
            return plan.order(at, beyond, is_storm=number % STORM_EVERY == 0)
