"""The registry has the transitions of the source document (000, sections 4.2 to 4.4), and adds only
extensions with a reason. The tables below are written from the document, not from the registry.
"""

from __future__ import annotations

import psycopg
import pytest

PIC = "pic_human"
ENGINE = "mow_orchestrator"
WORKER = "executor_worker"
EITHER = (PIC, WORKER)

# Number, from, to, actors, trigger kind, trigger, event, audit, rollback to. The document names an event
# after the scope: step.ready, task.ready. `None`: the document gives no name of a trigger.
Row = tuple[str, tuple[str, ...], str, tuple[str, ...], str, str | None, str, bool, str | None]
MATRIX: list[Row] = [
    ("T1", ("not_started",), "ready", (ENGINE,), "condition_resolved", None, "ready", False, None),
    ("T2", ("ready",), "in_progress", EITHER, "rpc", "step_claim", "started", True, "ready"),
    ("T2r", ("in_progress",), "ready", (PIC,), "rpc", "step_release", "released", True, None),
    ("T3", ("in_progress",), "waiting", EITHER, "rpc", "step_wait", "waiting", False, "in_progress"),
    ("T3r", ("waiting",), "in_progress", ("system",), "event", None, "resumed", False, None),
    ("T4", ("in_progress",), "blocked", EITHER, "rpc", "step_block", "blocked", True, "in_progress"),
    ("T4r", ("blocked",), "in_progress", ("system", PIC), "event",
     "blocker_resolved", "unblocked", True, None),
    ("T5", ("in_progress",), "overdue", ("system",), "timer", "deadline_passed", "overdue", False, None),
    ("T6", ("overdue",), "in_progress", ("system",), "condition_resolved", "deadline_extended",
     "recovered_from_overdue", True, None),
    ("T6", ("overdue",), "in_progress", (PIC,), "rpc", "step_reengage", "recovered_from_overdue", True, None),
    ("T7", ("overdue",), "completed", EITHER, "rpc", "step_complete", "completed", True, None),
    ("T8", ("in_progress",), "completed", EITHER, "rpc", "step_complete", "completed", True,
     "in_progress"),
    ("T8r", ("completed",), "in_progress", ("reviewer",), "rpc", "step_reopen_for_correction",
     "reopened_for_correction", True, None),
    ("T9", ("in_progress", "waiting", "blocked"), "failed", (WORKER,), "event", "executor_failure", "failed",
     True, None),
    ("T10", ("failed",), "in_progress", (WORKER,), "event", "retry_attempt", "retry", False, None),
    ("T11", ("failed",), "cannot_complete", ("escalation_handler",),
     "rpc", "escalate", "escalated", True, None),
    ("T12", ("in_progress", "blocked", "waiting"), "cannot_complete", EITHER, "rpc",
     "declare_cannot_complete", "cannot_complete", True, "in_progress"),
    ("T12r", ("cannot_complete",), "in_progress", ("reviewer",), "rpc", "step_reopen_for_correction",
     "reopened_for_correction", True, None),
]  # fmt: skip
RUN_MATRIX = [
    ("not_started", "in_progress", "mow_orchestrator", "rpc", "workflow_start"),
    ("in_progress", "completed", "system", "condition_resolved", "all_mandatory_steps_completed"),
    ("in_progress", "cancelled", "reviewer", "rpc", "workflow_cancel"),
    ("in_progress", "paused", "reviewer", "rpc", "workflow_pause"),
    ("paused", "in_progress", "reviewer", "rpc", "workflow_resume"),
]
# What the guards of the document are called here; a T2 of a worker needs its lease, not a person.
GUARDS = {
    ("T1", "mow_orchestrator"): "preconditions_met",
    ("T2", PIC): "pic_assigned",
    ("T2", WORKER): "executor_lease_granted",
    ("T2r", PIC): "actor_is_pic",
    ("T3", PIC): "wait_facet_known",
    ("T3", WORKER): "wait_facet_known",
    ("T3r", "system"): "facet_resolution_proof",
    ("T4", PIC): "block_reason_known",
    ("T4", WORKER): "block_reason_known",
    ("T4r", "system"): "blocker_resolution_evidence",
    ("T4r", PIC): "blocker_resolution_evidence",
    ("T5", "system"): "deadline_passed",
    ("T6", "system"): "deadline_extended",
    ("T6", PIC): "deadline_extended",
    ("T7", PIC): "output_contract_met",
    ("T7", WORKER): "output_contract_met",
    ("T8", PIC): "output_contract_met",
    ("T8", WORKER): "output_contract_met",
    ("T8r", "reviewer"): "reopen_approved",
    ("T9", WORKER): "failure_classified",
    ("T10", WORKER): "retry_budget_left",
    ("T11", "escalation_handler"): "retry_exhausted_or_permanent",
    ("T12", PIC): "declaration_evidence",
    ("T12", WORKER): "declaration_evidence",
    ("T12r", "reviewer"): "reopen_approved",
}


def written(scope: str) -> set[tuple]:
    """The rows of the document for one scope: where a step's person acts, a task's person acts too (4.3)."""
    return {
        (code, start, to, who, kind, ref, f"{scope}.{event}", audit, back, GUARDS[code, actor])
        for code, starts, to, actors, kind, ref, event, audit, back in MATRIX
        for start in starts
        for actor in actors
        for who in ((actor, "task_pic_human") if scope == "task" and actor == PIC else (actor,))
    }


@pytest.mark.requirement("SM-09")
@pytest.mark.parametrize("scope", ["step", "task"])
def test_the_registry_has_the_rows_of_the_document_and_marks_every_other(db: psycopg.Connection, scope: str):
    query = """
        select transition_code, from_state, to_state, actor_class, trigger_kind, trigger_ref,
            emitted_event_type, audit_required, rollback_to, guard_ref
        from transition_def
        where state_machine_id = %s and is_extension = %s
    """
    declared = set(db.execute(query, (f"{scope}.1", False)).fetchall())
    assert declared == written(scope)
    reasons = "select count(*) from transition_def where is_extension and coalesce(btrim(reason), '') = ''"
    assert db.execute(reasons).fetchone() == (0,)


@pytest.mark.requirement("SM-09", "SM-15")
def test_the_run_machine_has_the_rows_of_the_document(db: psycopg.Connection):
    query = """
        select from_state, to_state, actor_class, trigger_kind, trigger_ref from transition_def
        where state_machine_id = 'workflow_run.1' and not is_extension
    """
    assert set(db.execute(query).fetchall()) == set(RUN_MATRIX)


@pytest.mark.requirement("SM-09")
def test_t13_reaches_every_state_that_has_not_ended(db: psycopg.Connection):
    """T13: any non-terminal state, to a derived one; `cancelled` for a step and a task (4.5)."""
    query = """
        select distinct from_state from transition_def
        where transition_code = 'T13' and state_machine_id = 'step.1'
    """
    ends = "select state_code from state_def where state_machine_id = 'step.1' and not is_terminal"
    assert set(db.execute(query).fetchall()) == set(db.execute(ends).fetchall())
