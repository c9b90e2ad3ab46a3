"""A report that ends a watched run returns how the run ended, for a waiter in the same process."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine, operation


@pytest.fixture
def session_key(engine: Engine) -> int:
    engine.publish("w", operation("a", max_attempts=1))
    return engine.worker()


def test_a_completed_run_is_returned_with_its_result(engine: Engine, session_key: int):
    run_id = engine.start("w")
    engine.one("select fn_runs_watch(1, array[%s])", (run_id,))
    (ended,) = engine.complete(session_key, *engine.claim(session_key), output={"n": [1, 2]})
    assert (ended.row_kind, ended.unit_id, ended.operation, ended.input) == (
        "ended",
        run_id,
        "completed",
        {"n": [1, 2]},
    )


def test_a_failed_run_is_returned_without_a_result(engine: Engine, session_key: int):
    run_id = engine.start("w")
    engine.one("select fn_runs_watch(1, array[%s])", (run_id,))
    (ended,) = engine.kill(session_key, *engine.claim(session_key))
    assert (ended.row_kind, ended.unit_id, ended.operation, ended.input) == ("ended", run_id, "failed", None)


def test_only_the_ends_of_watched_runs_are_returned(engine: Engine, session_key: int):
    runs = [engine.start("w") for _ in range(3)]
    engine.one("select fn_runs_watch(1, array[%s])", (runs[1],))
    rows = engine.complete(session_key, *engine.claim(session_key))
    assert [(row.row_kind, row.unit_id) for row in rows] == [("ended", runs[1])]
    assert [engine.run_state(run_id) for run_id in runs] == ["completed"] * 3


def test_a_watched_run_that_has_not_ended_is_not_returned(engine: Engine):
    engine.publish("two", operation("a"), operation("b"))
    session_key = engine.worker()
    run_id = engine.start("two")
    engine.one("select fn_runs_watch(1, array[%s])", (run_id,))
    assert engine.complete(session_key, *engine.claim(session_key)) == []
