"""A flood of one tenant: a small tenant's jobs are taken in turn, however long the queue before them is."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

import stepwell as sw

FLOOD = 100_000
BATCH = 10_000
SLOTS = 50
SMALL_JOBS = 20
LIMIT_SECONDS = 100.0


@pytest.mark.requirement("RT-04")
def test_a_small_tenant_waits_for_no_more_than_what_is_leased(app: sw.App, dsn: str, db: psycopg.Connection):
    """The wait is counted in jobs of the flood that begin between the two moments of a small job."""
    db.execute("select fn_tenant_set('small')")
    small = sw.App(database_url=dsn, tenant="small")
    begun = 0
    waited: list[int] = []

    @app.operation
    async def flood() -> None:
        nonlocal begun
        begun += 1

    @app.operation
    @small.operation
    async def little(begun_before: int) -> None:
        waited.append(begun - begun_before)

    async def scenario() -> None:
        async with asyncio.timeout(LIMIT_SECONDS), app, small:
            for _ in range(FLOOD // BATCH):
                await app.enqueue_many("flood", [{}] * BATCH)
            async with sw.Worker(app, slots=SLOTS):
                for _ in range(SMALL_JOBS):
                    job = await small.enqueue("little", {"begun_before": begun})
                    await job.result()

    asyncio.run(scenario())
    assert len(waited) == SMALL_JOBS
    assert begun < FLOOD, "the flood ended before the small tenant had its turns"
    # Leased: the slots, and a batch each that the worker's two connections had asked for before.
    assert max(waited) <= 4 * SLOTS
