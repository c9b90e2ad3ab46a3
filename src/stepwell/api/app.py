"""Build the HTTP server: receives settings and a conninfo, returns one ASGI application.

Each resource is one module with a `router`, which is listed only in ROUTERS.
"""

from __future__ import annotations

import functools
import re
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute, compile_path
from starlette.types import Receive, Scope, Send

from stepwell import __version__
from stepwell.api import (
    actions,
    approvals,
    console,
    content,
    dead_letters,
    evidence,
    governance,
    graphs,
    health,
    holds,
    jobs,
    labels,
    lag,
    layouts,
    log,
    machines,
    metrics,
    people,
    policies,
    problems,
    receipts,
    reference,
    registry_tokens,
    run_control,
    runs,
    saved_views,
    schedules,
    search,
    sessions,
    slack,
    snapshots,
    step_work,
    steps,
    stream,
    tenants,
    tokens,
    triggers,
    workers,
    workflows,
)
from stepwell.api.envelope import BODY_BYTES_LIMIT, Envelope
from stepwell.api.identity import COOKIE
from stepwell.api.resource import verbs_of
from stepwell.api.run_shapes import StreamChanges
from stepwell.api.serving import Serving
from stepwell.api.ui import UI_DIST, BuiltUi
from stepwell.config import Settings
from stepwell.govern.slack.settings import SlackSettings

PREFIX: Final = "/api/v1"
TITLE: Final = "Stepwell"
DESCRIPTION: Final = "A governed workflow engine that lives in Postgres."
COMPRESSED_BYTES = 1_000
ROUTERS: Final[tuple[APIRouter, ...]] = (
    sessions.doors,
    sessions.router,
    people.router,
    tokens.router,
    tenants.router,
    health.router,
    workflows.router,
    # Before the runs: /runs/places is no number of a run.
    console.router,
    runs.router,
    run_control.router,
    steps.router,
    step_work.router,
    actions.router,
    approvals.router,
    receipts.router,
    policies.router,
    jobs.router,
    dead_letters.router,
    holds.router,
    graphs.router,
    schedules.router,
    triggers.router,
    triggers.hooks,
    workers.router,
    content.router,
    log.router,
    evidence.router,
    governance.router,
    lag.router,
    machines.router,
    registry_tokens.router,
    search.router,
    slack.router,
    snapshots.router,
    layouts.router,
    labels.router,
    saved_views.router,
    stream.router,
)


def create_app(
    settings: Settings,
    conninfo: str,
    *,
    allowed_hosts: Collection[str] | None = None,
    body_bytes_limit: int = BODY_BYTES_LIMIT,
    ui_folder: Path = UI_DIST,
    slack_settings: SlackSettings | None = None,
    slack_conninfo: str | None = None,
) -> FastAPI:
    """With `allowed_hosts` None every host name is accepted; a server on loopback gives `LOOPBACK_NAMES`.

    `slack_conninfo` is the address for callbacks of Slack, with their own role.
    """
    serving = Serving(settings, conninfo)
    reader = health.HealthReader(settings, serving)
    slack_end = slack.SlackEnd(slack_settings, slack_conninfo or conninfo)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with serving.running(), slack_end.running(), reader.watching():
            yield

    app = FastAPI(
        lifespan=lifespan,
        title=TITLE,
        version=__version__,
        description=DESCRIPTION,
        openapi_url=f"{PREFIX}/openapi.json",
        # The pages of FastAPI load scripts from another host; `reference` replaces them.
        docs_url=None,
        redoc_url=None,
    )
    app.state.serving = serving
    app.state.slack = slack_end
    app.state.health = reader
    app.state.verbs = verbs_of(ROUTERS)
    app.state.methods_of = _methods_of
    problems.install(app)
    app.router.routes.extend(_routes())
    app.openapi = _openapi  # type: ignore[method-assign]
    _serve_ui(app, BuiltUi(ui_folder))
    app.add_middleware(GZipMiddleware, minimum_size=COMPRESSED_BYTES)
    app.add_middleware(Envelope, allowed_hosts=allowed_hosts, body_bytes_limit=body_bytes_limit)
    return app


@functools.cache
def _routes() -> tuple[BaseRoute, ...]:
    """All routes, for every application of this process: to build them takes longer than all else."""
    whole = APIRouter()
    for router in (*ROUTERS, reference.router):
        whole.include_router(router, prefix=PREFIX)
    whole.include_router(health.probes)
    whole.include_router(metrics.router)
    return tuple(whole.routes)


@functools.cache
def _paths() -> tuple[tuple[re.Pattern[str], frozenset[str]], ...]:
    """Each route of the API: its path, and its methods."""
    return tuple(
        (compile_path(PREFIX + route.path)[0], frozenset(route.methods or ()))
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
    )


def _methods_of(path: str) -> list[str]:
    """The methods that a path of the API accepts; the framework knows only those of the first route."""
    return sorted(set().union(*(methods for pattern, methods in _paths() if pattern.match(path))))


@functools.cache
def _openapi() -> dict[str, Any]:
    """The document of all routes; nothing in it depends on the application."""
    document = get_openapi(title=TITLE, version=__version__, description=DESCRIPTION, routes=_routes())
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for model in (problems.Problem, StreamChanges):
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(schema.pop("$defs", {}))
        schemas[model.__name__] = schema
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    document["components"]["securitySchemes"] = {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "of `stepwell token create`",
        },
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": COOKIE,
            "description": "the session of a signed-in person; writes also send X-CSRF-Token",
        },
    }
    return document


def _serve_ui(app: FastAPI, ui: BuiltUi) -> None:
    """Serve the web interface at all paths that no route matches."""
    refuse = app.router.default

    async def page_or_file(scope: Scope, receive: Receive, send: Send) -> None:
        await (ui if scope["type"] == "http" else refuse)(scope, receive, send)

    app.router.default = page_or_file
