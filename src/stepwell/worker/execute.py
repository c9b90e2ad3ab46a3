"""Run one handler: receives a lease, returns one report. Asks its worker for what needs the database.

It binds the arguments, calls the handler (coroutine, thread or process) and encodes its outcome.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from stepwell import json_text, redaction
from stepwell.connectors.base import EffectRefused, EffectUnavailable, EffectUnknown
from stepwell.define.duration import parse_duration
from stepwell.errors import InvalidInput, LeaseLost, StepwellError
from stepwell.govern.actions import Awaiting
from stepwell.handlers import Handler
from stepwell.outcome import Completed, Dead, OutcomeKind, RetryLater, Waiting
from stepwell.store.calls.leases import Lease, Report
from stepwell.worker.context import Context, Parked
from stepwell.worker.handler_pools import HandlerPools
from stepwell.worker.served import EVALUATE, REFRESH

MESSAGE_LIMIT = 2_000
TRACE_LIMIT = 8_000
# Above every limit of the database: of a larger result only the size is sent.
SEND_LIMIT_BYTES = 64 * 1024 * 1024

Judged = tuple[OutcomeKind, str | None]
_OUTCOMES = (Waiting, RetryLater, Dead, Completed)


class NoHandler(Exception):
    """This worker has no handler for the operation."""


class HandlerTimeout(StepwellError):
    """The handler ran longer than its time limit."""

    code = "handler_timeout"


class Executor:
    """Runs handlers: coroutines on the event loop, the others in a thread or a process.

    `evaluate` asks the database for the costly expressions of a lease: their value or their problem; and for
    a refresh of job workflows.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        pools: HandlerPools,
        evaluate: Callable[[Lease], Awaitable[dict[str, Any]]],
    ) -> None:
        self._handlers = handlers
        self._pools = pools
        self._evaluate = evaluate

    async def execute(self, lease: Lease, context: Context) -> Report | None:
        """The report; None if this worker has lost the lease. Raises NoHandler."""
        handler = self._handlers.get(lease.operation_name)
        if handler is None and lease.operation_name not in (EVALUATE, REFRESH):
            raise NoHandler(lease.operation_name)
        try:
            kind, body = await self._judge(handler, lease, context)
        except LeaseLost:
            if not context.cancelled:
                raise
            return None
        if body is not None and len(body) > SEND_LIMIT_BYTES:
            kind, body = OutcomeKind.OVERSIZED, str(len(body.encode()))
        return Report(lease.tenant_id, lease.unit_id, lease.lease_no, kind, body)

    async def _judge(self, handler: Handler | None, lease: Lease, context: Context) -> Judged:
        try:
            if handler is None:
                found = await self._evaluate(lease)
                if lease.operation_name == EVALUATE:
                    return OutcomeKind.EVALUATED, json_text.encode(found, "value")
                return OutcomeKind.COMPLETED, json_text.encode(found, "result")
            if lease.bound_input is not None:
                if isinstance(lease.bound_input, list):
                    found = await self._evaluate(lease)
                    lease = lease._replace(bound_input=found.get("problem", found.get("value")))
                if isinstance(lease.bound_input, str):
                    return OutcomeKind.DEAD, _unbound_body(lease.bound_input)
            arguments = handler.bind(_given(lease))
            if handler.takes_context:
                arguments[handler.context_name] = context
            if handler.is_async and lease.timeout_seconds is None:
                value = await handler.function(**arguments)
            else:
                value = await self._call_with_limit(handler, arguments, lease.timeout_seconds)
            return _encode(handler, value)
        except Parked as parked:
            asleep = {"seconds": parked.seconds, "checkpoint": parked.checkpoint}
            return OutcomeKind.SLEEP, json_text.encode(asleep, "sleep")
        except Awaiting as awaiting:
            asked = {"event": awaiting.event, "facet": "waiting_human", "approval_id": awaiting.approval_id}
            limited = {} if awaiting.seconds is None else {"seconds": awaiting.seconds}
            return OutcomeKind.WAITING, json_text.encode(asked | limited, "outcome")
        except InvalidInput as error:
            return OutcomeKind.DEAD, _error_body(error, "invalid_input")
        except LeaseLost:
            raise
        except HandlerTimeout as error:
            return OutcomeKind.FAILED, _error_body(error, "timeout")
        except (Exception, SystemExit) as error:
            # sys.exit in a handler is a failed attempt; it must not end the worker.
            return OutcomeKind.FAILED, _error_body(error, _class_of(error))

    async def _call_with_limit(
        self, handler: Handler, arguments: dict[str, Any], timeout_seconds: float | None
    ) -> Any:
        try:
            async with asyncio.timeout(timeout_seconds) as limit:
                if handler.is_async:
                    return await handler.function(**arguments)
                return await self._call_in_pool(handler, arguments)
        except TimeoutError as error:
            if limit.expired():
                raise HandlerTimeout(f"the handler ran longer than {timeout_seconds:g} s") from error
            raise

    async def _call_in_pool(self, handler: Handler, arguments: dict[str, Any]) -> Any:
        if handler.executor == "process":
            return await self._pools.in_process(handler.function, arguments)
        return await self._pools.in_thread(handler.function, arguments)


def _given(lease: Lease) -> dict[str, Any]:
    if lease.bound_input is None or not isinstance(lease.bound_input, dict):
        return lease.input or {}
    return {**(lease.input or {}), **lease.bound_input}


def _unbound_body(reason: str) -> str:
    """The database could not evaluate the inputs of the step, so no handler runs."""
    error = {"type": "ExpressionError", "message": reason}
    return json_text.encode({"failure_class": "expression_error", "error": error}, "outcome")


def _encode(handler: Handler, value: Any) -> Judged:
    # Most handlers return a plain value.
    if not isinstance(value, _OUTCOMES):
        return OutcomeKind.COMPLETED, handler.encode(value)
    match value:
        case Waiting(event=event, timeout=timeout, outbound=outbound, facets=facets):
            body: dict[str, Any] = {
                "event": event,
                "outbound": [{"type": item.type, "payload": dict(item.payload)} for item in outbound],
            }
            if facets:
                body["facets"] = list(facets)
            if timeout is not None:
                body["seconds"] = parse_duration(timeout, "timeout")
            return OutcomeKind.WAITING, json_text.encode(body, "outcome")
        case RetryLater(after=after, reason=reason):
            body = {"error": {"type": "RetryLater", "message": redaction.text(reason)}}
            if after is not None:
                body["delay_seconds"] = parse_duration(after, "after", zero=True)
            return OutcomeKind.RETRY, json_text.encode(body, "outcome")
        case Dead(reason=reason):
            dead = {"error": {"type": "Dead", "message": redaction.text(reason)}}
            return OutcomeKind.DEAD, json_text.encode(dead, "dead")
        case Completed(value=inner):
            return OutcomeKind.COMPLETED, handler.encode(inner)


def _error_body(error: BaseException, failure_class: str | None = None) -> str:
    """The failure as the database stores it. It never contains local variables: they may hold secrets."""
    lines = traceback.format_exception(error)
    body: dict[str, Any] = {
        "error": {
            "type": type(error).__name__,
            "message": _storable(redaction.text(str(error)))[:MESSAGE_LIMIT],
            "traceback": _storable(redaction.text("".join(lines)))[-TRACE_LIMIT:],
        }
    }
    if failure_class is not None:
        body["failure_class"] = failure_class
    if isinstance(error, EffectUnavailable) and error.retry_after_seconds is not None:
        body["delay_seconds"] = error.retry_after_seconds
    return json_text.encode(body, "outcome")


def _class_of(error: BaseException) -> str | None:
    """The failure class of an error of a connector; the database classifies other errors by their name."""
    match error:
        case EffectRefused():
            return "effect_refused"
        case EffectUnavailable():
            return "effect_unavailable"
        case EffectUnknown():
            return "effect_unknown"
        case _:
            return None


def _storable(text: str) -> str:
    """Replace U+0000 and half surrogate pairs, which Postgres cannot store."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
