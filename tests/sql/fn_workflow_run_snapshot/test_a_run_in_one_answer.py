"""The snapshot of a run shows what the tables say, in columns, at one position of the log."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.sql.drive import Engine, human, operation, subworkflow
from tests.support.clock import Clock


def snapshot(engine: Engine, run_id: int) -> dict[str, Any]:
    found: dict[str, Any] = engine.one("select fn_workflow_run_snapshot(1, %s)", (run_id,))
    return found


def states(found: dict[str, Any]) -> dict[int, str]:
    steps = found["steps"]
    return {no: found["states"][at] for no, at in zip(steps["no"], steps["state"], strict=True)}


@pytest.mark.requirement("UI-09")
def test_columns_say_what_the_tables_say(engine: Engine):
    engine.person("ada")
    engine.publish("child", operation("c"))
    engine.publish("w", operation("a"), human("h"), subworkflow("s", "child"), operation("z"))
    run_id = engine.start("w", ref="order-1")
    engine.db.execute("select fn_run_label(1, %s, '{\"customer\": \"Acme\"}', 'test')", ([run_id],))
    session = engine.worker()
    engine.drain(session)
    engine.db.execute("select fn_step_claim(1, %s, 'ada')", (engine.unit(run_id, "h"),))
    found = snapshot(engine, run_id)
    assert (found["run"]["key"], found["run"]["labels"], found["run"]["state"]) == (
        "order-1",
        {"customer": "Acme"},
        "in_progress",
    )
    assert list(states(found).values()) == list(engine.states(run_id).values())
    assert {len(column) for column in found["steps"].values()} == {4}
    assert found["people"] == ["ada"]
    assert found["steps"]["pic"] == [None, 0, None, None]
    assert found["critical_path"] == [1, 2]
    assert found["rollup"]["decisive_no"] is not None
    assert found["last_event_id"] == engine.one(
        "select max(event_id) from event_log where run_id = %s", (run_id,)
    )
    assert found["why"]["code"] == engine.why(run_id << 20)[0]
    assert found["run"]["counts"]["completed"] == 1


def test_the_position_of_a_snapshot_continues_without_gap_or_repeat(engine: Engine):
    engine.publish("w", operation("a"), operation("b"))
    run_id = engine.start("w")
    session = engine.worker()
    engine.complete(session, *engine.claim(session))
    before = snapshot(engine, run_id)
    engine.complete(session, *engine.claim(session))
    rows = engine.db.execute(
        "select event_id from fn_events_after(1, %s, p_run_ids => %s)", (before["position"], [run_id])
    ).fetchall()
    later = "select array_agg(event_id order by event_id) from event_log where run_id = %s and event_id > %s"
    assert [event_id for (event_id,) in rows] == engine.one(later, (run_id, before["last_event_id"]))


def test_a_sub_run_retry_and_failure_are_shown_where_they_are(engine: Engine):
    engine.publish("child", operation("c"))
    engine.publish("w", subworkflow("s", "child"), operation("r", retry={"max_attempts": 3}), edges=[])
    run_id = engine.start("w")
    session = engine.worker()
    lease = next(one for one in engine.claim(session) if one.step_id == "r")
    engine.report(session, (lease, "retry", {"error": {"type": "Oops", "message": "x"}}))
    found = snapshot(engine, run_id)
    assert found["children"] == {"1": run_id + 1}
    assert list(found["next_at"]) == ["2"]
    only = engine.one(
        "select shown from fn_run_steps_columns(1, array[%s]::bigint[], %s)",
        (run_id, [engine.unit(run_id, "r")]),
    )
    assert only["steps"]["no"] == [2]
    assert only["children"] == {}
    assert only["next_at"] == found["next_at"]


def test_the_end_is_expected_from_past_runs(engine: Engine, clock):
    engine.publish("w", operation("a"))
    session = engine.worker(lease_seconds=86400)
    for seconds in (60, 120, 180):
        engine.start("w")
        clock.advance(seconds=seconds)
        engine.drain(session)
    run_id = engine.start("w")
    expected = snapshot(engine, run_id)["expected_end"]
    assert (expected["past_runs"], round(expected["median_seconds"])) == (3, 120)
    assert expected["at"] is not None
    engine.drain(session)
    assert snapshot(engine, run_id)["expected_end"]["at"] is None, "it has ended"


def test_a_run_that_does_not_exist_is_named(engine: Engine):
    with pytest.raises(psycopg.Error) as caught:
        snapshot(engine, 5)
    assert caught.value.sqlstate == "SW002"


def test_steps_to_come_are_expected_as_past_runs_went(engine: Engine, clock: Clock):
    engine.publish("w", operation("a"), operation("b"), operation("c"))
    session = engine.worker(lease_seconds=36_000)

    def step(work: float) -> None:
        leases = engine.claim(session)
        clock.advance(seconds=work)
        engine.complete(session, *leases)

    for work in (10, 20, 60):
        engine.start("w")
        for _ in "abc":
            step(work)
    run_id = engine.start("w")
    found = snapshot(engine, run_id)["expected_steps"]
    assert (found["past_runs"], found["no"]) == (3, [1, 2, 3])
    for at, seconds in enumerate((0, 20, 40)):
        assert found["from"][at] == pytest.approx(seconds * 1000, abs=3000)
        assert found["to"][at] - found["from"][at] == pytest.approx(20_000, abs=3000)
    # A step that takes longer than before is expected to end now, and those behind it are as late as it is.
    leases = engine.claim(session)
    clock.advance(seconds=50)
    found = snapshot(engine, run_id)["expected_steps"]
    assert found["from"] == [pytest.approx(seconds * 1000, abs=3000) for seconds in (0, 50, 70)]
    assert found["to"] == [pytest.approx(seconds * 1000, abs=3000) for seconds in (50, 70, 90)]
    segments = engine.one("select fn_run_segments(1, %s)", (run_id,))
    assert list(segments["expected"]) == ["1", "2", "3"], "the timeline has the same"
    assert segments["expected"]["3"][1] == pytest.approx(90_000, abs=3000)
    assert segments["groups"]["code"] == [1, 2, 3]
    engine.complete(session, *leases)
    assert snapshot(engine, run_id)["expected_steps"]["no"] == [2, 3]
    engine.drain(session)
    assert snapshot(engine, run_id)["expected_steps"] is None
    assert engine.one("select fn_run_segments(1, %s)", (run_id,))["expected"] == {}


def test_nothing_is_expected_of_steps_by_two_past_runs(engine: Engine):
    engine.publish("w", operation("a"))
    session = engine.worker()
    for _ in range(2):
        engine.start("w")
        engine.drain(session)
    assert snapshot(engine, engine.start("w"))["expected_steps"] is None


def test_a_past_snapshot_has_the_time_of_its_position(engine: Engine, clock: Clock):
    engine.publish("w", operation("a"), operation("b"))
    run_id = engine.start("w")
    clock.advance(hours=1)
    session = engine.worker()
    engine.complete(session, *engine.claim(session))
    clock.advance(hours=5)

    def then(event_id: int | None, at: str | None = None) -> Any:
        query = "select (fn_workflow_run_snapshot_at(1, %s, %s, %s) ->> 'now')::timestamptz"
        return engine.one(query, (run_id, event_id, at))

    for event_type in ("workflow.started", "step.completed"):
        event_id, at = engine.db.execute(
            "select event_id, at from event_log where run_id = %s and event_type = %s", (run_id, event_type)
        ).fetchall()[0]
        assert then(event_id) == at
    assert then(None, "2999-01-01 00:00:00+00").year == 2999


def test_a_failure_is_shown_until_the_step_completes(engine: Engine, clock: Clock):
    engine.publish("w", operation("a", retry={"max_attempts": 2}))
    run_id = engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    engine.report(session, (lease, "failed", {"class": "handler_error", "message": "not yet"}))
    assert snapshot(engine, run_id)["failures"] == {"1": "handler_error"}
    clock.advance(hours=1)
    engine.timers()
    engine.drain(engine.worker())
    found = snapshot(engine, run_id)
    assert states(found) == {1: "completed"}
    assert found["failures"] == {}
