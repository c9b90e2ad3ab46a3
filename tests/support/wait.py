"""Waits for events, never for time: receives a question, returns its answer or fails with a reason."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import psycopg

LIMIT_SECONDS = 60.0
PAUSE_SECONDS = 0.02

T = TypeVar("T")


def until(question: Callable[[], T], *, limit_seconds: float = LIMIT_SECONDS, what: str | None = None) -> T:
    """Asks until the answer is true, and returns it. The limit only ends a test that hangs."""
    deadline = time.monotonic() + limit_seconds
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(
                f"{what or _name(question)} did not become true, the last answer was {answer!r}"
            )
        time.sleep(PAUSE_SECONDS)


async def until_async(
    question: Callable[[], T | Awaitable[T]], *, limit_seconds: float = LIMIT_SECONDS, what: str | None = None
) -> T:
    """The same as `until`, inside an event loop; the question may be a coroutine function."""
    deadline = time.monotonic() + limit_seconds
    while True:
        found = question()
        answer: Any = await found if inspect.isawaitable(found) else found
        if answer:
            return answer  # type: ignore[no-any-return]
        if time.monotonic() > deadline:
            raise AssertionError(
                f"{what or _name(question)} did not become true, the last answer was {answer!r}"
            )
        await asyncio.sleep(PAUSE_SECONDS)


def until_row(
    connection: psycopg.Connection[Any],
    query: str,
    params: Any = None,
    *,
    limit_seconds: float = LIMIT_SECONDS,
) -> Any:
    """Asks the database until the query gives a row whose first column is true; returns the row."""

    def ask() -> Any:
        row = connection.execute(query, params).fetchone()
        return row if row and row[0] else None

    return until(ask, limit_seconds=limit_seconds, what=query)


def notification(
    connection: psycopg.Connection[Any], *, limit_seconds: float = LIMIT_SECONDS
) -> psycopg.Notify:
    """Waits for the next NOTIFY of a connection that listens."""
    for notify in connection.notifies(timeout=limit_seconds, stop_after=1):
        return notify
    raise AssertionError(f"no notification within {limit_seconds} seconds")


def until_blocked(
    connection: psycopg.Connection[Any], backend_pid: int, *, limit_seconds: float = LIMIT_SECONDS
) -> None:
    """Waits until this backend waits for a lock; then an interleaving test can continue."""
    query = "select cardinality(pg_blocking_pids(%s)) > 0"
    until_row(connection, query, (backend_pid,), limit_seconds=limit_seconds)


def _name(question: object) -> str:
    return getattr(question, "__qualname__", repr(question))
