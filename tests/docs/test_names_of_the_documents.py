"""Who knows the source documents finds every name of theirs on the page about conformance.

The lists are transcribed from the documents, not from the page.
"""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.tidy.sources import ROOT, files, read

LISTS = tomllib.loads((ROOT / "docs/conformance.toml").read_text(encoding="utf-8"))["names"]
PAGE = (ROOT / "docs/conformance.md").read_text(encoding="utf-8")
NAMES = {
    "000 §2": """
        state_machine_def state_machine_id scope version active description created_at state_def
        state_code semantic_class is_terminal ordinal ui_color_token ui_icon_token ui_label_i18n_key
        ui_short_message_key transition_def from_state to_state actor_class trigger_kind trigger_ref
        guard_kind guard_ref emitted_event_type audit_required rollback_to proposed state_facet_def
        facet_code primary_ordinal rollup_policy_def policy_code policy_config_jsonb step_run
        step_run_id workflow_run_id step_def_id waiting_facet pinned_iu_version_id pic_id
        executor_class_ref started_at completed_at last_transition_at trace_id correlation_id
        task_run task_run_id workflow_run workflow_def_id rollup_state_code rollup_basis_jsonb
        last_rollup_at tasks task_checkpoints task_comments workflows workflow_steps
        workflow_step_relations cut_request fn_state_transition_validate p_preview transition_id
        problems transition_refused_by_guard audit_ref event_outbox state_machine_registry step task
        idle active wait red terminal event rpc timer condition_resolved config predicate_fn p_run_id
        p_run_kind p_from_state p_to_state p_actor_class p_trigger_kind p_trigger_ref p_evidence
        p_step_run_id p_workflow_run_id""",
    "000 §3": """
        not_started ready in_progress waiting blocked overdue failed cannot_complete completed
        block_severity.threshold_seconds blocked_since step_block_escalate
        blocked_escalation_treats_as_red blocked_severity fn_step_blocked_severity ui.traffic_light
        contrast_ratio high_contrast shape_token waiting_dependency waiting_human waiting_external
        waiting_time_gate ui.traffic_light.gray ui.traffic_light.green_pale ui.traffic_light.green
        ui.traffic_light.green_deep ui.traffic_light.yellow ui.traffic_light.yellow_dark
        ui.traffic_light.red_pale ui.traffic_light.red ui.traffic_light.red_dark circle_hollow
        triangle_outline triangle_filled check_filled hourglass warn_filled clock_alert cross_filled
        stop_filled icon.play_filled state.not_started state.in_progress.label""",
    "000 §4": """
        T1 T2 T2r T3 T3r T4 T4r T5 T6 T7 T8 T8r T9 T10 T11 T12 T12r T13 system pic_human reviewer
        executor_worker mow_orchestrator escalation_handler task_pic_human step_claim step_release
        step_wait step_block blocker_resolved deadline_passed step_complete
        step_reopen_for_correction executor_failure retry_attempt escalate declare_cannot_complete
        step.ready step.started step.released step.waiting step.resumed step.blocked step.unblocked
        step.overdue step.recovered_from_overdue step.completed step.reopened_for_correction
        step.failed step.retry step.escalated step.cannot_complete task.completed
        event_type_registry prior_completed_audit prior_cannot_complete_audit
        prior_completed_audit_id prior_audit_id original_output_snapshot_id correction_reason
        approval_id step_run_output_snapshot vocab.correction_reason data_error policy_change
        downstream_dependency_failed regulatory_recall vw_audit_event_timeline
        step_run_correction_cycle failure_class_registry completed_after_deadline overdue_first_at
        sla_breach_duration step_run_state_history vocab.block_reason fn_step_pic_resolves
        workflow_start all_mandatory_steps_completed workflow_cancel workflow_pause workflow_resume
        paused cancelled retrying retry_policy_registry escalated escalation_chain_id is_derived
        floor_equivalent idempotency_key transition_idempotency idempotency_registry
        precondition_config postcondition_config completion_actor_id original_output_snapshot
        output_snapshot reopen_for_correction failure_classification pause_filled cancel_filled
        state.paused state.cancelled""",
    "000 §5": """
        fn_workflow_rollup_compute basis_step_run_ids red_count yellow_count green_count
        skipped_count optional_excluded_count decisive_step_run_id decisive_state_code computed_at
        frozen_at optional not_applicable red_overrides_yellow_overrides_green mandatory_only""",
    "000 §6 to §8": """
        StandardProcessView workflowDefId workflow_run_snapshot workflow_categories iu_label bundle_label
        WorkflowGraph LargeWorkflowGraph proposal_state workflow_change_requests workflow_registry
        fn_workflow_change_diff vw_governance_dlq_count job_dead_letter current_window
        vw_governance_silent_workers queue_heartbeat last_tick_at vw_governance_overdue
        vw_governance_schema_violations event_validation_audit vw_governance_event_lag
        fn_event_lag_compute vw_governance_integrity_warnings iu_lifecycle_log axis_inconsistency
        source_event_count time_window start_at end_at generated_by summarizer_kind sql_fn ai_agent
        deterministic_rule summarizer_ref summarizer_version confidence source_event_refs
        source_event_total ai_summary.min_confidence dlq_replay_propose dlq_replay_request
        outcome_jsonb dlq_replay.completed dlq_replay_request_id approval_id worker_class status
        last_ok_at heartbeat.threshold frozen event_lag.threshold GovernanceProblemView proposal
        evidence_ref iu_usage_evidence affected_iu_ids proposed_action_jsonb proposer_class
        kg_feedback proposal_kind kg_edge iu_bundle iu_split iu_merge state_label_en short_message_en""",
    "001": """
        job_workflow workflow_id workflow_kind generator status active succeeded failed
        partially_failed cancelled mot_template_v1 mark_cut_pipeline customer_inbound job_queue
        parent_job_id fn_mot_graph_emit p_template_id p_template_params p_correlation_id p_actor
        mot_template MOT_template_generator job_kind executor idempotency_key local_id source_ref
        target_ref payload_ref safe_payload template_id params_keys_only process_after
        delay_relative_to_workflow_start priority step_job_ids fn_job_claim fn_job_succeed
        fn_job_fail fn_job_cancel fn_job_workflow_refresh queued leased in_progress retry_waiting
        dead_letter finished_at job_workflow_refresh iu_sql_event_route fn_iu_emit_event fn_iu_op_*
        consumer_registry job_subscription executor_kind queue_heartbeat workflow_kinds
        generator_format step_local_id event_domain event_stream v_job_workflow_health queued_steps
        in_progress_steps succeeded_steps dead_letter_steps enqueued_at v_queue_health
        future_MOT_executor executor_state_must_be_reconstructable_from_PG_after_restart""",
    "002": """
        WorkflowReactiveRoot EventLogProjection NodeStatus CallStatus CallResult FailurePolicy
        append getStatus getResult getEvents statusMap preconditions blockedByFailure resultMap
        graph effectDisposers eventLog nodeKeyToRequestId failurePolicy initializeSignals
        continue-running abort-dependents call.requested call.responded call.error call.aborted
        call.completed requestId operationId input timestamp output error idle waiting ready running
        completed failed aborted skipped abortNode abortAll dispose nodes canStart runningCount
        maxConcurrency test then else over Sequential Parallel Conditional Operation Map
        nodeStatusToCallAction callStatusToNodeStatus WorkflowErrorBoundary GraphologyHostConfig
        ReactiveHostConfig GraphContext ReactiveContext WorkflowNode createRoot render DirectedGraph
        inNeighbors edgeType dataFlow negated triggered depends_on preconditionMode prm.abort
        prm.abortAll PendingRequestMap parentRequestId statusSignals pending Identity
        CallEventMapValue GraphologyHost TemplateEdgeAttrs CallEdgeAttrs createInstance allOf anyOf
        prm.call prepareUpdate commitUpdate""",
    "003": """
        run_id tenant_id workspace_id workflow_version_id trigger_type trigger_ref status step_id
        step_index tool_name idempotency_key lease_owner lease_expires_at tier two_person low med
        high requested approved rejected expired canceled request_metadata response_metadata queued
        running waiting_approval succeeded failed_retryable failed_terminal ready max_concurrency
        max_runs_per_min max_writes_per_run sn:incident:update slack:post deny allow needs_approval
        attempt last_error next_eligible_at step_pk incident_sys_id fields_hash body_hash""",
    "004": """
        workflow_instance workflow_step workflowType workflowVersion stepSeq stepType instanceId
        workerId RUNNING COMPLETED FAILED CANCELED PENDING READY WAITING DONE DEAD status
        current_step_seq current_step_type step_seq next_run_at attempts locked_by locked_until
        last_error LEASE_EXPIRED deadline_at WAITING_TIMEOUT waiting_event_type waitingEventType
        outboundEvents completed_at failed_at max_attempts Completed Waiting Retry Dead taskType
        backoff lastError""",
}


@pytest.mark.parametrize("document", NAMES)
def test_every_name_of_a_document_is_on_the_page(document: str):
    found = set(re.findall(r"`([^`\s]+)`", PAGE))
    assert [name for name in NAMES[document].split() if name not in found] == []


def test_every_name_that_the_page_gives_instead_is_in_the_code():
    """Names and words of the page: tests/sql/views compares tables, columns and codes with the database."""
    code = "\n".join(read(path) for suffix in (".sql", ".py") for path in files(suffix, under="src/stepwell"))
    known = set(re.findall(r"[\w.-]+", code)) | set(re.findall(r"\w+", code))
    missing: list[str] = []
    for one in LISTS:
        given = one["same"].split() if one["kind"] in ("word", "key") else []
        for text in one.get("here", {}).values():
            given += re.findall(r"`([^`]+)`", text)
        for name in given:
            words = [name] if name in known else re.findall(r"[A-Za-z_]\w+", name)
            missing += [f"{one['where']}: {name}" for word in words if word not in known]
    assert missing == []
