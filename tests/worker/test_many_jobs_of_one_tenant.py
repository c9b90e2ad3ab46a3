"""Very many jobs of one tenant do not delay the jobs of a small tenant, however long the queue is."""

from __future__ import annotations

import asyncio
import json

import psycopg
import pytest

import stepwell as sw
from stepwell.worker.ahead import LEASE_LIMIT
from stepwell.worker.exchange import BATCH_LIMIT
from tests.support.roles import client_app

FLOOD = 100_000
BATCH = 10_000
SLOTS = 50
SMALL_JOBS = 20
LIMIT_SECONDS = 280.0
ENQUEUE = "select fn_job_enqueue(%s, 'little', array[%s::jsonb])"


@pytest.mark.requirement("RT-04")
@pytest.mark.timeout(300)
def test_a_small_tenant_waits_only_for_jobs_that_are_already_leased(
    app: sw.App, dsn: str, db: psycopg.Connection
):
    """The wait of a small job is the number of other jobs that start between its enqueue and its start.

    The enqueue blocks the event loop of the worker: no job starts meanwhile, however slow the machine is.
    """
    small_id = db.execute("select fn_tenant_set('small')").fetchone()
    assert small_id is not None
    small = client_app(dsn, tenant="small")
    begun = 0
    waited: list[int] = []
    started = asyncio.Event()

    @app.operation
    async def flood() -> None:
        nonlocal begun
        begun += 1

    @app.operation
    @small.operation
    async def little(begun_before: int) -> None:
        waited.append(begun - begun_before)
        started.set()

    async def scenario() -> None:
        async with asyncio.timeout(LIMIT_SECONDS), app, small:
            for _ in range(FLOOD // BATCH):
                await app.enqueue_many("flood", [{}] * BATCH)
            async with sw.Worker(app, slots=SLOTS):
                for _ in range(SMALL_JOBS):
                    payload = json.dumps({"begun_before": begun})
                    db.execute(ENQUEUE, (small_id[0], payload))
                    await started.wait()
                    started.clear()

    asyncio.run(scenario())
    assert len(waited) == SMALL_JOBS
    assert begun < FLOOD, "the other jobs ended before those of the small tenant"
    # Short handlers are leased ahead: so many are leased. Claims under way, which do not see the job yet,
    # replace them once. Then the job comes with a batch, in any place of it.
    assert max(waited) <= 2 * LEASE_LIMIT + BATCH_LIMIT
