"""Starts: with keys, many in one call, in the transaction of the caller, and through a local worker."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.rows import dict_row

import stepwell as sw
from stepwell.errors import DatabaseFailure
from stepwell.store.calls import runs, sessions
from stepwell.store.calls.leases import LeaseCalls
from stepwell.store.connection.wire import connect
from tests.support.wait import until_async


@pytest.fixture
def noop(app):
    @app.operation
    async def nothing():
        return None

    app.publish(sw.Workflow("w", sw.Sequential(sw.Operation("nothing"), sw.Operation("nothing", id="again"))))


def run_count(db) -> int:
    return db.execute("select count(*) from run_detail").fetchone()[0]


@pytest.mark.requirement("LN-01", "RT-01")
def test_a_start_inserts_run_steps_and_first_job_in_one_transaction(app, play, db, noop):
    play(lambda: app.start("w", {"a": 1}, key="K"))
    rows = db.execute("select step_id, state_code, pending_count from step_run order by step_no").fetchall()
    assert rows == [("nothing", "ready", 0), ("again", "not_started", 1)]
    assert db.execute("select count(distinct xmin::text) from work_unit").fetchone() == (1,)
    assert db.execute("select count(*) from job_ready").fetchone() == (1,)


@pytest.mark.requirement("RT-01")
def test_the_same_key_returns_the_first_run(app, play, db, noop):
    async def scenario():
        first = await app.start("w", {"n": 1}, key="K")
        second = await app.start("w", {"n": 2}, key="K")
        other = await app.start("w", {"n": 3}, trigger=("mail", "K"))
        assert (first.is_new, second.is_new, other.is_new) == (True, False, True)
        assert first.id == second.id != other.id

    play(scenario)
    assert run_count(db) == 2


@pytest.mark.requirement("RT-01")
def test_one_call_starts_many_runs_and_a_repeated_key_starts_one(app, play, db, noop):
    async def scenario():
        before = await app.start("w", key="7")
        runs = await app.start_many(
            "w", [{"n": n} for n in range(1000)], keys=[str(n % 900) for n in range(1000)]
        )
        assert len(runs) == 1000
        assert len({run.id for run in runs}) == 900
        assert runs[7].id == before.id
        assert not runs[7].is_new
        assert len(await app.start_many("w", [{}] * 5)) == 5

    play(scenario)
    assert run_count(db) == 905


@pytest.mark.requirement("JW-11")
def test_a_start_commits_and_rolls_back_with_the_transaction_of_the_caller(app, play, db, dsn, noop):
    db.execute("create table public.orders (id int primary key)")

    async def scenario():
        async with await psycopg.AsyncConnection.connect(dsn) as own:
            await own.execute("insert into public.orders values (1)")
            run = await app.start("w", connection=own)
            await own.rollback()
            assert run_count(db) == 0
            await own.execute("insert into public.orders values (2)")
            run = await app.start("w", connection=own)
            assert run_count(db) == 0
            await own.commit()
            assert await run.state() == "in_progress"
        with psycopg.connect(dsn, row_factory=dict_row) as own:
            own.execute("insert into public.orders values (3)")
            await app.start_many("w", [{}, {}], connection=own)
            await app.enqueue("nothing", connection=own)
            await app.signal(run, "early", connection=own)
            own.rollback()
            assert run_count(db) == 1
            own.execute("insert into public.orders values (4)")
            await app.start("w", connection=own)
        assert run_count(db) == 2

    play(scenario)
    assert db.execute("select array_agg(id order by id) from public.orders").fetchone() == ([2, 4],)
    assert db.execute("select count(*) from job_detail").fetchone() == (0,)
    assert db.execute("select count(*) from event_inbox").fetchone() == (0,)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("unknown",), sw.NotFound),
        (("w", {"a": 1}, {"version": 9}), sw.NotFound),
        (("w", {"a": 1}, {"priority": 100_000}), sw.InvalidInput),
        (("w", {"a": 1}, {"trace_id": "short"}), sw.InvalidInput),
    ],
    ids=str,
)
def test_a_refused_start_leaves_no_run(app, play, db, noop, arguments, error):
    workflow, given, options = (*arguments, None, {})[:3] if len(arguments) < 3 else arguments

    async def scenario():
        with pytest.raises(error):
            await app.start(workflow, given, **(options or {}))

    play(scenario)
    assert run_count(db) == 0


def test_the_error_for_a_database_without_the_schema_says_what_to_do(empty_dsn):
    app = sw.App(database_url=empty_dsn)
    with pytest.raises(sw.StepwellError, match="does not have the schema") as raised:
        app.sync.prepare()
    assert "stepwell db migrate" in raised.value.sentence()
    app.sync.close()


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
    control, calls = await connect(dsn), await LeaseCalls.open(dsn)
    try:
        session_key = await sessions.register(
            control, "here", app.executors(), 10, 30, {}, list(app.handlers)
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
