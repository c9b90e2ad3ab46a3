"""App: registers operations, publishes workflows, starts runs. What a user's module holds one of.

Declaring (`operation`, `publish`) touches no database; the first call that needs one connects, migrates the
embedded database, and declares everything there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from stepwell import config
from stepwell.client import Client, Connection, JobHandle, RunHandle, Signalled
from stepwell.config import Settings
from stepwell.content import ContentCalls
from stepwell.define import Graph, Retry, Workflow, freeze
from stepwell.define.duration import Duration, seconds_of
from stepwell.errors import UsageError
from stepwell.handlers import Handler, make_handler
from stepwell.people import PeopleCalls
from stepwell.portal import Portal
from stepwell.store import calls, migrate
from stepwell.store.embedded import EmbeddedServer

F = TypeVar("F", bound=Callable[..., Any])


class App(PeopleCalls, ContentCalls):
    """`App()` uses the embedded Postgres unless STEPWELL_DATABASE_URL, or `database_url`, names another."""

    def __init__(
        self,
        *,
        database_url: str | None = None,
        data_dir: str | None = None,
        tenant: str = "default",
        actor: str = "client",
    ) -> None:
        self._settings = config.load(database_url=database_url, data_dir=data_dir)
        self._tenant = tenant
        self._actor = actor
        self._server: EmbeddedServer | None = None
        self._client: Client | None = None
        self._declared: set[str] = set()
        self._portal: Portal | None = None
        self.handlers: dict[str, Handler] = {}
        self.graphs: dict[str, Graph] = {}

    # -- declare ------------------------------------------------------------------------------------------

    @overload
    def operation(self, function: F, /) -> F: ...
    @overload
    def operation(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        retry: Retry | None = None,
        timeout: Duration | None = None,
        executor: str = "default",
    ) -> Callable[[F], F]: ...
    def operation(
        self,
        function: F | None = None,
        /,
        *,
        name: str | None = None,
        retry: Retry | None = None,
        timeout: Duration | None = None,
        executor: str = "default",
    ) -> F | Callable[[F], F]:
        """Register a function as an operation. The name defaults to the function's."""

        def register(function: F) -> F:
            self._register(function, name or function.__name__, retry, timeout, executor)
            return function

        return register if function is None else register(function)

    def _register(
        self,
        function: Callable[..., Any],
        name: str,
        retry: Retry | None,
        timeout: Duration | None,
        executor: str,
    ) -> None:
        known = self.handlers.get(name)
        if known is not None and known.function is not function:
            raise UsageError(
                f"operation {name} is registered twice", hint="give one of them another name", field="name"
            )
        self.handlers[name] = make_handler(
            function, name=name, executor=executor, retry=retry, timeout_seconds=seconds_of(timeout)
        )

    def publish(self, workflow: Workflow | Graph) -> Graph:
        """Check a workflow now; it becomes a version in the database with the first call that connects."""
        graph = freeze(workflow) if isinstance(workflow, Workflow) else workflow
        self.graphs[graph.name] = graph
        self._declared.discard(graph.name)
        for name, function in graph.callables.items():
            self._register(function, name, None, None, "default")
        return graph

    def classes(self) -> tuple[str, ...]:
        """The executor classes its operations need."""
        return tuple(sorted({handler.executor for handler in self.handlers.values()} or {"default"}))

    # -- connect ------------------------------------------------------------------------------------------

    async def prepare(self) -> str:
        """Start or find the database, bring it to this release, declare; returns its address."""
        client = await self.client()
        await self._declare(client)
        return client.conninfo

    async def client(self) -> Client:
        if self._client is None:
            conninfo = await asyncio.to_thread(self._find_database)
            self._client = await Client.connect(
                conninfo, tenant=self._tenant, actor=self._actor, pool_max_size=self._settings.pool_max_size
            )
        return self._client

    @property
    def settings(self) -> Settings:
        return self._settings

    def use_settings(self, settings: Settings) -> None:
        """Another database than the one it was made for; before it connects, or after it was closed."""
        if self._client is not None:
            raise UsageError("the app is connected", hint="close it before giving it another database")
        self._settings = settings

    def listen_conninfo(self) -> str | None:
        return self._settings.listen_url

    def _find_database(self) -> str:
        if self._settings.database_url is not None:
            return self._settings.database_url
        self._server = EmbeddedServer(self._settings.data_dir)
        conninfo = self._server.start()
        migrate.migrate(conninfo)
        return conninfo

    async def _declare(self, client: Client) -> None:
        fresh = [name for name in self.handlers if f"operation:{name}" not in self._declared]
        if fresh:
            declarations = [self.handlers[name].declaration() for name in fresh]
            await client.perform(calls.register_operations(client.tenant_id, declarations))
            self._declared.update(f"operation:{name}" for name in fresh)
        for name, graph in self.graphs.items():
            if name not in self._declared:
                await client.publish(graph)
                self._declared.add(name)

    async def close(self) -> None:
        """Give back connections; the embedded server stops when its last user has gone."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()
        server, self._server = self._server, None
        if server is not None:
            await asyncio.to_thread(server.stop)
        self._declared.clear()

    async def __aenter__(self) -> Self:
        await self.prepare()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def sync(self) -> Any:
        """The same methods for callers without an event loop: `app.sync.start(…)` blocks and returns."""
        if self._portal is None:
            self._portal = Portal(self)
        return self._portal

    # -- act ----------------------------------------------------------------------------------------------

    async def _ready(self) -> Client:
        client = await self.client()
        await self._declare(client)
        return client

    async def _connected(self) -> Client:
        return await self._ready()

    async def start(
        self,
        workflow: str,
        input: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        trigger: tuple[str, str] | None = None,
        version: int | None = None,
        priority: int = 0,
        trace_id: str | None = None,
        correlation_id: str | None = None,
        connection: Connection | None = None,
    ) -> RunHandle:
        """Start a run. The same `key` (or trigger) again returns the run it started first.

        With `connection` the start is part of that connection's transaction: it commits with your rows.
        """
        return await (await self._ready()).start(
            workflow, input, key=key, trigger=trigger, version=version, priority=priority,
            trace_id=trace_id, correlation_id=correlation_id, connection=connection,
        )  # fmt: skip

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
        return await (await self._ready()).start_many(
            workflow, inputs, keys=keys, priority=priority, connection=connection
        )

    async def enqueue(
        self,
        operation: str,
        payload: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        priority: int = 0,
        process_after: datetime | None = None,
        concurrency_key: str | None = None,
        max_concurrency: int | None = None,
        max_attempts: int | None = None,
        connection: Connection | None = None,
    ) -> JobHandle:
        """One free-standing job."""
        found = await (await self._ready()).enqueue_many(
            operation, [payload or {}], keys=None if key is None else [key], priority=priority,
            process_after=process_after, concurrency_key=concurrency_key, max_concurrency=max_concurrency,
            max_attempts=max_attempts, connection=connection,
        )  # fmt: skip
        return found[0]

    async def enqueue_many(
        self,
        operation: str,
        payloads: Sequence[Mapping[str, Any]],
        *,
        keys: Sequence[str] | None = None,
        priority: int = 0,
        process_after: datetime | None = None,
        concurrency_key: str | None = None,
        max_concurrency: int | None = None,
        max_attempts: int | None = None,
        connection: Connection | None = None,
    ) -> list[JobHandle]:
        """Thousands of jobs in one call and one commit."""
        return await (await self._ready()).enqueue_many(
            operation, payloads, keys=keys, priority=priority, process_after=process_after,
            concurrency_key=concurrency_key, max_concurrency=max_concurrency, max_attempts=max_attempts,
            connection=connection,
        )  # fmt: skip

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
        return await (await self._ready()).signal(
            target, event_type, payload, event_id=event_id, connection=connection
        )
