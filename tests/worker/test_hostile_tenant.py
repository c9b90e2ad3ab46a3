"""A tenant that does harm takes nothing from the tenant beside it; all that it started ends too.

First the other tenant takes all that it can get; then it asks for half of that, its share of two. It does so
alone and beside the hostile tenant, in turns: what else the machine does counts on both sides. Each tenant
has a worker process.
"""

from __future__ import annotations

import asyncio
import logging
import os
from dataclasses import dataclass, field

import psycopg
import pytest

import stepwell as sw
from stepwell.testing import check_invariants
from tests.sql.drive import Engine
from tests.support.roles import client_app
from tests.worker import hostile_worker
from tests.worker.hostile_tenant import HostileTenant, declare, prepare

# `make chaos` sets it to half an hour, and asks for the share of throughput as well.
SECONDS = float(os.environ.get("STEPWELL_SOAK_SECONDS", "0"))
TURNS = 6 if SECONDS else 1
FULL_SECONDS = SECONDS / TURNS / 15 or 0.5
ALONE_SECONDS = FULL_SECONDS * 4
BESIDE_SECONDS = FULL_SECONDS * (10 if SECONDS else 20)
ROUND_SECONDS = 0.25
RUNS_UNDER_WAY = 16
LEAST_SHARE = 0.8
DRAIN_SECONDS = 300.0

LOG = logging.getLogger(__name__)


@dataclass
class Honest:
    """The other tenant: starts runs and counts those that have completed."""

    app: sw.App
    completed: int = 0
    rates: dict[str, list[float]] = field(default_factory=lambda: {"full": [], "alone": [], "beside": []})

    def declare(self) -> None:
        @self.app.operation
        async def work(n: int) -> int:
            return n + 1

        steps = [sw.Operation("work", id=f"s{n}", inputs={"n": "$.input.n"}) for n in range(4)]
        self.app.publish(sw.Workflow("honest", sw.Sequential(*steps)))

    async def take_all(self, seconds: float) -> None:
        """Always has the same number of runs under way."""
        ends_at = asyncio.get_running_loop().time() + seconds

        async def go_on() -> None:
            while asyncio.get_running_loop().time() < ends_at:
                await self._follow(await self.app.start("honest", {"n": 1}))

        before = self.completed
        await asyncio.gather(*(go_on() for _ in range(RUNS_UNDER_WAY)))
        self.rates["full"].append((self.completed - before) / seconds)

    async def ask_for_half(self, seconds: float, where: str) -> None:
        """Starts runs at half of the pace that it had; notes the runs that completed for each second."""
        loop = asyncio.get_running_loop()
        begun_at, before, started = loop.time(), self.completed, 0
        following: set[asyncio.Task[None]] = set()
        while (spent := loop.time() - begun_at) < seconds:
            next_round = loop.create_future()
            loop.call_later(ROUND_SECONDS, next_round.set_result, None)
            due = int((spent + ROUND_SECONDS) * self.rates["full"][-1] / 2) - started
            if due > 0:
                handles = await self.app.start_many("honest", [{"n": 1}] * due)
                following |= {asyncio.create_task(self._follow(handle)) for handle in handles}
                started += due
            await next_round
        self.rates[where].append((self.completed - before) / (loop.time() - begun_at))
        if following:
            await asyncio.wait_for(asyncio.gather(*following), DRAIN_SECONDS)

    async def _follow(self, handle: sw.RunHandle) -> None:
        await handle.result()
        self.completed += 1

    def share(self) -> float:
        return sum(self.rates["beside"]) / sum(self.rates["alone"])


async def until_all_ended(db: psycopg.Connection) -> None:
    """The hostile tenant may have more work than its share of the machine; stuck is what never ends."""
    opened = "select count(*) from run_detail where finished_at is null"
    while (open_count := Engine(db).one(opened)) > 0:
        async with asyncio.timeout(DRAIN_SECONDS):
            while Engine(db).one(opened) >= open_count:
                await asyncio.to_thread(db.execute, "select pg_sleep(0.1)")


@pytest.mark.timeout(1200 + 3 * SECONDS)
@pytest.mark.parametrize("seed", [1])
def test_a_hostile_tenant_takes_nothing_from_the_other(app: sw.App, dsn: str, db, seed: int):
    db.execute("select fn_tenant_set('honest')")
    honest = Honest(client_app(dsn, tenant="honest"))
    declare(app)
    honest.declare()

    async def scenario() -> None:
        async with app, honest.app, sw.Worker(honest.app):
            workflows = await asyncio.to_thread(prepare, Engine(db))
            for turn in range(TURNS):
                await honest.take_all(FULL_SECONDS)
                await honest.ask_for_half(ALONE_SECONDS, "alone")
                with HostileTenant(dsn, seed + turn, workflows) as hostile:
                    await honest.ask_for_half(BESIDE_SECONDS, "beside")
                await until_all_ended(db)
                LOG.info("honest runs/s: %s; hostile: %s", honest.rates, dict(hostile.counts))

    with hostile_worker.running(dsn):
        asyncio.run(scenario())
    assert honest.completed == Engine(db).one(
        "select count(*) from run_detail as r inner join tenant as t using (tenant_id)"
        " where t.tenant_code = 'honest' and r.finished_state = 'completed'"
    )
    # No report was refused: whatever failed failed by itself.
    assert Engine(db).one("select count(*) from unit_failure where error ->> 'type' = 'ReportRefused'") == 0
    assert Engine(db).one("select deadlocks from pg_stat_database where datname = current_database()") == 0
    assert check_invariants(dsn) == []
    if SECONDS:
        assert honest.share() >= LEAST_SHARE, honest.rates
