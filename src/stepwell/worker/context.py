"""The context of a handler while it runs: checkpoints, sleep, events, actions and its log."""

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
    """Raised to leave the handler: the unit sleeps and then runs again. Handlers must not catch it."""

    def __init__(self, seconds: float, checkpoint: str) -> None:
        self.seconds = seconds
        self.checkpoint = checkpoint


class WorkerCalls(actions.WorkerCalls, Protocol):
    """The calls of the context to its worker."""

    async def save_checkpoint(self, lease: Lease, name: str, value: str) -> Any: ...
    async def emit(self, lease: Lease, event_type: str, payload: str) -> None: ...
    async def label(self, lease: Lease, labels: str) -> Any: ...
    async def beat(self) -> None: ...
    def note_progress(self, lease: Lease, said: Progress) -> None: ...


class Context:
    """A handler reads and controls its own execution through it."""

    # On the class, because most handlers change none of them.
    _sleep_count = 0
    _stop_reason: str | None = None
    _log: logs.FieldLogger | None = None
    _unsaid: Progress | None = None
    has_progress = False

    def __init__(self, lease: Lease, worker: WorkerCalls, loop: asyncio.AbstractEventLoop) -> None:
        self._lease = lease
        self._worker = worker
        self._loop = loop
        self._checkpoints = dict(lease.checkpoints) if lease.checkpoints else {}

    @cached_property
    def _acting(self) -> Acting:
        """Made on demand, because most handlers do no action."""
        return Acting(self._lease, self._worker)

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
        """1 for the first attempt."""
        return self._lease.attempt

    @property
    def max_attempts(self) -> int:
        """How many attempts there are at most."""
        return self._lease.max_attempts

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of this step or job; give it to systems that remove duplicates."""
        return f"stepwell:{self._lease.tenant_id}:{self._lease.unit_id}"

    @property
    def trace_id(self) -> str | None:
        """The trace that the run belongs to."""
        return self._lease.trace_id

    @property
    def correlation_id(self) -> str | None:
        """What the caller of the run has given to find it again."""
        return self._lease.correlation_id

    @property
    def task_type(self) -> str:
        """RUN, or why it runs again: RESUMED (by an event), WAITING_TIMEOUT or SLEPT."""
        return str(self._lease.wake["task_type"]) if self._lease.wake else "RUN"

    @property
    def event(self) -> Any:
        """Payload of the event that ended the wait; None if no event did."""
        return self._lease.wake.get("payload") if self._lease.wake else None

    @property
    def cancelled(self) -> bool:
        """True after a cancellation or the loss of the lease: stop, the report will not be accepted."""
        return self._stop_reason is not None

    @property
    def log(self) -> logs.FieldLogger:
        """A logger whose lines have the run, the step and the attempt."""
        if self._log is None:
            self._log = logs.get_logger("stepwell.handler", **self.log_fields())
        return self._log

    def log_fields(self) -> dict[str, Any]:
        """The fields of every line that is logged while the handler runs."""
        return place(self._lease.unit_id, self._lease.step_id) | {"attempt": self._lease.attempt}

    @overload
    async def step(self, name: str, fn: Callable[..., Awaitable[T]], *args: Any) -> T: ...
    @overload
    async def step(self, name: str, fn: Callable[..., T], *args: Any) -> T: ...
    async def step(self, name: str, fn: Callable[..., Any], *args: Any) -> Any:
        """Call `fn` once and store its result; a later attempt returns the stored result."""
        if name in self._checkpoints:
            return self._checkpoints[name]
        self._require_lease()
        value = fn(*args)
        if inspect.isawaitable(value):
            value = await value
        text = json_text.encode(value, f"checkpoint {name}")
        kept = await self._worker.save_checkpoint(self._lease, name, text)
        self._checkpoints[name] = kept
        return kept

    def step_sync(self, name: str, fn: Callable[..., T], *args: Any) -> T:
        """The same as `step`, for a handler that runs in a thread."""
        if name in self._checkpoints:
            return self._checkpoints[name]  # type: ignore[no-any-return]
        self._require_lease()
        value = fn(*args)
        text = json_text.encode(value, f"checkpoint {name}")
        saving = self._worker.save_checkpoint(self._lease, name, text)
        self._checkpoints[name] = asyncio.run_coroutine_threadsafe(saving, self._loop).result()
        return self._checkpoints[name]  # type: ignore[no-any-return]

    def sleep(self, duration: Duration) -> Awaitable[None]:
        """Sleep without a slot. Then the handler starts again from its beginning and passes this call."""
        self._sleep_count += 1
        name = f"sleep:{self._sleep_count}"
        if name not in self._checkpoints:
            raise Parked(float(parse_duration(duration, "sleep")), name)
        return _Done()

    async def emit(self, event_type: str, payload: Mapping[str, Any] | None = None) -> None:
        """Append an event of your own to the log of the run, immediately."""
        self._require_lease()
        text = json_text.encode(payload or {}, f"event {event_type}")
        await self._worker.emit(self._lease, event_type, text)

    async def label(self, **labels: str | None) -> dict[str, str]:
        """Set labels of the run, and remove those that are None, immediately. Returns its labels."""
        self._require_lease()
        found: dict[str, str] = await self._worker.label(self._lease, json_text.encode(labels, "labels"))
        return found

    def progress(self, done: float, total: float | None = None, note: str | None = None) -> None:
        """Report the progress of the handler. The worker sends the last report every few seconds."""
        self._require_lease()
        self.note_progress(checked(done, total, note))

    def note_progress(self, said: Progress) -> None:
        """Called from the event loop, a thread, or for a process."""
        is_first, self._unsaid = self._unsaid is None, said
        self.has_progress = True
        if is_first and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.pass_progress)

    def pass_progress(self) -> None:
        """Give the last report to the worker; called on its event loop."""
        said, self._unsaid = self._unsaid, None
        if said is not None:
            self._worker.note_progress(self._lease, said)

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
        """Do an action in another system once, if policy allows it; return the result of the connector.

        The same `key` never acts twice; the default key is made of the step, the target and the fields.
        If policy requires an approval, the step waits for it without a slot, then the handler starts again.
        Raises PolicyDenied, ApprovalRejected, ApprovalExpired, or the error of the connector.
        """
        self._require_lease()
        return await self._acting.act(
            connector, operation, target, fields or {}, reversible=reversible, key=key
        )

    def act_sync(self, connector: str, operation: str, target: str, *given: Any, **options: Any) -> Any:
        """The same as `act`, for a handler that runs in a thread."""
        acting = self.act(connector, operation, target, *given, **options)
        return asyncio.run_coroutine_threadsafe(acting, self._loop).result()

    async def reverse(self, receipt_id: int) -> Any:
        """Undo an effect by its receipt. This is a new action, which policy judges like any other."""
        self._require_lease()
        return await self._acting.reverse(receipt_id)

    async def heartbeat(self) -> None:
        """Extend the lease now and check for a cancellation; the worker also does this at intervals."""
        await self._worker.beat()
        self._require_lease()

    def stop(self, reason: str) -> None:
        """For the worker: from now on `cancelled` is true."""
        self._stop_reason = reason

    def _require_lease(self) -> None:
        if self._stop_reason is not None:
            raise LeaseLost(f"the worker has lost the lease of unit {self.unit_id} ({self._stop_reason})")


class _Done:
    """An awaitable that is done; a handler in a thread calls `sleep` without await."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield
