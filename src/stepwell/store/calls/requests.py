"""The calls around one HTTP request: open it, close it, tell that it was refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stepwell.store.connection.call import Call, nothing, value


@dataclass(frozen=True, slots=True)
class Opened:
    """Whom the token belongs to. A `repeat` has the kept answer; `other`: the key has another request."""

    tenant_id: int
    principal_id: int
    principal_name: str
    outcome: Literal["new", "repeat", "other"]
    status: int | None
    position: str | None
    answer: str | None


@dataclass(frozen=True, slots=True)
class Opening:
    """What opens a request. `key` and `digest` belong to a write with an Idempotency-Key."""

    token: str
    verb: str | None
    key: str | None = None
    digest: bytes | None = None


def open_request(opening: Opening) -> Call[Opened]:
    return Call(
        "select r.tenant_id, r.principal_id, r.principal_name, r.outcome, r.status, r.position, r.answer"
        " from stepwell.fn_request_open(%s, %s, %s, %s) as r",
        (opening.token, opening.verb, opening.key, opening.digest),
        lambda rows: Opened(*rows[0]),
    )


def close_request(key: str | None, status: int, answer: str | None) -> Call[str]:
    """Keep the answer for repeats; returns the position that the request reached in the log."""
    return Call("select stepwell.fn_request_close(%s, %s, %s)", (key, status, answer), value)


def note_refused(token: str, call: str, reason: str, count: int) -> Call[None]:
    return Call("select stepwell.fn_request_refused(%s, %s, %s, %s)", (token, call, reason, count), nothing)
