"""Cut connections, lost answers and refused reports: the worker recovers, and no lease is left."""

from __future__ import annotations

import asyncio

import pytest

import stepwell as sw
from stepwell.store.calls import leases
from stepwell.store.calls.leases import LeaseCalls
from tests.support.wait import until_async

WATCHED = "select exists (select from run_detail where is_watched)"


def cut_all(db) -> int:
    """Ends every connection of workers, as a failing network or a restarted server would."""
    return db.execute(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid()"
    ).fetchone()[0]


def events(db, kind: str) -> int:
    return db.execute("select count(*) from event_log where event_type = %s", (kind,)).fetchone()[0]


@pytest.mark.requirement("JW-11")
def test_after_cut_connections_each_step_is_completed_once(app, play, db):
    began = asyncio.Event()
    may_end = asyncio.Event()
    saved = []

    @app.operation
    async def act(ctx: sw.Context):
        began.set()
        await may_end.wait()
        await ctx.step("mark", lambda: saved.append(1))
        return "done"

    app.publish(sw.Workflow("two", sw.Sequential(sw.Operation("act"), sw.Operation("act", id="then"))))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("two")
            await began.wait()
            waits = [asyncio.create_task(wait) for wait in (run.result(), app.wait([run]))]
            await until_async(lambda: db.execute(WATCHED).fetchone()[0])
            assert cut_all(db) >= 3
            may_end.set()
            await until_async(lambda: events(db, "workflow.completed") == 1)
            result, waited = await asyncio.gather(*waits)
            assert result == "done"
            assert [each.state for each in waited.ended] == ["completed"]
            cut_all(db)
            assert await run.result() == "done"

    play(scenario)
    assert saved == [1, 1]
    assert events(db, "step.completed") == 2
    assert db.execute("select count(*) from unit_failure").fetchone() == (0,)


def test_leases_of_a_lost_claim_answer_are_read_and_released(app, play, db, monkeypatch):
    """The claim commits, and the connection breaks before its answer arrives."""
    done = []
    lost = []
    real = LeaseCalls.claim

    async def claim_and_lose(calls, session_key, limit):
        rows = await real(calls, session_key, limit)
        if rows and not lost:
            lost.extend(rows)
            await calls.close()
            raise sw.DatabaseUnavailable("the answer was lost")
        return rows

    monkeypatch.setattr(LeaseCalls, "claim", claim_and_lose)

    @app.operation
    async def act(n: int):
        done.append(n)

    async def scenario():
        jobs = await app.enqueue_many("act", [{"n": n} for n in range(5)])
        async with sw.Worker(app, slots=2):
            for job in jobs:
                await job.result()

    play(scenario)
    assert lost
    assert sorted(done) == list(range(5))
    assert db.execute("select max(attempt_count) from work_unit").fetchone() == (0,)
    assert events(db, "step.released") + events(db, "job.released") == len(lost)


def test_a_report_whose_answer_was_lost_counts_once(app, play, db, monkeypatch):
    real = LeaseCalls.report_and_claim
    lost = []

    async def report_and_lose(calls, session_key, reports, limit, *, locks_up=False):
        rows = await real(calls, session_key, reports, limit)
        if not lost:
            lost.extend(reports)
            await calls.close()
            raise sw.DatabaseUnavailable("the answer was lost")
        return rows

    monkeypatch.setattr(LeaseCalls, "report_and_claim", report_and_lose)

    @app.operation
    async def act():
        return "done"

    steps = [sw.Operation("act", id=f"s{n}") for n in range(4)]
    app.publish(sw.Workflow("chain", sw.Sequential(*steps)))

    async def scenario():
        async with sw.Worker(app):
            assert await (await app.start("chain")).result() == "done"

    play(scenario)
    assert len(lost) == 1
    assert events(db, "step.completed") == 4


def test_a_heartbeat_includes_leases_that_wait_for_their_report(app, play, db, dsn, turn):
    """A lease whose handler has ended and whose report waits must be recovered if the worker dies then."""
    ended = asyncio.Event()

    @app.operation
    async def act():
        ended.set()
        return "done"

    app.publish(sw.Workflow("one", sw.Operation("act")))

    async def scenario():
        async with sw.Worker(app) as worker:
            # The report needs the lock of the run, which this transaction holds.
            with db.transaction():
                run = await app.start("one")
                await ended.wait()
                db.execute("select from run_progress where run_id = %s for update", (run.id,))
                await worker.beat()
                leased = db.execute(
                    "select unit_ids from worker_lease order by batch_id desc limit 1"
                ).fetchone()
            assert await run.result() == "done"
            return leased, run.id

    leased, run_id = play(scenario)
    assert leased == ([(run_id << 20) + 1],)


def test_a_report_that_the_database_refuses_does_not_affect_others(app, play, db, monkeypatch):
    """A body that the database refuses and the worker did not: its unit fails with the reason."""
    gate = asyncio.Event()

    @app.operation(retry=sw.Retry(max_attempts=1))
    async def act(n: int):
        await gate.wait()
        return n

    real = leases._columns

    def spoil(reports):
        reports = [report._replace(body="{broken") if report.body == "2" else report for report in reports]
        return real(reports)

    monkeypatch.setattr(leases, "_columns", spoil)

    async def scenario():
        async with sw.Worker(app):
            jobs = await app.enqueue_many("act", [{"n": n} for n in range(5)])
            await until_async(lambda: _leased(db) == 5)
            gate.set()
            for n, job in enumerate(jobs):
                if n == 2:
                    with pytest.raises(sw.Conflict, match="cannot_complete"):
                        await job.result()
                else:
                    assert await job.result() == n

    play(scenario)
    assert db.execute("select error ->> 'type' from unit_failure").fetchall() == [("ReportRefused",)]


def _leased(db) -> int:
    return db.execute("select count(*) from work_unit where lease_session_id is not null").fetchone()[0]


def test_a_worker_continues_after_errors_of_the_database(app, play, db):
    @app.operation
    async def act():
        return "done"

    async def scenario():
        async with sw.Worker(app) as worker:
            db.execute("alter function fn_job_claim(bigint, int) rename to fn_job_claim_gone")
            worker.hint()
            job = await app.enqueue("act")
            db.execute("alter function fn_job_claim_gone(bigint, int) rename to fn_job_claim")
            assert await job.result() == "done"

    play(scenario)
