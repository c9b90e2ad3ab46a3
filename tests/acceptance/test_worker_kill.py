"""kill -9 of a worker in every phase: each step completes once, and each checkpoint runs once."""

from __future__ import annotations

import psycopg
import pytest

from stepwell.testing import check_invariants
from tests.acceptance.stoppable_app import STEPS
from tests.acceptance.working import closed_gate, until_at_gate, worker
from tests.support.processes import stepwell
from tests.support.roles import api
from tests.support.wait import until_blocked, until_row

LEASE = ("--lease-seconds", "2")


@pytest.fixture
def effects(db: psycopg.Connection) -> psycopg.Connection:
    db.execute("create table public.effect (step text not null)")
    return db


def start(dsn: str) -> None:
    done = stepwell("start", "steps", "-i", "order=A", env={"STEPWELL_DATABASE_URL": api(dsn)})
    assert done.returncode == 0, done.stderr


def assert_done_once(db: psycopg.Connection, dsn: str) -> None:
    until_row(db, "select state_code in ('completed', 'failed', 'cancelled') from workflow_run")
    assert db.execute("select state_code from workflow_run").fetchone() == ("completed",)
    completed = db.execute(
        "select s.step_id, count(*) from event_log as e inner join step_run as s on e.unit_id = s.step_run_id"
        " where e.event_type = 'step.completed' group by s.step_id"
    ).fetchall()
    assert dict(completed) == dict.fromkeys(STEPS, 1)
    saved = db.execute(
        "select unit_id, count(*) from event_log where event_type = 'checkpoint.saved' group by unit_id"
    ).fetchall()
    assert [count for _, count in saved] == [1, 1, 1]
    assert dict(db.execute("select step, count(*) from effect group by step").fetchall()) == dict.fromkeys(
        STEPS, 1
    )
    assert check_invariants(dsn) == []


@pytest.mark.requirement("LN-02", "LN-03", "LN-04", "JW-11", "RT-03")
@pytest.mark.parametrize(
    ("gate", "finished_count", "lost_count"),
    [
        pytest.param("claimed:two", 1, 1, id="after claim"),
        pytest.param("running:two", 1, 1, id="in handler"),
        pytest.param("returning:two", 1, 1, id="before report"),
        pytest.param("claimed:three", 2, 1, id="after report"),
    ],
)
def test_after_a_killed_worker_no_step_is_lost_or_repeated(
    dsn, effects, tmp_path, gate, finished_count, lost_count
):
    with worker(dsn, tmp_path / "first.log", *LEASE) as first:
        with closed_gate(dsn, gate) as gate_holder:
            start(dsn)
            until_at_gate(gate_holder)
            finished = effects.execute(
                "select count(*) from step_run where state_code = 'completed'"
            ).fetchone()
            assert finished == (finished_count,)
            first.kill()
        with worker(dsn, tmp_path / "second.log", *LEASE):
            assert_done_once(effects, dsn)
    lost = effects.execute(
        "select count(*) from event_log where event_type = 'step.lease_expired'"
    ).fetchone()
    assert lost >= (lost_count,)


@pytest.mark.requirement("LN-05")
def test_a_report_that_commits_after_its_worker_was_killed_counts_once(dsn, effects, tmp_path):
    """When the worker is killed its report waits for the lock of the run; the report commits later."""
    with worker(dsn, tmp_path / "first.log", *LEASE) as first:
        with psycopg.connect(dsn) as holder:
            with closed_gate(dsn, "returning:two") as gate_holder:
                start(dsn)
                until_at_gate(gate_holder)
                holder.execute("select from stepwell.run_progress for update")
            report = until_row(
                effects,
                "select pid from pg_stat_activity where datname = current_database()"
                " and query like '%%fn_job_report%%' and wait_event_type = 'Lock'",
            )
            until_blocked(effects, report[0])
            first.kill()
            holder.rollback()
        with worker(dsn, tmp_path / "second.log", *LEASE):
            assert_done_once(effects, dsn)


@pytest.mark.requirement("LN-03")
def test_when_one_of_two_workers_is_killed_the_other_continues(dsn, effects, tmp_path):
    with (
        worker(dsn, tmp_path / "first.log", *LEASE) as first,
        closed_gate(dsn, "running:one") as gate_holder,
    ):
        start(dsn)
        until_at_gate(gate_holder)
        with worker(dsn, tmp_path / "second.log", *LEASE) as second:
            first.kill()
            gate_holder.close()
            assert_done_once(effects, dsn)
            assert second.stop() == 0
