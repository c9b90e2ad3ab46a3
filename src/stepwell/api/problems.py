"""Turn every error into a problem document (RFC 9457): receives exceptions, returns problem+json."""

from __future__ import annotations

import http
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from stepwell import errors, logs
from stepwell.api import accepted
from stepwell.api.catalogue import KINDS, MEDIA_TYPE, code_of, urn
from stepwell.api.language import language_of

RETRY_AFTER_SECONDS = 2
# A body may have thousands of wrong fields; the first ones are enough.
FIELD_ERRORS_LIMIT = 50

# What FastAPI says of a body that its reader of JSON gave up.
_UNREADABLE: Final = "There was an error parsing the body"

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


class ProblemError(Exception):
    """A problem that only HTTP has, by its code in `catalogue.KINDS`."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        hint: str | None = None,
        field: str | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.hint = hint
        self.field = field
        self.retry_after_seconds = retry_after_seconds


# A status that the framework answers with → the code of the problem.
_OF_STATUS: Final[dict[int, str]] = {
    400: "invalid_request",
    401: "not_signed_in",
    403: "permission_denied",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "content_too_large",
    421: "misdirected_request",
    422: "invalid_input",
    429: "too_many_requests",
}


def respond(
    request: Request,
    code: str,
    *,
    headers: Mapping[str, str] | None = None,
    retry_after_seconds: float | None = None,
    **members: Any,
) -> Response:
    """A problem as a response; members without a value are left out."""
    kind = KINDS[code]
    problem = Problem(
        type=urn(code),
        title=kind.title,
        status=kind.status,
        instance=request.url.path,
        request_id=request.scope.get("stepwell.request_id"),
        **members,
    )
    added = dict(headers or {})
    if kind.is_retried:
        added.setdefault("Retry-After", str(math.ceil(retry_after_seconds or RETRY_AFTER_SECONDS)))
    if kind.status == 401:
        added.setdefault("WWW-Authenticate", "Bearer")
    return JSONResponse(
        problem.model_dump(exclude_none=True), kind.status, headers=added, media_type=MEDIA_TYPE
    )


def install(app: FastAPI) -> None:
    """Turn all errors of the application into problem documents."""
    app.add_exception_handler(errors.StepwellError, _domain)
    app.add_exception_handler(ProblemError, _of_http)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(HTTPException, _framework)


def unexpected(request: Request, error: Exception) -> Response:
    """An unexpected error: the log gets all details, the caller only the request id."""
    request_id = request.scope.get("stepwell.request_id")
    _log.error("request failed", path=request.url.path, request_id=request_id, exc_info=error)
    return respond(
        request,
        "internal",
        detail="an unexpected error occurred in the server",
        hint="search for the request id in the log of the server",
    )


async def _domain(request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.StepwellError)
    code = code_of(error)
    if code == "internal":
        # Messages of Postgres contain names of tables and values: only for the log.
        return unexpected(request, error)
    if code == "database_busy":
        return respond(request, code, detail="the request collided with others or took too long")
    detail = error.translations.get(language_of(request.headers), error.message)
    return respond(
        request, code, detail=detail, hint=error.hint, field=error.field, codes=list(error.codes) or None
    )


async def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return respond(
        request,
        error.code,
        detail=error.detail,
        hint=error.hint,
        field=error.field,
        retry_after_seconds=error.retry_after_seconds,
    )


async def _validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    route = request.scope.get("route")
    found = [
        FieldError(field=_place(entry["loc"]), detail=_printable(accepted.sentence(route, entry)))
        for entry in error.errors()[:FIELD_ERRORS_LIMIT]
    ]
    first = found[0] if found else FieldError(field="body", detail="the request cannot be read")
    return respond(
        request,
        "invalid_input",
        detail=f"{first.field}: {first.detail}",
        field=first.field,
        errors=found or None,
    )


async def _framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _OF_STATUS.get(error.status_code, "internal" if error.status_code >= 500 else "invalid_request")
    # Without a reason, the framework uses the phrase of the status as the detail.
    is_given = error.detail != http.HTTPStatus(error.status_code).phrase
    detail = _printable(error.detail) if is_given else None
    match error.status_code:
        case 404:
            detail = detail or f"there is nothing at {_printable(request.url.path)}"
        case 405:
            methods = ", ".join(request.app.state.methods_of(request.url.path))
            allowed = methods or (error.headers or {}).get("Allow", "another method")
            detail = f"{request.method} is not possible here; accepted: {allowed}"
            return respond(
                request, code, headers={"Allow": allowed} if methods else error.headers, detail=detail
            )
        case 400 if error.detail == _UNREADABLE:
            return respond(
                request,
                code,
                detail="the body could not be read as JSON",
                hint="send JSON as UTF-8, not compressed, nested less than 900 deep, without endless numbers",
                field="body",
            )
    return respond(request, code, headers=error.headers, detail=detail)


def _place(loc: Sequence[int | str]) -> str:
    return _printable(".".join(str(part) for part in loc))[:500]


def _printable(text: str) -> str:
    """A text that can be sent: halves of surrogate pairs, which JSON can contain, are replaced."""
    return text.encode("utf-8", "replace").decode()
