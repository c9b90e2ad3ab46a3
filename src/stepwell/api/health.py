"""View the health of the installation: receives the store's readings, hands on checks with their remedies."""

from __future__ import annotations

import asyncio
import platform
import time
from datetime import UTC, datetime
from typing import Literal

from anyio import to_thread
from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from stepwell import __version__, errors
from stepwell.api import problems
from stepwell.api.ui import UI_DIST
from stepwell.store import health as store

# Readings are shared for this long, so that many open pages cost what one does.
SHARED_SECONDS = 1.0
CONNECTIONS_WARNING_SHARE = 0.9

router = APIRouter(tags=["health"], responses=problems.RESPONSES)
probes = APIRouter(include_in_schema=False)

CheckStatus = Literal["ok", "warning", "failed"]


class Check(BaseModel):
    """One thing that was looked at."""

    code: str = Field(description="stable name, for translation and alerts", examples=["database.reachable"])
    status: CheckStatus
    detail: str = Field(description="what was found")
    remedy: str | None = Field(default=None, description="what helps, when something is wrong")


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
    is_at_least: bool = Field(description="counting stopped at a limit: there are this many or more")


class Health(BaseModel):
    """The installation at one moment. Parts that could not be read are null; `checks` says why."""

    status: CheckStatus = Field(description="the worst of all checks")
    version: str
    python_version: str
    checked_at: datetime
    server_started_at: datetime
    database: DatabaseFacts | None
    schema_: SchemaFacts | None = Field(alias="schema")
    counts: list[Count]
    checks: list[Check]


class HealthReader:
    """Reads at most once per `SHARED_SECONDS`; who asks meanwhile gets the same answer."""

    def __init__(self, conninfo: str, *, is_embedded: bool) -> None:
        self.conninfo = conninfo
        self.is_embedded = is_embedded
        self.started_at = datetime.now(UTC)
        self._lock = asyncio.Lock()
        self._last: tuple[float, Health] | None = None

    async def read(self) -> Health:
        async with self._lock:
            if self._last is None or time.monotonic() - self._last[0] > SHARED_SECONDS:
                found = await to_thread.run_sync(self._read)
                self._last = (time.monotonic(), found)
            return self._last[1]

    def _read(self) -> Health:
        checks: list[Check] = []
        database: store.DatabaseHealth | None = None
        schema: store.SchemaHealth | None = None
        counts: dict[str, int] = {}
        try:
            database = store.read_database(self.conninfo)
            checks += _database_checks(database)
            schema = store.read_schema(self.conninfo)
            checks.append(_schema_check(schema))
            if schema.is_current:
                counts = store.read_counts(self.conninfo)
                checks.append(_workers_check(counts))
        except errors.StepwellError as error:
            checks.append(_unreachable(error))
        checks.append(_ui_check())
        return Health(
            status=_worst(checks),
            version=__version__,
            python_version=platform.python_version(),
            checked_at=datetime.now(UTC),
            server_started_at=self.started_at,
            database=None if database is None else self._facts(database),
            schema=None if schema is None else _schema_facts(schema),
            counts=[
                Count(code=code, count=count, is_at_least=count >= store.COUNT_LIMIT)
                for code, count in counts.items()
            ],
            checks=checks,
        )

    def _facts(self, found: store.DatabaseHealth) -> DatabaseFacts:
        return DatabaseFacts(
            kind="embedded" if self.is_embedded else "external",
            version=found.version,
            started_at=found.started_at,
            size_bytes=found.size_bytes,
            connection_count=found.connection_count,
            connection_limit=found.connection_limit,
        )


def _schema_facts(found: store.SchemaHealth) -> SchemaFacts:
    return SchemaFacts(
        status=found.state, migration_count=found.migration_count, latest_migration=found.latest_migration
    )


def _database_checks(found: store.DatabaseHealth) -> list[Check]:
    used = f"{found.connection_count} of {found.connection_limit} connections in use"
    is_crowded = found.connection_count >= found.connection_limit * CONNECTIONS_WARNING_SHARE
    return [
        Check(code="database.reachable", status="ok", detail=f"PostgreSQL {found.version} answers"),
        Check(
            code="database.settings",
            status="warning" if found.unsafe_settings else "ok",
            detail=", ".join(found.unsafe_settings) or "a commit that was answered survives a power cut",
            remedy="Set them to on, or a crash of the machine may lose answered work."
            if found.unsafe_settings
            else None,
        ),
        Check(
            code="database.connections",
            status="warning" if is_crowded else "ok",
            detail=used,
            remedy="Raise max_connections, or lower STEPWELL_POOL_MAX_SIZE of servers and workers."
            if is_crowded
            else None,
        ),
    ]


def _schema_check(found: store.SchemaHealth) -> Check:
    match found.state:
        case "current":
            detail = f"all {found.migration_count} migrations are applied"
            return Check(code="schema.current", status="ok", detail=detail)
        case "pending":
            remedy = "Run: stepwell db migrate"
        case "drifted":
            remedy = "Run: stepwell db verify, and use the release that made this database."
    return Check(code="schema.current", status="failed", detail=found.problem or found.state, remedy=remedy)


def _workers_check(counts: dict[str, int]) -> Check:
    ready, live = counts["jobs_ready"], counts["workers_live"]
    if ready and not live:
        return Check(
            code="workers.live",
            status="warning",
            detail=f"{ready} jobs are ready and no worker is connected",
            remedy="Start one: stepwell worker",
        )
    return Check(code="workers.live", status="ok", detail=f"{live} workers connected, {ready} jobs ready")


def _unreachable(error: errors.StepwellError) -> Check:
    return Check(code="database.reachable", status="failed", detail=error.message, remedy=error.hint)


def _ui_check() -> Check:
    if (UI_DIST / "index.html").is_file():
        return Check(code="ui.built", status="ok", detail="the web interface is part of this installation")
    return Check(
        code="ui.built",
        status="warning",
        detail="this installation carries no web interface",
        remedy="In a source checkout run make ui; otherwise install the wheel again.",
    )


def _worst(checks: list[Check]) -> CheckStatus:
    order: tuple[CheckStatus, ...] = ("failed", "warning", "ok")
    return next(status for status in order if any(check.status == status for check in checks))


def _reader(request: Request) -> HealthReader:
    reader: HealthReader = request.app.state.health
    return reader


@router.get("/health", summary="Health of the installation")
async def read_health(request: Request) -> Health:
    """Always 200 while the server works: what is wrong is in the checks."""
    return await _reader(request).read()


@probes.get("/healthz")
async def process_is_alive() -> Response:
    """For whoever restarts processes; silent about the database, which no restart of ours heals."""
    return JSONResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})


@probes.get("/readyz")
async def can_take_requests(request: Request) -> Response:
    """For whoever routes requests: the database answers and has the schema of this release."""
    found = await to_thread.run_sync(store.read_schema, _reader(request).conninfo)
    if not found.is_current:
        raise errors.SchemaError(f"the schema is {found.state}", hint=found.problem)
    return JSONResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})
