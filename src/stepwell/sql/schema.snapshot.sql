-- The schema of stepwell, as the sum of its migrations and routines. Written by `stepwell db dump`.
-- A picture for review, compared in tests, never run. Bodies of views and functions are in routines/.

-- type: stepwell.job_lease
create type stepwell.job_lease as (row_kind text, tenant_id integer, unit_id bigint, lease_no integer, batch_id bigint, operation_name text, attempt integer, max_attempts integer, timeout_seconds real, step_id text, input jsonb, bound_input jsonb, wake jsonb, checkpoints jsonb, trace_id text, correlation_id text, deadline_at timestamp with time zone);

-- type: stepwell.open_count
create domain stepwell.open_count as integer constraint open_count_is_not_negative CHECK ((VALUE >= 0));

-- type: stepwell.pending_count
create domain stepwell.pending_count as integer constraint pending_count_is_not_negative CHECK ((VALUE >= 0));

-- type: stepwell.queue_place
create type stepwell.queue_place as (tenant_id integer, workspace_id integer, rank integer, operation_id integer, unit_id bigint);

-- type: stepwell.ready_lane
create type stepwell.ready_lane as (executor_class_id integer, rank integer, operation_id integer, unit_id bigint);

-- type: stepwell.rollup_colour
create domain stepwell.rollup_colour as text constraint rollup_is_a_colour CHECK ((VALUE = ANY ('{gray,green,yellow,red}'::text[])));

-- type: stepwell.tenant_turn
create type stepwell.tenant_turn as (tenant_id integer, workspace_id integer, weight double precision, max_concurrency integer, has_hold boolean);

-- type: stepwell.transition_cause
create type stepwell.transition_cause as (actor_class text, trigger_kind text, trigger_ref text, actor text, session_id bigint, at timestamp with time zone, engine_from integer, direct_count integer, direct_session_id bigint);

-- type: stepwell.transition_request
create type stepwell.transition_request as (tenant_id integer, unit_id bigint, to_state text, from_state text, evidence jsonb, payload jsonb, released_count integer, lease_no integer);

-- type: stepwell.unit_change
create type stepwell.unit_change as (tenant_id integer, unit_id bigint, has_slot boolean, executor_class_id integer, rank integer, map_id bigint, open_count integer, is_marked boolean, operation_id integer);

-- sequence: stepwell.access_token_token_id_seq
create sequence stepwell.access_token_token_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.claim_turn_seq
create sequence stepwell.claim_turn_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.claim_window_seq
create sequence stepwell.claim_window_seq as bigint start 0 increment 1 minvalue 0 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.credential_credential_id_seq
create sequence stepwell.credential_credential_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.dlq_replay_request_replay_request_id_seq
create sequence stepwell.dlq_replay_request_replay_request_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.event_seq
create sequence stepwell.event_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.event_validation_audit_audit_id_seq
create sequence stepwell.event_validation_audit_audit_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.executor_class_class_id_seq
create sequence stepwell.executor_class_class_id_seq as integer start 1 increment 1 minvalue 1 maxvalue 2147483647 cache 1;

-- sequence: stepwell.governance_problem_problem_id_seq
create sequence stepwell.governance_problem_problem_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.governance_summary_summary_id_seq
create sequence stepwell.governance_summary_summary_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.handler_handler_id_seq
create sequence stepwell.handler_handler_id_seq as integer start 1 increment 1 minvalue 1 maxvalue 2147483647 cache 1;

-- sequence: stepwell.incident_hold_clock_clock_no_seq
create sequence stepwell.incident_hold_clock_clock_no_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.information_unit_iu_id_seq
create sequence stepwell.information_unit_iu_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.iu_lifecycle_log_entry_id_seq
create sequence stepwell.iu_lifecycle_log_entry_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.operation_operation_id_seq
create sequence stepwell.operation_operation_id_seq as integer start 1 increment 1 minvalue 1 maxvalue 2147483647 cache 1;

-- sequence: stepwell.policy_decision_decision_id_seq
create sequence stepwell.policy_decision_decision_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.policy_set_policy_set_id_seq
create sequence stepwell.policy_set_policy_set_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.principal_principal_id_seq
create sequence stepwell.principal_principal_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.rate_token_token_id_seq
create sequence stepwell.rate_token_token_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.run_seq
create sequence stepwell.run_seq as bigint start 1 increment 1 minvalue 1 maxvalue 8796093022207 cache 1;

-- sequence: stepwell.saved_view_view_id_seq
create sequence stepwell.saved_view_view_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.step_run_output_snapshot_snapshot_id_seq
create sequence stepwell.step_run_output_snapshot_snapshot_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.step_run_prior_audit_prior_audit_id_seq
create sequence stepwell.step_run_prior_audit_prior_audit_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.task_comments_comment_id_seq
create sequence stepwell.task_comments_comment_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.tenant_tenant_id_seq
create sequence stepwell.tenant_tenant_id_seq as integer start 1 increment 1 minvalue 1 maxvalue 2147483647 cache 1;

-- sequence: stepwell.worker_lease_batch_id_seq
create sequence stepwell.worker_lease_batch_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.worker_session_session_id_seq
create sequence stepwell.worker_session_session_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.worker_stop_stop_id_seq
create sequence stepwell.worker_stop_stop_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

-- sequence: stepwell.workflow_registry_workflow_id_seq
create sequence stepwell.workflow_registry_workflow_id_seq as integer start 1 increment 1 minvalue 1 maxvalue 2147483647 cache 1;

-- sequence: stepwell.workflow_version_version_id_seq
create sequence stepwell.workflow_version_version_id_seq as integer start 1 increment 1 minvalue 1 maxvalue 2147483647 cache 1;

-- sequence: stepwell.workspace_workspace_id_seq
create sequence stepwell.workspace_workspace_id_seq as integer start 1 increment 1 minvalue 1 maxvalue 2147483647 cache 1;

-- table: stepwell.access_token
create table stepwell.access_token (
    tenant_id integer not null,
    token_id bigint generated always as identity not null,
    principal_id bigint not null,
    kind text not null,
    label text not null,
    token_hash bytea not null,
    verbs text[],
    created_at timestamp with time zone not null,
    created_by text not null,
    expires_at timestamp with time zone not null,
    revoked_at timestamp with time zone,
    revoked_by text,
    last_seen_at timestamp with time zone,
    idle_seconds integer,
    address text,
    user_agent text
);
alter table stepwell.access_token enable row level security;

-- table: stepwell.action_receipt
create table stepwell.action_receipt (
    tenant_id integer not null,
    receipt_id bigint not null,
    unit_id bigint not null,
    run_id bigint not null,
    step_id text,
    lease_no integer not null,
    intent_token text,
    try_count integer default 1 not null,
    idempotency_key text not null,
    connector text not null,
    operation text not null,
    target text not null,
    action_hash text not null,
    writes boolean not null,
    reversible boolean not null,
    request_metadata jsonb not null,
    response_metadata jsonb,
    external_id text,
    prior jsonb,
    reversal jsonb,
    provider text,
    model text,
    input_tokens bigint,
    output_tokens bigint,
    cost_micros bigint,
    currency text,
    verdict_id bigint not null,
    approval_id bigint,
    requested_by text not null,
    acting text not null,
    reverses_receipt_id bigint,
    reversed_by_receipt_id bigint,
    settled_by text,
    intended_at timestamp with time zone not null,
    settled_at timestamp with time zone,
    session_id bigint
);
alter table stepwell.action_receipt enable row level security;

-- table: stepwell.approval_detail
create table stepwell.approval_detail (
    tenant_id integer not null,
    approval_id bigint not null,
    action text not null,
    subject_unit_id bigint not null,
    tier smallint default 1 not null,
    quorum smallint default 1 not null,
    requested_by text not null,
    reason text,
    requested_at timestamp with time zone not null,
    expires_at timestamp with time zone not null,
    decided_at timestamp with time zone,
    decided_by text,
    request_key text,
    acting text,
    approvers text[],
    approver_role text,
    about jsonb
);
alter table stepwell.approval_detail enable row level security;

-- table: stepwell.approval_vote
create table stepwell.approval_vote (
    tenant_id integer not null,
    approval_id bigint not null,
    voter text not null,
    decision text not null,
    reason text,
    voted_at timestamp with time zone not null
);
alter table stepwell.approval_vote enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.audit_anchor
create table stepwell.audit_anchor (
    tenant_id integer not null,
    anchor text not null,
    last_block_no bigint default 0 not null,
    anchored_at timestamp with time zone,
    failed_at timestamp with time zone,
    last_error text,
    public_key text
);
alter table stepwell.audit_anchor enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.audit_block
create table stepwell.audit_block (
    tenant_id integer not null,
    block_no bigint not null,
    first_tx xid8 not null,
    first_event_id bigint not null,
    last_tx xid8 not null,
    last_event_id bigint not null,
    first_at timestamp with time zone not null,
    last_at timestamp with time zone not null,
    event_count integer not null,
    event_root bytea not null,
    stream_count integer not null,
    stream_root bytea not null,
    history_root bytea not null,
    previous_hash bytea not null,
    sealed_at timestamp with time zone not null,
    block_hash bytea not null
);
alter table stepwell.audit_block enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.audit_block_stream
create table stepwell.audit_block_stream (
    tenant_id integer not null,
    run_id bigint not null,
    block_no bigint not null,
    previous_block_no bigint not null,
    event_count integer not null,
    entry_hash bytea not null
);
alter table stepwell.audit_block_stream enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.audit_chain
create table stepwell.audit_chain (
    tenant_id integer not null,
    chain_id uuid not null,
    salt bytea not null,
    genesis_hash bytea not null,
    created_at timestamp with time zone not null,
    block_count bigint default 0 not null,
    head_hash bytea not null,
    history_peaks bytea[] default '{}'::bytea[] not null,
    last_tx xid8 default '0'::xid8 not null,
    last_event_id bigint default 0 not null,
    sealed_at timestamp with time zone
);
alter table stepwell.audit_chain enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.audit_leaves
create table stepwell.audit_leaves (
    tenant_id integer not null,
    block_no bigint not null,
    leaf_hashes bytea not null,
    txs bigint[] not null,
    event_ids bigint[] not null,
    ats timestamp with time zone[] not null,
    unit_ids bigint[] not null,
    event_types text[] not null,
    value_hashes bytea[]
);
alter table stepwell.audit_leaves enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.binding_key
create table stepwell.binding_key (
    secret bytea not null,
    only_one boolean default true not null
);

-- table: stepwell.business_calendar
create table stepwell.business_calendar (
    tenant_id integer not null,
    calendar_name text not null,
    time_zone text not null,
    created_at timestamp with time zone not null
);
alter table stepwell.business_calendar enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.calendar_holiday
create table stepwell.calendar_holiday (
    tenant_id integer not null,
    calendar_name text not null,
    holiday date not null,
    label text not null
);
alter table stepwell.calendar_holiday enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.calendar_hours
create table stepwell.calendar_hours (
    tenant_id integer not null,
    calendar_name text not null,
    iso_weekday smallint not null,
    opens_at time without time zone not null,
    closes_at time without time zone not null
);
alter table stepwell.calendar_hours enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.clock_shift
create table stepwell.clock_shift (
    shift interval not null,
    only_one boolean default true not null,
    stopped_at timestamp with time zone
);
-- granted to stepwell_api: select
-- granted to stepwell_keeper: select
-- granted to stepwell_reader: select
-- granted to stepwell_slack: select
-- granted to stepwell_worker: select

-- table: stepwell.concurrency_slot
create table stepwell.concurrency_slot (
    tenant_id integer not null,
    slot_key text not null,
    max_count integer not null,
    used_count integer default 0 not null,
    rate_count integer,
    rate_seconds double precision,
    rate_used_count integer default 0 not null
) with (fillfactor=50);
alter table stepwell.concurrency_slot enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.credential
create table stepwell.credential (
    tenant_id integer not null,
    credential_id bigint generated always as identity not null,
    principal_id bigint not null,
    kind text not null,
    secret_hash text not null,
    created_at timestamp with time zone not null,
    expires_at timestamp with time zone,
    used_at timestamp with time zone,
    purpose text,
    created_by text default 'owner'::text not null
);
alter table stepwell.credential enable row level security;

-- table: stepwell.cut_request_detail
create table stepwell.cut_request_detail (
    tenant_id integer not null,
    cut_request_id bigint not null,
    op text not null,
    spec jsonb not null,
    request_key text,
    requested_by text not null,
    requested_at timestamp with time zone not null,
    attempt_count integer default 0 not null,
    finished_at timestamp with time zone,
    reason text,
    error_code text
);
alter table stepwell.cut_request_detail enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.demo
create table stepwell.demo (
    only_one boolean default true not null,
    tenant_id integer not null,
    begun_at timestamp with time zone not null,
    left_at timestamp with time zone,
    left_by text
);
alter table stepwell.demo enable row level security;

-- table: stepwell.development_mode
create table stepwell.development_mode (
    only_one boolean default true not null,
    tenant_id integer not null,
    principal_id bigint not null,
    entered_at timestamp with time zone not null,
    left_at timestamp with time zone,
    left_by text
);
alter table stepwell.development_mode enable row level security;

-- table: stepwell.dlq_replay_plan
create table stepwell.dlq_replay_plan (
    tenant_id integer not null,
    plan_id bigint not null,
    approval_id bigint not null,
    plan_state text not null,
    letter_filter jsonb not null,
    letter_count integer not null,
    stages integer[] not null,
    stage_no smallint default 0 not null,
    reach jsonb not null,
    requested_by text not null,
    reason text,
    requested_at timestamp with time zone not null,
    stage_at timestamp with time zone,
    ended_at timestamp with time zone,
    ended_because text
);
alter table stepwell.dlq_replay_plan enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.dlq_replay_request
create table stepwell.dlq_replay_request (
    tenant_id integer not null,
    replay_request_id bigint generated always as identity not null,
    unit_id bigint not null,
    approval_id bigint not null,
    proposal_state text not null,
    idempotency_key text not null,
    requested_by text not null,
    reason text,
    requested_at timestamp with time zone not null,
    scheduled_at timestamp with time zone,
    outcome_at timestamp with time zone,
    outcome_jsonb jsonb,
    plan_id bigint,
    stage_no smallint,
    replay_state text
);
alter table stepwell.dlq_replay_request enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.dot_config
create table stepwell.dot_config (
    config_key text not null,
    config_value jsonb not null,
    description text not null,
    updated_at timestamp with time zone default clock_timestamp() not null
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.event_field_def
create table stepwell.event_field_def (
    event_type text not null,
    field_name text not null,
    json_type text not null,
    is_required boolean not null,
    allowed_values text[],
    description text not null
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.event_inbox
create table stepwell.event_inbox (
    tenant_id integer not null,
    event_key text not null,
    run_id bigint not null,
    event_type text not null,
    payload jsonb not null,
    received_at timestamp with time zone not null,
    taken_by bigint
);
alter table stepwell.event_inbox enable row level security;

-- table: stepwell.event_lag_count
create table stepwell.event_lag_count (
    tenant_id integer not null,
    slot_at timestamp with time zone not null,
    producer text not null,
    consumer text not null,
    bucket smallint not null,
    event_count integer not null
) with (fillfactor=70);
alter table stepwell.event_lag_count enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.event_lag_place
create table stepwell.event_lag_place (
    tenant_id integer not null,
    last_tx xid8 not null,
    last_event_id bigint not null,
    last_block_no bigint not null
);
alter table stepwell.event_lag_place enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.event_log
create table stepwell.event_log (
    tenant_id integer not null,
    event_id bigint default nextval('stepwell.event_seq'::regclass) not null,
    tx xid8 default pg_current_xact_id() not null,
    at timestamp with time zone not null,
    run_id bigint not null,
    unit_id bigint not null,
    request_id integer,
    event_type text not null,
    from_state text,
    to_state text,
    actor_class text not null,
    actor text,
    audit_ref text,
    trace_id text,
    correlation_id text,
    payload jsonb
) partition by RANGE (at);
alter table stepwell.event_log enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.event_reader
create table stepwell.event_reader (
    tenant_id integer not null,
    reader_name text not null,
    last_tx xid8 default '0'::xid8 not null,
    last_event_id bigint default 0 not null,
    moved_at timestamp with time zone default clock_timestamp() not null,
    principal_id bigint
);
alter table stepwell.event_reader enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.event_route
create table stepwell.event_route (
    tenant_id integer not null,
    route_name text not null,
    event_type text not null,
    operation_id integer not null,
    fields text[] not null,
    priority smallint default 0 not null,
    last_tx xid8 not null,
    last_event_id bigint not null,
    since pg_snapshot not null,
    created_at timestamp with time zone not null,
    created_by text not null
);
alter table stepwell.event_route enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.event_type_registry
create table stepwell.event_type_registry (
    event_type text not null,
    description text not null,
    is_registered boolean default true not null,
    registered_at timestamp with time zone default clock_timestamp() not null
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.event_validation_audit
create table stepwell.event_validation_audit (
    tenant_id integer not null,
    audit_id bigint generated always as identity not null,
    event_type text not null,
    unit_id bigint,
    payload jsonb,
    problems text[] not null,
    rejected_at timestamp with time zone not null,
    reject_count integer default 1 not null,
    last_at timestamp with time zone
);
alter table stepwell.event_validation_audit enable row level security;

-- table: stepwell.event_wait
create table stepwell.event_wait (
    tenant_id integer not null,
    unit_id bigint not null,
    run_id bigint not null,
    event_type text not null,
    since_at timestamp with time zone not null
);
alter table stepwell.event_wait enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.evidence_bundle
create table stepwell.evidence_bundle (
    tenant_id integer not null,
    run_id bigint not null,
    contents_digest text not null,
    with_payloads boolean not null,
    requested_by text not null,
    requested_at timestamp with time zone not null,
    event_tx xid8 not null,
    event_id bigint not null,
    bundle_sha256 text,
    size_bytes bigint,
    stored_at timestamp with time zone,
    stored_url text
);
alter table stepwell.evidence_bundle enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.evidence_due
create table stepwell.evidence_due (
    tenant_id integer not null,
    run_id bigint not null,
    asked_at timestamp with time zone not null,
    retry_at timestamp with time zone,
    try_count integer default 0 not null,
    last_error text
);
alter table stepwell.evidence_due enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.evidence_file
create table stepwell.evidence_file (
    tenant_id integer not null,
    run_id bigint not null,
    contents_digest text not null,
    data bytea not null,
    stored_at timestamp with time zone default clock_timestamp() not null
);
alter table stepwell.evidence_file enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.executor_class
create table stepwell.executor_class (
    executor_class_id integer generated always as identity not null,
    class_name text not null,
    description text not null
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.failure_class_registry
create table stepwell.failure_class_registry (
    failure_class text not null,
    classification text not null,
    description text not null,
    exception_names text[] default '{}'::text[] not null
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.governance_category
create table stepwell.governance_category (
    category_code text not null,
    severity text not null,
    ui_label_i18n_key text not null,
    remedy_i18n_key text not null
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.governance_count
create table stepwell.governance_count (
    tenant_id integer not null,
    category_code text not null,
    open_count integer not null
);
alter table stepwell.governance_count enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.governance_problem
create table stepwell.governance_problem (
    tenant_id integer not null,
    problem_id bigint generated always as identity not null,
    category_code text not null,
    duty text not null,
    subject text not null,
    unit_id bigint,
    reason text not null,
    error_code text,
    seen_count integer default 1 not null,
    opened_at timestamp with time zone not null,
    last_seen_at timestamp with time zone not null,
    retry_at timestamp with time zone,
    opened_event_id bigint not null,
    closed_at timestamp with time zone,
    closed_event_id bigint,
    closed_by text,
    title text,
    since_at timestamp with time zone not null
);
alter table stepwell.governance_problem enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.governance_summary
create table stepwell.governance_summary (
    tenant_id integer not null,
    summary_id bigint generated always as identity not null,
    subject_kind text not null,
    subject text not null,
    category_code text not null,
    colour text not null,
    sentence_en text not null,
    sentence_vi text not null,
    source_event_count integer not null,
    source_event_total integer not null,
    source_event_refs text[] not null,
    window_start_at timestamp with time zone not null,
    window_end_at timestamp with time zone not null,
    summarizer_kind text not null,
    summarizer_ref text not null,
    summarizer_version text not null,
    confidence real,
    written_by text not null,
    written_at timestamp with time zone not null
);
alter table stepwell.governance_summary enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.governance_trend
create table stepwell.governance_trend (
    tenant_id integer not null,
    category_code text not null,
    hour_at timestamp with time zone not null,
    opened_count integer default 0 not null,
    closed_count integer default 0 not null,
    open_count integer not null
);
alter table stepwell.governance_trend enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.governance_watch
create table stepwell.governance_watch (
    watch_name text not null,
    seen_at timestamp with time zone,
    place bigint default 0 not null
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.graph_layout
create table stepwell.graph_layout (
    tenant_id integer not null,
    layout_hash text not null,
    graph_hash text not null,
    lanes_by text not null,
    layout_version integer not null,
    drawing jsonb not null,
    drawn_at timestamp with time zone not null
);
alter table stepwell.graph_layout enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.guard_predicate
create table stepwell.guard_predicate (
    predicate_name text not null,
    description text not null,
    is_builtin boolean default true not null
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.handler
create table stepwell.handler (
    handler_id integer generated always as identity not null,
    operation_name text not null,
    code_version text default ''::text not null
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.handler_event_type
create table stepwell.handler_event_type (
    tenant_id integer not null,
    event_type text not null,
    description text not null,
    payload_schema jsonb,
    registered_at timestamp with time zone not null,
    registered_by text not null
);
alter table stepwell.handler_event_type enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.http_answer
create table stepwell.http_answer (
    tenant_id integer not null,
    principal_id bigint not null,
    idempotency_key text not null,
    request_digest bytea not null,
    made_at timestamp with time zone not null,
    status integer,
    "position" text,
    answer text
);
alter table stepwell.http_answer enable row level security;

-- table: stepwell.http_trigger
create table stepwell.http_trigger (
    tenant_id integer not null,
    trigger_name text not null,
    address text not null,
    secret bytea not null,
    token_id bigint not null,
    workflow_name text not null,
    event_type text,
    ref_path text,
    key_path text,
    input_path text,
    created_at timestamp with time zone not null,
    created_by text not null
);
alter table stepwell.http_trigger enable row level security;

-- table: stepwell.i18n_text
create table stepwell.i18n_text (
    text_key text not null,
    lang text not null,
    text_value text not null
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.incident_hold
create table stepwell.incident_hold (
    tenant_id integer not null,
    hold_id bigint not null,
    scope_kind text not null,
    scope_value text not null,
    workflow_id integer,
    principal_id bigint,
    reason text not null,
    share smallint default 0 not null,
    reach jsonb not null,
    opened_at timestamp with time zone not null,
    opened_by text not null,
    opened_event_id bigint not null,
    graded_at timestamp with time zone,
    graded_by text,
    released_at timestamp with time zone,
    released_by text,
    released_event_id bigint,
    released_seen_tx xid8,
    ended_at timestamp with time zone,
    outcome jsonb
);
alter table stepwell.incident_hold enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.incident_hold_clock
create table stepwell.incident_hold_clock (
    tenant_id integer not null,
    unit_id bigint not null,
    clock_no bigint generated always as identity not null,
    hold_id bigint not null,
    stopped_at timestamp with time zone not null,
    deadline_at timestamp with time zone,
    timers jsonb not null,
    stopped_event_id bigint not null,
    moved_at timestamp with time zone,
    held_for interval,
    moved_event_id bigint
);
alter table stepwell.incident_hold_clock enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.incident_hold_evidence
create table stepwell.incident_hold_evidence (
    tenant_id integer not null,
    hold_id bigint not null,
    content text not null,
    content_sha256 text not null,
    made_at timestamp with time zone not null
);
alter table stepwell.incident_hold_evidence enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.incident_hold_operation
create table stepwell.incident_hold_operation (
    tenant_id integer not null,
    hold_id bigint not null,
    operation_id integer not null
);
alter table stepwell.incident_hold_operation enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.information_bundle_item
create table stepwell.information_bundle_item (
    tenant_id integer not null,
    iu_id bigint not null,
    version_no integer not null,
    place integer not null,
    item_iu_id bigint not null,
    item_version_no integer not null
);
alter table stepwell.information_bundle_item enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.information_unit
create table stepwell.information_unit (
    tenant_id integer not null,
    iu_id bigint generated always as identity not null,
    iu_code text not null,
    is_bundle boolean default false not null,
    created_at timestamp with time zone not null,
    created_by text not null,
    replaced_by bigint
);
alter table stepwell.information_unit enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.information_unit_label
create table stepwell.information_unit_label (
    tenant_id integer not null,
    iu_id bigint not null,
    lang text not null,
    label text not null
);
alter table stepwell.information_unit_label enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.information_unit_permission
create table stepwell.information_unit_permission (
    tenant_id integer not null,
    iu_id bigint not null,
    role_name text not null
);
alter table stepwell.information_unit_permission enable row level security;

-- table: stepwell.information_unit_version
create table stepwell.information_unit_version (
    tenant_id integer not null,
    iu_id bigint not null,
    version_no integer not null,
    body text not null,
    content_hash text not null,
    written_at timestamp with time zone not null,
    written_by text not null,
    note text
);
alter table stepwell.information_unit_version enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.integrity_watch
create table stepwell.integrity_watch (
    is_only boolean default true not null,
    tenant_id integer default 0 not null,
    unit_id bigint default 0 not null,
    run_count integer default 20 not null,
    begun_mark bigint default 0 not null,
    whole_mark bigint default 0 not null,
    whole_at timestamp with time zone
);
alter table stepwell.integrity_watch enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.iu_lifecycle_log
create table stepwell.iu_lifecycle_log (
    tenant_id integer not null,
    entry_id bigint generated always as identity not null,
    iu_code text not null,
    what text not null,
    severity text not null,
    axis_inconsistency boolean default false not null,
    detail text,
    cut_request_id bigint,
    written_by text not null,
    written_at timestamp with time zone not null
);
alter table stepwell.iu_lifecycle_log enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.iu_lineage
create table stepwell.iu_lineage (
    tenant_id integer not null,
    cut_request_id bigint not null,
    from_iu_id bigint not null,
    from_version_no integer not null,
    to_iu_id bigint not null,
    to_version_no integer not null
);
alter table stepwell.iu_lineage enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.job_dead_letter
create table stepwell.job_dead_letter (
    tenant_id integer not null,
    unit_id bigint not null,
    died_at timestamp with time zone not null,
    failure_class text not null,
    error jsonb not null,
    attempt_count smallint not null,
    resolved_at timestamp with time zone,
    resolution text
);
alter table stepwell.job_dead_letter enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.job_detail
create table stepwell.job_detail (
    tenant_id integer not null,
    job_id bigint not null,
    payload jsonb,
    idempotency_key text,
    source_ref text,
    target_ref text,
    payload_ref text,
    trace_id text,
    correlation_id text,
    created_at timestamp with time zone not null,
    created_by text not null,
    workspace_id integer
);
alter table stepwell.job_detail enable row level security;

-- table: stepwell.job_held
create table stepwell.job_held (
    tenant_id integer not null,
    unit_id bigint not null,
    hold_id bigint not null,
    is_retry boolean not null,
    has_slot boolean not null,
    held_at timestamp with time zone not null
);
alter table stepwell.job_held enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.job_line
create table stepwell.job_line (
    tenant_id integer not null,
    slot_key text not null,
    rank smallint not null,
    unit_id bigint not null
);
alter table stepwell.job_line enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.job_ready
create table stepwell.job_ready (
    tenant_id integer not null,
    executor_class_id integer not null,
    rank smallint not null,
    unit_id bigint not null,
    is_retry boolean not null,
    workspace_id integer default 0 not null,
    operation_id integer not null,
    put_by xid8 default pg_current_xact_id() not null
) with (autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=500, fillfactor=100);
alter table stepwell.job_ready enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.job_template
create table stepwell.job_template (
    tenant_id integer not null,
    template_id text not null,
    workflow_id integer not null,
    workflow_kind text not null,
    description text not null,
    template jsonb not null,
    registered_at timestamp with time zone not null,
    registered_by text not null
);
alter table stepwell.job_template enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.job_workflow_detail
create table stepwell.job_workflow_detail (
    tenant_id integer not null,
    workflow_id bigint not null,
    template_id text not null,
    workflow_kind text not null,
    generator text not null,
    params_keys text[] not null,
    ref_params jsonb not null,
    status text default 'active'::text not null,
    refreshed_at timestamp with time zone
);
alter table stepwell.job_workflow_detail enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.job_workflow_kind
create table stepwell.job_workflow_kind (
    workflow_kind text not null,
    description text not null
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.keeper_lead
create table stepwell.keeper_lead (
    is_only boolean default true not null,
    fence bigint default 0 not null,
    holder text,
    expires_at timestamp with time zone default '-infinity'::timestamp with time zone not null
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.map_item
create table stepwell.map_item (
    tenant_id integer not null,
    unit_id bigint not null,
    item_no integer not null,
    item jsonb not null
);
alter table stepwell.map_item enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.operation
create table stepwell.operation (
    tenant_id integer not null,
    operation_id integer generated always as identity not null,
    operation_name text not null,
    executor_class_id integer not null,
    max_attempts smallint default 5 not null,
    retry_initial_seconds real default 1 not null,
    retry_max_seconds real default 300 not null,
    retry_multiplier real default 2 not null,
    non_retryable text[] default '{}'::text[] not null,
    timeout_seconds real,
    updated_at timestamp with time zone default clock_timestamp() not null,
    handler_id integer not null,
    registered_at timestamp with time zone,
    retry_delays_seconds real[]
);
alter table stepwell.operation enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.permission
create table stepwell.permission (
    tenant_id integer not null,
    role_name text not null,
    verb text not null
);
alter table stepwell.permission enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.policy_active
create table stepwell.policy_active (
    tenant_id integer not null,
    policy_set_id bigint not null,
    activated_at timestamp with time zone not null,
    activated_by text not null
);
alter table stepwell.policy_active enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.policy_set
create table stepwell.policy_set (
    tenant_id integer not null,
    policy_set_id bigint generated always as identity not null,
    version_no integer not null,
    rules jsonb not null,
    rules_hash text not null,
    source text,
    base_policy_set_id bigint,
    diff jsonb not null,
    proposal_id bigint not null,
    approval_id bigint not null,
    proposed_by text not null,
    proposed_at timestamp with time zone not null,
    reason text
);
alter table stepwell.policy_set enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.policy_verdict
create table stepwell.policy_verdict (
    tenant_id integer not null,
    unit_id bigint not null,
    verdict_id bigint generated always as identity not null,
    lease_no integer not null,
    idempotency_key text not null,
    connector text not null,
    operation text not null,
    target text not null,
    action_hash text not null,
    effect text not null,
    reason_code text not null,
    reason text not null,
    policy_set_id bigint,
    rule_name text,
    tier text,
    two_person boolean default false not null,
    approval_id bigint,
    decided_at timestamp with time zone not null
);
alter table stepwell.policy_verdict enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.principal
create table stepwell.principal (
    tenant_id integer not null,
    principal_id bigint generated always as identity not null,
    principal_name text not null,
    display_name text,
    is_active boolean default true not null,
    created_at timestamp with time zone not null,
    kind text default 'person'::text not null,
    name_key text,
    name_skeleton text,
    former_keys text[] default '{}'::text[] not null
);
alter table stepwell.principal enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.principal_role
create table stepwell.principal_role (
    tenant_id integer not null,
    principal_id bigint not null,
    role_name text not null
);
alter table stepwell.principal_role enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.rate_token
create table stepwell.rate_token (
    tenant_id integer not null,
    token_id bigint generated always as identity not null,
    slot_key text not null,
    token_count integer not null,
    back_at timestamp with time zone not null
);
alter table stepwell.rate_token enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.rollup_policy_def
create table stepwell.rollup_policy_def (
    state_machine_id text not null,
    policy_code text not null,
    policy_config_jsonb jsonb not null,
    active boolean default true not null,
    description text not null
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.run_detail
create table stepwell.run_detail (
    tenant_id integer not null,
    run_id bigint not null,
    version_id integer not null,
    workflow_id integer not null,
    trigger_type text not null,
    trigger_ref text,
    input jsonb not null,
    trace_id text,
    correlation_id text,
    started_by text not null,
    parent_unit_id bigint,
    depth smallint default 0 not null,
    next_unit_no integer not null,
    created_at timestamp with time zone not null,
    finished_state text,
    finished_at timestamp with time zone,
    is_watched boolean default false not null,
    origin text[]
) with (fillfactor=80);
alter table stepwell.run_detail enable row level security;

-- table: stepwell.run_label
create table stepwell.run_label (
    tenant_id integer not null,
    run_id bigint not null,
    label_key text not null,
    label_value text not null
);
alter table stepwell.run_label enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.run_progress
create table stepwell.run_progress (
    tenant_id integer not null,
    run_id bigint not null,
    parent_run_id bigint,
    open_count stepwell.open_count not null,
    mandatory_count integer not null,
    idle_count integer default 0 not null,
    active_count integer default 0 not null,
    wait_count integer default 0 not null,
    red_count integer default 0 not null,
    completed_count integer default 0 not null,
    skipped_count integer default 0 not null,
    failed_count integer default 0 not null,
    map_count integer default 0 not null,
    rollup_state_code stepwell.rollup_colour default 'gray'::text not null,
    last_rollup_at timestamp with time zone not null,
    frozen_at timestamp with time zone,
    needs_attention boolean default false not null,
    followed_until timestamp with time zone,
    watches_steps boolean default false not null,
    subrun_count integer default 0 not null,
    workspace_id integer
) with (autovacuum_vacuum_scale_factor=0.05, fillfactor=50);
alter table stepwell.run_progress enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.run_write_count
create table stepwell.run_write_count (
    tenant_id integer not null,
    unit_id bigint not null,
    write_count integer not null
);
alter table stepwell.run_write_count enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.saved_view
create table stepwell.saved_view (
    tenant_id integer not null,
    view_id bigint generated always as identity not null,
    page text not null,
    view_name text not null,
    name_key text not null,
    filter jsonb not null,
    columns text[] not null,
    owner_id bigint not null,
    is_shared boolean not null,
    changed_at timestamp with time zone not null
);
alter table stepwell.saved_view enable row level security;

-- table: stepwell.schema_migration
create table stepwell.schema_migration (
    migration_no integer not null,
    name text not null,
    sha256 text not null,
    applied_at timestamp with time zone default clock_timestamp() not null
);
-- granted to stepwell_api: select
-- granted to stepwell_keeper: select
-- granted to stepwell_reader: select
-- granted to stepwell_slack: select
-- granted to stepwell_worker: select

-- table: stepwell.schema_routine
create table stepwell.schema_routine (
    only_row boolean default true not null,
    sha256 text not null,
    function_names text[] not null,
    view_names text[] not null,
    applied_at timestamp with time zone default clock_timestamp() not null
);
-- granted to stepwell_api: select
-- granted to stepwell_keeper: select
-- granted to stepwell_reader: select
-- granted to stepwell_slack: select
-- granted to stepwell_worker: select

-- table: stepwell.sign_in_throttle
create table stepwell.sign_in_throttle (
    tenant_id integer not null,
    name_key text not null,
    address text not null,
    failure_count integer default 0 not null,
    failed_at timestamp with time zone,
    blocked_until timestamp with time zone,
    signed_in_at timestamp with time zone
);
alter table stepwell.sign_in_throttle enable row level security;

-- table: stepwell.slack_callback
create table stepwell.slack_callback (
    tenant_id integer not null,
    signature text not null,
    seen_at timestamp with time zone not null
);
alter table stepwell.slack_callback enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.slack_card
create table stepwell.slack_card (
    tenant_id integer not null,
    approval_id bigint not null,
    channel text not null,
    message_ts text,
    face text,
    is_final boolean default false not null,
    try_count integer default 0 not null,
    next_try_at timestamp with time zone not null,
    last_error text,
    created_at timestamp with time zone not null,
    noted_at timestamp with time zone
);
alter table stepwell.slack_card enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.slack_user
create table stepwell.slack_user (
    tenant_id integer not null,
    slack_user_id text not null,
    person_id bigint not null,
    mapped_at timestamp with time zone not null,
    mapped_by text not null
);
alter table stepwell.slack_user enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.state_def
create table stepwell.state_def (
    state_machine_id text not null,
    state_code text not null,
    semantic_class text not null,
    is_terminal boolean not null,
    is_initial boolean default false not null,
    ordinal integer not null,
    ui_color_token text not null,
    ui_icon_token text not null,
    ui_icon_glyph text not null,
    ui_label_i18n_key text not null,
    ui_short_message_key text not null,
    is_derived boolean default false not null,
    floor_equivalent text,
    justification text
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.state_dialect
create table stepwell.state_dialect (
    dialect text not null,
    scope text not null,
    state_code text not null,
    qualifier text default ''::text not null,
    dialect_code text not null,
    note text
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.state_facet_def
create table stepwell.state_facet_def (
    state_machine_id text not null,
    state_code text not null,
    facet_code text not null,
    ui_icon_token text not null,
    ui_icon_glyph text not null,
    ui_label_i18n_key text not null,
    primary_ordinal integer not null
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.state_machine_def
create table stepwell.state_machine_def (
    state_machine_id text not null,
    scope text not null,
    version text not null,
    active boolean default false not null,
    description text not null,
    created_at timestamp with time zone default clock_timestamp() not null
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.step_block
create table stepwell.step_block (
    tenant_id integer not null,
    unit_id bigint not null,
    block_reason text not null,
    detail text,
    blocked_by text not null,
    blocked_at timestamp with time zone not null,
    escalated_at timestamp with time zone,
    escalated_by text
);
alter table stepwell.step_block enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.step_content_pin
create table stepwell.step_content_pin (
    tenant_id integer not null,
    run_id bigint not null,
    step_no integer not null,
    iu_id bigint not null,
    version_no integer not null,
    pinned_at timestamp with time zone not null
);
alter table stepwell.step_content_pin enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.step_escalation
create table stepwell.step_escalation (
    tenant_id integer not null,
    unit_id bigint not null,
    level smallint not null,
    tell text not null,
    due_at timestamp with time zone not null,
    told_at timestamp with time zone
);
alter table stepwell.step_escalation enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.step_input
create table stepwell.step_input (
    tenant_id integer not null,
    unit_id bigint not null,
    binding_no smallint not null,
    inputs jsonb not null,
    bound_at timestamp with time zone not null
);
alter table stepwell.step_input enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.step_run_correction_cycle
create table stepwell.step_run_correction_cycle (
    tenant_id integer not null,
    unit_id bigint not null,
    cycle_no integer not null,
    root_unit_id bigint not null,
    approval_id bigint not null,
    correction_reason text not null,
    prior_audit_id bigint not null,
    snapshot_id bigint,
    downstream_choice text not null,
    waits_for bigint[] default '{}'::bigint[] not null,
    reopened_by text not null,
    reopened_at timestamp with time zone not null,
    closed_state text,
    closed_at timestamp with time zone
);
alter table stepwell.step_run_correction_cycle enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.step_run_output_snapshot
create table stepwell.step_run_output_snapshot (
    tenant_id integer not null,
    snapshot_id bigint generated always as identity not null,
    unit_id bigint not null,
    lease_no integer not null,
    output jsonb not null,
    taken_at timestamp with time zone not null
);
alter table stepwell.step_run_output_snapshot enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.step_run_prior_audit
create table stepwell.step_run_prior_audit (
    tenant_id integer not null,
    prior_audit_id bigint generated always as identity not null,
    unit_id bigint not null,
    closing_state text not null,
    closed_at timestamp with time zone not null,
    closed_by text,
    actor_class text not null,
    audit_ref text,
    event_id bigint not null,
    output jsonb,
    written_at timestamp with time zone not null
);
alter table stepwell.step_run_prior_audit enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.task_comments
create table stepwell.task_comments (
    tenant_id integer not null,
    comment_id bigint generated always as identity not null,
    unit_id bigint not null,
    run_id bigint not null,
    body text not null,
    written_by text not null,
    written_at timestamp with time zone not null
);
alter table stepwell.task_comments enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.task_detail
create table stepwell.task_detail (
    tenant_id integer not null,
    unit_id bigint not null,
    step_run_id bigint not null,
    task_no integer not null,
    task_id text not null,
    title text,
    role text,
    assignee text,
    form jsonb
);
alter table stepwell.task_detail enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.tenant
create table stepwell.tenant (
    tenant_id integer generated always as identity not null,
    tenant_code text not null,
    weight integer default 1 not null,
    created_at timestamp with time zone default clock_timestamp() not null,
    max_concurrency integer,
    max_runs_per_min integer,
    max_writes_per_run integer,
    has_hold boolean default false not null
);
alter table stepwell.tenant enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.tenant_lease
create table stepwell.tenant_lease (
    tenant_id integer not null,
    unit_id bigint not null,
    lease_no integer not null
) with (autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=500);
alter table stepwell.tenant_lease enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.timer
create table stepwell.timer (
    tenant_id integer not null,
    unit_id bigint not null,
    timer_kind text not null,
    due_at timestamp with time zone not null
);
alter table stepwell.timer enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.transition_def
create table stepwell.transition_def (
    state_machine_id text not null,
    from_state text not null,
    to_state text not null,
    actor_class text not null,
    transition_code text not null,
    trigger_kind text not null,
    trigger_ref text,
    guard_kind text default 'none'::text not null,
    guard_ref text,
    emitted_event_type text,
    audit_required boolean default false not null,
    rollback_to text,
    proposed boolean default false not null,
    is_extension boolean default false not null,
    reason text
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.transition_idempotency
create table stepwell.transition_idempotency (
    tenant_id integer not null,
    unit_id bigint not null,
    transition_id text not null,
    idempotency_key text not null,
    verdict jsonb not null,
    decided_at timestamp with time zone not null
);
alter table stepwell.transition_idempotency enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.unit_action
create table stepwell.unit_action (
    scope text not null,
    action text not null,
    ordinal integer not null,
    verb text not null,
    call_path text not null,
    is_for_people boolean not null,
    to_state text,
    actor_class text,
    trigger_kind text,
    trigger_ref text,
    actor_guard text,
    given_guards text[] default '{}'::text[] not null,
    needed_fields text[] default '{}'::text[] not null,
    approval_action text
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.unit_checkpoint
create table stepwell.unit_checkpoint (
    tenant_id integer not null,
    unit_id bigint not null,
    checkpoint_name text not null,
    checkpoint_value jsonb not null,
    lease_no integer not null,
    saved_at timestamp with time zone not null
);
alter table stepwell.unit_checkpoint enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.unit_failure
create table stepwell.unit_failure (
    tenant_id integer not null,
    unit_id bigint not null,
    lease_no integer not null,
    failure_class text not null,
    classification text not null,
    error jsonb not null,
    attempt_count smallint not null,
    failed_at timestamp with time zone not null,
    next_eligible_at timestamp with time zone
);
alter table stepwell.unit_failure enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.unit_output
create table stepwell.unit_output (
    tenant_id integer not null,
    unit_id bigint not null,
    lease_no integer not null,
    output jsonb not null,
    created_at timestamp with time zone not null
);
alter table stepwell.unit_output enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.unit_progress
create table stepwell.unit_progress (
    tenant_id integer not null,
    unit_id bigint not null,
    lease_no integer not null,
    done double precision not null,
    total double precision,
    note text,
    said_at timestamp with time zone not null
) with (fillfactor=50);
alter table stepwell.unit_progress enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.unit_wake
create table stepwell.unit_wake (
    tenant_id integer not null,
    unit_id bigint not null,
    task_type text not null,
    event_type text,
    payload jsonb,
    woken_at timestamp with time zone not null
);
alter table stepwell.unit_wake enable row level security;

-- table: stepwell.verb
create table stepwell.verb (
    verb text not null,
    description text not null
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.why_cause
create table stepwell.why_cause (
    cause text not null,
    action text,
    is_of_run boolean default false not null,
    command text
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.work_unit
create table stepwell.work_unit (
    tenant_id integer not null,
    unit_id bigint not null,
    version_id integer,
    def_no integer,
    operation_id integer,
    executor_class_id integer,
    pending_count stepwell.pending_count default 0 not null,
    lease_no integer default 0 not null,
    lease_session_id bigint,
    priority smallint default 0 not null,
    attempt_count smallint default 0 not null,
    max_attempts smallint default 1 not null,
    mandatory boolean default true not null,
    has_contract boolean default false not null,
    completed_after_deadline boolean default false not null,
    blocked_escalated boolean default false not null,
    failure_caught boolean default false not null,
    item_no integer,
    started_at timestamp with time zone,
    completed_at timestamp with time zone,
    last_transition_at timestamp with time zone not null,
    deadline_at timestamp with time zone,
    overdue_first_at timestamp with time zone,
    parent_id bigint,
    pic_id bigint,
    sla_breach_duration interval,
    scope text not null,
    state_machine_id text not null,
    state_code text not null,
    waiting_facet text,
    failure_class text,
    slot_key text,
    waiting_facets text[],
    has_deadline boolean default false not null
) with (autovacuum_analyze_scale_factor=0.1, autovacuum_vacuum_scale_factor=0.05, fillfactor=60);
alter table stepwell.work_unit enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.worker_lease
create table stepwell.worker_lease (
    session_id bigint not null,
    batch_id bigint generated always as identity not null,
    tenant_ids integer[] not null,
    unit_ids bigint[] not null
);

-- table: stepwell.worker_session
create table stepwell.worker_session (
    session_id bigint generated always as identity not null,
    worker_name text not null,
    executor_class_ids integer[] not null,
    slot_count integer not null,
    lease_seconds integer not null,
    started_at timestamp with time zone not null,
    last_tick_at timestamp with time zone not null,
    expires_at timestamp with time zone not null,
    closed_at timestamp with time zone,
    is_idle boolean default false not null,
    info jsonb default '{}'::jsonb not null,
    handler_ids integer[],
    session_key_hash bytea not null,
    claim_class_ids integer[] not null,
    last_ok_at timestamp with time zone,
    held_count integer default 0 not null,
    handler_takes jsonb
) with (fillfactor=50);

-- table: stepwell.worker_stop
create table stepwell.worker_stop (
    stop_id bigint generated always as identity not null,
    stop_kind text not null,
    worker_name text,
    executor_class_id integer,
    reason text not null,
    stopped_by text not null,
    stopped_at timestamp with time zone not null
);

-- table: stepwell.workflow_branch
create table stepwell.workflow_branch (
    tenant_id integer not null,
    version_id integer not null,
    branch_no integer not null,
    conditional_no integer not null,
    parent_branch_no integer,
    negated boolean not null
);
alter table stepwell.workflow_branch enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.workflow_group
create table stepwell.workflow_group (
    tenant_id integer not null,
    version_id integer not null,
    group_no integer not null,
    max_concurrency integer not null
);
alter table stepwell.workflow_group enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.workflow_registry
create table stepwell.workflow_registry (
    tenant_id integer not null,
    workflow_id integer generated always as identity not null,
    workflow_name text not null,
    workflow_class text default 'default'::text not null,
    created_at timestamp with time zone default clock_timestamp() not null,
    max_concurrency integer,
    max_runs_per_min integer,
    max_writes_per_run integer,
    makes_evidence boolean default true not null
);
alter table stepwell.workflow_registry enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.workflow_schedule
create table stepwell.workflow_schedule (
    tenant_id integer not null,
    schedule_name text not null,
    workflow_id integer not null,
    cron text not null,
    time_zone text default 'UTC'::text not null,
    input jsonb default '{}'::jsonb not null,
    misfire text default 'latest'::text not null,
    backfill_limit integer default 100 not null,
    is_paused boolean default false not null,
    next_at timestamp with time zone,
    last_at timestamp with time zone,
    created_at timestamp with time zone not null,
    created_by text not null,
    authors text[] not null,
    workspace_id integer
);
alter table stepwell.workflow_schedule enable row level security;

-- table: stepwell.workflow_step_def
create table stepwell.workflow_step_def (
    tenant_id integer not null,
    version_id integer not null,
    step_no integer not null,
    step_id text not null,
    step_kind text not null,
    scope_no integer default 0 not null,
    branch_no integer,
    group_no integer,
    priority smallint default 0 not null,
    pending_count integer not null,
    operation_id integer,
    max_attempts smallint default 1 not null,
    timeout_seconds real,
    has_contract boolean default false not null,
    inputs jsonb,
    config jsonb default '{}'::jsonb not null,
    is_last boolean default false not null,
    mandatory boolean default true not null,
    has_deadline boolean default false not null
);
alter table stepwell.workflow_step_def enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.workflow_step_permission
create table stepwell.workflow_step_permission (
    tenant_id integer not null,
    workflow_id integer not null,
    step_id text not null,
    role_name text not null
);
alter table stepwell.workflow_step_permission enable row level security;

-- table: stepwell.workflow_step_relations
create table stepwell.workflow_step_relations (
    tenant_id integer not null,
    version_id integer not null,
    from_no integer not null,
    to_no integer not null,
    branch_no integer
);
alter table stepwell.workflow_step_relations enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- table: stepwell.workflow_version
create table stepwell.workflow_version (
    tenant_id integer not null,
    version_id integer generated always as identity not null,
    workflow_id integer not null,
    version_no integer not null,
    graph_hash text not null,
    graph jsonb not null,
    failure_policy text not null,
    step_count integer not null,
    published_at timestamp with time zone not null,
    published_by text not null,
    input_schema jsonb,
    maps_input boolean default false not null,
    is_template boolean default false not null,
    title text generated always as ((graph ->> 'title'::text))
);
alter table stepwell.workflow_version enable row level security;

-- table: stepwell.workspace
create table stepwell.workspace (
    tenant_id integer not null,
    workspace_id integer generated always as identity not null,
    workspace_name text not null,
    max_concurrency integer,
    max_runs_per_min integer,
    max_writes_per_run integer,
    created_at timestamp with time zone default clock_timestamp() not null
);
alter table stepwell.workspace enable row level security;
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- constraint: stepwell.access_token.a_revoked_token_names_who
alter table stepwell.access_token add constraint a_revoked_token_names_who CHECK (((revoked_at IS NULL) = (revoked_by IS NULL)));

-- constraint: stepwell.access_token.a_session_ends_when_it_is_idle
alter table stepwell.access_token add constraint a_session_ends_when_it_is_idle CHECK ((((kind = 'session'::text) = (last_seen_at IS NOT NULL)) AND ((kind = 'session'::text) = (idle_seconds IS NOT NULL))));

-- constraint: stepwell.access_token.access_token_pkey
alter table stepwell.access_token add constraint access_token_pkey PRIMARY KEY (tenant_id, token_id);

-- constraint: stepwell.access_token.session_address_has_a_length
alter table stepwell.access_token add constraint session_address_has_a_length CHECK ((length(address) <= 100));

-- constraint: stepwell.access_token.token_hash_is_sha256
alter table stepwell.access_token add constraint token_hash_is_sha256 CHECK ((length(token_hash) = 32));

-- constraint: stepwell.access_token.token_is_stored_once
alter table stepwell.access_token add constraint token_is_stored_once UNIQUE (token_hash);

-- constraint: stepwell.access_token.token_kind_is_known
alter table stepwell.access_token add constraint token_kind_is_known CHECK ((kind = ANY (ARRAY['session'::text, 'api'::text])));

-- constraint: stepwell.access_token.token_label_has_a_length
alter table stepwell.access_token add constraint token_label_has_a_length CHECK (((length(label) >= 1) AND (length(label) <= 200)));

-- constraint: stepwell.access_token.token_principal_exists
alter table stepwell.access_token add constraint token_principal_exists FOREIGN KEY (tenant_id, principal_id) REFERENCES stepwell.principal(tenant_id, principal_id);

-- constraint: stepwell.access_token.user_agent_has_a_length
alter table stepwell.access_token add constraint user_agent_has_a_length CHECK ((length(user_agent) <= 400));

-- constraint: stepwell.action_receipt.action_receipt_pkey
alter table stepwell.action_receipt add constraint action_receipt_pkey PRIMARY KEY (tenant_id, receipt_id);

-- constraint: stepwell.action_receipt.cost_is_not_negative
alter table stepwell.action_receipt add constraint cost_is_not_negative CHECK (((cost_micros >= 0) AND (input_tokens >= 0) AND (output_tokens >= 0)));

-- constraint: stepwell.action_receipt.effect_key_is_unique
alter table stepwell.action_receipt add constraint effect_key_is_unique UNIQUE (tenant_id, idempotency_key);

-- constraint: stepwell.action_receipt.reversed_receipt_exists
alter table stepwell.action_receipt add constraint reversed_receipt_exists FOREIGN KEY (tenant_id, reverses_receipt_id) REFERENCES stepwell.action_receipt(tenant_id, receipt_id);

-- constraint: stepwell.action_receipt.tries_are_counted
alter table stepwell.action_receipt add constraint tries_are_counted CHECK ((try_count >= 1));

-- constraint: stepwell.approval_detail.approval_action_is_plain
alter table stepwell.approval_detail add constraint approval_action_is_plain CHECK ((action ~ '^[a-z][a-z0-9_.]{0,99}$'::text));

-- constraint: stepwell.approval_detail.approval_detail_pkey
alter table stepwell.approval_detail add constraint approval_detail_pkey PRIMARY KEY (tenant_id, approval_id);

-- constraint: stepwell.approval_detail.approvers_are_bounded
alter table stepwell.approval_detail add constraint approvers_are_bounded CHECK (((approvers IS NULL) OR ((cardinality(approvers) >= 1) AND (cardinality(approvers) <= 50))));

-- constraint: stepwell.approval_detail.quorum_is_bounded
alter table stepwell.approval_detail add constraint quorum_is_bounded CHECK (((quorum >= 1) AND (quorum <= 9)));

-- constraint: stepwell.approval_detail.tier_is_bounded
alter table stepwell.approval_detail add constraint tier_is_bounded CHECK (((tier >= 1) AND (tier <= 9)));

-- constraint: stepwell.approval_vote.approval_vote_pkey
alter table stepwell.approval_vote add constraint approval_vote_pkey PRIMARY KEY (tenant_id, approval_id, voter);

-- constraint: stepwell.approval_vote.decision_is_known
alter table stepwell.approval_vote add constraint decision_is_known CHECK ((decision = ANY (ARRAY['approve'::text, 'reject'::text])));

-- constraint: stepwell.approval_vote.voted_approval_exists
alter table stepwell.approval_vote add constraint voted_approval_exists FOREIGN KEY (tenant_id, approval_id) REFERENCES stepwell.approval_detail(tenant_id, approval_id);

-- constraint: stepwell.audit_anchor.anchor_has_a_length
alter table stepwell.audit_anchor add constraint anchor_has_a_length CHECK (((length(anchor) >= 1) AND (length(anchor) <= 1000)));

-- constraint: stepwell.audit_anchor.audit_anchor_pkey
alter table stepwell.audit_anchor add constraint audit_anchor_pkey PRIMARY KEY (tenant_id, anchor);

-- constraint: stepwell.audit_block.a_position_is_sealed_once
alter table stepwell.audit_block add constraint a_position_is_sealed_once UNIQUE (tenant_id, last_tx, last_event_id);

-- constraint: stepwell.audit_block.audit_block_pkey
alter table stepwell.audit_block add constraint audit_block_pkey PRIMARY KEY (tenant_id, block_no);

-- constraint: stepwell.audit_block.block_hashes_have_32_bytes
alter table stepwell.audit_block add constraint block_hashes_have_32_bytes CHECK (((length(event_root) = 32) AND (length(stream_root) = 32) AND (length(history_root) = 32) AND (length(previous_hash) = 32) AND (length(block_hash) = 32)));

-- constraint: stepwell.audit_block.block_is_not_empty
alter table stepwell.audit_block add constraint block_is_not_empty CHECK (((event_count >= 1) AND ((stream_count >= 1) AND (stream_count <= event_count))));

-- constraint: stepwell.audit_block.block_positions_are_in_order
alter table stepwell.audit_block add constraint block_positions_are_in_order CHECK ((ROW(first_tx, first_event_id) <= ROW(last_tx, last_event_id)));

-- constraint: stepwell.audit_block_stream.audit_block_stream_pkey
alter table stepwell.audit_block_stream add constraint audit_block_stream_pkey PRIMARY KEY (tenant_id, run_id, block_no);

-- constraint: stepwell.audit_block_stream.previous_block_is_earlier
alter table stepwell.audit_block_stream add constraint previous_block_is_earlier CHECK ((previous_block_no < block_no));

-- constraint: stepwell.audit_chain.audit_chain_pkey
alter table stepwell.audit_chain add constraint audit_chain_pkey PRIMARY KEY (tenant_id);

-- constraint: stepwell.audit_chain.chain_hashes_have_32_bytes
alter table stepwell.audit_chain add constraint chain_hashes_have_32_bytes CHECK (((length(genesis_hash) = 32) AND (length(head_hash) = 32)));

-- constraint: stepwell.audit_chain.salt_has_32_bytes
alter table stepwell.audit_chain add constraint salt_has_32_bytes CHECK ((length(salt) = 32));

-- constraint: stepwell.audit_leaves.audit_leaves_pkey
alter table stepwell.audit_leaves add constraint audit_leaves_pkey PRIMARY KEY (tenant_id, block_no);

-- constraint: stepwell.binding_key.binding_key_has_one_row
alter table stepwell.binding_key add constraint binding_key_has_one_row CHECK (only_one);

-- constraint: stepwell.binding_key.binding_key_pkey
alter table stepwell.binding_key add constraint binding_key_pkey PRIMARY KEY (only_one);

-- constraint: stepwell.binding_key.secret_is_long_enough
alter table stepwell.binding_key add constraint secret_is_long_enough CHECK ((length(secret) >= 32));

-- constraint: stepwell.business_calendar.business_calendar_pkey
alter table stepwell.business_calendar add constraint business_calendar_pkey PRIMARY KEY (tenant_id, calendar_name);

-- constraint: stepwell.business_calendar.calendar_name_has_a_length
alter table stepwell.business_calendar add constraint calendar_name_has_a_length CHECK (((length(calendar_name) >= 1) AND (length(calendar_name) <= 200)));

-- constraint: stepwell.calendar_holiday.calendar_holiday_pkey
alter table stepwell.calendar_holiday add constraint calendar_holiday_pkey PRIMARY KEY (tenant_id, calendar_name, holiday);

-- constraint: stepwell.calendar_holiday.holiday_calendar_exists
alter table stepwell.calendar_holiday add constraint holiday_calendar_exists FOREIGN KEY (tenant_id, calendar_name) REFERENCES stepwell.business_calendar(tenant_id, calendar_name);

-- constraint: stepwell.calendar_hours.calendar_hours_pkey
alter table stepwell.calendar_hours add constraint calendar_hours_pkey PRIMARY KEY (tenant_id, calendar_name, iso_weekday, opens_at);

-- constraint: stepwell.calendar_hours.hours_calendar_exists
alter table stepwell.calendar_hours add constraint hours_calendar_exists FOREIGN KEY (tenant_id, calendar_name) REFERENCES stepwell.business_calendar(tenant_id, calendar_name);

-- constraint: stepwell.calendar_hours.hours_have_a_length
alter table stepwell.calendar_hours add constraint hours_have_a_length CHECK ((closes_at > opens_at));

-- constraint: stepwell.calendar_hours.weekday_is_iso
alter table stepwell.calendar_hours add constraint weekday_is_iso CHECK (((iso_weekday >= 1) AND (iso_weekday <= 7)));

-- constraint: stepwell.clock_shift.clock_shift_has_one_row
alter table stepwell.clock_shift add constraint clock_shift_has_one_row CHECK (only_one);

-- constraint: stepwell.clock_shift.clock_shift_pkey
alter table stepwell.clock_shift add constraint clock_shift_pkey PRIMARY KEY (only_one);

-- constraint: stepwell.concurrency_slot.concurrency_slot_pkey
alter table stepwell.concurrency_slot add constraint concurrency_slot_pkey PRIMARY KEY (tenant_id, slot_key);

-- constraint: stepwell.concurrency_slot.max_count_is_positive
alter table stepwell.concurrency_slot add constraint max_count_is_positive CHECK ((max_count >= 1));

-- constraint: stepwell.concurrency_slot.rate_is_positive
alter table stepwell.concurrency_slot add constraint rate_is_positive CHECK (((rate_count >= 1) AND (rate_seconds > (0)::double precision)));

-- constraint: stepwell.concurrency_slot.rate_is_whole
alter table stepwell.concurrency_slot add constraint rate_is_whole CHECK (((rate_count IS NULL) = (rate_seconds IS NULL)));

-- constraint: stepwell.concurrency_slot.rate_used_count_is_not_negative
alter table stepwell.concurrency_slot add constraint rate_used_count_is_not_negative CHECK ((rate_used_count >= 0));

-- constraint: stepwell.concurrency_slot.used_count_is_not_negative
alter table stepwell.concurrency_slot add constraint used_count_is_not_negative CHECK ((used_count >= 0));

-- constraint: stepwell.credential.a_link_has_a_purpose
alter table stepwell.credential add constraint a_link_has_a_purpose CHECK (((kind = 'link'::text) = (purpose IS NOT NULL)));

-- constraint: stepwell.credential.a_link_is_hashed_and_expires
alter table stepwell.credential add constraint a_link_is_hashed_and_expires CHECK (((kind <> 'link'::text) OR ((secret_hash ~ '^[0-9a-f]{64}$'::text) AND (expires_at IS NOT NULL))));

-- constraint: stepwell.credential.a_password_is_hashed_with_argon2id
alter table stepwell.credential add constraint a_password_is_hashed_with_argon2id CHECK (((kind <> 'password'::text) OR (secret_hash ~~ '$argon2id$%'::text)));

-- constraint: stepwell.credential.credential_kind_is_known
alter table stepwell.credential add constraint credential_kind_is_known CHECK ((kind = ANY (ARRAY['password'::text, 'link'::text])));

-- constraint: stepwell.credential.credential_pkey
alter table stepwell.credential add constraint credential_pkey PRIMARY KEY (tenant_id, credential_id);

-- constraint: stepwell.credential.credential_principal_exists
alter table stepwell.credential add constraint credential_principal_exists FOREIGN KEY (tenant_id, principal_id) REFERENCES stepwell.principal(tenant_id, principal_id);

-- constraint: stepwell.credential.link_purpose_is_known
alter table stepwell.credential add constraint link_purpose_is_known CHECK ((purpose = ANY (ARRAY['first_administrator'::text, 'password_reset'::text, 'sign_in'::text])));

-- constraint: stepwell.cut_request_detail.cut_request_detail_pkey
alter table stepwell.cut_request_detail add constraint cut_request_detail_pkey PRIMARY KEY (tenant_id, cut_request_id);

-- constraint: stepwell.cut_request_detail.one_cut_for_each_key
alter table stepwell.cut_request_detail add constraint one_cut_for_each_key UNIQUE (tenant_id, request_key);

-- constraint: stepwell.cut_request_detail.op_is_known
alter table stepwell.cut_request_detail add constraint op_is_known CHECK ((op = ANY (ARRAY['split'::text, 'merge'::text, 'restage'::text])));

-- constraint: stepwell.demo.demo_has_one_row
alter table stepwell.demo add constraint demo_has_one_row CHECK (only_one);

-- constraint: stepwell.demo.demo_pkey
alter table stepwell.demo add constraint demo_pkey PRIMARY KEY (only_one);

-- constraint: stepwell.demo.demo_tenant_exists
alter table stepwell.demo add constraint demo_tenant_exists FOREIGN KEY (tenant_id) REFERENCES stepwell.tenant(tenant_id);

-- constraint: stepwell.demo.who_left_the_demo_is_named
alter table stepwell.demo add constraint who_left_the_demo_is_named CHECK (((left_at IS NULL) = (left_by IS NULL)));

-- constraint: stepwell.development_mode.development_mode_has_one_row
alter table stepwell.development_mode add constraint development_mode_has_one_row CHECK (only_one);

-- constraint: stepwell.development_mode.development_mode_pkey
alter table stepwell.development_mode add constraint development_mode_pkey PRIMARY KEY (only_one);

-- constraint: stepwell.development_mode.development_person_exists
alter table stepwell.development_mode add constraint development_person_exists FOREIGN KEY (tenant_id, principal_id) REFERENCES stepwell.principal(tenant_id, principal_id);

-- constraint: stepwell.development_mode.who_left_the_mode_is_named
alter table stepwell.development_mode add constraint who_left_the_mode_is_named CHECK (((left_at IS NULL) = (left_by IS NULL)));

-- constraint: stepwell.dlq_replay_plan.an_ended_plan_has_its_time
alter table stepwell.dlq_replay_plan add constraint an_ended_plan_has_its_time CHECK (((plan_state = ANY (ARRAY['stopped'::text, 'completed'::text, 'rejected'::text])) = (ended_at IS NOT NULL)));

-- constraint: stepwell.dlq_replay_plan.dlq_replay_plan_pkey
alter table stepwell.dlq_replay_plan add constraint dlq_replay_plan_pkey PRIMARY KEY (tenant_id, plan_id);

-- constraint: stepwell.dlq_replay_plan.plan_approval_exists
alter table stepwell.dlq_replay_plan add constraint plan_approval_exists FOREIGN KEY (tenant_id, approval_id) REFERENCES stepwell.approval_detail(tenant_id, approval_id);

-- constraint: stepwell.dlq_replay_plan.plan_state_is_known
alter table stepwell.dlq_replay_plan add constraint plan_state_is_known CHECK ((plan_state = ANY (ARRAY['submitted'::text, 'running'::text, 'stopped'::text, 'completed'::text, 'rejected'::text])));

-- constraint: stepwell.dlq_replay_plan.stages_are_few
alter table stepwell.dlq_replay_plan add constraint stages_are_few CHECK (((cardinality(stages) >= 0) AND (cardinality(stages) <= 5)));

-- constraint: stepwell.dlq_replay_request.dlq_replay_request_pkey
alter table stepwell.dlq_replay_request add constraint dlq_replay_request_pkey PRIMARY KEY (tenant_id, replay_request_id);

-- constraint: stepwell.dlq_replay_request.proposal_state_is_known
alter table stepwell.dlq_replay_request add constraint proposal_state_is_known CHECK ((proposal_state = ANY (ARRAY['draft'::text, 'submitted'::text, 'review'::text, 'approved'::text, 'rejected'::text, 'merged'::text])));

-- constraint: stepwell.dlq_replay_request.replay_approval_exists
alter table stepwell.dlq_replay_request add constraint replay_approval_exists FOREIGN KEY (tenant_id, approval_id) REFERENCES stepwell.approval_detail(tenant_id, approval_id);

-- constraint: stepwell.dlq_replay_request.replay_is_requested_once
alter table stepwell.dlq_replay_request add constraint replay_is_requested_once UNIQUE (tenant_id, idempotency_key);

-- constraint: stepwell.dlq_replay_request.replay_state_is_known
alter table stepwell.dlq_replay_request add constraint replay_state_is_known CHECK ((replay_state = ANY (ARRAY['scheduled'::text, 'completed'::text, 'failed'::text])));

-- constraint: stepwell.dlq_replay_request.what_is_merged_is_scheduled
alter table stepwell.dlq_replay_request add constraint what_is_merged_is_scheduled CHECK (
CASE proposal_state
    WHEN 'merged'::text THEN (replay_state IS NOT NULL)
    WHEN 'approved'::text THEN (COALESCE(replay_state, 'failed'::text) = 'failed'::text)
    ELSE (replay_state IS NULL)
END);

-- constraint: stepwell.dot_config.config_key_is_namespaced
alter table stepwell.dot_config add constraint config_key_is_namespaced CHECK (((config_key ~ '^[a-z][a-z0-9_]*(\.[a-zA-Z0-9_]+)+$'::text) OR (config_key ~ '^event_lag\.threshold\.p(50|95|99)\.[a-z]+\.[^[:cntrl:]]{1,255}$'::text)));

-- constraint: stepwell.dot_config.dot_config_pkey
alter table stepwell.dot_config add constraint dot_config_pkey PRIMARY KEY (config_key);

-- constraint: stepwell.event_field_def.allowed_values_are_for_strings
alter table stepwell.event_field_def add constraint allowed_values_are_for_strings CHECK (((allowed_values IS NULL) OR (json_type = 'string'::text)));

-- constraint: stepwell.event_field_def.event_field_def_pkey
alter table stepwell.event_field_def add constraint event_field_def_pkey PRIMARY KEY (event_type, field_name);

-- constraint: stepwell.event_field_def.event_field_def_type_exists
alter table stepwell.event_field_def add constraint event_field_def_type_exists FOREIGN KEY (event_type) REFERENCES stepwell.event_type_registry(event_type);

-- constraint: stepwell.event_field_def.json_type_is_known
alter table stepwell.event_field_def add constraint json_type_is_known CHECK ((json_type = ANY (ARRAY['string'::text, 'number'::text, 'boolean'::text, 'object'::text, 'array'::text])));

-- constraint: stepwell.event_inbox.event_inbox_pkey
alter table stepwell.event_inbox add constraint event_inbox_pkey PRIMARY KEY (tenant_id, event_key);

-- constraint: stepwell.event_lag_count.event_lag_count_pkey
alter table stepwell.event_lag_count add constraint event_lag_count_pkey PRIMARY KEY (tenant_id, slot_at, producer, consumer, bucket);

-- constraint: stepwell.event_lag_count.lag_bucket_is_in_range
alter table stepwell.event_lag_count add constraint lag_bucket_is_in_range CHECK (((bucket >= 0) AND (bucket <= 300)));

-- constraint: stepwell.event_lag_count.something_is_counted
alter table stepwell.event_lag_count add constraint something_is_counted CHECK ((event_count > 0));

-- constraint: stepwell.event_lag_place.event_lag_place_pkey
alter table stepwell.event_lag_place add constraint event_lag_place_pkey PRIMARY KEY (tenant_id);

-- constraint: stepwell.event_reader.event_reader_pkey
alter table stepwell.event_reader add constraint event_reader_pkey PRIMARY KEY (tenant_id, reader_name);

-- constraint: stepwell.event_route.event_route_pkey
alter table stepwell.event_route add constraint event_route_pkey PRIMARY KEY (tenant_id, route_name);

-- constraint: stepwell.event_route.route_fields_are_bounded
alter table stepwell.event_route add constraint route_fields_are_bounded CHECK ((cardinality(fields) <= 20));

-- constraint: stepwell.event_route.route_name_is_plain
alter table stepwell.event_route add constraint route_name_is_plain CHECK ((route_name ~ '^[a-z0-9][a-z0-9._-]{0,99}$'::text));

-- constraint: stepwell.event_route.route_operation_exists
alter table stepwell.event_route add constraint route_operation_exists FOREIGN KEY (tenant_id, operation_id) REFERENCES stepwell.operation(tenant_id, operation_id);

-- constraint: stepwell.event_type_registry.event_type_is_dotted
alter table stepwell.event_type_registry add constraint event_type_is_dotted CHECK ((event_type ~ '^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$'::text));

-- constraint: stepwell.event_type_registry.event_type_registry_pkey
alter table stepwell.event_type_registry add constraint event_type_registry_pkey PRIMARY KEY (event_type);

-- constraint: stepwell.event_validation_audit.event_validation_audit_pkey
alter table stepwell.event_validation_audit add constraint event_validation_audit_pkey PRIMARY KEY (tenant_id, audit_id);

-- constraint: stepwell.event_wait.event_wait_pkey
alter table stepwell.event_wait add constraint event_wait_pkey PRIMARY KEY (tenant_id, unit_id);

-- constraint: stepwell.evidence_bundle.a_stored_bundle_has_its_sha256
alter table stepwell.evidence_bundle add constraint a_stored_bundle_has_its_sha256 CHECK ((((stored_at IS NULL) = (bundle_sha256 IS NULL)) AND ((stored_at IS NULL) = (size_bytes IS NULL))));

-- constraint: stepwell.evidence_bundle.digests_are_sha256
alter table stepwell.evidence_bundle add constraint digests_are_sha256 CHECK (((contents_digest ~ '^[0-9a-f]{64}$'::text) AND ((bundle_sha256 IS NULL) OR (bundle_sha256 ~ '^[0-9a-f]{64}$'::text))));

-- constraint: stepwell.evidence_bundle.evidence_bundle_pkey
alter table stepwell.evidence_bundle add constraint evidence_bundle_pkey PRIMARY KEY (tenant_id, run_id, contents_digest);

-- constraint: stepwell.evidence_due.evidence_due_pkey
alter table stepwell.evidence_due add constraint evidence_due_pkey PRIMARY KEY (tenant_id, run_id);

-- constraint: stepwell.evidence_file.evidence_file_pkey
alter table stepwell.evidence_file add constraint evidence_file_pkey PRIMARY KEY (tenant_id, run_id, contents_digest);

-- constraint: stepwell.executor_class.class_name_is_plain
alter table stepwell.executor_class add constraint class_name_is_plain CHECK ((class_name ~ '^[a-z][a-z0-9_-]{0,62}$'::text));

-- constraint: stepwell.executor_class.class_name_is_unique
alter table stepwell.executor_class add constraint class_name_is_unique UNIQUE (class_name);

-- constraint: stepwell.executor_class.executor_class_pkey
alter table stepwell.executor_class add constraint executor_class_pkey PRIMARY KEY (executor_class_id);

-- constraint: stepwell.executor_class.the_generator_never_executes
alter table stepwell.executor_class add constraint the_generator_never_executes CHECK ((class_name !~ '(^|[^a-z0-9])(mot|mother[^a-z0-9]*of[^a-z0-9]*task)([^a-z0-9]|$)'::text));

-- constraint: stepwell.failure_class_registry.classification_is_known
alter table stepwell.failure_class_registry add constraint classification_is_known CHECK ((classification = ANY (ARRAY['transient'::text, 'permanent'::text])));

-- constraint: stepwell.failure_class_registry.failure_class_registry_pkey
alter table stepwell.failure_class_registry add constraint failure_class_registry_pkey PRIMARY KEY (failure_class);

-- constraint: stepwell.governance_category.governance_category_pkey
alter table stepwell.governance_category add constraint governance_category_pkey PRIMARY KEY (category_code);

-- constraint: stepwell.governance_category.severity_is_a_colour
alter table stepwell.governance_category add constraint severity_is_a_colour CHECK ((severity = ANY (ARRAY['yellow'::text, 'red'::text])));

-- constraint: stepwell.governance_count.governance_count_pkey
alter table stepwell.governance_count add constraint governance_count_pkey PRIMARY KEY (tenant_id, category_code);

-- constraint: stepwell.governance_count.nothing_is_counted_below_zero
alter table stepwell.governance_count add constraint nothing_is_counted_below_zero CHECK ((open_count >= 0));

-- constraint: stepwell.governance_problem.category_exists
alter table stepwell.governance_problem add constraint category_exists FOREIGN KEY (category_code) REFERENCES stepwell.governance_category(category_code);

-- constraint: stepwell.governance_problem.governance_problem_pkey
alter table stepwell.governance_problem add constraint governance_problem_pkey PRIMARY KEY (tenant_id, problem_id);

-- constraint: stepwell.governance_problem.it_is_closed_by_an_event
alter table stepwell.governance_problem add constraint it_is_closed_by_an_event CHECK ((((closed_at IS NULL) = (closed_event_id IS NULL)) AND ((closed_at IS NULL) = (closed_by IS NULL))));

-- constraint: stepwell.governance_problem.it_is_wrong_before_it_is_found
alter table stepwell.governance_problem add constraint it_is_wrong_before_it_is_found CHECK ((since_at <= opened_at));

-- constraint: stepwell.governance_summary.a_sentence_is_short
alter table stepwell.governance_summary add constraint a_sentence_is_short CHECK ((((length(sentence_en) >= 1) AND (length(sentence_en) <= 500)) AND ((length(sentence_vi) >= 1) AND (length(sentence_vi) <= 500))));

-- constraint: stepwell.governance_summary.a_summary_has_source_events
alter table stepwell.governance_summary add constraint a_summary_has_source_events CHECK ((source_event_count >= 1));

-- constraint: stepwell.governance_summary.a_window_ends_after_it_begins
alter table stepwell.governance_summary add constraint a_window_ends_after_it_begins CHECK ((window_start_at <= window_end_at));

-- constraint: stepwell.governance_summary.an_agent_says_how_sure_it_is
alter table stepwell.governance_summary add constraint an_agent_says_how_sure_it_is CHECK (((summarizer_kind <> 'ai_agent'::text) OR (confidence IS NOT NULL)));

-- constraint: stepwell.governance_summary.confidence_is_a_share
alter table stepwell.governance_summary add constraint confidence_is_a_share CHECK (((confidence >= (0)::double precision) AND (confidence <= (1)::double precision)));

-- constraint: stepwell.governance_summary.each_summarizer_says_one_sentence
alter table stepwell.governance_summary add constraint each_summarizer_says_one_sentence UNIQUE (tenant_id, subject_kind, subject, summarizer_kind, summarizer_ref);

-- constraint: stepwell.governance_summary.governance_summary_pkey
alter table stepwell.governance_summary add constraint governance_summary_pkey PRIMARY KEY (tenant_id, summary_id);

-- constraint: stepwell.governance_summary.refs_are_of_counted_events
alter table stepwell.governance_summary add constraint refs_are_of_counted_events CHECK ((cardinality(source_event_refs) <= source_event_count));

-- constraint: stepwell.governance_summary.refs_are_some_and_few
alter table stepwell.governance_summary add constraint refs_are_some_and_few CHECK (((cardinality(source_event_refs) >= 1) AND (cardinality(source_event_refs) <= 100)));

-- constraint: stepwell.governance_summary.summarizer_kind_is_known
alter table stepwell.governance_summary add constraint summarizer_kind_is_known CHECK ((summarizer_kind = ANY (ARRAY['sql_fn'::text, 'ai_agent'::text, 'deterministic_rule'::text])));

-- constraint: stepwell.governance_summary.summary_colour_is_known
alter table stepwell.governance_summary add constraint summary_colour_is_known CHECK ((colour = ANY (ARRAY['green'::text, 'yellow'::text, 'red'::text])));

-- constraint: stepwell.governance_summary.summary_subject_is_known
alter table stepwell.governance_summary add constraint summary_subject_is_known CHECK ((subject_kind = ANY (ARRAY['worker'::text, 'executor'::text, 'problem'::text])));

-- constraint: stepwell.governance_summary.the_total_has_all
alter table stepwell.governance_summary add constraint the_total_has_all CHECK ((source_event_total >= source_event_count));

-- constraint: stepwell.governance_trend.governance_trend_pkey
alter table stepwell.governance_trend add constraint governance_trend_pkey PRIMARY KEY (tenant_id, category_code, hour_at);

-- constraint: stepwell.governance_watch.governance_watch_pkey
alter table stepwell.governance_watch add constraint governance_watch_pkey PRIMARY KEY (watch_name);

-- constraint: stepwell.graph_layout.graph_is_drawn_once
alter table stepwell.graph_layout add constraint graph_is_drawn_once UNIQUE (tenant_id, graph_hash, lanes_by, layout_version);

-- constraint: stepwell.graph_layout.graph_layout_pkey
alter table stepwell.graph_layout add constraint graph_layout_pkey PRIMARY KEY (tenant_id, layout_hash);

-- constraint: stepwell.graph_layout.layout_hash_is_sha256
alter table stepwell.graph_layout add constraint layout_hash_is_sha256 CHECK ((layout_hash ~ '^[0-9a-f]{64}$'::text));

-- constraint: stepwell.guard_predicate.guard_predicate_pkey
alter table stepwell.guard_predicate add constraint guard_predicate_pkey PRIMARY KEY (predicate_name);

-- constraint: stepwell.guard_predicate.predicate_name_is_plain
alter table stepwell.guard_predicate add constraint predicate_name_is_plain CHECK ((predicate_name ~ '^[a-z][a-z0-9_]*$'::text));

-- constraint: stepwell.handler.handler_is_unique
alter table stepwell.handler add constraint handler_is_unique UNIQUE (operation_name, code_version);

-- constraint: stepwell.handler.handler_pkey
alter table stepwell.handler add constraint handler_pkey PRIMARY KEY (handler_id);

-- constraint: stepwell.handler_event_type.handler_event_type_pkey
alter table stepwell.handler_event_type add constraint handler_event_type_pkey PRIMARY KEY (tenant_id, event_type);

-- constraint: stepwell.http_answer.answer_principal_exists
alter table stepwell.http_answer add constraint answer_principal_exists FOREIGN KEY (tenant_id, principal_id) REFERENCES stepwell.principal(tenant_id, principal_id) ON DELETE CASCADE;

-- constraint: stepwell.http_answer.http_answer_pkey
alter table stepwell.http_answer add constraint http_answer_pkey PRIMARY KEY (tenant_id, principal_id, idempotency_key);

-- constraint: stepwell.http_answer.idempotency_key_has_a_length
alter table stepwell.http_answer add constraint idempotency_key_has_a_length CHECK (((length(idempotency_key) >= 1) AND (length(idempotency_key) <= 200)));

-- constraint: stepwell.http_answer.request_digest_is_sha256
alter table stepwell.http_answer add constraint request_digest_is_sha256 CHECK ((length(request_digest) = 32));

-- constraint: stepwell.http_trigger.an_event_needs_the_key_of_its_run
alter table stepwell.http_trigger add constraint an_event_needs_the_key_of_its_run CHECK (((event_type IS NULL) = (key_path IS NULL)));

-- constraint: stepwell.http_trigger.http_trigger_pkey
alter table stepwell.http_trigger add constraint http_trigger_pkey PRIMARY KEY (tenant_id, trigger_name);

-- constraint: stepwell.http_trigger.trigger_address_is_unique
alter table stepwell.http_trigger add constraint trigger_address_is_unique UNIQUE (address);

-- constraint: stepwell.http_trigger.trigger_name_has_a_form
alter table stepwell.http_trigger add constraint trigger_name_has_a_form CHECK ((trigger_name ~ '^[a-z0-9][a-z0-9._-]{0,99}$'::text));

-- constraint: stepwell.http_trigger.trigger_tenant_exists
alter table stepwell.http_trigger add constraint trigger_tenant_exists FOREIGN KEY (tenant_id) REFERENCES stepwell.tenant(tenant_id);

-- constraint: stepwell.i18n_text.i18n_text_pkey
alter table stepwell.i18n_text add constraint i18n_text_pkey PRIMARY KEY (text_key, lang);

-- constraint: stepwell.i18n_text.lang_is_vi_or_en
alter table stepwell.i18n_text add constraint lang_is_vi_or_en CHECK ((lang = ANY (ARRAY['vi'::text, 'en'::text])));

-- constraint: stepwell.i18n_text.text_is_not_empty
alter table stepwell.i18n_text add constraint text_is_not_empty CHECK ((text_value <> ''::text));

-- constraint: stepwell.incident_hold.an_ended_hold_was_released
alter table stepwell.incident_hold add constraint an_ended_hold_was_released CHECK (((ended_at IS NULL) OR (released_at IS NOT NULL)));

-- constraint: stepwell.incident_hold.incident_hold_pkey
alter table stepwell.incident_hold add constraint incident_hold_pkey PRIMARY KEY (tenant_id, hold_id);

-- constraint: stepwell.incident_hold.it_is_released_by_an_event
alter table stepwell.incident_hold add constraint it_is_released_by_an_event CHECK ((((released_at IS NULL) = (released_event_id IS NULL)) AND ((released_at IS NULL) = (released_by IS NULL)) AND ((released_at IS NULL) = (share < 100))));

-- constraint: stepwell.incident_hold.scope_is_known
alter table stepwell.incident_hold add constraint scope_is_known CHECK ((scope_kind = ANY (ARRAY['operation'::text, 'connector'::text, 'workflow'::text, 'tenant'::text, 'person'::text])));

-- constraint: stepwell.incident_hold.share_is_a_grade
alter table stepwell.incident_hold add constraint share_is_a_grade CHECK ((share = ANY (ARRAY[0, 10, 50, 100])));

-- constraint: stepwell.incident_hold_clock.a_moved_clock_has_its_event
alter table stepwell.incident_hold_clock add constraint a_moved_clock_has_its_event CHECK ((((moved_at IS NULL) = (moved_event_id IS NULL)) AND ((moved_at IS NULL) = (held_for IS NULL))));

-- constraint: stepwell.incident_hold_clock.incident_hold_clock_pkey
alter table stepwell.incident_hold_clock add constraint incident_hold_clock_pkey PRIMARY KEY (tenant_id, unit_id, clock_no);

-- constraint: stepwell.incident_hold_evidence.incident_hold_evidence_pkey
alter table stepwell.incident_hold_evidence add constraint incident_hold_evidence_pkey PRIMARY KEY (tenant_id, hold_id);

-- constraint: stepwell.incident_hold_operation.incident_hold_operation_pkey
alter table stepwell.incident_hold_operation add constraint incident_hold_operation_pkey PRIMARY KEY (tenant_id, hold_id, operation_id);

-- constraint: stepwell.information_bundle_item.a_bundle_does_not_hold_itself
alter table stepwell.information_bundle_item add constraint a_bundle_does_not_hold_itself CHECK ((item_iu_id <> iu_id));

-- constraint: stepwell.information_bundle_item.bundle_version_exists
alter table stepwell.information_bundle_item add constraint bundle_version_exists FOREIGN KEY (tenant_id, iu_id, version_no) REFERENCES stepwell.information_unit_version(tenant_id, iu_id, version_no);

-- constraint: stepwell.information_bundle_item.bundled_version_exists
alter table stepwell.information_bundle_item add constraint bundled_version_exists FOREIGN KEY (tenant_id, item_iu_id, item_version_no) REFERENCES stepwell.information_unit_version(tenant_id, iu_id, version_no);

-- constraint: stepwell.information_bundle_item.information_bundle_item_pkey
alter table stepwell.information_bundle_item add constraint information_bundle_item_pkey PRIMARY KEY (tenant_id, iu_id, version_no, place);

-- constraint: stepwell.information_unit.information_unit_pkey
alter table stepwell.information_unit add constraint information_unit_pkey PRIMARY KEY (tenant_id, iu_id);

-- constraint: stepwell.information_unit.iu_code_is_plain
alter table stepwell.information_unit add constraint iu_code_is_plain CHECK ((iu_code ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}$'::text));

-- constraint: stepwell.information_unit.iu_code_is_unique
alter table stepwell.information_unit add constraint iu_code_is_unique UNIQUE (tenant_id, iu_code);

-- constraint: stepwell.information_unit_label.information_unit_label_pkey
alter table stepwell.information_unit_label add constraint information_unit_label_pkey PRIMARY KEY (tenant_id, iu_id, lang);

-- constraint: stepwell.information_unit_label.label_has_a_length
alter table stepwell.information_unit_label add constraint label_has_a_length CHECK (((length(label) >= 1) AND (length(label) <= 200)));

-- constraint: stepwell.information_unit_label.label_lang_is_vi_or_en
alter table stepwell.information_unit_label add constraint label_lang_is_vi_or_en CHECK ((lang = ANY (ARRAY['vi'::text, 'en'::text])));

-- constraint: stepwell.information_unit_label.labelled_unit_exists
alter table stepwell.information_unit_label add constraint labelled_unit_exists FOREIGN KEY (tenant_id, iu_id) REFERENCES stepwell.information_unit(tenant_id, iu_id);

-- constraint: stepwell.information_unit_permission.information_unit_permission_pkey
alter table stepwell.information_unit_permission add constraint information_unit_permission_pkey PRIMARY KEY (tenant_id, iu_id, role_name);

-- constraint: stepwell.information_unit_permission.permitted_content_exists
alter table stepwell.information_unit_permission add constraint permitted_content_exists FOREIGN KEY (tenant_id, iu_id) REFERENCES stepwell.information_unit(tenant_id, iu_id);

-- constraint: stepwell.information_unit_version.information_unit_version_pkey
alter table stepwell.information_unit_version add constraint information_unit_version_pkey PRIMARY KEY (tenant_id, iu_id, version_no);

-- constraint: stepwell.information_unit_version.version_unit_exists
alter table stepwell.information_unit_version add constraint version_unit_exists FOREIGN KEY (tenant_id, iu_id) REFERENCES stepwell.information_unit(tenant_id, iu_id);

-- constraint: stepwell.integrity_watch.integrity_watch_has_one_row
alter table stepwell.integrity_watch add constraint integrity_watch_has_one_row CHECK (is_only);

-- constraint: stepwell.integrity_watch.integrity_watch_pkey
alter table stepwell.integrity_watch add constraint integrity_watch_pkey PRIMARY KEY (is_only);

-- constraint: stepwell.iu_lifecycle_log.iu_lifecycle_log_pkey
alter table stepwell.iu_lifecycle_log add constraint iu_lifecycle_log_pkey PRIMARY KEY (tenant_id, iu_code, entry_id);

-- constraint: stepwell.iu_lifecycle_log.severity_is_known
alter table stepwell.iu_lifecycle_log add constraint severity_is_known CHECK ((severity = ANY (ARRAY['info'::text, 'warning'::text, 'error'::text])));

-- constraint: stepwell.iu_lifecycle_log.what_is_known
alter table stepwell.iu_lifecycle_log add constraint what_is_known CHECK ((what = ANY (ARRAY['written'::text, 'split'::text, 'merged'::text, 'restaged'::text, 'cut_failed'::text, 'shown_by_step'::text])));

-- constraint: stepwell.iu_lineage.it_comes_from_a_version
alter table stepwell.iu_lineage add constraint it_comes_from_a_version FOREIGN KEY (tenant_id, from_iu_id, from_version_no) REFERENCES stepwell.information_unit_version(tenant_id, iu_id, version_no);

-- constraint: stepwell.iu_lineage.it_is_a_version
alter table stepwell.iu_lineage add constraint it_is_a_version FOREIGN KEY (tenant_id, to_iu_id, to_version_no) REFERENCES stepwell.information_unit_version(tenant_id, iu_id, version_no);

-- constraint: stepwell.iu_lineage.iu_lineage_pkey
alter table stepwell.iu_lineage add constraint iu_lineage_pkey PRIMARY KEY (tenant_id, to_iu_id, to_version_no, from_iu_id);

-- constraint: stepwell.job_dead_letter.job_dead_letter_pkey
alter table stepwell.job_dead_letter add constraint job_dead_letter_pkey PRIMARY KEY (tenant_id, unit_id, died_at);

-- constraint: stepwell.job_detail.job_detail_pkey
alter table stepwell.job_detail add constraint job_detail_pkey PRIMARY KEY (tenant_id, job_id);

-- constraint: stepwell.job_held.job_held_pkey
alter table stepwell.job_held add constraint job_held_pkey PRIMARY KEY (tenant_id, unit_id);

-- constraint: stepwell.job_line.job_line_pkey
alter table stepwell.job_line add constraint job_line_pkey PRIMARY KEY (tenant_id, slot_key, rank, unit_id);

-- constraint: stepwell.job_ready.job_ready_pkey
alter table stepwell.job_ready add constraint job_ready_pkey PRIMARY KEY (executor_class_id, tenant_id, workspace_id, rank, operation_id, unit_id);

-- constraint: stepwell.job_template.job_template_pkey
alter table stepwell.job_template add constraint job_template_pkey PRIMARY KEY (tenant_id, template_id);

-- constraint: stepwell.job_template.template_id_is_plain
alter table stepwell.job_template add constraint template_id_is_plain CHECK ((template_id ~ '^[a-z][a-z0-9._-]{0,99}$'::text));

-- constraint: stepwell.job_template.template_kind_exists
alter table stepwell.job_template add constraint template_kind_exists FOREIGN KEY (workflow_kind) REFERENCES stepwell.job_workflow_kind(workflow_kind);

-- constraint: stepwell.job_template.template_workflow_exists
alter table stepwell.job_template add constraint template_workflow_exists FOREIGN KEY (tenant_id, workflow_id) REFERENCES stepwell.workflow_registry(tenant_id, workflow_id);

-- constraint: stepwell.job_workflow_detail.job_workflow_detail_pkey
alter table stepwell.job_workflow_detail add constraint job_workflow_detail_pkey PRIMARY KEY (tenant_id, workflow_id);

-- constraint: stepwell.job_workflow_detail.job_workflow_kind_exists
alter table stepwell.job_workflow_detail add constraint job_workflow_kind_exists FOREIGN KEY (workflow_kind) REFERENCES stepwell.job_workflow_kind(workflow_kind);

-- constraint: stepwell.job_workflow_detail.status_is_known
alter table stepwell.job_workflow_detail add constraint status_is_known CHECK ((status = ANY (ARRAY['active'::text, 'succeeded'::text, 'failed'::text, 'partially_failed'::text, 'cancelled'::text])));

-- constraint: stepwell.job_workflow_detail.the_generator_names_its_template
alter table stepwell.job_workflow_detail add constraint the_generator_names_its_template CHECK ((generator = ('MOT:'::text || template_id)));

-- constraint: stepwell.job_workflow_kind.job_workflow_kind_pkey
alter table stepwell.job_workflow_kind add constraint job_workflow_kind_pkey PRIMARY KEY (workflow_kind);

-- constraint: stepwell.job_workflow_kind.workflow_kind_is_plain
alter table stepwell.job_workflow_kind add constraint workflow_kind_is_plain CHECK ((workflow_kind ~ '^[a-z][a-z0-9_]{0,62}$'::text));

-- constraint: stepwell.keeper_lead.keeper_lead_pkey
alter table stepwell.keeper_lead add constraint keeper_lead_pkey PRIMARY KEY (is_only);

-- constraint: stepwell.keeper_lead.there_is_one_lead
alter table stepwell.keeper_lead add constraint there_is_one_lead CHECK (is_only);

-- constraint: stepwell.map_item.map_item_pkey
alter table stepwell.map_item add constraint map_item_pkey PRIMARY KEY (tenant_id, unit_id, item_no);

-- constraint: stepwell.operation.max_attempts_is_bounded
alter table stepwell.operation add constraint max_attempts_is_bounded CHECK (((max_attempts >= 1) AND (max_attempts <= 1000)));

-- constraint: stepwell.operation.operation_class_exists
alter table stepwell.operation add constraint operation_class_exists FOREIGN KEY (executor_class_id) REFERENCES stepwell.executor_class(executor_class_id);

-- constraint: stepwell.operation.operation_handler_exists
alter table stepwell.operation add constraint operation_handler_exists FOREIGN KEY (handler_id) REFERENCES stepwell.handler(handler_id);

-- constraint: stepwell.operation.operation_name_has_a_length
alter table stepwell.operation add constraint operation_name_has_a_length CHECK (((length(operation_name) >= 1) AND (length(operation_name) <= 200)));

-- constraint: stepwell.operation.operation_name_is_unique
alter table stepwell.operation add constraint operation_name_is_unique UNIQUE (operation_name, tenant_id);

-- constraint: stepwell.operation.operation_pkey
alter table stepwell.operation add constraint operation_pkey PRIMARY KEY (tenant_id, operation_id);

-- constraint: stepwell.operation.retry_delays_are_bounded
alter table stepwell.operation add constraint retry_delays_are_bounded CHECK ((((cardinality(retry_delays_seconds) >= 1) AND (cardinality(retry_delays_seconds) <= 100)) AND ((0)::double precision <= ALL (retry_delays_seconds))));

-- constraint: stepwell.operation.retry_times_are_sane
alter table stepwell.operation add constraint retry_times_are_sane CHECK (((retry_initial_seconds >= (0)::double precision) AND (retry_max_seconds >= retry_initial_seconds) AND (retry_multiplier >= (1)::double precision)));

-- constraint: stepwell.operation.timeout_is_positive
alter table stepwell.operation add constraint timeout_is_positive CHECK ((timeout_seconds > (0)::double precision));

-- constraint: stepwell.permission.permission_pkey
alter table stepwell.permission add constraint permission_pkey PRIMARY KEY (tenant_id, role_name, verb);

-- constraint: stepwell.permission.permission_verb_exists
alter table stepwell.permission add constraint permission_verb_exists FOREIGN KEY (verb) REFERENCES stepwell.verb(verb);

-- constraint: stepwell.policy_active.active_policy_exists
alter table stepwell.policy_active add constraint active_policy_exists FOREIGN KEY (tenant_id, policy_set_id) REFERENCES stepwell.policy_set(tenant_id, policy_set_id);

-- constraint: stepwell.policy_active.policy_active_pkey
alter table stepwell.policy_active add constraint policy_active_pkey PRIMARY KEY (tenant_id);

-- constraint: stepwell.policy_set.policy_base_exists
alter table stepwell.policy_set add constraint policy_base_exists FOREIGN KEY (tenant_id, base_policy_set_id) REFERENCES stepwell.policy_set(tenant_id, policy_set_id);

-- constraint: stepwell.policy_set.policy_is_proposed_once
alter table stepwell.policy_set add constraint policy_is_proposed_once UNIQUE (tenant_id, proposal_id);

-- constraint: stepwell.policy_set.policy_set_pkey
alter table stepwell.policy_set add constraint policy_set_pkey PRIMARY KEY (tenant_id, policy_set_id);

-- constraint: stepwell.policy_set.policy_version_is_unique
alter table stepwell.policy_set add constraint policy_version_is_unique UNIQUE (tenant_id, version_no);

-- constraint: stepwell.policy_verdict.approval_is_asked_with_a_tier
alter table stepwell.policy_verdict add constraint approval_is_asked_with_a_tier CHECK (((effect <> 'needs_approval'::text) OR (tier IS NOT NULL)));

-- constraint: stepwell.policy_verdict.policy_effect_is_known
alter table stepwell.policy_verdict add constraint policy_effect_is_known CHECK ((effect = ANY (ARRAY['allow'::text, 'deny'::text, 'needs_approval'::text])));

-- constraint: stepwell.policy_verdict.policy_tier_is_known
alter table stepwell.policy_verdict add constraint policy_tier_is_known CHECK ((tier = ANY (ARRAY['low'::text, 'med'::text, 'high'::text])));

-- constraint: stepwell.policy_verdict.policy_verdict_pkey
alter table stepwell.policy_verdict add constraint policy_verdict_pkey PRIMARY KEY (tenant_id, unit_id, verdict_id);

-- constraint: stepwell.principal.engine_and_operators_have_no_tenant
alter table stepwell.principal add constraint engine_and_operators_have_no_tenant CHECK (
CASE
    WHEN (tenant_id = 0) THEN (kind = ANY (ARRAY['service'::text, 'operator'::text, 'engine'::text, 'worker'::text]))
    ELSE (kind <> ALL (ARRAY['operator'::text, 'engine'::text]))
END);

-- constraint: stepwell.principal.principal_kind_is_known
alter table stepwell.principal add constraint principal_kind_is_known CHECK ((kind = ANY (ARRAY['person'::text, 'service'::text, 'agent'::text, 'worker'::text, 'operator'::text, 'engine'::text])));

-- constraint: stepwell.principal.principal_name_has_a_length
alter table stepwell.principal add constraint principal_name_has_a_length CHECK (((length(principal_name) >= 1) AND (length(principal_name) <= 200)));

-- constraint: stepwell.principal.principal_name_is_unique
alter table stepwell.principal add constraint principal_name_is_unique UNIQUE (tenant_id, principal_name);

-- constraint: stepwell.principal.principal_pkey
alter table stepwell.principal add constraint principal_pkey PRIMARY KEY (tenant_id, principal_id);

-- constraint: stepwell.principal_role.principal_role_pkey
alter table stepwell.principal_role add constraint principal_role_pkey PRIMARY KEY (tenant_id, principal_id, role_name);

-- constraint: stepwell.principal_role.role_name_has_a_length
alter table stepwell.principal_role add constraint role_name_has_a_length CHECK (((length(role_name) >= 1) AND (length(role_name) <= 200)));

-- constraint: stepwell.principal_role.role_principal_exists
alter table stepwell.principal_role add constraint role_principal_exists FOREIGN KEY (tenant_id, principal_id) REFERENCES stepwell.principal(tenant_id, principal_id);

-- constraint: stepwell.rate_token.rate_token_pkey
alter table stepwell.rate_token add constraint rate_token_pkey PRIMARY KEY (tenant_id, token_id);

-- constraint: stepwell.rollup_policy_def.rollup_machine_exists
alter table stepwell.rollup_policy_def add constraint rollup_machine_exists FOREIGN KEY (state_machine_id) REFERENCES stepwell.state_machine_def(state_machine_id);

-- constraint: stepwell.rollup_policy_def.rollup_policy_def_pkey
alter table stepwell.rollup_policy_def add constraint rollup_policy_def_pkey PRIMARY KEY (state_machine_id, policy_code);

-- constraint: stepwell.run_detail.run_detail_pkey
alter table stepwell.run_detail add constraint run_detail_pkey PRIMARY KEY (tenant_id, run_id);

-- constraint: stepwell.run_detail.trace_id_is_w3c
alter table stepwell.run_detail add constraint trace_id_is_w3c CHECK ((trace_id ~ '^[0-9a-f]{32}$'::text));

-- constraint: stepwell.run_label.label_key_is_a_name
alter table stepwell.run_label add constraint label_key_is_a_name CHECK ((label_key ~ '^[a-z][a-z0-9_.-]{0,62}$'::text));

-- constraint: stepwell.run_label.label_value_is_one_short_line
alter table stepwell.run_label add constraint label_value_is_one_short_line CHECK ((((length(label_value) >= 1) AND (length(label_value) <= 200)) AND (label_value !~ '[[:cntrl:]]'::text)));

-- constraint: stepwell.run_label.run_label_pkey
alter table stepwell.run_label add constraint run_label_pkey PRIMARY KEY (tenant_id, run_id, label_key);

-- constraint: stepwell.run_progress.run_progress_pkey
alter table stepwell.run_progress add constraint run_progress_pkey PRIMARY KEY (tenant_id, run_id);

-- constraint: stepwell.run_write_count.run_write_count_pkey
alter table stepwell.run_write_count add constraint run_write_count_pkey PRIMARY KEY (tenant_id, unit_id);

-- constraint: stepwell.run_write_count.write_count_is_not_negative
alter table stepwell.run_write_count add constraint write_count_is_not_negative CHECK ((write_count >= 0));

-- constraint: stepwell.saved_view.saved_view_pkey
alter table stepwell.saved_view add constraint saved_view_pkey PRIMARY KEY (tenant_id, view_id);

-- constraint: stepwell.saved_view.view_filter_is_an_object
alter table stepwell.saved_view add constraint view_filter_is_an_object CHECK ((jsonb_typeof(filter) = 'object'::text));

-- constraint: stepwell.saved_view.view_owner_exists
alter table stepwell.saved_view add constraint view_owner_exists FOREIGN KEY (tenant_id, owner_id) REFERENCES stepwell.principal(tenant_id, principal_id) ON DELETE CASCADE;

-- constraint: stepwell.saved_view.view_page_is_a_name
alter table stepwell.saved_view add constraint view_page_is_a_name CHECK ((page ~ '^[a-z][a-z_]{0,39}$'::text));

-- constraint: stepwell.schema_migration.migration_number_is_positive
alter table stepwell.schema_migration add constraint migration_number_is_positive CHECK ((migration_no > 0));

-- constraint: stepwell.schema_migration.schema_migration_pkey
alter table stepwell.schema_migration add constraint schema_migration_pkey PRIMARY KEY (migration_no);

-- constraint: stepwell.schema_migration.sha256_is_hex
alter table stepwell.schema_migration add constraint sha256_is_hex CHECK ((sha256 ~ '^[0-9a-f]{64}$'::text));

-- constraint: stepwell.schema_routine.schema_routine_pkey
alter table stepwell.schema_routine add constraint schema_routine_pkey PRIMARY KEY (only_row);

-- constraint: stepwell.schema_routine.there_is_one_set_of_routines
alter table stepwell.schema_routine add constraint there_is_one_set_of_routines CHECK (only_row);

-- constraint: stepwell.sign_in_throttle.only_an_address_has_no_name
alter table stepwell.sign_in_throttle add constraint only_an_address_has_no_name CHECK (((tenant_id = 0) = (name_key = ''::text)));

-- constraint: stepwell.sign_in_throttle.sign_in_throttle_pkey
alter table stepwell.sign_in_throttle add constraint sign_in_throttle_pkey PRIMARY KEY (tenant_id, name_key, address);

-- constraint: stepwell.slack_callback.signature_has_a_length
alter table stepwell.slack_callback add constraint signature_has_a_length CHECK (((length(signature) >= 1) AND (length(signature) <= 200)));

-- constraint: stepwell.slack_callback.slack_callback_pkey
alter table stepwell.slack_callback add constraint slack_callback_pkey PRIMARY KEY (tenant_id, signature);

-- constraint: stepwell.slack_card.card_approval_exists
alter table stepwell.slack_card add constraint card_approval_exists FOREIGN KEY (tenant_id, approval_id) REFERENCES stepwell.approval_detail(tenant_id, approval_id) ON DELETE CASCADE;

-- constraint: stepwell.slack_card.card_channel_is_plain
alter table stepwell.slack_card add constraint card_channel_is_plain CHECK ((channel ~ '^[A-Z][A-Z0-9]{1,30}$'::text));

-- constraint: stepwell.slack_card.card_error_is_bounded
alter table stepwell.slack_card add constraint card_error_is_bounded CHECK ((length(last_error) <= 2000));

-- constraint: stepwell.slack_card.slack_card_pkey
alter table stepwell.slack_card add constraint slack_card_pkey PRIMARY KEY (tenant_id, approval_id);

-- constraint: stepwell.slack_user.a_person_has_one_slack_user
alter table stepwell.slack_user add constraint a_person_has_one_slack_user UNIQUE (tenant_id, person_id);

-- constraint: stepwell.slack_user.slack_person_exists
alter table stepwell.slack_user add constraint slack_person_exists FOREIGN KEY (tenant_id, person_id) REFERENCES stepwell.principal(tenant_id, principal_id);

-- constraint: stepwell.slack_user.slack_user_id_is_plain
alter table stepwell.slack_user add constraint slack_user_id_is_plain CHECK ((slack_user_id ~ '^[UW][A-Z0-9]{1,30}$'::text));

-- constraint: stepwell.slack_user.slack_user_pkey
alter table stepwell.slack_user add constraint slack_user_pkey PRIMARY KEY (tenant_id, slack_user_id);

-- constraint: stepwell.state_def.derived_state_has_floor_equivalent_and_reason
alter table stepwell.state_def add constraint derived_state_has_floor_equivalent_and_reason CHECK (((is_derived = (floor_equivalent IS NOT NULL)) AND (is_derived = (justification IS NOT NULL))));

-- constraint: stepwell.state_def.floor_equivalent_exists
alter table stepwell.state_def add constraint floor_equivalent_exists FOREIGN KEY (state_machine_id, floor_equivalent) REFERENCES stepwell.state_def(state_machine_id, state_code);

-- constraint: stepwell.state_def.ordinal_is_unique
alter table stepwell.state_def add constraint ordinal_is_unique UNIQUE (state_machine_id, ordinal);

-- constraint: stepwell.state_def.semantic_class_is_known
alter table stepwell.state_def add constraint semantic_class_is_known CHECK ((semantic_class = ANY (ARRAY['idle'::text, 'active'::text, 'wait'::text, 'red'::text, 'terminal'::text])));

-- constraint: stepwell.state_def.state_def_machine_exists
alter table stepwell.state_def add constraint state_def_machine_exists FOREIGN KEY (state_machine_id) REFERENCES stepwell.state_machine_def(state_machine_id);

-- constraint: stepwell.state_def.state_def_pkey
alter table stepwell.state_def add constraint state_def_pkey PRIMARY KEY (state_machine_id, state_code);

-- constraint: stepwell.state_dialect.dialect_is_known
alter table stepwell.state_dialect add constraint dialect_is_known CHECK ((dialect = ANY (ARRAY['linear'::text, 'runtime'::text, 'node'::text, 'job'::text])));

-- constraint: stepwell.state_dialect.state_dialect_pkey
alter table stepwell.state_dialect add constraint state_dialect_pkey PRIMARY KEY (dialect, scope, state_code, qualifier);

-- constraint: stepwell.state_facet_def.facet_ordinal_is_unique
alter table stepwell.state_facet_def add constraint facet_ordinal_is_unique UNIQUE (state_machine_id, state_code, primary_ordinal);

-- constraint: stepwell.state_facet_def.facet_state_exists
alter table stepwell.state_facet_def add constraint facet_state_exists FOREIGN KEY (state_machine_id, state_code) REFERENCES stepwell.state_def(state_machine_id, state_code);

-- constraint: stepwell.state_facet_def.state_facet_def_pkey
alter table stepwell.state_facet_def add constraint state_facet_def_pkey PRIMARY KEY (state_machine_id, state_code, facet_code);

-- constraint: stepwell.state_machine_def.scope_is_known
alter table stepwell.state_machine_def add constraint scope_is_known CHECK ((scope = ANY (ARRAY['step'::text, 'task'::text, 'workflow_run'::text, 'job'::text, 'approval'::text, 'proposal'::text, 'receipt'::text, 'cut_request'::text])));

-- constraint: stepwell.state_machine_def.state_machine_def_pkey
alter table stepwell.state_machine_def add constraint state_machine_def_pkey PRIMARY KEY (state_machine_id);

-- constraint: stepwell.state_machine_def.version_is_semver
alter table stepwell.state_machine_def add constraint version_is_semver CHECK ((version ~ '^[0-9]+\.[0-9]+\.[0-9]+$'::text));

-- constraint: stepwell.step_block.step_block_pkey
alter table stepwell.step_block add constraint step_block_pkey PRIMARY KEY (tenant_id, unit_id);

-- constraint: stepwell.step_content_pin.pinned_version_exists
alter table stepwell.step_content_pin add constraint pinned_version_exists FOREIGN KEY (tenant_id, iu_id, version_no) REFERENCES stepwell.information_unit_version(tenant_id, iu_id, version_no);

-- constraint: stepwell.step_content_pin.step_content_pin_pkey
alter table stepwell.step_content_pin add constraint step_content_pin_pkey PRIMARY KEY (tenant_id, run_id, step_no);

-- constraint: stepwell.step_escalation.escalation_level_is_bounded
alter table stepwell.step_escalation add constraint escalation_level_is_bounded CHECK (((level >= 1) AND (level <= 20)));

-- constraint: stepwell.step_escalation.step_escalation_pkey
alter table stepwell.step_escalation add constraint step_escalation_pkey PRIMARY KEY (tenant_id, unit_id, level);

-- constraint: stepwell.step_input.inputs_are_an_object
alter table stepwell.step_input add constraint inputs_are_an_object CHECK ((jsonb_typeof(inputs) = 'object'::text));

-- constraint: stepwell.step_input.step_input_pkey
alter table stepwell.step_input add constraint step_input_pkey PRIMARY KEY (tenant_id, unit_id, binding_no);

-- constraint: stepwell.step_run_correction_cycle.corrected_ending_is_on_record
alter table stepwell.step_run_correction_cycle add constraint corrected_ending_is_on_record FOREIGN KEY (tenant_id, unit_id, prior_audit_id) REFERENCES stepwell.step_run_prior_audit(tenant_id, unit_id, prior_audit_id);

-- constraint: stepwell.step_run_correction_cycle.downstream_choice_is_known
alter table stepwell.step_run_correction_cycle add constraint downstream_choice_is_known CHECK ((downstream_choice = ANY (ARRAY['leave'::text, 'reopen'::text])));

-- constraint: stepwell.step_run_correction_cycle.step_run_correction_cycle_pkey
alter table stepwell.step_run_correction_cycle add constraint step_run_correction_cycle_pkey PRIMARY KEY (tenant_id, unit_id, cycle_no);

-- constraint: stepwell.step_run_output_snapshot.step_run_output_snapshot_pkey
alter table stepwell.step_run_output_snapshot add constraint step_run_output_snapshot_pkey PRIMARY KEY (tenant_id, unit_id, snapshot_id);

-- constraint: stepwell.step_run_prior_audit.closing_state_is_an_end
alter table stepwell.step_run_prior_audit add constraint closing_state_is_an_end CHECK ((closing_state = ANY (ARRAY['completed'::text, 'cannot_complete'::text])));

-- constraint: stepwell.step_run_prior_audit.step_run_prior_audit_pkey
alter table stepwell.step_run_prior_audit add constraint step_run_prior_audit_pkey PRIMARY KEY (tenant_id, unit_id, prior_audit_id);

-- constraint: stepwell.task_comments.comment_is_not_empty
alter table stepwell.task_comments add constraint comment_is_not_empty CHECK ((btrim(body) <> ''::text));

-- constraint: stepwell.task_comments.task_comments_pkey
alter table stepwell.task_comments add constraint task_comments_pkey PRIMARY KEY (tenant_id, unit_id, comment_id);

-- constraint: stepwell.task_detail.task_detail_pkey
alter table stepwell.task_detail add constraint task_detail_pkey PRIMARY KEY (tenant_id, unit_id);

-- constraint: stepwell.task_detail.task_id_is_unique
alter table stepwell.task_detail add constraint task_id_is_unique UNIQUE (tenant_id, step_run_id, task_id);

-- constraint: stepwell.tenant.tenant_caps_are_not_negative
alter table stepwell.tenant add constraint tenant_caps_are_not_negative CHECK (((max_concurrency >= 1) AND (max_runs_per_min >= 0) AND (max_writes_per_run >= 0)));

-- constraint: stepwell.tenant.tenant_code_is_unique
alter table stepwell.tenant add constraint tenant_code_is_unique UNIQUE (tenant_code);

-- constraint: stepwell.tenant.tenant_pkey
alter table stepwell.tenant add constraint tenant_pkey PRIMARY KEY (tenant_id);

-- constraint: stepwell.tenant.tenant_weight_is_positive
alter table stepwell.tenant add constraint tenant_weight_is_positive CHECK (((weight >= 1) AND (weight <= 1000)));

-- constraint: stepwell.tenant_lease.tenant_lease_pkey
alter table stepwell.tenant_lease add constraint tenant_lease_pkey PRIMARY KEY (tenant_id, unit_id);

-- constraint: stepwell.timer.timer_kind_is_known
alter table stepwell.timer add constraint timer_kind_is_known CHECK ((timer_kind = ANY (ARRAY['start'::text, 'retry'::text, 'wait_timeout'::text, 'sleep'::text, 'deadline'::text, 'block_severity'::text, 'approval_expiry'::text, 'escalation'::text, 'inputs'::text])));

-- constraint: stepwell.timer.timer_pkey
alter table stepwell.timer add constraint timer_pkey PRIMARY KEY (tenant_id, unit_id, timer_kind);

-- constraint: stepwell.transition_def.actor_class_is_known
alter table stepwell.transition_def add constraint actor_class_is_known CHECK ((actor_class = ANY (ARRAY['system'::text, 'pic_human'::text, 'task_pic_human'::text, 'reviewer'::text, 'executor_worker'::text, 'mow_orchestrator'::text, 'escalation_handler'::text])));

-- constraint: stepwell.transition_def.emitted_event_type_exists
alter table stepwell.transition_def add constraint emitted_event_type_exists FOREIGN KEY (emitted_event_type) REFERENCES stepwell.event_type_registry(event_type);

-- constraint: stepwell.transition_def.extension_has_a_reason
alter table stepwell.transition_def add constraint extension_has_a_reason CHECK (((NOT is_extension) OR (reason IS NOT NULL)));

-- constraint: stepwell.transition_def.from_state_exists
alter table stepwell.transition_def add constraint from_state_exists FOREIGN KEY (state_machine_id, from_state) REFERENCES stepwell.state_def(state_machine_id, state_code);

-- constraint: stepwell.transition_def.guard_has_ref_when_it_has_a_kind
alter table stepwell.transition_def add constraint guard_has_ref_when_it_has_a_kind CHECK (((guard_kind = 'none'::text) = (guard_ref IS NULL)));

-- constraint: stepwell.transition_def.guard_kind_is_known
alter table stepwell.transition_def add constraint guard_kind_is_known CHECK ((guard_kind = ANY (ARRAY['none'::text, 'config'::text, 'predicate_fn'::text])));

-- constraint: stepwell.transition_def.rollback_state_exists
alter table stepwell.transition_def add constraint rollback_state_exists FOREIGN KEY (state_machine_id, rollback_to) REFERENCES stepwell.state_def(state_machine_id, state_code);

-- constraint: stepwell.transition_def.to_state_exists
alter table stepwell.transition_def add constraint to_state_exists FOREIGN KEY (state_machine_id, to_state) REFERENCES stepwell.state_def(state_machine_id, state_code);

-- constraint: stepwell.transition_def.transition_def_pkey
alter table stepwell.transition_def add constraint transition_def_pkey PRIMARY KEY (state_machine_id, from_state, to_state, actor_class);

-- constraint: stepwell.transition_def.trigger_kind_is_known
alter table stepwell.transition_def add constraint trigger_kind_is_known CHECK ((trigger_kind = ANY (ARRAY['event'::text, 'rpc'::text, 'timer'::text, 'condition_resolved'::text])));

-- constraint: stepwell.transition_idempotency.transition_idempotency_pkey
alter table stepwell.transition_idempotency add constraint transition_idempotency_pkey PRIMARY KEY (tenant_id, unit_id, transition_id, idempotency_key);

-- constraint: stepwell.unit_action.action_has_a_known_verb
alter table stepwell.unit_action add constraint action_has_a_known_verb FOREIGN KEY (verb) REFERENCES stepwell.verb(verb);

-- constraint: stepwell.unit_action.action_is_a_name
alter table stepwell.unit_action add constraint action_is_a_name CHECK ((action ~ '^[a-z][a-z_]{0,39}$'::text));

-- constraint: stepwell.unit_action.action_with_a_transition_is_whole
alter table stepwell.unit_action add constraint action_with_a_transition_is_whole CHECK ((num_nonnulls(to_state, actor_class, trigger_kind, trigger_ref) = ANY (ARRAY[0, 4])));

-- constraint: stepwell.unit_action.unit_action_pkey
alter table stepwell.unit_action add constraint unit_action_pkey PRIMARY KEY (scope, action);

-- constraint: stepwell.unit_checkpoint.unit_checkpoint_pkey
alter table stepwell.unit_checkpoint add constraint unit_checkpoint_pkey PRIMARY KEY (tenant_id, unit_id, checkpoint_name);

-- constraint: stepwell.unit_failure.unit_failure_pkey
alter table stepwell.unit_failure add constraint unit_failure_pkey PRIMARY KEY (tenant_id, unit_id, lease_no, failed_at);

-- constraint: stepwell.unit_output.unit_output_pkey
alter table stepwell.unit_output add constraint unit_output_pkey PRIMARY KEY (tenant_id, unit_id, lease_no);

-- constraint: stepwell.unit_progress.done_is_a_number_from_zero
alter table stepwell.unit_progress add constraint done_is_a_number_from_zero CHECK (((done >= (0)::double precision) AND (done < 'Infinity'::double precision)));

-- constraint: stepwell.unit_progress.note_is_short
alter table stepwell.unit_progress add constraint note_is_short CHECK ((length(note) <= 200));

-- constraint: stepwell.unit_progress.total_is_a_number_from_zero
alter table stepwell.unit_progress add constraint total_is_a_number_from_zero CHECK (((total >= (0)::double precision) AND (total < 'Infinity'::double precision)));

-- constraint: stepwell.unit_progress.unit_progress_pkey
alter table stepwell.unit_progress add constraint unit_progress_pkey PRIMARY KEY (tenant_id, unit_id);

-- constraint: stepwell.unit_wake.task_type_is_known
alter table stepwell.unit_wake add constraint task_type_is_known CHECK ((task_type = ANY (ARRAY['RESUMED'::text, 'WAITING_TIMEOUT'::text, 'SLEPT'::text])));

-- constraint: stepwell.unit_wake.unit_wake_pkey
alter table stepwell.unit_wake add constraint unit_wake_pkey PRIMARY KEY (tenant_id, unit_id);

-- constraint: stepwell.verb.verb_pkey
alter table stepwell.verb add constraint verb_pkey PRIMARY KEY (verb);

-- constraint: stepwell.why_cause.cause_is_a_code
alter table stepwell.why_cause add constraint cause_is_a_code CHECK ((cause ~ '^[a-z_]+([.][a-z]+)?$'::text));

-- constraint: stepwell.why_cause.why_cause_pkey
alter table stepwell.why_cause add constraint why_cause_pkey PRIMARY KEY (cause);

-- constraint: stepwell.work_unit.waiting_always_has_a_facet
alter table stepwell.work_unit add constraint waiting_always_has_a_facet CHECK (
CASE state_code
    WHEN 'waiting'::text THEN (waiting_facet IS NOT NULL)
    WHEN 'blocked'::text THEN (COALESCE(waiting_facet, 'waiting_dependency'::text) = 'waiting_dependency'::text)
    ELSE (waiting_facet IS NULL)
END);

-- constraint: stepwell.work_unit.work_unit_pkey
alter table stepwell.work_unit add constraint work_unit_pkey PRIMARY KEY (tenant_id, unit_id);

-- constraint: stepwell.worker_lease.worker_lease_pkey
alter table stepwell.worker_lease add constraint worker_lease_pkey PRIMARY KEY (session_id, batch_id);

-- constraint: stepwell.worker_session.a_session_claims_what_it_serves
alter table stepwell.worker_session add constraint a_session_claims_what_it_serves CHECK ((claim_class_ids <@ executor_class_ids));

-- constraint: stepwell.worker_session.lease_seconds_is_bounded
alter table stepwell.worker_session add constraint lease_seconds_is_bounded CHECK (((lease_seconds >= 1) AND (lease_seconds <= 86400)));

-- constraint: stepwell.worker_session.nothing_is_held_below_zero
alter table stepwell.worker_session add constraint nothing_is_held_below_zero CHECK ((held_count >= 0));

-- constraint: stepwell.worker_session.session_key_is_unique
alter table stepwell.worker_session add constraint session_key_is_unique UNIQUE (session_key_hash);

-- constraint: stepwell.worker_session.slot_count_is_bounded
alter table stepwell.worker_session add constraint slot_count_is_bounded CHECK (((slot_count >= 1) AND (slot_count <= 10000)));

-- constraint: stepwell.worker_session.the_generator_opens_no_session
alter table stepwell.worker_session add constraint the_generator_opens_no_session CHECK ((worker_name !~* '^mot(:|$)'::text)) NOT VALID;

-- constraint: stepwell.worker_session.worker_session_pkey
alter table stepwell.worker_session add constraint worker_session_pkey PRIMARY KEY (session_id);

-- constraint: stepwell.worker_stop.a_worker_or_a_class_stops
alter table stepwell.worker_stop add constraint a_worker_or_a_class_stops CHECK (((worker_name IS NULL) <> (executor_class_id IS NULL)));

-- constraint: stepwell.worker_stop.only_a_worker_drains
alter table stepwell.worker_stop add constraint only_a_worker_drains CHECK (((stop_kind = 'frozen'::text) OR (worker_name IS NOT NULL)));

-- constraint: stepwell.worker_stop.stop_kind_is_known
alter table stepwell.worker_stop add constraint stop_kind_is_known CHECK ((stop_kind = ANY (ARRAY['frozen'::text, 'drain'::text])));

-- constraint: stepwell.worker_stop.stopped_class_exists
alter table stepwell.worker_stop add constraint stopped_class_exists FOREIGN KEY (executor_class_id) REFERENCES stepwell.executor_class(executor_class_id);

-- constraint: stepwell.worker_stop.worker_stop_pkey
alter table stepwell.worker_stop add constraint worker_stop_pkey PRIMARY KEY (stop_id);

-- constraint: stepwell.workflow_branch.branch_conditional_exists
alter table stepwell.workflow_branch add constraint branch_conditional_exists FOREIGN KEY (tenant_id, version_id, conditional_no) REFERENCES stepwell.workflow_step_def(tenant_id, version_id, step_no);

-- constraint: stepwell.workflow_branch.workflow_branch_pkey
alter table stepwell.workflow_branch add constraint workflow_branch_pkey PRIMARY KEY (tenant_id, version_id, branch_no);

-- constraint: stepwell.workflow_group.group_concurrency_is_positive
alter table stepwell.workflow_group add constraint group_concurrency_is_positive CHECK ((max_concurrency >= 1));

-- constraint: stepwell.workflow_group.group_version_exists
alter table stepwell.workflow_group add constraint group_version_exists FOREIGN KEY (tenant_id, version_id) REFERENCES stepwell.workflow_version(tenant_id, version_id);

-- constraint: stepwell.workflow_group.workflow_group_pkey
alter table stepwell.workflow_group add constraint workflow_group_pkey PRIMARY KEY (tenant_id, version_id, group_no);

-- constraint: stepwell.workflow_registry.workflow_caps_are_not_negative
alter table stepwell.workflow_registry add constraint workflow_caps_are_not_negative CHECK (((max_concurrency >= 1) AND (max_runs_per_min >= 0) AND (max_writes_per_run >= 0)));

-- constraint: stepwell.workflow_registry.workflow_name_has_a_length
alter table stepwell.workflow_registry add constraint workflow_name_has_a_length CHECK (((length(workflow_name) >= 1) AND (length(workflow_name) <= 200)));

-- constraint: stepwell.workflow_registry.workflow_name_is_unique
alter table stepwell.workflow_registry add constraint workflow_name_is_unique UNIQUE (tenant_id, workflow_name);

-- constraint: stepwell.workflow_registry.workflow_registry_pkey
alter table stepwell.workflow_registry add constraint workflow_registry_pkey PRIMARY KEY (tenant_id, workflow_id);

-- constraint: stepwell.workflow_schedule.backfill_is_bounded
alter table stepwell.workflow_schedule add constraint backfill_is_bounded CHECK (((backfill_limit >= 1) AND (backfill_limit <= 10000)));

-- constraint: stepwell.workflow_schedule.misfire_rule_is_known
alter table stepwell.workflow_schedule add constraint misfire_rule_is_known CHECK ((misfire = ANY (ARRAY['skip'::text, 'latest'::text, 'all'::text])));

-- constraint: stepwell.workflow_schedule.schedule_workflow_exists
alter table stepwell.workflow_schedule add constraint schedule_workflow_exists FOREIGN KEY (tenant_id, workflow_id) REFERENCES stepwell.workflow_registry(tenant_id, workflow_id);

-- constraint: stepwell.workflow_schedule.workflow_schedule_pkey
alter table stepwell.workflow_schedule add constraint workflow_schedule_pkey PRIMARY KEY (tenant_id, schedule_name);

-- constraint: stepwell.workflow_step_def.an_operation_step_names_its_operation
alter table stepwell.workflow_step_def add constraint an_operation_step_names_its_operation CHECK (((step_kind = 'operation'::text) = (operation_id IS NOT NULL)));

-- constraint: stepwell.workflow_step_def.step_id_is_unique
alter table stepwell.workflow_step_def add constraint step_id_is_unique UNIQUE (step_id, tenant_id, version_id);

-- constraint: stepwell.workflow_step_def.step_kind_is_known
alter table stepwell.workflow_step_def add constraint step_kind_is_known CHECK ((step_kind = ANY (ARRAY['operation'::text, 'human'::text, 'wait'::text, 'subworkflow'::text, 'conditional'::text, 'map'::text])));

-- constraint: stepwell.workflow_step_def.step_version_exists
alter table stepwell.workflow_step_def add constraint step_version_exists FOREIGN KEY (tenant_id, version_id) REFERENCES stepwell.workflow_version(tenant_id, version_id);

-- constraint: stepwell.workflow_step_def.workflow_step_def_pkey
alter table stepwell.workflow_step_def add constraint workflow_step_def_pkey PRIMARY KEY (tenant_id, version_id, step_no);

-- constraint: stepwell.workflow_step_permission.permitted_workflow_exists
alter table stepwell.workflow_step_permission add constraint permitted_workflow_exists FOREIGN KEY (tenant_id, workflow_id) REFERENCES stepwell.workflow_registry(tenant_id, workflow_id);

-- constraint: stepwell.workflow_step_permission.workflow_step_permission_pkey
alter table stepwell.workflow_step_permission add constraint workflow_step_permission_pkey PRIMARY KEY (tenant_id, workflow_id, step_id, role_name);

-- constraint: stepwell.workflow_step_relations.relation_from_exists
alter table stepwell.workflow_step_relations add constraint relation_from_exists FOREIGN KEY (tenant_id, version_id, from_no) REFERENCES stepwell.workflow_step_def(tenant_id, version_id, step_no);

-- constraint: stepwell.workflow_step_relations.relation_to_exists
alter table stepwell.workflow_step_relations add constraint relation_to_exists FOREIGN KEY (tenant_id, version_id, to_no) REFERENCES stepwell.workflow_step_def(tenant_id, version_id, step_no);

-- constraint: stepwell.workflow_step_relations.workflow_step_relations_pkey
alter table stepwell.workflow_step_relations add constraint workflow_step_relations_pkey PRIMARY KEY (tenant_id, version_id, from_no, to_no);

-- constraint: stepwell.workflow_version.failure_policy_is_known
alter table stepwell.workflow_version add constraint failure_policy_is_known CHECK ((failure_policy = ANY (ARRAY['continue-running'::text, 'abort-dependents'::text])));

-- constraint: stepwell.workflow_version.graph_is_published_once
alter table stepwell.workflow_version add constraint graph_is_published_once UNIQUE (tenant_id, workflow_id, graph_hash);

-- constraint: stepwell.workflow_version.input_schema_is_an_object
alter table stepwell.workflow_version add constraint input_schema_is_an_object CHECK (((input_schema IS NULL) OR (jsonb_typeof(input_schema) = 'object'::text)));

-- constraint: stepwell.workflow_version.step_count_is_bounded
alter table stepwell.workflow_version add constraint step_count_is_bounded CHECK (((step_count >= 1) AND (step_count <= 50000)));

-- constraint: stepwell.workflow_version.version_no_is_unique
alter table stepwell.workflow_version add constraint version_no_is_unique UNIQUE (tenant_id, workflow_id, version_no);

-- constraint: stepwell.workflow_version.version_workflow_exists
alter table stepwell.workflow_version add constraint version_workflow_exists FOREIGN KEY (tenant_id, workflow_id) REFERENCES stepwell.workflow_registry(tenant_id, workflow_id);

-- constraint: stepwell.workflow_version.workflow_version_pkey
alter table stepwell.workflow_version add constraint workflow_version_pkey PRIMARY KEY (tenant_id, version_id);

-- constraint: stepwell.workspace.workspace_name_is_plain
alter table stepwell.workspace add constraint workspace_name_is_plain CHECK ((workspace_name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'::text));

-- constraint: stepwell.workspace.workspace_name_is_unique
alter table stepwell.workspace add constraint workspace_name_is_unique UNIQUE (tenant_id, workspace_name);

-- constraint: stepwell.workspace.workspace_pkey
alter table stepwell.workspace add constraint workspace_pkey PRIMARY KEY (tenant_id, workspace_id);

-- index: stepwell.a_class_stops_once
CREATE UNIQUE INDEX a_class_stops_once ON stepwell.worker_stop USING btree (executor_class_id) WHERE (executor_class_id IS NOT NULL);

-- index: stepwell.a_name_exists_once
CREATE UNIQUE INDEX a_name_exists_once ON stepwell.principal USING btree (tenant_id, name_key);

-- index: stepwell.a_principal_has_one_password
CREATE UNIQUE INDEX a_principal_has_one_password ON stepwell.credential USING btree (tenant_id, principal_id) WHERE (kind = 'password'::text);

-- index: stepwell.a_worker_stops_once
CREATE UNIQUE INDEX a_worker_stops_once ON stepwell.worker_stop USING btree (worker_name, stop_kind) WHERE (worker_name IS NOT NULL);

-- index: stepwell.an_approval_reopens_a_step_once
CREATE UNIQUE INDEX an_approval_reopens_a_step_once ON stepwell.step_run_correction_cycle USING btree (tenant_id, unit_id, approval_id) WHERE (unit_id = root_unit_id);

-- index: stepwell.approval_is_requested_once
CREATE UNIQUE INDEX approval_is_requested_once ON stepwell.approval_detail USING btree (tenant_id, request_key) WHERE (request_key IS NOT NULL);

-- index: stepwell.approvals_by_subject
CREATE INDEX approvals_by_subject ON stepwell.approval_detail USING btree (tenant_id, subject_unit_id);

-- index: stepwell.approvals_open
CREATE INDEX approvals_open ON stepwell.approval_detail USING btree (tenant_id, approval_id) WHERE (decided_at IS NULL);

-- index: stepwell.approvals_open_by_subject
CREATE INDEX approvals_open_by_subject ON stepwell.approval_detail USING btree (tenant_id, subject_unit_id) WHERE (decided_at IS NULL);

-- index: stepwell.bundles_by_sha256
CREATE INDEX bundles_by_sha256 ON stepwell.evidence_bundle USING btree (tenant_id, bundle_sha256) WHERE (bundle_sha256 IS NOT NULL);

-- index: stepwell.clocks_by_hold
CREATE INDEX clocks_by_hold ON stepwell.incident_hold_clock USING btree (tenant_id, hold_id);

-- index: stepwell.clocks_stopped
CREATE UNIQUE INDEX clocks_stopped ON stepwell.incident_hold_clock USING btree (tenant_id, unit_id) WHERE (moved_at IS NULL);

-- index: stepwell.credentials_by_principal
CREATE INDEX credentials_by_principal ON stepwell.credential USING btree (tenant_id, principal_id);

-- index: stepwell.cycles_open
CREATE INDEX cycles_open ON stepwell.step_run_correction_cycle USING btree (tenant_id, unit_id) WHERE (closed_at IS NULL);

-- index: stepwell.dead_letters_open
CREATE INDEX dead_letters_open ON stepwell.job_dead_letter USING btree (tenant_id, died_at) WHERE (resolved_at IS NULL);

-- index: stepwell.events_by_actor
CREATE INDEX events_by_actor ON ONLY stepwell.event_log USING btree (tenant_id, actor, tx, event_id) WHERE ((actor_class <> 'executor_worker'::text) AND (actor <> 'engine'::text) AND (actor <> 'client'::text));

-- index: stepwell.events_by_run
CREATE INDEX events_by_run ON ONLY stepwell.event_log USING btree (tenant_id, run_id, event_id);

-- index: stepwell.events_by_taker
CREATE INDEX events_by_taker ON stepwell.event_inbox USING btree (tenant_id, taken_by) WHERE (taken_by IS NOT NULL);

-- index: stepwell.events_by_trace
CREATE INDEX events_by_trace ON ONLY stepwell.event_log USING btree (tenant_id, trace_id, event_id) WHERE (trace_id IS NOT NULL);

-- index: stepwell.events_by_type
CREATE INDEX events_by_type ON ONLY stepwell.event_log USING btree (tenant_id, event_type, tx, event_id) WHERE (event_type <> ALL (ARRAY['step.ready'::text, 'step.started'::text, 'step.completed'::text, 'task.ready'::text, 'task.started'::text, 'task.completed'::text, 'job.enqueued'::text, 'job.ready'::text, 'job.started'::text, 'job.completed'::text, 'workflow.started'::text, 'workflow.completed'::text, 'checkpoint.saved'::text, 'event.emitted'::text]));

-- index: stepwell.evidence_file_stored
CREATE INDEX evidence_file_stored ON stepwell.evidence_file USING btree (stored_at);

-- index: stepwell.held_by_hold
CREATE INDEX held_by_hold ON stepwell.job_held USING btree (tenant_id, hold_id);

-- index: stepwell.holds_not_ended
CREATE INDEX holds_not_ended ON stepwell.incident_hold USING btree (tenant_id, hold_id) WHERE (ended_at IS NULL);

-- index: stepwell.holds_open_once
CREATE UNIQUE INDEX holds_open_once ON stepwell.incident_hold USING btree (tenant_id, scope_kind, scope_value) WHERE (released_at IS NULL);

-- index: stepwell.http_answers_by_age
CREATE INDEX http_answers_by_age ON stepwell.http_answer USING btree (made_at);

-- index: stepwell.idempotency_by_age
CREATE INDEX idempotency_by_age ON stepwell.transition_idempotency USING btree (decided_at);

-- index: stepwell.inbox_untaken
CREATE INDEX inbox_untaken ON stepwell.event_inbox USING btree (tenant_id, run_id, event_type, received_at) WHERE (taken_by IS NULL);

-- index: stepwell.job_key_is_unique
CREATE UNIQUE INDEX job_key_is_unique ON stepwell.job_detail USING btree (tenant_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);

-- index: stepwell.job_ready_put_by_idx
CREATE INDEX job_ready_put_by_idx ON stepwell.job_ready USING btree (put_by);

-- index: stepwell.job_workflows_active
CREATE INDEX job_workflows_active ON stepwell.job_workflow_detail USING btree (tenant_id, refreshed_at NULLS FIRST, workflow_id) WHERE (status = 'active'::text);

-- index: stepwell.job_workflows_by_status
CREATE INDEX job_workflows_by_status ON stepwell.job_workflow_detail USING btree (tenant_id, status, workflow_id);

-- index: stepwell.job_workflows_by_template
CREATE INDEX job_workflows_by_template ON stepwell.job_workflow_detail USING btree (tenant_id, template_id, workflow_id);

-- index: stepwell.jobs_by_trace
CREATE INDEX jobs_by_trace ON stepwell.job_detail USING btree (tenant_id, trace_id) WHERE (trace_id IS NOT NULL);

-- index: stepwell.lags_by_age
CREATE INDEX lags_by_age ON stepwell.event_lag_count USING btree (slot_at);

-- index: stepwell.last_steps
CREATE INDEX last_steps ON stepwell.workflow_step_def USING btree (tenant_id, version_id, step_no) WHERE is_last;

-- index: stepwell.link_is_stored_once
CREATE UNIQUE INDEX link_is_stored_once ON stepwell.credential USING btree (secret_hash) WHERE (kind = 'link'::text);

-- index: stepwell.maps_by_run
CREATE INDEX maps_by_run ON stepwell.map_item USING btree (tenant_id, unit_id) WHERE (item_no = 0);

-- index: stepwell.no_name_looks_like_another
CREATE UNIQUE INDEX no_name_looks_like_another ON stepwell.principal USING btree (tenant_id, name_skeleton);

-- index: stepwell.one_active_version_per_scope
CREATE UNIQUE INDEX one_active_version_per_scope ON stepwell.state_machine_def USING btree (scope) WHERE active;

-- index: stepwell.plans_by_approval
CREATE INDEX plans_by_approval ON stepwell.dlq_replay_plan USING btree (tenant_id, approval_id);

-- index: stepwell.plans_running
CREATE INDEX plans_running ON stepwell.dlq_replay_plan USING btree (tenant_id, plan_id) WHERE (plan_state = 'running'::text);

-- index: stepwell.principals_by_role
CREATE INDEX principals_by_role ON stepwell.principal_role USING btree (tenant_id, role_name, principal_id);

-- index: stepwell.principals_with_former_names
CREATE INDEX principals_with_former_names ON stepwell.principal USING btree (tenant_id) WHERE (former_keys <> '{}'::text[]);

-- index: stepwell.problems_by_subject
CREATE INDEX problems_by_subject ON stepwell.governance_problem USING btree (tenant_id, category_code, subject, opened_at);

-- index: stepwell.problems_closed
CREATE INDEX problems_closed ON stepwell.governance_problem USING btree (tenant_id, category_code, closed_at) WHERE (closed_at IS NOT NULL);

-- index: stepwell.problems_open_by_time
CREATE INDEX problems_open_by_time ON stepwell.governance_problem USING btree (tenant_id, category_code, since_at, problem_id) WHERE (closed_at IS NULL);

-- index: stepwell.problems_open_once
CREATE UNIQUE INDEX problems_open_once ON stepwell.governance_problem USING btree (tenant_id, category_code, duty, subject) WHERE (closed_at IS NULL);

-- index: stepwell.receipts_by_reversed
CREATE INDEX receipts_by_reversed ON stepwell.action_receipt USING btree (tenant_id, reverses_receipt_id) WHERE (reverses_receipt_id IS NOT NULL);

-- index: stepwell.receipts_by_run
CREATE INDEX receipts_by_run ON stepwell.action_receipt USING btree (tenant_id, run_id, receipt_id);

-- index: stepwell.receipts_by_unit
CREATE INDEX receipts_by_unit ON stepwell.action_receipt USING btree (tenant_id, unit_id, receipt_id);

-- index: stepwell.receipts_not_settled
CREATE INDEX receipts_not_settled ON stepwell.action_receipt USING btree (tenant_id, receipt_id) WHERE (settled_at IS NULL);

-- index: stepwell.rejects_by_time
CREATE INDEX rejects_by_time ON stepwell.event_validation_audit USING btree (tenant_id, rejected_at);

-- index: stepwell.relations_by_successor
CREATE INDEX relations_by_successor ON stepwell.workflow_step_relations USING btree (to_no, tenant_id, version_id, from_no);

-- index: stepwell.replays_by_approval
CREATE INDEX replays_by_approval ON stepwell.dlq_replay_request USING btree (tenant_id, approval_id);

-- index: stepwell.replays_by_plan
CREATE INDEX replays_by_plan ON stepwell.dlq_replay_request USING btree (tenant_id, plan_id, stage_no, replay_request_id) WHERE (plan_id IS NOT NULL);

-- index: stepwell.replays_by_unit
CREATE INDEX replays_by_unit ON stepwell.dlq_replay_request USING btree (tenant_id, unit_id);

-- index: stepwell.replays_open
CREATE INDEX replays_open ON stepwell.dlq_replay_request USING btree (tenant_id, replay_request_id) WHERE (replay_state = 'scheduled'::text);

-- index: stepwell.rollup_rule_pkey
CREATE UNIQUE INDEX rollup_rule_pkey ON stepwell.rollup_rule USING btree (semantic_class);

-- index: stepwell.runs_by_end
CREATE INDEX runs_by_end ON stepwell.run_detail USING btree (finished_at) WHERE (finished_at IS NOT NULL);

-- index: stepwell.runs_by_label
CREATE INDEX runs_by_label ON stepwell.run_label USING btree (tenant_id, label_key, label_value, run_id);

-- index: stepwell.runs_by_trace
CREATE INDEX runs_by_trace ON stepwell.run_detail USING btree (tenant_id, trace_id) WHERE (trace_id IS NOT NULL);

-- index: stepwell.runs_by_workflow
CREATE INDEX runs_by_workflow ON stepwell.run_detail USING btree (workflow_id, tenant_id, run_id);

-- index: stepwell.runs_by_workspace
CREATE INDEX runs_by_workspace ON stepwell.run_progress USING btree (tenant_id, workspace_id, run_id) WHERE (workspace_id IS NOT NULL);

-- index: stepwell.runs_open
CREATE INDEX runs_open ON stepwell.run_detail USING btree (tenant_id, run_id) WHERE (finished_at IS NULL);

-- index: stepwell.schedules_by_due
CREATE INDEX schedules_by_due ON stepwell.workflow_schedule USING btree (next_at) WHERE (NOT is_paused);

-- index: stepwell.sessions_open
CREATE INDEX sessions_open ON stepwell.worker_session USING btree (session_id) WHERE (closed_at IS NULL);

-- index: stepwell.slack_callbacks_by_age
CREATE INDEX slack_callbacks_by_age ON stepwell.slack_callback USING btree (tenant_id, seen_at);

-- index: stepwell.slack_cards_open
CREATE INDEX slack_cards_open ON stepwell.slack_card USING btree (tenant_id, approval_id) WHERE (NOT is_final);

-- index: stepwell.streams_by_block
CREATE INDEX streams_by_block ON stepwell.audit_block_stream USING btree (tenant_id, block_no, run_id);

-- index: stepwell.subruns_by_parent
CREATE INDEX subruns_by_parent ON stepwell.work_unit USING btree (tenant_id, parent_id) WHERE ((scope = 'workflow_run'::text) AND (parent_id IS NOT NULL));

-- index: stepwell.summaries_by_time
CREATE INDEX summaries_by_time ON stepwell.governance_summary USING btree (tenant_id, written_at);

-- index: stepwell.tenant_weight_idx
CREATE INDEX tenant_weight_idx ON stepwell.tenant USING btree (weight);

-- index: stepwell.throttles_by_age
CREATE INDEX throttles_by_age ON stepwell.sign_in_throttle USING btree (failed_at);

-- index: stepwell.timers_by_due
CREATE INDEX timers_by_due ON stepwell.timer USING btree (due_at);

-- index: stepwell.tokens_by_principal
CREATE INDEX tokens_by_principal ON stepwell.access_token USING btree (tenant_id, principal_id);

-- index: stepwell.tokens_by_return
CREATE INDEX tokens_by_return ON stepwell.rate_token USING btree (back_at);

-- index: stepwell.transition_rule_pkey
CREATE UNIQUE INDEX transition_rule_pkey ON stepwell.transition_rule USING btree (state_machine_id, from_state, to_state, actor_class, leases_directly);

-- index: stepwell.trigger_starts_one_run
CREATE UNIQUE INDEX trigger_starts_one_run ON stepwell.run_detail USING btree (tenant_id, trigger_type, trigger_ref) WHERE (trigger_ref IS NOT NULL);

-- index: stepwell.units_by_key
CREATE INDEX units_by_key ON stepwell.work_unit USING btree (tenant_id, slot_key) WHERE (slot_key ~~ 'key:%'::text);

-- index: stepwell.units_by_parent
CREATE INDEX units_by_parent ON stepwell.work_unit USING btree (tenant_id, parent_id) WHERE (parent_id IS NOT NULL);

-- index: stepwell.units_by_pic
CREATE INDEX units_by_pic ON stepwell.work_unit USING btree (tenant_id, pic_id) WHERE (pic_id IS NOT NULL);

-- index: stepwell.units_overdue
CREATE INDEX units_overdue ON stepwell.work_unit USING btree (tenant_id, overdue_first_at) WHERE (overdue_first_at IS NOT NULL);

-- index: stepwell.view_names_are_unique
CREATE UNIQUE INDEX view_names_are_unique ON stepwell.saved_view USING btree (tenant_id, owner_id, page, name_key);

-- index: stepwell.views_shared
CREATE INDEX views_shared ON stepwell.saved_view USING btree (tenant_id, page) WHERE is_shared;

-- index: stepwell.waits_by_event
CREATE INDEX waits_by_event ON stepwell.event_wait USING btree (tenant_id, run_id, event_type, unit_id);

-- index: stepwell.warnings_by_time
CREATE INDEX warnings_by_time ON stepwell.iu_lifecycle_log USING btree (tenant_id, written_at) WHERE ((severity = 'warning'::text) OR axis_inconsistency);

-- trigger: stepwell.audit_block.audit_block_is_final
CREATE TRIGGER audit_block_is_final BEFORE DELETE OR UPDATE OR TRUNCATE ON stepwell.audit_block FOR EACH STATEMENT EXECUTE FUNCTION stepwell._audit_block_refuse();

-- trigger: stepwell.consumer_registry.the_generator_never_executes
CREATE TRIGGER the_generator_never_executes INSTEAD OF INSERT OR UPDATE ON stepwell.consumer_registry FOR EACH ROW EXECUTE FUNCTION stepwell._surface_refuse();

-- trigger: stepwell.development_mode.development_mode_is_not_emptied
CREATE TRIGGER development_mode_is_not_emptied BEFORE TRUNCATE ON stepwell.development_mode FOR EACH STATEMENT EXECUTE FUNCTION stepwell._development_mode_keep();

-- trigger: stepwell.development_mode.development_mode_is_only_left
CREATE TRIGGER development_mode_is_only_left BEFORE DELETE OR UPDATE ON stepwell.development_mode FOR EACH ROW EXECUTE FUNCTION stepwell._development_mode_keep();

-- trigger: stepwell.dot_config.a_changed_setting_is_told
CREATE TRIGGER a_changed_setting_is_told AFTER INSERT OR DELETE OR UPDATE ON stepwell.dot_config FOR EACH ROW EXECUTE FUNCTION stepwell._setting_changed();

-- trigger: stepwell.dot_config.tokens_are_complete
CREATE TRIGGER tokens_are_complete AFTER INSERT OR UPDATE ON stepwell.dot_config FOR EACH ROW WHEN ((new.config_key ~~ 'ui.traffic\_light.%'::text)) EXECUTE FUNCTION stepwell._colour_token_check();

-- trigger: stepwell.event_log.event_log_is_append_only
CREATE TRIGGER event_log_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON stepwell.event_log FOR EACH STATEMENT EXECUTE FUNCTION stepwell._event_log_refuse();

-- trigger: stepwell.event_log.event_log_rows_are_final
CREATE TRIGGER event_log_rows_are_final BEFORE DELETE OR UPDATE ON stepwell.event_log FOR EACH ROW EXECUTE FUNCTION stepwell._event_log_refuse();

-- trigger: stepwell.governance_problem.problems_are_counted
CREATE TRIGGER problems_are_counted AFTER INSERT OR DELETE OR UPDATE ON stepwell.governance_problem FOR EACH ROW EXECUTE FUNCTION stepwell._problem_count();

-- trigger: stepwell.governance_problem.problems_change_by_events
CREATE TRIGGER problems_change_by_events BEFORE INSERT OR DELETE OR UPDATE ON stepwell.governance_problem FOR EACH ROW EXECUTE FUNCTION stepwell._problem_check();

-- trigger: stepwell.information_bundle_item.bundle_items_are_final
CREATE TRIGGER bundle_items_are_final BEFORE DELETE OR UPDATE OR TRUNCATE ON stepwell.information_bundle_item FOR EACH STATEMENT EXECUTE FUNCTION stepwell._content_refuse();

-- trigger: stepwell.information_unit_version.versions_are_final
CREATE TRIGGER versions_are_final BEFORE DELETE OR UPDATE OR TRUNCATE ON stepwell.information_unit_version FOR EACH STATEMENT EXECUTE FUNCTION stepwell._content_refuse();

-- trigger: stepwell.iu_lifecycle_log.lifecycle_is_final
CREATE TRIGGER lifecycle_is_final BEFORE DELETE OR UPDATE OR TRUNCATE ON stepwell.iu_lifecycle_log FOR EACH STATEMENT EXECUTE FUNCTION stepwell._content_refuse();

-- trigger: stepwell.job_queue.the_generator_never_executes
CREATE TRIGGER the_generator_never_executes INSTEAD OF INSERT OR UPDATE ON stepwell.job_queue FOR EACH ROW EXECUTE FUNCTION stepwell._surface_refuse();

-- trigger: stepwell.job_ready.ready_rows_wake_workers
CREATE TRIGGER ready_rows_wake_workers AFTER INSERT ON stepwell.job_ready FOR EACH STATEMENT WHEN ((current_setting('stepwell.notifies'::text, true) IS DISTINCT FROM 'at_end'::text)) EXECUTE FUNCTION stepwell._ready_notify();

-- trigger: stepwell.job_subscription.the_generator_never_executes
CREATE TRIGGER the_generator_never_executes INSTEAD OF INSERT OR UPDATE ON stepwell.job_subscription FOR EACH ROW EXECUTE FUNCTION stepwell._surface_refuse();

-- trigger: stepwell.operation.operation_finds_its_handler
CREATE TRIGGER operation_finds_its_handler BEFORE INSERT ON stepwell.operation FOR EACH ROW EXECUTE FUNCTION stepwell._operation_handler();

-- trigger: stepwell.policy_set.policy_sets_are_final
CREATE TRIGGER policy_sets_are_final BEFORE DELETE OR UPDATE OR TRUNCATE ON stepwell.policy_set FOR EACH STATEMENT EXECUTE FUNCTION stepwell._policy_set_refuse();

-- trigger: stepwell.principal.names_can_be_told_apart
CREATE TRIGGER names_can_be_told_apart BEFORE INSERT OR UPDATE OF principal_name ON stepwell.principal FOR EACH ROW EXECUTE FUNCTION stepwell._principal_name_set();

-- trigger: stepwell.queue_heartbeat.the_generator_never_executes
CREATE TRIGGER the_generator_never_executes INSTEAD OF INSERT OR UPDATE ON stepwell.queue_heartbeat FOR EACH ROW EXECUTE FUNCTION stepwell._surface_refuse();

-- trigger: stepwell.rollup_policy_def.rollup_policy_takes_effect
CREATE TRIGGER rollup_policy_takes_effect AFTER INSERT OR DELETE OR UPDATE ON stepwell.rollup_policy_def FOR EACH STATEMENT EXECUTE FUNCTION stepwell._rollup_policy_apply();

-- trigger: stepwell.run_progress.followed_runs_notify
CREATE TRIGGER followed_runs_notify AFTER UPDATE ON stepwell.run_progress FOR EACH ROW WHEN (((new.followed_until IS NOT NULL) AND (NOT (new.followed_until IS DISTINCT FROM old.followed_until)))) EXECUTE FUNCTION stepwell._progress_notify();

-- trigger: stepwell.state_def.floor_states_stay
CREATE TRIGGER floor_states_stay AFTER DELETE OR UPDATE ON stepwell.state_def FOR EACH STATEMENT EXECUTE FUNCTION stepwell._machine_floor_check();

-- trigger: stepwell.state_dialect.dialects_say_the_floor
CREATE TRIGGER dialects_say_the_floor AFTER INSERT OR DELETE OR UPDATE ON stepwell.state_dialect FOR EACH STATEMENT EXECUTE FUNCTION stepwell._dialect_floor_check();

-- trigger: stepwell.state_machine_def.machine_has_the_floor
CREATE TRIGGER machine_has_the_floor AFTER INSERT OR UPDATE ON stepwell.state_machine_def FOR EACH STATEMENT EXECUTE FUNCTION stepwell._machine_floor_check();

-- policy: stepwell.access_token.tenant_is_bound
create policy tenant_is_bound on stepwell.access_token as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.action_receipt.step_is_shown
create policy step_is_shown on stepwell.action_receipt as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.action_receipt.tenant_is_bound
create policy tenant_is_bound on stepwell.action_receipt as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.approval_detail.step_is_shown
create policy step_is_shown on stepwell.approval_detail as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, approval_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.approval_detail.tenant_is_bound
create policy tenant_is_bound on stepwell.approval_detail as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.approval_vote.step_is_shown
create policy step_is_shown on stepwell.approval_vote as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, approval_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.approval_vote.tenant_is_bound
create policy tenant_is_bound on stepwell.approval_vote as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.audit_anchor.tenant_is_bound
create policy tenant_is_bound on stepwell.audit_anchor as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.audit_block.tenant_is_bound
create policy tenant_is_bound on stepwell.audit_block as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.audit_block_stream.tenant_is_bound
create policy tenant_is_bound on stepwell.audit_block_stream as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.audit_chain.tenant_is_bound
create policy tenant_is_bound on stepwell.audit_chain as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.audit_leaves.tenant_is_bound
create policy tenant_is_bound on stepwell.audit_leaves as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.business_calendar.tenant_is_bound
create policy tenant_is_bound on stepwell.business_calendar as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.calendar_holiday.tenant_is_bound
create policy tenant_is_bound on stepwell.calendar_holiday as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.calendar_hours.tenant_is_bound
create policy tenant_is_bound on stepwell.calendar_hours as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.concurrency_slot.tenant_is_bound
create policy tenant_is_bound on stepwell.concurrency_slot as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.credential.tenant_is_bound
create policy tenant_is_bound on stepwell.credential as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.cut_request_detail.tenant_is_bound
create policy tenant_is_bound on stepwell.cut_request_detail as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.demo.tenant_is_bound
create policy tenant_is_bound on stepwell.demo as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.development_mode.tenant_is_bound
create policy tenant_is_bound on stepwell.development_mode as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.dlq_replay_plan.tenant_is_bound
create policy tenant_is_bound on stepwell.dlq_replay_plan as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.dlq_replay_request.step_is_shown
create policy step_is_shown on stepwell.dlq_replay_request as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.dlq_replay_request.tenant_is_bound
create policy tenant_is_bound on stepwell.dlq_replay_request as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.event_inbox.tenant_is_bound
create policy tenant_is_bound on stepwell.event_inbox as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.event_lag_count.tenant_is_bound
create policy tenant_is_bound on stepwell.event_lag_count as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.event_lag_place.tenant_is_bound
create policy tenant_is_bound on stepwell.event_lag_place as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.event_log.payload_is_allowed
create policy payload_is_allowed on stepwell.event_log as restrictive for all to public using (((event_type <> 'event.emitted'::text) OR (( SELECT stepwell.payload_tenant() AS payload_tenant) IS NOT NULL)));

-- policy: stepwell.event_log.step_is_shown
create policy step_is_shown on stepwell.event_log as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE ((event_type <> 'permission.changed'::text) AND stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps)))
END);

-- policy: stepwell.event_log.tenant_is_bound
create policy tenant_is_bound on stepwell.event_log as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.event_reader.tenant_is_bound
create policy tenant_is_bound on stepwell.event_reader as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.event_route.tenant_is_bound
create policy tenant_is_bound on stepwell.event_route as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.event_validation_audit.step_is_shown
create policy step_is_shown on stepwell.event_validation_audit as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.event_validation_audit.tenant_is_bound
create policy tenant_is_bound on stepwell.event_validation_audit as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.event_wait.step_is_shown
create policy step_is_shown on stepwell.event_wait as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.event_wait.tenant_is_bound
create policy tenant_is_bound on stepwell.event_wait as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.evidence_bundle.tenant_is_bound
create policy tenant_is_bound on stepwell.evidence_bundle as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.evidence_due.tenant_is_bound
create policy tenant_is_bound on stepwell.evidence_due as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.evidence_file.payload_is_allowed
create policy payload_is_allowed on stepwell.evidence_file as restrictive for all to public using ((( SELECT stepwell.payload_tenant() AS payload_tenant) IS NOT NULL));

-- policy: stepwell.evidence_file.step_is_shown
create policy step_is_shown on stepwell.evidence_file as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE false
END);

-- policy: stepwell.evidence_file.tenant_is_bound
create policy tenant_is_bound on stepwell.evidence_file as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.governance_count.tenant_is_bound
create policy tenant_is_bound on stepwell.governance_count as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.governance_problem.step_is_shown
create policy step_is_shown on stepwell.governance_problem as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.governance_problem.tenant_is_bound
create policy tenant_is_bound on stepwell.governance_problem as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.governance_summary.tenant_is_bound
create policy tenant_is_bound on stepwell.governance_summary as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.governance_trend.tenant_is_bound
create policy tenant_is_bound on stepwell.governance_trend as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.graph_layout.step_is_shown
create policy step_is_shown on stepwell.graph_layout as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.graph_is_shown(tenant_id, graph_hash, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.graph_layout.tenant_is_bound
create policy tenant_is_bound on stepwell.graph_layout as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.handler_event_type.tenant_is_bound
create policy tenant_is_bound on stepwell.handler_event_type as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.http_answer.tenant_is_bound
create policy tenant_is_bound on stepwell.http_answer as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.http_trigger.tenant_is_bound
create policy tenant_is_bound on stepwell.http_trigger as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.incident_hold.tenant_is_bound
create policy tenant_is_bound on stepwell.incident_hold as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.incident_hold_clock.step_is_shown
create policy step_is_shown on stepwell.incident_hold_clock as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.incident_hold_clock.tenant_is_bound
create policy tenant_is_bound on stepwell.incident_hold_clock as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.incident_hold_evidence.tenant_is_bound
create policy tenant_is_bound on stepwell.incident_hold_evidence as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.incident_hold_operation.tenant_is_bound
create policy tenant_is_bound on stepwell.incident_hold_operation as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.information_bundle_item.tenant_is_bound
create policy tenant_is_bound on stepwell.information_bundle_item as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.information_unit.tenant_is_bound
create policy tenant_is_bound on stepwell.information_unit as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.information_unit_label.tenant_is_bound
create policy tenant_is_bound on stepwell.information_unit_label as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.information_unit_permission.tenant_is_bound
create policy tenant_is_bound on stepwell.information_unit_permission as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.information_unit_version.step_is_shown
create policy step_is_shown on stepwell.information_unit_version as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE (iu_id <> ALL (( SELECT stepwell.hidden_contents() AS hidden_contents)::bigint[]))
END);

-- policy: stepwell.information_unit_version.tenant_is_bound
create policy tenant_is_bound on stepwell.information_unit_version as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.integrity_watch.step_is_shown
create policy step_is_shown on stepwell.integrity_watch as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.integrity_watch.tenant_is_bound
create policy tenant_is_bound on stepwell.integrity_watch as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.iu_lifecycle_log.tenant_is_bound
create policy tenant_is_bound on stepwell.iu_lifecycle_log as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.iu_lineage.tenant_is_bound
create policy tenant_is_bound on stepwell.iu_lineage as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.job_dead_letter.step_is_shown
create policy step_is_shown on stepwell.job_dead_letter as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.job_dead_letter.tenant_is_bound
create policy tenant_is_bound on stepwell.job_dead_letter as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.job_detail.tenant_is_bound
create policy tenant_is_bound on stepwell.job_detail as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.job_held.step_is_shown
create policy step_is_shown on stepwell.job_held as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.job_held.tenant_is_bound
create policy tenant_is_bound on stepwell.job_held as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.job_line.step_is_shown
create policy step_is_shown on stepwell.job_line as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.job_line.tenant_is_bound
create policy tenant_is_bound on stepwell.job_line as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.job_ready.step_is_shown
create policy step_is_shown on stepwell.job_ready as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.job_ready.tenant_is_bound
create policy tenant_is_bound on stepwell.job_ready as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.job_template.tenant_is_bound
create policy tenant_is_bound on stepwell.job_template as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.job_workflow_detail.tenant_is_bound
create policy tenant_is_bound on stepwell.job_workflow_detail as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.map_item.payload_is_allowed
create policy payload_is_allowed on stepwell.map_item as restrictive for all to public using ((( SELECT stepwell.payload_tenant() AS payload_tenant) IS NOT NULL));

-- policy: stepwell.map_item.step_is_shown
create policy step_is_shown on stepwell.map_item as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.map_item.tenant_is_bound
create policy tenant_is_bound on stepwell.map_item as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.operation.tenant_is_bound
create policy tenant_is_bound on stepwell.operation as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.permission.shared_is_read
create policy shared_is_read on stepwell.permission as permissive for all to public using (((tenant_id = 0) AND (( SELECT stepwell.read_tenant() AS read_tenant) IS NOT NULL)));

-- policy: stepwell.permission.tenant_is_bound
create policy tenant_is_bound on stepwell.permission as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.policy_active.tenant_is_bound
create policy tenant_is_bound on stepwell.policy_active as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.policy_set.tenant_is_bound
create policy tenant_is_bound on stepwell.policy_set as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.policy_verdict.step_is_shown
create policy step_is_shown on stepwell.policy_verdict as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.policy_verdict.tenant_is_bound
create policy tenant_is_bound on stepwell.policy_verdict as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.principal.tenant_is_bound
create policy tenant_is_bound on stepwell.principal as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.principal_role.tenant_is_bound
create policy tenant_is_bound on stepwell.principal_role as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.rate_token.tenant_is_bound
create policy tenant_is_bound on stepwell.rate_token as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.run_detail.tenant_is_bound
create policy tenant_is_bound on stepwell.run_detail as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.run_label.tenant_is_bound
create policy tenant_is_bound on stepwell.run_label as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.run_progress.tenant_is_bound
create policy tenant_is_bound on stepwell.run_progress as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.run_write_count.step_is_shown
create policy step_is_shown on stepwell.run_write_count as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.run_write_count.tenant_is_bound
create policy tenant_is_bound on stepwell.run_write_count as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.saved_view.tenant_is_bound
create policy tenant_is_bound on stepwell.saved_view as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.sign_in_throttle.tenant_is_bound
create policy tenant_is_bound on stepwell.sign_in_throttle as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.slack_callback.tenant_is_bound
create policy tenant_is_bound on stepwell.slack_callback as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.slack_card.step_is_shown
create policy step_is_shown on stepwell.slack_card as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, approval_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.slack_card.tenant_is_bound
create policy tenant_is_bound on stepwell.slack_card as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.slack_user.tenant_is_bound
create policy tenant_is_bound on stepwell.slack_user as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.step_block.step_is_shown
create policy step_is_shown on stepwell.step_block as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.step_block.tenant_is_bound
create policy tenant_is_bound on stepwell.step_block as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.step_content_pin.step_is_shown
create policy step_is_shown on stepwell.step_content_pin as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, (stepwell._run_unit(run_id) + step_no), ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.step_content_pin.tenant_is_bound
create policy tenant_is_bound on stepwell.step_content_pin as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.step_escalation.step_is_shown
create policy step_is_shown on stepwell.step_escalation as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.step_escalation.tenant_is_bound
create policy tenant_is_bound on stepwell.step_escalation as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.step_input.payload_is_allowed
create policy payload_is_allowed on stepwell.step_input as restrictive for all to public using ((( SELECT stepwell.payload_tenant() AS payload_tenant) IS NOT NULL));

-- policy: stepwell.step_input.step_is_shown
create policy step_is_shown on stepwell.step_input as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.step_input.tenant_is_bound
create policy tenant_is_bound on stepwell.step_input as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.step_run_correction_cycle.step_is_shown
create policy step_is_shown on stepwell.step_run_correction_cycle as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.step_run_correction_cycle.tenant_is_bound
create policy tenant_is_bound on stepwell.step_run_correction_cycle as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.step_run_output_snapshot.payload_is_allowed
create policy payload_is_allowed on stepwell.step_run_output_snapshot as restrictive for all to public using ((( SELECT stepwell.payload_tenant() AS payload_tenant) IS NOT NULL));

-- policy: stepwell.step_run_output_snapshot.step_is_shown
create policy step_is_shown on stepwell.step_run_output_snapshot as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.step_run_output_snapshot.tenant_is_bound
create policy tenant_is_bound on stepwell.step_run_output_snapshot as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.step_run_prior_audit.payload_is_allowed
create policy payload_is_allowed on stepwell.step_run_prior_audit as restrictive for all to public using ((( SELECT stepwell.payload_tenant() AS payload_tenant) IS NOT NULL));

-- policy: stepwell.step_run_prior_audit.step_is_shown
create policy step_is_shown on stepwell.step_run_prior_audit as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.step_run_prior_audit.tenant_is_bound
create policy tenant_is_bound on stepwell.step_run_prior_audit as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.task_comments.step_is_shown
create policy step_is_shown on stepwell.task_comments as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.task_comments.tenant_is_bound
create policy tenant_is_bound on stepwell.task_comments as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.task_detail.step_is_shown
create policy step_is_shown on stepwell.task_detail as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.task_detail.tenant_is_bound
create policy tenant_is_bound on stepwell.task_detail as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.tenant.tenant_is_bound
create policy tenant_is_bound on stepwell.tenant as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.tenant_lease.step_is_shown
create policy step_is_shown on stepwell.tenant_lease as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.tenant_lease.tenant_is_bound
create policy tenant_is_bound on stepwell.tenant_lease as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.timer.step_is_shown
create policy step_is_shown on stepwell.timer as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.timer.tenant_is_bound
create policy tenant_is_bound on stepwell.timer as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.transition_idempotency.step_is_shown
create policy step_is_shown on stepwell.transition_idempotency as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.transition_idempotency.tenant_is_bound
create policy tenant_is_bound on stepwell.transition_idempotency as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.unit_checkpoint.payload_is_allowed
create policy payload_is_allowed on stepwell.unit_checkpoint as restrictive for all to public using ((( SELECT stepwell.payload_tenant() AS payload_tenant) IS NOT NULL));

-- policy: stepwell.unit_checkpoint.step_is_shown
create policy step_is_shown on stepwell.unit_checkpoint as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.unit_checkpoint.tenant_is_bound
create policy tenant_is_bound on stepwell.unit_checkpoint as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.unit_failure.step_is_shown
create policy step_is_shown on stepwell.unit_failure as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.unit_failure.tenant_is_bound
create policy tenant_is_bound on stepwell.unit_failure as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.unit_output.payload_is_allowed
create policy payload_is_allowed on stepwell.unit_output as restrictive for all to public using ((( SELECT stepwell.payload_tenant() AS payload_tenant) IS NOT NULL));

-- policy: stepwell.unit_output.step_is_shown
create policy step_is_shown on stepwell.unit_output as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.unit_output.tenant_is_bound
create policy tenant_is_bound on stepwell.unit_output as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.unit_progress.step_is_shown
create policy step_is_shown on stepwell.unit_progress as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.unit_progress.tenant_is_bound
create policy tenant_is_bound on stepwell.unit_progress as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.unit_wake.step_is_shown
create policy step_is_shown on stepwell.unit_wake as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
END);

-- policy: stepwell.unit_wake.tenant_is_bound
create policy tenant_is_bound on stepwell.unit_wake as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.work_unit.step_is_shown
create policy step_is_shown on stepwell.work_unit as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE
    CASE scope
        WHEN 'step'::text THEN (stepwell._step_key(version_id, def_no) <> ALL (( SELECT stepwell.hidden_steps() AS hidden_steps)::bigint[]))
        WHEN 'workflow_run'::text THEN true
        WHEN 'job'::text THEN true
        ELSE stepwell.unit_is_shown(tenant_id, unit_id, ( SELECT stepwell.hidden_steps() AS hidden_steps))
    END
END);

-- policy: stepwell.work_unit.tenant_is_bound
create policy tenant_is_bound on stepwell.work_unit as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.workflow_branch.step_is_shown
create policy step_is_shown on stepwell.workflow_branch as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE (stepwell._step_key(version_id, conditional_no) <> ALL (( SELECT stepwell.hidden_steps() AS hidden_steps)::bigint[]))
END);

-- policy: stepwell.workflow_branch.tenant_is_bound
create policy tenant_is_bound on stepwell.workflow_branch as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.workflow_group.tenant_is_bound
create policy tenant_is_bound on stepwell.workflow_group as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.workflow_registry.tenant_is_bound
create policy tenant_is_bound on stepwell.workflow_registry as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.workflow_schedule.tenant_is_bound
create policy tenant_is_bound on stepwell.workflow_schedule as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.workflow_step_def.step_is_shown
create policy step_is_shown on stepwell.workflow_step_def as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE (stepwell._step_key(version_id, step_no) <> ALL (( SELECT stepwell.hidden_steps() AS hidden_steps)::bigint[]))
END);

-- policy: stepwell.workflow_step_def.tenant_is_bound
create policy tenant_is_bound on stepwell.workflow_step_def as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.workflow_step_permission.tenant_is_bound
create policy tenant_is_bound on stepwell.workflow_step_permission as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.workflow_step_relations.step_is_shown
create policy step_is_shown on stepwell.workflow_step_relations as restrictive for all to public using (
CASE
    WHEN ( SELECT stepwell.sees_all_steps() AS sees_all_steps) THEN true
    ELSE ((stepwell._step_key(version_id, from_no) <> ALL (( SELECT stepwell.hidden_steps() AS hidden_steps)::bigint[])) AND (stepwell._step_key(version_id, to_no) <> ALL (( SELECT stepwell.hidden_steps() AS hidden_steps)::bigint[])))
END);

-- policy: stepwell.workflow_step_relations.tenant_is_bound
create policy tenant_is_bound on stepwell.workflow_step_relations as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.workflow_version.tenant_is_bound
create policy tenant_is_bound on stepwell.workflow_version as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- policy: stepwell.workspace.tenant_is_bound
create policy tenant_is_bound on stepwell.workspace as permissive for all to public using ((tenant_id = ( SELECT stepwell.read_tenant() AS read_tenant)));

-- view: stepwell.consumer_registry
create view stepwell.consumer_registry (
    consumer_id bigint,
    consumer text,
    executor text,
    slot_count integer,
    registered_at timestamp with time zone,
    expires_at timestamp with time zone,
    closed_at timestamp with time zone
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.cut_request
create view stepwell.cut_request (
    tenant_id integer,
    cut_request_id bigint,
    cut_no bigint,
    op text,
    state_machine_id text,
    state_code text,
    sources text[],
    targets text[],
    attempt_count integer,
    reason text,
    error_code text,
    requested_by text,
    requested_at timestamp with time zone,
    finished_at timestamp with time zone,
    last_transition_at timestamp with time zone
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.job_queue
create view stepwell.job_queue (
    tenant_id integer,
    job_id bigint,
    job_kind text,
    operation text,
    executor text,
    status text,
    state_code text,
    idempotency_key text,
    source_ref text,
    target_ref text,
    payload_ref text,
    safe_payload jsonb,
    process_after timestamp with time zone,
    priority smallint,
    workflow_id bigint,
    step_id text,
    parents bigint[],
    pending_count integer,
    concurrency_key text,
    lease_owner text,
    lease_token integer,
    lease_expires_at timestamp with time zone,
    attempt integer,
    max_attempts smallint,
    failure_class text,
    last_error jsonb,
    next_eligible_at timestamp with time zone,
    trace_id text,
    correlation_id text,
    created_at timestamp with time zone,
    created_by text,
    started_at timestamp with time zone,
    completed_at timestamp with time zone,
    last_transition_at timestamp with time zone,
    progress jsonb,
    workspace_id integer,
    scope text,
    parents_join text,
    parent_job_id bigint,
    template_id text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.job_subscription
create view stepwell.job_subscription (
    tenant_id integer,
    consumer_id bigint,
    consumer text,
    job_kind text,
    executor_kind text,
    subscribed_at timestamp with time zone,
    closed_at timestamp with time zone
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.job_workflow
create view stepwell.job_workflow (
    tenant_id integer,
    workflow_id bigint,
    workflow_kind text,
    generator text,
    template_id text,
    template_version integer,
    status text,
    correlation_id text,
    params_keys text[],
    job_count integer,
    open_count stepwell.open_count,
    succeeded_count integer,
    dead_letter_count integer,
    parent_workflow_id bigint,
    parent_job_id bigint,
    emitted_by text,
    enqueued_at timestamp with time zone,
    finished_at timestamp with time zone,
    refreshed_at timestamp with time zone,
    key text,
    stored_status text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.person
create view stepwell.person (
    tenant_id integer,
    person_id bigint,
    person_name text,
    display_name text,
    is_active boolean,
    created_at timestamp with time zone,
    name_key text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.person_role
create view stepwell.person_role (
    tenant_id integer,
    person_id bigint,
    role_name text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.queue_heartbeat
create view stepwell.queue_heartbeat (
    session_id bigint,
    worker_name text,
    executor_kind text,
    slot_count integer,
    started_at timestamp with time zone,
    last_tick_at timestamp with time zone,
    expires_at timestamp with time zone,
    last_ok_at timestamp with time zone,
    status text,
    closed_at timestamp with time zone,
    info jsonb,
    worker_class text,
    threshold interval,
    is_frozen boolean,
    is_draining boolean
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.rollup_rule
create view stepwell.rollup_rule (
    semantic_class text,
    colour text,
    rank integer
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.runtime_approval
create view stepwell.runtime_approval (
    tenant_id integer,
    approval_id bigint,
    run_id bigint,
    tier text,
    two_person boolean,
    status text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.runtime_receipt
create view stepwell.runtime_receipt (
    tenant_id integer,
    receipt_id bigint,
    run_id bigint,
    step_id text,
    idempotency_key text,
    request_metadata jsonb,
    response_metadata jsonb,
    reversible boolean,
    reversal jsonb,
    status text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.runtime_run
create view stepwell.runtime_run (
    tenant_id integer,
    run_id bigint,
    workspace_id integer,
    workflow_version_id integer,
    trigger_type text,
    trigger_ref text,
    status text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.runtime_step
create view stepwell.runtime_step (
    tenant_id integer,
    workspace_id integer,
    run_id bigint,
    step_id text,
    step_index integer,
    tool_name text,
    idempotency_key text,
    lease_owner text,
    lease_expires_at timestamp with time zone,
    status text,
    attempt integer,
    last_error jsonb,
    next_eligible_at timestamp with time zone
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.step_run
create view stepwell.step_run (
    tenant_id integer,
    step_run_id bigint,
    run_id bigint,
    step_no integer,
    step_id text,
    step_kind text,
    scope_no integer,
    branch_no integer,
    group_no integer,
    parent_id bigint,
    version_id integer,
    state_machine_id text,
    state_code text,
    waiting_facet text,
    waiting_facets text[],
    mandatory boolean,
    pending_count integer,
    priority smallint,
    operation text,
    executor text,
    pic_id bigint,
    role text,
    attempt integer,
    max_attempts smallint,
    failure_class text,
    lease_session_id bigint,
    lease_owner text,
    lease_token integer,
    lease_expires_at timestamp with time zone,
    request_id integer,
    next_eligible_at timestamp with time zone,
    last_error jsonb,
    output jsonb,
    started_at timestamp with time zone,
    completed_at timestamp with time zone,
    last_transition_at timestamp with time zone,
    deadline_at timestamp with time zone,
    overdue_first_at timestamp with time zone,
    completed_after_deadline boolean,
    sla_breach_duration interval,
    blocked_escalated boolean,
    escalation_level smallint,
    inputs jsonb,
    progress jsonb,
    escalation_chain_id text,
    workflow_run_id bigint,
    step_def_id bigint,
    pinned_iu_version_id bigint,
    executor_class_ref text,
    trace_id text,
    correlation_id text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.step_run_state_history
create view stepwell.step_run_state_history (
    tenant_id integer,
    run_id bigint,
    step_run_id bigint,
    visit_no bigint,
    state_code text,
    entered_at timestamp with time zone,
    left_at timestamp with time zone,
    entry_event_id bigint,
    entry_event_type text,
    request_id integer,
    actor_class text,
    actor text,
    audit_ref text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.task_checkpoints
create view stepwell.task_checkpoints (
    tenant_id integer,
    unit_id bigint,
    run_id bigint,
    checkpoint_name text,
    checkpoint_value jsonb,
    request_id integer,
    saved_at timestamp with time zone
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.task_run
create view stepwell.task_run (
    tenant_id integer,
    task_run_id bigint,
    step_run_id bigint,
    run_id bigint,
    state_machine_id text,
    state_code text,
    waiting_facet text,
    waiting_facets text[],
    mandatory boolean,
    pic_id bigint,
    operation text,
    attempt integer,
    max_attempts smallint,
    failure_class text,
    started_at timestamp with time zone,
    completed_at timestamp with time zone,
    last_transition_at timestamp with time zone,
    deadline_at timestamp with time zone,
    overdue_first_at timestamp with time zone,
    completed_after_deadline boolean,
    sla_breach_duration interval,
    blocked_escalated boolean,
    workflow_run_id bigint,
    step_def_id bigint,
    pinned_iu_version_id bigint,
    executor_class_ref text,
    trace_id text,
    correlation_id text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.transition_rule
create view stepwell.transition_rule (
    state_machine_id text,
    from_state text,
    to_state text,
    actor_class text,
    scope text,
    transition_id text,
    trigger_kind text,
    trigger_ref text,
    guard_kind text,
    guard_ref text,
    audit_required boolean,
    proposed boolean,
    event_type text,
    event_is_registered boolean,
    event_has_contract boolean,
    event_requires_payload boolean,
    from_class text,
    to_class text,
    from_terminal boolean,
    to_terminal boolean,
    from_settled boolean,
    to_settled boolean,
    leases_directly boolean,
    reached_state text,
    claim_event_type text
);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_action_receipt
create view stepwell.v_action_receipt (
    tenant_id integer,
    receipt_id bigint,
    state_code text,
    run_id bigint,
    step_run_id bigint,
    step_id text,
    idempotency_key text,
    connector text,
    operation text,
    target text,
    action_hash text,
    writes boolean,
    reversible boolean,
    try_count integer,
    request_metadata jsonb,
    response_metadata jsonb,
    external_id text,
    prior jsonb,
    reversal jsonb,
    provider text,
    model text,
    input_tokens bigint,
    output_tokens bigint,
    cost_micros bigint,
    currency text,
    policy_version integer,
    rule_name text,
    policy_reason text,
    approval_id bigint,
    requested_by text,
    acting text,
    reverses_receipt_id bigint,
    reversed_by_receipt_id bigint,
    intended_at timestamp with time zone,
    settled_at timestamp with time zone,
    settled_by text,
    waits_for text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_approval
create view stepwell.v_approval (
    tenant_id integer,
    approval_id bigint,
    state_code text,
    action text,
    subject_unit_id bigint,
    run_id bigint,
    tier smallint,
    quorum smallint,
    approve_count bigint,
    votes jsonb,
    requested_by text,
    reason text,
    requested_at timestamp with time zone,
    expires_at timestamp with time zone,
    decided_at timestamp with time zone,
    decided_by text,
    acting text,
    approvers text[],
    approver_role text,
    about jsonb,
    shown_digest text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_approval_digest
create view stepwell.v_approval_digest (
    tenant_id integer,
    approval_id bigint,
    shown_digest text
) with (security_barrier=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_approval_payload
create view stepwell.v_approval_payload (
    tenant_id integer,
    approval_id bigint,
    about jsonb
) with (security_barrier=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_audit_approval
create view stepwell.v_audit_approval (
    tenant_id integer,
    approval_id bigint,
    action text,
    subject_unit_id bigint,
    tier smallint,
    quorum smallint,
    requested_by text,
    reason text,
    requested_at timestamp with time zone,
    expires_at timestamp with time zone,
    decided_at timestamp with time zone,
    decided_by text,
    acting text,
    approvers text[],
    approver_role text,
    request_key text,
    about jsonb
) with (security_barrier=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_audit_receipt
create view stepwell.v_audit_receipt (
    tenant_id integer,
    receipt_id bigint,
    unit_id bigint,
    run_id bigint,
    step_id text,
    lease_no integer,
    try_count integer,
    idempotency_key text,
    connector text,
    operation text,
    target text,
    action_hash text,
    writes boolean,
    reversible boolean,
    external_id text,
    provider text,
    model text,
    input_tokens bigint,
    output_tokens bigint,
    cost_micros bigint,
    currency text,
    verdict_id bigint,
    approval_id bigint,
    requested_by text,
    acting text,
    reverses_receipt_id bigint,
    reversed_by_receipt_id bigint,
    settled_by text,
    intended_at timestamp with time zone,
    settled_at timestamp with time zone,
    intent_token text,
    request_metadata jsonb,
    response_metadata jsonb,
    prior jsonb,
    reversal jsonb,
    session_id bigint
) with (security_barrier=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_audit_seal
create view stepwell.v_audit_seal (
    tenant_id integer,
    tenant_code text,
    chain_id uuid,
    block_count bigint,
    sealed_at timestamp with time zone,
    unsealed_since timestamp with time zone,
    anchor_error text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_audit_version
create view stepwell.v_audit_version (
    tenant_id integer,
    version_id integer,
    workflow_id integer,
    version_no integer,
    graph jsonb,
    graph_hash text,
    published_by text,
    published_at timestamp with time zone,
    step_count integer,
    is_template boolean,
    input_schema jsonb,
    failure_policy text
) with (security_barrier=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_content_version
create view stepwell.v_content_version (
    tenant_id integer,
    iu_code text,
    version_no integer,
    body text,
    content_hash text,
    written_at timestamp with time zone,
    written_by text,
    note text,
    labels jsonb
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_dead_letter
create view stepwell.v_dead_letter (
    tenant_id integer,
    unit_id bigint,
    operation text,
    run_id bigint,
    step_id text,
    workflow text,
    trigger_ref text,
    died_at timestamp with time zone,
    failure_class text,
    error jsonb,
    attempt smallint,
    resolved_at timestamp with time zone,
    resolution text,
    failures jsonb,
    cause text,
    max_attempts smallint,
    replay_state text,
    is_asked boolean
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_dead_letter_cause
create view stepwell.v_dead_letter_cause (
    tenant_id integer,
    operation text,
    failure_class text,
    cause text,
    letter_count bigint,
    run_count bigint,
    oldest_at timestamp with time zone,
    newest_at timestamp with time zone
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_event_lag_position
create view stepwell.v_event_lag_position (
    tenant_id integer,
    producer text,
    consumer text,
    subject_key text,
    last_tx xid8,
    last_event_id bigint
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_event_route
create view stepwell.v_event_route (
    tenant_id integer,
    route_name text,
    event_type text,
    operation_name text,
    fields text[],
    priority smallint,
    created_at timestamp with time zone,
    created_by text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_executor
create view stepwell.v_executor (
    executor text,
    description text,
    alive_count integer,
    silent_count integer,
    slot_count integer,
    slots_in_use integer,
    last_ok_at timestamp with time zone,
    silent_after_seconds integer,
    frozen_at timestamp with time zone,
    frozen_by text,
    frozen_reason text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_executor_said
create view stepwell.v_executor_said (
    tenant_id integer,
    executor text,
    description text,
    alive_count integer,
    silent_count integer,
    slot_count integer,
    slots_in_use integer,
    last_ok_at timestamp with time zone,
    silent_after_seconds integer,
    frozen_at timestamp with time zone,
    frozen_by text,
    frozen_reason text,
    sentence_en text,
    sentence_vi text,
    colour text,
    summary_id bigint
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_governance_problem
create view stepwell.v_governance_problem (
    tenant_id integer,
    problem_id bigint,
    category_code text,
    severity text,
    duty text,
    subject text,
    run_id bigint,
    unit_id bigint,
    reason text,
    error_code text,
    seen_count integer,
    since_at timestamp with time zone,
    opened_at timestamp with time zone,
    last_seen_at timestamp with time zone,
    retry_at timestamp with time zone,
    closed_at timestamp with time zone,
    closed_by text,
    opened_event_id bigint,
    closed_event_id bigint,
    label_en text,
    label_vi text,
    remedy_en text,
    remedy_vi text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_governance_summary
create view stepwell.v_governance_summary (
    tenant_id integer,
    summary_id bigint,
    subject_kind text,
    subject text,
    category_code text,
    colour text,
    sentence_en text,
    sentence_vi text,
    source_event_count integer,
    source_event_total integer,
    source_event_refs text[],
    window_start_at timestamp with time zone,
    window_end_at timestamp with time zone,
    summarizer_kind text,
    summarizer_ref text,
    summarizer_version text,
    confidence real,
    written_by text,
    written_at timestamp with time zone,
    min_confidence real,
    is_low_confidence boolean
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_graph_job
create view stepwell.v_graph_job (
    tenant_id integer,
    workflow_id bigint,
    job_id bigint,
    local_id text,
    job_kind text,
    executor text,
    state_code text,
    join_kind text,
    parents bigint[],
    source_ref text,
    target_ref text,
    payload_ref text,
    process_after timestamp with time zone,
    priority smallint,
    attempt integer,
    max_attempts smallint,
    nested_workflow_id bigint
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_human_step
create view stepwell.v_human_step (
    tenant_id integer,
    step_run_id bigint,
    run_id bigint,
    workflow text,
    scope text,
    parent_step_run_id bigint,
    step_id text,
    title text,
    state_code text,
    waiting_facet text,
    secondary_facets text[],
    role text,
    assignee text,
    pic text,
    priority smallint,
    deadline_at timestamp with time zone,
    overdue_first_at timestamp with time zone,
    completed_after_deadline boolean,
    sla_breach_duration interval,
    is_late boolean,
    block_reason text,
    block_detail text,
    blocked_severity text,
    form jsonb,
    started_at timestamp with time zone,
    completed_at timestamp with time zone,
    last_transition_at timestamp with time zone,
    escalation_level smallint,
    escalated_to text,
    escalated_at timestamp with time zone,
    block_label jsonb,
    now_at timestamp with time zone,
    parent_step_id text,
    item_no integer,
    inputs jsonb,
    progress jsonb,
    step_kind text,
    is_for_people boolean
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_inbox
create view stepwell.v_inbox (
    tenant_id integer,
    step_run_id bigint,
    run_id bigint,
    workflow text,
    scope text,
    parent_step_run_id bigint,
    step_id text,
    title text,
    state_code text,
    waiting_facet text,
    secondary_facets text[],
    role text,
    assignee text,
    pic text,
    priority smallint,
    deadline_at timestamp with time zone,
    overdue_first_at timestamp with time zone,
    completed_after_deadline boolean,
    sla_breach_duration interval,
    is_late boolean,
    block_reason text,
    block_detail text,
    blocked_severity text,
    form jsonb,
    started_at timestamp with time zone,
    completed_at timestamp with time zone,
    last_transition_at timestamp with time zone,
    escalation_level smallint,
    escalated_to text,
    escalated_at timestamp with time zone,
    block_label jsonb,
    now_at timestamp with time zone,
    parent_step_id text,
    item_no integer,
    inputs jsonb,
    progress jsonb,
    step_kind text,
    is_for_people boolean
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_incident_hold
create view stepwell.v_incident_hold (
    tenant_id integer,
    hold_id bigint,
    scope_kind text,
    scope_value text,
    reason text,
    share smallint,
    hold_state text,
    opened_at timestamp with time zone,
    opened_by text,
    opened_event_id bigint,
    graded_at timestamp with time zone,
    graded_by text,
    released_at timestamp with time zone,
    released_by text,
    released_event_id bigint,
    ended_at timestamp with time zone,
    reach jsonb,
    outcome jsonb,
    held_count bigint,
    stopped_count bigint,
    moved_count bigint,
    has_evidence boolean
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_job_outcome
create view stepwell.v_job_outcome (
    tenant_id integer,
    job_id bigint,
    state_code text,
    output jsonb
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_job_payload
create view stepwell.v_job_payload (
    tenant_id integer,
    job_id bigint,
    payload jsonb
) with (security_barrier=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_job_template
create view stepwell.v_job_template (
    tenant_id integer,
    template_id text,
    workflow_kind text,
    description text,
    version_no integer,
    job_count integer,
    template jsonb,
    registered_at timestamp with time zone,
    registered_by text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_job_workflow_health
create view stepwell.v_job_workflow_health (
    tenant_id integer,
    workflow_id bigint,
    workflow_kind text,
    generator text,
    template_id text,
    template_version integer,
    status text,
    correlation_id text,
    params_keys text[],
    job_count integer,
    waiting_steps bigint,
    queued_steps bigint,
    in_progress_steps bigint,
    retry_waiting_steps bigint,
    parked_steps bigint,
    succeeded_steps bigint,
    dead_letter_steps bigint,
    cancelled_steps bigint,
    parent_workflow_id bigint,
    emitted_by text,
    enqueued_at timestamp with time zone,
    finished_at timestamp with time zone,
    refreshed_at timestamp with time zone
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_person
create view stepwell.v_person (
    tenant_id integer,
    person_name text,
    display_name text,
    is_active boolean,
    roles text[]
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_policy
create view stepwell.v_policy (
    tenant_id integer,
    version_no integer,
    state_code text,
    rules jsonb,
    rules_hash text,
    diff jsonb,
    base_version_no integer,
    proposal_id bigint,
    approval_id bigint,
    proposed_by text,
    proposed_at timestamp with time zone,
    reason text,
    activated_at timestamp with time zone,
    activated_by text,
    source text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_policy_verdict
create view stepwell.v_policy_verdict (
    tenant_id integer,
    verdict_id bigint,
    run_id bigint,
    unit_id bigint,
    connector text,
    operation text,
    target text,
    effect text,
    reason_code text,
    reason text,
    rule_name text,
    version_no integer,
    approval_id bigint,
    idempotency_key text,
    decided_at timestamp with time zone
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_principal
create view stepwell.v_principal (
    tenant_id integer,
    principal_id bigint,
    principal_name text,
    name_key text,
    kind text,
    display_name text,
    is_active boolean,
    created_at timestamp with time zone,
    roles text[],
    verbs text[]
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_queue_health
create view stepwell.v_queue_health (
    tenant_id integer,
    executor text,
    ready_count bigint,
    line_count bigint,
    leased_count bigint,
    retry_waiting_count bigint,
    parked_count bigint,
    scheduled_count bigint,
    dead_count bigint,
    oldest_ready_at timestamp with time zone,
    oldest_ready_age interval,
    worker_count bigint,
    slot_count bigint
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_receipt_payload
create view stepwell.v_receipt_payload (
    tenant_id integer,
    receipt_id bigint,
    request_metadata jsonb,
    response_metadata jsonb,
    prior jsonb,
    reversal jsonb
) with (security_barrier=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_replay_plan
create view stepwell.v_replay_plan (
    tenant_id integer,
    plan_id bigint,
    approval_id bigint,
    plan_state text,
    letter_filter jsonb,
    letter_count integer,
    stages integer[],
    stage_no smallint,
    reach jsonb,
    requested_by text,
    reason text,
    requested_at timestamp with time zone,
    stage_at timestamp with time zone,
    ended_at timestamp with time zone,
    ended_because text,
    approval_state text,
    progress jsonb,
    is_waiting boolean,
    is_running boolean
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_replay_request
create view stepwell.v_replay_request (
    tenant_id integer,
    replay_request_id bigint,
    unit_id bigint,
    run_id bigint,
    approval_id bigint,
    plan_id bigint,
    stage_no smallint,
    proposal_state text,
    replay_state text,
    idempotency_key text,
    requested_by text,
    reason text,
    requested_at timestamp with time zone,
    scheduled_at timestamp with time zone,
    outcome_at timestamp with time zone,
    outcome_jsonb jsonb
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_run_listed
create view stepwell.v_run_listed (
    tenant_id integer,
    run_id bigint,
    unit_id bigint,
    workflow text,
    version_no integer,
    state_code text,
    rollup_state_code text,
    priority smallint,
    open_count integer,
    mandatory_count integer,
    completed_count integer,
    skipped_count integer,
    failed_count integer,
    trigger_type text,
    trigger_ref text,
    started_by text,
    parent_run_id bigint,
    created_at timestamp with time zone,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    frozen_at timestamp with time zone,
    deadline_at timestamp with time zone,
    input jsonb,
    labels jsonb
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_run_outcome
create view stepwell.v_run_outcome (
    tenant_id integer,
    run_id bigint,
    state_code text,
    result jsonb
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_run_payload
create view stepwell.v_run_payload (
    tenant_id integer,
    run_id bigint,
    input jsonb
) with (security_barrier=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_schedule
create view stepwell.v_schedule (
    tenant_id integer,
    schedule_name text,
    workflow text,
    cron text,
    time_zone text,
    input jsonb,
    misfire text,
    backfill_limit integer,
    is_paused boolean,
    next_at timestamp with time zone,
    last_at timestamp with time zone,
    created_at timestamp with time zone,
    created_by text,
    workspace text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_schedule_payload
create view stepwell.v_schedule_payload (
    tenant_id integer,
    schedule_name text,
    input jsonb
) with (security_barrier=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_slack_user
create view stepwell.v_slack_user (
    tenant_id integer,
    slack_user_id text,
    person_name text,
    is_active boolean,
    mapped_at timestamp with time zone,
    mapped_by text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_state_label
create view stepwell.v_state_label (
    scope text,
    ordinal integer,
    state_code text,
    label_en text,
    label_vi text,
    color_token text,
    icon_token text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_step_card
create view stepwell.v_step_card (
    tenant_id integer,
    step_run_id bigint,
    run_id bigint,
    workflow text,
    scope text,
    parent_step_run_id bigint,
    step_id text,
    title text,
    state_code text,
    waiting_facet text,
    secondary_facets text[],
    role text,
    assignee text,
    pic text,
    priority smallint,
    deadline_at timestamp with time zone,
    overdue_first_at timestamp with time zone,
    completed_after_deadline boolean,
    sla_breach_duration interval,
    is_late boolean,
    block_reason text,
    block_detail text,
    blocked_severity text,
    form jsonb,
    started_at timestamp with time zone,
    completed_at timestamp with time zone,
    last_transition_at timestamp with time zone,
    escalation_level smallint,
    escalated_to text,
    escalated_at timestamp with time zone,
    block_label jsonb,
    now_at timestamp with time zone,
    parent_step_id text,
    item_no integer,
    inputs jsonb,
    progress jsonb,
    step_kind text,
    is_for_people boolean
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_step_content
create view stepwell.v_step_content (
    tenant_id integer,
    run_id bigint,
    step_no integer,
    iu_id bigint,
    iu_code text,
    is_bundle boolean,
    pinned_version_no integer,
    pinned_at timestamp with time zone,
    body text,
    content_hash text,
    label_vi text,
    label_en text,
    items jsonb
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_step_payload
create view stepwell.v_step_payload (
    tenant_id integer,
    unit_id bigint,
    binding_no smallint,
    inputs jsonb
) with (security_barrier=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_step_run_content
create view stepwell.v_step_run_content (
    tenant_id integer,
    step_run_id bigint,
    iu_code text,
    pinned_version_no integer,
    body text,
    label_vi text,
    label_en text,
    items jsonb
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_unit_dialect
create view stepwell.v_unit_dialect (
    tenant_id integer,
    unit_id bigint,
    run_id bigint,
    scope text,
    state_code text,
    qualifier text,
    linear_code text,
    runtime_code text,
    node_code text,
    job_code text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_unit_name
create view stepwell.v_unit_name (
    tenant_id integer,
    unit_id bigint,
    scope text,
    name text,
    workflow text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_unit_progress
create view stepwell.v_unit_progress (
    tenant_id integer,
    unit_id bigint,
    progress jsonb
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_vocabulary
create view stepwell.v_vocabulary (
    vocabulary text,
    code text,
    label_en text,
    label_vi text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_worker
create view stepwell.v_worker (
    session_id bigint,
    worker_name text,
    executors text[],
    status text,
    version text,
    host text,
    pid text,
    slot_count integer,
    slots_in_use integer,
    started_at timestamp with time zone,
    last_tick_at timestamp with time zone,
    last_ok_at timestamp with time zone,
    expires_at timestamp with time zone,
    closed_at timestamp with time zone,
    silent_after_seconds integer,
    frozen_executors text[],
    frozen_at timestamp with time zone,
    frozen_by text,
    frozen_reason text,
    drain_at timestamp with time zone,
    drain_by text,
    drain_reason text,
    is_drained boolean,
    operations text[]
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_worker_said
create view stepwell.v_worker_said (
    tenant_id integer,
    session_id bigint,
    worker_name text,
    executors text[],
    status text,
    version text,
    host text,
    pid text,
    slot_count integer,
    slots_in_use integer,
    started_at timestamp with time zone,
    last_tick_at timestamp with time zone,
    last_ok_at timestamp with time zone,
    expires_at timestamp with time zone,
    closed_at timestamp with time zone,
    silent_after_seconds integer,
    frozen_executors text[],
    frozen_at timestamp with time zone,
    frozen_by text,
    frozen_reason text,
    drain_at timestamp with time zone,
    drain_by text,
    drain_reason text,
    is_drained boolean,
    operations text[],
    sentence_en text,
    sentence_vi text,
    colour text,
    summary_id bigint
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_workflow
create view stepwell.v_workflow (
    tenant_id integer,
    name text,
    workflow_id integer,
    title text,
    version_no integer,
    version_count integer,
    step_count integer,
    published_at timestamp with time zone,
    published_by text,
    input_schema jsonb,
    max_concurrency integer,
    max_runs_per_min integer,
    max_writes_per_run integer,
    workflow_class text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.v_workflow_version
create view stepwell.v_workflow_version (
    tenant_id integer,
    name text,
    version_id integer,
    version_no integer,
    title text,
    failure_policy text,
    step_count integer,
    graph_hash text,
    published_at timestamp with time zone,
    published_by text,
    input_schema jsonb,
    document jsonb
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.vw_audit_event_timeline
create view stepwell.vw_audit_event_timeline (
    tenant_id integer,
    event_id bigint,
    tx xid8,
    at timestamp with time zone,
    event_type text,
    description text,
    run_id bigint,
    unit_id bigint,
    scope text,
    workflow text,
    step_id text,
    request_id integer,
    from_state text,
    to_state text,
    actor_class text,
    actor text,
    audit_ref text,
    trace_id text,
    correlation_id text,
    payload jsonb,
    item_no integer
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.vw_governance_counts
create view stepwell.vw_governance_counts (
    tenant_id integer,
    category_code text,
    severity text,
    subject_count bigint,
    oldest_at timestamp with time zone,
    label_en text,
    label_vi text,
    remedy_en text,
    remedy_vi text,
    opened_count bigint,
    closed_count bigint,
    hours jsonb,
    closed_at timestamp with time zone,
    closed_by text,
    closed_event_id bigint,
    newest_reason text,
    newest_title text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.vw_governance_dead_letters
create view stepwell.vw_governance_dead_letters (
    tenant_id integer,
    category_code text,
    subject_key text,
    subject text,
    since_at timestamp with time zone,
    run_id bigint,
    unit_id bigint,
    trace_id text,
    reason text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.vw_governance_dlq_count
create view stepwell.vw_governance_dlq_count (
    tenant_id integer,
    failure_class text,
    open_count bigint,
    window_count bigint,
    oldest_at timestamp with time zone,
    newest_at timestamp with time zone
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.vw_governance_event_lag
create view stepwell.vw_governance_event_lag (
    tenant_id integer,
    category_code text,
    subject_key text,
    subject text,
    since_at timestamp with time zone,
    run_id bigint,
    unit_id bigint,
    trace_id text,
    reason text,
    lag interval
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.vw_governance_failed_cuts
create view stepwell.vw_governance_failed_cuts (
    tenant_id integer,
    category_code text,
    subject_key text,
    subject text,
    since_at timestamp with time zone,
    run_id bigint,
    unit_id bigint,
    trace_id text,
    reason text,
    workflow text,
    trigger_ref text,
    remedy_key text,
    actor text,
    event_type text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.vw_governance_integrity_warnings
create view stepwell.vw_governance_integrity_warnings (
    tenant_id integer,
    category_code text,
    subject_key text,
    subject text,
    since_at timestamp with time zone,
    run_id bigint,
    unit_id bigint,
    trace_id text,
    reason text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.vw_governance_orphans
create view stepwell.vw_governance_orphans (
    tenant_id integer,
    category_code text,
    subject_key text,
    subject text,
    since_at timestamp with time zone,
    run_id bigint,
    unit_id bigint,
    trace_id text,
    reason text,
    workflow text,
    trigger_ref text,
    remedy_key text,
    actor text,
    event_type text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.vw_governance_overdue
create view stepwell.vw_governance_overdue (
    tenant_id integer,
    category_code text,
    subject_key text,
    subject text,
    since_at timestamp with time zone,
    run_id bigint,
    unit_id bigint,
    trace_id text,
    reason text,
    state_code text,
    deadline_at timestamp with time zone
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.vw_governance_problems
create view stepwell.vw_governance_problems (
    tenant_id integer,
    category_code text,
    subject_key text,
    subject text,
    since_at timestamp with time zone,
    run_id bigint,
    unit_id bigint,
    trace_id text,
    reason text,
    workflow text,
    trigger_ref text,
    remedy_key text,
    actor text,
    event_type text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.vw_governance_schema_violations
create view stepwell.vw_governance_schema_violations (
    tenant_id integer,
    category_code text,
    subject_key text,
    subject text,
    since_at timestamp with time zone,
    run_id bigint,
    unit_id bigint,
    trace_id text,
    reason text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.vw_governance_silent_workers
create view stepwell.vw_governance_silent_workers (
    tenant_id integer,
    category_code text,
    subject_key text,
    subject text,
    since_at timestamp with time zone,
    run_id bigint,
    unit_id bigint,
    trace_id text,
    reason text
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.workflow_instance
create view stepwell.workflow_instance (
    tenant_id integer,
    instance_id bigint,
    workflow_type text,
    workflow_version integer,
    status text,
    current_step_seq integer,
    current_step_type text,
    created_at timestamp with time zone,
    completed_at timestamp with time zone,
    failed_at timestamp with time zone
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.workflow_run
create view stepwell.workflow_run (
    tenant_id integer,
    run_id bigint,
    unit_id bigint,
    workflow text,
    version_no integer,
    workflow_id integer,
    version_id integer,
    state_machine_id text,
    state_code text,
    rollup_state_code text,
    failure_policy text,
    priority smallint,
    open_count integer,
    mandatory_count integer,
    idle_count integer,
    active_count integer,
    wait_count integer,
    red_count integer,
    completed_count integer,
    skipped_count integer,
    failed_count integer,
    trigger_type text,
    trigger_ref text,
    input jsonb,
    trace_id text,
    correlation_id text,
    started_by text,
    parent_unit_id bigint,
    parent_run_id bigint,
    depth smallint,
    created_at timestamp with time zone,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    last_transition_at timestamp with time zone,
    last_rollup_at timestamp with time zone,
    frozen_at timestamp with time zone,
    deadline_at timestamp with time zone,
    workspace_id integer,
    workspace text,
    workflow_run_id bigint,
    workflow_def_id integer,
    rollup_basis_jsonb jsonb,
    labels jsonb
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- view: stepwell.workflow_step
create view stepwell.workflow_step (
    tenant_id integer,
    instance_id bigint,
    step_seq integer,
    step_type text,
    status text,
    locked_by text,
    locked_until timestamp with time zone,
    next_run_at timestamp with time zone,
    attempts integer,
    max_attempts integer,
    waiting_event_type text,
    deadline_at timestamp with time zone,
    last_error text,
    completed_at timestamp with time zone
) with (security_invoker=true);
-- granted to stepwell_api: select
-- granted to stepwell_reader: select

-- function: stepwell._account_lock(p_tenant_id integer, p_name text)
create function stepwell._account_lock(p_tenant_id integer, p_name text) returns stepwell.principal language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._action_approval(p_tenant_id integer, p_unit_id bigint, p_action jsonb, p_document jsonb, p_verdict jsonb)
create function stepwell._action_approval(p_tenant_id integer, p_unit_id bigint, p_action jsonb, p_document jsonb, p_verdict jsonb) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._action_check(p_unit stepwell.work_unit, p_action stepwell.unit_action, p_person_id bigint, p_approval_id bigint)
create function stepwell._action_check(p_unit stepwell.work_unit, p_action stepwell.unit_action, p_person_id bigint, p_approval_id bigint) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._action_decided(p_tenant_id integer, p_approval_id bigint)
create function stepwell._action_decided(p_tenant_id integer, p_approval_id bigint) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._action_document(p_session_id bigint, p_tenant_id integer, p_unit_id bigint, p_action jsonb)
create function stepwell._action_document(p_session_id bigint, p_tenant_id integer, p_unit_id bigint, p_action jsonb) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._action_held(p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_action jsonb)
create function stepwell._action_held(p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_action jsonb) returns jsonb language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._action_key(p_tenant_id integer, p_unit_id bigint, p_action jsonb, p_verdict jsonb)
create function stepwell._action_key(p_tenant_id integer, p_unit_id bigint, p_action jsonb, p_verdict jsonb) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._action_problems(p_unit stepwell.work_unit, p_action stepwell.unit_action, p_person_id bigint, p_approval_id bigint)
create function stepwell._action_problems(p_unit stepwell.work_unit, p_action stepwell.unit_action, p_person_id bigint, p_approval_id bigint) returns text[] language plpgsql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._action_read(p_action jsonb)
create function stepwell._action_read(p_action jsonb) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._action_reason(p_unit stepwell.work_unit, p_to_state text, p_kind text, p_problems text[], p_actor text, p_person_id bigint)
create function stepwell._action_reason(p_unit stepwell.work_unit, p_to_state text, p_kind text, p_problems text[], p_actor text, p_person_id bigint) returns json language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._action_refusal(p_unit stepwell.work_unit, p_action stepwell.unit_action, p_actor text, p_person_id bigint, p_approval_id bigint)
create function stepwell._action_refusal(p_unit stepwell.work_unit, p_action stepwell.unit_action, p_actor text, p_person_id bigint, p_approval_id bigint) returns json language plpgsql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._action_type_verdict(p_action jsonb)
create function stepwell._action_type_verdict(p_action jsonb) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._actor_bound(p_tenant_id integer, p_actor text, p_verb text)
create function stepwell._actor_bound(p_tenant_id integer, p_actor text, p_verb text) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._actor_channel(p_actor text)
create function stepwell._actor_channel(p_actor text) returns text language sql immutable parallel safe set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._actor_claim_check(p_tenant_id integer, p_actor text)
create function stepwell._actor_claim_check(p_tenant_id integer, p_actor text) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._actor_known(p_tenant_id integer, p_actor text, p_verb text)
create function stepwell._actor_known(p_tenant_id integer, p_actor text, p_verb text) returns text language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._actor_plain(p_actor text)
create function stepwell._actor_plain(p_actor text) returns text language sql immutable parallel safe set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._acts_for_all()
create function stepwell._acts_for_all() returns boolean language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._address_key(p_address text)
create function stepwell._address_key(p_address text) returns text language plpgsql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._advance(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._advance(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._after_transition(p_tenant_id integer, p_unit_id bigint, p_evidence jsonb)
create function stepwell._after_transition(p_tenant_id integer, p_unit_id bigint, p_evidence jsonb) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._allowed_name(p_tenant_id integer, p_principal_id bigint, p_token_id bigint, p_verb text)
create function stepwell._allowed_name(p_tenant_id integer, p_principal_id bigint, p_token_id bigint, p_verb text) returns text language plpgsql stable parallel restricted set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._alphabets_of(p_name text)
create function stepwell._alphabets_of(p_name text) returns integer language sql immutable parallel safe set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._approval_barred(p_approval stepwell.approval_detail)
create function stepwell._approval_barred(p_approval stepwell.approval_detail) returns text[] language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._approval_covers(p_unit stepwell.work_unit, p_evidence jsonb, p_action text, p_is_own boolean)
create function stepwell._approval_covers(p_unit stepwell.work_unit, p_evidence jsonb, p_action text, p_is_own boolean) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._approval_eligible(p_approval stepwell.approval_detail, p_name_key text)
create function stepwell._approval_eligible(p_approval stepwell.approval_detail, p_name_key text) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._approval_end(p_tenant_id integer, p_approval_id bigint, p_state text, p_actor text, p_reason text)
create function stepwell._approval_end(p_tenant_id integer, p_approval_id bigint, p_state text, p_actor text, p_reason text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._approval_granted(p_tenant_id integer, p_approval_id bigint, p_action text, p_unit_id bigint)
create function stepwell._approval_granted(p_tenant_id integer, p_approval_id bigint, p_action text, p_unit_id bigint) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._approval_is_asked(p_tenant_id integer, p_approval_id bigint)
create function stepwell._approval_is_asked(p_tenant_id integer, p_approval_id bigint) returns boolean language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._approval_names_bound(p_tenant_id integer, p_approval_id bigint)
create function stepwell._approval_names_bound(p_tenant_id integer, p_approval_id bigint) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._approval_quorum(p_tenant_id integer, p_approval_id bigint)
create function stepwell._approval_quorum(p_tenant_id integer, p_approval_id bigint) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._approval_request(p_tenant_id integer, p_action text, p_subject_unit_id bigint, p_actor text, p_reason text, p_tier integer, p_quorum integer, p_expires_seconds integer, p_key text, p_acting text, p_approvers text[], p_role text, p_about jsonb)
create function stepwell._approval_request(p_tenant_id integer, p_action text, p_subject_unit_id bigint, p_actor text, p_reason text, p_tier integer, p_quorum integer, p_expires_seconds integer, p_key text, p_acting text, p_approvers text[], p_role text, p_about jsonb) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._approval_role_check(p_tenant_id integer, p_tier integer, p_approvers text[], p_role text)
create function stepwell._approval_role_check(p_tenant_id integer, p_tier integer, p_approvers text[], p_role text) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._approval_settle(p_tenant_id integer, p_approval_id bigint, p_actor text)
create function stepwell._approval_settle(p_tenant_id integer, p_approval_id bigint, p_actor text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._approval_shown(p_approval stepwell.approval_detail)
create function stepwell._approval_shown(p_approval stepwell.approval_detail) returns text language sql stable set search_path=stepwell, pg_temp set TimeZone=UTC;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._approval_usable(p_unit stepwell.work_unit, p_action text)
create function stepwell._approval_usable(p_unit stepwell.work_unit, p_action text) returns bigint language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._approval_voter(p_approval stepwell.approval_detail, p_actor text)
create function stepwell._approval_voter(p_approval stepwell.approval_detail, p_actor text) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._approval_waiver(p_action text)
create function stepwell._approval_waiver(p_action text) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._approvals_cancel(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._approvals_cancel(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._approvals_close(p_tenant_ids integer[], p_approval_ids bigint[], p_actor text)
create function stepwell._approvals_close(p_tenant_ids integer[], p_approval_ids bigint[], p_actor text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._approvals_outlived(p_tenant_id integer, p_run_id bigint)
create function stepwell._approvals_outlived(p_tenant_id integer, p_run_id bigint) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._approvals_remove(p_tenant_ids integer[], p_approval_ids bigint[])
create function stepwell._approvals_remove(p_tenant_ids integer[], p_approval_ids bigint[]) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._asides(p_duty text, p_now timestamp with time zone)
create function stepwell._asides(p_duty text, p_now timestamp with time zone) returns text[] language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._assign_check(p_unit stepwell.work_unit)
create function stepwell._assign_check(p_unit stepwell.work_unit) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._attempt_no(p_state_code text, p_failed_count integer, p_started_at timestamp with time zone)
create function stepwell._attempt_no(p_state_code text, p_failed_count integer, p_started_at timestamp with time zone) returns integer language sql immutable parallel safe;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._attention_settle(p_tenant_id integer, p_run_id bigint)
create function stepwell._attention_settle(p_tenant_id integer, p_run_id bigint) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._audit_archive(p_partition text)
create function stepwell._audit_archive(p_partition text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._audit_block_fill(p_chain stepwell.audit_chain, p_limit integer)
create function stepwell._audit_block_fill(p_chain stepwell.audit_chain, p_limit integer) returns stepwell.audit_block language plpgsql set search_path=stepwell, pg_temp set standard_conforming_strings=on;

-- function: stepwell._audit_block_refuse()
create function stepwell._audit_block_refuse() returns trigger language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._audit_chain_lock(p_tenant_id integer)
create function stepwell._audit_chain_lock(p_tenant_id integer) returns stepwell.audit_chain language plpgsql set search_path=stepwell, pg_temp set standard_conforming_strings=on;

-- function: stepwell._audit_events_next(p_chain stepwell.audit_chain, p_limit integer)
create function stepwell._audit_events_next(p_chain stepwell.audit_chain, p_limit integer) returns TABLE(tx xid8, event_id bigint, at timestamp with time zone, run_id bigint, unit_id bigint, event_type text, leaf_hash bytea, value_hashes bytea) language sql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._audit_leaves_remove()
create function stepwell._audit_leaves_remove() returns void language plpgsql set search_path=stepwell, pg_temp set standard_conforming_strings=on;

-- function: stepwell._audit_value_texts(p_tenant_id integer, p_unit_ids bigint[])
create function stepwell._audit_value_texts(p_tenant_id integer, p_unit_ids bigint[]) returns TABLE(unit_id bigint, label text, at timestamp with time zone, content text, facts text) language sql stable set search_path=stepwell, pg_temp set enable_seqscan=off;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._audit_values(p_tenant_id integer, p_salt bytea, p_unit_ids bigint[])
create function stepwell._audit_values(p_tenant_id integer, p_salt bytea, p_unit_ids bigint[]) returns TABLE(unit_id bigint, value_hashes bytea) language sql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._binding(OUT tenant_id integer, OUT principal_id bigint, OUT token_id bigint, OUT reads integer)
create function stepwell._binding(OUT tenant_id integer, OUT principal_id bigint, OUT token_id bigint, OUT reads integer) returns record language plpgsql stable parallel restricted set search_path=stepwell, pg_temp;

-- function: stepwell._binding_set(p_tenant_id integer, p_principal_id bigint, p_token_id bigint, p_reads integer)
create function stepwell._binding_set(p_tenant_id integer, p_principal_id bigint, p_token_id bigint, p_reads integer) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._block_escalate_check(p_unit stepwell.work_unit, p_approval_id bigint)
create function stepwell._block_escalate_check(p_unit stepwell.work_unit, p_approval_id bigint) returns stepwell.step_block language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._block_hash(p_chain_id uuid, p_block stepwell.audit_block)
create function stepwell._block_hash(p_chain_id uuid, p_block stepwell.audit_block) returns bytea language sql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._blocks_weigh(p_tenant_id integer, p_run_id bigint)
create function stepwell._blocks_weigh(p_tenant_id integer, p_run_id bigint) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._bodies_are_suspect(p_bodies text[])
create function stepwell._bodies_are_suspect(p_bodies text[]) returns boolean language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._body_problem(p_what text, p_body text, p_is_oversized boolean, p_limit integer)
create function stepwell._body_problem(p_what text, p_body text, p_is_oversized boolean, p_limit integer) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._bound()
create function stepwell._bound() returns text language plpgsql stable parallel restricted set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._bound_text(p_tenant_id integer, p_principal_id bigint, p_token_id bigint, p_reads integer)
create function stepwell._bound_text(p_tenant_id integer, p_principal_id bigint, p_token_id bigint, p_reads integer) returns text language sql stable parallel safe;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._boundaries_open(p_tenant_ids integer[], p_unit_ids bigint[], p_join_ids bigint[])
create function stepwell._boundaries_open(p_tenant_ids integer[], p_unit_ids bigint[], p_join_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._branches_not_taken(p_tenant_ids integer[], p_unit_ids bigint[], p_results boolean[])
create function stepwell._branches_not_taken(p_tenant_ids integer[], p_unit_ids bigint[], p_results boolean[]) returns TABLE(tenant_id integer, unit_id bigint) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._calendar_add(p_tenant_id integer, p_calendar_name text, p_from timestamp with time zone, p_seconds numeric)
create function stepwell._calendar_add(p_tenant_id integer, p_calendar_name text, p_from timestamp with time zone, p_seconds numeric) returns timestamp with time zone language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._call_goes_on(p_unit stepwell.work_unit)
create function stepwell._call_goes_on(p_unit stepwell.work_unit) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._caller_name()
create function stepwell._caller_name() returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._cap_given(p_settings jsonb, p_name text, p_before integer)
create function stepwell._cap_given(p_settings jsonb, p_name text, p_before integer) returns integer language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._caps_check(p_settings jsonb, p_known text[])
create function stepwell._caps_check(p_settings jsonb, p_known text[]) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._catches(p_step_kind text, p_config jsonb, p_step_no integer)
create function stepwell._catches(p_step_kind text, p_config jsonb, p_step_no integer) returns boolean language sql immutable parallel safe;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._cause_of(p_error jsonb)
create function stepwell._cause_of(p_error jsonb) returns text language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._chain_growth(p_chains text, p_size double precision)
create function stepwell._chain_growth(p_chains text, p_size double precision) returns double precision language sql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._chain_path(p_chain text, p_scope text)
create function stepwell._chain_path(p_chain text, p_scope text) returns text language sql immutable;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._change_check(p_verb text, p_key text)
create function stepwell._change_check(p_verb text, p_key text) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._changed_since_asked(p_unit stepwell.work_unit, p_approval stepwell.approval_detail)
create function stepwell._changed_since_asked(p_unit stepwell.work_unit, p_approval stepwell.approval_detail) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._checkpoint_count_check(p_tenant_id integer, p_unit_id bigint, p_name text)
create function stepwell._checkpoint_count_check(p_tenant_id integer, p_unit_id bigint, p_name text) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._checkpoints_read(p_tenant_id integer, p_unit_id bigint)
create function stepwell._checkpoints_read(p_tenant_id integer, p_unit_id bigint) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._claim(p_session_id bigint, p_executor_class_ids integer[], p_is_idle boolean, p_limit integer, p_now timestamp with time zone, p_tenant_id integer, p_direct_ids bigint[], p_is_dry boolean, p_handler_ids integer[])
create function stepwell._claim(p_session_id bigint, p_executor_class_ids integer[], p_is_idle boolean, p_limit integer, p_now timestamp with time zone, p_tenant_id integer, p_direct_ids bigint[], p_is_dry boolean, p_handler_ids integer[]) returns SETOF stepwell.job_lease language plpgsql;

-- function: stepwell._claim_check(p_unit stepwell.work_unit, p_person_id bigint)
create function stepwell._claim_check(p_unit stepwell.work_unit, p_person_id bigint) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._claim_classes(p_worker_name text, p_executor_class_ids integer[])
create function stepwell._claim_classes(p_worker_name text, p_executor_class_ids integer[]) returns integer[] language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._class_limit(p_tenant_id integer, p_unit_id bigint, p_prefix text)
create function stepwell._class_limit(p_tenant_id integer, p_unit_id bigint, p_prefix text) returns numeric language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._class_name(p_executor_class_id integer)
create function stepwell._class_name(p_executor_class_id integer) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._classes_are_empty(p_executor_class_ids integer[])
create function stepwell._classes_are_empty(p_executor_class_ids integer[]) returns boolean language plpgsql;

-- function: stepwell._clocks_find(p_tenant_id integer, p_limit integer)
create function stepwell._clocks_find(p_tenant_id integer, p_limit integer) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._clocks_move(p_tenant_id integer, p_limit integer)
create function stepwell._clocks_move(p_tenant_id integer, p_limit integer) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._clocks_stop(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._clocks_stop(p_tenant_ids integer[], p_unit_ids bigint[]) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._colour_token_check()
create function stepwell._colour_token_check() returns trigger language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._command_fill(p_command text, p_facts jsonb)
create function stepwell._command_fill(p_command text, p_facts jsonb) returns text language plpgsql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._completion_kept(p_unit stepwell.work_unit)
create function stepwell._completion_kept(p_unit stepwell.work_unit) returns timestamp with time zone language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._conditionals_decide(p_tenant_ids integer[], p_unit_ids bigint[], p_values jsonb[], p_problems text[])
create function stepwell._conditionals_decide(p_tenant_ids integer[], p_unit_ids bigint[], p_values jsonb[], p_problems text[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._conditionals_hold(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._conditionals_hold(p_tenant_ids integer[], p_unit_ids bigint[]) returns bigint[] language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._conditionals_recount(p_tenant_id integer, p_unit_ids bigint[])
create function stepwell._conditionals_recount(p_tenant_id integer, p_unit_ids bigint[]) returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell._conditionals_resume(p_tenant_id integer, p_run_id bigint)
create function stepwell._conditionals_resume(p_tenant_id integer, p_run_id bigint) returns boolean language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._content_current(p_tenant_id integer, p_code text)
create function stepwell._content_current(p_tenant_id integer, p_code text) returns TABLE(iu_id bigint, version_no integer, content_hash text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._content_hash(p_tenant_id integer, p_body text, p_items text[])
create function stepwell._content_hash(p_tenant_id integer, p_body text, p_items text[]) returns text language sql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._content_pin(p_tenant_id integer, p_version_id integer, p_run_ids bigint[])
create function stepwell._content_pin(p_tenant_id integer, p_version_id integer, p_run_ids bigint[]) returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell._content_refuse()
create function stepwell._content_refuse() returns trigger language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._contrast_ratio(p_fg text, p_bg text)
create function stepwell._contrast_ratio(p_fg text, p_bg text) returns numeric language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._correction_around(p_tenant_id integer, p_unit_id bigint)
create function stepwell._correction_around(p_tenant_id integer, p_unit_id bigint) returns TABLE(place integer, unit_id bigint, scope text, state_code text) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._correction_check(p_tenant_id integer, p_unit_id bigint, p_approval_id bigint, p_downstream text)
create function stepwell._correction_check(p_tenant_id integer, p_unit_id bigint, p_approval_id bigint, p_downstream text) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._correction_open(p_tenant_id integer, p_unit_id bigint, p_root_unit_id bigint, p_actor text, p_reason text, p_approval_id bigint, p_downstream text, p_waits_for bigint[], p_person_id bigint)
create function stepwell._correction_open(p_tenant_id integer, p_unit_id bigint, p_root_unit_id bigint, p_actor text, p_reason text, p_approval_id bigint, p_downstream text, p_waits_for bigint[], p_person_id bigint) returns stepwell.step_run_correction_cycle language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._correction_record(p_tenant_id integer, p_unit_id bigint, p_root_unit_id bigint, p_actor text, p_reason text, p_approval_id bigint, p_downstream text, p_waits_for bigint[])
create function stepwell._correction_record(p_tenant_id integer, p_unit_id bigint, p_root_unit_id bigint, p_actor text, p_reason text, p_approval_id bigint, p_downstream text, p_waits_for bigint[]) returns stepwell.step_run_correction_cycle language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._correction_rest(p_tenant_id integer, p_failed_ids bigint[], p_open_ids bigint[], p_actor text, p_evidence jsonb)
create function stepwell._correction_rest(p_tenant_id integer, p_failed_ids bigint[], p_open_ids bigint[], p_actor text, p_evidence jsonb) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._correction_run_open(p_tenant_id integer, p_run_id bigint, p_actor text, p_reason text, p_approval_id bigint)
create function stepwell._correction_run_open(p_tenant_id integer, p_run_id bigint, p_actor text, p_reason text, p_approval_id bigint) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._corrections_settle(p_tenant_id integer, p_run_id bigint)
create function stepwell._corrections_settle(p_tenant_id integer, p_run_id bigint) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._critical_path(p_tenant_id integer, p_run_id bigint)
create function stepwell._critical_path(p_tenant_id integer, p_run_id bigint) returns TABLE(place integer, unit_id bigint, step_id text, state_code text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._cut_answer(p_tenant_id integer, p_cut_request_id bigint)
create function stepwell._cut_answer(p_tenant_id integer, p_cut_request_id bigint) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._cut_apply(p_cut stepwell.cut_request_detail, p_actor text)
create function stepwell._cut_apply(p_cut stepwell.cut_request_detail, p_actor text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._cut_carry_out(p_tenant_id integer, p_cut_request_id bigint, p_actor text)
create function stepwell._cut_carry_out(p_tenant_id integer, p_cut_request_id bigint, p_actor text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._cut_enter(p_tenant_id integer, p_cut_request_id bigint, p_actor text)
create function stepwell._cut_enter(p_tenant_id integer, p_cut_request_id bigint, p_actor text) returns text language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._cut_problem_close(p_tenant_id integer, p_cut_request_id bigint, p_actor text, p_reason text)
create function stepwell._cut_problem_close(p_tenant_id integer, p_cut_request_id bigint, p_actor text, p_reason text) returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell._cut_request(p_tenant_id integer, p_op text, p_sources jsonb, p_targets jsonb, p_actor text, p_key text)
create function stepwell._cut_request(p_tenant_id integer, p_op text, p_sources jsonb, p_targets jsonb, p_actor text, p_key text) returns jsonb language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._cut_write(p_cut stepwell.cut_request_detail, p_parts jsonb, p_actor text)
create function stepwell._cut_write(p_cut stepwell.cut_request_detail, p_parts jsonb, p_actor text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._cycle_find(p_step_count integer, p_edges jsonb)
create function stepwell._cycle_find(p_step_count integer, p_edges jsonb) returns integer[] language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._data_pattern(p_names text[])
create function stepwell._data_pattern(p_names text[]) returns text language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._dead_letters_store(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._dead_letters_store(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell._deadline_begin(p_tenant_id integer, p_unit_id bigint)
create function stepwell._deadline_begin(p_tenant_id integer, p_unit_id bigint) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._deadline_change_check(p_unit stepwell.work_unit)
create function stepwell._deadline_change_check(p_unit stepwell.work_unit) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._deadline_of(p_tenant_id integer, p_config jsonb, p_from timestamp with time zone)
create function stepwell._deadline_of(p_tenant_id integer, p_config jsonb, p_from timestamp with time zone) returns timestamp with time zone language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._deadline_timers(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._deadline_timers(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._deadlines_begin(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._deadlines_begin(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._delays_end(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._delays_end(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._dependents_abort(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._dependents_abort(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._dependents_of_abort(p_tenant_ids integer[], p_unit_ids bigint[], OUT tenant_ids integer[], OUT unit_ids bigint[])
create function stepwell._dependents_of_abort(p_tenant_ids integer[], p_unit_ids bigint[], OUT tenant_ids integer[], OUT unit_ids bigint[]) returns record language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._dependents_reinstate(p_tenant_id integer, p_unit_ids bigint[], p_actor text, p_evidence jsonb)
create function stepwell._dependents_reinstate(p_tenant_id integer, p_unit_ids bigint[], p_actor text, p_evidence jsonb) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._development_bind(p_actor text)
create function stepwell._development_bind(p_actor text) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._development_enter(p_account text)
create function stepwell._development_enter(p_account text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._development_mode_keep()
create function stepwell._development_mode_keep() returns trigger language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._development_person(p_tenant_id integer, p_name text)
create function stepwell._development_person(p_tenant_id integer, p_name text) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._dialect_floor_check()
create function stepwell._dialect_floor_check() returns trigger language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._digits_most(p_value jsonb)
create function stepwell._digits_most(p_value jsonb) returns integer language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._edit_distance(p_from text, p_to text)
create function stepwell._edit_distance(p_from text, p_to text) returns integer language plpgsql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._effect_key(p_tenant_id integer, p_unit_id bigint, p_effect_key text)
create function stepwell._effect_key(p_tenant_id integer, p_unit_id bigint, p_effect_key text) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._ends_read(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._ends_read(p_tenant_ids integer[], p_unit_ids bigint[]) returns SETOF stepwell.job_lease language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._engine_complete(p_tenant_ids integer[], p_unit_ids bigint[], p_outputs jsonb[], p_by_event boolean)
create function stepwell._engine_complete(p_tenant_ids integer[], p_unit_ids bigint[], p_outputs jsonb[], p_by_event boolean) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._engine_result_refuse(p_tenant_id integer, p_unit_id bigint, p_bytes bigint)
create function stepwell._engine_result_refuse(p_tenant_id integer, p_unit_id bigint, p_bytes bigint) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._engine_step(p_kind text, p_tenant_ids integer[], p_unit_ids bigint[], p_values jsonb[], p_problems text[])
create function stepwell._engine_step(p_kind text, p_tenant_ids integer[], p_unit_ids bigint[], p_values jsonb[], p_problems text[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._engine_steps(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._engine_steps(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._enqueue_input_check(p_payloads jsonb[], p_keys text[], p_priority integer, p_concurrency_key text, p_max_concurrency integer, p_trace_id text, p_rate_count integer, p_rate_seconds double precision)
create function stepwell._enqueue_input_check(p_payloads jsonb[], p_keys text[], p_priority integer, p_concurrency_key text, p_max_concurrency integer, p_trace_id text, p_rate_count integer, p_rate_seconds double precision) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._entry_steps_find(p_tenant_id integer, p_version_id integer, p_run_ids bigint[], p_slot_key text, p_executor_class_ids integer[], p_direct_limit integer, p_handler_ids integer[], OUT tenant_ids integer[], OUT unit_ids bigint[], OUT requests stepwell.transition_request[], OUT has_engine_steps boolean, OUT has_slots boolean, OUT direct_count integer)
create function stepwell._entry_steps_find(p_tenant_id integer, p_version_id integer, p_run_ids bigint[], p_slot_key text, p_executor_class_ids integer[], p_direct_limit integer, p_handler_ids integer[], OUT tenant_ids integer[], OUT unit_ids bigint[], OUT requests stepwell.transition_request[], OUT has_engine_steps boolean, OUT has_slots boolean, OUT direct_count integer) returns record language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._error_kept(p_error jsonb)
create function stepwell._error_kept(p_error jsonb) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._escalation_next(p_unit stepwell.work_unit)
create function stepwell._escalation_next(p_unit stepwell.work_unit) returns integer language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._escalation_tell(p_tenant_id integer, p_unit_id bigint, p_level integer, p_actor text, p_reason text)
create function stepwell._escalation_tell(p_tenant_id integer, p_unit_id bigint, p_level integer, p_actor text, p_reason text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._event_append(p_tenant_id integer, p_unit_id bigint, p_event_type text, p_actor text, p_payload jsonb, p_actor_class text)
create function stepwell._event_append(p_tenant_id integer, p_unit_id bigint, p_event_type text, p_actor text, p_payload jsonb, p_actor_class text) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._event_append_at(p_tenant_id integer, p_unit_id bigint, p_event_type text, p_actor text, p_payload jsonb, p_actor_class text, p_at timestamp with time zone)
create function stepwell._event_append_at(p_tenant_id integer, p_unit_id bigint, p_event_type text, p_actor text, p_payload jsonb, p_actor_class text, p_at timestamp with time zone) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._event_born(p_tenant_id integer, p_unit_id bigint, p_event_type text, p_to_state text, p_actor text, p_payload jsonb, p_actor_class text, p_audit_ref text, p_at timestamp with time zone)
create function stepwell._event_born(p_tenant_id integer, p_unit_id bigint, p_event_type text, p_to_state text, p_actor text, p_payload jsonb, p_actor_class text, p_audit_ref text, p_at timestamp with time zone) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._event_enqueue(p_tenant_id integer, p_route_name text, p_operation_name text, p_priority integer, p_event_id bigint, p_event_type text, p_run_id bigint, p_unit_id bigint, p_trace_id text, p_correlation_id text, p_fields jsonb)
create function stepwell._event_enqueue(p_tenant_id integer, p_route_name text, p_operation_name text, p_priority integer, p_event_id bigint, p_event_type text, p_run_id bigint, p_unit_id bigint, p_trace_id text, p_correlation_id text, p_fields jsonb) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._event_is_mine(p_tenant_id integer, p_event_id bigint, p_event_type text)
create function stepwell._event_is_mine(p_tenant_id integer, p_event_id bigint, p_event_type text) returns boolean language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._event_log_refuse()
create function stepwell._event_log_refuse() returns trigger language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._event_payload_problem(p_event_type text, p_payload jsonb)
create function stepwell._event_payload_problem(p_event_type text, p_payload jsonb) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._event_reject_keep(p_tenant_id integer, p_event_type text, p_unit_id bigint, p_payload jsonb)
create function stepwell._event_reject_keep(p_tenant_id integer, p_event_type text, p_unit_id bigint, p_payload jsonb) returns boolean language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._event_rejected(p_tenant_id integer, p_unit_id bigint, p_event_type text, p_payload jsonb)
create function stepwell._event_rejected(p_tenant_id integer, p_unit_id bigint, p_event_type text, p_payload jsonb) returns jsonb language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._event_resolves(p_problem stepwell.governance_problem)
create function stepwell._event_resolves(p_problem stepwell.governance_problem) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._event_type_check(p_event_type text)
create function stepwell._event_type_check(p_event_type text) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._events_back(p_tenant_id integer, p_types text[], p_actor text, p_low xid8, p_high xid8, p_high_id bigint, p_scan integer, p_scan_each integer)
create function stepwell._events_back(p_tenant_id integer, p_types text[], p_actor text, p_low xid8, p_high xid8, p_high_id bigint, p_scan integer, p_scan_each integer) returns refcursor language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._events_route(p_tenant_id integer, p_route_names text[], p_after_tx xid8, p_after_event_id bigint, p_upto_tx xid8, p_upto_event_id bigint)
create function stepwell._events_route(p_tenant_id integer, p_route_names text[], p_after_tx xid8, p_after_event_id bigint, p_upto_tx xid8, p_upto_event_id bigint) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._evidence_ask(p_tenant_id integer, p_unit_id bigint)
create function stepwell._evidence_ask(p_tenant_id integer, p_unit_id bigint) returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell._evidence_counts(p_tenant_id integer, p_run_id bigint)
create function stepwell._evidence_counts(p_tenant_id integer, p_run_id bigint) returns jsonb language sql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._evidence_due_check(p_tenant_id integer, p_run_id bigint)
create function stepwell._evidence_due_check(p_tenant_id integer, p_run_id bigint) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._evidence_due_streams(p_tenant_id integer, p_run_id bigint)
create function stepwell._evidence_due_streams(p_tenant_id integer, p_run_id bigint) returns bigint[] language sql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._evidence_names(p_tenant_id integer, p_run_id bigint)
create function stepwell._evidence_names(p_tenant_id integer, p_run_id bigint) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._evidence_renew(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._evidence_renew(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell._evidence_run(p_tenant_id integer, p_run_id bigint)
create function stepwell._evidence_run(p_tenant_id integer, p_run_id bigint) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._evidence_streams(p_tenant_id integer, p_run_id bigint)
create function stepwell._evidence_streams(p_tenant_id integer, p_run_id bigint) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._evidence_texts(p_tenant_id integer, p_run_id bigint)
create function stepwell._evidence_texts(p_tenant_id integer, p_run_id bigint) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._executes_check()
create function stepwell._executes_check() returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._executor_of(p_executor text)
create function stepwell._executor_of(p_executor text) returns integer language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._facets_of(p_machine_id text, p_evidence jsonb)
create function stepwell._facets_of(p_machine_id text, p_evidence jsonb) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._facets_order(p_machine_id text, p_facets text[])
create function stepwell._facets_order(p_machine_id text, p_facets text[]) returns text[] language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._facets_reported(p_tenant_id integer, p_unit_id bigint, p_body jsonb)
create function stepwell._facets_reported(p_tenant_id integer, p_unit_id bigint, p_body jsonb) returns text[] language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._failures_catch(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._failures_catch(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell._failures_follow(p_tenant_ids integer[], p_unit_ids bigint[], p_failed_at timestamp with time zone)
create function stepwell._failures_follow(p_tenant_ids integer[], p_unit_ids bigint[], p_failed_at timestamp with time zone) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._failures_judge(p_tenant_ids integer[], p_unit_ids bigint[], p_bodies jsonb[], p_now timestamp with time zone)
create function stepwell._failures_judge(p_tenant_ids integer[], p_unit_ids bigint[], p_bodies jsonb[], p_now timestamp with time zone) returns TABLE(ord bigint, tenant_id integer, unit_id bigint, lease_no integer, failure_class text, classification text, error jsonb, attempt_count smallint, next_eligible_at timestamp with time zone) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._failures_read(p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_taken_ids bigint[])
create function stepwell._failures_read(p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_taken_ids bigint[]) returns SETOF stepwell.job_lease language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._failures_store(p_tenant_ids integer[], p_unit_ids bigint[], p_bodies jsonb[])
create function stepwell._failures_store(p_tenant_ids integer[], p_unit_ids bigint[], p_bodies jsonb[]) returns timestamp with time zone language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._faults_of_runs()
create function stepwell._faults_of_runs() returns TABLE(invariant text, fault text, tenant_id integer, unit_id bigint) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._fields_diff(p_before jsonb, p_after jsonb)
create function stepwell._fields_diff(p_before jsonb, p_after jsonb) returns json language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._first_administrator(p_tenant_id integer, p_name text)
create function stepwell._first_administrator(p_tenant_id integer, p_name text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._floor_states()
create function stepwell._floor_states() returns TABLE(state_code text, semantic_class text, is_terminal boolean, ordinal integer, ui_color_token text) language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._fresh_take(p_session_id bigint, p_executor_class_ids integer[], p_handler_ids integer[], p_limit integer, p_now timestamp with time zone, OUT tenant_ids integer[], OUT unit_ids bigint[])
create function stepwell._fresh_take(p_session_id bigint, p_executor_class_ids integer[], p_handler_ids integer[], p_limit integer, p_now timestamp with time zone, OUT tenant_ids integer[], OUT unit_ids bigint[]) returns record language plpgsql;

-- function: stepwell._function_rights()
create function stepwell._function_rights() returns TABLE(process text, function_name text) language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._gap_next(p_executor_class_id integer, p_place stepwell.queue_place)
create function stepwell._gap_next(p_executor_class_id integer, p_place stepwell.queue_place) returns bigint language plpgsql;

-- function: stepwell._gaps_begin()
create function stepwell._gaps_begin() returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._gaps_divide(p_from_id xid8, p_open_ids xid8[])
create function stepwell._gaps_divide(p_from_id xid8, p_open_ids xid8[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._gaps_exist()
create function stepwell._gaps_exist() returns boolean language sql set search_path=stepwell, pg_temp;

-- function: stepwell._gaps_refresh()
create function stepwell._gaps_refresh() returns boolean language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._gaps_renew()
create function stepwell._gaps_renew() returns boolean language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._generator_check(p_tenant_id integer, p_actor text)
create function stepwell._generator_check(p_tenant_id integer, p_actor text) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._governance_since()
create function stepwell._governance_since() returns timestamp with time zone language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._graph_cycle(p_graph jsonb)
create function stepwell._graph_cycle(p_graph jsonb) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._graph_edges_named(p_graph jsonb)
create function stepwell._graph_edges_named(p_graph jsonb) returns TABLE(from_id text, to_id text, label text) language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._graph_find(p_tenant_id integer, p_workflow_id bigint)
create function stepwell._graph_find(p_tenant_id integer, p_workflow_id bigint) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._graph_is_no_template(p_graph jsonb)
create function stepwell._graph_is_no_template(p_graph jsonb) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._graph_milestones_refusal(p_graph jsonb)
create function stepwell._graph_milestones_refusal(p_graph jsonb) returns text language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._graph_names_refusal(p_graph jsonb)
create function stepwell._graph_names_refusal(p_graph jsonb) returns text language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._graph_problem(p_graph jsonb)
create function stepwell._graph_problem(p_graph jsonb) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._graph_publish(p_tenant_id integer, p_graph jsonb, p_actor text, p_is_template boolean)
create function stepwell._graph_publish(p_tenant_id integer, p_graph jsonb, p_actor text, p_is_template boolean) returns TABLE(version_id integer, version_no integer, is_new boolean) language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._graph_recursion(p_tenant_id integer, p_graph jsonb)
create function stepwell._graph_recursion(p_tenant_id integer, p_graph jsonb) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._graph_refresh(p_tenant_id integer, p_workflow_id bigint)
create function stepwell._graph_refresh(p_tenant_id integer, p_workflow_id bigint) returns jsonb language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._graph_refusal(p_graph jsonb)
create function stepwell._graph_refusal(p_graph jsonb) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._graph_reopened(p_tenant_id integer, p_run_id bigint)
create function stepwell._graph_reopened(p_tenant_id integer, p_run_id bigint) returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell._graph_shown(p_graph jsonb, p_hidden integer[])
create function stepwell._graph_shown(p_graph jsonb, p_hidden integer[]) returns jsonb language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._graph_status(p_finished_state text, p_completed_count integer, p_failed_count integer)
create function stepwell._graph_status(p_finished_state text, p_completed_count integer, p_failed_count integer) returns text language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._graph_status_computed(p_tenant_id integer, p_workflow_id bigint)
create function stepwell._graph_status_computed(p_tenant_id integer, p_workflow_id bigint) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._graph_steps_named(p_graph jsonb)
create function stepwell._graph_steps_named(p_graph jsonb) returns TABLE(step_id text, step_no integer, body jsonb) language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._graph_store(p_tenant_id integer, p_version_id integer, p_graph jsonb)
create function stepwell._graph_store(p_tenant_id integer, p_version_id integer, p_graph jsonb) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._graph_times_problem(p_graph jsonb)
create function stepwell._graph_times_problem(p_graph jsonb) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._graph_upgrade(p_graph jsonb)
create function stepwell._graph_upgrade(p_graph jsonb) returns jsonb language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._graphs_begin(p_tenant_id integer, p_version stepwell.workflow_version, p_run_ids bigint[])
create function stepwell._graphs_begin(p_tenant_id integer, p_version stepwell.workflow_version, p_run_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._graphs_due(p_tenant_id integer, p_limit integer)
create function stepwell._graphs_due(p_tenant_id integer, p_limit integer) returns TABLE(workflow_id bigint) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._guard_approval(p_guard text, p_unit stepwell.work_unit, p_evidence jsonb, p_now timestamp with time zone)
create function stepwell._guard_approval(p_guard text, p_unit stepwell.work_unit, p_evidence jsonb, p_now timestamp with time zone) returns boolean language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._guard_expression(p_path text, p_unit stepwell.work_unit, p_evidence jsonb)
create function stepwell._guard_expression(p_path text, p_unit stepwell.work_unit, p_evidence jsonb) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._guard_named(p_guard text, p_unit stepwell.work_unit, p_evidence jsonb, p_now timestamp with time zone)
create function stepwell._guard_named(p_guard text, p_unit stepwell.work_unit, p_evidence jsonb, p_now timestamp with time zone) returns boolean language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._guard_output_contract(p_unit stepwell.work_unit, p_evidence jsonb)
create function stepwell._guard_output_contract(p_unit stepwell.work_unit, p_evidence jsonb) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._guard_path_problem(p_path text)
create function stepwell._guard_path_problem(p_path text) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._guard_run_ends(p_tenant_id integer, p_unit_id bigint, p_has_failed boolean)
create function stepwell._guard_run_ends(p_tenant_id integer, p_unit_id bigint, p_has_failed boolean) returns boolean language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._handler_event_append(p_tenant_id integer, p_unit_id bigint, p_session_id bigint, p_event_type text, p_payload jsonb)
create function stepwell._handler_event_append(p_tenant_id integer, p_unit_id bigint, p_session_id bigint, p_event_type text, p_payload jsonb) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._handler_event_problem(p_tenant_id integer, p_event_type text, p_payload jsonb)
create function stepwell._handler_event_problem(p_tenant_id integer, p_event_type text, p_payload jsonb) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._handlers_of(p_operation_names text[])
create function stepwell._handlers_of(p_operation_names text[]) returns integer[] language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._has_ended(p_state_code text)
create function stepwell._has_ended(p_state_code text) returns boolean language sql immutable parallel safe;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._held_forget(p_tenant_id integer, p_run_id bigint)
create function stepwell._held_forget(p_tenant_id integer, p_run_id bigint) returns bigint[] language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._held_park(p_tenant_id integer, p_limit integer)
create function stepwell._held_park(p_tenant_id integer, p_limit integer) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._held_put(p_tenant_id integer, p_unit_ids bigint[], p_retry_ids bigint[])
create function stepwell._held_put(p_tenant_id integer, p_unit_ids bigint[], p_retry_ids bigint[]) returns bigint[] language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._held_take(p_tenant_id integer, p_limit integer, OUT free_ids bigint[], OUT lined_ids bigint[], OUT dropped_ids bigint[])
create function stepwell._held_take(p_tenant_id integer, p_limit integer, OUT free_ids bigint[], OUT lined_ids bigint[], OUT dropped_ids bigint[]) returns record language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._hidden(p_value jsonb)
create function stepwell._hidden(p_value jsonb) returns jsonb language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._hidden_columns()
create function stepwell._hidden_columns() returns TABLE(table_name text, column_name text) language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._history_append(p_peaks bytea[], p_count bigint, p_hash bytea)
create function stepwell._history_append(p_peaks bytea[], p_count bigint, p_hash bytea) returns bytea[] language plpgsql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._history_root(p_peaks bytea[])
create function stepwell._history_root(p_peaks bytea[]) returns bytea language plpgsql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._hmac_sha256(p_key bytea, p_message bytea)
create function stepwell._hmac_sha256(p_key bytea, p_message bytea) returns bytea language plpgsql immutable strict set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._hold_bucket(p_hold_id bigint, p_run_id bigint)
create function stepwell._hold_bucket(p_hold_id bigint, p_run_id bigint) returns integer language sql immutable parallel safe set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._hold_denials(p_tenant_id integer, p_hold stepwell.incident_hold)
create function stepwell._hold_denials(p_tenant_id integer, p_hold stepwell.incident_hold) returns bigint language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._hold_events(p_tenant_id integer, p_hold_id bigint)
create function stepwell._hold_events(p_tenant_id integer, p_hold_id bigint) returns SETOF stepwell.event_log language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._hold_evidence(p_tenant_id integer, p_hold_id bigint)
create function stepwell._hold_evidence(p_tenant_id integer, p_hold_id bigint) returns jsonb language sql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._hold_evidences_make(p_limit integer)
create function stepwell._hold_evidences_make(p_limit integer) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._hold_frees(p_hold stepwell.incident_hold, p_unit_id bigint)
create function stepwell._hold_frees(p_hold stepwell.incident_hold, p_unit_id bigint) returns boolean language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._hold_lock_key()
create function stepwell._hold_lock_key() returns integer language sql immutable parallel safe set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._hold_names(p_hold stepwell.incident_hold, p_unit stepwell.work_unit)
create function stepwell._hold_names(p_hold stepwell.incident_hold, p_unit stepwell.work_unit) returns boolean language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._hold_of(p_tenant_id integer, p_unit_id bigint)
create function stepwell._hold_of(p_tenant_id integer, p_unit_id bigint) returns TABLE(hold_id bigint, reason text, share integer) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._hold_of_action(p_tenant_id integer, p_unit_id bigint, p_connector text)
create function stepwell._hold_of_action(p_tenant_id integer, p_unit_id bigint, p_connector text) returns stepwell.incident_hold language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._hold_operations(p_hold stepwell.incident_hold)
create function stepwell._hold_operations(p_hold stepwell.incident_hold) returns SETOF integer language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._hold_reach(p_hold stepwell.incident_hold)
create function stepwell._hold_reach(p_hold stepwell.incident_hold) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._hold_read(p_tenant_id integer, p_kind text, p_value text)
create function stepwell._hold_read(p_tenant_id integer, p_kind text, p_value text) returns stepwell.incident_hold language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._hold_reason(p_reason text, p_what text)
create function stepwell._hold_reason(p_reason text, p_what text) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._hold_refuse(p_tenant_id integer, p_unit_id bigint, p_actor text)
create function stepwell._hold_refuse(p_tenant_id integer, p_unit_id bigint, p_actor text) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._holds_carry(p_tenant_id integer, p_limit integer)
create function stepwell._holds_carry(p_tenant_id integer, p_limit integer) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._holds_end(p_tenant_id integer)
create function stepwell._holds_end(p_tenant_id integer) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._holds_of(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._holds_of(p_tenant_ids integer[], p_unit_ids bigint[]) returns TABLE(tenant_id integer, unit_id bigint, hold_id bigint) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._humans_open(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._humans_open(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._humans_show(p_tenant_id integer, p_unit_ids bigint[])
create function stepwell._humans_show(p_tenant_id integer, p_unit_ids bigint[]) returns bigint[] language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._input_taken(p_input jsonb, p_names jsonb, p_inputs jsonb)
create function stepwell._input_taken(p_input jsonb, p_names jsonb, p_inputs jsonb) returns jsonb language plpgsql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._inputs_bind(p_tenant_id integer, p_unit_id bigint, p_inputs jsonb, p_reads jsonb, p_is_alone boolean)
create function stepwell._inputs_bind(p_tenant_id integer, p_unit_id bigint, p_inputs jsonb, p_reads jsonb, p_is_alone boolean) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._inputs_evaluate(p_plan text[], p_input jsonb, p_steps jsonb, p_item jsonb)
create function stepwell._inputs_evaluate(p_plan text[], p_input jsonb, p_steps jsonb, p_item jsonb) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._inputs_join(p_item jsonb, p_bound jsonb)
create function stepwell._inputs_join(p_item jsonb, p_bound jsonb) returns jsonb language sql immutable;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._inputs_plan(p_inputs jsonb)
create function stepwell._inputs_plan(p_inputs jsonb) returns text[] language plpgsql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._inputs_show(p_unit stepwell.work_unit, p_inputs jsonb, p_reads jsonb, OUT inputs jsonb, OUT problem text)
create function stepwell._inputs_show(p_unit stepwell.work_unit, p_inputs jsonb, p_reads jsonb, OUT inputs jsonb, OUT problem text) returns record language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._inputs_store(p_tenant_id integer, p_unit_id bigint)
create function stepwell._inputs_store(p_tenant_id integer, p_unit_id bigint) returns text language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._integrity_again(p_limit integer)
create function stepwell._integrity_again(p_limit integer) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._integrity_open(p_tenant_id integer, p_from_id bigint, p_upto_id bigint)
create function stepwell._integrity_open(p_tenant_id integer, p_from_id bigint, p_upto_id bigint) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._invariant_counts()
create function stepwell._invariant_counts() returns TABLE(invariant text, fault text, tenant_id integer, unit_id bigint) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._invariant_effects()
create function stepwell._invariant_effects() returns TABLE(invariant text, fault text, tenant_id integer, unit_id bigint) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._invariant_explained()
create function stepwell._invariant_explained() returns TABLE(invariant text, fault text, tenant_id integer, unit_id bigint) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._invariant_fold()
create function stepwell._invariant_fold() returns TABLE(invariant text, fault text, tenant_id integer, unit_id bigint) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._invariant_leases()
create function stepwell._invariant_leases() returns TABLE(invariant text, fault text, tenant_id integer, unit_id bigint) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._invariant_leftovers()
create function stepwell._invariant_leftovers() returns TABLE(invariant text, fault text, tenant_id integer, unit_id bigint) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._invariant_pending()
create function stepwell._invariant_pending() returns TABLE(invariant text, fault text, tenant_id integer, unit_id bigint) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._invariant_slots()
create function stepwell._invariant_slots() returns TABLE(invariant text, fault text, tenant_id integer, unit_id bigint) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._is_clock(p_unit stepwell.work_unit, p_timer_kind text)
create function stepwell._is_clock(p_unit stepwell.work_unit, p_timer_kind text) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._is_fault_of_row(p_error_code text)
create function stepwell._is_fault_of_row(p_error_code text) returns boolean language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._is_generator(p_name text)
create function stepwell._is_generator(p_name text) returns boolean language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._is_list(p_chain text)
create function stepwell._is_list(p_chain text) returns boolean language sql immutable set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._is_same_lane(p_place stepwell.queue_place, p_other stepwell.queue_place)
create function stepwell._is_same_lane(p_place stepwell.queue_place, p_other stepwell.queue_place) returns boolean language sql immutable parallel safe;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._is_set_aside(p_tenant_id integer, p_duty text, p_subject text, p_now timestamp with time zone)
create function stepwell._is_set_aside(p_tenant_id integer, p_duty text, p_subject text, p_now timestamp with time zone) returns boolean language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._is_worker()
create function stepwell._is_worker() returns boolean language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._item_read(p_tenant_id integer, p_map_id bigint, p_item_no integer)
create function stepwell._item_read(p_tenant_id integer, p_map_id bigint, p_item_no integer) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._items_release(p_tenant_id integer, p_map_ids bigint[])
create function stepwell._items_release(p_tenant_id integer, p_map_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._job_place(p_tenant_id integer, p_workspace text, p_slot_key text, OUT workspace_id integer, OUT slot_key text)
create function stepwell._job_place(p_tenant_id integer, p_workspace text, p_slot_key text, OUT workspace_id integer, OUT slot_key text) returns record language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._job_ref(p_ref text, p_ref_params jsonb)
create function stepwell._job_ref(p_ref text, p_ref_params jsonb) returns text language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._jobs_create(p_tenant_id integer, p_payloads jsonb[], p_keys text[], p_now timestamp with time zone, p_actor text, p_workspace_id integer, p_trace_id text, p_correlation_id text, p_source_ref text, p_target_ref text, p_payload_ref text)
create function stepwell._jobs_create(p_tenant_id integer, p_payloads jsonb[], p_keys text[], p_now timestamp with time zone, p_actor text, p_workspace_id integer, p_trace_id text, p_correlation_id text, p_source_ref text, p_target_ref text, p_payload_ref text) returns bigint[] language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._jobs_lock_free(p_tenant_ids integer[], p_unit_ids bigint[], OUT tenant_ids integer[], OUT unit_ids bigint[])
create function stepwell._jobs_lock_free(p_tenant_ids integer[], p_unit_ids bigint[], OUT tenant_ids integer[], OUT unit_ids bigint[]) returns record language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._jobs_of_keys(p_tenant_id integer, p_keys text[], p_new_ids bigint[])
create function stepwell._jobs_of_keys(p_tenant_id integer, p_keys text[], p_new_ids bigint[]) returns TABLE(job_id bigint, is_new boolean) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._jobs_remove(p_tenant_ids integer[], p_job_ids bigint[])
create function stepwell._jobs_remove(p_tenant_ids integer[], p_job_ids bigint[]) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._joins_abort(p_tenant_ids integer[], p_unit_ids bigint[], OUT tenant_ids integer[], OUT unit_ids bigint[])
create function stepwell._joins_abort(p_tenant_ids integer[], p_unit_ids bigint[], OUT tenant_ids integer[], OUT unit_ids bigint[]) returns record language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._joins_parents(p_tenant_id integer, p_version_id integer, p_def_no integer, p_unit_id bigint, p_states text[])
create function stepwell._joins_parents(p_tenant_id integer, p_version_id integer, p_def_no integer, p_unit_id bigint, p_states text[]) returns integer language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._joins_pending(p_unit stepwell.work_unit, p_config jsonb)
create function stepwell._joins_pending(p_unit stepwell.work_unit, p_config jsonb) returns integer language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._joins_recount(p_tenant_id integer, p_unit_ids bigint[])
create function stepwell._joins_recount(p_tenant_id integer, p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._json_text(p_text text)
create function stepwell._json_text(p_text text) returns text language sql stable parallel safe;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._jsonpath_problem(p_expression text)
create function stepwell._jsonpath_problem(p_expression text) returns text language plpgsql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._key_plain(p_key text)
create function stepwell._key_plain(p_key text) returns text language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._label_run(p_tenant_id integer, p_run_id bigint, p_set jsonb, p_removed text[], p_limit integer, p_actor text, p_actor_class text)
create function stepwell._label_run(p_tenant_id integer, p_run_id bigint, p_set jsonb, p_removed text[], p_limit integer, p_actor text, p_actor_class text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._labels_check(p_labels jsonb)
create function stepwell._labels_check(p_labels jsonb) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._labels_of(p_tenant_id integer, p_run_id bigint)
create function stepwell._labels_of(p_tenant_id integer, p_run_id bigint) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._labels_set(p_tenant_id integer, p_run_ids bigint[], p_labels jsonb, p_actor text, p_actor_class text)
create function stepwell._labels_set(p_tenant_id integer, p_run_ids bigint[], p_labels jsonb, p_actor text, p_actor_class text) returns TABLE(run_id bigint, labels jsonb) language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._lag_bucket(p_lag interval)
create function stepwell._lag_bucket(p_lag interval) returns smallint language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._lag_note(p_tenant_id integer, p_producer text, p_consumer text, p_lags interval[])
create function stepwell._lag_note(p_tenant_id integer, p_producer text, p_consumer text, p_lags interval[]) returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell._lag_note_passed(p_tenant_id integer, p_consumer text, p_after_tx xid8, p_after_event_id bigint, p_upto_tx xid8, p_upto_event_id bigint)
create function stepwell._lag_note_passed(p_tenant_id integer, p_consumer text, p_after_tx xid8, p_after_event_id bigint, p_upto_tx xid8, p_upto_event_id bigint) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._lag_of_bucket(p_bucket smallint)
create function stepwell._lag_of_bucket(p_bucket smallint) returns numeric language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._lag_sample_queue(p_place stepwell.event_lag_place)
create function stepwell._lag_sample_queue(p_place stepwell.event_lag_place) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._lag_sample_seal(p_place stepwell.event_lag_place)
create function stepwell._lag_sample_seal(p_place stepwell.event_lag_place) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._lag_slot(p_at timestamp with time zone)
create function stepwell._lag_slot(p_at timestamp with time zone) returns timestamp with time zone language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._lag_threshold(p_producer text, p_consumer text, p_quantile text)
create function stepwell._lag_threshold(p_producer text, p_consumer text, p_quantile text) returns integer language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._lag_window_check(p_window interval)
create function stepwell._lag_window_check(p_window interval) returns void language plpgsql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._lane_is_served(p_tenant_id integer, p_operation_id integer, p_handler_ids integer[])
create function stepwell._lane_is_served(p_tenant_id integer, p_operation_id integer, p_handler_ids integer[]) returns boolean language plpgsql stable;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._lane_next(p_executor_class_id integer, p_tenant_id integer, p_workspace_id integer, p_rank integer, p_operation_id integer, OUT tenant_id integer, OUT workspace_id integer, OUT rank integer, OUT operation_id integer, OUT unit_id bigint)
create function stepwell._lane_next(p_executor_class_id integer, p_tenant_id integer, p_workspace_id integer, p_rank integer, p_operation_id integer, OUT tenant_id integer, OUT workspace_id integer, OUT rank integer, OUT operation_id integer, OUT unit_id bigint) returns record language plpgsql;

-- function: stepwell._lane_skip(p_tenant_id integer, p_workspace_id integer, p_lane stepwell.ready_lane, p_last_id bigint, p_upto_id bigint)
create function stepwell._lane_skip(p_tenant_id integer, p_workspace_id integer, p_lane stepwell.ready_lane, p_last_id bigint, p_upto_id bigint) returns bigint language plpgsql;

-- function: stepwell._lane_take(p_tenant_id integer, p_workspace_id integer, p_lane stepwell.ready_lane, p_limit integer, OUT unit_ids bigint[], OUT retry_ids bigint[])
create function stepwell._lane_take(p_tenant_id integer, p_workspace_id integer, p_lane stepwell.ready_lane, p_limit integer, OUT unit_ids bigint[], OUT retry_ids bigint[]) returns record language plpgsql;

-- function: stepwell._lanes_find(p_executor_class_ids integer[], p_handler_ids integer[], p_tenant_id integer, p_workspace_id integer)
create function stepwell._lanes_find(p_executor_class_ids integer[], p_handler_ids integer[], p_tenant_id integer, p_workspace_id integer) returns stepwell.ready_lane[] language plpgsql;

-- function: stepwell._lanes_from(p_executor_class_ids integer[], p_handler_ids integer[], p_tenant_id integer, p_workspace_id integer, p_rank integer, p_operation_id integer, p_count integer)
create function stepwell._lanes_from(p_executor_class_ids integer[], p_handler_ids integer[], p_tenant_id integer, p_workspace_id integer, p_rank integer, p_operation_id integer, p_count integer) returns stepwell.ready_lane[] language plpgsql;

-- function: stepwell._layout_hash(p_graph_hash text, p_lanes_by text, p_layout_version integer)
create function stepwell._layout_hash(p_graph_hash text, p_lanes_by text, p_layout_version integer) returns text language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._lease_hold(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer)
create function stepwell._lease_hold(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._lease_lost(p_tenant_id integer, p_unit_id bigint)
create function stepwell._lease_lost(p_tenant_id integer, p_unit_id bigint) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._leased_count(p_tenant_id integer, p_executor_class_id integer)
create function stepwell._leased_count(p_tenant_id integer, p_executor_class_id integer) returns bigint language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._leased_units(p_tenant_id integer)
create function stepwell._leased_units(p_tenant_id integer) returns TABLE(unit_id bigint) language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._leases_bound(p_session_id bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_batch_id bigint)
create function stepwell._leases_bound(p_session_id bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_batch_id bigint) returns SETOF stepwell.job_lease language plpgsql stable;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._leases_end(p_tenant_ids integer[], p_unit_ids bigint[], p_session_id bigint)
create function stepwell._leases_end(p_tenant_ids integer[], p_unit_ids bigint[], p_session_id bigint) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._leases_expire(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._leases_expire(p_tenant_ids integer[], p_unit_ids bigint[]) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._leases_of_items(p_tenant_id integer, p_version_id integer, p_def_no integer, p_operation_id integer, p_unit_ids bigint[], p_batch_id bigint, p_takes jsonb)
create function stepwell._leases_of_items(p_tenant_id integer, p_version_id integer, p_def_no integer, p_operation_id integer, p_unit_ids bigint[], p_batch_id bigint, p_takes jsonb) returns SETOF stepwell.job_lease language plpgsql stable;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._letter_places(p_unit_ids bigint[])
create function stepwell._letter_places(p_unit_ids bigint[]) returns TABLE(unit_id bigint, place bigint) language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._letters_chosen(p_tenant_id integer, p_filter jsonb, p_limit integer)
create function stepwell._letters_chosen(p_tenant_id integer, p_filter jsonb, p_limit integer) returns TABLE(unit_id bigint, operation_id integer, run_id bigint, failure_class text, cause text, died_at timestamp with time zone) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._letters_filter_check(p_filter jsonb)
create function stepwell._letters_filter_check(p_filter jsonb) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._level_refuse()
create function stepwell._level_refuse() returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._lifecycle_note(p_tenant_id integer, p_code text, p_what text, p_severity text, p_detail text, p_cut_request_id bigint, p_actor text, p_axis_inconsistency boolean)
create function stepwell._lifecycle_note(p_tenant_id integer, p_code text, p_what text, p_severity text, p_detail text, p_cut_request_id bigint, p_actor text, p_axis_inconsistency boolean) returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell._limit(p_key text)
create function stepwell._limit(p_key text) returns integer language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._link_take(p_link text, p_purposes text[])
create function stepwell._link_take(p_link text, p_purposes text[]) returns stepwell.principal language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._log_position(p_tenant_id integer, p_at timestamp with time zone)
create function stepwell._log_position(p_tenant_id integer, p_at timestamp with time zone) returns xid8 language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._machine_floor_check()
create function stepwell._machine_floor_check() returns trigger language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._machine_of(p_scope text)
create function stepwell._machine_of(p_scope text) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._map_abort(p_tenant_id integer, p_unit_id bigint)
create function stepwell._map_abort(p_tenant_id integer, p_unit_id bigint) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._map_fill(p_tenant_id integer, p_unit_id bigint, p_items jsonb, p_max_concurrency integer)
create function stepwell._map_fill(p_tenant_id integer, p_unit_id bigint, p_items jsonb, p_max_concurrency integer) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._map_forget(p_tenant_id integer, p_unit_id bigint)
create function stepwell._map_forget(p_tenant_id integer, p_unit_id bigint) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._map_is_same(p_tenant_id integer, p_unit_id bigint, p_items jsonb)
create function stepwell._map_is_same(p_tenant_id integer, p_unit_id bigint, p_items jsonb) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._map_result(p_tenant_id integer, p_unit_id bigint)
create function stepwell._map_result(p_tenant_id integer, p_unit_id bigint) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._map_result_bytes(p_tenant_id integer, p_unit_id bigint)
create function stepwell._map_result_bytes(p_tenant_id integer, p_unit_id bigint) returns bigint language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._map_size_problem(p_tenant_id integer, p_unit_id bigint, p_item_count integer)
create function stepwell._map_size_problem(p_tenant_id integer, p_unit_id bigint, p_item_count integer) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._maps_count(p_changes stepwell.unit_change[])
create function stepwell._maps_count(p_changes stepwell.unit_change[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._maps_input_problem(p_version stepwell.workflow_version, p_input jsonb)
create function stepwell._maps_input_problem(p_version stepwell.workflow_version, p_input jsonb) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._maps_open(p_tenant_ids integer[], p_unit_ids bigint[], p_values jsonb[], p_problems text[])
create function stepwell._maps_open(p_tenant_ids integer[], p_unit_ids bigint[], p_values jsonb[], p_problems text[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._maps_settle(p_tenant_ids integer[], p_run_ids bigint[])
create function stepwell._maps_settle(p_tenant_ids integer[], p_run_ids bigint[]) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._marks_clear(p_changes stepwell.unit_change[])
create function stepwell._marks_clear(p_changes stepwell.unit_change[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._may_do(p_config jsonb, p_roles text[], p_name_key text)
create function stepwell._may_do(p_config jsonb, p_roles text[], p_name_key text) returns boolean language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._merkle_root(p_leaves bytea)
create function stepwell._merkle_root(p_leaves bytea) returns bytea language plpgsql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._milestones_then(p_tenant_id integer, p_version_id integer, p_nos integer[], p_states text[], p_since timestamp with time zone[])
create function stepwell._milestones_then(p_tenant_id integer, p_version_id integer, p_nos integer[], p_states text[], p_since timestamp with time zone[]) returns json language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._moment_problem(p_field text, p_value text)
create function stepwell._moment_problem(p_field text, p_value text) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._must_apply(p_requests stepwell.transition_request[], p_cause stepwell.transition_cause)
create function stepwell._must_apply(p_requests stepwell.transition_request[], p_cause stepwell.transition_cause) returns bigint[] language plpgsql set search_path=stepwell, pg_temp set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_hashjoin=off set enable_mergejoin=off set random_page_cost=0.01 set join_collapse_limit=1 set jit=off;

-- function: stepwell._name_check(p_field text, p_name text)
create function stepwell._name_check(p_field text, p_name text) returns void language plpgsql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._name_fold(p_name text)
create function stepwell._name_fold(p_name text) returns text language sql immutable parallel safe set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._name_problem(p_name text)
create function stepwell._name_problem(p_name text) returns text language sql immutable parallel safe set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._name_refusal(p_tenant_id integer, p_principal_id bigint, p_name text)
create function stepwell._name_refusal(p_tenant_id integer, p_principal_id bigint, p_name text) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._name_skeleton(p_name text)
create function stepwell._name_skeleton(p_name text) returns text language sql immutable parallel safe set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._name_tidy(p_name text)
create function stepwell._name_tidy(p_name text) returns text language sql immutable parallel safe set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._names_known(p_tenant_id integer, p_kind text, p_within text)
create function stepwell._names_known(p_tenant_id integer, p_kind text, p_within text) returns TABLE(name text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._names_settled()
create function stepwell._names_settled() returns TABLE(tenant_code text, principal_id bigint, principal_name text, reason text) language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._news_deliver(p_tenant_id integer, p_unit_id bigint, p_event_type text, p_payload jsonb)
create function stepwell._news_deliver(p_tenant_id integer, p_unit_id bigint, p_event_type text, p_payload jsonb) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._operation_handler()
create function stepwell._operation_handler() returns trigger language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._operation_of(p_tenant_id integer, p_operation_name text)
create function stepwell._operation_of(p_tenant_id integer, p_operation_name text) returns stepwell.operation language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._operator_check(p_what text)
create function stepwell._operator_check(p_what text) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._others_have_work(p_tenant_id integer, p_executor_class_ids integer[], p_handler_ids integer[])
create function stepwell._others_have_work(p_tenant_id integer, p_executor_class_ids integer[], p_handler_ids integer[]) returns boolean language plpgsql;

-- function: stepwell._outbound_problem(p_tenant_id integer, p_unit_id bigint, p_body text)
create function stepwell._outbound_problem(p_tenant_id integer, p_unit_id bigint, p_body text) returns text language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._output_contract_problem(p_unit stepwell.work_unit, p_output jsonb)
create function stepwell._output_contract_problem(p_unit stepwell.work_unit, p_output jsonb) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._outputs_empty(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._outputs_empty(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._own_or_others(p_tenant_id integer, p_principal_name text)
create function stepwell._own_or_others(p_tenant_id integer, p_principal_name text) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._pairs_count(p_document jsonb, p_scope text, p_left text, p_right text)
create function stepwell._pairs_count(p_document jsonb, p_scope text, p_left text, p_right text) returns double precision language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._params_filled(p_known jsonb, p_given jsonb)
create function stepwell._params_filled(p_known jsonb, p_given jsonb) returns jsonb language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._params_nested(p_tenant_id integer, p_known jsonb, p_unit_ids bigint[], p_inputs jsonb[])
create function stepwell._params_nested(p_tenant_id integer, p_known jsonb, p_unit_ids bigint[], p_inputs jsonb[]) returns jsonb[] language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._password_store(p_principal stepwell.principal, p_secret_hash text)
create function stepwell._password_store(p_principal stepwell.principal, p_secret_hash text) returns void language plpgsql set search_path=stepwell, pg_temp set standard_conforming_strings=on;

-- function: stepwell._path_accessor(p_tokens text[], p_place integer, OUT suffix text, OUT next_place integer, OUT is_computed boolean)
create function stepwell._path_accessor(p_tokens text[], p_place integer, OUT suffix text, OUT next_place integer, OUT is_computed boolean) returns record language plpgsql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_bound(p_bare text, p_size double precision)
create function stepwell._path_bound(p_bare text, p_size double precision) returns double precision language plpgsql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_compared(p_path text)
create function stepwell._path_compared(p_path text) returns text language plpgsql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_cost(p_document jsonb, p_sites jsonb, p_size double precision, p_limit double precision)
create function stepwell._path_cost(p_document jsonb, p_sites jsonb, p_size double precision, p_limit double precision) returns double precision language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_count(p_document jsonb, p_path text)
create function stepwell._path_count(p_document jsonb, p_path text) returns double precision language sql immutable;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_document(p_document jsonb, p_path text)
create function stepwell._path_document(p_document jsonb, p_path text) returns jsonb language sql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_doubtful(p_path text)
create function stepwell._path_doubtful(p_path text) returns text language plpgsql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_evaluate(p_document jsonb, p_path text, p_is_test boolean, p_is_silent boolean, p_is_alone boolean, OUT result jsonb, OUT problem text, OUT is_costly boolean)
create function stepwell._path_evaluate(p_document jsonb, p_path text, p_is_test boolean, p_is_silent boolean, p_is_alone boolean, OUT result jsonb, OUT problem text, OUT is_costly boolean) returns record language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_excess(p_document jsonb, p_path text, p_is_alone boolean)
create function stepwell._path_excess(p_document jsonb, p_path text, p_is_alone boolean) returns text language plpgsql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_gap(p_document jsonb, p_path text)
create function stepwell._path_gap(p_document jsonb, p_path text) returns text language sql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_has_many(p_document jsonb, p_path text)
create function stepwell._path_has_many(p_document jsonb, p_path text) returns boolean language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_is_plain(p_path text)
create function stepwell._path_is_plain(p_path text) returns boolean language sql immutable set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_problem(p_step jsonb)
create function stepwell._path_problem(p_step jsonb) returns text language plpgsql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_reads_item_alone(p_path text)
create function stepwell._path_reads_item_alone(p_path text) returns boolean language sql immutable;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_refusal(p_path text)
create function stepwell._path_refusal(p_path text) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_sites(p_path text)
create function stepwell._path_sites(p_path text) returns jsonb language plpgsql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_strict(p_path text)
create function stepwell._path_strict(p_path text) returns text language sql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_unknown_root(p_path text, p_known text[])
create function stepwell._path_unknown_root(p_path text, p_known text[]) returns text language plpgsql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_way(p_path text)
create function stepwell._path_way(p_path text) returns text[] language sql immutable;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._path_weight(p_bare text, p_document jsonb)
create function stepwell._path_weight(p_bare text, p_document jsonb) returns double precision language plpgsql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._payload_judge(p_tenant_id integer, p_unit_id bigint, p_event_type text, p_payload jsonb, p_now timestamp with time zone, p_preview boolean)
create function stepwell._payload_judge(p_tenant_id integer, p_unit_id bigint, p_event_type text, p_payload jsonb, p_now timestamp with time zone, p_preview boolean) returns text language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._payload_rules()
create function stepwell._payload_rules() returns TABLE(table_name text, condition text) language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._pending_first(p_step jsonb, p_parent_count integer)
create function stepwell._pending_first(p_step jsonb, p_parent_count integer) returns integer language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._pending_recount(p_tenant_id integer, p_unit_ids bigint[])
create function stepwell._pending_recount(p_tenant_id integer, p_unit_ids bigint[]) returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell._people_behind(p_tenant_id integer, p_unit_id bigint)
create function stepwell._people_behind(p_tenant_id integer, p_unit_id bigint) returns text[] language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._people_of(p_tenant_id integer, p_names text[])
create function stepwell._people_of(p_tenant_id integer, p_names text[]) returns text[] language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._people_timers(p_tenant_id integer, p_unit_ids bigint[])
create function stepwell._people_timers(p_tenant_id integer, p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._people_wake(p_tenant_ids integer[], p_unit_ids bigint[], p_task_type text, p_refs text[])
create function stepwell._people_wake(p_tenant_ids integer[], p_unit_ids bigint[], p_task_type text, p_refs text[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._permission_roles(p_tenant_id integer, p_roles text[])
create function stepwell._permission_roles(p_tenant_id integer, p_roles text[]) returns text[] language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._person_find(p_tenant_id integer, p_person_name text)
create function stepwell._person_find(p_tenant_id integer, p_person_name text) returns bigint language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._person_hint(p_tenant_id integer, p_name text)
create function stepwell._person_hint(p_tenant_id integer, p_name text) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._person_name(p_tenant_id integer, p_person_id bigint)
create function stepwell._person_name(p_tenant_id integer, p_person_id bigint) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._pic_change(p_tenant_id integer, p_unit_id bigint, p_person_id bigint, p_actor text, p_reason text)
create function stepwell._pic_change(p_tenant_id integer, p_unit_id bigint, p_person_id bigint, p_actor text, p_reason text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._pic_resolves(p_unit stepwell.work_unit)
create function stepwell._pic_resolves(p_unit stepwell.work_unit) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._place_next(p_executor_class_id integer, p_place stepwell.queue_place)
create function stepwell._place_next(p_executor_class_id integer, p_place stepwell.queue_place) returns stepwell.queue_place language plpgsql;

-- function: stepwell._plan_part_carry(p_plan stepwell.dlq_replay_plan, p_limit integer)
create function stepwell._plan_part_carry(p_plan stepwell.dlq_replay_plan, p_limit integer) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._plan_problem(p_tenant_id integer, p_plan_id bigint)
create function stepwell._plan_problem(p_tenant_id integer, p_plan_id bigint) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._plan_requests_add(p_tenant_id integer, p_plan_id bigint, p_approval_id bigint, p_unit_ids bigint[], p_stages integer[], p_actor text, p_reason text)
create function stepwell._plan_requests_add(p_tenant_id integer, p_plan_id bigint, p_approval_id bigint, p_unit_ids bigint[], p_stages integer[], p_actor text, p_reason text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._plan_stage_begin(p_plan stepwell.dlq_replay_plan)
create function stepwell._plan_stage_begin(p_plan stepwell.dlq_replay_plan) returns boolean language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._plan_stop(p_tenant_id integer, p_plan_id bigint, p_actor text, p_reason text)
create function stepwell._plan_stop(p_tenant_id integer, p_plan_id bigint, p_actor text, p_reason text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._plans_apply()
create function stepwell._plans_apply() returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._policy_answer(p_rule jsonb, p_action jsonb)
create function stepwell._policy_answer(p_rule jsonb, p_action jsonb) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._policy_decided(p_tenant_id integer, p_approval_id bigint, p_proposal_id bigint, p_state text, p_actor text)
create function stepwell._policy_decided(p_tenant_id integer, p_approval_id bigint, p_proposal_id bigint, p_state text, p_actor text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._policy_diff(p_old jsonb, p_new jsonb)
create function stepwell._policy_diff(p_old jsonb, p_new jsonb) returns jsonb language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._policy_document(p_action jsonb, p_match text)
create function stepwell._policy_document(p_action jsonb, p_match text) returns jsonb language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._policy_filter_answer(p_match text, p_action jsonb)
create function stepwell._policy_filter_answer(p_match text, p_action jsonb) returns text language plpgsql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._policy_hash(p_rules jsonb)
create function stepwell._policy_hash(p_rules jsonb) returns text language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._policy_is_doubtful(p_match text, p_action jsonb)
create function stepwell._policy_is_doubtful(p_match text, p_action jsonb) returns boolean language plpgsql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._policy_judge(p_rules jsonb, p_action jsonb)
create function stepwell._policy_judge(p_rules jsonb, p_action jsonb) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._policy_match(p_match text, p_action jsonb)
create function stepwell._policy_match(p_match text, p_action jsonb) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._policy_match_problem(p_match text)
create function stepwell._policy_match_problem(p_match text) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._policy_put(p_policy stepwell.policy_set, p_actor text, p_approval_id bigint)
create function stepwell._policy_put(p_policy stepwell.policy_set, p_actor text, p_approval_id bigint) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._policy_refusals(p_rules jsonb)
create function stepwell._policy_refusals(p_rules jsonb) returns TABLE(rule_no integer, problem text) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._policy_rule_problems(p_rule jsonb)
create function stepwell._policy_rule_problems(p_rule jsonb) returns TABLE(field text, problem text) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._policy_set_refuse()
create function stepwell._policy_set_refuse() returns trigger language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._position_read(p_position text)
create function stepwell._position_read(p_position text) returns pg_snapshot language plpgsql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._principal_name_set()
create function stepwell._principal_name_set() returns trigger language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._principal_set(p_tenant_id integer, p_kind text, p_field text, p_name text, p_roles text[], p_display_name text, p_is_active boolean)
create function stepwell._principal_set(p_tenant_id integer, p_kind text, p_field text, p_name text, p_roles text[], p_display_name text, p_is_active boolean) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._problem_check()
create function stepwell._problem_check() returns trigger language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._problem_close(p_tenant_id integer, p_problem_id bigint, p_actor text, p_reason text)
create function stepwell._problem_close(p_tenant_id integer, p_problem_id bigint, p_actor text, p_reason text) returns boolean language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._problem_count()
create function stepwell._problem_count() returns trigger language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._problem_found(p_tenant_id integer, p_category text, p_subject text, p_title text, p_unit_id bigint, p_reason text, p_since_at timestamp with time zone)
create function stepwell._problem_found(p_tenant_id integer, p_category text, p_subject text, p_title text, p_unit_id bigint, p_reason text, p_since_at timestamp with time zone) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._problem_open(p_tenant_id integer, p_category text, p_duty text, p_subject text, p_unit_id bigint, p_error_code text, p_reason text)
create function stepwell._problem_open(p_tenant_id integer, p_category text, p_duty text, p_subject text, p_unit_id bigint, p_error_code text, p_reason text) returns timestamp with time zone language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._problem_remedy(p_category text, p_subject text)
create function stepwell._problem_remedy(p_category text, p_subject text) returns text language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._process_roles()
create function stepwell._process_roles() returns text[] language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._progress_counts(p_progress stepwell.run_progress)
create function stepwell._progress_counts(p_progress stepwell.run_progress) returns json language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._progress_notify()
create function stepwell._progress_notify() returns trigger language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._queue_look(p_tenant_ids integer[], p_executor_class_ids integer[], p_direct_limit integer, p_handler_ids integer[], OUT may_lease_directly boolean, OUT is_dry boolean, OUT rank integer, OUT unit_id bigint, OUT is_capped boolean)
create function stepwell._queue_look(p_tenant_ids integer[], p_executor_class_ids integer[], p_direct_limit integer, p_handler_ids integer[], OUT may_lease_directly boolean, OUT is_dry boolean, OUT rank integer, OUT unit_id bigint, OUT is_capped boolean) returns record language plpgsql;

-- function: stepwell._rates_fire(p_now timestamp with time zone, p_limit integer)
create function stepwell._rates_fire(p_now timestamp with time zone, p_limit integer) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._rates_return(p_now timestamp with time zone, p_limit integer)
create function stepwell._rates_return(p_now timestamp with time zone, p_limit integer) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._reader_waits_since(p_tenant_id integer, p_last_tx xid8, p_last_event_id bigint)
create function stepwell._reader_waits_since(p_tenant_id integer, p_last_tx xid8, p_last_event_id bigint) returns timestamp with time zone language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._reads_at(p_tenant_id integer, p_principal_id bigint, p_verbs text[])
create function stepwell._reads_at(p_tenant_id integer, p_principal_id bigint, p_verbs text[]) returns SETOF integer language sql stable;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._reads_of(p_tenant_id integer, p_principal_id bigint, p_verbs text[])
create function stepwell._reads_of(p_tenant_id integer, p_principal_id bigint, p_verbs text[]) returns integer language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._ready_follow(p_tenant_ids integer[], p_unit_ids bigint[], p_has_engine_steps boolean, p_has_slots boolean)
create function stepwell._ready_follow(p_tenant_ids integer[], p_unit_ids bigint[], p_has_engine_steps boolean, p_has_slots boolean) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._ready_notify()
create function stepwell._ready_notify() returns trigger language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._ready_put(p_changes stepwell.unit_change[])
create function stepwell._ready_put(p_changes stepwell.unit_change[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._ready_since(p_tenant_id integer, p_run_id bigint, p_unit_id bigint, p_event_id bigint)
create function stepwell._ready_since(p_tenant_id integer, p_run_id bigint, p_unit_id bigint, p_event_id bigint) returns timestamp with time zone language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._ready_take(p_executor_class_ids integer[], p_handler_ids integer[], p_limit integer, OUT tenant_ids integer[], OUT unit_ids bigint[], OUT retry_ids bigint[])
create function stepwell._ready_take(p_executor_class_ids integer[], p_handler_ids integer[], p_limit integer, OUT tenant_ids integer[], OUT unit_ids bigint[], OUT retry_ids bigint[]) returns record language plpgsql;

-- function: stepwell._receipt_end(p_receipt stepwell.action_receipt, p_outcome text, p_effect jsonb, p_cause stepwell.transition_cause, p_evidence jsonb, p_told jsonb)
create function stepwell._receipt_end(p_receipt stepwell.action_receipt, p_outcome text, p_effect jsonb, p_cause stepwell.transition_cause, p_evidence jsonb, p_told jsonb) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._receipt_follow(p_receipt stepwell.action_receipt, p_outcome text, p_external_id text, p_actor text)
create function stepwell._receipt_follow(p_receipt stepwell.action_receipt, p_outcome text, p_external_id text, p_actor text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._receipt_found(p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_action jsonb, OUT receipt_id bigint, OUT state_code text, OUT made_by bigint, OUT reply jsonb)
create function stepwell._receipt_found(p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_action jsonb, OUT receipt_id bigint, OUT state_code text, OUT made_by bigint, OUT reply jsonb) returns record language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._receipt_open(p_session_id bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_action jsonb, p_document jsonb, p_verdict_id bigint, p_approval_id bigint, p_receipt_id bigint, p_is_again boolean)
create function stepwell._receipt_open(p_session_id bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_action jsonb, p_document jsonb, p_verdict_id bigint, p_approval_id bigint, p_receipt_id bigint, p_is_again boolean) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._receipt_take_over(p_session_id bigint, p_tenant_id integer, p_receipt_id bigint, p_lease_no integer)
create function stepwell._receipt_take_over(p_session_id bigint, p_tenant_id integer, p_receipt_id bigint, p_lease_no integer) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._receipts_doubt(p_tenant_ids integer[], p_unit_ids bigint[], p_reason text)
create function stepwell._receipts_doubt(p_tenant_ids integer[], p_unit_ids bigint[], p_reason text) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._receipts_recover(p_tenant_ids integer[], p_receipt_ids bigint[])
create function stepwell._receipts_recover(p_tenant_ids integer[], p_receipt_ids bigint[]) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._receipts_remove(p_tenant_ids integer[], p_receipt_ids bigint[])
create function stepwell._receipts_remove(p_tenant_ids integer[], p_receipt_ids bigint[]) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._receipts_unconfirm(p_tenant_ids integer[], p_receipt_ids bigint[], p_reason text)
create function stepwell._receipts_unconfirm(p_tenant_ids integer[], p_receipt_ids bigint[], p_reason text) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._redact(p_value jsonb, p_pattern text)
create function stepwell._redact(p_value jsonb, p_pattern text) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._redact_text(p_text text)
create function stepwell._redact_text(p_text text) returns text language plpgsql immutable strict set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._redaction_pattern()
create function stepwell._redaction_pattern() returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._refusal_clause(p_unit stepwell.work_unit, p_problem text, p_evidence jsonb, p_lang text, OUT text_key text, OUT problem text, OUT next text)
create function stepwell._refusal_clause(p_unit stepwell.work_unit, p_problem text, p_evidence jsonb, p_lang text, OUT text_key text, OUT problem text, OUT next text) returns record language plpgsql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._refusal_sentence(p_unit stepwell.work_unit, p_to_state text, p_problems text[], p_evidence jsonb, p_lang text)
create function stepwell._refusal_sentence(p_unit stepwell.work_unit, p_to_state text, p_problems text[], p_evidence jsonb, p_lang text) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._refuse(p_tenant_id integer, p_unit_id bigint, p_to_state text, p_problems text[], p_evidence jsonb)
create function stepwell._refuse(p_tenant_id integer, p_unit_id bigint, p_to_state text, p_problems text[], p_evidence jsonb) returns void language plpgsql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._regex_cost(p_document jsonb, p_path text, p_pattern text)
create function stepwell._regex_cost(p_document jsonb, p_path text, p_pattern text) returns double precision language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._regex_fault(p_pattern text)
create function stepwell._regex_fault(p_pattern text) returns text language sql immutable set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._regex_refusal(p_pattern text)
create function stepwell._regex_refusal(p_pattern text) returns text language sql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._regex_size(p_pattern text)
create function stepwell._regex_size(p_pattern text) returns double precision language plpgsql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._regex_steps(p_pattern text, p_text text)
create function stepwell._regex_steps(p_pattern text, p_text text) returns double precision language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._registry_machines()
create function stepwell._registry_machines() returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._registry_state_faults()
create function stepwell._registry_state_faults() returns TABLE(check_name text, fault text) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._registry_text_faults()
create function stepwell._registry_text_faults() returns TABLE(check_name text, fault text) language plpgsql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._registry_transition_faults()
create function stepwell._registry_transition_faults() returns TABLE(check_name text, fault text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._registry_word_faults()
create function stepwell._registry_word_faults() returns TABLE(check_name text, fault text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._removal_tell(p_tenant_ids integer[], p_run_ids bigint[], p_days_key text)
create function stepwell._removal_tell(p_tenant_ids integer[], p_run_ids bigint[], p_days_key text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._replay_apply(p_tenant_id integer, p_approval_id bigint, p_actor text)
create function stepwell._replay_apply(p_tenant_id integer, p_approval_id bigint, p_actor text) returns jsonb language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._replay_carry(p_tenant_id integer, p_approval_id bigint, p_request_ids bigint[], p_actor text)
create function stepwell._replay_carry(p_tenant_id integer, p_approval_id bigint, p_request_ids bigint[], p_actor text) returns jsonb language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._replay_check(p_tenant_id integer, p_unit_ids bigint[])
create function stepwell._replay_check(p_tenant_id integer, p_unit_ids bigint[]) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._replay_effects(p_tenant_id integer, p_unit_ids bigint[])
create function stepwell._replay_effects(p_tenant_id integer, p_unit_ids bigint[]) returns TABLE(unit_id bigint, step text, connector text, operation text, target text, writes boolean, reversible boolean, answer text, receipt_id bigint, reason text, rule text, is_expected boolean) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._replay_plan_decided(p_tenant_id integer, p_approval_id bigint, p_plan_id bigint, p_state text, p_actor text)
create function stepwell._replay_plan_decided(p_tenant_id integer, p_approval_id bigint, p_plan_id bigint, p_state text, p_actor text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._replay_quorum(p_letter_count integer, p_irreversible_count bigint)
create function stepwell._replay_quorum(p_letter_count integer, p_irreversible_count bigint) returns integer language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._replay_rehearsed(p_tenant_id integer, p_unit_ids bigint[])
create function stepwell._replay_rehearsed(p_tenant_id integer, p_unit_ids bigint[]) returns json language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._replay_request(p_tenant_id integer, p_unit_ids bigint[], p_actor text, p_reason text)
create function stepwell._replay_request(p_tenant_id integer, p_unit_ids bigint[], p_actor text, p_reason text) returns jsonb language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._replay_set(p_tenant_id integer, p_unit_id bigint)
create function stepwell._replay_set(p_tenant_id integer, p_unit_id bigint) returns bigint[] language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._replay_units(p_tenant_id integer, p_unit_ids bigint[], p_evidence jsonb[], p_actor text)
create function stepwell._replay_units(p_tenant_id integer, p_unit_ids bigint[], p_evidence jsonb[], p_actor text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._replays_settle(p_tenant_ids integer[], p_request_ids bigint[])
create function stepwell._replays_settle(p_tenant_ids integer[], p_request_ids bigint[]) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._report_broken(p_session_id bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_taken_ids bigint[])
create function stepwell._report_broken(p_session_id bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_taken_ids bigint[]) returns bigint[] language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._report_completed(p_session_id bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_bodies text[], p_now timestamp with time zone, p_executor_class_ids integer[], p_direct_limit integer, p_handler_ids integer[], OUT taken_ids bigint[], OUT direct_ids bigint[], OUT due_tenant_ids integer[], OUT due_ids bigint[], OUT is_dry boolean, OUT leaves_more boolean, OUT has_failures boolean)
create function stepwell._report_completed(p_session_id bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_bodies text[], p_now timestamp with time zone, p_executor_class_ids integer[], p_direct_limit integer, p_handler_ids integer[], OUT taken_ids bigint[], OUT direct_ids bigint[], OUT due_tenant_ids integer[], OUT due_ids bigint[], OUT is_dry boolean, OUT leaves_more boolean, OUT has_failures boolean) returns record language plpgsql;

-- function: stepwell._report_contracts(p_session_id bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_bodies text[], p_now timestamp with time zone)
create function stepwell._report_contracts(p_session_id bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_bodies text[], p_now timestamp with time zone) returns bigint[] language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._report_mixed(p_session_id bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_outcomes text[], p_bodies text[], p_now timestamp with time zone, p_executor_class_ids integer[])
create function stepwell._report_mixed(p_session_id bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_outcomes text[], p_bodies text[], p_now timestamp with time zone, p_executor_class_ids integer[]) returns TABLE(taken_ids bigint[], direct_ids bigint[], due_tenant_ids integer[], due_ids bigint[], is_dry boolean, leaves_more boolean, has_failures boolean) language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._report_others(p_session_id bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_outcomes text[], p_bodies text[])
create function stepwell._report_others(p_session_id bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_outcomes text[], p_bodies text[]) returns bigint[] language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._reports_limit(p_outcomes text[], p_bodies text[], OUT outcomes text[], OUT bodies text[])
create function stepwell._reports_limit(p_outcomes text[], p_bodies text[], OUT outcomes text[], OUT bodies text[]) returns record language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._reports_refuse(p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_taken_ids bigint[])
create function stepwell._reports_refuse(p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_taken_ids bigint[]) returns SETOF stepwell.job_lease language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._retention_answers(p_now timestamp with time zone, p_limit integer)
create function stepwell._retention_answers(p_now timestamp with time zone, p_limit integer) returns bigint language sql set search_path=stepwell, pg_temp;

-- function: stepwell._retention_bundles(p_now timestamp with time zone, p_limit integer)
create function stepwell._retention_bundles(p_now timestamp with time zone, p_limit integer) returns bigint language sql set search_path=stepwell, pg_temp;

-- function: stepwell._retention_jobs(p_now timestamp with time zone, p_limit integer)
create function stepwell._retention_jobs(p_now timestamp with time zone, p_limit integer) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._retention_letters(p_now timestamp with time zone, p_limit integer)
create function stepwell._retention_letters(p_now timestamp with time zone, p_limit integer) returns bigint language sql set search_path=stepwell, pg_temp;

-- function: stepwell._retention_months(p_now timestamp with time zone)
create function stepwell._retention_months(p_now timestamp with time zone) returns bigint language plpgsql set search_path=stepwell, pg_temp set lock_timeout=2s set standard_conforming_strings=on;

-- function: stepwell._retention_part(p_part text, p_now timestamp with time zone, p_limit integer)
create function stepwell._retention_part(p_part text, p_now timestamp with time zone, p_limit integer) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._retention_receipts(p_now timestamp with time zone, p_limit integer)
create function stepwell._retention_receipts(p_now timestamp with time zone, p_limit integer) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._retention_replays(p_now timestamp with time zone, p_limit integer)
create function stepwell._retention_replays(p_now timestamp with time zone, p_limit integer) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._retention_rows(p_part text, p_now timestamp with time zone, p_limit integer)
create function stepwell._retention_rows(p_part text, p_now timestamp with time zone, p_limit integer) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._retention_runs(p_now timestamp with time zone, p_limit integer)
create function stepwell._retention_runs(p_now timestamp with time zone, p_limit integer) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._retention_slots(p_limit integer)
create function stepwell._retention_slots(p_limit integer) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._retention_try(p_part text, p_now timestamp with time zone, p_limit integer)
create function stepwell._retention_try(p_part text, p_now timestamp with time zone, p_limit integer) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._reversal_judge(p_tenant_id integer, p_action jsonb, p_verdict jsonb)
create function stepwell._reversal_judge(p_tenant_id integer, p_action jsonb, p_verdict jsonb) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._reversal_problem(p_tenant_id integer, p_receipt_id bigint)
create function stepwell._reversal_problem(p_tenant_id integer, p_receipt_id bigint) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._rights(p_role text)
create function stepwell._rights(p_role text) returns TABLE(statement text, right_name text, is_granted boolean) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._roles_held(p_tenant_id integer, p_principal_id bigint)
create function stepwell._roles_held(p_tenant_id integer, p_principal_id bigint) returns text[] language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._roles_of(p_tenant_id integer, p_principal_id bigint)
create function stepwell._roles_of(p_tenant_id integer, p_principal_id bigint) returns text[] language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._rollup_colour(p_red_count bigint, p_wait_count bigint, p_active_count bigint)
create function stepwell._rollup_colour(p_red_count bigint, p_wait_count bigint, p_active_count bigint) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._rollup_numbers(p_tenant_id integer, p_run_id bigint, p_progress stepwell.run_progress)
create function stepwell._rollup_numbers(p_tenant_id integer, p_run_id bigint, p_progress stepwell.run_progress) returns json language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._rollup_policy_apply()
create function stepwell._rollup_policy_apply() returns trigger language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._rollup_policy_problem()
create function stepwell._rollup_policy_problem() returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._route_loop(p_tenant_id integer, p_unit_id bigint)
create function stepwell._route_loop(p_tenant_id integer, p_unit_id bigint) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._route_problem(p_route_name text, p_event_type text, p_fields text[], p_priority integer)
create function stepwell._route_problem(p_route_name text, p_event_type text, p_fields text[], p_priority integer) returns text language plpgsql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._routine_event_types()
create function stepwell._routine_event_types() returns text[] language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._rows_hide(p_tenant_id integer, p_principal_id bigint)
create function stepwell._rows_hide(p_tenant_id integer, p_principal_id bigint) returns boolean language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._run_create(p_tenant_id integer, p_version stepwell.workflow_version, p_run_ids bigint[], p_priority integer, p_actor text, p_parent_unit_ids bigint[], p_session_id bigint, p_executor_class_ids integer[], p_direct_limit integer, p_handler_ids integer[], p_workspace_id integer, OUT direct_ids bigint[], OUT leaves_more boolean)
create function stepwell._run_create(p_tenant_id integer, p_version stepwell.workflow_version, p_run_ids bigint[], p_priority integer, p_actor text, p_parent_unit_ids bigint[], p_session_id bigint, p_executor_class_ids integer[], p_direct_limit integer, p_handler_ids integer[], p_workspace_id integer, OUT direct_ids bigint[], OUT leaves_more boolean) returns record language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._run_dead_steps(p_tenant_id integer, p_run_id bigint)
create function stepwell._run_dead_steps(p_tenant_id integer, p_run_id bigint) returns bigint[] language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._run_has_ended(p_state_code text)
create function stepwell._run_has_ended(p_state_code text) returns boolean language sql immutable parallel safe;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._run_is_development(p_tenant_id integer, p_run_id bigint)
create function stepwell._run_is_development(p_tenant_id integer, p_run_id bigint) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._run_is_orphan(p_tenant_id integer, p_run_id bigint)
create function stepwell._run_is_orphan(p_tenant_id integer, p_run_id bigint) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._run_last(p_run_id bigint)
create function stepwell._run_last(p_run_id bigint) returns bigint language sql immutable parallel safe;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._run_lost_a_step(p_tenant_id integer, p_run_id bigint)
create function stepwell._run_lost_a_step(p_tenant_id integer, p_run_id bigint) returns boolean language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._run_of(p_unit_id bigint)
create function stepwell._run_of(p_unit_id bigint) returns bigint language sql immutable parallel safe;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._run_qualifier(p_tenant_id integer, p_run_id bigint, p_state_code text)
create function stepwell._run_qualifier(p_tenant_id integer, p_run_id bigint, p_state_code text) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._run_result(p_tenant_id integer, p_run_id bigint)
create function stepwell._run_result(p_tenant_id integer, p_run_id bigint) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._run_results(p_tenant_ids integer[], p_run_ids bigint[])
create function stepwell._run_results(p_tenant_ids integer[], p_run_ids bigint[]) returns jsonb[] language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._run_state(p_tenant_id integer, p_run_id bigint)
create function stepwell._run_state(p_tenant_id integer, p_run_id bigint) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._run_unit(p_run_id bigint)
create function stepwell._run_unit(p_run_id bigint) returns bigint language sql immutable parallel safe;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._runs_above(p_tenant_id integer, p_run_id bigint)
create function stepwell._runs_above(p_tenant_id integer, p_run_id bigint) returns TABLE(run_id bigint) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._runs_and_jobs_lock(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._runs_and_jobs_lock(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._runs_clear(p_tenant_id integer, p_subrun_ids bigint[], p_run_id bigint, p_actor text, p_reason text)
create function stepwell._runs_clear(p_tenant_id integer, p_subrun_ids bigint[], p_run_id bigint, p_actor text, p_reason text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._runs_end(p_tenant_ids integer[], p_unit_ids bigint[], p_to_state text, p_trigger_ref text)
create function stepwell._runs_end(p_tenant_ids integer[], p_unit_ids bigint[], p_to_state text, p_trigger_ref text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._runs_finish(p_tenant_ids integer[], p_run_ids bigint[], p_state text)
create function stepwell._runs_finish(p_tenant_ids integer[], p_run_ids bigint[], p_state text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._runs_lock(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._runs_lock(p_tenant_ids integer[], p_unit_ids bigint[]) returns boolean language plpgsql;

-- function: stepwell._runs_lock_down(p_tenant_id integer, p_run_id bigint)
create function stepwell._runs_lock_down(p_tenant_id integer, p_run_id bigint) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._runs_lock_now(p_tenant_id integer, p_run_ids bigint[])
create function stepwell._runs_lock_now(p_tenant_id integer, p_run_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._runs_lock_up(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._runs_lock_up(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._runs_newest(p_tenant_id integer, p_after bigint, p_limit integer)
create function stepwell._runs_newest(p_tenant_id integer, p_after bigint, p_limit integer) returns SETOF stepwell.v_run_listed language plpgsql stable set search_path=stepwell, pg_temp set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_hashjoin=off set enable_mergejoin=off set random_page_cost=0.01 set join_collapse_limit=1 set jit=off;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._runs_query(p_filter jsonb)
create function stepwell._runs_query(p_filter jsonb) returns text language plpgsql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._runs_remove(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._runs_remove(p_tenant_ids integer[], p_unit_ids bigint[]) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._runs_settle(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._runs_settle(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._runs_start(p_tenant_id integer, p_workflow_name text, p_inputs jsonb[], p_trigger_refs text[], p_trigger_type text, p_actor text, p_version_no integer, p_priority integer, p_trace_id text, p_correlation_id text, p_is_watched boolean, p_session_id bigint, p_executor_class_ids integer[], p_direct_limit integer, p_handler_ids integer[], p_workspace text, p_is_emit boolean, OUT new_ids bigint[], OUT direct_ids bigint[], OUT leaves_more boolean)
create function stepwell._runs_start(p_tenant_id integer, p_workflow_name text, p_inputs jsonb[], p_trigger_refs text[], p_trigger_type text, p_actor text, p_version_no integer, p_priority integer, p_trace_id text, p_correlation_id text, p_is_watched boolean, p_session_id bigint, p_executor_class_ids integer[], p_direct_limit integer, p_handler_ids integer[], p_workspace text, p_is_emit boolean, OUT new_ids bigint[], OUT direct_ids bigint[], OUT leaves_more boolean) returns record language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._runs_started(p_tenant_id integer, p_trigger_type text, p_trigger_refs text[], p_new_ids bigint[])
create function stepwell._runs_started(p_tenant_id integer, p_trigger_type text, p_trigger_refs text[], p_new_ids bigint[]) returns TABLE(run_id bigint, is_new boolean) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._schema_alternatives_problem(p_schema jsonb, p_value jsonb, p_path text, p_root jsonb, p_hops integer)
create function stepwell._schema_alternatives_problem(p_schema jsonb, p_value jsonb, p_path text, p_root jsonb, p_hops integer) returns text language plpgsql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._schema_array_problem(p_schema jsonb, p_value jsonb, p_path text, p_root jsonb)
create function stepwell._schema_array_problem(p_schema jsonb, p_value jsonb, p_path text, p_root jsonb) returns text language plpgsql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._schema_number_problem(p_schema jsonb, p_value numeric, p_path text)
create function stepwell._schema_number_problem(p_schema jsonb, p_value numeric, p_path text) returns text language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._schema_object_problem(p_schema jsonb, p_value jsonb, p_path text, p_root jsonb)
create function stepwell._schema_object_problem(p_schema jsonb, p_value jsonb, p_path text, p_root jsonb) returns text language plpgsql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._schema_problem(p_schema jsonb, p_value jsonb, p_path text, p_root jsonb, p_hops integer)
create function stepwell._schema_problem(p_schema jsonb, p_value jsonb, p_path text, p_root jsonb, p_hops integer) returns text language plpgsql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._schema_ref_path(p_ref text)
create function stepwell._schema_ref_path(p_ref text) returns text[] language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._schema_refusal(p_schema jsonb, p_path text)
create function stepwell._schema_refusal(p_schema jsonb, p_path text) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._schema_text_problem(p_schema jsonb, p_value text, p_path text)
create function stepwell._schema_text_problem(p_schema jsonb, p_value text, p_path text) returns text language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._seconds_problem(p_field text, p_value jsonb)
create function stepwell._seconds_problem(p_field text, p_value jsonb) returns text language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._secret_number()
create function stepwell._secret_number() returns bigint language sql set search_path=stepwell, pg_temp;

-- function: stepwell._secret_refuse(p_field text, p_text text)
create function stepwell._secret_refuse(p_field text, p_text text) returns void language plpgsql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._sent_size(p_value jsonb)
create function stepwell._sent_size(p_value jsonb) returns integer language sql stable;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._session_id_of(p_session_key bigint)
create function stepwell._session_id_of(p_session_key bigint) returns bigint language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._session_of(p_session_key bigint, OUT session_id bigint, OUT executor_class_ids integer[], OUT is_idle boolean, OUT handler_ids integer[], OUT now timestamp with time zone)
create function stepwell._session_of(p_session_key bigint, OUT session_id bigint, OUT executor_class_ids integer[], OUT is_idle boolean, OUT handler_ids integer[], OUT now timestamp with time zone) returns record language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._session_open(p_tenant_id integer, p_principal_id bigint, p_address text, p_user_agent text)
create function stepwell._session_open(p_tenant_id integer, p_principal_id bigint, p_address text, p_user_agent text) returns TABLE(token_id bigint, token text, expires_at timestamp with time zone) language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._session_release(p_session_id bigint)
create function stepwell._session_release(p_session_id bigint) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._session_seen(p_tenant_id integer, p_token_id bigint)
create function stepwell._session_seen(p_tenant_id integer, p_token_id bigint) returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell._sessions_end(p_session_ids bigint[])
create function stepwell._sessions_end(p_session_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._sessions_lock_gone(p_now timestamp with time zone, p_limit integer)
create function stepwell._sessions_lock_gone(p_now timestamp with time zone, p_limit integer) returns bigint[] language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._setting_changed()
create function stepwell._setting_changed() returns trigger language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._settled_result_check(p_outcome text, p_result jsonb)
create function stepwell._settled_result_check(p_outcome text, p_result jsonb) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._shares_of(p_turns stepwell.tenant_turn[], p_open integer[], p_limit integer)
create function stepwell._shares_of(p_turns stepwell.tenant_turn[], p_open integer[], p_limit integer) returns TABLE(turn_no integer, share integer) language plpgsql;

-- function: stepwell._shown_rules()
create function stepwell._shown_rules() returns TABLE(table_name text, condition text) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._sign_in_failed(p_tenant_id integer, p_name_key text, p_address text)
create function stepwell._sign_in_failed(p_tenant_id integer, p_name_key text, p_address text) returns timestamp with time zone language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._sign_in_pause(p_tenant_id integer, p_name_key text, p_address text)
create function stepwell._sign_in_pause(p_tenant_id integer, p_name_key text, p_address text) returns timestamp with time zone language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._sign_ins_end(p_principal stepwell.principal, p_keep_id bigint, p_only_id bigint)
create function stepwell._sign_ins_end(p_principal stepwell.principal, p_keep_id bigint, p_only_id bigint) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._signal_check(p_root stepwell.work_unit)
create function stepwell._signal_check(p_root stepwell.work_unit) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._signal_problem(p_field text, p_value jsonb)
create function stepwell._signal_problem(p_field text, p_value jsonb) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._site_extend(p_at jsonb, p_suffix text)
create function stepwell._site_extend(p_at jsonb, p_suffix text) returns jsonb language sql immutable;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._site_inside(p_at jsonb, p_is_filter boolean)
create function stepwell._site_inside(p_at jsonb, p_is_filter boolean) returns jsonb language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._site_outside(p_before jsonb, p_at jsonb)
create function stepwell._site_outside(p_before jsonb, p_at jsonb) returns jsonb language sql immutable;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._site_refusal(p_site jsonb)
create function stepwell._site_refusal(p_site jsonb) returns text language sql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._sites_of(p_at jsonb)
create function stepwell._sites_of(p_at jsonb) returns jsonb[] language sql immutable;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._slack_card_approval(p_tenant_id integer, p_approval_id bigint)
create function stepwell._slack_card_approval(p_tenant_id integer, p_approval_id bigint) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._slack_card_face(p_tenant_id integer, p_approval_id bigint)
create function stepwell._slack_card_face(p_tenant_id integer, p_approval_id bigint) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._slice(p_part integer)
create function stepwell._slice(p_part integer) returns bigint language sql stable;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._slice_faults(p_tenant_id integer, p_from_id bigint, p_upto_id bigint)
create function stepwell._slice_faults(p_tenant_id integer, p_from_id bigint, p_upto_id bigint) returns TABLE(invariant text, unit_id bigint, fault text) language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._slice_next(p_tenant_id integer, p_unit_id bigint, p_run_count integer, OUT tenant_id integer, OUT from_id bigint, OUT upto_id bigint, OUT run_count integer)
create function stepwell._slice_next(p_tenant_id integer, p_unit_id bigint, p_run_count integer, OUT tenant_id integer, OUT from_id bigint, OUT upto_id bigint, OUT run_count integer) returns record language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._slot_bound_set(p_tenant_id integer, p_slot_key text, p_max_count integer)
create function stepwell._slot_bound_set(p_tenant_id integer, p_slot_key text, p_max_count integer) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._slot_holders(p_tenant_id integer, p_slot_key text)
create function stepwell._slot_holders(p_tenant_id integer, p_slot_key text) returns TABLE(unit_id bigint) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._slot_key(p_tenant_id integer, p_slot_key text, p_max_count integer)
create function stepwell._slot_key(p_tenant_id integer, p_slot_key text, p_max_count integer) returns text language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._slot_place(p_tenant_id integer, p_slot_key text)
create function stepwell._slot_place(p_tenant_id integer, p_slot_key text) returns text language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._slot_set(p_tenant_id integer, p_slot_key text, p_max_count integer, p_rate_count integer, p_rate_seconds double precision)
create function stepwell._slot_set(p_tenant_id integer, p_slot_key text, p_max_count integer, p_rate_count integer, p_rate_seconds double precision) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._slots_change(p_freed_tenant_ids integer[], p_freed_ids bigint[], p_taking_tenant_ids integer[], p_taking_ids bigint[])
create function stepwell._slots_change(p_freed_tenant_ids integer[], p_freed_ids bigint[], p_taking_tenant_ids integer[], p_taking_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._slots_fill(p_tenant_ids integer[], p_keys text[], p_freed_counts integer[], p_token_counts integer[])
create function stepwell._slots_fill(p_tenant_ids integer[], p_keys text[], p_freed_counts integer[], p_token_counts integer[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._slots_free(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._slots_free(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell._slots_lock(p_tenant_ids integer[], p_keys text[])
create function stepwell._slots_lock(p_tenant_ids integer[], p_keys text[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._slots_pass(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._slots_pass(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._slots_take(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._slots_take(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell._stage_of(p_place bigint, p_sizes integer[])
create function stepwell._stage_of(p_place bigint, p_sizes integer[]) returns integer language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._stamp_of(p_bound text)
create function stepwell._stamp_of(p_bound text) returns text language plpgsql stable parallel restricted set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._stamp_with(p_secret bytea, p_bound text)
create function stepwell._stamp_with(p_secret bytea, p_bound text) returns text language sql stable parallel restricted;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._start_input_check(p_inputs jsonb[], p_trigger_refs text[], p_priority integer, p_trace_id text)
create function stepwell._start_input_check(p_inputs jsonb[], p_trigger_refs text[], p_priority integer, p_trace_id text) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._start_maps_check(p_version stepwell.workflow_version, p_inputs jsonb[])
create function stepwell._start_maps_check(p_version stepwell.workflow_version, p_inputs jsonb[]) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._start_rate_check(p_tenant_id integer, p_workflow_id integer, p_now timestamp with time zone)
create function stepwell._start_rate_check(p_tenant_id integer, p_workflow_id integer, p_now timestamp with time zone) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._start_schema_check(p_tenant_id integer, p_schema jsonb, p_inputs jsonb[], p_trigger_type text, p_trigger_refs text[])
create function stepwell._start_schema_check(p_tenant_id integer, p_schema jsonb, p_inputs jsonb[], p_trigger_type text, p_trigger_refs text[]) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._startable_find(p_tenant_id integer, p_workflow_name text, p_version_no integer)
create function stepwell._startable_find(p_tenant_id integer, p_workflow_name text, p_version_no integer) returns stepwell.workflow_version language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._state_change(p_run_id bigint, p_run_kind text, p_from_state text, p_to_state text, p_actor_class text, p_trigger_kind text, p_trigger_ref text, p_evidence jsonb, p_preview boolean, p_tenant_id integer)
create function stepwell._state_change(p_run_id bigint, p_run_kind text, p_from_state text, p_to_state text, p_actor_class text, p_trigger_kind text, p_trigger_ref text, p_evidence jsonb, p_preview boolean, p_tenant_id integer) returns jsonb language plpgsql set search_path=stepwell, pg_temp set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_hashjoin=off set enable_mergejoin=off set random_page_cost=0.01 set join_collapse_limit=1 set jit=off;

-- function: stepwell._state_word(p_machine_id text, p_state_code text, p_lang text)
create function stepwell._state_word(p_machine_id text, p_state_code text, p_lang text) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._step_actor_check(p_tenant_id integer, p_unit_id bigint, p_actor text, p_guard text)
create function stepwell._step_actor_check(p_tenant_id integer, p_unit_id bigint, p_actor text, p_guard text) returns bigint language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._step_answer(p_tenant_id integer, p_unit_id bigint, p_call text, p_key text)
create function stepwell._step_answer(p_tenant_id integer, p_unit_id bigint, p_call text, p_key text) returns jsonb language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._step_asks(p_unit stepwell.work_unit)
create function stepwell._step_asks(p_unit stepwell.work_unit) returns TABLE(step_kind text, role text, assignee text, form jsonb, config jsonb, name text) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._step_attempts(p_tenant_id integer, p_unit_id bigint, p_state_code text)
create function stepwell._step_attempts(p_tenant_id integer, p_unit_id bigint, p_state_code text) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._step_candidate(p_unit stepwell.work_unit, p_person_id bigint)
create function stepwell._step_candidate(p_unit stepwell.work_unit, p_person_id bigint) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._step_candidate_check(p_unit stepwell.work_unit, p_person_id bigint)
create function stepwell._step_candidate_check(p_unit stepwell.work_unit, p_person_id bigint) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._step_continue(p_tenant_id integer, p_unit_id bigint, p_actor text, p_resolution_ref text, p_key text, p_call text, p_actor_class text, p_trigger_ref text)
create function stepwell._step_continue(p_tenant_id integer, p_unit_id bigint, p_actor text, p_resolution_ref text, p_key text, p_call text, p_actor_class text, p_trigger_ref text) returns jsonb language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._step_enter(p_tenant_id integer, p_unit_id bigint, p_call text, p_key text)
create function stepwell._step_enter(p_tenant_id integer, p_unit_id bigint, p_call text, p_key text) returns jsonb language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._step_evaluate(p_tenant_id integer, p_unit_id bigint, p_kind text, p_config jsonb, p_inputs jsonb, p_is_alone boolean, OUT value jsonb, OUT problem text, OUT is_costly boolean)
create function stepwell._step_evaluate(p_tenant_id integer, p_unit_id bigint, p_kind text, p_config jsonb, p_inputs jsonb, p_is_alone boolean, OUT value jsonb, OUT problem text, OUT is_costly boolean) returns record language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._step_events(p_tenant_id integer, p_unit_id bigint, p_before bigint, p_limit integer)
create function stepwell._step_events(p_tenant_id integer, p_unit_id bigint, p_before bigint, p_limit integer) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._step_expressions(p_step jsonb)
create function stepwell._step_expressions(p_step jsonb) returns TABLE(field text, path text) language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._step_is_own(p_tenant_id integer, p_unit_id bigint)
create function stepwell._step_is_own(p_tenant_id integer, p_unit_id bigint) returns boolean language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._step_key(p_version_id integer, p_step_no integer)
create function stepwell._step_key(p_version_id integer, p_step_no integer) returns bigint language sql immutable parallel safe;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._step_leave(p_tenant_id integer, p_unit_id bigint, p_call text, p_key text, p_answer jsonb)
create function stepwell._step_leave(p_tenant_id integer, p_unit_id bigint, p_call text, p_key text, p_answer jsonb) returns jsonb language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._step_maps_input(p_step jsonb)
create function stepwell._step_maps_input(p_step jsonb) returns boolean language sql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._step_move(p_tenant_id integer, p_unit_id bigint, p_to_state text, p_actor_class text, p_trigger_kind text, p_trigger_ref text, p_actor text, p_evidence jsonb, p_payload jsonb)
create function stepwell._step_move(p_tenant_id integer, p_unit_id bigint, p_to_state text, p_actor_class text, p_trigger_kind text, p_trigger_ref text, p_actor text, p_evidence jsonb, p_payload jsonb) returns jsonb language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._step_overseer(p_unit stepwell.work_unit, p_person_id bigint)
create function stepwell._step_overseer(p_unit stepwell.work_unit, p_person_id bigint) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._step_people_check(p_unit stepwell.work_unit)
create function stepwell._step_people_check(p_unit stepwell.work_unit) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._step_pic_check(p_tenant_id integer, p_unit_id bigint, p_actor text)
create function stepwell._step_pic_check(p_tenant_id integer, p_unit_id bigint, p_actor text) returns bigint language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._step_way_out(p_tenant_id integer, p_unit_id bigint, p_with_actions boolean)
create function stepwell._step_way_out(p_tenant_id integer, p_unit_id bigint, p_with_actions boolean) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._steps_abort(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._steps_abort(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._steps_behind(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._steps_behind(p_tenant_ids integer[], p_unit_ids bigint[]) returns TABLE(tenant_id integer, waiting_id bigint, unit_id bigint) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._steps_defer(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._steps_defer(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._steps_read(p_tenant_id integer, p_version_id integer, p_first_id bigint, p_step_nos integer[])
create function stepwell._steps_read(p_tenant_id integer, p_version_id integer, p_first_id bigint, p_step_nos integer[]) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._steps_resume(p_tenant_ids integer[], p_unit_ids bigint[], p_bodies jsonb[])
create function stepwell._steps_resume(p_tenant_ids integer[], p_unit_ids bigint[], p_bodies jsonb[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._steps_take_back(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._steps_take_back(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell._stop_check(p_tenant_id integer, p_actor text, p_reason text)
create function stepwell._stop_check(p_tenant_id integer, p_actor text, p_reason text) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._stop_end(p_tenant_id integer, p_stop_kind text, p_worker_name text, p_executor_class_id integer, p_actor text, p_reason text)
create function stepwell._stop_end(p_tenant_id integer, p_stop_kind text, p_worker_name text, p_executor_class_id integer, p_actor text, p_reason text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._stop_put(p_tenant_id integer, p_stop_kind text, p_worker_name text, p_executor_class_id integer, p_actor text, p_reason text)
create function stepwell._stop_put(p_tenant_id integer, p_stop_kind text, p_worker_name text, p_executor_class_id integer, p_actor text, p_reason text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._stop_tell(p_tenant_id integer, p_event_type text, p_worker_name text, p_executor_class_id integer, p_actor text, p_reason text)
create function stepwell._stop_tell(p_tenant_id integer, p_event_type text, p_worker_name text, p_executor_class_id integer, p_actor text, p_reason text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._stop_told(p_stop_id bigint, OUT stopped_by text, OUT reason text)
create function stepwell._stop_told(p_stop_id bigint, OUT stopped_by text, OUT reason text) returns record language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._stoppable(p_worker_id bigint, p_stop_kind text, OUT worker_name text, OUT closed_at timestamp with time zone)
create function stepwell._stoppable(p_worker_id bigint, p_stop_kind text, OUT worker_name text, OUT closed_at timestamp with time zone) returns record language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._stops_lock(p_tenant_id integer)
create function stepwell._stops_lock(p_tenant_id integer) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._subrun_problem(p_version stepwell.workflow_version, p_depth integer, p_limit integer, p_input jsonb, p_problem text, p_exists boolean, OUT failure_class text, OUT problem text)
create function stepwell._subrun_problem(p_version stepwell.workflow_version, p_depth integer, p_limit integer, p_input jsonb, p_problem text, p_exists boolean, OUT failure_class text, OUT problem text) returns record language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._subrun_state(p_colour text)
create function stepwell._subrun_state(p_colour text) returns text language sql immutable parallel safe set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._subrun_state_set(p_tenant_id integer, p_unit_id bigint, p_run_id bigint, p_state_code text)
create function stepwell._subrun_state_set(p_tenant_id integer, p_unit_id bigint, p_run_id bigint, p_state_code text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._subrun_states_show(p_tenant_ids integer[], p_run_ids bigint[])
create function stepwell._subrun_states_show(p_tenant_ids integer[], p_run_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._subrun_steps_continue(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._subrun_steps_continue(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._subruns_cancel(p_tenant_id integer, p_unit_ids bigint[], p_actor text, p_reason text)
create function stepwell._subruns_cancel(p_tenant_id integer, p_unit_ids bigint[], p_actor text, p_reason text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._subruns_count(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._subruns_count(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._subruns_create(p_tenant_id integer, p_workflow_name text, p_unit_ids bigint[], p_inputs jsonb[], p_problems text[])
create function stepwell._subruns_create(p_tenant_id integer, p_workflow_name text, p_unit_ids bigint[], p_inputs jsonb[], p_problems text[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._subruns_end(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._subruns_end(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._subruns_insert(p_version stepwell.workflow_version, p_tenant_ids integer[], p_unit_ids bigint[], p_inputs jsonb[], OUT run_ids bigint[], OUT parent_ids bigint[])
create function stepwell._subruns_insert(p_version stepwell.workflow_version, p_tenant_ids integer[], p_unit_ids bigint[], p_inputs jsonb[], OUT run_ids bigint[], OUT parent_ids bigint[]) returns record language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._subruns_open(p_tenant_id integer, p_run_id bigint, p_unit_ids bigint[])
create function stepwell._subruns_open(p_tenant_id integer, p_run_id bigint, p_unit_ids bigint[]) returns bigint[] language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._subruns_refuse(p_tenant_id integer, p_unit_ids bigint[], p_inputs jsonb[], p_problems text[], p_version stepwell.workflow_version, p_missing text)
create function stepwell._subruns_refuse(p_tenant_id integer, p_unit_ids bigint[], p_inputs jsonb[], p_problems text[], p_version stepwell.workflow_version, p_missing text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._subruns_start(p_tenant_ids integer[], p_unit_ids bigint[], p_values jsonb[], p_problems text[])
create function stepwell._subruns_start(p_tenant_ids integer[], p_unit_ids bigint[], p_values jsonb[], p_problems text[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._successors_release(p_session_id bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_executor_class_ids integer[], p_direct_limit integer, p_handler_ids integer[], OUT held_ids bigint[], OUT has_contract boolean, OUT completions stepwell.transition_request[], OUT releases stepwell.transition_request[], OUT direct_count integer, OUT has_engine_steps boolean, OUT has_slots boolean, OUT has_foreign_steps boolean, OUT queue_is_empty boolean, OUT is_capped boolean)
create function stepwell._successors_release(p_session_id bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_executor_class_ids integer[], p_direct_limit integer, p_handler_ids integer[], OUT held_ids bigint[], OUT has_contract boolean, OUT completions stepwell.transition_request[], OUT releases stepwell.transition_request[], OUT direct_count integer, OUT has_engine_steps boolean, OUT has_slots boolean, OUT has_foreign_steps boolean, OUT queue_is_empty boolean, OUT is_capped boolean) returns record language plpgsql;

-- function: stepwell._summaries_forget(p_now timestamp with time zone, p_limit integer)
create function stepwell._summaries_forget(p_now timestamp with time zone, p_limit integer) returns bigint language sql set search_path=stepwell, pg_temp;

-- function: stepwell._summary_category(p_tenant_id integer, p_subject_kind text, p_subject text)
create function stepwell._summary_category(p_tenant_id integer, p_subject_kind text, p_subject text) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._summary_open_problem(p_tenant_id integer, p_subject_kind text, p_subject text)
create function stepwell._summary_open_problem(p_tenant_id integer, p_subject_kind text, p_subject text) returns bigint language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._summary_problem(p_tenant_id integer, p_colour text, p_sentence_en text, p_sentence_vi text, p_count integer, p_total integer, p_refs text[], p_start_at timestamp with time zone, p_end_at timestamp with time zone, p_version text)
create function stepwell._summary_problem(p_tenant_id integer, p_colour text, p_sentence_en text, p_sentence_vi text, p_count integer, p_total integer, p_refs text[], p_start_at timestamp with time zone, p_end_at timestamp with time zone, p_version text) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._summary_put(p_tenant_id integer, p_subject_kind text, p_subject text, p_colour text, p_sentence_en text, p_sentence_vi text, p_source_event_count integer, p_source_event_total integer, p_source_event_refs text[], p_window_start_at timestamp with time zone, p_window_end_at timestamp with time zone, p_summarizer_kind text, p_summarizer_ref text, p_summarizer_version text, p_confidence real, p_actor text)
create function stepwell._summary_put(p_tenant_id integer, p_subject_kind text, p_subject text, p_colour text, p_sentence_en text, p_sentence_vi text, p_source_event_count integer, p_source_event_total integer, p_source_event_refs text[], p_window_start_at timestamp with time zone, p_window_end_at timestamp with time zone, p_summarizer_kind text, p_summarizer_ref text, p_summarizer_version text, p_confidence real, p_actor text) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._summary_refs_problem(p_tenant_id integer, p_refs text[], p_start_at timestamp with time zone, p_end_at timestamp with time zone)
create function stepwell._summary_refs_problem(p_tenant_id integer, p_refs text[], p_start_at timestamp with time zone, p_end_at timestamp with time zone) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._summary_resolves_nothing(p_tenant_id integer, p_subject_kind text, p_subject text, p_summarizer text)
create function stepwell._summary_resolves_nothing(p_tenant_id integer, p_subject_kind text, p_subject text, p_summarizer text) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._surface_refuse()
create function stepwell._surface_refuse() returns trigger language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._takes_kept(p_takes jsonb)
create function stepwell._takes_kept(p_takes jsonb) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._target_readings(p_target text)
create function stepwell._target_readings(p_target text) returns text[] language sql immutable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._tasks_begin(p_tenant_id integer, p_step_ids bigint[])
create function stepwell._tasks_begin(p_tenant_id integer, p_step_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._tasks_cancel(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._tasks_cancel(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._tasks_fail(p_tenant_id integer, p_unit_ids bigint[], p_problems text[])
create function stepwell._tasks_fail(p_tenant_id integer, p_unit_ids bigint[], p_problems text[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._tasks_open(p_tenant_id integer, p_step_run_id bigint, p_tasks jsonb)
create function stepwell._tasks_open(p_tenant_id integer, p_step_run_id bigint, p_tasks jsonb) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._tasks_reinstate(p_tenant_id integer, p_step_ids bigint[], p_actor text, p_evidence jsonb)
create function stepwell._tasks_reinstate(p_tenant_id integer, p_step_ids bigint[], p_actor text, p_evidence jsonb) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._template_graph(p_template jsonb)
create function stepwell._template_graph(p_template jsonb) returns jsonb language sql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._template_inputs_problem(p_template jsonb, p_job jsonb)
create function stepwell._template_inputs_problem(p_template jsonb, p_job jsonb) returns text language plpgsql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._template_job_problem(p_job jsonb)
create function stepwell._template_job_problem(p_job jsonb) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._template_jobs_problem(p_tenant_id integer, p_template jsonb)
create function stepwell._template_jobs_problem(p_tenant_id integer, p_template jsonb) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._template_parents_problem(p_jobs jsonb, p_numbers jsonb)
create function stepwell._template_parents_problem(p_jobs jsonb, p_numbers jsonb) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._template_problem(p_template jsonb)
create function stepwell._template_problem(p_template jsonb) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._template_work_problem(p_tenant_id integer, p_job jsonb)
create function stepwell._template_work_problem(p_tenant_id integer, p_job jsonb) returns text language plpgsql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._tenant_bound(p_tenant_id integer, p_actor text)
create function stepwell._tenant_bound(p_tenant_id integer, p_actor text) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._tenant_leases_note(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._tenant_leases_note(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._tenant_room(p_tenant_id integer, p_max_concurrency integer, p_may_wait boolean)
create function stepwell._tenant_room(p_tenant_id integer, p_max_concurrency integer, p_may_wait boolean) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._tenant_summaries(p_tenant_id integer, p_now timestamp with time zone)
create function stepwell._tenant_summaries(p_tenant_id integer, p_now timestamp with time zone) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._text_fill(p_text_key text, p_lang text, p_facts jsonb)
create function stepwell._text_fill(p_text_key text, p_lang text, p_facts jsonb) returns text language plpgsql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._texts_of(p_array jsonb)
create function stepwell._texts_of(p_array jsonb) returns text[] language plpgsql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._timers_fire(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._timers_fire(p_tenant_ids integer[], p_unit_ids bigint[]) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._timers_lock(p_now timestamp with time zone, p_limit integer, OUT tenant_ids integer[], OUT unit_ids bigint[], OUT is_behind boolean)
create function stepwell._timers_lock(p_now timestamp with time zone, p_limit integer, OUT tenant_ids integer[], OUT unit_ids bigint[], OUT is_behind boolean) returns record language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._timers_people(p_timer_kind text, p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._timers_people(p_timer_kind text, p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._title_of(p_tenant_id integer, p_unit_id bigint, p_lang text)
create function stepwell._title_of(p_tenant_id integer, p_unit_id bigint, p_lang text) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._token_bound(p_token_hash bytea, OUT tenant_id integer, OUT principal_id bigint, OUT principal_name text, OUT token_id bigint)
create function stepwell._token_bound(p_token_hash bytea, OUT tenant_id integer, OUT principal_id bigint, OUT principal_name text, OUT token_id bigint) returns record language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._token_check(p_tenant_id integer, p_principal_id bigint, p_label text, p_expires_seconds integer, p_verbs text[], p_kind text)
create function stepwell._token_check(p_tenant_id integer, p_principal_id bigint, p_label text, p_expires_seconds integer, p_verbs text[], p_kind text) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._too_large(p_what text, p_bytes bigint, p_limit integer)
create function stepwell._too_large(p_what text, p_bytes bigint, p_limit integer) returns text language sql immutable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._transaction_holder(p_transaction xid)
create function stepwell._transaction_holder(p_transaction xid) returns TABLE(pid integer, program text, since_at timestamp with time zone) language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._transition_apply(p_requests stepwell.transition_request[], p_cause stepwell.transition_cause, OUT applied_count integer, OUT applied_ids bigint[], OUT slot_tenant_ids integer[], OUT slot_ids bigint[], OUT direct_ids bigint[], OUT due_tenant_ids integer[], OUT due_ids bigint[])
create function stepwell._transition_apply(p_requests stepwell.transition_request[], p_cause stepwell.transition_cause, OUT applied_count integer, OUT applied_ids bigint[], OUT slot_tenant_ids integer[], OUT slot_ids bigint[], OUT direct_ids bigint[], OUT due_tenant_ids integer[], OUT due_ids bigint[]) returns record language plpgsql;

-- function: stepwell._transition_judge(p_requests stepwell.transition_request[], p_cause stepwell.transition_cause, p_applied_ids bigint[])
create function stepwell._transition_judge(p_requests stepwell.transition_request[], p_cause stepwell.transition_cause, p_applied_ids bigint[]) returns TABLE(unit_id bigint, transition_id text, event_type text, problems text[]) language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._transition_named(p_machine_id text, p_from_state text, p_to_state text, p_actor_class text)
create function stepwell._transition_named(p_machine_id text, p_from_state text, p_to_state text, p_actor_class text) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._transition_problems(p_unit stepwell.work_unit, p_rule stepwell.transition_rule, p_from_state text, p_to_state text, p_evidence jsonb, p_payload jsonb, p_released_count integer, p_lease_no integer, p_actor_class text, p_by_engine boolean, p_trigger_kind text, p_trigger_ref text, p_session_id bigint, p_now timestamp with time zone, p_preview boolean)
create function stepwell._transition_problems(p_unit stepwell.work_unit, p_rule stepwell.transition_rule, p_from_state text, p_to_state text, p_evidence jsonb, p_payload jsonb, p_released_count integer, p_lease_no integer, p_actor_class text, p_by_engine boolean, p_trigger_kind text, p_trigger_ref text, p_session_id bigint, p_now timestamp with time zone, p_preview boolean) returns text language sql;

-- function: stepwell._trigger_body(p_body bytea)
create function stepwell._trigger_body(p_body bytea) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._trigger_check(p_tenant_id integer, p_name text, p_settings jsonb)
create function stepwell._trigger_check(p_tenant_id integer, p_name text, p_settings jsonb) returns void language plpgsql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._trigger_run(p_tenant_id integer, p_workflow_name text, p_key text)
create function stepwell._trigger_run(p_tenant_id integer, p_workflow_name text, p_key text) returns bigint language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._trigger_value(p_body jsonb, p_path text, p_name text)
create function stepwell._trigger_value(p_body jsonb, p_path text, p_name text) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._turn_take(p_executor_class_ids integer[], p_handler_ids integer[], p_tenant_id integer, p_workspace_id integer, p_limit integer, OUT unit_ids bigint[], OUT retry_ids bigint[])
create function stepwell._turn_take(p_executor_class_ids integer[], p_handler_ids integer[], p_tenant_id integer, p_workspace_id integer, p_limit integer, OUT unit_ids bigint[], OUT retry_ids bigint[]) returns record language plpgsql;

-- function: stepwell._turn_take_free(p_executor_class_ids integer[], p_handler_ids integer[], p_tenant_id integer, p_workspace_id integer, p_limit integer, OUT unit_ids bigint[], OUT retry_ids bigint[])
create function stepwell._turn_take_free(p_executor_class_ids integer[], p_handler_ids integer[], p_tenant_id integer, p_workspace_id integer, p_limit integer, OUT unit_ids bigint[], OUT retry_ids bigint[]) returns record language plpgsql;

-- function: stepwell._turns_find(p_executor_class_ids integer[], p_tenant_id integer, p_workspace_id integer, p_count integer)
create function stepwell._turns_find(p_executor_class_ids integer[], p_tenant_id integer, p_workspace_id integer, p_count integer) returns stepwell.tenant_turn[] language plpgsql;

-- function: stepwell._turns_quota(p_turns stepwell.tenant_turn[], p_window integer)
create function stepwell._turns_quota(p_turns stepwell.tenant_turn[], p_window integer) returns integer language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._turns_take(p_turns stepwell.tenant_turn[], p_executor_class_ids integer[], p_handler_ids integer[], p_limit integer, p_may_wait boolean, OUT tenant_ids integer[], OUT unit_ids bigint[], OUT retry_ids bigint[])
create function stepwell._turns_take(p_turns stepwell.tenant_turn[], p_executor_class_ids integer[], p_handler_ids integer[], p_limit integer, p_may_wait boolean, OUT tenant_ids integer[], OUT unit_ids bigint[], OUT retry_ids bigint[]) returns record language plpgsql;

-- function: stepwell._unblock_expected(p_unit stepwell.work_unit, p_facts jsonb, OUT expected_at timestamp with time zone, OUT past_runs integer)
create function stepwell._unblock_expected(p_unit stepwell.work_unit, p_facts jsonb, OUT expected_at timestamp with time zone, OUT past_runs integer) returns record language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._unblock_help(p_unit stepwell.work_unit, p_cause text, p_facts jsonb, OUT action text, OUT target_id bigint, OUT call_path text, OUT needs text[], OUT command text)
create function stepwell._unblock_help(p_unit stepwell.work_unit, p_cause text, p_facts jsonb, OUT action text, OUT target_id bigint, OUT call_path text, OUT needs text[], OUT command text) returns record language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._unblock_next(p_unit stepwell.work_unit, p_code text)
create function stepwell._unblock_next(p_unit stepwell.work_unit, p_code text) returns bigint language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._unit_cancel_check(p_unit stepwell.work_unit)
create function stepwell._unit_cancel_check(p_unit stepwell.work_unit) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._unit_change(p_unit stepwell.work_unit, p_requests stepwell.transition_request[], p_cause stepwell.transition_cause)
create function stepwell._unit_change(p_unit stepwell.work_unit, p_requests stepwell.transition_request[], p_cause stepwell.transition_cause) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._unit_document(p_tenant_id integer, p_unit_id bigint, p_step_nos integer[])
create function stepwell._unit_document(p_tenant_id integer, p_unit_id bigint, p_step_nos integer[]) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._unit_name(p_unit stepwell.work_unit)
create function stepwell._unit_name(p_unit stepwell.work_unit) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._unit_no(p_unit_id bigint)
create function stepwell._unit_no(p_unit_id bigint) returns integer language sql immutable parallel safe;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._unit_ref(p_unit_id bigint)
create function stepwell._unit_ref(p_unit_id bigint) returns text language sql immutable parallel safe set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._unit_retry_check(p_unit stepwell.work_unit)
create function stepwell._unit_retry_check(p_unit stepwell.work_unit) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._unit_set_aside(p_tenant_id integer, p_unit_id bigint, p_duty text, p_error_code text, p_reason text)
create function stepwell._unit_set_aside(p_tenant_id integer, p_unit_id bigint, p_duty text, p_error_code text, p_reason text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._unit_shown_check(p_tenant_id integer, p_unit_id bigint)
create function stepwell._unit_shown_check(p_tenant_id integer, p_unit_id bigint) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._units_after(p_tenant_id integer, p_unit_id bigint, p_version_id integer, p_def_no integer)
create function stepwell._units_after(p_tenant_id integer, p_unit_id bigint, p_version_id integer, p_def_no integer) returns SETOF bigint language sql stable set search_path=stepwell, pg_temp set enable_seqscan=off;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._units_bury(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._units_bury(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._units_delete(p_tenant_ids integer[], p_run_ids bigint[])
create function stepwell._units_delete(p_tenant_ids integer[], p_run_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._units_dequeue(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._units_dequeue(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._units_fail(p_tenant_ids integer[], p_unit_ids bigint[], p_bodies jsonb[], p_actor_class text, p_session_id bigint)
create function stepwell._units_fail(p_tenant_ids integer[], p_unit_ids bigint[], p_bodies jsonb[], p_actor_class text, p_session_id bigint) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._units_isolate(p_routine text, p_duty text, p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._units_isolate(p_routine text, p_duty text, p_tenant_ids integer[], p_unit_ids bigint[]) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._units_lock_free(p_tenant_ids integer[], p_unit_ids bigint[], OUT tenant_ids integer[], OUT unit_ids bigint[], OUT is_short boolean)
create function stepwell._units_lock_free(p_tenant_ids integer[], p_unit_ids bigint[], OUT tenant_ids integer[], OUT unit_ids bigint[], OUT is_short boolean) returns record language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._units_move(p_tenant_ids integer[], p_unit_ids bigint[], p_to_state text, p_actor_class text, p_trigger_kind text, p_trigger_ref text, p_actor text, p_evidence jsonb[], p_payloads jsonb[], p_released_counts integer[], p_session_id bigint)
create function stepwell._units_move(p_tenant_ids integer[], p_unit_ids bigint[], p_to_state text, p_actor_class text, p_trigger_kind text, p_trigger_ref text, p_actor text, p_evidence jsonb[], p_payloads jsonb[], p_released_counts integer[], p_session_id bigint) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._units_overdue(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._units_overdue(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._units_park(p_tenant_ids integer[], p_unit_ids bigint[], p_bodies jsonb[], p_session_id bigint)
create function stepwell._units_park(p_tenant_ids integer[], p_unit_ids bigint[], p_bodies jsonb[], p_session_id bigint) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._units_queue(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._units_queue(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._units_ready(p_tenant_ids integer[], p_unit_ids bigint[], p_released_counts integer[], p_has_engine_steps boolean, p_has_slots boolean)
create function stepwell._units_ready(p_tenant_ids integer[], p_unit_ids bigint[], p_released_counts integer[], p_has_engine_steps boolean, p_has_slots boolean) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._units_wake(p_tenant_ids integer[], p_unit_ids bigint[], p_task_type text, p_event_type text, p_payloads jsonb[], p_refs text[])
create function stepwell._units_wake(p_tenant_ids integer[], p_unit_ids bigint[], p_task_type text, p_event_type text, p_payloads jsonb[], p_refs text[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._utc_text(p_at timestamp with time zone)
create function stepwell._utc_text(p_at timestamp with time zone) returns text language sql stable parallel safe;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._value_digest(p_tenant_id integer, p_label text, p_value jsonb)
create function stepwell._value_digest(p_tenant_id integer, p_label text, p_value jsonb) returns jsonb language plpgsql set search_path=stepwell, pg_temp set standard_conforming_strings=on;

-- function: stepwell._value_size(p_value jsonb)
create function stepwell._value_size(p_value jsonb) returns integer language sql stable;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._values_check(p_field text, p_what text, p_values jsonb[], p_key text)
create function stepwell._values_check(p_field text, p_what text, p_values jsonb[], p_key text) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._values_problem(p_what text, p_values jsonb[])
create function stepwell._values_problem(p_what text, p_values jsonb[]) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._verb_allowed(p_verb text)
create function stepwell._verb_allowed(p_verb text) returns boolean language plpgsql stable parallel restricted set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._verb_check(p_tenant_id integer, p_verb text, p_actor text)
create function stepwell._verb_check(p_tenant_id integer, p_verb text, p_actor text) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._verb_checked(p_tenant_id integer, p_verb text, p_actor text)
create function stepwell._verb_checked(p_tenant_id integer, p_verb text, p_actor text) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._verdict_record(p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_actor text, p_action jsonb, p_verdict jsonb, p_approval_id bigint, p_receipt_id bigint)
create function stepwell._verdict_record(p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_actor text, p_action jsonb, p_verdict jsonb, p_approval_id bigint, p_receipt_id bigint) returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._version_find(p_tenant_id integer, p_workflow_name text, p_version_no integer)
create function stepwell._version_find(p_tenant_id integer, p_workflow_name text, p_version_no integer) returns stepwell.workflow_version language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._version_graph(p_tenant_id integer, p_workflow text, p_version_no integer)
create function stepwell._version_graph(p_tenant_id integer, p_workflow text, p_version_no integer) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._version_hides(p_version_id integer)
create function stepwell._version_hides(p_version_id integer) returns integer[] language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._view_check(p_page text, p_name text, p_filter jsonb, p_columns text[])
create function stepwell._view_check(p_page text, p_name text, p_filter jsonb, p_columns text[]) returns void language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._view_owner(p_tenant_id integer)
create function stepwell._view_owner(p_tenant_id integer) returns bigint language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._visible(p_text text)
create function stepwell._visible(p_text text) returns text language plpgsql immutable parallel safe set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._visible_value(p_value jsonb)
create function stepwell._visible_value(p_value jsonb) returns jsonb language plpgsql immutable parallel safe set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._waits_expire(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._waits_expire(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._waits_match(p_tenant_id integer, p_run_id bigint, p_event_type text)
create function stepwell._waits_match(p_tenant_id integer, p_run_id bigint, p_event_type text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._waits_open(p_tenant_ids integer[], p_unit_ids bigint[])
create function stepwell._waits_open(p_tenant_ids integer[], p_unit_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._waiver_tell(p_tenant_id integer, p_unit_id bigint, p_action text)
create function stepwell._waiver_tell(p_tenant_id integer, p_unit_id bigint, p_action text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._wake_read(p_tenant_id integer, p_unit_id bigint)
create function stepwell._wake_read(p_tenant_id integer, p_unit_id bigint) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._wakes_forget(p_tenant_id integer, p_unit_ids bigint[])
create function stepwell._wakes_forget(p_tenant_id integer, p_unit_ids bigint[]) returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell._walked_count()
create function stepwell._walked_count() returns bigint language sql;

-- function: stepwell._walked_far(p_walked_count bigint)
create function stepwell._walked_far(p_walked_count bigint) returns boolean language sql;

-- function: stepwell._watch_close(p_aside text[], p_problem_id bigint, p_limit integer)
create function stepwell._watch_close(p_aside text[], p_problem_id bigint, p_limit integer) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._watch_close_each(p_aside text[], p_limit integer)
create function stepwell._watch_close_each(p_aside text[], p_limit integer) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._watch_found(p_parts text[])
create function stepwell._watch_found(p_parts text[]) returns TABLE(tenant_id integer, category_code text, subject text, title text, unit_id bigint, since_at timestamp with time zone, reason text) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._watch_goes_on(p_now timestamp with time zone)
create function stepwell._watch_goes_on(p_now timestamp with time zone) returns integer language sql set search_path=stepwell, pg_temp;

-- function: stepwell._watch_new(p_parts text[], p_aside text[], p_limit integer)
create function stepwell._watch_new(p_parts text[], p_aside text[], p_limit integer) returns TABLE(tenant_id integer, category_code text, subject text, title text, unit_id bigint, reason text, since_at timestamp with time zone) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._watch_open(p_parts text[], p_aside text[], p_limit integer)
create function stepwell._watch_open(p_parts text[], p_aside text[], p_limit integer) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._watch_open_each(p_parts text[], p_aside text[], p_limit integer)
create function stepwell._watch_open_each(p_parts text[], p_aside text[], p_limit integer) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._watch_open_one(p_tenant_id integer, p_category text, p_subject text, p_title text, p_unit_id bigint, p_reason text, p_since_at timestamp with time zone)
create function stepwell._watch_open_one(p_tenant_id integer, p_category text, p_subject text, p_title text, p_unit_id bigint, p_reason text, p_since_at timestamp with time zone) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._watch_orphan(p_tenant_id integer, p_run_id bigint)
create function stepwell._watch_orphan(p_tenant_id integer, p_run_id bigint) returns boolean language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._watch_orphans(p_aside text[])
create function stepwell._watch_orphans(p_aside text[]) returns integer language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._watch_set_aside(p_tenant_id integer, p_subject text, p_error_code text, p_reason text)
create function stepwell._watch_set_aside(p_tenant_id integer, p_subject text, p_error_code text, p_reason text) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._watch_since(p_name text)
create function stepwell._watch_since(p_name text) returns timestamp with time zone language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._way_is_shared(p_way text[], p_own_ids text[])
create function stepwell._way_is_shared(p_way text[], p_own_ids text[]) returns boolean language sql immutable;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._why(p_unit stepwell.work_unit)
create function stepwell._why(p_unit stepwell.work_unit) returns TABLE(code text, facts jsonb, who text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._why_approval(p_unit stepwell.work_unit, p_name text)
create function stepwell._why_approval(p_unit stepwell.work_unit, p_name text) returns TABLE(code text, facts jsonb, who text) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._why_ended(p_unit stepwell.work_unit, p_name text)
create function stepwell._why_ended(p_unit stepwell.work_unit, p_name text) returns TABLE(code text, facts jsonb, who text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._why_found(p_unit stepwell.work_unit)
create function stepwell._why_found(p_unit stepwell.work_unit) returns TABLE(code text, facts jsonb, who text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._why_held(p_unit stepwell.work_unit, p_code text)
create function stepwell._why_held(p_unit stepwell.work_unit, p_code text) returns TABLE(code text, facts jsonb, who text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._why_in_line(p_unit stepwell.work_unit, p_name text)
create function stepwell._why_in_line(p_unit stepwell.work_unit, p_name text) returns TABLE(code text, facts jsonb, who text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._why_in_queue(p_unit stepwell.work_unit, p_name text)
create function stepwell._why_in_queue(p_unit stepwell.work_unit, p_name text) returns TABLE(code text, facts jsonb, who text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._why_not_claimed(p_unit stepwell.work_unit, p_name text)
create function stepwell._why_not_claimed(p_unit stepwell.work_unit, p_name text) returns TABLE(code text, facts jsonb, who text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._why_not_started(p_unit stepwell.work_unit, p_name text)
create function stepwell._why_not_started(p_unit stepwell.work_unit, p_name text) returns TABLE(code text, facts jsonb, who text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._why_timed(p_code text, p_facts jsonb, p_due_at timestamp with time zone)
create function stepwell._why_timed(p_code text, p_facts jsonb, p_due_at timestamp with time zone) returns TABLE(code text, facts jsonb, who text) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._why_unit(p_unit stepwell.work_unit)
create function stepwell._why_unit(p_unit stepwell.work_unit) returns stepwell.work_unit language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._why_unserved(p_unit stepwell.work_unit, p_name text)
create function stepwell._why_unserved(p_unit stepwell.work_unit, p_name text) returns TABLE(code text, facts jsonb, who text) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._why_waiting(p_unit stepwell.work_unit, p_name text)
create function stepwell._why_waiting(p_unit stepwell.work_unit, p_name text) returns TABLE(code text, facts jsonb, who text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._worker_answers(p_subject text, p_worker_name text, p_opened_at timestamp with time zone)
create function stepwell._worker_answers(p_subject text, p_worker_name text, p_opened_at timestamp with time zone) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._worker_facts(p_tenant_id integer, p_from timestamp with time zone, p_now timestamp with time zone)
create function stepwell._worker_facts(p_tenant_id integer, p_from timestamp with time zone, p_now timestamp with time zone) returns TABLE(subject_kind text, subject text, status text, colour text, body text, facts jsonb, event_count integer, refs text[], start_at timestamp with time zone) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._worker_moves(p_tenant_id integer, p_from timestamp with time zone)
create function stepwell._worker_moves(p_tenant_id integer, p_from timestamp with time zone) returns TABLE(session_id bigint, executor text, unit_id bigint, tx xid8, ref text, event_id bigint, to_state text, lag_seconds numeric, start_at timestamp with time zone) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._worker_stops_forget()
create function stepwell._worker_stops_forget() returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell._workers_wake(p_executor_class_ids integer[])
create function stepwell._workers_wake(p_executor_class_ids integer[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._workers_wake_all()
create function stepwell._workers_wake_all() returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._workflow_slot(p_tenant_id integer, p_workflow_id integer, p_workspace_id integer)
create function stepwell._workflow_slot(p_tenant_id integer, p_workflow_id integer, p_workspace_id integer) returns text language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._workspace_find(p_tenant_id integer, p_workspace text)
create function stepwell._workspace_find(p_tenant_id integer, p_workspace text) returns integer language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._workspace_of(p_tenant_id integer, p_unit_id bigint)
create function stepwell._workspace_of(p_tenant_id integer, p_unit_id bigint) returns integer language sql stable parallel safe;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._workspace_rate_check(p_tenant_id integer, p_workspace_id integer, p_new_count integer, p_now timestamp with time zone)
create function stepwell._workspace_rate_check(p_tenant_id integer, p_workspace_id integer, p_new_count integer, p_now timestamp with time zone) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._workspace_slot(p_tenant_id integer, p_workspace_id integer)
create function stepwell._workspace_slot(p_tenant_id integer, p_workspace_id integer) returns text language sql set search_path=stepwell, pg_temp;

-- function: stepwell._writes_cap(p_tenant_id integer, p_run_id bigint)
create function stepwell._writes_cap(p_tenant_id integer, p_run_id bigint) returns integer language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell._writes_return(p_tenant_id integer, p_run_ids bigint[])
create function stepwell._writes_return(p_tenant_id integer, p_run_ids bigint[]) returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell._writes_take(p_tenant_id integer, p_unit_id bigint)
create function stepwell._writes_take(p_tenant_id integer, p_unit_id bigint) returns boolean language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell.bound_principal()
create function stepwell.bound_principal() returns bigint language plpgsql stable security definer parallel restricted set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.bound_tenant()
create function stepwell.bound_tenant() returns integer language plpgsql stable security definer parallel restricted set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.fn_account_read()
create function stepwell.fn_account_read() returns TABLE(name text, kind text, title text, tenant text, roles text[], verbs text[], token_id bigint, token_kind text, ends_at timestamp with time zone) language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_action_limit()
create function stepwell.fn_action_limit() returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_worker: execute

-- function: stepwell.fn_action_propose(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_action jsonb, p_fault text)
create function stepwell.fn_action_propose(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_action jsonb, p_fault text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_action_reversal(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_receipt_id bigint)
create function stepwell.fn_action_reversal(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_receipt_id bigint) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_action_settle(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_receipt_id bigint, p_outcome text, p_effect jsonb)
create function stepwell.fn_action_settle(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_receipt_id bigint, p_outcome text, p_effect jsonb) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_actions_read(p_tenant_id integer, p_unit_id bigint, p_actor text)
create function stepwell.fn_actions_read(p_tenant_id integer, p_unit_id bigint, p_actor text) returns json language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_anchor_due(p_anchor text, p_public_key text)
create function stepwell.fn_anchor_due(p_anchor text, p_public_key text) returns integer[] language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_anchor_headers(p_tenant_id integer, p_anchor text, p_public_key text, p_limit integer)
create function stepwell.fn_anchor_headers(p_tenant_id integer, p_anchor text, p_public_key text, p_limit integer) returns jsonb language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_anchor_written(p_tenant_id integer, p_anchor text, p_block_no bigint, p_public_key text, p_error text)
create function stepwell.fn_anchor_written(p_tenant_id integer, p_anchor text, p_block_no bigint, p_public_key text, p_error text) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_approval_decide(p_tenant_id integer, p_approval_id bigint, p_decision text, p_actor text, p_shown text, p_reason text)
create function stepwell.fn_approval_decide(p_tenant_id integer, p_approval_id bigint, p_decision text, p_actor text, p_shown text, p_reason text) returns text language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_approval_request(p_tenant_id integer, p_action text, p_subject_unit_id bigint, p_actor text, p_reason text, p_quorum integer, p_expires_seconds integer, p_key text, p_tier integer, p_approvers text[], p_role text)
create function stepwell.fn_approval_request(p_tenant_id integer, p_action text, p_subject_unit_id bigint, p_actor text, p_reason text, p_quorum integer, p_expires_seconds integer, p_key text, p_tier integer, p_approvers text[], p_role text) returns bigint language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_approval_withdraw(p_tenant_id integer, p_approval_id bigint, p_actor text, p_reason text)
create function stepwell.fn_approval_withdraw(p_tenant_id integer, p_approval_id bigint, p_actor text, p_reason text) returns text language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_audit_due(p_limit integer)
create function stepwell.fn_audit_due(p_limit integer) returns TABLE(interval_seconds integer, tenant_ids integer[], due_in_seconds double precision) language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_audit_seal(p_tenant_id integer)
create function stepwell.fn_audit_seal(p_tenant_id integer) returns TABLE(block_no bigint, event_count integer, block_hash bytea, is_full boolean) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_calendar_set(p_tenant_id integer, p_calendar_name text, p_time_zone text, p_hours jsonb, p_holidays jsonb)
create function stepwell.fn_calendar_set(p_tenant_id integer, p_calendar_name text, p_time_zone text, p_hours jsonb, p_holidays jsonb) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_caller_read(p_tenant_code text)
create function stepwell.fn_caller_read(p_tenant_code text) returns TABLE(tenant_id integer, principal_name text) language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.fn_change_once(p_tenant_id integer, p_unit_id bigint, p_call text, p_actor text, p_key text, p_reason text, p_evidence jsonb)
create function stepwell.fn_change_once(p_tenant_id integer, p_unit_id bigint, p_call text, p_actor text, p_key text, p_reason text, p_evidence jsonb) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute

-- function: stepwell.fn_checkpoint_save(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_name text, p_value jsonb)
create function stepwell.fn_checkpoint_save(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_name text, p_value jsonb) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_clock_move(p_at timestamp with time zone)
create function stepwell.fn_clock_move(p_at timestamp with time zone) returns timestamp with time zone language sql set search_path=stepwell, pg_temp;

-- function: stepwell.fn_clock_real()
create function stepwell.fn_clock_real() returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell.fn_clock_release()
create function stepwell.fn_clock_release() returns void language sql set search_path=stepwell, pg_temp;

-- function: stepwell.fn_clock_stop(p_at timestamp with time zone)
create function stepwell.fn_clock_stop(p_at timestamp with time zone) returns timestamp with time zone language sql set search_path=stepwell, pg_temp;

-- function: stepwell.fn_content_labels(p_tenant_id integer, p_codes text[])
create function stepwell.fn_content_labels(p_tenant_id integer, p_codes text[]) returns json language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_content_permission_set(p_tenant_id integer, p_code text, p_roles text[])
create function stepwell.fn_content_permission_set(p_tenant_id integer, p_code text, p_roles text[]) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_content_write(p_tenant_id integer, p_code text, p_body text, p_actor text, p_labels jsonb, p_items text[], p_note text)
create function stepwell.fn_content_write(p_tenant_id integer, p_code text, p_body text, p_actor text, p_labels jsonb, p_items text[], p_note text) returns TABLE(iu_id bigint, version_no integer, is_new boolean) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_dead_letter_payload(p_tenant_id integer, p_unit_id bigint)
create function stepwell.fn_dead_letter_payload(p_tenant_id integer, p_unit_id bigint) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_demo_begin(p_tenant_id integer)
create function stepwell.fn_demo_begin(p_tenant_id integer) returns boolean language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell.fn_demo_leave(p_actor text)
create function stepwell.fn_demo_leave(p_actor text) returns boolean language plpgsql security definer set search_path=stepwell, pg_temp;

-- function: stepwell.fn_demo_read()
create function stepwell.fn_demo_read() returns TABLE(since timestamp with time zone) language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.fn_development_leave(p_actor text)
create function stepwell.fn_development_leave(p_actor text) returns boolean language plpgsql security definer set search_path=stepwell, pg_temp;

-- function: stepwell.fn_duty_set_aside(p_tenant_id integer, p_duty text, p_subject text, p_error_code text, p_reason text)
create function stepwell.fn_duty_set_aside(p_tenant_id integer, p_duty text, p_subject text, p_error_code text, p_reason text) returns timestamp with time zone language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_event_emit(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_type text, p_payload jsonb)
create function stepwell.fn_event_emit(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_type text, p_payload jsonb) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_event_lag_compute(p_tenant_id integer, p_window interval)
create function stepwell.fn_event_lag_compute(p_tenant_id integer, p_window interval) returns TABLE(producer text, consumer text, event_count bigint, p50_ms numeric, p95_ms numeric, p99_ms numeric, waits_since timestamp with time zone, waits_ms bigint, threshold_p50_ms integer, threshold_p95_ms integer, threshold_p99_ms integer, light text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_event_lag_sample()
create function stepwell.fn_event_lag_sample() returns integer language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_event_lag_trend(p_tenant_id integer, p_producer text, p_consumer text, p_window interval)
create function stepwell.fn_event_lag_trend(p_tenant_id integer, p_producer text, p_consumer text, p_window interval) returns TABLE(at timestamp with time zone, event_count bigint, p50_ms numeric, p95_ms numeric, p99_ms numeric) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_event_reject_note(p_tenant_id integer, p_event_type text, p_unit_id bigint, p_payload jsonb)
create function stepwell.fn_event_reject_note(p_tenant_id integer, p_event_type text, p_unit_id bigint, p_payload jsonb) returns boolean language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_worker: execute

-- function: stepwell.fn_event_route_delete(p_tenant_id integer, p_route_name text)
create function stepwell.fn_event_route_delete(p_tenant_id integer, p_route_name text) returns boolean language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_event_route_set(p_tenant_id integer, p_route_name text, p_event_type text, p_operation_name text, p_fields text[], p_priority integer, p_actor text)
create function stepwell.fn_event_route_set(p_tenant_id integer, p_route_name text, p_event_type text, p_operation_name text, p_fields text[], p_priority integer, p_actor text) returns boolean language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_event_routes_follow(p_limit integer, OUT job_count integer, OUT is_full boolean)
create function stepwell.fn_event_routes_follow(p_limit integer, OUT job_count integer, OUT is_full boolean) returns record language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_event_type_register(p_tenant_id integer, p_event_type text, p_description text, p_schema jsonb, p_actor text)
create function stepwell.fn_event_type_register(p_tenant_id integer, p_event_type text, p_description text, p_schema jsonb, p_actor text) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_worker: execute

-- function: stepwell.fn_event_type_schema(p_event_type text)
create function stepwell.fn_event_type_schema(p_event_type text) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_events_ack(p_tenant_id integer, p_reader text, p_tx bigint, p_event_id bigint)
create function stepwell.fn_events_ack(p_tenant_id integer, p_reader text, p_tx bigint, p_event_id bigint) returns boolean language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_events_after(p_tenant_id integer, p_after text, p_until text, p_run_ids bigint[], p_types text[], p_with_people boolean, p_limit integer)
create function stepwell.fn_events_after(p_tenant_id integer, p_after text, p_until text, p_run_ids bigint[], p_types text[], p_with_people boolean, p_limit integer) returns TABLE(reached text, is_behind boolean, tx bigint, event_id bigint, at timestamp with time zone, run_id bigint, unit_id bigint, event_type text, from_state text, to_state text, actor text, is_people boolean) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_events_find(p_tenant_id integer, p_trace_id text, p_run_id bigint, p_unit_id bigint, p_types text[], p_actor text, p_from timestamp with time zone, p_until timestamp with time zone, p_before_tx bigint, p_before_event_id bigint, p_limit integer)
create function stepwell.fn_events_find(p_tenant_id integer, p_trace_id text, p_run_id bigint, p_unit_id bigint, p_types text[], p_actor text, p_from timestamp with time zone, p_until timestamp with time zone, p_before_tx bigint, p_before_event_id bigint, p_limit integer) returns TABLE(tx bigint, event_id bigint, at timestamp with time zone, run_id bigint, unit_id bigint, event_type text, from_state text, to_state text, actor_class text, actor text, audit_ref text, payload jsonb, workflow text, step_id text, trace_id text, correlation_id text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_events_read(p_tenant_id integer, p_reader text, p_after_tx bigint, p_after_event_id bigint, p_limit integer)
create function stepwell.fn_events_read(p_tenant_id integer, p_reader text, p_after_tx bigint, p_after_event_id bigint, p_limit integer) returns TABLE(tx bigint, event_id bigint, at timestamp with time zone, run_id bigint, unit_id bigint, request_id integer, event_type text, from_state text, to_state text, actor_class text, actor text, audit_ref text, trace_id text, correlation_id text, payload jsonb) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_events_recent(p_tenant_id integer, p_types text[], p_actor text, p_from timestamp with time zone, p_until timestamp with time zone, p_before_tx bigint, p_before_event_id bigint, p_limit integer)
create function stepwell.fn_events_recent(p_tenant_id integer, p_types text[], p_actor text, p_from timestamp with time zone, p_until timestamp with time zone, p_before_tx bigint, p_before_event_id bigint, p_limit integer) returns TABLE(tx bigint, event_id bigint, at timestamp with time zone, run_id bigint, unit_id bigint, event_type text, from_state text, to_state text, actor_class text, actor text, audit_ref text, payload jsonb) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_events_trace(p_tenant_id integer, p_trace_id text, p_run_id bigint, p_unit_id bigint, p_types text[], p_actor text, p_from timestamp with time zone, p_until timestamp with time zone, p_before bigint, p_limit integer)
create function stepwell.fn_events_trace(p_tenant_id integer, p_trace_id text, p_run_id bigint, p_unit_id bigint, p_types text[], p_actor text, p_from timestamp with time zone, p_until timestamp with time zone, p_before bigint, p_limit integer) returns TABLE(tx bigint, event_id bigint, at timestamp with time zone, run_id bigint, unit_id bigint, event_type text, from_state text, to_state text, actor_class text, actor text, audit_ref text, payload jsonb, workflow text, step_id text, trace_id text, correlation_id text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_evidence_due_blocks(p_tenant_id integer, p_run_id bigint)
create function stepwell.fn_evidence_due_blocks(p_tenant_id integer, p_run_id bigint) returns SETOF stepwell.audit_block language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_evidence_due_chain(p_tenant_id integer, p_run_id bigint)
create function stepwell.fn_evidence_due_chain(p_tenant_id integer, p_run_id bigint) returns SETOF stepwell.audit_chain language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_evidence_due_entries(p_tenant_id integer, p_run_id bigint, p_block_no bigint)
create function stepwell.fn_evidence_due_entries(p_tenant_id integer, p_run_id bigint, p_block_no bigint) returns SETOF stepwell.audit_block_stream language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_evidence_due_events(p_tenant_id integer, p_run_id bigint)
create function stepwell.fn_evidence_due_events(p_tenant_id integer, p_run_id bigint) returns SETOF stepwell.event_log language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_evidence_due_find(p_limit integer)
create function stepwell.fn_evidence_due_find(p_limit integer) returns TABLE(tenant_id integer, run_id bigint) language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_evidence_due_hashes(p_tenant_id integer, p_run_id bigint, p_block_no bigint)
create function stepwell.fn_evidence_due_hashes(p_tenant_id integer, p_run_id bigint, p_block_no bigint) returns bytea language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_evidence_due_note(p_tenant_id integer, p_run_id bigint, p_error text)
create function stepwell.fn_evidence_due_note(p_tenant_id integer, p_run_id bigint, p_error text) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_evidence_due_places(p_tenant_id integer, p_run_id bigint, p_block_no bigint)
create function stepwell.fn_evidence_due_places(p_tenant_id integer, p_run_id bigint, p_block_no bigint) returns TABLE(tx bigint, event_id bigint, leaf_no integer, value_hashes bytea) language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_evidence_due_run(p_tenant_id integer, p_run_id bigint)
create function stepwell.fn_evidence_due_run(p_tenant_id integer, p_run_id bigint) returns jsonb language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_evidence_due_seal(p_tenant_id integer, p_run_id bigint, p_digest text)
create function stepwell.fn_evidence_due_seal(p_tenant_id integer, p_run_id bigint, p_digest text) returns TABLE(event_tx bigint, event_id bigint) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_evidence_due_store(p_tenant_id integer, p_run_id bigint, p_digest text, p_sha256 text, p_size_bytes bigint, p_url text, p_data bytea)
create function stepwell.fn_evidence_due_store(p_tenant_id integer, p_run_id bigint, p_digest text, p_sha256 text, p_size_bytes bigint, p_url text, p_data bytea) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_evidence_due_values(p_tenant_id integer, p_run_id bigint, p_unit_ids bigint[])
create function stepwell.fn_evidence_due_values(p_tenant_id integer, p_run_id bigint, p_unit_ids bigint[]) returns TABLE(unit_id bigint, label text, at timestamp with time zone, content text, facts json) language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_evidence_read(p_tenant_id integer, p_run_id bigint)
create function stepwell.fn_evidence_read(p_tenant_id integer, p_run_id bigint) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_evidence_record(p_tenant_id integer, p_run_id bigint, p_digest text, p_sha256 text, p_size_bytes bigint, p_url text)
create function stepwell.fn_evidence_record(p_tenant_id integer, p_run_id bigint, p_digest text, p_sha256 text, p_size_bytes bigint, p_url text) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_evidence_request(p_tenant_id integer, p_run_id bigint)
create function stepwell.fn_evidence_request(p_tenant_id integer, p_run_id bigint) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_evidence_seal(p_tenant_id integer, p_run_id bigint, p_digest text, p_with_payloads boolean, p_actor text)
create function stepwell.fn_evidence_seal(p_tenant_id integer, p_run_id bigint, p_digest text, p_with_payloads boolean, p_actor text) returns TABLE(event_tx bigint, event_id bigint, is_new boolean) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_executor_freeze(p_tenant_id integer, p_executor text, p_actor text, p_reason text)
create function stepwell.fn_executor_freeze(p_tenant_id integer, p_executor text, p_actor text, p_reason text) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_executor_unfreeze(p_tenant_id integer, p_executor text, p_actor text, p_reason text)
create function stepwell.fn_executor_unfreeze(p_tenant_id integer, p_executor text, p_actor text, p_reason text) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_expression_evaluate(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer)
create function stepwell.fn_expression_evaluate(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer) returns jsonb language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_governance_read(p_tenant_id integer, p_category text, p_before_at timestamp with time zone, p_before_key text, p_limit integer)
create function stepwell.fn_governance_read(p_tenant_id integer, p_category text, p_before_at timestamp with time zone, p_before_key text, p_limit integer) returns TABLE(subject_key text, subject text, since_at timestamp with time zone, run_id bigint, unit_id bigint, trace_id text, reason text, workflow text, trigger_ref text, remedy_en text, remedy_vi text, actor text, event_type text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_health_read(p_late_seconds integer, p_limit integer)
create function stepwell.fn_health_read(p_late_seconds integer, p_limit integer) returns TABLE(block_count bigint, unsealed_seconds double precision, anchor_error text, seal_interval_seconds integer, doubt_count bigint, late_bundle_count bigint, late_bundle_error text) language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_hold_evidence_compare(p_tenant_id integer, p_document jsonb)
create function stepwell.fn_hold_evidence_compare(p_tenant_id integer, p_document jsonb) returns text[] language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_hold_evidence_read(p_tenant_id integer, p_hold_id bigint)
create function stepwell.fn_hold_evidence_read(p_tenant_id integer, p_hold_id bigint) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_hold_open(p_tenant_id integer, p_kind text, p_value text, p_reason text, p_actor text)
create function stepwell.fn_hold_open(p_tenant_id integer, p_kind text, p_value text, p_reason text, p_actor text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_hold_reach(p_tenant_id integer, p_kind text, p_value text)
create function stepwell.fn_hold_reach(p_tenant_id integer, p_kind text, p_value text) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_hold_release(p_tenant_id integer, p_hold_id bigint, p_share integer, p_reason text, p_actor text)
create function stepwell.fn_hold_release(p_tenant_id integer, p_hold_id bigint, p_share integer, p_reason text, p_actor text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_holds_carry(p_limit integer)
create function stepwell.fn_holds_carry(p_limit integer) returns integer language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_inbox_read(p_tenant_id integer, p_person text, p_role text, p_limit integer)
create function stepwell.fn_inbox_read(p_tenant_id integer, p_person text, p_role text, p_limit integer) returns SETOF stepwell.v_inbox language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_integrity_look(p_after_tenant_id integer, p_unit_id bigint, p_run_count integer)
create function stepwell.fn_integrity_look(p_after_tenant_id integer, p_unit_id bigint, p_run_count integer) returns json language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_integrity_watch()
create function stepwell.fn_integrity_watch() returns integer language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_invariants_check()
create function stepwell.fn_invariants_check() returns TABLE(invariant text, ok boolean, detail text) language plpgsql stable set search_path=stepwell, pg_temp set enable_nestloop=off;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_iu_op_cancel(p_tenant_id integer, p_cut_request_id bigint, p_actor text, p_reason text)
create function stepwell.fn_iu_op_cancel(p_tenant_id integer, p_cut_request_id bigint, p_actor text, p_reason text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_iu_op_merge(p_tenant_id integer, p_codes text[], p_into text, p_actor text, p_separator text, p_labels jsonb, p_key text)
create function stepwell.fn_iu_op_merge(p_tenant_id integer, p_codes text[], p_into text, p_actor text, p_separator text, p_labels jsonb, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_iu_op_restage(p_tenant_id integer, p_code text, p_version_no integer, p_actor text, p_key text)
create function stepwell.fn_iu_op_restage(p_tenant_id integer, p_code text, p_version_no integer, p_actor text, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_iu_op_retry(p_tenant_id integer, p_cut_request_id bigint, p_actor text)
create function stepwell.fn_iu_op_retry(p_tenant_id integer, p_cut_request_id bigint, p_actor text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_iu_op_split(p_tenant_id integer, p_code text, p_parts jsonb, p_actor text, p_version_no integer, p_key text)
create function stepwell.fn_iu_op_split(p_tenant_id integer, p_code text, p_parts jsonb, p_actor text, p_version_no integer, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_job_cancel(p_tenant_id integer, p_unit_id bigint, p_actor text, p_reason text)
create function stepwell.fn_job_cancel(p_tenant_id integer, p_unit_id bigint, p_actor text, p_reason text) returns text language plpgsql security definer set search_path=stepwell, pg_temp set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_hashjoin=off set enable_mergejoin=off set random_page_cost=0.01 set join_collapse_limit=1 set jit=off;
-- granted to stepwell_api: execute

-- function: stepwell.fn_job_claim(p_session_key bigint, p_limit integer)
create function stepwell.fn_job_claim(p_session_key bigint, p_limit integer) returns SETOF stepwell.job_lease language plpgsql security definer set search_path=stepwell, pg_temp set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_hashjoin=off set enable_mergejoin=off set random_page_cost=0.01 set join_collapse_limit=1 set jit=off;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_job_claim_each(p_session_key bigint, p_limit integer)
create function stepwell.fn_job_claim_each(p_session_key bigint, p_limit integer) returns SETOF stepwell.job_lease language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_job_enqueue(p_tenant_id integer, p_operation_name text, p_payloads jsonb[], p_keys text[], p_priority integer, p_process_after timestamp with time zone, p_concurrency_key text, p_max_concurrency integer, p_max_attempts integer, p_actor text, p_trace_id text, p_correlation_id text, p_source_ref text, p_target_ref text, p_payload_ref text, p_rate_count integer, p_rate_seconds double precision, p_workspace text)
create function stepwell.fn_job_enqueue(p_tenant_id integer, p_operation_name text, p_payloads jsonb[], p_keys text[], p_priority integer, p_process_after timestamp with time zone, p_concurrency_key text, p_max_concurrency integer, p_max_attempts integer, p_actor text, p_trace_id text, p_correlation_id text, p_source_ref text, p_target_ref text, p_payload_ref text, p_rate_count integer, p_rate_seconds double precision, p_workspace text) returns TABLE(job_id bigint, is_new boolean) language plpgsql security definer set search_path=stepwell, pg_temp set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_hashjoin=off set enable_mergejoin=off set random_page_cost=0.01 set join_collapse_limit=1 set jit=off;
-- granted to stepwell_api: execute
-- granted to stepwell_worker: execute

-- function: stepwell.fn_job_report(p_session_key bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_outcomes text[], p_bodies text[], p_claim_limit integer, p_locks_up boolean)
create function stepwell.fn_job_report(p_session_key bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_outcomes text[], p_bodies text[], p_claim_limit integer, p_locks_up boolean) returns SETOF stepwell.job_lease language plpgsql security definer set search_path=stepwell, pg_temp set stepwell.notifies=at_end set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_hashjoin=off set enable_mergejoin=off set random_page_cost=0.01 set join_collapse_limit=1 set jit=off;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_job_report_free(p_session_key bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_outcomes text[], p_bodies text[])
create function stepwell.fn_job_report_free(p_session_key bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_outcomes text[], p_bodies text[]) returns SETOF stepwell.job_lease language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_job_report_set_aside(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_error_code text, p_reason text)
create function stepwell.fn_job_report_set_aside(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_error_code text, p_reason text) returns boolean language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_job_retry(p_tenant_id integer, p_unit_id bigint, p_actor text, p_reason text)
create function stepwell.fn_job_retry(p_tenant_id integer, p_unit_id bigint, p_actor text, p_reason text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_job_template_register(p_tenant_id integer, p_template jsonb, p_actor text)
create function stepwell.fn_job_template_register(p_tenant_id integer, p_template jsonb, p_actor text) returns TABLE(template_id text, version_no integer, is_new boolean) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_job_workflow_refresh(p_tenant_id integer, p_workflow_id bigint)
create function stepwell.fn_job_workflow_refresh(p_tenant_id integer, p_workflow_id bigint) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_job_workflow_refresh_due()
create function stepwell.fn_job_workflow_refresh_due() returns integer language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_job_workflow_retry(p_tenant_id integer, p_workflow_id bigint, p_actor text, p_reason text)
create function stepwell.fn_job_workflow_retry(p_tenant_id integer, p_workflow_id bigint, p_actor text, p_reason text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_job_workflows_refresh(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer)
create function stepwell.fn_job_workflows_refresh(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_keeper_lead(p_holder text, p_fence bigint, p_seconds integer)
create function stepwell.fn_keeper_lead(p_holder text, p_fence bigint, p_seconds integer) returns bigint language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_layout_keep(p_tenant_id integer, p_graph_hash text, p_lanes_by text, p_layout_version integer, p_drawing jsonb)
create function stepwell.fn_layout_keep(p_tenant_id integer, p_graph_hash text, p_lanes_by text, p_layout_version integer, p_drawing jsonb) returns text language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_leases_find(p_from_page integer, p_page_count integer)
create function stepwell.fn_leases_find(p_from_page integer, p_page_count integer) returns integer language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_leases_recover(p_limit integer)
create function stepwell.fn_leases_recover(p_limit integer) returns integer language plpgsql security definer set search_path=stepwell, pg_temp set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_hashjoin=off set enable_mergejoin=off set random_page_cost=0.01 set join_collapse_limit=1 set jit=off;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_link_create(p_tenant_id integer, p_principal_name text, p_purpose text, p_expires_seconds integer)
create function stepwell.fn_link_create(p_tenant_id integer, p_principal_name text, p_purpose text, p_expires_seconds integer) returns TABLE(link text, expires_at timestamp with time zone) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_link_enter(p_link text, p_secret_hash text, p_address text, p_user_agent text)
create function stepwell.fn_link_enter(p_link text, p_secret_hash text, p_address text, p_user_agent text) returns TABLE(token text, token_id bigint, tenant_id integer, principal_name text, expires_at timestamp with time zone) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_link_use(p_link text, p_secret_hash text)
create function stepwell.fn_link_use(p_link text, p_secret_hash text) returns TABLE(tenant_id integer, principal_name text) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_looks_read(p_lang text)
create function stepwell.fn_looks_read(p_lang text) returns jsonb language sql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_mode_read()
create function stepwell.fn_mode_read() returns TABLE(mode text, person text, tenant_id integer, since timestamp with time zone) language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.fn_mot_graph_emit(p_tenant_id integer, p_template_id text, p_template_params jsonb, p_correlation_id text, p_actor text, p_key text, p_priority integer, p_workspace text, p_trace_id text)
create function stepwell.fn_mot_graph_emit(p_tenant_id integer, p_template_id text, p_template_params jsonb, p_correlation_id text, p_actor text, p_key text, p_priority integer, p_workspace text, p_trace_id text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_name_suggest(p_tenant_id integer, p_kind text, p_word text, p_within text)
create function stepwell.fn_name_suggest(p_tenant_id integer, p_kind text, p_word text, p_within text) returns text language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_names_refused()
create function stepwell.fn_names_refused() returns TABLE(tenant_code text, principal_id bigint, principal_name text, reason text) language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_navigation_counts(p_tenant_id integer, p_person text)
create function stepwell.fn_navigation_counts(p_tenant_id integer, p_person text) returns json language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_operation_register(p_tenant_id integer, p_operations jsonb)
create function stepwell.fn_operation_register(p_tenant_id integer, p_operations jsonb) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_worker: execute

-- function: stepwell.fn_partitions_ensure(p_from timestamp with time zone, p_months_ahead integer)
create function stepwell.fn_partitions_ensure(p_from timestamp with time zone, p_months_ahead integer) returns integer language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_password_set(p_tenant_id integer, p_principal_name text, p_secret_hash text)
create function stepwell.fn_password_set(p_tenant_id integer, p_principal_name text, p_secret_hash text) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_permissions_read(p_tenant_id integer)
create function stepwell.fn_permissions_read(p_tenant_id integer) returns TABLE(kind text, name text, step_id text, roles text[]) language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_person_set(p_tenant_id integer, p_person_name text, p_roles text[], p_display_name text, p_is_active boolean)
create function stepwell.fn_person_set(p_tenant_id integer, p_person_name text, p_roles text[], p_display_name text, p_is_active boolean) returns bigint language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_policy_activate(p_tenant_id integer, p_version_no integer, p_actor text)
create function stepwell.fn_policy_activate(p_tenant_id integer, p_version_no integer, p_actor text) returns text language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_policy_check(p_rules jsonb)
create function stepwell.fn_policy_check(p_rules jsonb) returns TABLE(rule_no integer, field text, problem text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_policy_evaluate(p_tenant_id integer, p_action jsonb)
create function stepwell.fn_policy_evaluate(p_tenant_id integer, p_action jsonb) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_policy_propose(p_tenant_id integer, p_rules jsonb, p_source text, p_actor text, p_reason text)
create function stepwell.fn_policy_propose(p_tenant_id integer, p_rules jsonb, p_source text, p_actor text, p_reason text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_policy_trace(p_rules jsonb, p_action jsonb)
create function stepwell.fn_policy_trace(p_rules jsonb, p_action jsonb) returns TABLE(priority integer, rule text, effect text, answer text) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_policy_try(p_rules jsonb, p_action jsonb)
create function stepwell.fn_policy_try(p_rules jsonb, p_action jsonb) returns jsonb language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_principal_change(p_tenant_id integer, p_name text, p_add_roles text[], p_remove_roles text[], p_is_active boolean)
create function stepwell.fn_principal_change(p_tenant_id integer, p_name text, p_add_roles text[], p_remove_roles text[], p_is_active boolean) returns text[] language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_principal_rename(p_tenant_id integer, p_name text, p_new_name text)
create function stepwell.fn_principal_rename(p_tenant_id integer, p_name text, p_new_name text) returns bigint language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_principal_set(p_tenant_id integer, p_kind text, p_name text, p_roles text[], p_display_name text, p_is_active boolean)
create function stepwell.fn_principal_set(p_tenant_id integer, p_kind text, p_name text, p_roles text[], p_display_name text, p_is_active boolean) returns bigint language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_privileges_apply()
create function stepwell.fn_privileges_apply() returns void language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell.fn_problem_close(p_tenant_id integer, p_problem_id bigint, p_actor text, p_reason text)
create function stepwell.fn_problem_close(p_tenant_id integer, p_problem_id bigint, p_actor text, p_reason text) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_problems_settle(p_limit integer)
create function stepwell.fn_problems_settle(p_limit integer) returns integer language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_problems_watch(p_limit integer)
create function stepwell.fn_problems_watch(p_limit integer) returns integer language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_progress_save(p_session_key bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_dones double precision[], p_totals double precision[], p_notes text[])
create function stepwell.fn_progress_save(p_session_key bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_dones double precision[], p_totals double precision[], p_notes text[]) returns integer language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_receipt_reverse(p_tenant_id integer, p_receipt_id bigint, p_actor text, p_reason text)
create function stepwell.fn_receipt_reverse(p_tenant_id integer, p_receipt_id bigint, p_actor text, p_reason text) returns bigint language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_receipt_settle(p_tenant_id integer, p_receipt_id bigint, p_outcome text, p_actor text, p_reason text, p_external_id text, p_result jsonb)
create function stepwell.fn_receipt_settle(p_tenant_id integer, p_receipt_id bigint, p_outcome text, p_actor text, p_reason text, p_external_id text, p_result jsonb) returns text language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_receipts_recover(p_limit integer)
create function stepwell.fn_receipts_recover(p_limit integer) returns integer language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_registry_check()
create function stepwell.fn_registry_check() returns TABLE(check_name text, ok boolean, detail text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_registry_read()
create function stepwell.fn_registry_read() returns jsonb language sql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_registry_refresh()
create function stepwell.fn_registry_refresh() returns bigint language plpgsql set search_path=stepwell, pg_temp;

-- function: stepwell.fn_rehearsal_asked(p_tenant_id integer, p_run_id bigint)
create function stepwell.fn_rehearsal_asked(p_tenant_id integer, p_run_id bigint) returns TABLE(run_id bigint, name text, state_code text, why text) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_rehearsal_flight(p_executors text[], p_operations text[])
create function stepwell.fn_rehearsal_flight(p_executors text[], p_operations text[]) returns TABLE(ready_count bigint, leased_count bigint, next_due_at timestamp with time zone, next_expiry_at timestamp with time zone, now_at timestamp with time zone) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_rehearsal_standing(p_tenant_id integer)
create function stepwell.fn_rehearsal_standing(p_tenant_id integer) returns TABLE(run_id bigint, name text, state_code text, why text) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_replay_plans_carry(p_limit integer)
create function stepwell.fn_replay_plans_carry(p_limit integer) returns integer language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_replay_propose(p_tenant_id integer, p_filter jsonb, p_actor text, p_reason text, p_stages integer[])
create function stepwell.fn_replay_propose(p_tenant_id integer, p_filter jsonb, p_actor text, p_reason text, p_stages integer[]) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_replay_rehearse(p_tenant_id integer, p_filter jsonb)
create function stepwell.fn_replay_rehearse(p_tenant_id integer, p_filter jsonb) returns json language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_replay_stop(p_tenant_id integer, p_plan_id bigint, p_actor text, p_reason text)
create function stepwell.fn_replay_stop(p_tenant_id integer, p_plan_id bigint, p_actor text, p_reason text) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_replays_settle(p_limit integer)
create function stepwell.fn_replays_settle(p_limit integer) returns integer language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_request_close(p_key text, p_status integer, p_answer text)
create function stepwell.fn_request_close(p_key text, p_status integer, p_answer text) returns text language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_request_open(p_token text, p_verb text, p_key text, p_digest bytea)
create function stepwell.fn_request_open(p_token text, p_verb text, p_key text, p_digest bytea) returns TABLE(tenant_id integer, principal_id bigint, principal_name text, outcome text, status integer, "position" text, answer text) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_request_refused(p_token text, p_call text, p_reason text, p_count integer)
create function stepwell.fn_request_refused(p_token text, p_call text, p_reason text, p_count integer) returns boolean language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_retention_sweep(p_limit integer)
create function stepwell.fn_retention_sweep(p_limit integer) returns TABLE(swept text, removed_count bigint) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_rights_missing()
create function stepwell.fn_rights_missing() returns TABLE(role_name text, lacks text, missing_right text) language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.fn_roles_read(p_tenant_id integer)
create function stepwell.fn_roles_read(p_tenant_id integer) returns TABLE(role_name text, verbs text[], account_count integer) language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_run_blocked_downstream(p_tenant_id integer, p_run_id bigint)
create function stepwell.fn_run_blocked_downstream(p_tenant_id integer, p_run_id bigint) returns TABLE(unit_id bigint, blocker_unit_id bigint) language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_run_cancel(p_tenant_id integer, p_run_id bigint, p_actor text, p_reason text, p_evidence jsonb)
create function stepwell.fn_run_cancel(p_tenant_id integer, p_run_id bigint, p_actor text, p_reason text, p_evidence jsonb) returns text language plpgsql security definer set search_path=stepwell, pg_temp set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_hashjoin=off set enable_mergejoin=off set random_page_cost=0.01 set join_collapse_limit=1 set jit=off;
-- granted to stepwell_api: execute

-- function: stepwell.fn_run_changes(p_tenant_id integer, p_run_ids bigint[], p_unit_ids bigint[])
create function stepwell.fn_run_changes(p_tenant_id integer, p_run_ids bigint[], p_unit_ids bigint[]) returns TABLE(run_id bigint, changes json) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_run_critical_path(p_tenant_id integer, p_run_id bigint)
create function stepwell.fn_run_critical_path(p_tenant_id integer, p_run_id bigint) returns TABLE(place integer, unit_id bigint, step_id text, state_code text) language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_run_density(p_tenant_id integer, p_run_id bigint, p_buckets integer, p_marks integer)
create function stepwell.fn_run_density(p_tenant_id integer, p_run_id bigint, p_buckets integer, p_marks integer) returns json language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_run_expected_end(p_tenant_id integer, p_run_id bigint)
create function stepwell.fn_run_expected_end(p_tenant_id integer, p_run_id bigint) returns json language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_run_expected_steps(p_tenant_id integer, p_run_id bigint)
create function stepwell.fn_run_expected_steps(p_tenant_id integer, p_run_id bigint) returns json language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_run_follow(p_tenant_id integer, p_run_id bigint)
create function stepwell.fn_run_follow(p_tenant_id integer, p_run_id bigint) returns TABLE(state_code text, last_event_id bigint, oldest_tx bigint, before_tx bigint) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_run_label(p_tenant_id integer, p_run_ids bigint[], p_labels jsonb, p_actor text)
create function stepwell.fn_run_label(p_tenant_id integer, p_run_ids bigint[], p_labels jsonb, p_actor text) returns TABLE(run_id bigint, labels jsonb) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_run_label_here(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_labels jsonb)
create function stepwell.fn_run_label_here(p_session_key bigint, p_tenant_id integer, p_unit_id bigint, p_lease_no integer, p_labels jsonb) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_run_milestones(p_tenant_id integer, p_run_id bigint)
create function stepwell.fn_run_milestones(p_tenant_id integer, p_run_id bigint) returns json language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_run_pause(p_tenant_id integer, p_run_id bigint, p_actor text)
create function stepwell.fn_run_pause(p_tenant_id integer, p_run_id bigint, p_actor text) returns text language plpgsql security definer set search_path=stepwell, pg_temp set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_hashjoin=off set enable_mergejoin=off set random_page_cost=0.01 set join_collapse_limit=1 set jit=off;
-- granted to stepwell_api: execute

-- function: stepwell.fn_run_resume(p_tenant_id integer, p_run_id bigint, p_actor text)
create function stepwell.fn_run_resume(p_tenant_id integer, p_run_id bigint, p_actor text) returns text language plpgsql security definer set search_path=stepwell, pg_temp set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_hashjoin=off set enable_mergejoin=off set random_page_cost=0.01 set join_collapse_limit=1 set jit=off;
-- granted to stepwell_api: execute

-- function: stepwell.fn_run_retry(p_tenant_id integer, p_run_id bigint, p_actor text, p_reason text)
create function stepwell.fn_run_retry(p_tenant_id integer, p_run_id bigint, p_actor text, p_reason text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_run_segments(p_tenant_id integer, p_run_id bigint)
create function stepwell.fn_run_segments(p_tenant_id integer, p_run_id bigint) returns json language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_run_start(p_tenant_id integer, p_workflow_name text, p_inputs jsonb[], p_trigger_refs text[], p_trigger_type text, p_actor text, p_version_no integer, p_priority integer, p_trace_id text, p_correlation_id text, p_is_watched boolean, p_workspace text)
create function stepwell.fn_run_start(p_tenant_id integer, p_workflow_name text, p_inputs jsonb[], p_trigger_refs text[], p_trigger_type text, p_actor text, p_version_no integer, p_priority integer, p_trace_id text, p_correlation_id text, p_is_watched boolean, p_workspace text) returns TABLE(run_id bigint, is_new boolean) language plpgsql security definer set search_path=stepwell, pg_temp set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_hashjoin=off set enable_mergejoin=off set random_page_cost=0.01 set join_collapse_limit=1 set jit=off;
-- granted to stepwell_api: execute
-- granted to stepwell_worker: execute

-- function: stepwell.fn_run_start_here(p_session_key bigint, p_claim_limit integer, p_tenant_id integer, p_workflow_name text, p_inputs jsonb[], p_trigger_refs text[], p_trigger_type text, p_actor text, p_version_no integer, p_priority integer, p_trace_id text, p_correlation_id text, p_is_watched boolean, p_workspace text)
create function stepwell.fn_run_start_here(p_session_key bigint, p_claim_limit integer, p_tenant_id integer, p_workflow_name text, p_inputs jsonb[], p_trigger_refs text[], p_trigger_type text, p_actor text, p_version_no integer, p_priority integer, p_trace_id text, p_correlation_id text, p_is_watched boolean, p_workspace text) returns SETOF stepwell.job_lease language plpgsql security definer set search_path=stepwell, pg_temp set stepwell.notifies=at_end set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_hashjoin=off set enable_mergejoin=off set random_page_cost=0.01 set join_collapse_limit=1 set jit=off;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_run_start_labelled(p_labels jsonb, p_tenant_id integer, p_workflow_name text, p_inputs jsonb[], p_trigger_refs text[], p_trigger_type text, p_actor text, p_version_no integer, p_priority integer, p_trace_id text, p_correlation_id text, p_is_watched boolean, p_workspace text)
create function stepwell.fn_run_start_labelled(p_labels jsonb, p_tenant_id integer, p_workflow_name text, p_inputs jsonb[], p_trigger_refs text[], p_trigger_type text, p_actor text, p_version_no integer, p_priority integer, p_trace_id text, p_correlation_id text, p_is_watched boolean, p_workspace text) returns TABLE(run_id bigint, is_new boolean) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_worker: execute

-- function: stepwell.fn_run_state_at(p_tenant_id integer, p_run_id bigint, p_event_id bigint, p_at timestamp with time zone)
create function stepwell.fn_run_state_at(p_tenant_id integer, p_run_id bigint, p_event_id bigint, p_at timestamp with time zone) returns TABLE(unit_id bigint, scope text, step_id text, item_no integer, state_code text, since_at timestamp with time zone, event_id bigint) language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_run_steps_columns(p_tenant_id integer, p_run_ids bigint[], p_unit_ids bigint[])
create function stepwell.fn_run_steps_columns(p_tenant_id integer, p_run_ids bigint[], p_unit_ids bigint[]) returns TABLE(run_id bigint, shown json) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_run_steps_read(p_tenant_id integer, p_run_id bigint, p_with_reasons boolean, p_limit integer)
create function stepwell.fn_run_steps_read(p_tenant_id integer, p_run_id bigint, p_with_reasons boolean, p_limit integer) returns TABLE(step_run_id bigint, step_no integer, step_id text, step_kind text, scope_no integer, item_no integer, branch_no integer, conditional_no integer, parent_id bigint, state_code text, waiting_facet text, mandatory boolean, operation text, role text, attempt integer, max_attempts integer, lease_owner text, next_eligible_at timestamp with time zone, deadline_at timestamp with time zone, last_error jsonb, output jsonb, inputs jsonb, progress jsonb, started_at timestamp with time zone, completed_at timestamp with time zone, child_run_id bigint, why_code text, why_en text, why_vi text, who text) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_runs_count(p_tenant_id integer, p_filter jsonb)
create function stepwell.fn_runs_count(p_tenant_id integer, p_filter jsonb) returns bigint language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_runs_list(p_tenant_id integer, p_filter jsonb, p_after bigint, p_limit integer)
create function stepwell.fn_runs_list(p_tenant_id integer, p_filter jsonb, p_after bigint, p_limit integer) returns SETOF stepwell.v_run_listed language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_runs_places(p_tenant_id integer, p_every integer, p_filter jsonb)
create function stepwell.fn_runs_places(p_tenant_id integer, p_every integer, p_filter jsonb) returns TABLE(row_count integer, is_at_least boolean, run_ids bigint[]) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_runs_reach(p_tenant_id integer, p_act text, p_run_ids bigint[])
create function stepwell.fn_runs_reach(p_tenant_id integer, p_act text, p_run_ids bigint[]) returns json language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_runs_watch(p_tenant_id integer, p_run_ids bigint[])
create function stepwell.fn_runs_watch(p_tenant_id integer, p_run_ids bigint[]) returns TABLE(run_id bigint, state_code text, result jsonb) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_schedule_delete(p_tenant_id integer, p_schedule_name text)
create function stepwell.fn_schedule_delete(p_tenant_id integer, p_schedule_name text) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_schedule_due(p_limit integer)
create function stepwell.fn_schedule_due(p_limit integer) returns TABLE(tenant_id integer, schedule_name text, cron text, time_zone text, misfire text, backfill_limit integer, next_at timestamp with time zone, now_at timestamp with time zone) language sql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_schedule_fire(p_tenant_id integer, p_schedule_name text, p_seen_next_at timestamp with time zone, p_fire_ats timestamp with time zone[], p_next_at timestamp with time zone)
create function stepwell.fn_schedule_fire(p_tenant_id integer, p_schedule_name text, p_seen_next_at timestamp with time zone, p_fire_ats timestamp with time zone[], p_next_at timestamp with time zone) returns TABLE(run_id bigint, fire_at timestamp with time zone) language plpgsql security definer set search_path=stepwell, pg_temp set lock_timeout=50ms;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_schedule_pause(p_tenant_id integer, p_schedule_name text, p_is_paused boolean)
create function stepwell.fn_schedule_pause(p_tenant_id integer, p_schedule_name text, p_is_paused boolean) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_schedule_set(p_tenant_id integer, p_schedule_name text, p_workflow_name text, p_cron text, p_time_zone text, p_input jsonb, p_misfire text, p_backfill_limit integer, p_next_at timestamp with time zone, p_actor text, p_workspace text)
create function stepwell.fn_schedule_set(p_tenant_id integer, p_schedule_name text, p_workflow_name text, p_cron text, p_time_zone text, p_input jsonb, p_misfire text, p_backfill_limit integer, p_next_at timestamp with time zone, p_actor text, p_workspace text) returns boolean language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_search(p_tenant_id integer, p_text text, p_limit integer)
create function stepwell.fn_search(p_tenant_id integer, p_text text, p_limit integer) returns TABLE(kind text, id text, title text, detail text, rank integer) language plpgsql stable set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_session_bind(p_token text)
create function stepwell.fn_session_bind(p_token text) returns TABLE(tenant_id integer, principal_id bigint, principal_name text) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.fn_sessions_in_the_way()
create function stepwell.fn_sessions_in_the_way() returns json language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_sessions_read(p_tenant_id integer, p_principal_name text, p_limit integer)
create function stepwell.fn_sessions_read(p_tenant_id integer, p_principal_name text, p_limit integer) returns TABLE(token_id bigint, principal_name text, created_at timestamp with time zone, last_seen_at timestamp with time zone, ends_at timestamp with time zone, address text, user_agent text, is_current boolean, is_valid boolean) language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_sessions_revoke(p_tenant_id integer, p_principal_name text, p_keeps_current boolean)
create function stepwell.fn_sessions_revoke(p_tenant_id integer, p_principal_name text, p_keeps_current boolean) returns integer language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_sign_in(p_tenant text, p_name text, p_secret_hash text, p_address text, p_user_agent text)
create function stepwell.fn_sign_in(p_tenant text, p_name text, p_secret_hash text, p_address text, p_user_agent text) returns TABLE(outcome text, token text, token_id bigint, tenant_id integer, principal_name text, expires_at timestamp with time zone, retry_at timestamp with time zone) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_sign_in_salt(p_tenant text, p_name text)
create function stepwell.fn_sign_in_salt(p_tenant text, p_name text) returns text language sql stable security definer set search_path=stepwell, pg_temp set standard_conforming_strings=on;
-- granted to stepwell_api: execute

-- function: stepwell.fn_sign_out()
create function stepwell.fn_sign_out() returns boolean language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_signal(p_tenant_id integer, p_run_id bigint, p_event_type text, p_payload jsonb, p_event_key text, p_actor text)
create function stepwell.fn_signal(p_tenant_id integer, p_run_id bigint, p_event_type text, p_payload jsonb, p_event_key text, p_actor text) returns TABLE(accepted boolean, woken_unit_id bigint) language plpgsql security definer set search_path=stepwell, pg_temp set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_hashjoin=off set enable_mergejoin=off set random_page_cost=0.01 set join_collapse_limit=1 set jit=off;
-- granted to stepwell_api: execute
-- granted to stepwell_worker: execute

-- function: stepwell.fn_slack_approval_decide(p_tenant_id integer, p_slack_user_id text, p_approval_id bigint, p_decision text, p_shown text, p_reason text)
create function stepwell.fn_slack_approval_decide(p_tenant_id integer, p_slack_user_id text, p_approval_id bigint, p_decision text, p_shown text, p_reason text) returns text language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_slack: execute

-- function: stepwell.fn_slack_callback_accept(p_tenant_id integer, p_signature text, p_sent_epoch bigint)
create function stepwell.fn_slack_callback_accept(p_tenant_id integer, p_signature text, p_sent_epoch bigint) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_slack: execute

-- function: stepwell.fn_slack_card_note(p_tenant_id integer, p_approval_id bigint, p_message_ts text, p_face text, p_is_final boolean, p_error text, p_retry_seconds integer)
create function stepwell.fn_slack_card_note(p_tenant_id integer, p_approval_id bigint, p_message_ts text, p_face text, p_is_final boolean, p_error text, p_retry_seconds integer) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_slack: execute

-- function: stepwell.fn_slack_cards_take(p_tenant_id integer, p_channel text, p_limit integer, p_hold_seconds integer)
create function stepwell.fn_slack_cards_take(p_tenant_id integer, p_channel text, p_limit integer, p_hold_seconds integer) returns TABLE(approval_id bigint, channel text, message_ts text, try_count integer, face text, approval jsonb) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_slack: execute

-- function: stepwell.fn_slack_user_find(p_tenant_id integer, p_slack_user_id text)
create function stepwell.fn_slack_user_find(p_tenant_id integer, p_slack_user_id text) returns TABLE(slack_user_id text, person_name text, is_active boolean, mapped_at timestamp with time zone, mapped_by text) language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_slack: execute

-- function: stepwell.fn_slack_user_map(p_tenant_id integer, p_slack_user_id text, p_person_name text, p_actor text)
create function stepwell.fn_slack_user_map(p_tenant_id integer, p_slack_user_id text, p_person_name text, p_actor text) returns boolean language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_slack_user_unmap(p_tenant_id integer, p_slack_user_id text)
create function stepwell.fn_slack_user_unmap(p_tenant_id integer, p_slack_user_id text) returns boolean language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_state_transition_validate(p_run_id bigint, p_run_kind text, p_from_state text, p_to_state text, p_actor_class text, p_trigger_kind text, p_trigger_ref text, p_evidence jsonb, p_preview boolean, p_tenant_id integer)
create function stepwell.fn_state_transition_validate(p_run_id bigint, p_run_kind text, p_from_state text, p_to_state text, p_actor_class text, p_trigger_kind text, p_trigger_ref text, p_evidence jsonb, p_preview boolean, p_tenant_id integer) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_step_assign(p_tenant_id integer, p_unit_id bigint, p_person text, p_actor text, p_reason text, p_key text)
create function stepwell.fn_step_assign(p_tenant_id integer, p_unit_id bigint, p_person text, p_actor text, p_reason text, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_step_block(p_tenant_id integer, p_unit_id bigint, p_actor text, p_reason text, p_detail text, p_key text)
create function stepwell.fn_step_block(p_tenant_id integer, p_unit_id bigint, p_actor text, p_reason text, p_detail text, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_step_block_escalate(p_tenant_id integer, p_unit_id bigint, p_actor text, p_reason text, p_approval_id bigint, p_key text)
create function stepwell.fn_step_block_escalate(p_tenant_id integer, p_unit_id bigint, p_actor text, p_reason text, p_approval_id bigint, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_step_blocked_severity(p_step_run_id bigint, p_tenant_id integer)
create function stepwell.fn_step_blocked_severity(p_step_run_id bigint, p_tenant_id integer) returns text language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_step_body(p_tenant_id integer, p_unit_id bigint, p_parts text[], p_events_before bigint, p_events_limit integer)
create function stepwell.fn_step_body(p_tenant_id integer, p_unit_id bigint, p_parts text[], p_events_before bigint, p_events_limit integer) returns json language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_step_cannot_complete(p_tenant_id integer, p_unit_id bigint, p_actor text, p_evidence_ref text, p_reason text, p_key text)
create function stepwell.fn_step_cannot_complete(p_tenant_id integer, p_unit_id bigint, p_actor text, p_evidence_ref text, p_reason text, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_step_claim(p_tenant_id integer, p_unit_id bigint, p_actor text, p_key text)
create function stepwell.fn_step_claim(p_tenant_id integer, p_unit_id bigint, p_actor text, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_step_comment(p_tenant_id integer, p_unit_id bigint, p_actor text, p_body text, p_key text)
create function stepwell.fn_step_comment(p_tenant_id integer, p_unit_id bigint, p_actor text, p_body text, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_step_complete(p_tenant_id integer, p_unit_id bigint, p_actor text, p_output jsonb, p_key text)
create function stepwell.fn_step_complete(p_tenant_id integer, p_unit_id bigint, p_actor text, p_output jsonb, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_step_correction_preview(p_tenant_id integer, p_unit_id bigint)
create function stepwell.fn_step_correction_preview(p_tenant_id integer, p_unit_id bigint) returns TABLE(relation text, run_id bigint, step_run_id bigint, step_id text, step_kind text, state_code text, can_reopen boolean, waits_for bigint[]) language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_step_deadline_change(p_tenant_id integer, p_unit_id bigint, p_actor text, p_deadline_at timestamp with time zone, p_reason text, p_key text)
create function stepwell.fn_step_deadline_change(p_tenant_id integer, p_unit_id bigint, p_actor text, p_deadline_at timestamp with time zone, p_reason text, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_step_delegate(p_tenant_id integer, p_unit_id bigint, p_actor text, p_person text, p_reason text, p_key text)
create function stepwell.fn_step_delegate(p_tenant_id integer, p_unit_id bigint, p_actor text, p_person text, p_reason text, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_step_escalate(p_tenant_id integer, p_unit_id bigint, p_actor text, p_reason text, p_key text)
create function stepwell.fn_step_escalate(p_tenant_id integer, p_unit_id bigint, p_actor text, p_reason text, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_step_find(p_tenant_id integer, p_run_id bigint, p_step_id text, p_task_id text, p_item_no integer)
create function stepwell.fn_step_find(p_tenant_id integer, p_run_id bigint, p_step_id text, p_task_id text, p_item_no integer) returns bigint language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_step_inputs_read(p_tenant_id integer, p_unit_id bigint)
create function stepwell.fn_step_inputs_read(p_tenant_id integer, p_unit_id bigint) returns jsonb language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_step_permission_set(p_tenant_id integer, p_workflow_name text, p_step_id text, p_roles text[])
create function stepwell.fn_step_permission_set(p_tenant_id integer, p_workflow_name text, p_step_id text, p_roles text[]) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_step_pic_resolves(p_step_run_id bigint, p_tenant_id integer)
create function stepwell.fn_step_pic_resolves(p_step_run_id bigint, p_tenant_id integer) returns boolean language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_step_release(p_tenant_id integer, p_unit_id bigint, p_actor text, p_reason text, p_key text)
create function stepwell.fn_step_release(p_tenant_id integer, p_unit_id bigint, p_actor text, p_reason text, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_step_reopen_for_correction(p_tenant_id integer, p_unit_id bigint, p_actor text, p_reason text, p_approval_id bigint, p_downstream text, p_person text, p_key text)
create function stepwell.fn_step_reopen_for_correction(p_tenant_id integer, p_unit_id bigint, p_actor text, p_reason text, p_approval_id bigint, p_downstream text, p_person text, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_step_resume(p_tenant_id integer, p_unit_id bigint, p_actor text, p_resolution_ref text, p_key text)
create function stepwell.fn_step_resume(p_tenant_id integer, p_unit_id bigint, p_actor text, p_resolution_ref text, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_step_unblock(p_tenant_id integer, p_unit_id bigint, p_actor text, p_resolution_ref text, p_key text)
create function stepwell.fn_step_unblock(p_tenant_id integer, p_unit_id bigint, p_actor text, p_resolution_ref text, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_step_wait(p_tenant_id integer, p_unit_id bigint, p_actor text, p_facets text[], p_event_type text, p_resume_at timestamp with time zone, p_key text)
create function stepwell.fn_step_wait(p_tenant_id integer, p_unit_id bigint, p_actor text, p_facets text[], p_event_type text, p_resume_at timestamp with time zone, p_key text) returns jsonb language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_summaries_write(p_limit integer)
create function stepwell.fn_summaries_write(p_limit integer) returns integer language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_summary_events(p_tenant_id integer, p_summary_id bigint)
create function stepwell.fn_summary_events(p_tenant_id integer, p_summary_id bigint) returns TABLE(event_id bigint, at timestamp with time zone, run_id bigint, unit_id bigint, event_type text, to_state text, actor_class text, actor text, workflow text, step_id text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_summary_write(p_tenant_id integer, p_actor text, p_subject_kind text, p_subject text, p_colour text, p_sentence_en text, p_sentence_vi text, p_source_event_count integer, p_source_event_total integer, p_source_event_refs text[], p_window_start_at timestamp with time zone, p_window_end_at timestamp with time zone, p_summarizer_version text, p_confidence real)
create function stepwell.fn_summary_write(p_tenant_id integer, p_actor text, p_subject_kind text, p_subject text, p_colour text, p_sentence_en text, p_sentence_vi text, p_source_event_count integer, p_source_event_total integer, p_source_event_refs text[], p_window_start_at timestamp with time zone, p_window_end_at timestamp with time zone, p_summarizer_version text, p_confidence real) returns bigint language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_tenant_find(p_tenant_code text)
create function stepwell.fn_tenant_find(p_tenant_code text) returns integer language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.fn_tenant_set(p_tenant_code text, p_settings jsonb)
create function stepwell.fn_tenant_set(p_tenant_code text, p_settings jsonb) returns integer language plpgsql security definer set search_path=stepwell, pg_temp;

-- function: stepwell.fn_timers_fire(p_limit integer)
create function stepwell.fn_timers_fire(p_limit integer) returns TABLE(fired_count integer, next_due_at timestamp with time zone) language plpgsql security definer set search_path=stepwell, pg_temp set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_hashjoin=off set enable_mergejoin=off set random_page_cost=0.01 set join_collapse_limit=1 set jit=off;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_token_create(p_tenant_id integer, p_principal_name text, p_label text, p_expires_seconds integer, p_verbs text[], p_kind text)
create function stepwell.fn_token_create(p_tenant_id integer, p_principal_name text, p_label text, p_expires_seconds integer, p_verbs text[], p_kind text) returns TABLE(token_id bigint, token text) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_token_revoke(p_tenant_id integer, p_token_id bigint)
create function stepwell.fn_token_revoke(p_tenant_id integer, p_token_id bigint) returns boolean language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_tokens_page(p_tenant_id integer, p_principal_name text, p_before bigint, p_limit integer)
create function stepwell.fn_tokens_page(p_tenant_id integer, p_principal_name text, p_before bigint, p_limit integer) returns TABLE(token_id bigint, principal_name text, principal_kind text, kind text, label text, verbs text[], created_at timestamp with time zone, created_by text, expires_at timestamp with time zone, revoked_at timestamp with time zone, is_valid boolean) language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_tokens_read(p_tenant_id integer, p_principal_name text, p_limit integer)
create function stepwell.fn_tokens_read(p_tenant_id integer, p_principal_name text, p_limit integer) returns TABLE(token_id bigint, principal_name text, principal_kind text, kind text, label text, verbs text[], created_at timestamp with time zone, created_by text, expires_at timestamp with time zone, revoked_at timestamp with time zone, is_valid boolean) language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_tokens_read_allowed(p_tokens text[])
create function stepwell.fn_tokens_read_allowed(p_tokens text[]) returns TABLE(place integer, reads integer) language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_trigger_delete(p_tenant_id integer, p_name text)
create function stepwell.fn_trigger_delete(p_tenant_id integer, p_name text) returns boolean language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_trigger_fire(p_address text, p_signed_at bigint, p_signature text, p_body bytea, p_delivery text)
create function stepwell.fn_trigger_fire(p_address text, p_signed_at bigint, p_signature text, p_body bytea, p_delivery text) returns TABLE(run_id bigint, is_new boolean) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_trigger_set(p_tenant_id integer, p_name text, p_settings jsonb)
create function stepwell.fn_trigger_set(p_tenant_id integer, p_name text, p_settings jsonb) returns TABLE(address text, secret text) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_triggers_read(p_tenant_id integer)
create function stepwell.fn_triggers_read(p_tenant_id integer) returns TABLE(trigger_name text, workflow_name text, event_type text, ref_path text, key_path text, input_path text, acts_as text, created_at timestamp with time zone, created_by text, expires_at timestamp with time zone, is_valid boolean) language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_unblock_path(p_unit_id bigint, p_tenant_id integer)
create function stepwell.fn_unblock_path(p_unit_id bigint, p_tenant_id integer) returns TABLE(place integer, unit_id bigint, unit_name text, code text, sentence_en text, sentence_vi text, who text, action text, target_id bigint, call_path text, needs text[], command text, expected_at timestamp with time zone, past_runs integer) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_verbs_read()
create function stepwell.fn_verbs_read() returns TABLE(verb text, description text) language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.fn_view_delete(p_tenant_id integer, p_view_id bigint)
create function stepwell.fn_view_delete(p_tenant_id integer, p_view_id bigint) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_view_save(p_tenant_id integer, p_page text, p_name text, p_filter jsonb, p_columns text[], p_is_shared boolean, p_view_id bigint)
create function stepwell.fn_view_save(p_tenant_id integer, p_page text, p_name text, p_filter jsonb, p_columns text[], p_is_shared boolean, p_view_id bigint) returns bigint language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_views_read(p_tenant_id integer, p_page text)
create function stepwell.fn_views_read(p_tenant_id integer, p_page text) returns TABLE(view_id bigint, page text, view_name text, filter jsonb, columns text[], is_shared boolean, owner_name text, is_mine boolean, changed_at timestamp with time zone) language plpgsql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_watch_mark()
create function stepwell.fn_watch_mark() returns bigint language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_keeper: execute

-- function: stepwell.fn_why_not_running(p_unit_id bigint, p_tenant_id integer)
create function stepwell.fn_why_not_running(p_unit_id bigint, p_tenant_id integer) returns TABLE(code text, sentence_en text, sentence_vi text, who text) language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_worker_close(p_session_key bigint)
create function stepwell.fn_worker_close(p_session_key bigint) returns integer language plpgsql security definer set search_path=stepwell, pg_temp set plan_cache_mode=force_generic_plan set enable_seqscan=off set enable_hashjoin=off set enable_mergejoin=off set random_page_cost=0.01 set join_collapse_limit=1 set jit=off;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_worker_go_on(p_tenant_id integer, p_worker_id bigint, p_stop_kind text, p_actor text, p_reason text)
create function stepwell.fn_worker_go_on(p_tenant_id integer, p_worker_id bigint, p_stop_kind text, p_actor text, p_reason text) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_worker_heartbeat(p_session_key bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_last_batch_id bigint)
create function stepwell.fn_worker_heartbeat(p_session_key bigint, p_tenant_ids integer[], p_unit_ids bigint[], p_lease_nos integer[], p_last_batch_id bigint) returns TABLE(unit_id bigint, lease_no integer, reason text) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_worker_leases_read(p_session_key bigint, p_batch_id bigint)
create function stepwell.fn_worker_leases_read(p_session_key bigint, p_batch_id bigint) returns TABLE(tenant_id integer, unit_id bigint, lease_no integer) language sql stable security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_worker_register(p_worker_name text, p_class_names text[], p_slot_count integer, p_lease_seconds integer, p_info jsonb, p_operation_names text[], p_takes jsonb)
create function stepwell.fn_worker_register(p_worker_name text, p_class_names text[], p_slot_count integer, p_lease_seconds integer, p_info jsonb, p_operation_names text[], p_takes jsonb) returns bigint language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_worker_serves(p_session_key bigint, p_operation_names text[], p_takes jsonb)
create function stepwell.fn_worker_serves(p_session_key bigint, p_operation_names text[], p_takes jsonb) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_worker: execute

-- function: stepwell.fn_worker_stop(p_tenant_id integer, p_worker_id bigint, p_stop_kind text, p_actor text, p_reason text)
create function stepwell.fn_worker_stop(p_tenant_id integer, p_worker_id bigint, p_stop_kind text, p_actor text, p_reason text) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_workflow_caps_set(p_tenant_id integer, p_workflow_name text, p_settings jsonb)
create function stepwell.fn_workflow_caps_set(p_tenant_id integer, p_workflow_name text, p_settings jsonb) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_workflow_diff(p_tenant_id integer, p_workflow text, p_from integer, p_to integer)
create function stepwell.fn_workflow_diff(p_tenant_id integer, p_workflow text, p_from integer, p_to integer) returns json language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_workflow_evidence_set(p_tenant_id integer, p_workflow_name text, p_makes_evidence boolean)
create function stepwell.fn_workflow_evidence_set(p_tenant_id integer, p_workflow_name text, p_makes_evidence boolean) returns void language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.fn_workflow_publish(p_tenant_id integer, p_graph jsonb, p_actor text)
create function stepwell.fn_workflow_publish(p_tenant_id integer, p_graph jsonb, p_actor text) returns TABLE(version_id integer, version_no integer, is_new boolean) language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_worker: execute

-- function: stepwell.fn_workflow_rollup_compute(p_workflow_run_id bigint, p_tenant_id integer)
create function stepwell.fn_workflow_rollup_compute(p_workflow_run_id bigint, p_tenant_id integer) returns jsonb language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_workflow_run_snapshot(p_tenant_id integer, p_run_id bigint, p_lanes_by text, p_layout_version integer)
create function stepwell.fn_workflow_run_snapshot(p_tenant_id integer, p_run_id bigint, p_lanes_by text, p_layout_version integer) returns json language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_workflow_run_snapshot_at(p_tenant_id integer, p_run_id bigint, p_event_id bigint, p_at timestamp with time zone)
create function stepwell.fn_workflow_run_snapshot_at(p_tenant_id integer, p_run_id bigint, p_event_id bigint, p_at timestamp with time zone) returns json language sql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_workflow_running(p_tenant_id integer, p_workflow text, p_version_no integer)
create function stepwell.fn_workflow_running(p_tenant_id integer, p_workflow text, p_version_no integer) returns json language plpgsql stable set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_reader: execute

-- function: stepwell.fn_workspace_set(p_tenant_id integer, p_workspace text, p_settings jsonb)
create function stepwell.fn_workspace_set(p_tenant_id integer, p_workspace text, p_settings jsonb) returns integer language plpgsql security definer set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute

-- function: stepwell.graph_is_shown(p_tenant_id integer, p_graph_hash text, p_hidden_steps bigint[])
create function stepwell.graph_is_shown(p_tenant_id integer, p_graph_hash text, p_hidden_steps bigint[]) returns boolean language sql stable security definer parallel restricted set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.hidden_contents()
create function stepwell.hidden_contents() returns bigint[] language plpgsql stable security definer parallel restricted set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.hidden_steps()
create function stepwell.hidden_steps() returns bigint[] language plpgsql stable security definer parallel restricted set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.now()
create function stepwell.now() returns timestamp with time zone language plpgsql parallel safe set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.payload_tenant()
create function stepwell.payload_tenant() returns integer language plpgsql stable security definer parallel restricted set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.read_tenant()
create function stepwell.read_tenant() returns integer language plpgsql stable security definer parallel restricted set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.sees_all_steps()
create function stepwell.sees_all_steps() returns boolean language plpgsql stable security definer parallel restricted set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.unit_is_shown(p_tenant_id integer, p_unit_id bigint, p_hidden_steps bigint[])
create function stepwell.unit_is_shown(p_tenant_id integer, p_unit_id bigint, p_hidden_steps bigint[]) returns boolean language plpgsql stable security definer parallel restricted set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.version_graph(p_tenant_id integer, p_version_id integer)
create function stepwell.version_graph(p_tenant_id integer, p_version_id integer) returns jsonb language plpgsql stable security definer parallel restricted set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute

-- function: stepwell.version_hash(p_version_id integer, p_graph_hash text)
create function stepwell.version_hash(p_version_id integer, p_graph_hash text) returns text language plpgsql stable security definer parallel restricted set search_path=stepwell, pg_temp;
-- granted to stepwell_api: execute
-- granted to stepwell_keeper: execute
-- granted to stepwell_reader: execute
-- granted to stepwell_slack: execute
-- granted to stepwell_worker: execute
