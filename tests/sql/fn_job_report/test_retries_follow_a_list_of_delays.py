"""Retries with a list of delays: of the step, of the operation, and after the end of the list."""

from __future__ import annotations

import json

import pytest

from tests.sql.drive import Engine, operation

ERROR = {"error": {"type": "TimeoutError"}}


def pauses(engine: Engine, run_id: int, attempts: int) -> list[float]:
    """Fails so many attempts; returns the pause after each."""
    session = engine.worker()
    for _ in range(attempts):
        (lease,) = engine.claim(session)
        engine.report(session, (lease, "failed", ERROR))
        engine.db.execute("update timer set due_at = stepwell.now()")
        engine.timers()
    rows = engine.db.execute(
        "select extract(epoch from next_eligible_at - failed_at)::float from unit_failure "
        "where unit_id >> 20 = %s order by attempt_count",
        (run_id,),
    )
    return [seconds for (seconds,) in rows]


@pytest.mark.requirement("RT-18")
def test_each_pause_is_that_of_the_list_and_the_last_one_repeats(engine: Engine):
    retry = {"max_attempts": 9, "initial_seconds": 1, "max_seconds": 300, "multiplier": 2}
    engine.publish("w", operation("a", retry=retry | {"delays_seconds": [5, 30, 120, 600]}))
    found = pauses(engine, engine.start("w"), 5)
    assert all(0.9 * of <= pause <= 1.1 * of for pause, of in zip(found, [5, 30, 120, 600, 600], strict=True))
    assert len({round(pause / of, 3) for pause, of in zip(found, [5, 30, 120, 600, 600], strict=True)}) > 1


@pytest.mark.requirement("RT-18")
def test_the_list_of_an_operation_holds_unless_the_step_has_a_rule(engine: Engine):
    declared = [{"name": "a", "max_attempts": 9, "delays_seconds": [100, 200]}]
    engine.db.execute("select fn_operation_register(1, %s)", (json.dumps(declared),))
    engine.publish("plain", operation("a"))
    rule = {"max_attempts": 9, "initial_seconds": 1, "max_seconds": 1, "multiplier": 1}
    engine.publish("own", operation("a", retry=rule))
    first, second = pauses(engine, engine.start("plain"), 2)
    assert 90 <= first <= 110
    assert 180 <= second <= 220
    engine.drain(engine.worker())
    assert all(pause <= 1 for pause in pauses(engine, engine.start("own"), 2))
