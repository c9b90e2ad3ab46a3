"""Starts: with keys, many in one call, in the transaction of the caller."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.rows import dict_row

import stepwell as sw


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
