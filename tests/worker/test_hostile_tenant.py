"""A tenant that does harm takes nothing from the tenant beside it; all that it started ends too."""

from __future__ import annotations

import asyncio
import logging
import os
from dataclasses import dataclass

import psycopg
import pytest

import stepwell as sw
from stepwell.testing import check_invariants
from tests.sql.drive import Engine
from tests.worker.hostile_tenant import HostileTenant, declare, prepare

# `make chaos` sets it to half an hour, and asks for the share of throughput as well.
SECONDS = float(os.environ.get("STEPWELL_SOAK_SECONDS", "0"))
BESIDE_SECONDS = SECONDS or 10.0
ALONE_SECONDS = SECONDS / 6 or 1.0
ROUND_SECONDS = 0.5
RUNS_PER_ROUND = 10
LEAST_SHARE = 0.8
DRAIN_SECONDS = 300.0

LOG = logging.getLogger(__name__)


@dataclass
class Honest:
    """The other tenant: starts runs at a steady pace and counts those that have completed."""

    app: sw.App
    completed: int = 0
    started: int = 0

    def declare(self) -> None:
        @self.app.operation
        async def work(n: int) -> int:
            return n + 1

        steps = [sw.Operation("work", id=f"s{n}", inputs={"n": "$.input.n"}) for n in range(4)]
        self.app.publish(sw.Workflow("honest", sw.Sequential(*steps)))

    async def run_for(self, seconds: float) -> float:
        """Returns runs completed for each second of the time."""
        loop = asyncio.get_running_loop()
        begun_at, completed = loop.time(), self.completed
        waiting: set[asyncio.Task[None]] = set()
        while loop.time() - begun_at < seconds:
            next_round = loop.create_future()
            loop.call_later(ROUND_SECONDS, next_round.set_result, None)
            handles = await self.app.start_many("honest", [{"n": 1}] * RUNS_PER_ROUND)
            self.started += len(handles)
            waiting |= {asyncio.create_task(self._follow(handle)) for handle in handles}
            await next_round
        rate = (self.completed - completed) / (loop.time() - begun_at)
        if waiting:
            await asyncio.wait_for(asyncio.gather(*waiting), DRAIN_SECONDS)
        return rate

    async def _follow(self, handle: sw.RunHandle) -> None:
        await handle.result()
        self.completed += 1


def open_runs(db: psycopg.Connection) -> int:
    return Engine(db).one("select count(*) from run_detail where finished_at is null")


@pytest.mark.timeout(1200 + 3 * SECONDS)
@pytest.mark.parametrize("seed", [1])
def test_a_hostile_tenant_takes_nothing_from_the_other(app: sw.App, dsn: str, db, seed: int):
    db.execute("select fn_tenant_set('honest')")
    honest = Honest(sw.App(database_url=dsn, tenant="honest"))
    declare(app)
    honest.declare()

    async def scenario() -> tuple[float, float]:
        async with app, honest.app, sw.Worker(app), sw.Worker(honest.app):
            workflows = await asyncio.to_thread(prepare, Engine(db))
            alone = await honest.run_for(ALONE_SECONDS)
            with HostileTenant(dsn, seed, workflows) as hostile:
                beside = await honest.run_for(BESIDE_SECONDS)
            LOG.info("honest runs/s: alone %.1f, beside %.1f; %s", alone, beside, dict(hostile.counts))
            async with asyncio.timeout(DRAIN_SECONDS):
                while open_runs(db):
                    await asyncio.to_thread(db.execute, "select pg_sleep(0.1)")
            return alone, beside

    alone, beside = asyncio.run(scenario())
    assert honest.completed == honest.started
    assert Engine(db).one("select deadlocks from pg_stat_database where datname = current_database()") == 0
    assert check_invariants(dsn) == []
    if SECONDS:
        assert beside >= LEAST_SHARE * alone
