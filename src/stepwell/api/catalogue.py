"""Every kind of problem that the API answers with: receives an error or a code, returns its kind.

The `type` of a problem is `urn:stepwell:problem:<code>`. Codes are stable; texts are for people.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from stepwell import errors

MEDIA_TYPE: Final = "application/problem+json"


class Kind(NamedTuple):
    """One kind of problem. `is_retried`: the same request may succeed later."""

    status: int
    title: str
    meaning: str
    is_retried: bool = False


KINDS: Final[dict[str, Kind]] = {
    "invalid_request": Kind(400, "Invalid request", "the request cannot be read"),
    "not_signed_in": Kind(401, "Not signed in", "no token or session, or it has ended"),
    "sign_in_refused": Kind(401, "Sign-in refused", "name and password do not belong together"),
    "permission_denied": Kind(403, "Permission denied", "the roles or the token do not allow it"),
    "origin_refused": Kind(403, "Origin refused", "a page of another site, or a wrong X-CSRF-Token"),
    "not_found": Kind(404, "Not found", "the named thing does not exist for the caller"),
    "method_not_allowed": Kind(405, "Method not allowed", "the path has other methods"),
    "conflict": Kind(409, "Conflict", "the present state does not allow the request"),
    "refused": Kind(409, "Refused", "the registry, a guard or a policy does not allow it"),
    "lease_lost": Kind(409, "Lease lost", "the lease ended or belongs to another session"),
    "key_in_use": Kind(
        409, "Key in use", "a request with the same Idempotency-Key is under way", is_retried=True
    ),
    "answer_not_kept": Kind(409, "Answer not kept", "the request was done; its answer was too large to keep"),
    "content_too_large": Kind(413, "Content too large", "the body is larger than this server accepts"),
    "misdirected_request": Kind(421, "Misdirected request", "the server does not accept this Host"),
    "invalid_input": Kind(422, "Invalid input", "a field is wrong; field and errors name it"),
    "limit_exceeded": Kind(422, "Limit exceeded", "too many, too large, too deep, too long"),
    "key_reused": Kind(422, "Key reused", "the Idempotency-Key belongs to another request"),
    "too_many_requests": Kind(429, "Too many requests", "wait as long as Retry-After says", is_retried=True),
    "internal": Kind(500, "Internal error", "an error of the server; its log has the request id"),
    "server_busy": Kind(503, "Server busy", "every connection to the database is in use", is_retried=True),
    "database_busy": Kind(
        503, "Database busy", "the request collided with others or took too long", is_retried=True
    ),
    "database_unavailable": Kind(
        503, "Database unavailable", "the database cannot be reached", is_retried=True
    ),
    "storage_unavailable": Kind(503, "Storage unavailable", "a file cannot be read or written", True),
    "schema": Kind(503, "Schema not current", "the database has the schema of another release"),
    "unsupported_database": Kind(503, "Unsupported database", "this version of PostgreSQL is not supported"),
    "position_not_reached": Kind(
        409, "Position not reached", "min_position was not reached in time", is_retried=True
    ),
}

# Error class → code of the kind; for a subclass, the nearest class in this table.
_OF_ERROR: Final[dict[type[errors.StepwellError], str]] = {
    errors.InvalidInput: "invalid_input",
    errors.NotFound: "not_found",
    errors.Conflict: "conflict",
    errors.Refused: "refused",
    errors.LeaseLost: "lease_lost",
    errors.LimitExceeded: "limit_exceeded",
    errors.PermissionDenied: "permission_denied",
    errors.UnsupportedDatabase: "unsupported_database",
    errors.UsageError: "invalid_request",
    errors.SchemaError: "schema",
    errors.EffectInFlight: "conflict",
    errors.ServerBusy: "server_busy",
    errors.StorageUnavailable: "storage_unavailable",
    errors.DatabaseUnavailable: "database_unavailable",
    errors.DatabaseFailure: "internal",
    errors.StepwellError: "internal",
}

# Problems that every call of the API can have; reads of one thing and writes have more.
EVERY_CALL: Final = (
    "not_signed_in", "permission_denied", "invalid_input", "too_many_requests", "internal", "server_busy",
    "database_busy", "database_unavailable", "schema",
)  # fmt: skip
READS: Final = ("position_not_reached",)
WRITES: Final = (
    "invalid_request", "origin_refused", "conflict", "refused", "key_in_use", "answer_not_kept",
    "content_too_large", "limit_exceeded", "key_reused",
)  # fmt: skip


def code_of(error: errors.StepwellError) -> str:
    """The code of an error of the engine."""
    if isinstance(error, errors.PermissionDenied) and error.field == "token":
        return "not_signed_in"
    if isinstance(error, errors.DatabaseFailure) and not isinstance(error, errors.DatabaseUnavailable):
        return "database_busy" if error.is_transient else "internal"
    return next(_OF_ERROR[kind] for kind in type(error).__mro__ if kind in _OF_ERROR)


def urn(code: str) -> str:
    return f"urn:stepwell:problem:{code.replace('_', '-')}"


def responses(codes: Iterable[str]) -> dict[int | str, dict[str, Any]]:
    """The documentation of these problems, by status."""
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(KINDS[code].status, []).append(code)
    return {status: _documented(found) for status, found in sorted(by_status.items())}


def _documented(codes: list[str]) -> dict[str, Any]:
    examples = {
        code: {
            "summary": KINDS[code].meaning,
            "value": {"type": urn(code), "title": KINDS[code].title, "status": KINDS[code].status},
        }
        for code in codes
    }
    found: dict[str, Any] = {
        "description": "; ".join(f"`{code.replace('_', '-')}`: {KINDS[code].meaning}" for code in codes),
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": examples}},
    }
    if any(KINDS[code].is_retried for code in codes):
        found["headers"] = {"Retry-After": {"description": "seconds to wait", "schema": {"type": "string"}}}
    return found
