"""A worker: opens a session, sends heartbeats, runs handlers, and releases its leases when it stops."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import Iterable, Sequence
from time import monotonic
from types import TracebackType
from typing import Self, TypeVar

from stepwell import __version__, handler_progress, json_text, logs, present_handler
from stepwell.app import App
from stepwell.errors import LeaseLost, StepwellError, UsageError
from stepwell.keeper import BackgroundKeeper
from stepwell.store.calls import sessions
from stepwell.store.calls.leases import Ended, Failed, Lease, LeaseCalls, Refused, Report
from stepwell.store.calls.runs import RunStart, Started
from stepwell.store.connection.listen import Listener
from stepwell.store.connection.pool import async_pool
from stepwell.store.connection.target import Process
from stepwell.store.connection.wire import connect
from stepwell.worker.action_calls import ActionCalls
from stepwell.worker.ahead import Ahead
from stepwell.worker.attempt_log import AttemptLog
from stepwell.worker.context import Context
from stepwell.worker.exchange import Exchange
from stepwell.worker.execute import Executor, NoHandler
from stepwell.worker.handler_pools import HandlerPools
from stepwell.worker.progress_reports import ProgressReports
from stepwell.worker.served import Served
from stepwell.worker.worker_calls import WorkerCalls

DEFAULT_SLOTS = 100
DEFAULT_LEASE_SECONDS = 30
DEFAULT_EXCHANGES = 2
POLL_FIRST_SECONDS = 0.25
POLL_LIMIT_SECONDS = 5.0
GRACE_SECONDS = 20.0
# How long the worker waits for cancelled handlers to end.
CANCEL_LIMIT_SECONDS = 5.0
CHANNEL = "stepwell_ready"

T = TypeVar("T")


class Worker(WorkerCalls):
    """Runs the operations of an app: `async with Worker(app):` in the background, `run()` until stopped.

    It also runs a keeper in a separate thread; one of all keepers acts, the others wait.
    """

    def __init__(
        self,
        app: App,
        *,
        slots: int = DEFAULT_SLOTS,
        executors: Iterable[str] | None = None,
        lease_seconds: int = DEFAULT_LEASE_SECONDS,
        name: str | None = None,
        exchanges: int = DEFAULT_EXCHANGES,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        if not 1 <= slots <= 10_000:
            raise UsageError(f"slots is {slots}", hint="accepted is 1 to 10000", field="slots")
        self.app = app
        # app:host:pid:suffix; the suffix tells the workers of one process apart.
        self.name = name or f"{app.name}:{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(2)}"
        self._slots = slots
        self._executors = tuple(executors) if executors is not None else app.executors()
        self._lease_seconds = lease_seconds
        self._exchange_count = max(1, exchanges)
        self._grace_seconds = grace_seconds
        self._ahead = Ahead(slots)
        self._running: dict[int, tuple[Lease, Context, asyncio.Task[None]]] = {}
        self._log = logs.get_logger("stepwell.worker", worker=self.name)
        self._attempts = AttemptLog(self._log)
        self._progress = ProgressReports(self._send_progress, self._log)
        self._stop_asked = asyncio.Event()
        self._stop_now = asyncio.Event()
        self._renewing = asyncio.Lock()
        self._reconnecting = asyncio.Lock()
        self._evaluating = asyncio.Lock()
        self._is_releasing = False
        # frozen or drain: what the database said at the last heartbeat.
        self._stopped: str | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        started = asyncio.Event()
        self._task = asyncio.create_task(self.run(started))
        waiting = asyncio.create_task(started.wait())
        await asyncio.wait({self._task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._task.done():
            await self._task
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def ask_stop(self) -> None:
        """First call: let running handlers finish. Second call: stop now and release their leases."""
        if self._stop_asked.is_set():
            self._stop_now.set()
        self._stop_asked.set()

    async def stop(self) -> None:
        self._stop_asked.set()
        if self._task is not None:
            await self._task
            self._task = None

    async def run(self, started: asyncio.Event | None = None) -> None:
        """Work until `ask_stop`; return when every lease is reported or released."""
        await self.app.prepare()
        self._conninfo = await self.app.address(Process.WORKER)
        # For what handlers ask, with the role of a worker; it connects at the first call.
        limit = self.app.settings.pool_max_size
        async with async_pool(self._conninfo, min_size=0, max_size=limit) as self._pool:
            self._action_calls = ActionCalls(self._conninfo, self._action_alone)
            try:
                await self._run(started)
            finally:
                await self._action_calls.close()

    async def _run(self, started: asyncio.Event | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._client = await self.app.client()
        self._exchange = Exchange(
            self._open_calls, self._slots, self._start, self._renew, self._hear, self._exchange_count,
            self._ahead.count,
        )  # fmt: skip
        self._pools = HandlerPools(self._slots, self._exchange)
        self._executor = Executor(self.app.handlers, self._pools, self._evaluate)
        self._served = Served(self.app.handlers, self._tell_served)
        self._control = await connect(self._conninfo)
        await self._open_session()
        address, given = await self.app.address(Process.KEEPER), self.app.settings
        self._keeper = BackgroundKeeper(
            address, anchor=given.audit_anchor, key_file=given.audit_key, evidence=given.evidence_store
        )
        helpers = [asyncio.create_task(self._exchange.run(no)) for no in range(self._exchange_count)]
        helpers += map(asyncio.create_task, (self._keep_alive(), self._watch(), self._progress.run()))
        self._client.local_workers.add(self)
        self._log.info("worker started", slots=self._slots, executors=self._executors)
        if started is not None:
            started.set()
        try:
            stopping = asyncio.create_task(self._stop_asked.wait())
            await asyncio.wait({stopping, *helpers}, return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            for helper in helpers:
                if helper.done():
                    helper.result()
            await self._drain(helpers)
        finally:
            await self._shut(helpers)

    @property
    def busy_count(self) -> int:
        """Slots taken by handlers, by reports that are not accepted yet, and by abandoned calls."""
        return self._exchange.busy_count

    @property
    def abandoned_count(self) -> int:
        """Abandoned calls in threads or processes that still run."""
        return self._pools.abandoned_count

    def hint(self) -> None:
        """Claim now, without waiting for a notification."""
        self._exchange.hint()

    async def start_run(self, start: RunStart) -> Started | None:
        """Start a run and lease its first steps in one commit; None if this is not possible now."""
        if asyncio.get_running_loop() is not self._loop:
            return None
        return await self._exchange.start(start)

    def holds_step_of(self, run_id: int) -> bool:
        """True if this worker has a lease of a step of the run, or has not finished its report."""
        return self._exchange.holds_unit_of(run_id)

    # -- session ------------------------------------------------------------------------------------------

    async def _open_calls(self) -> LeaseCalls:
        return await LeaseCalls.open(self._conninfo)

    async def _open_session(self) -> None:
        self._exchange.session_key = await self._ask(
            sessions.register, self.name, self._executors, self._slots, self._lease_seconds,
            {"pid": os.getpid(), "host": socket.gethostname(), "version": __version__},
            self._served.names(), self._served.takes(),
        )  # fmt: skip
        self._exchange.hint()

    async def _tell_served(self, operations: Sequence[str]) -> None:
        await self._ask(sessions.set_served, self._exchange.session_key, operations, self._served.takes())
        # Jobs may wait whose handler was missing until now.
        self._exchange.hint()

    async def _renew(self, lost: int) -> None:
        """The database ended this session and its leases: cancel the handlers and open a new session."""
        async with self._renewing:
            # Several calls may find the same lost session; only the first one acts.
            if self._exchange.session_key != lost:
                return
            self._log.warning("session ended, leases lost", held=len(self._running))
            for _, context, task in list(self._running.values()):
                context.stop("lost")
                task.cancel()
            for lease in self._ahead.take_all():
                self._exchange.finish(lease, None)
            await self._open_session()

    async def _keep_alive(self) -> None:
        interval = self._lease_seconds / 3
        while True:
            try:
                await asyncio.wait_for(self._stop_now.wait(), interval)
                return
            except TimeoutError:
                pass
            try:
                await self.beat()
                await self._served.look_again()
            except StepwellError as error:
                self._log.warning("heartbeat failed", error=error.sentence())

    async def beat(self) -> None:
        """Extend the session, and stop the handlers whose leases are lost."""
        exchange, session_key = self._exchange, self._exchange.session_key
        try:
            lost = await self._ask(sessions.heartbeat, session_key, exchange.held(), exchange.known_batch_id)
        except LeaseLost:
            await self._renew(session_key)
            return
        self._note_stop(next((item.reason for item in lost if not item.unit_id), None))
        for item in lost:
            found = self._running.get(item.unit_id)
            if found is not None and found[0].lease_no == item.lease_no:
                found[1].stop(item.reason)
                found[2].cancel()
            elif (waiting := self._ahead.take_unit(item.unit_id, item.lease_no)) is not None:
                self._exchange.finish(waiting, None)

    def _note_stop(self, kind: str | None) -> None:
        """Frozen or draining: the database gives no more leases; release those that have not begun."""
        if kind is not None:
            for lease in self._ahead.take_all():
                self._release(lease)
        if kind != self._stopped:
            self._log.info("worker claims again" if kind is None else "worker claims no more", stopped=kind)
            self._stopped = kind

    # -- wake-ups -----------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Give a hint to claim after each notification and each pause; the pauses grow while idle."""
        pause = POLL_FIRST_SECONDS
        seen = 0
        async with Listener(self.app.listen_conninfo() or self._conninfo, [CHANNEL]) as listener:
            # Notifications may have been sent before the listener was ready.
            self._exchange.hint()
            while True:
                wake = await listener.wait(pause)
                worked = self._exchange.reported_count != seen or bool(wake.payloads)
                seen = self._exchange.reported_count
                pause = POLL_FIRST_SECONDS if worked else min(pause * 2, POLL_LIMIT_SECONDS)
                self._exchange.hint()

    # -- handlers -----------------------------------------------------------------------------------------

    def _start(self, lease: Lease) -> None:
        """Begin the handler of a lease, or let the lease wait for a free slot."""
        if len(self._running) + self._pools.abandoned_count < self._slots:
            self._begin(lease)
        else:
            self._ahead.add(lease, self._loop, self._release)

    def _release(self, lease: Lease) -> None:
        self._exchange.finish(lease, _report(lease, "released"))

    def _begin(self, lease: Lease) -> None:
        context = Context(lease, self, self._loop)
        task = self._loop.create_task(self._execute(lease, context))
        self._running[lease.unit_id] = (lease, context, task)

    async def _execute(self, lease: Lease, context: Context) -> None:
        report = None
        begun = monotonic()
        present_handler.enter(context)
        try:
            report = await self._executor.execute(lease, context)
            if context.has_progress:
                context.pass_progress()
                await self._progress.end(lease, report)
        except NoHandler:
            # It was there when the session said what it serves, and is there no more.
            self._log.warning("no handler for this operation here", **context.log_fields())
            report = _report(lease, "released")
        except asyncio.CancelledError:
            # Either the worker cancelled the handler to release its lease, or the handler cancelled itself.
            if self._is_releasing:
                report = _report(lease, "released")
            elif not context.cancelled:
                report = _report(lease, "failed", _fault("CancelledError", "the handler cancelled itself"))
        except LeaseLost as error:
            # The database said it before the heartbeat did. If the lease is still valid, the failure counts.
            report = _report(lease, "failed", _fault("LeaseLost", error.message))
        except Exception as error:
            self._log.error("handler outcome could not be read", unit=lease.unit_id, error=repr(error))
            report = _report(lease, "failed", _fault("WorkerFault", "the worker could not read the outcome"))
        finally:
            found = self._running.get(lease.unit_id)
            if found is not None and found[0].lease_no == lease.lease_no:
                del self._running[lease.unit_id]
            self._ahead.note_ended(monotonic() - begun)
            self._attempts.ended(lease, report)
            self._exchange.finish(lease, report)
            if self._ahead.waiting and (following := self._ahead.take()) is not None:
                self._begin(following)

    def _hear(self, answer: Failed | Refused | Ended) -> None:
        """An answer of the database to a report of this worker, other than a new lease."""
        self._attempts.answered(answer)
        if isinstance(answer, Ended) and answer.is_watched:
            self._client.tell_end(answer.tenant_id, answer.run_id, (answer.state, answer.result))

    def note_progress(self, lease: Lease, said: handler_progress.Progress) -> None:
        found = self._running.get(lease.unit_id)
        if found is not None and found[0].lease_no == lease.lease_no:
            self._progress.note(lease, said)

    # -- stopping -----------------------------------------------------------------------------------------

    async def _drain(self, helpers: list[asyncio.Task[None]]) -> None:
        """Stop claiming, let running handlers finish, release the leases of those that do not in time."""
        self._exchange.is_claiming = False
        for lease in self._ahead.take_all():
            self._release(lease)
        tasks = self._tasks()
        if tasks:
            hurry = asyncio.create_task(self._stop_now.wait())
            ended = asyncio.create_task(asyncio.wait(tasks))
            await asyncio.wait(
                {hurry, ended}, timeout=self._grace_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            hurry.cancel()
            ended.cancel()
            await self._cancel_handlers()
        self._exchange.is_stopping = True
        self._exchange.hint()
        await asyncio.wait(helpers[: self._exchange_count], timeout=self._grace_seconds)

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [task for _, _, task in self._running.values()]

    async def _cancel_handlers(self) -> None:
        self._is_releasing = True
        tasks = self._tasks()
        for task in tasks:
            task.cancel()
        if tasks:
            # A handler that ignores the cancellation does not block the stop: closing the session releases
            # its lease.
            await asyncio.wait(tasks, timeout=CANCEL_LIMIT_SECONDS)

    async def _shut(self, helpers: list[asyncio.Task[None]]) -> None:
        self._stop_now.set()
        for helper in helpers:
            helper.cancel()
        await asyncio.gather(*helpers, return_exceptions=True)
        self._client.local_workers.remove(self)
        self._exchange.close()
        await self._cancel_handlers()
        self._pools.close()
        await asyncio.to_thread(self._keeper.close)
        try:
            released = await self._ask(sessions.close, self._exchange.session_key)
            self._log.info("worker stopped", released=released)
        except StepwellError as error:
            self._log.warning("session could not be closed; it will expire", error=error.sentence())
        await self._control.close()


def _report(lease: Lease, outcome: str, body: str | None = None) -> Report:
    return Report(lease.tenant_id, lease.unit_id, lease.lease_no, outcome, body)


def _fault(kind: str, message: str) -> str:
    return json_text.encode({"error": {"type": kind, "message": message}}, "report")
