"""Two services and two releases on one database: worker processes that serve different operations."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event

import psycopg
import pytest

from stepwell.testing import check_invariants
from tests.acceptance.working import worker
from tests.support.processes import stepwell
from tests.support.roles import api
from tests.support.wait import until_row

HEAD = "import stepwell as sw\n\napp = sw.App()\n"
ORDERS = (
    HEAD
    + """
@app.operation
async def order():
    return "ordered"

app.publish(sw.Workflow("both", sw.Sequential(
    sw.Operation("order"), sw.Operation("ship"), sw.Operation("order", id="close"))))
"""
)
PARCELS = (
    HEAD
    + """
@app.operation
async def ship():
    return "shipped"
"""
)
RUN_COUNT = 20


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "orders.py").write_text(ORDERS)
    (tmp_path / "parcels.py").write_text(PARCELS)
    return str(tmp_path / "orders.py"), str(tmp_path / "parcels.py")


def start_many(db: psycopg.Connection, count: int) -> None:
    db.execute("select fn_run_start(1, 'both', array_fill('{}'::jsonb, array[%s]))", (count,))


def attempts(db: psycopg.Connection) -> tuple[int, int]:
    """(number of failed attempts, number of dead letters)"""
    return db.execute(
        "select (select count(*) from unit_failure), (select count(*) from job_dead_letter)"
    ).fetchone()


def released_count(db: psycopg.Connection) -> int:
    return db.execute("select count(*) from event_log where event_type like '%.released'").fetchone()[0]


def test_two_services_complete_the_same_runs(dsn, db, files, tmp_path):
    orders, parcels = files
    with (
        worker(dsn, tmp_path / "orders.log", app=orders) as orders_worker,
        worker(dsn, tmp_path / "parcels.log", app=parcels) as parcels_worker,
    ):
        start_many(db, RUN_COUNT)
        until_row(db, "select count(*) = %s from workflow_run where state_code = 'completed'", (RUN_COUNT,))
        assert attempts(db) == (0, 0)
        for log in (orders_worker.output, parcels_worker.output):
            assert "no handler for this operation" not in log
        assert released_count(db) == 0
    assert check_invariants(dsn) == []


def test_an_unserved_step_is_shown_and_completes_when_a_worker_serves_it(dsn, db, files, tmp_path):
    orders, parcels = files
    with worker(dsn, tmp_path / "orders.log", app=orders):
        start_many(db, 1)
        until_row(db, "select count(*) = 1 from step_run where step_id = 'ship' and state_code = 'ready'")
        shown = stepwell("runs", "show", "1", env={"STEPWELL_DATABASE_URL": api(dsn), "COLUMNS": "200"})
        assert "no live worker serves operation ship" in " ".join(shown.stdout.split())
        with worker(dsn, tmp_path / "parcels.log", app=parcels):
            until_row(db, "select state_code = 'completed' from workflow_run")
    assert attempts(db) == (0, 0)


def test_a_rolling_release_fails_no_step(dsn, db, files, tmp_path):
    """The old release does not serve the operation that the new one added; both run during the release."""
    orders, _ = files
    new = tmp_path / "release2.py"
    new.write_text(ORDERS + PARCELS.removeprefix(HEAD))
    with worker(dsn, tmp_path / "old.log", app=orders) as old:
        start_many(db, RUN_COUNT)
        with worker(dsn, tmp_path / "new.log", app=str(new)):
            start_many(db, RUN_COUNT)
            assert old.stop() == 0
            start_many(db, RUN_COUNT)
            until_row(
                db, "select count(*) = %s from workflow_run where state_code = 'completed'", (3 * RUN_COUNT,)
            )
    assert attempts(db) == (0, 0)
    assert check_invariants(dsn) == []


@contextmanager
def load(dsn: str) -> Iterator[list[int]]:
    """Starts runs, never more than 50 at once. At the end the list has the number of runs."""
    is_over, started = Event(), []

    def start() -> int:
        count = 0
        with psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell") as connection:
            while not is_over.is_set():
                start_many(connection, 5)
                count += 5
                until_row(
                    connection, "select count(*) < 50 from workflow_run where state_code <> 'completed'"
                )
        return count

    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(start)
        try:
            yield started
        finally:
            is_over.set()
        started.append(running.result())


def test_two_workers_are_replaced_one_after_the_other_under_load(dsn, db, files, tmp_path):
    """Between old and new workers every run needs both: the old ones do not serve the second step."""
    orders, _ = files
    new = tmp_path / "release2.py"
    new.write_text(ORDERS + PARCELS.removeprefix(HEAD))
    ended = "select count(*) from workflow_run where state_code = 'completed'"

    def until_more() -> None:
        before = db.execute(ended).fetchone()[0]
        until_row(db, f"select ({ended}) >= %s", (before + 10,))

    with ExitStack() as stack:
        old = [stack.enter_context(worker(dsn, tmp_path / f"old{n}.log", app=orders)) for n in range(2)]
        with load(dsn) as started:
            for number, leaving in enumerate(old):
                stack.enter_context(worker(dsn, tmp_path / f"new{number}.log", app=str(new)))
                until_more()
                assert leaving.stop() == 0
                until_more()
        until_row(db, f"select ({ended}) = %s", (started[0],))
    assert attempts(db) == (0, 0)
    assert check_invariants(dsn) == []
