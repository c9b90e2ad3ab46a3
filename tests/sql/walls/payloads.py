"""The columns of JSON that roles may select: which are payloads, and why the others are none."""

from __future__ import annotations

# Relation → columns that are hidden without payload.read.
PAYLOADS: dict[str, set[str]] = {
    "evidence_file": {"data"},
    "job_queue": {"safe_payload"},
    "map_item": {"item"},
    "runtime_receipt": {"request_metadata", "response_metadata", "reversal"},
    "step_input": {"inputs"},
    "step_run": {"inputs", "output"},
    "step_run_output_snapshot": {"output"},
    "step_run_prior_audit": {"output"},
    "task_checkpoints": {"checkpoint_value"},
    "unit_checkpoint": {"checkpoint_value"},
    "unit_output": {"output"},
    "v_action_receipt": {"request_metadata", "response_metadata", "prior", "reversal"},
    "v_approval": {"about"},
    "v_approval_payload": {"about"},
    "v_audit_approval": {"about"},
    "v_audit_receipt": {"request_metadata", "response_metadata", "prior", "reversal"},
    "v_audit_version": {"graph"},
    "v_human_step": {"inputs"},
    "v_inbox": {"inputs"},
    "v_job_outcome": {"output"},
    "v_job_payload": {"payload"},
    "v_receipt_payload": {"request_metadata", "response_metadata", "prior", "reversal"},
    "v_run_listed": {"input"},
    "v_run_outcome": {"result"},
    "v_run_payload": {"input"},
    "v_schedule": {"input"},
    "v_schedule_payload": {"input"},
    "v_step_card": {"inputs"},
    "v_step_payload": {"inputs"},
    "workflow_run": {"input"},
}

_ERROR = "an error, redacted: whoever sees that work failed sees why"
_LOG = "of values the log has size and salted hash; the rows of event.emitted are hidden"
_PLAN = "part of a published workflow"
_PROGRESS = "how far a handler is, in numbers and a few words"

_FILTER = "which dead letters a plan is about: names and causes"
_REACH = "counts and names of effects, without their fields"

# Relation → columns that everybody with `read` sees, and why.
OPEN: dict[str, dict[str, str]] = {
    "cut_request_detail": {"spec": "content, which everybody with `read` sees"},
    "dlq_replay_plan": {"letter_filter": _FILTER, "reach": _REACH},
    "dlq_replay_request": {"outcome_jsonb": "how the replay ended"},
    "dot_config": {"config_value": "settings"},
    "event_log": {"payload": _LOG},
    "graph_layout": {"drawing": _PLAN},
    "handler_event_type": {"payload_schema": "the shape of events of handlers"},
    "incident_hold": {"reach": "counts", "outcome": "counts"},
    "incident_hold_clock": {"timers": "kinds and times of timers"},
    "v_incident_hold": {"reach": "counts", "outcome": "counts"},
    "job_dead_letter": {"error": _ERROR},
    "job_queue": {"last_error": _ERROR, "progress": _PROGRESS},
    "job_template": {"template": _PLAN},
    "job_workflow_detail": {"ref_params": "references of jobs: signals, no data"},
    "policy_set": {"diff": "rules", "rules": "rules"},
    "queue_heartbeat": {"info": "versions of a worker"},
    "rollup_policy_def": {"policy_config_jsonb": "the registry"},
    "runtime_step": {"last_error": _ERROR},
    "step_run": {"last_error": _ERROR, "progress": _PROGRESS},
    "task_detail": {"form": _PLAN},
    "transition_idempotency": {"verdict": "codes of a verdict"},
    "unit_failure": {"error": _ERROR},
    "v_job_template": {"template": _PLAN},
    "v_approval": {"votes": "who voted, when and why"},
    "v_audit_version": {"input_schema": _PLAN},
    "v_content_version": {"labels": "names of contents"},
    "v_dead_letter": {"error": _ERROR, "failures": _ERROR},
    "v_human_step": {"block_label": "words", "form": _PLAN, "progress": _PROGRESS},
    "v_inbox": {"block_label": "words", "form": _PLAN, "progress": _PROGRESS},
    "v_policy": {"diff": "rules", "rules": "rules"},
    "v_step_card": {"block_label": "words", "form": _PLAN, "progress": _PROGRESS},
    "v_step_content": {"items": "names of contents"},
    "v_step_run_content": {"items": "names of contents"},
    "v_unit_progress": {"progress": _PROGRESS},
    "v_workflow": {"input_schema": _PLAN},
    "v_workflow_version": {"document": _PLAN, "input_schema": _PLAN},
    "vw_audit_event_timeline": {"payload": _LOG},
    "worker_session": {"info": "versions of a worker", "handler_takes": "names of inputs that handlers take"},
    "v_run_listed": {"labels": "what people call a run by"},
    "workflow_run": {"rollup_basis_jsonb": "the colours of steps", "labels": "what people call a run by"},
    "workflow_step_def": {"config": _PLAN, "inputs": _PLAN},
    "workflow_version": {"input_schema": _PLAN},
    "vw_governance_counts": {"hours": "counts of a day"},
    "v_replay_plan": {"letter_filter": _FILTER, "progress": "counts of a plan", "reach": _REACH},
    "v_replay_request": {"outcome_jsonb": "how the replay ended"},
}
