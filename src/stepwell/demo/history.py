"""The past days of the demo: receives an empty database, lets the real engine work through them.

The clock of the database is stopped and moved from event to event, as in tests, and is real time again at the
end. So every row and every event is made by the engine; nothing is inserted.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final

import stepwell as sw
from stepwell.demo import pace, plan
from stepwell.demo.crew import Crew
from stepwell.demo.plan import Start
from stepwell.errors import Conflict
from stepwell.store.calls import keep, rehearsal
from stepwell.testing.harness import LOOK_FIRST_SECONDS, LOOK_LIMIT_SECONDS, Harness

# The people look at their work so often, by day.
LOOK_MINUTES: Final = 30
# What is wrong is looked for as often; more than this is found the next time.
PROBLEM_LIMIT: Final = 500
# Times are rounded up to this grid: the moves of the clock are most of what this costs.
GRID: Final = timedelta(minutes=5)

Do = Callable[[], Awaitable[object]]


class History(Harness):
    """Works through the days: wakes handlers, fires timers, lets people act, each at its time."""

    def __init__(self, app: sw.App, dsn: str, begins: datetime) -> None:
        super().__init__(app, dsn=dsn, start_at=begins, slots=30)
        self._at = begins
        self._order = itertools.count()
        self._agenda: list[tuple[datetime, int, Do]] = []
        self._asleep: list[tuple[datetime, int, asyncio.Future[None]]] = []
        self._crew = Crew(app)

    async def _release_clock(self) -> None:
        await self.client.perform(rehearsal.real_clock())

    async def work_until(self, ends: datetime) -> None:
        """Do everything that is planned, due or asked for before this time."""
        pace.set_pause(self._sleep)
        try:
            for start in plan.starts(self._at, ends):
                self._plan(start.at, self._starting(start))
            self._plan(self._at + timedelta(hours=3), self._people_look)
            while await self._settle() < ends:
                await self._step(ends)
            while self._asleep:
                self._wake(datetime.max.replace(tzinfo=ends.tzinfo))
                await self._settle()
        finally:
            pace.set_pause(None)

    async def _step(self, ends: datetime) -> None:
        """Move the clock to what is next, and do it."""
        flight = await self._look()
        nexts = [at for at, *_ in (*self._agenda[:1], *self._asleep[:1])]
        nexts += [at for at in (flight.next_due_at, ends) if at is not None]
        self._at = min(nexts)
        await self._move(self._at)
        self._wake(self._at)
        while self._agenda and self._agenda[0][0] <= self._at < ends:
            await heapq.heappop(self._agenda)[2]()

    async def _settle(self) -> datetime:
        """Wait until every handler sleeps or has ended, and nothing is due; return the time."""
        wait = LOOK_FIRST_SECONDS
        async with asyncio.timeout(self._limit_seconds):
            while True:
                flight = await self._look()
                if flight.is_due:
                    await self._do_duties()
                    wait = LOOK_FIRST_SECONDS
                elif flight.leased_count <= len(self._asleep) and not (
                    flight.ready_count and len(self._asleep) < self._slots
                ):
                    return self._at
                else:
                    if flight.ready_count:
                        self._worker.hint()
                    await asyncio.sleep(wait)
                    wait = min(wait * 2, LOOK_LIMIT_SECONDS)

    async def _sleep(self, seconds: float) -> None:
        """A handler works for so long: it goes on when the clock has moved there."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        until = _on_grid(self._at + timedelta(seconds=seconds))
        heapq.heappush(self._asleep, (until, next(self._order), ended))
        await ended

    def _wake(self, at: datetime) -> None:
        while self._asleep and self._asleep[0][0] <= at:
            ended = heapq.heappop(self._asleep)[2]
            if not ended.done():
                ended.set_result(None)

    def _plan(self, at: datetime, do: Do) -> None:
        heapq.heappush(self._agenda, (_on_grid(at), next(self._order), do))

    async def _people_look(self) -> None:
        at = self._at
        await self.client.perform(keep.watch_problems(PROBLEM_LIMIT))
        if plan.is_day(at):
            for act in await self._crew.look():
                self._plan(_by_day(at + timedelta(minutes=act.minutes)), act.perform)
        self._plan(at + timedelta(minutes=LOOK_MINUTES), self._people_look)

    def _starting(self, start: Start) -> Do:
        async def begin() -> None:
            run = await begin_run(self.app, start)
            if start.picked_up_minutes is not None:
                at = _by_day(start.at + timedelta(minutes=start.picked_up_minutes))
                self._plan(at, lambda: pick_up(run))

        return begin


async def begin_run(app: sw.App, start: Start) -> sw.RunHandle[Any]:
    return await app.acting_as(start.by).start(
        start.workflow, start.input, key=start.key, labels=start.labels
    )


async def pick_up(run: sw.RunHandle[Any]) -> None:
    # A run that has failed meanwhile accepts no events.
    with suppress(Conflict):
        await run.signal("carrier.picked_up", {"carrier": "north"})


def _on_grid(at: datetime) -> datetime:
    return at + (datetime.min.replace(tzinfo=at.tzinfo) - at) % GRID


def _by_day(at: datetime) -> datetime:
    """This time, or the next morning."""
    if plan.is_day(at):
        return at
    morning = at.replace(hour=plan.DAY_BEGINS, minute=at.minute, second=0, microsecond=0)
    return morning if morning > at else morning + timedelta(days=1)
