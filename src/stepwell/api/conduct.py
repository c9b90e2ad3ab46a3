"""Conduct one request: limit → identify → open the transaction → the route → keep the answer → commit.

The route performs its calls in one bound transaction. The answer is sent after the commit; an error rolls
back, so that nothing is half-written. A collision with another transaction repeats the route.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from stepwell import logs
from stepwell.api import odd_text
from stepwell.api.caller import BoundCaller, Known
from stepwell.api.identity import Identity, identify
from stepwell.api.language import language_of
from stepwell.api.problems import ProblemError
from stepwell.api.serving import Serving, serving_of
from stepwell.errors import (
    COLLISION_SQLSTATES,
    LOCKED_SQLSTATE,
    DatabaseFailure,
    DatabaseUnavailable,
    InvalidInput,
    PermissionDenied,
    StepwellError,
)
from stepwell.store.calls import positions, requests
from stepwell.store.calls.requests import Opened, Opening
from stepwell.store.connection import perform
from stepwell.store.connection.bound import BoundTransaction, was_cut

KEY_HEADER: Final = "Idempotency-Key"
POSITION_HEADER: Final = "Stepwell-Position"
REPLAYED_HEADER: Final = "Idempotency-Replayed"
ATTEMPT_LIMIT = 8

_KEY = re.compile(r"[!-~]{1,200}")
_POSITION = re.compile(r"[0-9]{1,19}")
_log = logs.get_logger("stepwell.api")

Route = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a route declares: its verb, whether it writes, and fields of its answer that are shown once.

    Of a request that has a secret nothing is kept, also no digest: its key has no effect.
    """

    verb: str | None
    writes: bool
    secrets: tuple[str, ...] = ()
    takes_secret: bool = False


class _ReplacedCaller(Exception):
    """The remembered owner of a token is not what the database says."""


async def conduct(request: Request, terms: Terms, route: Route) -> Response:
    """The response of a route that needs a caller. Raises what becomes a problem."""
    serving = serving_of(request)
    identity = _limited(request, serving)
    key, digest = await _idempotency(request, terms)
    opening = Opening(identity.token, terms.verb, key, digest)
    if not terms.writes:
        await _reach(request, serving)
    serving.request_count += 1
    try:
        return await _attempts(request, terms, route, serving, identity, opening)
    except PermissionDenied as error:
        await _note_refused(request, serving, identity, error)
        raise
    except StepwellError as error:
        if error.rejected is not None and "tenant_id" in error.rejected:
            with suppress(StepwellError):
                await perform.keep_reject(serving.pool, error.rejected, identity.token)
        raise
    finally:
        serving.request_count -= 1


async def _attempts(
    request: Request, terms: Terms, route: Route, serving: Serving, identity: Identity, opening: Opening
) -> Response:
    for attempt in range(1, ATTEMPT_LIMIT + 1):
        try:
            return await _once(request, terms, route, serving, identity, opening)
        except _ReplacedCaller:
            continue
        except DatabaseUnavailable as error:
            # The connection was cut, by a restart for example; nothing was committed.
            if attempt > 1 or not was_cut(error):
                raise
            await serving.pool.check()
        except DatabaseFailure as error:
            if error.sqlstate not in COLLISION_SQLSTATES or attempt == ATTEMPT_LIMIT:
                raise
            if opening.key is not None and error.sqlstate == LOCKED_SQLSTATE:
                raise ProblemError(
                    "key_in_use",
                    "a request with the same key is under way",
                    hint="repeat it after a moment",
                    field=f"header.{KEY_HEADER}",
                ) from error
            await asyncio.sleep(random.uniform(0.0, 0.02 * attempt))
    raise AssertionError("the last attempt returns or raises")


async def _once(
    request: Request, terms: Terms, route: Route, serving: Serving, identity: Identity, opening: Opening
) -> Response:
    async with BoundTransaction(serving.pool, requests.open_request(opening)) as transaction:
        known = serving.known(identity.digest)
        if known is None or opening.key is not None:
            opened = await transaction.open()
            known = _owner(opened)
            serving.remember(identity.digest, known)
            if (repeated := _repeated(opened)) is not None:
                return repeated
        request.scope["stepwell.caller"] = BoundCaller(
            known,
            identity.channel,
            language_of(request.headers),
            transaction,
            request.scope.get("stepwell.trace_id", ""),
        )
        try:
            response = await route(request)
        except (RequestValidationError, HTTPException, InvalidInput):
            # Who may not call it at all is told this first.
            await transaction.open()
            raise
        if _owner(await transaction.open()) != known:
            serving.forget(identity.digest)
            raise _ReplacedCaller
        if terms.writes:
            await _close(transaction, terms, opening, response)
    return response if terms.writes else _tagged(request, response)


def _owner(opened: Opened) -> Known:
    return Known(opened.tenant_id, opened.principal_id, opened.principal_name)


def _limited(request: Request, serving: Serving) -> Identity:
    """Identify the caller; each caller, and each address without a caller, comes so often at most."""
    address = request.client.host if request.client else "unknown"
    try:
        identity = identify(request)
    except ProblemError:
        refuse_too_many(serving.strangers.take(address))
        raise
    refuse_too_many(serving.callers.take(identity.digest))
    if serving.known(identity.digest) is None:
        refuse_too_many(serving.strangers.take(address))
    return identity


def refuse_too_many(wait_seconds: float) -> None:
    if wait_seconds:
        raise ProblemError(
            "too_many_requests",
            "this caller makes too many requests",
            hint="wait as long as Retry-After says",
            retry_after_seconds=wait_seconds,
        )


async def _idempotency(request: Request, terms: Terms) -> tuple[str | None, bytes | None]:
    """The key of a write and the digest of what is asked; a body is checked for odd text on the way."""
    key = request.headers.get(KEY_HEADER)
    if not terms.writes:
        return None, None
    body = await request.body()
    odd_text.check_body(body)
    if key is None or terms.takes_secret:
        return None, None
    if not _KEY.fullmatch(key):
        raise InvalidInput(
            f"{KEY_HEADER} is not accepted",
            hint="1 to 200 visible ASCII characters, such as a UUID",
            field=f"header.{KEY_HEADER}",
        )
    asked = f"{request.method} {request.url.path}?{request.url.query}\n".encode("utf-8", "replace")
    return key, hashlib.sha256(asked + body).digest()


async def _reach(request: Request, serving: Serving) -> None:
    """Wait until the log has reached `min_position`, so that a caller reads what it wrote."""
    asked = request.query_params.get("min_position")
    if asked is None:
        return
    if not _POSITION.fullmatch(asked):
        raise InvalidInput(
            "min_position is not a position",
            hint=f"give {POSITION_HEADER} of an earlier answer",
            field="query.min_position",
        )
    if not await positions.reach(serving.pool, int(asked)):
        raise ProblemError(
            "position_not_reached", f"position {asked} is not reached yet", field="query.min_position"
        )


def _repeated(opened: Opened) -> Response | None:
    """The answer of the first request with this key; None for the first one itself."""
    if opened.outcome == "new":
        return None
    if opened.outcome == "other":
        raise ProblemError(
            "key_reused",
            "the key belongs to a request with another path or body",
            hint="use a new key for each request, and the same one only to repeat it",
            field=f"header.{KEY_HEADER}",
        )
    if opened.answer is None:
        raise ProblemError("answer_not_kept", "the request was done, but its answer was too large to keep")
    headers = {POSITION_HEADER: opened.position or "0", REPLAYED_HEADER: "true"}
    return Response(
        opened.answer or None, opened.status or 200, headers, "application/json" if opened.answer else None
    )


async def _close(
    transaction: BoundTransaction[Opened], terms: Terms, opening: Opening, response: Response
) -> None:
    """Keep the answer, without what is shown once, and tell the position that was reached."""
    answer = bytes(response.body).decode() if opening.key is not None else None
    if answer and terms.secrets:
        answer = _without(json.loads(answer), terms.secrets)
    position = await transaction.perform(requests.close_request(opening.key, response.status_code, answer))
    response.headers[POSITION_HEADER] = position


def _without(answer: Any, secrets: tuple[str, ...]) -> str:
    return json.dumps({name: None if name in secrets else one for name, one in answer.items()})


def _tagged(request: Request, response: Response) -> Response:
    """A read has an ETag; who has the same one already gets no body."""
    body = getattr(response, "body", None)
    if response.status_code != 200 or not isinstance(body, bytes | memoryview):
        return response
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    response.headers["ETag"] = tag
    given = request.headers.get("If-None-Match", "")
    if given.strip() == "*" or tag in [one.strip().removeprefix("W/") for one in given.split(",")[:50]]:
        return Response(status_code=304, headers={"ETag": tag})
    return response


async def _note_refused(
    request: Request, serving: Serving, identity: Identity, error: PermissionDenied
) -> None:
    """A refused call is an event. Many refusals of one caller are told by fewer events with a count."""
    count = serving.unnoted.pop(identity.digest, 0) + 1
    if serving.refusals.take(identity.digest):
        if len(serving.unnoted) < 1_000:
            serving.unnoted[identity.digest] = count
        return
    route = request.scope.get("route")
    path = getattr(route, "path", request.url.path)
    try:
        await serving.perform_unbound(
            requests.note_refused(identity.token, f"{request.method} {path}", error.message, count)
        )
    except StepwellError as failed:
        _log.warning("a refused call could not be noted", path=path, error=str(failed))
