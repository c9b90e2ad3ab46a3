"""The fields and the words of documents 003 and 004, as they list them, against the views of the database."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.define import Conditional, Operation, Sequential
from tests.sql.drive import Engine, operation
from tests.sql.graphs.publishing import start
from tests.support.clock import Clock

# Transcribed from the documents: 003 §1.1 to §1.4, §3.2, §6.2; 004 "Start Flow" to "External Event Wake-up".
FIELDS = {
    "runtime_run": "run_id tenant_id workspace_id workflow_version_id trigger_type trigger_ref status",
    "runtime_step": "step_id step_index tool_name idempotency_key lease_owner lease_expires_at status "
    "attempt last_error next_eligible_at",
    "runtime_approval": "tier two_person status",
    "runtime_receipt": "tenant_id run_id step_id idempotency_key request_metadata response_metadata status "
    "reversible reversal",
    "workflow_instance": "instance_id workflow_type workflow_version status current_step_seq "
    "current_step_type completed_at failed_at",
    "workflow_step": "instance_id step_seq step_type status locked_by locked_until next_run_at attempts "
    "max_attempts waiting_event_type deadline_at last_error",
}
WORDS = {
    ("runtime", "workflow_run"): "queued running waiting_approval succeeded failed_retryable failed_terminal "
    "canceled",
    ("runtime", "step"): "ready running succeeded waiting_approval failed_retryable failed_terminal canceled",
    ("runtime", "approval"): "requested approved rejected expired canceled",
    ("linear", "workflow_run"): "RUNNING COMPLETED FAILED CANCELED",
    ("linear", "step"): "PENDING READY RUNNING WAITING DONE DEAD",
    ("node", "step"): "idle waiting ready running completed failed aborted skipped",
}
# What the documents have no word for: a step that is not visible yet (003), a step that was cancelled (004).
ADDED = {("runtime", "step"): {"—"}, ("linear", "step"): {"CANCELED"}}


@pytest.mark.requirement("RT-01")
@pytest.mark.requirement("RT-17")
@pytest.mark.requirement("LN-11")
def test_every_field_and_every_word_of_the_documents_is_there(engine: Engine):
    for view, fields in FIELDS.items():
        rows = engine.db.execute(
            "select column_name from information_schema.columns "
            "where table_schema = 'stepwell' and table_name = %s",
            (view,),
        )
        assert set(fields.split()) <= {name for (name,) in rows}, view
    for (dialect, scope), words in WORDS.items():
        rows = engine.db.execute(
            "select dialect_code from state_dialect where dialect = %s and scope = %s", (dialect, scope)
        )
        found = {word for (word,) in rows}
        assert found == set(words.split()) | ADDED.get((dialect, scope), set()), (dialect, scope)


def row(engine: Engine, columns: str, view: str, key: str, id: Any) -> Any:
    found = engine.db.execute(f"select {columns} from {view} where {key} = %s", (id,)).fetchone()
    assert found is not None
    return found


def steps(engine: Engine, run_id: int, columns: str) -> list[Any]:
    return engine.db.execute(
        f"select {columns} from workflow_step where instance_id = %s order by step_seq", (run_id,)
    ).fetchall()


INSTANCE = (
    "workflow_type, workflow_version, status, current_step_seq, current_step_type, completed_at, failed_at"
)


@pytest.mark.requirement("LN-01")
@pytest.mark.requirement("LN-06")
@pytest.mark.requirement("LN-11")
def test_a_chain_is_read_as_document_004_tells_it(engine: Engine, clock: Clock):
    # Its own deadline is none of the document's: `deadline_at` is that of the wait.
    validate = operation("VALIDATE", retry={"max_attempts": 3}, deadline=86400)
    engine.publish("order", validate, operation("SHIP"))
    run_id = engine.start("order")
    assert row(engine, INSTANCE, "workflow_instance", "instance_id", run_id) == (
        "order", 1, "RUNNING", 0, "VALIDATE", None, None,
    )  # fmt: skip
    assert steps(
        engine, run_id, "step_seq, step_type, status, next_run_at is not null, locked_by, attempts"
    ) == [
        (0, "VALIDATE", "READY", True, None, 0),
        (1, "SHIP", "PENDING", False, None, 0),
    ]
    session = engine.worker("shop:host:1:a", lease_seconds=30)
    (lease,) = engine.claim(session)
    locked = "status, locked_by, locked_until - stepwell.now() > interval '20s', next_run_at, deadline_at"
    assert steps(engine, run_id, locked)[0] == ("RUNNING", "shop:host:1:a", True, None, None)
    timers = "select timer_kind from timer where unit_id = %s"
    assert engine.db.execute(timers, (lease.unit_id,)).fetchall() == [("deadline",)]
    # The lease expires: READY again, one attempt more, LEASE_EXPIRED, no lock.
    clock.advance(seconds=31)
    engine.db.execute("select * from fn_leases_recover()")
    after = "status, attempts, next_run_at is not null, last_error, locked_by, locked_until"
    assert steps(engine, run_id, after)[0] == ("READY", 1, True, "LEASE_EXPIRED", None, None)
    engine.db.execute("update timer set due_at = stepwell.now()")
    engine.timers()
    session = engine.worker("shop:host:1:b", lease_seconds=3000)
    (lease,) = engine.claim(session)
    # Waiting(waitingEventType, timeout): the step waits, the instance stays where it is.
    engine.report(session, (lease, "waiting", {"event": "paid", "seconds": 60}))
    waiting = (
        "status, waiting_event_type, deadline_at - stepwell.now() between interval '50s' and interval '60s',"
        " next_run_at, locked_by"
    )
    assert steps(engine, run_id, waiting)[0] == ("WAITING", "paid", True, None, None)
    assert row(engine, "status, current_step_seq", "workflow_instance", "instance_id", run_id) == (
        "RUNNING",
        0,
    )
    # The event wakes it: READY, both fields cleared.
    engine.db.execute("select fn_signal(1, %s, 'paid', '{}', 'k')", (run_id,))
    assert steps(engine, run_id, "waiting_event_type, deadline_at")[0] == (None, None)
    engine.complete(session, *engine.claim(session))
    assert steps(engine, run_id, "status") == [("DONE",), ("READY",)]
    assert row(engine, INSTANCE, "workflow_instance", "instance_id", run_id)[2:5] == ("RUNNING", 1, "SHIP")
    engine.complete(session, *engine.claim(session))
    found = row(engine, INSTANCE, "workflow_instance", "instance_id", run_id)
    assert found[2:5] == ("COMPLETED", 1, "SHIP")
    assert found[5] is not None
    assert found[6] is None


@pytest.mark.requirement("LN-09", "LN-11")
def test_a_retry_is_runnable_after_its_backoff_and_an_exhausted_one_is_dead(engine: Engine, clock: Clock):
    engine.publish("order", operation("VALIDATE", retry={"max_attempts": 2}))
    run_id = engine.start("order")
    session = engine.worker()
    later = {"error": {"type": "Busy", "message": "later"}, "delay_seconds": 300}
    engine.report(session, (engine.claim(session)[0], "retry", later))
    columns = (
        "status, attempts, last_error, locked_by,"
        " next_run_at - stepwell.now() between interval '250s' and interval '300s'"
    )
    assert steps(engine, run_id, columns) == [("READY", 1, "Busy: later", None, True)]
    assert engine.claim(session) == []
    clock.advance(seconds=301)
    engine.timers()
    engine.report(session, (engine.claim(session)[0], "retry", later))
    assert steps(engine, run_id, "status, attempts, next_run_at") == [("DEAD", 2, None)]


@pytest.mark.requirement("LN-11")
def test_a_dead_step_fails_its_instance(engine: Engine):
    engine.publish("order", operation("VALIDATE"), operation("SHIP"))
    run_id = engine.start("order")
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    assert steps(engine, run_id, "status, attempts, last_error") == [
        ("DEAD", 1, "Dead: it is dead"),
        ("CANCELED", 0, None),
    ]
    found = row(engine, INSTANCE, "workflow_instance", "instance_id", run_id)
    assert found[2:5] == ("FAILED", 0, "VALIDATE")
    assert found[5] is None
    assert found[6] is not None


def status(engine: Engine, run_id: int) -> str:
    found: str = row(engine, "status", "runtime_run", "run_id", run_id)[0]
    return found


@pytest.mark.requirement("RT-01", "RT-02", "RT-17")
def test_a_run_is_read_as_document_003_tells_it(engine: Engine, clock: Clock):
    engine.publish("w", operation("a"))
    engine.publish("w", operation("a", operation="sn.update", retry={"max_attempts": 2}))
    version_id = engine.one("select version_id from workflow_version where version_no = 2")
    run_id = engine.start("w", ref="INC-1")
    columns = "tenant_id, trigger_type, trigger_ref, status, workflow_version_id"
    assert row(engine, columns, "runtime_run", "run_id", run_id) == (1, "w", "INC-1", "queued", version_id)
    session = engine.worker()
    (lease,) = engine.claim(session)
    assert status(engine, run_id) == "running"
    leased = row(engine, "lease_owner, lease_expires_at", "runtime_step", "run_id", run_id)
    assert leased == row(engine, "worker_name, expires_at", "worker_session", "(closed_at is null)", True)
    engine.report(session, (lease, "failed", {"error": {"type": "TimeoutError"}, "delay_seconds": 5}))
    assert status(engine, run_id) == "failed_retryable"
    step = (
        "step_id, step_index, tool_name, idempotency_key, status, attempt, last_error ->> 'type', "
        "next_eligible_at is not null"
    )
    assert row(engine, step, "runtime_step", "run_id", run_id) == (
        "a", 0, "sn.update", f"stepwell:1:{(run_id << 20) + 1}", "failed_retryable", 1, "TimeoutError", True,
    )  # fmt: skip
    clock.advance(seconds=6)
    engine.timers()
    (lease,) = engine.claim(session)
    engine.report(session, (lease, "waiting", {"event": "x"}))
    unit = engine.unit(run_id, "a")
    engine.person("ada")
    approval = engine.one(
        "select fn_approval_request(1, 'pay', %s, 'ada', 'because', 2, p_tier => 2)", (unit,)
    )
    engine.db.execute("update work_unit set waiting_facet = 'waiting_human' where unit_id = %s", (unit,))
    assert status(engine, run_id) == "waiting_approval"
    view = "tier, two_person, status"
    assert row(engine, view, "runtime_approval", "approval_id", approval) == ("med", True, "requested")
    engine.db.execute("select fn_signal(1, %s, 'x', '{}', 'k')", (run_id,))
    engine.complete(session, *engine.claim(session))
    assert status(engine, run_id) == "succeeded"


@pytest.mark.requirement("RT-17")
def test_a_run_is_succeeded_only_if_every_step_is(engine: Engine):
    engine.publish("w", operation("a"), operation("b", mandatory=False), edges=[])
    session = engine.worker()
    whole, part = engine.start("w"), engine.start("w")
    leases = engine.claim(session)
    engine.complete(session, *leases[:3])
    engine.kill(session, leases[3])
    assert [engine.run_state(run_id) for run_id in (whole, part)] == ["completed", "completed"]
    assert [status(engine, run_id) for run_id in (whole, part)] == ["succeeded", "failed_terminal"]
    for run_id in (whole, part):
        rows = engine.db.execute("select status from runtime_step where run_id = %s", (run_id,)).fetchall()
        assert (status(engine, run_id) == "succeeded") == all(word == "succeeded" for (word,) in rows)


@pytest.mark.requirement("RT-17")
def test_a_branch_that_was_not_taken_does_not_keep_a_run_from_succeeding(engine: Engine):
    run_id = start(engine, Sequential(Operation("a"), Conditional("a", Operation("b"), Operation("c"))))
    engine.drain(engine.worker())
    assert engine.states(run_id) == {"a": "completed", "if.b": "completed", "b": "completed", "c": "skipped"}
    rows = engine.db.execute("select distinct status from runtime_step where run_id = %s", (run_id,))
    assert (rows.fetchall(), status(engine, run_id)) == ([("succeeded",)], "succeeded")


@pytest.mark.requirement("LN-09", "LN-11")
def test_an_instance_with_a_dead_step_has_failed_in_the_words_of_document_004(engine: Engine):
    engine.publish("w", operation("a", mandatory=False), operation("b"), edges=[])
    run_id = engine.start("w")
    session = engine.worker()
    for lease in engine.claim(session):
        dead = lease.unit_id == engine.unit(run_id, "a")
        body = {"error": {"type": "E", "message": "no"}} if dead else {}
        engine.report(session, (lease, "dead" if dead else "completed", body))
    query = "select status, completed_at is null, failed_at is null from workflow_instance"
    assert engine.db.execute(query).fetchone() == ("FAILED", True, False)
    assert engine.run_state(run_id) == "completed"
