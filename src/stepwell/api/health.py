"""Show the health of the installation: receives the readings of the store, returns one document."""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Literal

from anyio import to_thread
from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from stepwell import __version__, errors
from stepwell.api.caller import Caller
from stepwell.api.resource import Resource
from stepwell.api.serving import Serving
from stepwell.api.ui import UI_DIST
from stepwell.config import Settings
from stepwell.store.calls.mode import Mode
from stepwell.store.connection.borrowed import Asking, Borrowed
from stepwell.store.connection.pool import checked_out
from stepwell.store.health import readings as store
from stepwell.store.health.examine import CHECKS, connecting, examine_on
from stepwell.store.health.finding import Finding, Level, Subject, worded

# All requests within this time get the same reading, so that many open pages cost no more than one.
SHARED_SECONDS = 2.0
# How often the checks are made that open connections, and how long the first request waits for them.
WATCH_SECONDS = 60.0
WATCHED_SECONDS = 10.0

router = Resource("health")
probes = APIRouter(include_in_schema=False)

CheckStatus = Literal["ok", "warning", "failed"]


class Check(BaseModel):
    """The result of one check."""

    code: str = Field(description="stable name, for translation and alerts", examples=["database"])
    status: CheckStatus
    detail: str = Field(description="what was found")
    remedy: str | None = Field(default=None, description="how to fix it, if something is wrong")
    detail_vi: str | None = Field(
        default=None, description="the same in Vietnamese; null for messages of the database"
    )
    remedy_vi: str | None = None


class DatabaseFacts(BaseModel):
    kind: Literal["embedded", "external"]
    version: str
    started_at: datetime
    size_bytes: int
    connection_count: int
    connection_limit: int


class SchemaFacts(BaseModel):
    status: store.SchemaState
    migration_count: int
    latest_migration: str | None


class Count(BaseModel):
    code: str
    count: int
    is_at_least: bool = Field(description="counting stopped at a limit: there may be more")


class Health(BaseModel):
    """The installation at one moment. Parts that could not be read are null; `checks` gives the reason."""

    status: CheckStatus = Field(description="the worst of all checks")
    version: str
    python_version: str
    checked_at: datetime
    server_started_at: datetime
    mode: Literal["development", "strict"] | None = Field(
        description="development: one person acts where nobody is bound, and the engine grants cancels"
    )
    person: str | None = Field(description="who acts in development mode where nobody is bound")
    is_demo: bool = Field(description="people and runs are made up; `stepwell demo off` turns the demo off")
    database: DatabaseFacts | None
    schema_: SchemaFacts | None = Field(alias="schema")
    counts: list[Count]
    checks: list[Check]


class HealthReader:
    """Reads at most once in `SHARED_SECONDS`; all requests in between get the same answer.

    A request reads by a connection of the pool. Checks that open connections are made by `watching`, in the
    background.
    """

    def __init__(self, settings: Settings, serving: Serving) -> None:
        self.settings = settings
        self.started_at = datetime.now(UTC)
        self._serving = serving
        self._lock = asyncio.Lock()
        self._last: tuple[float, Health] | None = None
        self._watched: list[Finding] = []
        self._was_watched = asyncio.Event()

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _watch(self) -> None:
        while True:
            self._watched = await to_thread.run_sync(
                connecting, self.settings, self._serving.conninfo, abandon_on_cancel=True
            )
            self._was_watched.set()
            await asyncio.sleep(WATCH_SECONDS)

    async def schema(self) -> store.SchemaHealth:
        async with checked_out(self._serving.pool) as connection:
            return await to_thread.run_sync(store.read_schema, Borrowed(connection))

    async def read(self) -> Health:
        with suppress(TimeoutError):
            async with asyncio.timeout(WATCHED_SECONDS):
                await self._was_watched.wait()
        async with self._lock:
            if self._last is None or time.monotonic() - self._last[0] > SHARED_SECONDS:
                async with checked_out(self._serving.pool) as connection:
                    found = await to_thread.run_sync(self._read, Borrowed(connection))
                self._last = (time.monotonic(), found)
            return self._last[1]

    def _read(self, connection: Asking) -> Health:
        mode: Mode | None = None
        subject = Subject(self.settings, self._serving.conninfo, connection)
        database = store.read_database(connection)
        findings = list(examine_on(subject, CHECKS))
        schema = store.read_schema(connection)
        if schema.is_current:
            mode = store.read_mode(connection)
        findings += [*self._watched, _ui()]
        checks = [_check(finding) for finding in findings]
        return Health(
            status=_worst(checks),
            version=__version__,
            python_version=platform.python_version(),
            checked_at=datetime.now(UTC),
            server_started_at=self.started_at,
            mode=None if mode is None else mode.mode,
            person=None if mode is None else mode.person,
            is_demo=schema.is_current and store.read_is_demo(connection),
            database=self._facts(database),
            schema=_schema_facts(schema),
            counts=[],
            checks=checks,
        )

    def _facts(self, found: store.DatabaseHealth) -> DatabaseFacts:
        return DatabaseFacts(
            kind="embedded" if self.settings.is_embedded else "external",
            version=found.version,
            started_at=found.started_at,
            size_bytes=found.size_bytes,
            connection_count=found.connection_count,
            connection_limit=found.connection_limit,
        )


def _check(finding: Finding) -> Check:
    return Check(
        code=finding.check,
        status=finding.level.value,
        detail=finding.detail,
        remedy=finding.remedy,
        detail_vi=finding.detail_vi,
        remedy_vi=finding.remedy_vi,
    )


def _schema_facts(found: store.SchemaHealth) -> SchemaFacts:
    return SchemaFacts(
        status=found.state, migration_count=found.migration_count, latest_migration=found.latest_migration
    )


def _workers(counts: dict[str, int]) -> Finding:
    ready, live = counts["jobs_ready"], counts["workers_live"]
    level = Level.WARNING if ready and not live else Level.OK
    return worded("workers", level, "workers.count", "workers.remedy", live=live, ready=ready)


def _ui() -> Finding:
    if (UI_DIST / "index.html").is_file():
        return worded("interface", Level.OK, "interface.built")
    return worded("interface", Level.WARNING, "interface.missing", "interface.remedy")


def _worst(checks: list[Check]) -> CheckStatus:
    found = {check.status for check in checks}
    return "failed" if "failed" in found else "warning" if "warning" in found else "ok"


def _reader(request: Request) -> HealthReader:
    reader: HealthReader = request.app.state.health
    return reader


@router.read("/health", summary="Health of the installation", problems=())
async def read_health(request: Request, caller: Caller) -> Health:
    """The checks of the installation, and how much work there is for the tenant of the caller."""
    found = await _reader(request).read()
    counts = await caller.perform(store.work_counts())
    checks = [*found.checks, _check(_workers(counts))]
    counted = [
        Count(code=code, count=count, is_at_least=count >= store.COUNT_LIMIT)
        for code, count in counts.items()
    ]
    return found.model_copy(update={"counts": counted, "checks": checks, "status": _worst(checks)})


@probes.get("/healthz")
async def process_is_alive() -> Response:
    """For a process supervisor. It does not check the database, because a restart would not repair that."""
    return JSONResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})


@probes.get("/readyz")
async def can_take_requests(request: Request) -> Response:
    """For a load balancer: the database answers and has the schema of this release."""
    found = await _reader(request).schema()
    if not found.is_current:
        raise errors.SchemaError(f"the schema is {found.state}", hint=found.problem)
    return JSONResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})
