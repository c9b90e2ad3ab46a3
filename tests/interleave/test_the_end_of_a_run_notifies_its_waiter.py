"""A waiter learns of the end of a run, whether the end or the watch comes first."""

from __future__ import annotations

import psycopg
import pytest

from tests.interleave.conftest import LIMIT_SECONDS, Session
from tests.sql.drive import Engine, Lease, operation

WATCH = "select state_code from fn_runs_watch(1, array[%s])"


@pytest.fixture
def last_step(engine: Engine) -> tuple[int, Lease]:
    """A session and its lease of the only step of a run."""
    engine.publish("w", operation("only"))
    engine.start("w")
    session_key = engine.worker()
    (lease,) = engine.claim(session_key)
    return session_key, lease


def heard(db: psycopg.Connection, limit_seconds: float = LIMIT_SECONDS) -> list[str]:
    return [notice.payload for notice in db.notifies(timeout=limit_seconds, stop_after=1)]


def test_a_watch_after_the_end_returns_the_end(engine: Engine, sessions, last_step):
    session_key, lease = last_step
    worker: Session = sessions()
    waiting: Session = sessions()
    worker.complete(session_key, lease)
    asked = waiting.start_blocked(lambda: waiting.one(WATCH, (lease.unit_id >> 20,)))
    worker.commit()
    assert asked.result(LIMIT_SECONDS) == "completed"


def test_an_end_during_an_open_watch_notifies_the_waiter(engine: Engine, db, sessions, last_step):
    session_key, lease = last_step
    db.execute("listen stepwell_ended")
    worker: Session = sessions()
    waiting: Session = sessions()
    assert waiting.one(WATCH, (lease.unit_id >> 20,)) == "in_progress"
    ending = worker.start_blocked(lambda: worker.complete(session_key, lease))
    waiting.commit()
    assert [row.row_kind for row in ending.result(LIMIT_SECONDS)] == ["ended"]
    worker.commit()
    assert heard(db) == [str(lease.unit_id >> 20)]


@pytest.mark.parametrize("outcome", ["completed", "dead", "cancelled"])
def test_every_end_of_a_watched_run_notifies_and_no_other_end_does(
    engine: Engine, db, last_step, outcome: str
):
    session_key, watched = last_step
    unwatched = engine.start("w")
    (other,) = engine.claim(session_key)
    assert engine.one(WATCH, (watched.unit_id >> 20,)) == "in_progress"
    db.execute("listen stepwell_ended")
    engine.complete(session_key, other)
    if outcome == "completed":
        engine.complete(session_key, watched)
    elif outcome == "dead":
        engine.kill(session_key, watched)
    else:
        engine.one("select fn_run_cancel(1, %s, 'cli:me')", (watched.unit_id >> 20,))
    assert engine.run_state(unwatched) == "completed"
    assert heard(db) == [str(watched.unit_id >> 20)]
    assert heard(db, 0) == []


def test_a_watch_of_an_unknown_run_returns_nothing(engine: Engine):
    assert engine.one(WATCH, (12345,)) is None
