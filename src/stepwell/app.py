"""App: registers operations, publishes workflows, starts runs. A user's module has one App.

`operation` and `publish` use no database. The first call that needs one connects, migrates the embedded
database, and stores the operations and workflows there.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from stepwell import config, logs
from stepwell.client import Client
from stepwell.config import Settings
from stepwell.connectors.base import Connector
from stepwell.content import ContentCalls
from stepwell.define import Graph, Retry, Workflow, freeze
from stepwell.define.duration import Duration, seconds_of
from stepwell.define.json_schema import require_schema
from stepwell.define.names import require_id
from stepwell.define.problem import code_place
from stepwell.errors import InvalidInput, LimitExceeded, UsageError
from stepwell.govern.calls import GovernCalls
from stepwell.govern.workers import WorkerGovernCalls
from stepwell.graphs import GraphCalls
from stepwell.handlers import Handler, make_handler
from stepwell.jobs import JobCalls
from stepwell.people import PeopleCalls
from stepwell.runs import RunCalls
from stepwell.schedules import ScheduleCalls
from stepwell.store.calls import publish
from stepwell.store.connection import perform
from stepwell.store.connection.call import Call
from stepwell.store.connection.pool import one_connection
from stepwell.store.connection.target import Place, Process
from stepwell.store.embedded.server import EmbeddedServer
from stepwell.store.schema import migrate
from stepwell.sync import SyncApp
from stepwell.tenants import TenantCalls
from stepwell.workflows import WorkflowCalls

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=Connector)
T = TypeVar("T")
REVERSE = "stepwell.reverse"


class AppCalls(
    RunCalls,
    JobCalls,
    GraphCalls,
    PeopleCalls,
    ContentCalls,
    GovernCalls,
    ScheduleCalls,
    TenantCalls,
    WorkerGovernCalls,
    WorkflowCalls,
):
    """All calls of an app."""


class App(AppCalls):
    """`App()` uses the embedded Postgres unless STEPWELL_DATABASE_URL or `database_url` is given.

    `token` (or STEPWELL_TOKEN) binds each call to its principal; the role `stepwell_api` needs one.
    """

    def __init__(
        self,
        *,
        database_url: str | None = None,
        data_dir: str | None = None,
        tenant: str = "default",
        actor: str = "client",
        name: str = "stepwell",
        token: str | None = None,
    ) -> None:
        # The first part of the names of its workers.
        self.name = require_id(name, "name")
        loaded = config.load(database_url=database_url, data_dir=data_dir)
        self._settings = loaded if token is None else replace(loaded, token=token)
        self._tenant = tenant
        self._actor = actor
        self._server: EmbeddedServer | None = None
        self._client: Client | None = None
        self._connecting: asyncio.Lock | None = None
        # The event loop of the connections; `sync` calls of other threads run on it.
        self.loop: asyncio.AbstractEventLoop | None = None
        self._declared: set[str] = set()
        self._sync: SyncApp | None = None
        self.handlers: dict[str, Handler] = {}
        self.connectors: dict[str, Connector] = {}
        self.graphs: dict[str, Graph] = {}
        # Event type → description and JSON Schema.
        self.event_types: dict[str, tuple[str, Mapping[str, Any] | None]] = {}
        # The line that declares each workflow, for an error of the database.
        self._places: dict[str, str] = {}

    # -- declare ------------------------------------------------------------------------------------------

    @overload
    def operation(
        self,
        function: F,
        /,
        *,
        name: str | None = None,
        retry: Retry | None = None,
        timeout: Duration | None = None,
        executor: str = "default",
    ) -> F: ...
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
        """Register a function as an operation. The default name is the name of the function."""

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

    def event_type(
        self, name: str, *, description: str = "", schema: type[Any] | Mapping[str, Any] | None = None
    ) -> str:
        """Register an event type that handlers may emit. `schema`: a model, a TypedDict or a JSON Schema."""
        require_id(name, "event_type")
        self.event_types[name] = (description, None if schema is None else require_schema(schema, "schema"))
        return name

    def connector(self, connector: C) -> C:
        """Register a connector to another system; `ctx.act` finds it by its name."""
        known = self.connectors.get(connector.name)
        if known is not None and known is not connector:
            raise UsageError(
                f"connector {connector.name} is registered twice", hint="give one another name", field="name"
            )
        if not connector.name or not connector.operations:
            raise UsageError("a connector requires a name and at least one operation", field="connector")
        if not callable(getattr(connector, "canonical", None)):
            raise UsageError(
                f"connector {connector.name} has no method canonical(operation, target)",
                hint="return plain_target(target) of stepwell.connectors.address if a target has one form",
                field="connector",
            )
        self.connectors[connector.name] = connector
        # An app that can act can also undo: register the operation behind `stepwell reverse`.
        self._register(_reverse, REVERSE, None, None, "default")
        return connector

    def publish(self, workflow: Workflow | Graph) -> Graph:
        """Check a workflow now; the first call that connects publishes it in the database."""
        graph = freeze(workflow) if isinstance(workflow, Workflow) else workflow
        caller = sys._getframe(1)
        self._places[graph.name] = code_place(caller.f_code.co_filename, caller.f_lineno)
        self.graphs[graph.name] = graph
        self._declared.discard(graph.name)
        for name, function in graph.callables.items():
            self._register(function, name, None, None, "default")
        return graph

    def executors(self) -> tuple[str, ...]:
        """The executors that its operations need."""
        return tuple(sorted({handler.executor for handler in self.handlers.values()} or {"default"}))

    # -- connect ------------------------------------------------------------------------------------------

    async def prepare(self) -> str:
        """Start or find the database, migrate it, publish operations and workflows; return its address."""
        return (await self._connected()).conninfo

    async def client(self) -> Client:
        if self._client is not None:
            return self._client
        if self._connecting is None:
            self._connecting = asyncio.Lock()
        async with self._connecting:
            if self._client is None:
                if self._settings.is_embedded:
                    await self.migrate()
                self._client = await Client.connect(
                    await self.address(Process.API),
                    tenant=self._tenant,
                    actor=self._actor,
                    token=self._settings.token,
                    pool_max_size=self._settings.pool_max_size,
                    listen_conninfo=self.listen_conninfo(),
                )
                self.loop = asyncio.get_running_loop()
            return self._client

    async def migrate(self) -> migrate.Report:
        """Migrate the database to the schema of this release; return what was applied."""
        return await asyncio.to_thread(migrate.migrate, await self.address(Process.OWNER))

    @property
    def settings(self) -> Settings:
        return self._settings

    def use_settings(self, settings: Settings) -> None:
        """Use another database. Allowed before the app connects or after it was closed."""
        if self._client is not None:
            raise UsageError("the app is connected", hint="close it before you give it another database")
        self._settings = settings

    def listen_conninfo(self) -> str | None:
        return self._settings.listen_url

    async def address(self, process: Process) -> str:
        """The address for a process; the embedded server is started if needed."""
        if self._settings.is_embedded and self._server is None:
            server = EmbeddedServer(self._settings.data_dir)
            await asyncio.to_thread(server.start)
            self._server = server
        return Place(self._settings, self._server).address(process)

    async def _declare(self, client: Client) -> None:
        fresh = [name for name in self.handlers if f"operation:{name}" not in self._declared]
        if fresh:
            declarations = [self.handlers[name].declaration() for name in fresh]
            await client.perform(publish.register_operations(client.tenant_id, declarations))
            self._declared.update(f"operation:{name}" for name in fresh)
        for name, (description, schema) in self.event_types.items():
            if f"event:{name}" not in self._declared:
                await client.event_type_register(name, description=description, schema=schema)
                self._declared.add(f"event:{name}")
        for name, graph in self.graphs.items():
            if name not in self._declared:
                try:
                    await client.publish(graph)
                except (InvalidInput, LimitExceeded) as error:
                    error.message = f"{self._places[name]}: {error.message}"
                    raise
                self._declared.add(name)
                await self._warn_of_unregistered(client, graph)
                self._warn_of_caught(graph)

    async def _warn_of_unregistered(self, client: Client, graph: Graph) -> None:
        """A step whose operation nobody has registered waits: its developer reads it before a run does."""
        foreign = graph.operations() - self.handlers.keys()
        if not foreign or not await client.perform(publish.may_read_operations()):
            return
        known = await client.perform(publish.known_operations(client.tenant_id))
        for operation in sorted(foreign - known):
            logs.get_logger("stepwell.app").warning(
                "no app has registered the operation; its step waits",
                workflow=graph.name,
                operation=operation,
            )

    def _warn_of_caught(self, graph: Graph) -> None:
        """A branch that only a failure opens may be meant for a no of a person: its developer is told."""
        if graph.branches:
            from stepwell.reactive.caught_branches import caught_branches

            for branch in caught_branches(graph):
                logs.get_logger("stepwell.app").warning(str(branch), workflow=graph.name)

    async def close(self) -> None:
        """Close the connections and the embedded server, which stops when no other process uses it."""
        await self.disconnect()
        if self._server is not None:
            await asyncio.to_thread(self.stop_server)

    async def disconnect(self) -> None:
        """The first half of `close`, on the event loop: close the connections."""
        client, self._client = self._client, None
        self._connecting, self.loop = None, None
        self._declared.clear()
        if client is not None:
            await client.close()

    def stop_server(self) -> None:
        """The second half of `close`, which blocks: stop the embedded server."""
        server, self._server = self._server, None
        if server is not None:
            server.stop()

    async def __aenter__(self) -> Self:
        await self.prepare()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def sync(self) -> SyncApp:
        """The same calls for programs without an event loop: `app.sync.start(…)` blocks and returns."""
        if self._sync is None:
            self._sync = SyncApp(self)
        return self._sync

    def acting_as(self, actor: str) -> AppCalls:
        """The same calls for another actor: `app.acting_as("ada").start(…)`."""
        return ActingAs(self, actor)

    async def _connected(self) -> Client:
        client = await self.client()
        await self._declare(client)
        return client

    async def _perform_as_owner(self, call: Call[T]) -> T:
        if not self._settings.is_embedded:
            return await super()._perform_as_owner(call)
        await self._connected()
        async with one_connection(await self.address(Process.OWNER)) as own:
            return await perform.on_pool(own, call)


class ActingAs(AppCalls):
    """The calls of an app for another actor, on the same connections."""

    def __init__(self, app: App, actor: str) -> None:
        self._app = app
        self._actor = actor

    async def _connected(self) -> Client:
        return (await self._app._connected()).acting_as(self._actor)

    async def _perform_as_owner(self, call: Call[T]) -> T:
        return await self._app._perform_as_owner(call)


async def _reverse(ctx: Any, receipt_id: int, reason: str | None = None) -> Any:
    """The operation behind `stepwell reverse`; the payload of its job stores `reason`."""
    return await ctx.reverse(receipt_id)
