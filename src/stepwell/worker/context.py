"""What a handler may ask while it runs: receives its lease, returns checkpoints, sleeps, events, its log."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping
from functools import cached_property
from typing import Any, Protocol, TypeVar, overload

from stepwell import json_text, logs
from stepwell.define.duration import Duration, parse_duration
from stepwell.errors import LeaseLost
from stepwell.govern import actions
from stepwell.govern.actions import Acting
from stepwell.handler_progress import Progress, checked
from stepwell.store.calls.leases import Lease
from stepwell.worker.attempt_log import place

T = TypeVar("T")


class Parked(BaseException):
    """Leaves the handler without a result: the unit sleeps and will run again. Not for handlers to catch."""

    def __init__(self, seconds: float, checkpoint: str) -> None:
        self.seconds = seconds
        self.checkpoint = checkpoint


class Desk(actions.Desk, Protocol):
    """What the context needs of its worker."""

    async def save_checkpoint(self, lease: Lease, name: str, value: str) -> Any: ...
    async def emit(self, lease: Lease, event_type: str, payload: str) -> None: ...
    async def beat(self) -> None: ...
    def note_progress(self, lease: Lease, said: Progress) -> None: ...


class Context:
    """The handler's view of its own execution."""

    def __init__(self, lease: Lease, desk: Desk, loop: asyncio.AbstractEventLoop) -> None:
        self._lease = lease
        self._desk = desk
        self._loop = loop
        self._sleep_count = 0
        self._checkpoints = dict(lease.checkpoints or {})
        self._stop_reason: str | None = None
        self._log: Any = None
        self._unsaid: Progress | None = None
        self.has_progress = False

    @cached_property
    def _acting(self) -> Acting:
        """Made when it is asked for: most executions act on nothing."""
        return Acting(self._lease, self._desk)

    @property
    def run_id(self) -> int:
        """Number of the run, or of the free-standing job."""
        return self._lease.unit_id >> 20

    @property
    def unit_id(self) -> int:
        return self._lease.unit_id

    @property
    def step_id(self) -> str | None:
        """The step's id in its workflow; None for a free-standing job."""
        return self._lease.step_id

    @property
    def attempt(self) -> int:
        """1 for the first try."""
        return self._lease.attempt

    @property
    def max_attempts(self) -> int:
        return self._lease.max_attempts

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of this unit: hand it to systems that deduplicate."""
        return f"stepwell:{self._lease.tenant_id}:{self._lease.unit_id}"

    @property
    def trace_id(self) -> str | None:
        return self._lease.trace_id

    @property
    def correlation_id(self) -> str | None:
        return self._lease.correlation_id

    @property
    def task_type(self) -> str:
        """RUN, or why it runs again: RESUMED by an event, WAITING_TIMEOUT, SLEPT."""
        return str(self._lease.wake["task_type"]) if self._lease.wake else "RUN"

    @property
    def event(self) -> Any:
        """Payload of the event that ended the wait; None otherwise."""
        return self._lease.wake.get("payload") if self._lease.wake else None

    @property
    def cancelled(self) -> bool:
        """True once the unit was cancelled or its lease lost: stop, the report will not be taken."""
        return self._stop_reason is not None

    @property
    def log(self) -> Any:
        if self._log is None:
            self._log = logs.get_logger("stepwell.handler", **self.log_fields())
        return self._log

    def log_fields(self) -> dict[str, Any]:
        """What every line carries that is logged while the handler runs."""
        return place(self._lease.unit_id, self._lease.step_id) | {"attempt": self._lease.attempt}

    @overload
    async def step(self, name: str, fn: Callable[..., Awaitable[T]], *args: Any) -> T: ...
    @overload
    async def step(self, name: str, fn: Callable[..., T], *args: Any) -> T: ...
    async def step(self, name: str, fn: Callable[..., Any], *args: Any) -> Any:
        """Do a piece of work once: its result is kept, and a later attempt returns it without doing it."""
        if name in self._checkpoints:
            return self._checkpoints[name]
        self._require_lease()
        value = fn(*args)
        if inspect.isawaitable(value):
            value = await value
        text = json_text.encode(value, f"checkpoint {name}")
        kept = await self._desk.save_checkpoint(self._lease, name, text)
        self._checkpoints[name] = kept
        return kept

    def step_sync(self, name: str, fn: Callable[..., T], *args: Any) -> T:
        """The same for a handler that runs in a thread."""
        if name in self._checkpoints:
            return self._checkpoints[name]  # type: ignore[no-any-return]
        self._require_lease()
        value = fn(*args)
        text = json_text.encode(value, f"checkpoint {name}")
        saving = self._desk.save_checkpoint(self._lease, name, text)
        self._checkpoints[name] = asyncio.run_coroutine_threadsafe(saving, self._loop).result()
        return self._checkpoints[name]  # type: ignore[no-any-return]

    def sleep(self, duration: Duration) -> Awaitable[None]:
        """Park for a while without holding a slot. The handler starts anew and passes this point then."""
        self._sleep_count += 1
        name = f"sleep:{self._sleep_count}"
        if name not in self._checkpoints:
            raise Parked(float(parse_duration(duration, "sleep")), name)
        return _Done()

    async def emit(self, event_type: str, payload: Mapping[str, Any] | None = None) -> None:
        """Append an event of your own to the run's history, at once."""
        self._require_lease()
        text = json_text.encode(payload or {}, f"event {event_type}")
        await self._desk.emit(self._lease, event_type, text)

    def progress(self, done: float, total: float | None = None, note: str | None = None) -> None:
        """Say how far the handler is. Costs nothing to call often: the worker sends the last one, rarely."""
        self._require_lease()
        self.note_progress(checked(done, total, note))

    def note_progress(self, said: Progress) -> None:
        """The same from wherever the handler runs: the event loop, a thread, a process."""
        is_first, self._unsaid = self._unsaid is None, said
        self.has_progress = True
        if is_first and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.pass_progress)

    def pass_progress(self) -> None:
        """For the worker, on its loop: take the last word now."""
        said, self._unsaid = self._unsaid, None
        if said is not None:
            self._desk.note_progress(self._lease, said)

    async def act(
        self,
        connector: str,
        operation: str,
        target: str,
        fields: Mapping[str, Any] | None = None,
        *,
        reversible: bool | None = None,
        key: str | None = None,
    ) -> Any:
        """Do something in another system, once, if policy allows; returns what the other system said.

        The same `key` (derived from this unit and the place of the call when left out) never acts twice.
        Waits for an approval, where policy asks for one, without holding a slot: the handler starts anew.
        Raises PolicyDenied, ApprovalRejected, ApprovalExpired, or what the connector says.
        """
        self._require_lease()
        return await self._acting.act(
            connector, operation, target, fields or {}, reversible=reversible, key=key
        )

    def act_sync(self, connector: str, operation: str, target: str, *given: Any, **options: Any) -> Any:
        """The same for a handler that runs in a thread."""
        acting = self.act(connector, operation, target, *given, **options)
        return asyncio.run_coroutine_threadsafe(acting, self._loop).result()

    async def reverse(self, receipt_id: int) -> Any:
        """Undo an effect by its receipt: an action of its own, judged like any other."""
        self._require_lease()
        return await self._acting.reverse(receipt_id)

    async def heartbeat(self) -> None:
        """Extend the lease now and learn of a cancellation; the worker also does so by itself."""
        await self._desk.beat()
        self._require_lease()

    def stop(self, reason: str) -> None:
        """For the worker: from now on `cancelled` is true."""
        self._stop_reason = reason

    def _require_lease(self) -> None:
        if self._stop_reason is not None:
            raise LeaseLost(f"unit {self.unit_id} is no longer held here ({self._stop_reason})")


class _Done:
    """Awaited or not: a handler in a thread has nothing to await with."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield
