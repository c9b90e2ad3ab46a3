"""`attempt` is the number of the attempt that is under way or was the last: in every view and in Python."""

from __future__ import annotations

import asyncio

from stepwell.client import Client
from tests.sql.drive import Engine, Lease, operation

FAILED = {"error": {"type": "ConnectionError", "message": "no answer"}, "failure_class": "connection"}


def numbers(engine: Engine) -> set[int]:
    """The number of the attempt in the view of steps and in the view of jobs."""
    rows = engine.db.execute(
        "select s.attempt, j.attempt from step_run as s inner join job_queue as j on s.step_run_id = j.job_id"
    ).fetchall()
    return {number for row in rows for number in row}


def claimed(engine: Engine, session_key: int) -> Lease:
    (lease,) = engine.claim(session_key)
    return lease


def test_the_number_counts_the_attempt_that_is_under_way_or_was_the_last(engine: Engine, dsn: str):
    engine.publish("w", operation("call", retry={"max_attempts": 3, "initial_seconds": 0.001}))
    run_id = engine.start("w")
    session_key = engine.worker()
    assert numbers(engine) == {0}
    lease = claimed(engine, session_key)
    assert numbers(engine) == {1} == {lease.attempt}
    engine.report(session_key, (lease, "failed", FAILED))
    assert numbers(engine) == {1}
    engine.db.execute("select fn_job_retry(1, %s, 'cli:test')", (lease.unit_id,))
    lease = claimed(engine, session_key)
    assert numbers(engine) == {2} == {lease.attempt}
    engine.complete(session_key, lease)
    assert numbers(engine) == {2}

    async def in_python() -> list[int]:
        client = await Client.connect(dsn)
        try:
            return [step.attempt for step in await (await client.find_run(run_id)).steps()]
        finally:
            await client.close()

    assert asyncio.run(in_python()) == [2]


def test_a_lost_lease_counts_and_a_dead_letter_has_the_number_of_its_last_attempt(engine: Engine):
    (job_id,) = engine.enqueue("mail", p_max_attempts=2)
    lost = engine.worker("lost")
    claimed(engine, lost)
    engine.db.execute("update worker_session set expires_at = stepwell.now() - interval '1 hour'")
    engine.db.execute("select fn_leases_recover()")
    query = "select attempt from job_queue where job_id = %s"
    assert engine.one(query, (job_id,)) == 1
    session_key = engine.worker()
    engine.kill(session_key, claimed(engine, session_key))
    assert engine.one(query, (job_id,)) == 2
    assert engine.one("select attempt from v_dead_letter") == 2
