"""Act on runs and jobs: receives plain arguments, hands on handles. One implementation, async.

A call goes through the client's pool, or, with `connection`, through a connection of the caller's: then it is
part of the caller's transaction and commits or rolls back with it.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Self, TypedDict, TypeVar, Unpack

from stepwell.define import Graph
from stepwell.errors import Conflict, NotFound
from stepwell.local_workers import LocalWorkers
from stepwell.store.calls import jobs, publish, runs, tenants
from stepwell.store.calls.publish import Published
from stepwell.store.calls.runs import Signalled
from stepwell.store.connection import perform
from stepwell.store.connection.call import Call
from stepwell.store.connection.perform import Connection
from stepwell.store.connection.pool import AsyncPool, async_pool
from stepwell.store.connection.run_ends import RunEnd, RunEnds

__all__ = [
    "Client",
    "Connection",
    "JobHandle",
    "JobOptions",
    "RunCalls",
    "RunHandle",
    "Signalled",
    "StartOptions",
]

T = TypeVar("T")
Outcome = Callable[[int, int], Call[tuple[str, Any] | None]]

POLL_FIRST_SECONDS = 0.002
POLL_LIMIT_SECONDS = 0.5
# Each pause is this part of the time already waited: an end is seen at most that much late.
POLL_PART = 0.05
OVERTAKEN_LIMIT_SECONDS = 0.05
RUN_ENDS = ("completed", "failed", "cancelled")
JOB_ENDS = ("completed", "cannot_complete", "cancelled")


@dataclass(frozen=True, slots=True)
class RunHandle:
    """A run, by number. `is_new` is false when the key had started it before."""

    is_handle: ClassVar[bool] = True
    client: Client
    id: int
    is_new: bool = True
    is_watched: bool = False

    async def state(self) -> str:
        return (await self.client.run_outcome(self.id))[0]

    async def result(self, limit_seconds: float | None = 60.0) -> Any:
        """Wait for the end and return the result; raises Conflict when the run failed or was cancelled."""
        state, result = await self.client.run_end(self.id, limit_seconds, is_watched=self.is_watched)
        if state != "completed":
            raise Conflict(f"run {self.id} {state}")
        return result

    async def cancel(self, reason: str | None = None, approval_id: int | None = None) -> str:
        """Call the run off; with its granted approval where the installation asks for one."""
        client = self.client
        return await client.perform(
            runs.cancel_run(client.tenant_id, self.id, client.actor, reason, approval_id)
        )

    async def pause(self) -> str:
        return await self.client.perform(runs.pause_run(self.client.tenant_id, self.id, self.client.actor))

    async def resume(self) -> str:
        return await self.client.perform(runs.resume_run(self.client.tenant_id, self.id, self.client.actor))

    async def retry(self, reason: str | None = None) -> Any:
        client = self.client
        return await client.perform(runs.retry_run(client.tenant_id, self.id, client.actor, reason))


@dataclass(frozen=True, slots=True)
class JobHandle:
    """A free-standing job. `is_new` is false when its key had been enqueued before."""

    is_handle: ClassVar[bool] = True
    client: Client
    id: int
    is_new: bool = True

    async def state(self) -> str:
        return (await self.client.job_outcome(self.id))[0]

    async def result(self, limit_seconds: float | None = 60.0) -> Any:
        state, result = await self.client.until(
            lambda: self.client.job_outcome(self.id), JOB_ENDS, limit_seconds
        )
        if state != "completed":
            raise Conflict(f"job {self.id} {state}")
        return result

    async def cancel(self, reason: str | None = None) -> str:
        client = self.client
        return await client.perform(jobs.cancel_job(client.tenant_id, self.id, client.actor, reason))


class JobOptions(TypedDict, total=False):
    """How jobs are carried out; what is left out is as the operation says."""

    priority: int
    process_after: datetime | None
    concurrency_key: str | None
    max_concurrency: int | None
    # Of the key at most so many enter within any such time: "100/1m".
    rate_limit: str | None
    max_attempts: int | None


class StartOptions(TypedDict, total=False):
    """How a run is started; what is left out is as the workflow says."""

    key: str | None
    trigger: tuple[str, str] | None
    version: int | None
    priority: int
    trace_id: str | None
    correlation_id: str | None


class RunCalls(ABC):
    """Everything that starts, feeds and tells a run or a job, for whatever can hand on a client."""

    @abstractmethod
    async def _connected(self) -> Client:
        """The client that carries out the calls."""

    async def start(
        self,
        workflow: str,
        input: Mapping[str, Any] | None = None,
        *,
        connection: Connection | None = None,
        **more: Unpack[StartOptions],
    ) -> RunHandle:
        """Start a run. The same `key` (or trigger) again returns the run it started first.

        With `connection` the start is part of that connection's transaction: it commits with your rows.
        """
        client = await self._connected()
        return await client.start_one(workflow, input, more, connection)

    async def run(
        self,
        workflow: str,
        input: Mapping[str, Any] | None = None,
        *,
        limit_seconds: float | None = 60.0,
        **more: Unpack[StartOptions],
    ) -> Any:
        """Start a run and wait for its result, as `start` and `result` would, with one call less."""
        client = await self._connected()
        await client.hear_ends()
        handle = await client.start_one(workflow, input, more, is_watched=True)
        return await handle.result(limit_seconds)

    async def start_many(
        self,
        workflow: str,
        inputs: Sequence[Mapping[str, Any]],
        *,
        keys: Sequence[str] | None = None,
        priority: int = 0,
        connection: Connection | None = None,
    ) -> list[RunHandle]:
        """Thousands of runs in one call and one commit."""
        client = await self._connected()
        start = runs.run_start(
            client.tenant_id, workflow, inputs, trigger_refs=keys, priority=priority, actor=client.actor
        )
        started = await client.perform(runs.start_runs(start), connection)
        return [RunHandle(client, run.run_id, run.is_new) for run in started]

    async def enqueue(
        self,
        operation: str,
        payload: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        connection: Connection | None = None,
        **more: Unpack[JobOptions],
    ) -> JobHandle:
        """One free-standing job."""
        keys = None if key is None else [key]
        found = await self.enqueue_many(operation, [payload or {}], keys=keys, connection=connection, **more)
        return found[0]

    async def enqueue_many(
        self,
        operation: str,
        payloads: Sequence[Mapping[str, Any]],
        *,
        keys: Sequence[str] | None = None,
        connection: Connection | None = None,
        **more: Unpack[JobOptions],
    ) -> list[JobHandle]:
        """Thousands of jobs in one call and one commit."""
        client = await self._connected()
        call = jobs.enqueue_jobs(client.tenant_id, operation, payloads, keys=keys, actor=client.actor, **more)
        return [JobHandle(client, job.job_id, job.is_new) for job in await client.perform(call, connection)]

    async def signal(
        self,
        target: RunHandle | JobHandle | int | tuple[str, str],
        event_type: str,
        payload: Mapping[str, Any] | None = None,
        *,
        event_id: str | None = None,
        connection: Connection | None = None,
    ) -> Signalled:
        """Deliver an event to a run: by handle, by number, or by (workflow, key). Once per `event_id`."""
        client = await self._connected()
        run_id = await client.run_id_of(target)
        call = runs.signal(
            client.tenant_id, run_id, event_type, payload or {}, event_id or uuid.uuid4().hex, client.actor
        )
        return await client.perform(call, connection)


class Client(RunCalls):
    """Connected to one database as one tenant."""

    def __init__(
        self, conninfo: str, pool: AsyncPool, stack: AsyncExitStack, actor: str, listen_conninfo: str | None
    ) -> None:
        self.conninfo = conninfo
        self.tenant_id = 0
        self.actor = actor
        self._pool = pool
        self._stack = stack
        self._ends = RunEnds(listen_conninfo or conninfo)
        stack.push_async_callback(self._ends.close)
        self.local_workers = LocalWorkers()

    @classmethod
    async def connect(
        cls,
        conninfo: str,
        *,
        tenant: str = "default",
        actor: str = "client",
        pool_max_size: int = 10,
        listen_conninfo: str | None = None,
    ) -> Self:
        """`listen_conninfo` is an address where LISTEN works, if `conninfo` leads through a pooler."""
        stack = AsyncExitStack()
        pool = await stack.enter_async_context(async_pool(conninfo, max_size=pool_max_size))
        client = cls(conninfo, pool, stack, actor, listen_conninfo)
        try:
            tenant_id = await client.perform(tenants.tenant_id(tenant))
            if tenant_id is None:
                raise NotFound(f"tenant {tenant} does not exist", field="tenant")
        except BaseException:
            await stack.aclose()
            raise
        client.tenant_id = tenant_id
        return client

    async def close(self) -> None:
        await self._stack.aclose()

    async def perform(
        self, call: Call[T], connection: Connection | None = None, *, bounded: bool = False
    ) -> T:
        """Carry out one call, on the pool or on the caller's connection."""
        if connection is None:
            return await perform.on_pool(self._pool, call, bounded=bounded)
        return await perform.on_connection(connection, call)

    async def publish(self, graph: Graph) -> Published:
        return await self.perform(
            publish.publish_workflow(self.tenant_id, graph.canonical, graph.hash, self.actor)
        )

    async def _connected(self) -> Client:
        return self

    async def run_id_of(self, target: RunHandle | JobHandle | int | tuple[str, str]) -> int:
        match target:
            case RunHandle(id=run_id):
                return run_id
            case JobHandle(id=job_id):
                return job_id >> 20
            case int():
                return target
            case (workflow, key):
                found = await self.perform(runs.find_run(self.tenant_id, workflow, key))
                if found is None:
                    raise NotFound(f"no run of {workflow} was started with key {key}", field="target")
                return found

    async def run_outcome(self, run_id: int) -> tuple[str, Any]:
        return await self._outcome(runs.run_outcome, run_id)

    async def _outcome(self, question: Outcome, run_id: int) -> tuple[str, Any]:
        found = await self.perform(question(self.tenant_id, run_id))
        if found is None:
            raise NotFound(f"run {run_id} does not exist")
        return found

    async def job_outcome(self, job_id: int) -> tuple[str, Any]:
        found = await self.perform(jobs.job_outcome(self.tenant_id, job_id))
        if found is None:
            raise NotFound(f"job {job_id} does not exist")
        return found

    async def start_one(
        self,
        workflow: str,
        input: Mapping[str, Any] | None,
        more: StartOptions,
        connection: Connection | None = None,
        *,
        is_watched: bool = False,
    ) -> RunHandle:
        trigger_type, trigger_ref = more.get("trigger") or (None, more.get("key"))
        start = runs.run_start(
            self.tenant_id, workflow, [input or {}], actor=self.actor,
            trigger_refs=None if trigger_ref is None else [trigger_ref], trigger_type=trigger_type,
            version_no=more.get("version"), priority=more.get("priority", 0), trace_id=more.get("trace_id"),
            correlation_id=more.get("correlation_id"), is_watched=is_watched,
        )  # fmt: skip
        started = await self.local_workers.start(start) if connection is None else None
        started = started or (await self.perform(runs.start_runs(start), connection))[0]
        return RunHandle(self, started.run_id, started.is_new, is_watched and started.is_new)

    async def hear_ends(self) -> None:
        """From now on the ends of watched runs are heard."""
        await self._ends.begin()

    def tell_end(self, tenant_id: int, run_id: int, outcome: tuple[str, Any]) -> None:
        """Heard from a worker of this process, which ended the run."""
        if tenant_id == self.tenant_id:
            self._ends.tell(run_id, outcome)

    async def run_end(
        self, run_id: int, limit_seconds: float | None, *, is_watched: bool = False
    ) -> tuple[str, Any]:
        """Wait for the end of a run: told by the database, and asked for in case the word gets lost.

        `is_watched` says that the run was started so: then the first question can wait for the notification.
        """
        began = time.monotonic()
        async with asyncio.timeout(limit_seconds):
            await self.hear_ends()
            with self._ends.expecting(run_id) as end:
                if is_watched and self._ends.is_heard:
                    found = await self._after(end, POLL_LIMIT_SECONDS, run_id)
                else:
                    found = await self._outcome(runs.watch_run, run_id)
                while found[0] not in RUN_ENDS:
                    pause = POLL_LIMIT_SECONDS if self._ends.is_heard else _pause(began)
                    found = await self._after(end, pause, run_id)
        return found

    async def _after(self, end: RunEnd, pause_seconds: float, run_id: int) -> tuple[str, Any]:
        """How the run stands when the word has come, or the pause is over."""
        was_told = await end.wait(pause_seconds)
        if was_told and self.local_workers.holds_step_of(run_id):
            # The notification overtook the answer to the report that ended the run, which says how.
            await end.wait(OVERTAKEN_LIMIT_SECONDS)
        return end.outcome or await self.run_outcome(run_id)

    async def until(self, ask: Any, ends: tuple[str, ...], limit_seconds: float | None) -> tuple[str, Any]:
        """Ask until the state is an end; polling backs off."""
        began = time.monotonic()
        async with asyncio.timeout(limit_seconds):
            while True:
                state, result = await ask()
                if state in ends:
                    return state, result
                await asyncio.sleep(_pause(began))


def _pause(began: float) -> float:
    waited = time.monotonic() - began
    return min(max(waited * POLL_PART, POLL_FIRST_SECONDS), POLL_LIMIT_SECONDS)
