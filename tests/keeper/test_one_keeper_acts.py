"""Of several keepers one acts: it recovers leases, fires timers, starts runs and makes partitions."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import psycopg
import pytest
from psycopg.types.json import Jsonb

from stepwell.errors import InvalidInput
from stepwell.keeper import Keeper
from stepwell.store.calls.keep import keeper_connection
from tests.sql.drive import Engine, operation, wait
from tests.support.clock import Clock
from tests.support.processes import environment
from tests.support.roles import as_process
from tests.support.wait import until_row

LED = "select count(*) = 1 from keeper_lead where expires_at > clock_timestamp()"


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    return Engine(db)


@contextmanager
def running(dsn: str) -> Iterator[Keeper]:
    """Runs a keeper in a thread inside the block."""
    keeper = Keeper(as_process(dsn, "keeper"), poll_seconds=0.02)
    thread = threading.Thread(target=keeper.run, name="keeper")
    thread.start()
    try:
        yield keeper
    finally:
        keeper.stop()
        thread.join(30)
        assert not thread.is_alive()


def schedule(engine: Engine, clock: Clock, name: str = "s", misfire: str = "latest") -> None:
    """A schedule that is due now and every hour; the next hour is at least 50 minutes ahead."""
    now = clock.now()
    hour = now.replace(minute=0, second=0, microsecond=0)
    if now.minute > 10:
        hour += timedelta(hours=1)
        clock.advance(hour - now)
    engine.publish("w", operation("a"))
    engine.db.execute(
        "select fn_schedule_set(%s, %s, 'w', '0 * * * *', 'UTC', %s, %s, 100, %s, 'ada')",
        (engine.tenant_id, name, Jsonb({}), misfire, hour),
    )


@pytest.mark.requirement("LN-03")
def test_the_keeper_recovers_the_leases_of_a_lost_worker(dsn: str, engine: Engine, clock: Clock, caplog):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    engine.claim(engine.worker(lease_seconds=10))
    clock.advance(seconds=11)
    assert Keeper(as_process(dsn, "keeper")).run_once().recovered_count == 1
    assert "their worker was silent: 1" in caplog.text
    assert engine.states(run_id) == {"a": "ready"}


@pytest.mark.requirement("LN-08")
def test_the_keeper_ends_a_wait_at_its_timeout(dsn: str, engine: Engine, clock: Clock):
    engine.publish("w", wait("parcel", "came", timeout_seconds=60))
    run_id = engine.start("w")
    keeper = Keeper(as_process(dsn, "keeper"))
    assert keeper.run_once().fired_count == 0
    clock.advance(seconds=61)
    assert keeper.run_once().fired_count == 1
    assert engine.run_state(run_id) == "failed"


def test_one_tick_fires_more_timers_than_one_batch(dsn: str, engine: Engine, clock: Clock):
    engine.enqueue("op", 1100, p_process_after=clock.now().replace(year=2090))
    engine.db.execute("update timer set due_at = stepwell.now()")
    assert Keeper(as_process(dsn, "keeper")).run_once().fired_count == 1100
    assert engine.one("select count(*) from job_ready") == 1100


def test_a_schedule_starts_its_runs(dsn: str, engine: Engine, clock: Clock):
    schedule(engine, clock)
    keeper = Keeper(as_process(dsn, "keeper"))
    assert keeper.run_once().started_count == 1
    assert keeper.run_once().started_count == 0
    clock.advance(hours=1)
    assert keeper.run_once().started_count == 1
    assert engine.one("select count(*) from workflow_run") == 2


def test_missed_times_are_fired_by_the_misfire_rule_of_the_schedule(dsn: str, engine: Engine, clock: Clock):
    schedule(engine, clock, "latest", "latest")
    schedule(engine, clock, "all", "all")
    keeper = Keeper(as_process(dsn, "keeper"))
    keeper.run_once()
    clock.advance(hours=5)
    keeper.run_once()
    counts = engine.db.execute(
        "select started_by, count(*) from workflow_run group by 1 order by 1"
    ).fetchall()
    assert counts == [("schedule:all", 6), ("schedule:latest", 2)]


def test_a_broken_schedule_does_not_stop_the_others(dsn: str, engine: Engine, clock: Clock):
    schedule(engine, clock, "broken")
    schedule(engine, clock, "sound")
    engine.db.execute("update workflow_schedule set cron = 'nonsense' where schedule_name = 'broken'")
    assert Keeper(as_process(dsn, "keeper")).run_once().started_count == 1


def test_three_keepers_fire_a_schedule_once(dsn: str, engine: Engine, clock: Clock):
    with running(dsn), running(dsn), running(dsn):
        schedule(engine, clock)
        until_row(engine.db, "select count(*) >= 1 from workflow_run")
        clock.advance(hours=1)
        until_row(engine.db, "select count(*) >= 2 from workflow_run")
    assert engine.one("select count(*) from workflow_run") == 2


def test_a_second_keeper_does_nothing_until_the_first_has_ended(dsn: str):
    with keeper_connection(as_process(dsn, "keeper")) as leader:
        assert leader.try_lead()
        assert Keeper(as_process(dsn, "keeper")).run_once().acted is False
    assert Keeper(as_process(dsn, "keeper")).run_once().acted is True


def until_led(engine: Engine) -> None:
    """Waits until a keeper of this database leads; keepers of other databases on the server do not count."""
    until_row(engine.db, LED)


def test_a_killed_keeper_is_replaced(dsn: str, engine: Engine, clock: Clock):
    command = [
        sys.executable,
        "-m",
        "stepwell",
        "--database-url",
        as_process(dsn, "keeper"),
        "keeper",
        "--poll-seconds",
        "0.05",
    ]
    with subprocess.Popen(command, env=environment()) as first:
        until_led(engine)
        with running(dsn):
            first.send_signal(signal.SIGKILL)
            first.wait(30)
            schedule(engine, clock)
            until_row(engine.db, "select count(*) = 1 from workflow_run")


def test_a_frozen_keeper_is_replaced_and_waits_when_it_thaws(dsn: str, engine: Engine, clock: Clock):
    command = [
        sys.executable,
        "-m",
        "stepwell",
        "--database-url",
        as_process(dsn, "keeper"),
        "keeper",
        "--poll-seconds",
        "0.05",
    ]
    with subprocess.Popen(command, env=environment()) as first:
        until_led(engine)
        lead = "select holder, fence from keeper_lead"
        frozen = engine.db.execute(lead).fetchone()
        assert frozen is not None
        with running(dsn):
            first.send_signal(signal.SIGSTOP)
            try:
                # Its time passes; its connection lives.
                engine.db.execute("update keeper_lead set expires_at = clock_timestamp()")
                schedule(engine, clock)
                until_row(engine.db, "select count(*) = 1 from workflow_run")
                assert engine.one("select fence from keeper_lead") > frozen[1]
            finally:
                first.send_signal(signal.SIGCONT)
            clock.advance(hours=1)
            until_row(engine.db, "select count(*) = 2 from workflow_run")
            assert engine.one("select holder from keeper_lead") != frozen[0]
        # The first one leads again when the second has ended.
        clock.advance(hours=1)
        until_row(engine.db, "select count(*) = 3 from workflow_run")
        first.send_signal(signal.SIGTERM)
        assert first.wait(30) == 0


def test_a_keeper_that_does_not_renew_its_lead_loses_it(dsn: str, db: psycopg.Connection):
    with (
        keeper_connection(as_process(dsn, "keeper")) as first,
        keeper_connection(as_process(dsn, "keeper")) as second,
    ):
        assert first.try_lead()
        assert not second.try_lead()
        db.execute("update stepwell.keeper_lead set expires_at = clock_timestamp()")
        assert second.try_lead()
        assert not first.try_lead()
        assert second.try_lead()


def test_keepers_that_all_believe_to_lead_do_everything_once(dsn: str, engine: Engine, clock: Clock):
    engine.db.execute(
        "create or replace function fn_keeper_lead(p_holder text, p_fence bigint, p_seconds int)"
        " returns bigint language sql as 'select 1::bigint'"
    )
    engine.publish("w2", operation("a"))
    with running(dsn), running(dsn), running(dsn):
        schedule(engine, clock)
        until_row(engine.db, "select count(*) >= 1 from workflow_run")
        runs = [engine.start("w2") for _ in range(30)]
        leases = engine.claim(engine.worker(lease_seconds=5))
        engine.enqueue("op", 50, p_process_after=clock.now() + timedelta(seconds=5))
        clock.advance(seconds=6)
        until_row(engine.db, "select count(*) = 0 from timer")
        until_row(engine.db, "select count(*) = 0 from work_unit where lease_session_id is not null")
        clock.advance(hours=1)
        until_row(engine.db, "select count(*) >= 32 from workflow_run")
    assert len(leases) == len(runs) + 1
    assert engine.one("select count(*) from unit_failure") == len(leases)
    assert engine.one("select count(*) from event_log where event_type = 'worker.silent'") == 1
    assert engine.one("select count(*) from workflow_run where workflow = 'w'") == 2
    assert engine.faults() == {}


def test_the_keeper_command_ends_on_a_signal(dsn: str, engine: Engine):
    command = [
        sys.executable,
        "-m",
        "stepwell",
        "--database-url",
        as_process(dsn, "keeper"),
        "keeper",
        "--poll-seconds",
        "0.05",
    ]
    with subprocess.Popen(command, env=environment()) as process:
        until_led(engine)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_a_keeper_that_loses_its_connection_continues(dsn: str, engine: Engine, clock: Clock):
    with running(dsn):
        kill = "select bool_or(pg_terminate_backend(pid)) from pg_stat_activity where {}"
        mine = "application_name = 'stepwell keeper' and datname = current_database()"
        until_row(engine.db, kill.format(mine))
        schedule(engine, clock)
        until_row(engine.db, "select count(*) = 1 from workflow_run")


def test_partitions_are_made_ahead_by_the_clock_of_the_database(dsn: str, engine: Engine, clock: Clock):
    clock.advance(days=200)
    Keeper(as_process(dsn, "keeper")).run_once()
    month = clock.now().strftime("event_log_%Y_%m")
    assert engine.one("select to_regclass(%s) is not null", (month,))


@pytest.mark.parametrize("seconds", [0, -1, 61])
def test_a_poll_time_out_of_range_is_refused(seconds: float):
    with pytest.raises(InvalidInput):
        Keeper("", poll_seconds=seconds)
