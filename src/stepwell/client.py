"""A client: connected to one database, for one tenant and one actor. Performs calls and waits for run ends.

A call uses the client's pool. With `connection` it uses a connection of the caller: then it is part of the
caller's transaction and commits or rolls back with it.
"""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Self, TypeVar

from stepwell.errors import DatabaseUnavailable, NotFound
from stepwell.handles import JobHandle, RunHandle
from stepwell.jobs import JobCalls
from stepwell.local_workers import LocalWorkers
from stepwell.runs import RunCalls, RunInput, StartOptions
from stepwell.schedules import ScheduleCalls
from stepwell.store.calls import jobs, publish, runs, tenants, words
from stepwell.store.calls.runs import RUN_ENDS
from stepwell.store.connection import perform
from stepwell.store.connection.call import Call
from stepwell.store.connection.perform import Connection
from stepwell.store.connection.pool import Connections, async_pool, one_connection
from stepwell.store.connection.run_ends import RunEnd, RunEnds
from stepwell.tenants import TenantCalls
from stepwell.unit_numbers import short
from stepwell.workflows import WorkflowCalls

if TYPE_CHECKING:
    from stepwell.define import Graph
    from stepwell.store.calls.publish import Published

__all__ = ["RUN_ENDS", "Client", "Connection", "JobHandle", "RunHandle"]

T = TypeVar("T")
R = TypeVar("R")

DEFAULT_TENANT = "default"
# Who acts when a program names nobody; in development mode, the person of that mode by this channel.
SERVICES = ("client", "api")

POLL_FIRST_SECONDS = 0.002
POLL_LIMIT_SECONDS = 0.5
# Each pause between two polls is this part of the time already waited.
POLL_PART = 0.05
OVERTAKEN_LIMIT_SECONDS = 0.05
# How long the database may be away while somebody waits for a run.
AWAY_LIMIT_SECONDS = 60.0


class Client(RunCalls, JobCalls, ScheduleCalls, TenantCalls, WorkflowCalls):
    """Connected to one database for one tenant."""

    def __init__(
        self,
        conninfo: str,
        pool: Connections,
        stack: AsyncExitStack,
        actor: str,
        listen_conninfo: str | None,
        token: str | None = None,
    ) -> None:
        self.conninfo = conninfo
        self.token = token
        self.tenant_id = 0
        self.actor = actor
        self._pool = pool
        self._stack = stack
        self.run_ends = RunEnds(listen_conninfo or conninfo)
        stack.push_async_callback(self.run_ends.close)
        self.local_workers = LocalWorkers()

    @classmethod
    async def connect(
        cls,
        conninfo: str,
        *,
        tenant: str = DEFAULT_TENANT,
        actor: str = "client",
        token: str | None = None,
        pool_max_size: int = 10,
        listen_conninfo: str | None = None,
        is_command: bool = False,
    ) -> Self:
        """`listen_conninfo` is an address where LISTEN works, if `conninfo` is the address of a pooler.

        A command makes one connection and fails at once when it cannot; a program has a pool. With a token
        every call is bound to the tenant and the principal of the token, and the actor has its name.
        """
        stack = AsyncExitStack()
        opened = one_connection(conninfo) if is_command else async_pool(conninfo, max_size=pool_max_size)
        pool: Connections = await stack.enter_async_context(opened)
        client = cls(conninfo, pool, stack, actor, listen_conninfo, token)
        try:
            await client._find_caller(tenant)
        except BaseException:
            await stack.aclose()
            raise
        return client

    async def _find_caller(self, tenant: str) -> None:
        """Which tenant it is, and who acts: the principal of the token, or of the development mode."""
        code = tenant if self.token is None or tenant != DEFAULT_TENANT else None
        self.tenant_id, name = await self.perform(tenants.caller(code))
        channel, colon, _ = self.actor.partition(":")
        if name is not None and (self.token is not None or self.actor in SERVICES):
            self.actor = f"{channel}:{name}" if colon or channel in SERVICES else name

    def acting_as(self, actor: str) -> Self:
        """The same client, on the same connections, for another actor."""
        found = copy.copy(self)
        found.actor = actor
        return found

    async def close(self) -> None:
        await self._stack.aclose()

    async def perform(
        self, call: Call[T], connection: Connection | None = None, *, bounded: bool = False
    ) -> T:
        """Perform one call, on the pool or on the caller's connection."""
        if connection is None:
            return await perform.on_pool(self._pool, call, bounded=bounded, token=self.token)
        return await perform.on_connection(connection, call, token=self.token)

    async def publish(self, graph: Graph) -> Published:
        return await self.perform(publish.publish_workflow(self.tenant_id, graph.canonical, self.actor))

    async def _connected(self) -> Client:
        return self

    async def run_id_of(self, target: RunHandle[Any] | JobHandle[Any] | int | tuple[str, str]) -> int:
        """The number of a run or of a free-standing job."""
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
                    raise await self._no_run(workflow, key)
                return found

    async def _no_run(self, workflow: str, key: str) -> NotFound:
        """No run has this key: perhaps the workflow is misspelt, perhaps the key."""
        await self.workflow(workflow)
        hint = await self.perform(words.suggestion(self.tenant_id, "key", key, workflow))
        return NotFound(f"no run of {workflow} was started with key {key}", hint=hint, field="target")

    async def run_outcome(self, run_id: int) -> tuple[str, Any]:
        found = await self.perform(runs.run_outcome(self.tenant_id, run_id))
        if found is None:
            raise NotFound(f"run {run_id} does not exist")
        return found

    async def watch_runs(self, run_ids: Sequence[int]) -> dict[int, tuple[str, Any]]:
        """State and result of runs. From now on the database notifies when one of them ends."""
        found = await _outlast(lambda: self.perform(runs.watch_runs(self.tenant_id, run_ids)))
        for run_id in run_ids:
            if run_id not in found:
                raise NotFound(f"run {run_id} does not exist")
        return found

    async def job_outcome(self, job_id: int) -> tuple[str, Any]:
        found = await self.perform(jobs.job_outcome(self.tenant_id, job_id))
        if found is None:
            raise NotFound(f"job {short(job_id)} does not exist")
        return found

    async def start_one(
        self,
        workflow: str,
        input: RunInput | None,
        more: StartOptions,
        result_type: type[R] | None = None,
        connection: Connection | None = None,
        *,
        is_watched: bool = False,
    ) -> RunHandle[R]:
        trigger_type, trigger_ref = more.get("trigger") or (None, more.get("key"))
        start = runs.run_start(
            self.tenant_id, workflow, [input or {}], actor=self.actor,
            trigger_refs=None if trigger_ref is None else [trigger_ref], trigger_type=trigger_type,
            version_no=more.get("version"), priority=more.get("priority", 0), trace_id=more.get("trace_id"),
            correlation_id=more.get("correlation_id"), is_watched=is_watched,
            workspace=more.get("workspace"),
        )  # fmt: skip
        labels = more.get("labels")
        # A worker starts runs on its own connection, where nobody is bound, names nobody and sets no labels.
        is_local = (
            connection is None
            and self.token is None
            and self.actor.partition(":")[0] in SERVICES
            and not labels
        )
        started = await self.local_workers.start(start) if is_local else None
        started = started or (await self.perform(runs.start_runs(start, labels), connection))[0]
        return RunHandle(self, started.run_id, started.is_new, is_watched and started.is_new, result_type)

    async def hear_ends(self) -> None:
        """Begin to listen for the ends of watched runs."""
        await self.run_ends.begin()

    def tell_end(self, tenant_id: int, run_id: int, outcome: tuple[str, Any]) -> None:
        """A worker of this process ended the run and gives its outcome."""
        if tenant_id == self.tenant_id:
            self.run_ends.tell(run_id, outcome)

    async def run_end(
        self, run_id: int, limit_seconds: float | None, *, is_watched: bool = False
    ) -> tuple[str, Any]:
        """Wait for the end of a run: by notification, and by polling in case a notification is lost.

        With `is_watched` the run was started as a watched run, so the first poll can wait for the
        notification.
        """
        began = time.monotonic()
        async with asyncio.timeout(limit_seconds):
            await self.hear_ends()
            with self.run_ends.expecting(run_id) as end:
                if is_watched and self.run_ends.is_heard:
                    found = await self._after(end, POLL_LIMIT_SECONDS, run_id)
                else:
                    found = (await self.watch_runs([run_id]))[run_id]
                while found[0] not in RUN_ENDS:
                    pause = POLL_LIMIT_SECONDS if self.run_ends.is_heard else _pause(began)
                    found = await self._after(end, pause, run_id)
        return found

    async def _after(self, end: RunEnd, pause_seconds: float, run_id: int) -> tuple[str, Any]:
        """State and result of the run, read after a notification or after the pause."""
        was_told = await end.wait(pause_seconds)
        if was_told and self.local_workers.holds_step_of(run_id):
            # The notification came before the answer to the report that ended the run. That answer has
            # the outcome, so wait for it a moment instead of reading the run.
            await end.wait(OVERTAKEN_LIMIT_SECONDS)
        told = end.outcome(run_id)
        return await _outlast(lambda: self.run_outcome(run_id)) if told is None else told

    async def until(self, ask: Any, ends: tuple[str, ...], limit_seconds: float | None) -> tuple[str, Any]:
        """Poll until the state is one of `ends`; the pauses grow."""
        began = time.monotonic()
        async with asyncio.timeout(limit_seconds):
            while True:
                state, result = await _outlast(ask)
                if state in ends:
                    return state, result
                await asyncio.sleep(_pause(began))


async def _outlast(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask for one who waits: a server that is away for a moment, as in a restart, ends no wait."""
    deadline = time.monotonic() + AWAY_LIMIT_SECONDS
    while True:
        try:
            return await ask()
        except DatabaseUnavailable:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(POLL_LIMIT_SECONDS)


def _pause(began: float) -> float:
    waited = time.monotonic() - began
    return min(max(waited * POLL_PART, POLL_FIRST_SECONDS), POLL_LIMIT_SECONDS)
