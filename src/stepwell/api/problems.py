"""Turn every error into a problem document (RFC 9457): receives exceptions, returns problem+json."""

from __future__ import annotations

import http
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from stepwell import errors, logs

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = 2
# A body may have thousands of wrong fields; the first ones are enough.
FIELD_ERRORS_LIMIT = 50

_log = logs.get_logger("stepwell.api")


class FieldError(BaseModel):
    """One wrong field of a request."""

    field: str = Field(
        description="where: body.name, query.limit, path.run_id, header.If-Match", max_length=500
    )
    detail: str = Field(description="what is wrong and what is accepted")


class Problem(BaseModel):
    """The body of every response with a status of 400 or more."""

    type: str = Field(description="stable name of the kind of problem, urn:stepwell:problem:<code>")
    title: str
    status: int
    detail: str | None = None
    hint: str | None = Field(default=None, description="how to fix it")
    field: str | None = Field(default=None, description="the wrong field, if there is one")
    errors: list[FieldError] | None = Field(default=None, description="all wrong fields")
    codes: list[str] | None = Field(default=None, description="stable codes of the reasons of a refusal")
    instance: str | None = Field(default=None, description="path of the request")
    request_id: str | None = Field(default=None, description="the same as in X-Request-ID and in the log")


# The documentation of errors, for every operation.
RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    "default": {
        "description": "The request was refused or failed.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}

# Error class → status and title; for a subclass, the nearest class in this table.
_DOMAIN: Final[dict[type[errors.StepwellError], tuple[int, str]]] = {
    errors.InvalidInput: (422, "Invalid input"),
    errors.NotFound: (404, "Not found"),
    errors.Conflict: (409, "Conflict"),
    errors.Refused: (409, "Refused"),
    errors.LeaseLost: (409, "Lease lost"),
    errors.LimitExceeded: (422, "Limit exceeded"),
    errors.PermissionDenied: (403, "Permission denied"),
    errors.UnsupportedDatabase: (503, "Unsupported database"),
    errors.UsageError: (400, "Invalid request"),
    errors.SchemaError: (503, "Schema not current"),
    errors.DatabaseUnavailable: (503, "Database unavailable"),
    errors.DatabaseFailure: (500, "Database failure"),
    errors.StepwellError: (500, "Failure"),
}


# Our own titles, because the phrases of the standard library differ between versions of Python.
_TITLES: Final[dict[int, str]] = {
    400: "Bad request",
    401: "Unauthorized",
    403: "Permission denied",
    404: "Not found",
    405: "Method not allowed",
    406: "Not acceptable",
    409: "Conflict",
    412: "Precondition failed",
    413: "Content too large",
    415: "Unsupported media type",
    421: "Misdirected request",
    422: "Invalid input",
    429: "Too many requests",
    503: "Service unavailable",
}


def respond(
    request: Request,
    status: int,
    code: str,
    title: str,
    *,
    headers: Mapping[str, str] | None = None,
    **members: Any,
) -> Response:
    """A problem as a response; members without a value are left out."""
    problem = Problem(
        type=f"urn:stepwell:problem:{code.replace('_', '-')}",
        title=title,
        status=status,
        instance=request.url.path,
        request_id=request.scope.get("stepwell.request_id"),
        **members,
    )
    return JSONResponse(
        problem.model_dump(exclude_none=True), status, headers=dict(headers or {}), media_type=MEDIA_TYPE
    )


def install(app: FastAPI) -> None:
    """Turn all errors of the application into problem documents."""
    app.add_exception_handler(errors.StepwellError, _domain)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(HTTPException, _http)


def unexpected(request: Request, error: Exception) -> Response:
    """An unexpected error: the log gets all details, the caller only the request id."""
    request_id = request.scope.get("stepwell.request_id")
    _log.error("request failed", path=request.url.path, request_id=request_id, exc_info=error)
    return respond(
        request,
        500,
        "internal",
        "Internal error",
        detail="an unexpected error occurred in the server",
        hint="search for the request id in the log of the server",
    )


async def _domain(request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.StepwellError)
    status, title = next(_DOMAIN[kind] for kind in type(error).__mro__ if kind in _DOMAIN)
    headers = {}
    if error.is_transient:
        status = 503
        headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    if status == 500:
        # Messages of Postgres contain names of tables and values: only for the log.
        return unexpected(request, error)
    return respond(
        request,
        status,
        error.code,
        title,
        headers=headers,
        detail=error.message,
        hint=error.hint,
        field=error.field,
        codes=list(error.codes) or None,
    )


async def _validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = [
        FieldError(field=_place(entry["loc"]), detail=entry["msg"])
        for entry in error.errors()[:FIELD_ERRORS_LIMIT]
    ]
    first = found[0] if found else FieldError(field="body", detail="the request cannot be read")
    return respond(
        request,
        422,
        "invalid_input",
        "Invalid input",
        detail=f"{first.field}: {first.detail}",
        field=first.field,
        errors=found or None,
    )


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    title = _TITLES.get(error.status_code, f"HTTP {error.status_code}")
    # Without a reason, the framework uses the phrase of the status as the detail.
    is_given = error.detail != http.HTTPStatus(error.status_code).phrase
    detail = error.detail if is_given else None
    match error.status_code:
        case 404:
            detail = detail or f"there is nothing at {request.url.path}"
        case 405:
            allowed = (error.headers or {}).get("Allow", "another method")
            detail = f"{request.method} is not possible here; accepted: {allowed}"
    code = title.lower().replace(" ", "_")
    return respond(request, error.status_code, code, title, headers=error.headers, detail=detail)


def _place(loc: Sequence[int | str]) -> str:
    return ".".join(str(part) for part in loc)[:500]
