"""An idle worker in another process, and the calls that give it work: receives steps, returns runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from stepwell.define import Operation, Sequential, Step
from stepwell.store.calls.keep import leading
from tests.sql.drive import Engine, Lease
from tests.sql.graphs.publishing import publish
from tests.sql.people.asking import People
from tests.support.processes import environment
from tests.support.wait import until_row
from tests.worker.acting import put_in_force

# Shorter than the polling of this worker, which is once an hour; much longer than a notification needs.
LIMIT_SECONDS = 60.0
DONE = (
    "select count(*) from event_log where to_state = 'completed' and actor = (select 'session:' || session_id"
    " from worker_session where worker_name = 'resting')"
)
# The worker does not serve this operation: the test completes it.
BY_HAND = Operation("by_hand")


class Stage:
    """The database of this module, its idle worker, and a session of another executor that the test uses."""

    def __init__(self, db: psycopg.Connection[Any]) -> None:
        self.db = db
        self.engine = Engine(db)
        self.people = People(self.engine)
        self.hand = self.engine.worker("hand", ["process"])
        self._count = 0

    def start(self, *steps: Step, given: Any = None) -> int:
        """Publishes a new workflow of these steps and starts a run."""
        self._count += 1
        name = f"w{self._count}"
        publish(self.engine, steps[0] if len(steps) == 1 else Sequential(*steps), name)
        return self.engine.start(name, given)

    def unit(self, run_id: int, step_id: str) -> int:
        return self.engine.unit(run_id, step_id)

    def taken(self) -> Lease:
        """Claims the unit that the test completes itself."""
        (lease,) = self.engine.claim(self.hand, 1)
        return lease

    def call(self, function: str, *arguments: Any) -> Any:
        places = ", ".join(["%s"] * len(arguments))
        return self.engine.one(f"select {function}(1{', ' if places else ''}{places})", arguments)

    def fire(self, unit_id: int) -> None:
        """Makes the timer of the unit due and fires it."""
        self.db.execute("update timer set due_at = stepwell.now() where unit_id = %s", (unit_id,))
        assert self.engine.timers() >= 1

    def lose(self, session_key: int) -> None:
        """Lets the session expire."""
        self.db.execute(
            "update worker_session set expires_at = stepwell.now() - interval '1 s' where session_id = ("
            "select _session_id_of(%s))",
            (session_key,),
        )

    def until_state(self, unit_id: int, state: str) -> None:
        until_row(self.db, "select state_code = %s from work_unit where unit_id = %s", (state, unit_id))

    def approval(self) -> int:
        return self.engine.one("select max(approval_id) from v_approval where state_code = 'requested'")

    def policy(self, of: dict[str, Any]) -> None:
        self.db.execute("truncate policy_active")
        put_in_force(self.db, of)

    def signal(self, run_id: int, event: str = "came") -> None:
        self.call("fn_signal", run_id, event, Jsonb({}), f"{run_id}:{event}")

    def until_at_rest(self) -> None:
        """Waits until the worker has no lease and is stored as idle."""
        until_row(
            self.db,
            "select is_idle and not exists (select from work_unit where lease_session_id = session_id)"
            " from worker_session where worker_name = 'resting' and closed_at is null",
        )

    def count_calls(self) -> None:
        """From now on the calls of functions are counted, from zero."""
        self.db.execute("set track_functions = 'all'")
        self.db.execute("select pg_stat_force_next_flush()")
        self.db.execute("select pg_stat_reset()")

    def called(self) -> set[str]:
        """The functions that the test has called since then, directly or not."""
        self.db.execute("select pg_stat_force_next_flush()")
        rows = self.db.execute("select funcname from pg_stat_user_functions where calls > 0").fetchall()
        return {name for (name,) in rows}

    def done_count(self) -> int:
        return self.engine.one(DONE)

    def until_done(self, count: int) -> None:
        until_row(
            self.db,
            f"select ({DONE}) >= %s",
            (count,),
            limit_seconds=LIMIT_SECONDS,
        )


@contextmanager
def resting(dsn: str, ledger: Path) -> Iterator[Stage]:
    """Runs the worker inside the block. Its keeper does nothing: the test does the work of the keeper."""
    command = [sys.executable, "-m", "tests.worker.resting_worker", dsn, str(ledger)]
    with (
        psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell,public") as db,
        leading(dsn),
        subprocess.Popen(command, env=environment(), stdin=subprocess.PIPE) as process,
    ):
        db.execute(
            "select fn_operation_register(1, %s)", (Jsonb([{"name": "by_hand", "executor": "process"}]),)
        )
        made = Stage(db)
        made.people.add("ada", "office")
        made.people.add("ben", "office", "lead", "reviewer")
        until_row(
            db,
            "select count(*) = 1 from pg_stat_activity where application_name = 'stepwell listen'"
            " and datname = current_database() and query ~ 'listen' and state = 'idle'",
        )
        try:
            yield made
        finally:
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(60) == 0
