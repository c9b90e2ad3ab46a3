"""A declared transition is refused, by name, when its guard, trigger, audit, event or approval is missing."""

from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest

from tests.sql.transition_matrix.matrix import MACHINES, Question, Rule, allowed, ask, prepare, rules

WORK = ["step.1", "task.1", "job.1", "workflow_run.1"]
# Guard → the evidence it requires; without it the guard is false.
EVIDENCE_OF_GUARD = {
    "actor_is_pic": "actor_id",
    "facet_resolution_proof": "resolution_ref",
    "block_reason_known": "block_reason",
    "blocker_resolution_evidence": "resolution_ref",
    "declaration_evidence": "declaration_ref",
    "retry_exhausted_or_permanent": "classification",
    "reopen_approved": "approval_id",
    "reinstatement_approved": "approval_id",
    "replay_approved": "replay_request_id",
}
# Guard → the column of the unit it reads, and a value with which it is false.
COLUMN_OF_GUARD = {
    "preconditions_met": ("pending_count", 1),
    "pic_assigned": ("pic_id", None),
    "executor_lease_granted": ("operation_id", None),
    "deadline_passed": ("deadline_at", "2099-01-01T00:00:00Z"),
    "deadline_extended": ("deadline_at", "2020-01-01T00:00:00Z"),
    "output_contract_met": ("has_contract", True),
    "retry_budget_left": ("attempt_count", 5),
    "lease_expired": ("lease_session_id", 1),
    "failed_by_itself": ("failure_class", "subworkflow_red"),
}


def broken(question: Question, rule: Rule) -> Question | None:
    """The same question with its guard false; None if the transition has no guard."""
    guard = rule.guard
    if guard in EVIDENCE_OF_GUARD:
        return question.without_evidence(EVIDENCE_OF_GUARD[guard])
    if guard in COLUMN_OF_GUARD:
        return question.with_column(*COLUMN_OF_GUARD[guard])
    if guard in ("all_steps_finished", "run_cannot_finish"):
        return replace(question, open_count=1)
    if guard == "failure_classified":
        return replace(question, payload=(("classification", "perhaps"), ("failure_class", "timeout")))
    if guard == "wait_facet_known":
        evidence = dict(question.evidence) | {"waiting_facet": "waiting_moon"}
        return replace(question, evidence=tuple(evidence.items()))
    if guard == "cancel_authorised":
        return question.without_evidence("approval_id")
    assert guard is None, f"add to this function how to make {guard} false"
    return None


@pytest.mark.requirement("SM-06")
@pytest.mark.parametrize("machine", WORK)
def test_a_refusal_names_the_false_guard(db: psycopg.Connection, machine: str):
    prepare(db)
    db.execute(
        "update dot_config set config_value = 'true' where config_key = 'approval.required.workflow_cancel'"
    )
    pairs = [
        (question, rule)
        for edge, rule in rules(db, machine).items()
        if (question := broken(allowed(edge, rule), rule)) is not None
    ]
    verdicts = ask(db, [question for question, _ in pairs])
    wrong = [
        (question.edge, rule.guard, verdict.problems)
        for (question, rule), verdict in zip(pairs, verdicts, strict=True)
        if verdict.ok or f"transition_refused_by_guard:{rule.guard}" not in verdict.problems
    ]
    assert wrong == []
    assert db.execute("select count(*) from event_log where unit_id > 0").fetchone() == (0,)


@pytest.mark.requirement("SM-06")
@pytest.mark.parametrize("machine", MACHINES)
def test_the_trigger_must_be_the_declared_one(db: psycopg.Connection, machine: str):
    prepare(db)
    declared = rules(db, machine)
    questions = [
        replace(allowed(edge, rule), trigger_kind="event" if rule.trigger_kind == "rpc" else "rpc")
        for edge, rule in declared.items()
    ] + [
        replace(allowed(edge, rule), trigger_ref="something_else")
        for edge, rule in declared.items()
        if rule.trigger_ref
    ]
    verdicts = ask(db, questions)
    wrong = [
        (question.edge, verdict.problems)
        for question, verdict in zip(questions, verdicts, strict=True)
        if verdict.ok or not any(problem.startswith("trigger_must_be:") for problem in verdict.problems)
    ]
    assert wrong == []


@pytest.mark.requirement("SM-06")
@pytest.mark.parametrize("machine", MACHINES)
def test_an_audited_transition_needs_its_audit_reference(db: psycopg.Connection, machine: str):
    prepare(db)
    audited = {edge: rule for edge, rule in rules(db, machine).items() if rule.audit_required}
    questions = [
        replace(allowed(edge, rule), session_id=None).without_evidence("audit_ref")
        for edge, rule in audited.items()
    ]
    verdicts = ask(db, questions)
    wrong = [
        (question.edge, verdict.problems)
        for question, verdict in zip(questions, verdicts, strict=True)
        if verdict.ok or "audit_ref_required" not in verdict.problems
    ]
    assert questions
    assert wrong == []


@pytest.mark.requirement("SM-06", "SM-18")
@pytest.mark.parametrize("machine", WORK)
def test_an_unregistered_event_refuses_its_transition(db: psycopg.Connection, machine: str):
    prepare(db)
    db.execute("update event_type_registry set is_registered = false")
    db.execute("select fn_registry_refresh()")
    declared = rules(db, machine)
    questions = [allowed(edge, rule) for edge, rule in declared.items()]
    for question, verdict in zip(questions, ask(db, questions), strict=True):
        assert verdict.problems == [f"event_type_not_registered:{declared[question.edge].event_type}"]


@pytest.mark.requirement("SM-06")
@pytest.mark.parametrize("machine", WORK)
def test_a_transition_that_is_only_proposed_is_refused(db: psycopg.Connection, machine: str):
    prepare(db)
    db.execute("update transition_def set proposed = true")
    db.execute("select fn_registry_refresh()")
    questions = [allowed(edge, rule) for edge, rule in rules(db, machine).items()]
    for verdict in ask(db, questions):
        assert verdict.problems == [f"transition_is_only_proposed:{verdict.transition_id}"]


@pytest.mark.requirement("SM-18")
def test_a_payload_that_breaks_its_contract_is_refused_and_recorded(db: psycopg.Connection):
    prepare(db)
    required = {
        row[0] for row in db.execute("select distinct event_type from event_field_def where is_required")
    }
    declared = {
        edge: rule
        for machine in WORK
        for edge, rule in rules(db, machine).items()
        if rule.event_type in required
    }
    questions = [replace(allowed(edge, rule), payload=()) for edge, rule in declared.items()]
    verdicts = ask(db, questions)
    wrong = [
        (question.edge, verdict.problems)
        for question, verdict in zip(questions, verdicts, strict=True)
        if verdict.ok or not any(p.startswith("event_payload_invalid:") for p in verdict.problems)
    ]
    assert questions
    assert wrong == []
    assert db.execute("select count(*) from event_validation_audit").fetchone() == (len(questions),)
