"""Show the health of the installation: receives the readings of the store, returns one document."""

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
from stepwell.api.caller import Caller
from stepwell.api.resource import Resource
from stepwell.api.ui import UI_DIST
from stepwell.config import Settings
from stepwell.store.calls.mode import Mode
from stepwell.store.health import readings as store
from stepwell.store.health.examine import Finding, Level, examine, unreachable, worded

# All requests within this time get the same reading, so that many open pages cost no more than one.
SHARED_SECONDS = 2.0

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
    database: DatabaseFacts | None
    schema_: SchemaFacts | None = Field(alias="schema")
    counts: list[Count]
    checks: list[Check]


class HealthReader:
    """Reads at most once in `SHARED_SECONDS`; all requests in between get the same answer."""

    def __init__(self, settings: Settings, conninfo: str) -> None:
        self.settings = settings
        self.conninfo = conninfo
        self.started_at = datetime.now(UTC)
        self._lock = asyncio.Lock()
        self._last: tuple[float, Health] | None = None

    async def read(self) -> Health:
        async with self._lock:
            if self._last is None or time.monotonic() - self._last[0] > SHARED_SECONDS:
                self._last = (time.monotonic(), await to_thread.run_sync(self._read))
            return self._last[1]

    def _read(self) -> Health:
        database: store.DatabaseHealth | None = None
        schema: store.SchemaHealth | None = None
        mode: Mode | None = None
        try:
            database = store.read_database(self.conninfo)
            findings = list(examine(self.settings, self.conninfo))
            schema = store.read_schema(self.conninfo)
            if schema.is_current:
                mode = store.read_mode(self.conninfo)
        except errors.StepwellError as error:
            findings = [unreachable(error)]
        findings.append(_ui())
        checks = [_check(finding) for finding in findings]
        return Health(
            status=_worst(checks),
            version=__version__,
            python_version=platform.python_version(),
            checked_at=datetime.now(UTC),
            server_started_at=self.started_at,
            mode=None if mode is None else mode.mode,
            person=None if mode is None else mode.person,
            database=None if database is None else self._facts(database),
            schema=None if schema is None else _schema_facts(schema),
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
    found = await to_thread.run_sync(store.read_schema, _reader(request).conninfo)
    if not found.is_current:
        raise errors.SchemaError(f"the schema is {found.state}", hint=found.problem)
    return JSONResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})
