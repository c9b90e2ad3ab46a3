"""A worker process: opens a session, keeps it alive, lets handlers run, stops in good order."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

import psycopg
import structlog
from psycopg.rows import TupleRow

from stepwell.app import App
from stepwell.errors import LeaseLost, UsageError, from_database
from stepwell.store import leases
from stepwell.store.leases import Connection, Lease
from stepwell.store.listen import Listener
from stepwell.store.pool import named
from stepwell.worker.context import Context
from stepwell.worker.exchange import Exchange
from stepwell.worker.execute import Executor

DEFAULT_SLOTS = 100
DEFAULT_LEASE_SECONDS = 30
DEFAULT_EXCHANGES = 2
POLL_FIRST_SECONDS = 0.25
POLL_LIMIT_SECONDS = 5.0
GRACE_SECONDS = 20.0
CHANNEL = "stepwell_ready"


class Worker:
    """Runs the operations of an app: `async with Worker(app):` in the background, `run()` until stopped."""

    def __init__(
        self,
        app: App,
        *,
        slots: int = DEFAULT_SLOTS,
        classes: Iterable[str] | None = None,
        lease_seconds: int = DEFAULT_LEASE_SECONDS,
        name: str | None = None,
        exchanges: int = DEFAULT_EXCHANGES,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        if not 1 <= slots <= 10_000:
            raise UsageError(f"slots is {slots}", hint="accepted is 1 to 10000", field="slots")
        self.app = app
        self.name = name or f"{socket.gethostname()}:{os.getpid()}"
        self._slots = slots
        self._classes = tuple(classes) if classes is not None else app.classes()
        self._lease_seconds = lease_seconds
        self._exchange_count = max(1, exchanges)
        self._grace_seconds = grace_seconds
        self._running: dict[int, tuple[Lease, Context, asyncio.Task[None]]] = {}
        self._log = structlog.get_logger("stepwell.worker").bind(worker=self.name)
        self._stop_asked = asyncio.Event()
        self._stop_now = asyncio.Event()
        self._renewing = asyncio.Lock()
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
        """First call: finish what runs. Second call: stop now and give everything back."""
        if self._stop_asked.is_set():
            self._stop_now.set()
        self._stop_asked.set()

    async def stop(self) -> None:
        self._stop_asked.set()
        if self._task is not None:
            await self._task
            self._task = None

    async def run(self, started: asyncio.Event | None = None) -> None:
        """Work until `ask_stop`; returns when everything is reported or given back."""
        self._conninfo = await self.app.prepare()
        self._loop = asyncio.get_running_loop()
        self._executor = Executor(self.app.handlers, self._slots)
        self._exchange = Exchange(self._connect, self._slots, self._start, self._renew)
        self._control = await self._connect()
        await self._open_session()
        helpers = [asyncio.create_task(self._exchange.run()) for _ in range(self._exchange_count)]
        helpers.append(asyncio.create_task(self._keep_alive()))
        helpers.append(asyncio.create_task(self._watch()))
        self._log.info("worker started", slots=self._slots, classes=self._classes)
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

    # -- session ------------------------------------------------------------------------------------------

    async def _connect(self) -> Connection:
        return await psycopg.AsyncConnection[TupleRow].connect(
            named(self._conninfo, "stepwell worker"), autocommit=True, prepare_threshold=0
        )

    async def _open_session(self) -> None:
        self._exchange.session_id = await leases.register(
            self._control, self.name, self._classes, self._slots, self._lease_seconds,
            {"pid": os.getpid(), "host": socket.gethostname()},
        )  # fmt: skip

    async def _renew(self) -> None:
        """The session ended behind our back: everything in hand is lost, a new session starts clean."""
        lost = self._exchange.session_id
        async with self._renewing:
            if self._exchange.session_id != lost:
                return
            self._log.warning("session ended, leases lost", session=lost, held=len(self._running))
            for _, context, task in list(self._running.values()):
                context.stop("lost")
                task.cancel()
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
            except psycopg.Error as error:
                self._log.warning("heartbeat failed", error=str(error))
                if self._control.closed:
                    try:
                        self._control = await self._connect()
                    except psycopg.Error:
                        continue

    async def beat(self) -> None:
        held = [(lease.tenant_id, lease.unit_id, lease.lease_no) for lease, _, _ in self._running.values()]
        try:
            lost = await leases.heartbeat(
                self._control, self._exchange.session_id, held, self._exchange.last_batch_id
            )
        except psycopg.Error as error:
            if isinstance(from_database(error), LeaseLost):
                await self._renew()
                return
            raise
        for item in lost:
            found = self._running.get(item.unit_id)
            if found is not None and found[0].lease_no == item.lease_no:
                found[1].stop(item.reason)
                found[2].cancel()

    # -- wake-ups -----------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Turn notifications and the passing of time into hints to claim; polling backs off while idle."""
        pause = POLL_FIRST_SECONDS
        seen = 0
        async with Listener(self.app.listen_conninfo() or self._conninfo, [CHANNEL]) as listener:
            while True:
                wake = await listener.wait(pause)
                worked = self._exchange.reported_count != seen or bool(wake.payloads)
                seen = self._exchange.reported_count
                pause = POLL_FIRST_SECONDS if worked else min(pause * 2, POLL_LIMIT_SECONDS)
                self._exchange.hint()

    # -- handlers -----------------------------------------------------------------------------------------

    def _start(self, lease: Lease) -> None:
        context = Context(lease, self, self._loop)
        task = self._loop.create_task(self._execute(lease, context))
        self._running[lease.unit_id] = (lease, context, task)

    async def _execute(self, lease: Lease, context: Context) -> None:
        report = None
        try:
            report = await self._executor.execute(lease, context)
        except asyncio.CancelledError:
            if not context.cancelled:
                report = leases.Report(lease.tenant_id, lease.unit_id, lease.lease_no, "released", None)
        except Exception as error:
            self._log.error("handler could not be judged", unit=lease.unit_id, error=repr(error))
            report = leases.Report(
                lease.tenant_id, lease.unit_id, lease.lease_no, "failed",
                '{"error": {"type": "WorkerFault", "message": "the worker could not judge the handler"}}',
            )  # fmt: skip
        finally:
            found = self._running.get(lease.unit_id)
            if found is not None and found[0].lease_no == lease.lease_no:
                del self._running[lease.unit_id]
            self._exchange.finish(report)

    async def save_checkpoint(self, lease: Lease, name: str, value: str) -> Any:
        try:
            return await leases.save_checkpoint(self._control, self._exchange.session_id, lease, name, value)
        except psycopg.Error as error:
            raise from_database(error) from error

    async def emit(self, lease: Lease, event_type: str, payload: str) -> None:
        try:
            await leases.emit(self._control, self._exchange.session_id, lease, event_type, payload)
        except psycopg.Error as error:
            raise from_database(error) from error

    # -- stopping -----------------------------------------------------------------------------------------

    async def _drain(self, helpers: list[asyncio.Task[None]]) -> None:
        """Claim nothing more, let what runs finish, give back what does not in time."""
        self._exchange.is_claiming = False
        tasks = [task for _, _, task in self._running.values()]
        if tasks:
            hurry = asyncio.create_task(self._stop_now.wait())
            ended = asyncio.create_task(_all_ended(tasks))
            await asyncio.wait(
                {hurry, ended}, timeout=self._grace_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            hurry.cancel()
            for _, _, task in list(self._running.values()):
                task.cancel()
            await _all_ended(tasks)
        self._exchange.is_stopping = True
        self._exchange.hint()
        await asyncio.wait(helpers[: self._exchange_count], timeout=self._grace_seconds)

    async def _shut(self, helpers: list[asyncio.Task[None]]) -> None:
        self._stop_now.set()
        for helper in helpers:
            helper.cancel()
        await asyncio.gather(*helpers, return_exceptions=True)
        self._executor.close()
        try:
            given_back = await leases.close(self._control, self._exchange.session_id)
            await self._control.close()
            self._log.info("worker stopped", given_back=given_back)
        except psycopg.Error as error:
            self._log.warning("session left to expire", error=str(error))


async def _all_ended(tasks: list[asyncio.Task[None]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
