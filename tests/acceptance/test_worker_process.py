"""`stepwell worker` as a process: signals, killed children, a database that stops and starts again."""

from __future__ import annotations

import os
import signal

import psutil
import psycopg
import pytest

from stepwell.store.embedded.server import EmbeddedServer
from stepwell.store.schema import migrate
from stepwell.testing import check_invariants
from tests.acceptance.stoppable_app import STEPS
from tests.acceptance.working import closed_gate, until_at_gate, worker
from tests.support.processes import stepwell
from tests.support.roles import api, as_process
from tests.support.wait import until, until_row


@pytest.fixture
def effects(db: psycopg.Connection) -> psycopg.Connection:
    db.execute("create table public.effect (step text not null)")
    return db


def start(dsn: str) -> None:
    done = stepwell("start", "steps", "-i", "order=A", env={"STEPWELL_DATABASE_URL": api(dsn)})
    assert done.returncode == 0, done.stderr


def test_after_the_first_signal_the_worker_finishes_its_handlers_and_exits(dsn, effects, tmp_path):
    with worker(dsn, tmp_path / "log") as working:
        with closed_gate(dsn, "running:one") as gate_holder:
            start(dsn)
            until_at_gate(gate_holder)
            working.process.send_signal(signal.SIGTERM)
            working.wait_for("Waiting for running handlers")
        assert working.process.wait(60) == 0
        assert "Stopped." in working.output
    states = effects.execute("select state_code from step_run order by step_no").fetchall()
    assert states == [("completed",), ("ready",), ("not_started",)]
    assert effects.execute("select count(*) from worker_session where closed_at is null").fetchone() == (0,)


def test_after_the_second_signal_the_worker_releases_its_leases_and_exits(dsn, effects, tmp_path):
    with (
        worker(dsn, tmp_path / "log", "--grace-seconds", "600") as working,
        closed_gate(dsn, "running:one") as gate_holder,
    ):
        start(dsn)
        until_at_gate(gate_holder)
        working.process.send_signal(signal.SIGINT)
        working.wait_for("Waiting for running handlers")
        working.process.send_signal(signal.SIGINT)
        assert working.process.wait(60) == 0
        assert "Releasing all jobs" in working.output
    state = effects.execute("select state_code, attempt from step_run order by step_no limit 1").fetchone()
    assert state == ("ready", 0)


def test_the_parent_starts_a_killed_worker_again(dsn, effects, tmp_path):
    with worker(dsn, tmp_path / "log", "--processes", "2", "--lease-seconds", "2") as working:
        until_row(effects, "select count(*) = 2 from worker_session where closed_at is null")
        first = effects.execute("select min((info ->> 'pid')::int) from worker_session").fetchone()[0]
        os.kill(first, signal.SIGKILL)
        until_row(effects, "select count(distinct info ->> 'pid') = 3 from worker_session")
        start(dsn)
        until_row(effects, "select state_code = 'completed' from workflow_run")
        parent = psutil.Process(working.process.pid)
        children = parent.children(recursive=True)
        assert working.stop() == 0
        until(lambda: not any(child.is_running() for child in children))
    assert check_invariants(dsn) == []


@pytest.mark.requirement("JW-11")
def test_a_worker_waits_for_a_database_that_stopped(used_dir, tmp_path):
    server = EmbeddedServer(used_dir)
    server.start()
    dsn = server.conninfo()
    migrate.migrate(dsn)
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute("create table public.effect (step text not null)")
    with worker(dsn, tmp_path / "log", "--lease-seconds", "2"):
        with closed_gate(dsn, "running:two") as gate_holder:
            start(dsn)
            until_at_gate(gate_holder)
            postmaster = psutil.Process(server.postmaster_pid)
            postmaster.send_signal(signal.SIGQUIT)
            postmaster.wait(60)
        server.stop()
        server.start()
        with psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell,public") as db:
            until_row(db, "select state_code in ('completed', 'failed') from workflow_run")
            assert db.execute("select state_code from workflow_run").fetchone() == ("completed",)
            completed = db.execute(
                "select count(*), count(distinct unit_id) from event_log where event_type = 'step.completed'"
            ).fetchone()
            assert completed == (len(STEPS), len(STEPS))
            effects = dict(db.execute("select step, count(*) from effect group by step").fetchall())
            assert effects == dict.fromkeys(STEPS, 1)
            # The report of the last lease may still be open: wait for it before the check.
            until_row(db, "select count(*) = 0 from work_unit where lease_session_id is not null")
        assert check_invariants(dsn) == []
    server.stop()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--app is missing: give --app module:app, or set STEPWELL_APP."),
        (("--app", "nowhere.py"), "--app nowhere.py: there is no file nowhere.py."),
        (("--app", "no_such_module"), "there is no module no_such_module"),
        (("--app", "json:app"), "--app json:app: json has no app: it has no App."),
        (("--app", "json:dumps"), "dumps is function, not a stepwell App"),
    ],
    ids=str,
)
def test_the_error_for_an_unknown_app_is_one_sentence(dsn, tmp_path, options, message):
    done = stepwell(
        "worker", *options, env={"STEPWELL_DATABASE_URL": as_process(dsn, "worker")}, cwd=tmp_path
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_error_for_a_broken_app_names_its_line(dsn, tmp_path):
    (tmp_path / "broken.py").write_text("import stepwell as sw\napp = sw.App()\n1 / 0\n")
    done = stepwell(
        "worker",
        "--app",
        "broken.py:app",
        env={"STEPWELL_DATABASE_URL": as_process(dsn, "worker")},
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert "broken.py:3: ZeroDivisionError: division by zero" in done.stderr
