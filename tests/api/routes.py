"""Every route of the server: receives the application, returns its operations with requests that fit them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from stepwell.api.app import create_app
from stepwell.api.resource import CallRoute
from stepwell.config import Settings

# What needs no caller, and why. Every other route is called as nobody, and must refuse.
OPEN = {
    "GET /healthz": "for a supervisor; shows nothing",
    "GET /readyz": "for a load balancer; shows nothing of a tenant",
    "GET /api/v1/openapi.json": "the document of the API",
    "GET /api/v1/docs": "the same as a page",
    "POST /api/v1/session": "a password",
    "POST /api/v1/session/link": "a link that works once",
    "PUT /api/v1/session": "a session of the same browser; the next call checks it",
    "POST /api/v1/slack/callback": "its own signature",
    "POST /api/v1/hooks/{address}": "its own signature",
}


@dataclass(frozen=True)
class Operation:
    """One method of one path. `verb` None: everybody who is signed in."""

    method: str
    path: str
    verb: str | None
    document: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def is_read(self) -> bool:
        return self.method == "GET"

    def parameters(self, place: str) -> list[dict[str, Any]]:
        return [one for one in self.document.get("parameters", ()) if one["in"] == place]

    def request(self, seeds: dict[str, str], document: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a request: the path by `seeds`, required queries and the body by example."""
        values = {one["name"]: seeds[one["name"]] for one in self.parameters("path")}
        query = {
            one["name"]: _example(one["schema"], document) if "example" not in one else one["example"]
            for one in self.parameters("query")
            if one.get("required")
        }
        asked: dict[str, Any] = {"method": self.method, "url": self.path.format(**values), "params": query}
        content = self.document.get("requestBody", {}).get("content", {})
        if "application/json" in content:
            asked["json"] = _example(content["application/json"]["schema"], document)
        return asked


@cache
def made() -> FastAPI:
    """One application for all who ask: its document takes a second."""
    nowhere = "host=127.0.0.1 port=1"
    return create_app(Settings(database_url=nowhere, data_dir=Path("/nonexistent")), nowhere)


def routes(app: FastAPI) -> Iterator[tuple[str, str, APIRoute | None]]:
    """Method, path and route of everything that the server answers at a path of its own."""
    documented = app.openapi()["paths"]
    for included in app.routes:
        router = getattr(included, "original_router", None)
        for route in [included] if router is None else router.routes:
            path = getattr(route, "path", "")
            full = path if path in OPEN_PATHS or path in documented else f"/api/v1{path}"
            for method in (getattr(route, "methods", None) or set()) - {"HEAD"}:
                yield method, full, route if isinstance(route, APIRoute) else None


OPEN_PATHS = {name.partition(" ")[2] for name in OPEN}


@cache
def operations() -> list[Operation]:
    """All operations that need a caller, in the order of the document."""
    found = []
    application = made()
    calls = {(m, p) for m, p, route in routes(application) if isinstance(route, CallRoute)}
    for path, methods in application.openapi()["paths"].items():
        for method, document in methods.items():
            if (method.upper(), path) in calls:
                found.append(Operation(method.upper(), path, document.get("x-stepwell-verb"), document))
    return found


def _example(schema: dict[str, Any], document: dict[str, Any]) -> Any:
    """A value that fits the schema; the example of the field, if it has one."""
    if "$ref" in schema:
        return _example(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], document)
    if schema.get("examples"):
        return schema["examples"][0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return _example(schema[choice][0], document)
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    match schema.get("type"):
        case "object":
            wanted = schema.get("required", ())
            return {name: _example(schema["properties"][name], document) for name in wanted}
        case "array":
            return [_example(schema["items"], document)] if schema.get("minItems") else []
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case "string":
            return "x" * max(schema.get("minLength", 1), 1)
        case _:
            return {}
