"""Run workflows to their end in a test: real Postgres, a worker in this process, a clock that jumps.

Nothing sleeps: whenever nothing is in flight, the clock jumps to the next timer that is due. Everything is
bounded, by jumps and by real time, and what does not move says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self

from stepwell.app import App
from stepwell.client import RUN_ENDS, Client, RunHandle
from stepwell.define.duration import Duration, parse_duration
from stepwell.errors import StepwellError
from stepwell.store.calls import keep, rehearsal, views
from stepwell.store.calls.rehearsal import Flight
from stepwell.worker import Worker

__all__ = ["Ended", "Harness", "Signal", "Stuck", "check_invariants"]

LOOK_FIRST_SECONDS = 0.001
LOOK_LIMIT_SECONDS = 0.05
# The clock lands just behind a timer, not on it.
BEHIND = timedelta(milliseconds=1)

check_invariants = rehearsal.broken_invariants


class Stuck(StepwellError):
    """The run has not ended, and nothing is in flight or due; or a limit of the harness was reached."""

    code = "stuck"


@dataclass(frozen=True, slots=True)
class Signal:
    """An event for a run, delivered when the run starts or so long after it."""

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


class Harness:
    """`async with Harness(app) as harness:` — the app works on a database that lives as long as the block."""

    def __init__(
        self,
        app: App,
        *,
        dsn: str | None = None,
        slots: int = 20,
        jump_limit: int = 1_000,
        limit_seconds: float = 60.0,
    ) -> None:
        self.app = app
        self._dsn = dsn
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
            database = rehearsal.throwaway_database()
            dsn = await asyncio.to_thread(database.__enter__)
            self._stack.push_async_callback(asyncio.to_thread, database.__exit__, None, None, None)
        self._stack.enter_context(_settings_of(self.app, dsn))
        await self._stack.enter_async_context(self.app)
        self.client: Client = await self.app.client()
        rehearsal.require_empty(await self.client.perform(rehearsal.run_count()))
        # What is due happens when the bench says so: the keepers of workers stand by.
        lead = keep.leading(dsn)
        await asyncio.to_thread(lead.__enter__)
        self._stack.push_async_callback(asyncio.to_thread, lead.__exit__, None, None, None)
        self._worker = await self._stack.enter_async_context(
            Worker(self.app, slots=self._slots, name="harness", lease_seconds=3_600)
        )

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    # -- act ----------------------------------------------------------------------------------------------

    async def run(
        self,
        workflow: str,
        input: Mapping[str, Any] | None = None,
        *,
        signals: Iterable[Signal | tuple[str, Mapping[str, Any]]] = (),
        key: str | None = None,
    ) -> Ended:
        """Start a run and bring it to its end. Signals come in the order of their time."""
        started = await self.app.start(workflow, input, key=key)
        began_at = (await self._look()).now_at
        waiting = sorted((_signal(item) for item in signals), key=lambda signal: signal.delay)
        return await self.end(started, [(began_at + signal.delay, signal) for signal in waiting])

    async def end(self, run: RunHandle | int, signals: Iterable[tuple[datetime, Signal]] = ()) -> Ended:
        """Bring a run to its end: work, jump to what is due next, deliver each signal at its time."""
        run_id = run if isinstance(run, int) else run.id
        waiting = list(signals)
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
                raise Stuck(f"run {run_id} does not move", hint=await self._why(run_id))
            await self._jump_to(min(due), flight)
        raise Stuck(
            f"run {run_id} has not ended after {self._jump_limit} jumps of the clock",
            hint=await self._why(run_id),
        )

    async def signal(
        self, run: RunHandle | int, event: str, payload: Mapping[str, Any] | None = None
    ) -> None:
        await self.client.signal(run, event, payload)

    # -- time ---------------------------------------------------------------------------------------------

    async def jump(self, duration: Duration) -> datetime:
        """Let so much time pass, fire what became due, and wait until nothing is in flight."""
        await self._shift(timedelta(seconds=parse_duration(duration, "duration")))
        return (await self.until_idle()).now_at

    async def now(self) -> datetime:
        """The time of the database."""
        return (await self._look()).now_at

    async def until_idle(self) -> Flight:
        """Fire what is due and wait until nothing runs and nothing can be claimed at the present time."""
        pause = LOOK_FIRST_SECONDS
        try:
            async with asyncio.timeout(self._limit_seconds):
                while True:
                    if await self.client.perform(rehearsal.fire_timers()):
                        pause = LOOK_FIRST_SECONDS
                    flight = await self._look()
                    if flight.is_idle and not (flight.next_due_at and flight.next_due_at <= flight.now_at):
                        return flight
                    if flight.ready_count:
                        self._worker.hint()
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, LOOK_LIMIT_SECONDS)
        except TimeoutError as error:
            raise Stuck(f"work is still in flight after {self._limit_seconds:g} s") from error

    async def _look(self) -> Flight:
        return await self.client.perform(rehearsal.look(self.app.executors()))

    async def _jump_to(self, at: datetime, flight: Flight) -> None:
        await self._shift(max(at - flight.now_at, timedelta()) + BEHIND)

    async def _shift(self, delta: timedelta) -> None:
        await self.client.perform(rehearsal.prepare_months(delta))
        await self.client.perform(rehearsal.shift_clock(delta))

    # -- look ---------------------------------------------------------------------------------------------

    async def states(self, run: RunHandle | int) -> dict[str, str]:
        """State of each step by its id."""
        run_id = run if isinstance(run, int) else run.id
        steps = await self.client.perform(views.steps(self.client.tenant_id, run_id))
        return {step.name: step.state_code for step in steps}

    async def _why(self, run_id: int) -> str:
        steps = await self.client.perform(views.steps(self.client.tenant_id, run_id))
        reasons = [f"{step.name}: {step.why_en}" for step in steps if step.why_en]
        return "; ".join(reasons) or "see 'stepwell runs show'"


def _signal(item: Signal | tuple[str, Mapping[str, Any]]) -> Signal:
    return item if isinstance(item, Signal) else Signal(*item)


@contextmanager
def _settings_of(app: App, dsn: str) -> Any:
    before = app.settings
    app.use_settings(replace(before, database_url=dsn, listen_url=None))
    try:
        yield
    finally:
        app.use_settings(before)
