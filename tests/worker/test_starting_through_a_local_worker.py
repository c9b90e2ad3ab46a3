"""Starts through a worker in the process of the client, which gets the first step in the same commit."""

from __future__ import annotations

import pytest

import stepwell as sw
from stepwell.errors import DatabaseFailure
from stepwell.store.calls import runs, sessions
from stepwell.store.calls.leases import LeaseCalls
from stepwell.store.connection.wire import connect
from tests.support.roles import as_process, process_app
from tests.support.wait import until_async
from tests.worker.test_starting import noop, run_count

__all__ = ["noop"]


@pytest.fixture
def app(dsn: str) -> sw.App:
    """Only a client without a token hands its starts to a worker, so the client is the owner here."""
    return process_app(dsn)


@pytest.mark.requirement("RT-01", "RT-02")
def test_an_idle_local_worker_gets_the_first_step_in_the_commit_of_the_start(app, play, db, noop):
    async def scenario():
        async with sw.Worker(app):
            await app.run("w")
            await until_async(idle)
            run = await app.start("w", key="K")
            again = await app.start("w", key="K")
            assert (run.is_new, again.is_new, again.id) == (True, False, run.id)
            await run.result()
            return run.id

    def idle() -> bool:
        return db.execute("select is_idle from worker_session").fetchone()[0]

    run_id = play(scenario)
    rows = db.execute(
        "select count(*), count(distinct tx) from event_log"
        " where run_id = %s and (unit_id & 1048575 = 0 and to_state = 'in_progress'"
        " or unit_id & 1048575 = 1 and to_state in ('ready', 'in_progress'))",
        (run_id,),
    ).fetchone()
    assert rows == (3, 1)


def test_a_refused_start_through_a_local_worker_leaves_no_run(app, play, db, noop):
    async def scenario():
        async with sw.Worker(app):
            await app.run("w")
            with pytest.raises(sw.NotFound):
                await app.start("no such workflow")
            with pytest.raises(sw.InvalidInput):
                await app.start("w", priority=1_000_000)
            await app.run("w")

    play(scenario)
    assert run_count(db) == 2


async def start_here(app, dsn, *starts):
    """Makes each start as a local worker does: returns the answers, or the error."""
    worker = as_process(dsn, "worker")
    control, calls = await connect(worker), await LeaseCalls.open(worker)
    try:
        session_key = await sessions.register(
            control, "here", app.executors(), 10, 30, {}, list(app.handlers), {}
        )
        answers = []
        for start in starts:
            try:
                answers.append(await calls.start_and_claim(session_key, 10, start))
            except sw.StepwellError as error:
                answers.append(error)
        await sessions.close(control, session_key)
        return answers
    finally:
        await calls.close()
        await control.close()


def test_a_start_through_a_local_worker_stores_every_field(app, play, db, dsn, noop):
    inputs = {"quote": "\" ' \\ {é,null}"}
    plain = runs.run_start(1, "w", [{}])
    full = runs.run_start(
        1, "w", [inputs], trigger_refs=['a,"b" {c}'], trigger_type="mail", actor="ann", version_no=1,
        priority=7, trace_id="0f" * 16, correlation_id="null", is_watched=True,
    )  # fmt: skip

    async def scenario():
        await app.prepare()
        return await start_here(app, dsn, plain, full, full)

    (plain_start, [plain_lease]), (full_start, [full_lease]), again = play(scenario)
    assert (plain_start.is_new, full_start.is_new) == (True, True)
    assert again == (runs.Started(full_start.run_id, False), [])
    assert (full_lease.input, full_lease.trace_id, full_lease.correlation_id) == (inputs, "0f" * 16, "null")
    assert (plain_lease.input, plain_lease.correlation_id) == ({}, None)
    row = db.execute(
        "select trigger_type, trigger_ref, started_by, is_watched from run_detail where run_id = %s",
        (full_start.run_id,),
    ).fetchone()
    assert row == ("mail", 'a,"b" {c}', "ann", True)


@pytest.mark.parametrize("key", ["half \ud800 pair", "cut \0 here"], ids=["surrogate", "nul"])
def test_a_local_worker_refuses_a_key_that_postgres_cannot_store(app, play, db, dsn, noop, key):
    async def scenario():
        await app.prepare()
        bad = runs.run_start(1, "w", [{}], trigger_refs=[key], trigger_type="mail")
        return await start_here(app, dsn, bad, runs.run_start(1, "w", [{}]))

    refused, (started, _) = play(scenario)
    assert isinstance(refused, DatabaseFailure)
    assert started.is_new
    assert run_count(db) == 1
