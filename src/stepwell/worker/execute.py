"""Run one handler: receives a lease, hands on one report. Knows no database.

Bind the arguments, call (coroutine, thread or process), judge what came back, encode it.
"""

from __future__ import annotations

import asyncio
import json
import os
import traceback
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

from stepwell.define.duration import parse_duration
from stepwell.errors import InvalidInput, LeaseLost, StepwellError
from stepwell.handlers import Handler
from stepwell.outcome import Completed, Dead, OutcomeKind, TryAgain, Waiting
from stepwell.store.leases import Lease, Report
from stepwell.worker.context import Context, Parked

MESSAGE_LIMIT = 2_000
TRACE_LIMIT = 8_000

Judged = tuple[OutcomeKind, str | None]


class HandlerTimeout(StepwellError):
    """The handler outlived its time limit."""

    code = "handler_timeout"


class Executor:
    """Runs handlers. Threads and processes are made when the first handler needs them."""

    def __init__(self, handlers: Mapping[str, Handler], slot_count: int) -> None:
        self._handlers = handlers
        self._slot_count = slot_count
        self._threads: ThreadPoolExecutor | None = None
        self._processes: ProcessPoolExecutor | None = None

    async def execute(self, lease: Lease, context: Context) -> Report | None:
        """None when there is nothing to report: the unit is not ours any more."""
        try:
            kind, body = await self._judge(lease, context)
        except LeaseLost:
            if not context.cancelled:
                raise
            return None
        return Report(lease.tenant_id, lease.unit_id, lease.lease_no, kind, body)

    async def _judge(self, lease: Lease, context: Context) -> Judged:
        handler = self._handlers.get(lease.operation_name)
        if handler is None:
            # Another worker may know it (a release in progress): a failure like any other, with its retries.
            return _failed("NoHandler", f"this worker has no handler for operation {lease.operation_name}")
        try:
            arguments = handler.bind(_given(lease))
            value = await self._call(handler, arguments, context, lease.timeout_seconds)
            return _encode(handler, value)
        except Parked as parked:
            return OutcomeKind.SLEEP, json.dumps({"seconds": parked.seconds, "checkpoint": parked.checkpoint})
        except InvalidInput as error:
            return OutcomeKind.DEAD, _error_body(error, "invalid_input")
        except LeaseLost:
            raise
        except HandlerTimeout as error:
            return OutcomeKind.FAILED, _error_body(error, "timeout")
        except Exception as error:
            return OutcomeKind.FAILED, _error_body(error)

    async def _call(
        self, handler: Handler, arguments: dict[str, Any], context: Context, timeout_seconds: float | None
    ) -> Any:
        if handler.takes_context:
            arguments[handler.context_name] = context
        if handler.is_async and timeout_seconds is None:
            return await handler.function(**arguments)
        try:
            async with asyncio.timeout(timeout_seconds) as limit:
                if handler.is_async:
                    return await handler.function(**arguments)
                return await self._call_apart(handler, arguments)
        except TimeoutError as error:
            if limit.expired():
                raise HandlerTimeout(f"the handler ran longer than {timeout_seconds:g} s") from error
            raise

    async def _call_apart(self, handler: Handler, arguments: dict[str, Any]) -> Any:
        loop = asyncio.get_running_loop()
        if handler.executor == "process":
            if self._processes is None:
                self._processes = ProcessPoolExecutor(max_workers=min(self._slot_count, _cores()))
            return await loop.run_in_executor(self._processes, call_by_name, handler.function, arguments)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._slot_count, thread_name_prefix="stepwell-handler")
        return await loop.run_in_executor(self._threads, call_by_name, handler.function, arguments)

    def close(self) -> None:
        """Does not wait: a thread that is still busy ends with the process."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        if self._processes is not None:
            self._processes.shutdown(wait=False, cancel_futures=True)


def call_by_name(function: Any, arguments: dict[str, Any]) -> Any:
    return function(**arguments)


def _given(lease: Lease) -> dict[str, Any]:
    if lease.bound_input is None:
        return lease.input or {}
    return {**(lease.input or {}), **lease.bound_input}


def _encode(handler: Handler, value: Any) -> Judged:
    match value:
        case Waiting(event=event, timeout=timeout, outbound=outbound):
            body: dict[str, Any] = {
                "event": event,
                "outbound": [{"type": item.type, "payload": dict(item.payload)} for item in outbound],
            }
            if timeout is not None:
                body["seconds"] = parse_duration(timeout, "timeout")
            return OutcomeKind.WAITING, json.dumps(body)
        case TryAgain(after=after, reason=reason):
            body = {"error": {"type": "TryAgain", "message": reason}}
            if after is not None:
                body["delay_seconds"] = parse_duration(after, "after", zero=True)
            return OutcomeKind.RETRY, json.dumps(body)
        case Dead(reason=reason):
            return OutcomeKind.DEAD, json.dumps({"error": {"type": "Dead", "message": reason}})
        case Completed(value=inner):
            return OutcomeKind.COMPLETED, handler.encode(inner)
        case _:
            return OutcomeKind.COMPLETED, handler.encode(value)


def _failed(kind: str, message: str) -> Judged:
    return OutcomeKind.FAILED, json.dumps({"error": {"type": kind, "message": message}})


def _error_body(error: Exception, failure_class: str | None = None) -> str:
    """The failure as the database keeps it. Locals are never rendered: they may hold secrets."""
    lines = traceback.format_exception(error)
    body: dict[str, Any] = {
        "error": {
            "type": type(error).__name__,
            "message": str(error)[:MESSAGE_LIMIT],
            "traceback": "".join(lines)[-TRACE_LIMIT:],
        }
    }
    if failure_class is not None:
        body["failure_class"] = failure_class
    return json.dumps(body)


def _cores() -> int:
    return os.cpu_count() or 1
