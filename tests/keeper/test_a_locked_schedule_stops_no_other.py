"""A schedule that another transaction has locked is left for later: other schedules and timers go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest

from stepwell.keeper import Keeper
from tests.keeper.test_one_keeper_acts import schedule
from tests.sql.drive import Engine, wait
from tests.support.clock import Clock
from tests.support.roles import as_process

STARTS = "select tenant_id, count(*) from run_detail where trigger_type = 'schedule' group by 1 order by 1"


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    return Engine(db)


@pytest.fixture
def other(engine: Engine) -> Engine:
    """Another tenant; its schedules come after those of the first one."""
    return Engine(
        engine.db, engine.one("insert into tenant (tenant_code) values ('other') returning tenant_id")
    )


@contextmanager
def open_transaction(dsn: str) -> Iterator[Engine]:
    with psycopg.connect(dsn, options="-csearch_path=stepwell,public") as db:
        yield Engine(db)
        db.rollback()


def lock_row(holder: Engine) -> None:
    holder.one("select 1 from workflow_schedule where tenant_id = 1 and schedule_name = 's' for update")


def pause_in_transaction(holder: Engine) -> None:
    holder.one("select fn_schedule_pause(1, 's', true)")


def start_the_same_run(holder: Engine) -> None:
    """The row of the schedule is free; its run waits for the unique key of this transaction."""
    holder.one(
        "select run_id from workflow_schedule as s cross join lateral fn_run_start(1, 'w', array[s.input],"
        " array['s@' || to_char(s.next_at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')], 'schedule')"
        " where s.tenant_id = 1 and s.schedule_name = 's'"
    )


@pytest.mark.parametrize("hold", [lock_row, pause_in_transaction, start_the_same_run])
def test_the_others_go_on_and_the_locked_one_starts_once_when_it_is_free(
    dsn: str, engine: Engine, other: Engine, clock: Clock, hold: Callable[[Engine], None]
):
    schedule(engine, clock)
    schedule(other, clock)
    engine.publish("waits", wait("parcel", "came", timeout_seconds=10))
    waiting = engine.start("waits")
    clock.advance(seconds=11)
    keeper = Keeper(as_process(dsn, "keeper"))
    with open_transaction(dsn) as holder:
        hold(holder)
        tick = keeper.run_once()
        assert (tick.started_count, tick.fired_count) == (1, 1)
        assert engine.run_state(waiting) == "failed"
        assert engine.db.execute(STARTS).fetchall() == [(other.tenant_id, 1)]
        # Nobody made a mistake: nothing is set aside.
        assert engine.one("select count(*) from governance_problem where duty = 'schedule'") == 0
    # Its pause is part of a second, on the clock of the keeper's process; another keeper has none.
    assert Keeper(as_process(dsn, "keeper")).run_once().started_count == 1
    assert keeper.run_once().started_count == 0
    assert engine.db.execute(STARTS).fetchall() == [(1, 1), (other.tenant_id, 1)]


def test_more_locked_schedules_than_a_pass_looks_at_stop_no_other(
    dsn: str, engine: Engine, other: Engine, clock: Clock, monkeypatch
):
    monkeypatch.setattr("stepwell.keeper.keeper.SCHEDULE_LIMIT", 2)
    for name in ("a", "b", "c"):
        schedule(engine, clock, name)
    schedule(other, clock)
    keeper = Keeper(as_process(dsn, "keeper"))
    with open_transaction(dsn) as holder:
        holder.one("select count(*) from (select from workflow_schedule where tenant_id = 1 for update) as s")
        assert keeper.run_once().started_count == 1
        assert engine.db.execute(STARTS).fetchall() == [(other.tenant_id, 1)]
    assert keeper.run_once().started_count == 2
    assert keeper.run_once().started_count == 1
