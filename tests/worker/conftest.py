"""Fixtures of the worker tests: an app on the test's database, a runner for a scenario, a clock to move."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

import stepwell as sw
from stepwell.store.calls.keep import leading
from stepwell.testing import check_invariants
from tests.support.clock import Clock
from tests.support.roles import client_app
from tests.worker.acting import Ledger

Scenario = Callable[[], Awaitable[Any]]
LIMIT_SECONDS = 60.0


@pytest.fixture
def app(dsn: str) -> sw.App:
    """An app without operations; each test declares its own. Client, workers and keepers have their roles.

    What only the owner may do (set people and policies, move the clock, read tables) is done with `db`.
    """
    return client_app(dsn)


@pytest.fixture
def play(app: sw.App, dsn: str) -> Iterator[Callable[[Scenario], Any]]:
    """Runs a coroutine with the app connected; at the end of the test every invariant must hold."""

    def run(scenario: Scenario) -> Any:
        async def whole() -> Any:
            async with asyncio.timeout(LIMIT_SECONDS), app:
                return await scenario()

        return asyncio.run(whole())

    yield run
    assert check_invariants(dsn) == []


class Turn:
    """Moves the clock and then does the work of a keeper."""

    def __init__(self, db: psycopg.Connection[Any], clock: Clock) -> None:
        self._db = db
        self._clock = clock

    def on(self, *, keep_sessions: bool = True, **amount: float) -> None:
        """Moves the clock. Sessions do not expire unless `keep_sessions` is False."""
        passed = timedelta(**amount)
        self._db.execute("select fn_partitions_ensure(stepwell.now() + %s)", (passed,))
        if keep_sessions:
            self._db.execute(
                "update worker_session set expires_at = expires_at + %s where closed_at is null", (passed,)
            )
        self._clock.advance(passed)
        self.keep()

    def keep(self) -> None:
        self._db.execute("select fn_timers_fire()")
        self._db.execute("select fn_leases_recover()")


@pytest.fixture
def turn(dsn: str, db: psycopg.Connection[Any], clock: Clock) -> Iterator[Turn]:
    """Holds the keeper's lock: the keepers of workers do nothing, and the test fires the timers."""
    with leading(dsn):
        yield Turn(db, clock)


@pytest.fixture
def ledger(app: sw.App, tmp_path: Path) -> Ledger:
    """A connector of the app whose effects can be counted."""
    return app.connector(Ledger(tmp_path / "ledger"))


@pytest.fixture
def acts(app):
    """Publishes a workflow of one step that makes the calls of its input and returns their results."""

    @app.operation(retry=sw.Retry(max_attempts=4, initial="1s"))
    async def book(ctx: sw.Context, calls: list[dict]):
        return [
            await ctx.act("ledger", call.get("op", "put"), call.get("target", "A"), call.get("fields", {}),
                key=call.get("key"))
            for call in calls
        ]  # fmt: skip

    app.publish(sw.Workflow("one", sw.Operation("book")))

    async def start(*calls, **options):
        return await app.start("one", {"calls": list(calls)}, **options)

    return start
