"""Run workflows to their end in a test: real Postgres, a worker in this process, a clock that the test moves.

The clock is stopped. When nothing can be done at the present time, the harness moves the clock to the time at
which something is due next. It does not move the clock while a person has to act, unless the test allows it.
Real time has no effect: the same test does the same on a fast and on a slow machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from typing_extensions import TypeVar

from stepwell.app import App
from stepwell.client import RUN_ENDS, Client, RunHandle
from stepwell.define.duration import Duration, parse_duration
from stepwell.errors import InvalidInput
from stepwell.keeper.keeper import firing
from stepwell.store.calls import keep, rehearsal, schedules, views
from stepwell.store.calls.rehearsal import Flight
from stepwell.store.schema.throwaway import throwaway_database
from stepwell.testing.people import PeopleActs
from stepwell.testing.stuck import Stuck, reasons_in, reasons_of
from stepwell.worker import Worker

if TYPE_CHECKING:
    from stepwell.define import Workflow

R = TypeVar("R", default=Any)

LOOK_FIRST_SECONDS = 0.001
LOOK_LIMIT_SECONDS = 0.05
DUTY_LIMIT = 500


@dataclass(frozen=True, slots=True)
class Signal:
    """An event for a run, sent when the run starts or so long after the start."""

    event: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    after: Duration | None = None

    @property
    def delay(self) -> timedelta:
        return timedelta(seconds=0 if self.after is None else parse_duration(self.after, "after", zero=True))


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that has ended: its state, its result, and the state of each step."""

    id: int
    state: str
    result: Any
    states: dict[str, str]


class Harness(PeopleActs):
    """`async with Harness(app) as harness:` — the app uses a database that exists during the block.

    `start_at` is the first time of the clock; default: now.
    """

    def __init__(
        self,
        app: App,
        *,
        dsn: str | None = None,
        start_at: datetime | None = None,
        slots: int = 20,
        jump_limit: int = 1_000,
        limit_seconds: float = 60.0,
    ) -> None:
        if start_at is not None and start_at.tzinfo is None:
            raise InvalidInput("start_at has no time zone; accepted: a time with a zone", field="start_at")
        self.app = app
        self._dsn = dsn
        self._start_at = start_at
        self._slots = slots
        self._jump_limit = jump_limit
        self._limit_seconds = limit_seconds
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            await self._open()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def _open(self) -> None:
        dsn = self._dsn
        if dsn is None:
            database = throwaway_database()
            dsn = await asyncio.to_thread(database.__enter__)
            self._stack.push_async_callback(asyncio.to_thread, database.__exit__, None, None, None)
        self._stack.enter_context(_settings_of(self.app, dsn))
        await self._stack.enter_async_context(self.app)
        self.client: Client = await self.app.client()
        rehearsal.require_empty(await self.client.perform(rehearsal.run_count()))
        # The harness takes the lead, so that the keepers of workers do nothing: it fires what is due itself.
        lead = keep.leading(dsn)
        await asyncio.to_thread(lead.__enter__)
        self._stack.push_async_callback(asyncio.to_thread, lead.__exit__, None, None, None)
        if self._start_at is not None:
            await self.client.perform(rehearsal.prepare_months(self._start_at))
        await self.client.perform(rehearsal.stop_clock(self._start_at))
        self._stack.push_async_callback(self._release_clock)
        self._worker = await self._stack.enter_async_context(
            Worker(self.app, slots=self._slots, name="harness", lease_seconds=3_600)
        )

    async def _release_clock(self) -> None:
        await self.client.perform(rehearsal.release_clock())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    # -- runs ---------------------------------------------------------------------------------------------

    async def start(
        self,
        workflow: str | Workflow[R],
        input: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
    ) -> RunHandle[R]:
        """Start a run and do all work that is possible at the present time."""
        started = await self.app.start(workflow, input, key=key)
        await self.until_idle()
        return started

    async def run(
        self,
        workflow: str | Workflow[Any],
        input: Mapping[str, Any] | None = None,
        *,
        signals: Iterable[Signal | tuple[str, Mapping[str, Any]]] = (),
        key: str | None = None,
        past_people: bool = False,
    ) -> Ended:
        """Start a run and run it to its end, as `end` does."""
        started = await self.app.start(workflow, input, key=key)
        return await self.end(started, signals=signals, past_people=past_people)

    async def end(
        self,
        run: RunHandle | int,
        *,
        signals: Iterable[Signal | tuple[str, Mapping[str, Any]]] = (),
        past_people: bool = False,
    ) -> Ended:
        """Run a run to its end: do work, move the clock to what is due next, send each signal at its time.

        While a person has to act (an open human step or approval of the run) the clock does not move: Stuck
        is raised. With `past_people` the clock moves, and deadlines, escalations and expiries happen.
        """
        run_id = run if isinstance(run, int) else run.id
        began_at = await self.now()
        sent = sorted((_signal(item) for item in signals), key=lambda signal: signal.delay)
        waiting = [(began_at + signal.delay, signal) for signal in sent]
        for _ in range(self._jump_limit):
            flight = await self.until_idle()
            while waiting and waiting[0][0] <= flight.now_at:
                signal = waiting.pop(0)[1]
                await self.client.signal(run_id, signal.event, signal.payload)
                flight = await self.until_idle()
            state, result = await self.client.run_outcome(run_id)
            if state in RUN_ENDS:
                return Ended(run_id, state, result, await self.states(run_id))
            due = [at for at in (flight.next_due_at, waiting[0][0] if waiting else None) if at is not None]
            if not due or state == "paused":
                raise Stuck(f"run {run_id} does not move", await self._reasons(run_id))
            if not past_people:
                await self._refuse_to_pass(run_id, min(due), flight)
            await self._move(min(due))
        raise Stuck(
            f"run {run_id} has not ended after {self._jump_limit} jumps of the clock",
            await self._reasons(run_id),
        )

    async def _refuse_to_pass(self, run_id: int, at: datetime, flight: Flight) -> None:
        """Raise Stuck if a person has to act, or if an approval of another run would expire."""
        asked = await self.client.perform(rehearsal.asked(self.client.tenant_id, run_id))
        if asked:
            steps = await self._reasons(run_id)
            named = {name.rpartition(" → ")[2] for name in steps}
            raise Stuck(
                f"run {run_id} waits for people, so the clock does not move",
                {**steps, **reasons_of([item for item in asked if item.name not in named])},
                hint="act for them (harness.complete, harness.approve), or give past_people=True",
            )
        if flight.next_expiry_at is not None and flight.next_expiry_at <= at:
            others = await self.client.perform(rehearsal.asked(self.client.tenant_id, None))
            raise Stuck(
                f"run {run_id} can continue only after an approval of another run has expired",
                reasons_of(others),
                hint="decide it (harness.approve, harness.reject), or give past_people=True",
            )

    async def signal(
        self, run: RunHandle | int, event: str, payload: Mapping[str, Any] | None = None
    ) -> None:
        """Send an event now, and do all work that is possible at the present time."""
        await self.client.signal(run, event, payload)
        await self.until_idle()

    # -- time ---------------------------------------------------------------------------------------------

    async def now(self) -> datetime:
        """The time of the clock."""
        return (await self._look()).now_at

    async def jump(self, duration: Duration) -> datetime:
        """Move the clock forward by this duration. What is due in between happens at its own time."""
        return await self.jump_to(await self.now() + timedelta(seconds=parse_duration(duration, "duration")))

    async def jump_to(self, at: datetime) -> datetime:
        """Move the clock forward to this time. What is due in between happens at its own time."""
        for _ in range(self._jump_limit):
            flight = await self.until_idle()
            if flight.next_due_at is None or flight.next_due_at > at:
                await self._move(at)
                return at
            await self._move(flight.next_due_at)
        raise Stuck(f"the clock has not reached {at:%Y-%m-%d %H:%M:%S %Z} after {self._jump_limit} jumps")

    async def until_idle(self) -> Flight:
        """Do all work that is possible at the present time; return when nothing runs and nothing is due."""
        pause = LOOK_FIRST_SECONDS
        try:
            async with asyncio.timeout(self._limit_seconds):
                while True:
                    flight = await self._look()
                    if flight.is_due:
                        await self._do_duties()
                        pause = LOOK_FIRST_SECONDS
                        continue
                    if flight.is_idle:
                        await self.client.perform(keep.settle_replays(DUTY_LIMIT))
                        return flight
                    if flight.ready_count:
                        self._worker.hint()
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, LOOK_LIMIT_SECONDS)
        except TimeoutError as error:
            standing = await self.client.perform(rehearsal.standing(self.client.tenant_id))
            raise Stuck(
                f"work has not ended after {self._limit_seconds:g} s of real time", reasons_of(standing)
            ) from error

    async def _look(self) -> Flight:
        return await self.client.perform(rehearsal.look(self.app.executors(), list(self.app.handlers)))

    async def _do_duties(self) -> None:
        """Fire timers and schedules, as a keeper does."""
        await self.client.perform(keep.fire_timers(DUTY_LIMIT))
        for due in await self.client.perform(schedules.due_schedules(DUTY_LIMIT)):
            await self.client.perform(firing(due))

    async def _move(self, at: datetime) -> None:
        await self.client.perform(rehearsal.prepare_months(at))
        await self.client.perform(rehearsal.move_clock(at))

    # -- look ---------------------------------------------------------------------------------------------

    async def states(self, run: RunHandle | int) -> dict[str, str]:
        """Step id → state."""
        run_id = run if isinstance(run, int) else run.id
        steps = await self.client.perform(views.steps(self.client.tenant_id, run_id, with_reasons=False))
        return {step.name: step.state_code for step in steps}

    async def _reasons(self, run_id: int) -> dict[str, str]:
        return await reasons_in(self.client, run_id, frozenset(self.app.handlers))


def _signal(item: Signal | tuple[str, Mapping[str, Any]]) -> Signal:
    return item if isinstance(item, Signal) else Signal(*item)


@contextmanager
def _settings_of(app: App, dsn: str) -> Iterator[None]:
    before = app.settings
    app.use_settings(replace(before, database_url=dsn, listen_url=None))
    try:
        yield
    finally:
        app.use_settings(before)
