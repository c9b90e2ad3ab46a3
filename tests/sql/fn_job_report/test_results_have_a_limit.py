"""Results have the same limit as inputs: the error for a larger one gives its size and the limit."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, Lease, operation, subworkflow

LIMIT = 1_048_576
LARGE = "x" * LIMIT


def failures(engine: Engine) -> list[tuple[str, str, str]]:
    return engine.db.execute(
        "select failure_class, classification, error ->> 'message' from unit_failure"
        " order by unit_id, failed_at"
    ).fetchall()


def leased(engine: Engine, **more) -> tuple[int, int, Lease]:
    engine.publish("w", operation("a", **more), operation("b"))
    run_id, session = engine.start("w"), engine.worker()
    (lease,) = engine.claim(session)
    return run_id, session, lease


def limit(engine: Engine, key: str, value: int) -> None:
    engine.db.execute(
        "update dot_config set config_value = %s where config_key = %s", (Jsonb(value), f"limits.{key}")
    )


def test_a_result_over_the_limit_fails_the_step_for_good(engine: Engine):
    run_id, session, lease = leased(engine)
    assert engine.complete(session, lease, output=LARGE) == []
    assert engine.states(run_id) == {"a": "cannot_complete", "b": "cancelled"}
    ((failure_class, classification, message),) = failures(engine)
    assert (failure_class, classification) == ("result_too_large", "permanent")
    assert f"result: {LIMIT + 2} bytes; at most {LIMIT} bytes are accepted" in message
    assert "reference" in message
    assert engine.one("select count(*) from unit_output") == 0
    assert engine.faults() == {}


def test_a_result_of_exactly_the_limit_is_accepted(engine: Engine):
    run_id, session, lease = leased(engine)
    engine.complete(session, lease, output="x" * (LIMIT - 2))
    assert engine.states(run_id) == {"a": "completed", "b": "ready"}
    assert failures(engine) == []


def test_other_results_of_the_same_report_are_not_affected(engine: Engine):
    engine.publish("w", operation("a"))
    runs, session = [engine.start("w") for _ in range(3)], engine.worker()
    leases = engine.claim(session)
    outputs = ["small", LARGE, "x" * (LIMIT - 2)]
    engine.report(
        session, *((lease, "completed", output) for lease, output in zip(leases, outputs, strict=True))
    )
    assert [engine.run_state(run_id) for run_id in runs] == ["completed", "failed", "completed"]
    assert engine.faults() == {}


def test_many_results_within_the_limit_are_accepted_together(engine: Engine):
    engine.publish("w", operation("a"))
    runs, session = [engine.start("w") for _ in range(4)], engine.worker()
    engine.complete(session, *engine.claim(session), output="x" * (LIMIT // 2))
    assert [engine.run_state(run_id) for run_id in runs] == ["completed"] * 4


def test_the_result_of_a_job_has_the_same_limit(engine: Engine):
    (job_id,) = engine.enqueue("fetch")
    session = engine.worker()
    engine.complete(session, *engine.claim(session), output=LARGE)
    assert engine.one("select state_code from job_queue where job_id = %s", (job_id,)) == "cannot_complete"
    assert failures(engine)[0][0] == "result_too_large"


def test_a_wait_with_too_large_outbound_events_fails_for_good(engine: Engine):
    run_id, session, lease = leased(engine)
    body = {"event": "paid", "outbound": [{"type": "asked", "payload": {"x": LARGE}}]}
    engine.report(session, (lease, "waiting", body))
    assert engine.states(run_id)["a"] == "cannot_complete"
    assert failures(engine)[0][0] == "result_too_large"


def test_a_failure_with_a_too_large_error_is_retried_and_stores_only_the_size(engine: Engine):
    run_id, session, lease = leased(engine)
    engine.report(session, (lease, "failed", {"error": {"type": "ValueError", "message": LARGE}}))
    assert engine.states(run_id)["a"] == "failed"
    ((failure_class, classification, message),) = failures(engine)
    assert (failure_class, classification) == ("handler_error", "transient")
    assert message.startswith("error: ")


def test_a_released_unit_stays_released(engine: Engine):
    run_id, session, lease = leased(engine)
    engine.report(session, (lease, "released", {"note": LARGE}))
    assert engine.states(run_id)["a"] == "ready"


def test_a_worker_can_report_the_size_instead_of_the_result(engine: Engine):
    run_id, session, lease = leased(engine)
    engine.report(session, (lease, "oversized", 5_000_000_000))
    assert engine.states(run_id)["a"] == "cannot_complete"
    assert "result: 5000000000 bytes" in failures(engine)[0][2]


def test_a_late_report_that_is_too_large_changes_nothing(engine: Engine):
    run_id, session, lease = leased(engine)
    engine.complete(session, lease, output=1)
    assert [row.row_kind for row in engine.complete(session, lease, output=LARGE)] == ["refused"]
    assert engine.states(run_id)["a"] == "completed"
    assert failures(engine) == []


def test_a_map_fails_if_all_its_outputs_together_are_too_large(engine: Engine):
    limit(engine, "composed_result_bytes", 3_000)
    engine.publish("w", {"id": "m", "kind": "map", "over": "$.input.xs"}, operation("x", scope=1), edges=())
    run_id, session = engine.start("w", {"xs": [1, 2, 3]}), engine.worker()
    while leases := engine.claim(session):
        engine.complete(session, *leases, output="x" * 1_000)
    assert engine.run_state(run_id) == "failed"
    assert "result_too_large" in [row[0] for row in failures(engine)]
    assert engine.faults() == {}


def test_a_step_fails_if_the_outputs_of_its_sub_workflow_are_too_large(engine: Engine):
    limit(engine, "composed_result_bytes", 1_500)
    engine.publish("inner", operation("x"), operation("y"), edges=())
    engine.publish("outer", subworkflow("call", "inner"), operation("after"))
    run_id, session = engine.start("outer"), engine.worker()
    engine.complete(session, *engine.claim(session), output="x" * 1_000)
    assert engine.states(run_id) == {"call": "cannot_complete", "after": "cancelled"}
    assert failures(engine)[0][0] == "result_too_large"
    assert engine.faults() == {}


@pytest.mark.parametrize("way", ["signal", "emit", "checkpoint", "start", "enqueue"])
def test_the_error_of_every_other_call_gives_the_size_and_the_limit(engine: Engine, way: str):
    run_id, session, lease = leased(engine)
    of_lease = (session, lease.tenant_id, lease.unit_id, lease.lease_no)
    large = Jsonb({"x": LARGE})
    calls = {
        "signal": ("select fn_signal(1, %s, 'paid', %s, 'key')", (run_id, large)),
        "emit": ("select fn_event_emit(%s, %s, %s, %s, 'noted', %s)", (*of_lease, large)),
        "checkpoint": ("select fn_checkpoint_save(%s, %s, %s, %s, 'part', %s)", (*of_lease, large)),
        "start": ("select fn_run_start(1, 'w', %s::jsonb[], p_actor => 'test')", ([large],)),
        "enqueue": ("select fn_job_enqueue(1, 'fetch', %s::jsonb[])", ([large],)),
    }
    with pytest.raises(psycopg.Error) as caught:
        engine.db.execute(*calls[way])
    assert caught.value.sqlstate == "SW006"
    message = str(caught.value.diag.message_primary)
    size = int(message.split(": ")[1].split()[0])
    assert size > LIMIT
    assert f"at most {LIMIT} bytes are accepted" in message
    assert "reference" in message
