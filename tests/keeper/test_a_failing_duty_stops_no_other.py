"""A duty of the keeper that fails stops no other duty: partitions, seals and schedules go on."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from stepwell.config import Settings
from stepwell.keeper import Keeper
from stepwell.store.health.examine import examine
from stepwell.store.schema.migrate import migrate
from tests.govern.sealing import await_sealable
from tests.keeper.test_one_keeper_acts import schedule
from tests.sql.drive import Engine, operation, wait
from tests.support.clock import Clock
from tests.support.roles import as_process

# Every duty but the three whose results the test looks at: partitions, schedules and seals.
DUTIES = [
    "fn_timers_fire(int)",
    "fn_leases_recover(int)",
    "fn_leases_find(int, int)",
    "fn_receipts_recover(int)",
    "fn_replays_settle(int)",
    "fn_replay_plans_carry(int)",
    "fn_problems_settle(int)",
    "fn_problems_watch(int)",
    "fn_event_routes_follow(int)",
    "fn_job_workflow_refresh_due()",
    "fn_retention_sweep(int)",
]


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    return Engine(db)


def replace_by_failing(engine: Engine, routine: str) -> None:
    """Replaces the routine by one that raises and has the same parameters and result type."""
    name = routine.partition("(")[0]
    takes = engine.one("select pg_get_function_arguments(%s::regprocedure)", (f"stepwell.{routine}",))
    returns = engine.one("select pg_get_function_result(%s::regprocedure)", (f"stepwell.{routine}",))
    engine.db.execute(f"drop function stepwell.{routine}")
    engine.db.execute(
        f"create function stepwell.{name}({takes}) returns {returns} language plpgsql as"
        " $$ begin raise division_by_zero; end $$"
    )


@pytest.mark.parametrize("routine", DUTIES)
def test_a_duty_that_fails_stops_no_other(
    dsn: str, engine: Engine, clock: Clock, routine: str, caplog, monkeypatch
):
    monkeypatch.setattr("stepwell.keeper.duties.PAUSE_FIRST_SECONDS", 60.0)
    schedule(engine, clock)
    replace_by_failing(engine, routine)
    clock.advance(days=200)
    keeper = Keeper(as_process(dsn, "keeper"))
    await_sealable(engine.db)
    tick = keeper.run_once()
    assert tick.started_count == 1
    assert tick.sealed_count > 0
    month = clock.now().strftime("event_log_%Y_%m")
    assert engine.one("select to_regclass(%s) is not null", (month,))
    assert "division_by_zero" in caplog.text
    # The keeper does not try the failed duty again before its pause ends.
    caplog.clear()
    clock.advance(hours=2)
    keeper.run_once()
    assert "division_by_zero" not in caplog.text


def test_a_schedule_that_cannot_fire_is_set_aside_until_its_retry_time(
    dsn: str, engine: Engine, clock: Clock, caplog
):
    schedule(engine, clock, "broken")
    schedule(engine, clock, "sound")
    engine.db.execute("update workflow_schedule set cron = 'nonsense' where schedule_name = 'broken'")
    keeper = Keeper(as_process(dsn, "keeper"))
    assert keeper.run_once().started_count == 1
    assert engine.db.execute(
        "select duty, subject, seen_count from governance_problem where category_code = 'set_aside'"
    ).fetchall() == [("schedule", "broken", 1)]
    keeper.run_once()
    assert engine.one("select seen_count from governance_problem where category_code = 'set_aside'") == 1
    engine.db.execute("update workflow_schedule set cron = '0 * * * *' where schedule_name = 'broken'")
    clock.advance(seconds=31)
    assert keeper.run_once().started_count == 1
    clock.advance(seconds=2)
    keeper.run_once()
    assert engine.one(
        "select closed_at is not null from governance_problem where category_code = 'set_aside'"
    )


def test_a_tenant_whose_log_cannot_be_sealed_stops_no_other_tenant(dsn: str, engine: Engine, clock: Clock):
    other = Engine(
        engine.db, engine.one("insert into tenant (tenant_code) values ('other') returning tenant_id")
    )
    for each in (engine, other):
        each.publish("w", operation("a"))
        each.start("w")
    engine.db.execute(
        "create function public.refuse() returns trigger language plpgsql as"
        " $$ begin raise division_by_zero; end $$"
    )
    engine.db.execute(
        "create trigger refuse before insert on audit_block for each row when (new.tenant_id = 1)"
        " execute function public.refuse()"
    )
    keeper = Keeper(as_process(dsn, "keeper"))
    await_sealable(engine.db)
    assert keeper.run_once().sealed_count == 1
    assert engine.db.execute(
        "select tenant_id, duty from governance_problem where category_code = 'set_aside'"
    ).fetchall() == [(1, "seal")]
    engine.db.execute("drop trigger refuse on audit_block")
    clock.advance(minutes=10)
    await_sealable(engine.db)
    assert keeper.run_once().sealed_count >= 1
    clock.advance(seconds=2)
    keeper.run_once()
    assert engine.one(
        "select closed_at is not null from governance_problem where category_code = 'set_aside'"
    )


def by_keeper(dsn: str, engine: Engine) -> None:
    Keeper(as_process(dsn, "keeper")).run_once()


def by_migrate(dsn: str, engine: Engine) -> None:
    migrate(dsn)


def by_doctor(dsn: str, engine: Engine) -> None:
    settings = Settings(data_dir=Path("unused"), database_url=dsn)
    found = [finding for finding in examine(settings, dsn) if finding.check == "partitions"]
    assert [(finding.level, "were created" in finding.detail) for finding in found] == [("ok", True)]


def by_worker(dsn: str, engine: Engine) -> None:
    engine.worker()


def by_worker_with_a_new_workflow(dsn: str, engine: Engine) -> None:
    """It publishes before its session opens."""
    engine.publish("new", operation("act"))
    engine.worker()


@pytest.mark.parametrize(
    "way",
    [by_keeper, by_migrate, by_doctor, by_worker, by_worker_with_a_new_workflow],
    ids=lambda way: way.__name__,
)
def test_missing_partitions_are_created_before_anything_writes(dsn: str, engine: Engine, clock: Clock, way):
    """No keeper ran for five months, and the events of due timers have no partition."""
    engine.publish("w", wait("parcel", "came", timeout_seconds=10))
    run_id = engine.start("w")
    clock.advance(days=155)
    with pytest.raises(psycopg.errors.CheckViolation):
        engine.start("w")
    way(dsn, engine)
    engine.timers()
    assert engine.run_state(run_id) == "failed"
    engine.start("w")


def test_partitions_are_created_while_a_transaction_writes(dsn: str, engine: Engine, clock: Clock):
    engine.publish("w", operation("a"))
    clock.advance(days=20)
    with psycopg.connect(dsn, options="-csearch_path=stepwell,public") as other:
        other.execute("select fn_run_start(1, 'w', array['{}'::jsonb], null, p_actor => 'test')")
        engine.db.execute("set lock_timeout = '1s'")
        assert engine.one("select fn_partitions_ensure(stepwell.now(), 12)") > 0
        other.rollback()
    partition = engine.one("select max(relname) from pg_class where relname ~ '^event_log_2...._..$'")
    with pytest.raises(psycopg.Error):
        engine.db.execute(f"truncate {partition}")
