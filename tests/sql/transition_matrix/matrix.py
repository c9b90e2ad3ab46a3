"""Asks the transition core about many units at once: receives questions, returns verdicts.

A question is one (machine, from, to, actor). Each gets its own unit in its `from` state, so that a few
calls of the engine's routine answer thousands of questions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

MACHINES = [
    "step.1",
    "task.1",
    "job.1",
    "workflow_run.1",
    "approval.1",
    "proposal.1",
    "receipt.1",
    "cut_request.1",
]
ACTORS = [
    "system",
    "pic_human",
    "task_pic_human",
    "reviewer",
    "executor_worker",
    "mow_orchestrator",
    "escalation_handler",
]
PIC_ID = 7
SESSION_ID = 41
APPROVAL_ID = 2**20 * 999_999

# Evidence that satisfies every guard; PAYLOAD satisfies every payload contract.
EVIDENCE = {
    "audit_ref": "audit:1",
    "actor_id": PIC_ID,
    "waiting_facet": "waiting_external",
    "resolution_ref": "event:1",
    "block_reason": "missing_iu",
    "declaration_ref": "note:1",
    "classification": "permanent",
    "replay_request_id": 3,
    "approval_id": APPROVAL_ID,
    "prior_audit_id": 4,
    "correction_reason": "data_error",
}
PAYLOAD = {
    "waiting_facet": "waiting_external",
    "block_reason": "missing_iu",
    "classification": "transient",
    "failure_class": "timeout",
    "reason": "upstream_failed",
    "correction_reason": "data_error",
    "approval_id": APPROVAL_ID,
    "prior_audit_id": 4,
    "replay_request_id": 3,
    "reversed_by_receipt_id": 5,
}


@dataclass(frozen=True)
class Rule:
    trigger_kind: str
    trigger_ref: str | None
    guard: str | None
    event_type: str
    audit_required: bool


@dataclass(frozen=True)
class Question:
    machine: str
    from_state: str
    to_state: str
    actor: str
    trigger_kind: str = "rpc"
    trigger_ref: str | None = "not_declared"
    session_id: int | None = None
    evidence: tuple[tuple[str, Any], ...] = tuple(EVIDENCE.items())
    payload: tuple[tuple[str, Any], ...] = tuple(PAYLOAD.items())
    # Columns of the unit that differ from the default.
    columns: tuple[tuple[str, Any], ...] = ()
    # How many steps of the run are open, and how many cannot complete; the guards of a run read this.
    open_count: int = 0
    failed_count: int = 0

    @property
    def edge(self) -> tuple[str, str, str, str]:
        return (self.machine, self.from_state, self.to_state, self.actor)

    def without_evidence(self, *keys: str) -> Question:
        return replace(self, evidence=tuple(item for item in self.evidence if item[0] not in keys))

    def with_column(self, name: str, value: Any) -> Question:
        kept = tuple(item for item in self.columns if item[0] != name)
        return replace(self, columns=(*kept, (name, value)))


@dataclass(frozen=True)
class Verdict:
    unit_id: int
    ok: bool
    transition_id: str | None
    event_type: str | None
    problems: list[str]


def states(db: psycopg.Connection, machine: str) -> list[str]:
    query = "select state_code from state_def where state_machine_id = %s order by ordinal"
    return [code for (code,) in db.execute(query, (machine,))]


def rules(db: psycopg.Connection, machine: str) -> dict[tuple[str, str, str, str], Rule]:
    """The declared transitions, read from the registry tables and not from the view of the core."""
    query = """
        select from_state, to_state, actor_class, trigger_kind, trigger_ref, guard_ref, emitted_event_type,
            audit_required
        from transition_def where state_machine_id = %s
        order by transition_code, from_state, actor_class
    """
    return {
        (machine, row[0], row[1], row[2]): Rule(*row[3:]) for row in db.execute(query, (machine,)).fetchall()
    }


def allowed(edge: tuple[str, str, str, str], rule: Rule) -> Question:
    """A question whose answer must be ok: trigger right, guard true, audit reference given."""
    question = Question(
        *edge,
        trigger_kind=rule.trigger_kind,
        trigger_ref=rule.trigger_ref or "whatever",
        session_id=SESSION_ID if edge[3] == "executor_worker" else None,
    )
    if rule.guard == "deadline_passed":
        return question.with_column("deadline_at", "2020-01-01T00:00:00Z")
    if rule.guard == "deadline_extended":
        return question.with_column("deadline_at", "2099-01-01T00:00:00Z")
    if rule.guard == "run_cannot_finish":
        return replace(question, failed_count=1)
    return question


def prepare(db: psycopg.Connection) -> None:
    """Inserts the rows that units refer to: an operation, a granted approval, a partition for the events."""
    db.execute("insert into operation (tenant_id, operation_name, executor_class_id) values (1, 'op', 1)")
    # Which approval covers which unit is in test_evidence_belongs_to_its_unit.py.
    db.execute(
        """insert into dot_config (config_key, config_value, description)
           values ('approval.required.reopen', 'false', 'in this test')"""
    )
    db.execute(
        """insert into work_unit (tenant_id, unit_id, last_transition_at, scope, state_machine_id, state_code)
           values (1, %s, now(), 'approval', 'approval.1', 'approved')""",
        (APPROVAL_ID,),
    )
    db.execute(
        """insert into worker_session (session_key_hash, worker_name, executor_class_ids, claim_class_ids,
               slot_count, lease_seconds, started_at, last_tick_at, expires_at)
           values ('', 'w', '{1}', '{1}', 1, 60, now(), now(), now() + interval '1 day')"""
    )
    db.execute(
        """do $$ begin
            if not exists (select from pg_inherits where inhparent = 'event_log'::regclass) then
                create table event_log_all partition of event_log for values from (minvalue) to (maxvalue);
            end if;
        end $$"""
    )


# _transition_judge and _transition_apply take the same request.
ASKED = """ from _transition_{}(
    array(select row(1, q.unit_id, q.to_state, null, q.evidence, q.payload, null, null)::transition_request
        from unnest(%s::bigint[], %s::text[], %s::jsonb[], %s::jsonb[]) with ordinality
            as q (unit_id, to_state, evidence, payload, place)
        order by q.place),
    row(%s, %s, %s, 'test', %s, null, null, 0, null)::transition_cause)"""


def ask(db: psycopg.Connection, questions: Sequence[Question], *, preview: bool = False) -> list[Verdict]:
    """One unit and one verdict for each question, in their order."""
    unit_ids = _insert_units(db, questions)
    groups: dict[tuple[str, str, str | None, int | None], list[int]] = defaultdict(list)
    for at, q in enumerate(questions):
        groups[q.actor, q.trigger_kind, q.trigger_ref, q.session_id].append(at)
    verdicts: dict[int, Verdict] = {}
    for (actor, kind, ref, session_id), places in groups.items():
        request = (
            [unit_ids[at] for at in places],
            [questions[at].to_state for at in places],
            [Jsonb(dict(questions[at].evidence)) for at in places],
            [Jsonb(dict(questions[at].payload)) for at in places],
            actor,
            kind,
            ref,
            session_id,
        )
        rows = db.execute(
            "select unit_id, problems = '{}', transition_id, event_type, problems" + ASKED.format("judge"),
            request,
        ).fetchall()
        verdicts.update(zip(places, (Verdict(*row) for row in rows), strict=True))
        if not preview:
            (applied,) = db.execute("select applied_ids" + ASKED.format("apply"), request).fetchone() or ()
            # The core applies exactly the transitions that it judged as ok.
            assert applied == ([row[0] for row in rows if row[1]] or None)
    return [verdicts[at] for at in range(len(questions))]


def _insert_units(db: psycopg.Connection, questions: Sequence[Question]) -> list[int]:
    query = "select coalesce(max(unit_id), 0) >> 20 from work_unit where unit_id <> %s"
    first = db.execute(query, (APPROVAL_ID,)).fetchone()
    assert first is not None
    columns = [
        "tenant_id", "unit_id", "last_transition_at", "scope", "state_machine_id", "state_code",
        "waiting_facet", "operation_id", "pic_id", "attempt_count", "max_attempts", "pending_count",
        "deadline_at", "has_contract", "lease_session_id", "failure_class",
    ]  # fmt: skip
    unit_ids = []
    with db.cursor() as cursor, cursor.copy(f"copy work_unit ({', '.join(columns)}) from stdin") as copy:
        for number, q in enumerate(questions, start=first[0] + 1):
            scope = q.machine.split(".")[0]
            unit_ids.append(number << 20 | (scope in ("step", "task")))
            row = {
                "tenant_id": 1,
                "unit_id": unit_ids[-1],
                "last_transition_at": "2026-01-01T00:00:00Z",
                "scope": scope,
                "state_machine_id": q.machine,
                "state_code": q.from_state,
                "waiting_facet": "waiting_external" if q.from_state == "waiting" else None,
                "operation_id": 1,
                "pic_id": PIC_ID,
                "attempt_count": 1,
                "max_attempts": 5,
                "pending_count": 0,
                "has_contract": False,
            } | dict(q.columns)
            copy.write_row([row.get(name) for name in columns])
    with db.cursor() as cursor:
        cursor.executemany(
            """insert into run_progress (
                   tenant_id, run_id, open_count, failed_count, mandatory_count, last_rollup_at)
               values (1, %s, %s, %s, 1, now())""",
            [
                (unit_id >> 20, q.open_count, q.failed_count)
                for unit_id, q in zip(unit_ids, questions, strict=True)
                if q.machine.startswith("workflow_run")
            ],
        )
    return unit_ids
