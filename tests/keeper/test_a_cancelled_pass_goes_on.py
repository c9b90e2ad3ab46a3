"""A statement of the keeper that somebody cancels ends one duty of one pass; the next passes do the work."""

from __future__ import annotations

import psycopg
import pytest

from tests.keeper.test_one_keeper_acts import running, schedule, until_led
from tests.sql.drive import Engine, wait
from tests.support.clock import Clock
from tests.support.wait import until_row

CANCEL = (
    "select pg_cancel_backend(pid) from pg_stat_activity where datname = current_database()"
    " and application_name = 'stepwell keeper' and wait_event_type = 'Lock'"
)


# What the keeper waits for when it is cancelled: its lead, timers, leases, schedules, problems.
@pytest.mark.parametrize(
    "table", ["keeper_lead", "timer", "worker_session", "workflow_schedule", "governance_problem"]
)
def test_a_cancelled_statement_of_the_keeper_stops_no_work(
    dsn: str, db: psycopg.Connection, clock: Clock, table: str
):
    engine = Engine(db)
    with running(dsn):
        until_led(engine)
        with psycopg.connect(dsn, options="-csearch_path=stepwell,public") as holder:
            holder.execute(f"lock table {table} in access exclusive mode".encode())
            until_row(db, CANCEL)
            holder.commit()
        engine.publish("waits", wait("parcel", "came", timeout_seconds=10))
        run_id = engine.start("waits")
        schedule(engine, clock)
        clock.advance(seconds=11)
        until_row(db, "select state_code = 'failed' from workflow_run where run_id = %s", (run_id,))
        until_row(db, "select count(*) = 1 from run_detail where trigger_type = 'schedule'")
