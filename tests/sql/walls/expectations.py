"""What each object without a tenant may show or do, and why. An object that is in no list fails the test.

An object needs no entry if the catalog says enough: a table or view with a tenant, under row level security;
a function that runs as its caller; a function that takes a tenant and refuses every tenant but the bound one.
"""

from __future__ import annotations

# Tables and views without a tenant: the same for everybody.
GLOBAL = {
    "clock_shift": "the clock of tests",
    "consumer_registry": "names and executors of workers; they serve every tenant",
    "dot_config": "settings and words; no secrets",
    "event_field_def": "the registry",
    "event_type_registry": "the registry",
    "executor_class": "names of executors",
    "failure_class_registry": "the registry",
    "governance_category": "the registry",
    "governance_watch": "how far the keeper has looked",
    "guard_predicate": "the registry",
    "handler": "names of operations that workers serve",
    "i18n_text": "texts",
    "job_workflow_kind": "the registry",
    "keeper_lead": "which keeper leads",
    "queue_heartbeat": "whether a class of executors has work",
    "rollup_policy_def": "the registry",
    "rollup_rule": "the registry",
    "schema_migration": "the release",
    "schema_routine": "the release",
    "state_def": "the registry",
    "state_dialect": "the registry",
    "state_facet_def": "the registry",
    "state_machine_def": "the registry",
    "transition_def": "the registry",
    "transition_rule": "the registry",
    "unit_action": "the registry",
    "v_state_label": "the registry",
    "v_vocabulary": "the registry",
    "verb": "the verbs",
    "worker_session": "names and slots of workers; they serve every tenant",
}

# Functions that run as the owner and need no binding, and why this is harmless.
HARMLESS = {
    "_approval_is_asked": "whether an approval of the bound tenant asks the caller",
    "_step_is_own": "whether a step of the bound tenant is work of the caller",
    "_leased_count": "counts only for the bound tenant, 0 for every other",
    "_reader_waits_since": "a time for readers of the bound tenant, null for every other",
    "bound_tenant": "the tenant of the caller",
    "bound_principal": "the principal of the caller",
    "payload_tenant": "the tenant of the caller",
    "read_tenant": "the tenant of the caller",
    "fn_action_limit": "a time limit for the transaction of the caller",
    "fn_caller_read": "the bound tenant only; refuses every other",
    "fn_account_read": "the principal of the caller",
    "fn_demo_read": "since when the database is a demo",
    "fn_link_enter": "only with the text of a link",
    "fn_link_use": "only with the text of a link",
    "fn_mode_read": "the mode of the database",
    "fn_request_close": "only the key of the bound principal",
    "fn_request_open": "only with the text of a token",
    "fn_request_refused": "only with the text of a token; adds an event and shows nothing",
    "fn_rights_missing": "rights of the roles, no rows",
    "fn_session_bind": "only with the text of a token",
    "fn_sign_in": "only with a password; wrong ones are counted",
    "fn_sign_in_salt": "a salt, also for names that do not exist",
    "fn_sign_out": "ends the session of the caller",
    "fn_tenant_find": "the bound tenant only; refuses every other",
    "fn_tokens_read_allowed": "only with the texts of tokens; whether they may read",
    "fn_trigger_fire": "only with a signature by the secret of a trigger; acts as its principal",
    "fn_verbs_read": "what the caller may do",
}

# Functions of workers: one worker serves all tenants, and its session and leases fence what it changes.
FENCED = {
    "fn_checkpoint_save": "the lease",
    "fn_event_emit": "the lease",
    "fn_expression_evaluate": "the lease",
    "fn_job_claim": "the session",
    "fn_job_claim_each": "the session",
    "fn_job_report": "the session and the leases",
    "fn_job_report_free": "the session and the leases",
    "fn_job_report_set_aside": "the session and the lease",
    "fn_job_workflows_refresh": "the lease",
    "fn_progress_save": "the session and the leases",
    "fn_run_label_here": "the lease",
    "fn_run_start_here": "the session",
    "fn_worker_close": "the session",
    "fn_worker_heartbeat": "the session",
    "fn_worker_leases_read": "the session",
    "fn_worker_register": "opens a session, changes no tenant",
    "fn_worker_serves": "the session",
}

# Duties of the keeper, for every tenant.
DUTIES = {
    "fn_anchor_due",
    "fn_anchor_headers",
    "fn_anchor_written",
    "fn_audit_due",
    "fn_duty_set_aside",
    "fn_event_routes_follow",
    "fn_evidence_due_find",
    "fn_job_workflow_refresh_due",
    "fn_keeper_lead",
    "fn_health_read",
    "fn_leases_find",
    "fn_leases_recover",
    "fn_partitions_ensure",
    "fn_problems_settle",
    "fn_problems_watch",
    "fn_receipts_recover",
    "fn_replay_plans_carry",
    "fn_replays_settle",
    "fn_retention_sweep",
    "fn_schedule_due",
    "fn_schedule_fire",
    "fn_timers_fire",
}
