-- Runtime tables. Every key leads with tenant_id. A unit of work has one row in work_unit, and that row
-- is the only home of its state; everything else hangs on it.

create table stepwell.clock_shift (
    shift interval not null,
    only_one boolean not null default true,
    constraint clock_shift_pkey primary key (only_one),
    constraint clock_shift_has_one_row check (only_one)
);
comment on table stepwell.clock_shift is 'Empty in production. A row moves stepwell.now() for every session, in tests.';

create table stepwell.tenant (
    tenant_id int generated always as identity,
    tenant_code text not null,
    weight int not null default 1,
    created_at timestamptz not null default clock_timestamp(),
    constraint tenant_pkey primary key (tenant_id),
    constraint tenant_code_is_unique unique (tenant_code),
    constraint tenant_weight_is_positive check (weight between 1 and 1000)
);
insert into stepwell.tenant (tenant_code) values ('default');

-- What can execute. The template generator is no executor, whatever it is called.
create table stepwell.executor_class (
    class_id int generated always as identity,
    class_name text not null,
    description text not null,
    constraint executor_class_pkey primary key (class_id),
    constraint class_name_is_unique unique (class_name),
    constraint class_name_is_plain check (class_name ~ '^[a-z][a-z0-9_-]{0,62}$'),
    constraint the_generator_never_executes check (class_name !~ '^mot([_:-]|$)')
);
insert into stepwell.executor_class (class_name, description) values
('default', 'Coroutines on the event loop and functions in threads'),
('process', 'CPU-bound functions, each in a process of its own');

create table stepwell.operation (
    tenant_id int not null,
    operation_id int generated always as identity,
    operation_name text not null,
    class_id int not null,
    max_attempts smallint not null default 5,
    retry_initial_seconds real not null default 1,
    retry_max_seconds real not null default 300,
    retry_multiplier real not null default 2,
    non_retryable text[] not null default '{}',
    timeout_seconds real,
    updated_at timestamptz not null default clock_timestamp(),
    constraint operation_pkey primary key (tenant_id, operation_id),
    constraint operation_name_is_unique unique (tenant_id, operation_name),
    constraint operation_class_exists foreign key (class_id) references stepwell.executor_class,
    constraint operation_name_has_a_length check (length(operation_name) between 1 and 200),
    constraint max_attempts_is_bounded check (max_attempts between 1 and 1000),
    constraint retry_times_are_sane
        check (retry_initial_seconds >= 0 and retry_max_seconds >= retry_initial_seconds and retry_multiplier >= 1),
    constraint timeout_is_positive check (timeout_seconds > 0)
);

create table stepwell.workflow_registry (
    tenant_id int not null,
    workflow_id int generated always as identity,
    workflow_name text not null,
    workflow_class text not null default 'default',
    created_at timestamptz not null default clock_timestamp(),
    constraint workflow_registry_pkey primary key (tenant_id, workflow_id),
    constraint workflow_name_is_unique unique (tenant_id, workflow_name),
    constraint workflow_name_has_a_length check (length(workflow_name) between 1 and 200)
);

create table stepwell.workflow_version (
    tenant_id int not null,
    version_id int generated always as identity,
    workflow_id int not null,
    version_no int not null,
    graph_hash text not null,
    graph jsonb not null,
    failure_policy text not null,
    step_count int not null,
    published_at timestamptz not null,
    published_by text not null,
    constraint workflow_version_pkey primary key (tenant_id, version_id),
    constraint version_no_is_unique unique (tenant_id, workflow_id, version_no),
    constraint graph_is_published_once unique (tenant_id, workflow_id, graph_hash),
    constraint version_workflow_exists
        foreign key (tenant_id, workflow_id) references stepwell.workflow_registry,
    constraint failure_policy_is_known check (failure_policy in ('continue-running', 'abort-dependents')),
    constraint step_count_is_bounded check (step_count between 1 and 50000)
);

create table stepwell.workflow_step_def (
    tenant_id int not null,
    version_id int not null,
    step_no int not null,
    step_id text not null,
    step_kind text not null,
    scope_no int not null default 0,
    branch_no int,
    group_no int,
    optional boolean not null default false,
    priority smallint not null default 0,
    pending_count int not null,
    operation_id int,
    max_attempts smallint not null default 1,
    timeout_seconds real,
    has_contract boolean not null default false,
    inputs jsonb,
    config jsonb not null default '{}',
    constraint workflow_step_def_pkey primary key (tenant_id, version_id, step_no),
    constraint step_id_is_unique unique (tenant_id, version_id, step_id),
    constraint step_version_exists foreign key (tenant_id, version_id) references stepwell.workflow_version,
    constraint step_kind_is_known
        check (step_kind in ('operation', 'human', 'wait', 'subworkflow', 'decision', 'map')),
    constraint an_operation_step_names_its_operation check ((step_kind = 'operation') = (operation_id is not null))
);

create table stepwell.workflow_step_relations (
    tenant_id int not null,
    version_id int not null,
    from_no int not null,
    to_no int not null,
    branch_no int,
    constraint workflow_step_relations_pkey primary key (tenant_id, version_id, from_no, to_no),
    constraint relation_from_exists
        foreign key (tenant_id, version_id, from_no) references stepwell.workflow_step_def,
    constraint relation_to_exists
        foreign key (tenant_id, version_id, to_no) references stepwell.workflow_step_def
);
create index relations_by_successor
    on stepwell.workflow_step_relations (tenant_id, version_id, to_no, from_no);

create table stepwell.workflow_branch (
    tenant_id int not null,
    version_id int not null,
    branch_no int not null,
    decision_no int not null,
    parent_branch_no int,
    negated boolean not null,
    constraint workflow_branch_pkey primary key (tenant_id, version_id, branch_no),
    constraint branch_decision_exists
        foreign key (tenant_id, version_id, decision_no) references stepwell.workflow_step_def
);

create table stepwell.workflow_group (
    tenant_id int not null,
    version_id int not null,
    group_no int not null,
    max_concurrency int not null,
    constraint workflow_group_pkey primary key (tenant_id, version_id, group_no),
    constraint group_version_exists foreign key (tenant_id, version_id) references stepwell.workflow_version,
    constraint group_concurrency_is_positive check (max_concurrency >= 1)
);

-- unit_id = (stream << 20) | unit_no. Number 0 is the run itself, or a free-standing job.
create sequence stepwell.stream_seq as bigint maxvalue 8796093022207 cache 1;

create table stepwell.work_unit (
    tenant_id int not null,
    unit_id bigint not null,
    version_id int,
    def_no int,
    operation_id int,
    class_id int,
    pending_count int not null default 0,
    lease_no int not null default 0,
    lease_session_id bigint,
    priority smallint not null default 0,
    attempt_count smallint not null default 0,
    max_attempts smallint not null default 1,
    mandatory boolean not null default true,
    has_contract boolean not null default false,
    completed_after_deadline boolean not null default false,
    blocked_escalated boolean not null default false,
    failure_caught boolean not null default false,
    item_no int,
    started_at timestamptz,
    completed_at timestamptz,
    last_transition_at timestamptz not null,
    deadline_at timestamptz,
    overdue_first_at timestamptz,
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
    constraint work_unit_pkey primary key (tenant_id, unit_id),
    constraint waiting_always_has_a_facet check ((state_code = 'waiting') = (waiting_facet is not null)),
    constraint pending_count_is_not_negative check (pending_count >= 0)
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.1);
create index units_by_parent on stepwell.work_unit (tenant_id, parent_id) where parent_id is not null;
create index units_by_pic on stepwell.work_unit (tenant_id, pic_id) where pic_id is not null;

create table stepwell.run_detail (
    tenant_id int not null,
    run_id bigint not null,
    version_id int not null,
    workflow_id int not null,
    trigger_type text not null,
    trigger_ref text,
    input jsonb not null,
    trace_id text,
    correlation_id text,
    started_by text not null,
    parent_unit_id bigint,
    depth smallint not null default 0,
    next_unit_no int not null,
    created_at timestamptz not null,
    finished_state text,
    finished_at timestamptz,
    constraint run_detail_pkey primary key (tenant_id, run_id),
    constraint trace_id_is_w3c check (trace_id ~ '^[0-9a-f]{32}$')
) with (fillfactor = 80);
create unique index trigger_starts_one_run
    on stepwell.run_detail (tenant_id, trigger_type, trigger_ref) where trigger_ref is not null;
create index runs_by_workflow on stepwell.run_detail (tenant_id, workflow_id, run_id);
create index runs_open on stepwell.run_detail (tenant_id, run_id) where finished_at is null;

-- Counters of a run, one narrow row: the lock of the run, its roll-up, and what is still open.
create table stepwell.run_progress (
    tenant_id int not null,
    run_id bigint not null,
    parent_run_id bigint,
    open_count int not null,
    mandatory_count int not null,
    idle_count int not null default 0,
    active_count int not null default 0,
    wait_count int not null default 0,
    red_count int not null default 0,
    completed_count int not null default 0,
    skipped_count int not null default 0,
    failed_count int not null default 0,
    map_count int not null default 0,
    rollup_state_code text not null default 'gray',
    last_rollup_at timestamptz not null,
    frozen_at timestamptz,
    constraint run_progress_pkey primary key (tenant_id, run_id),
    constraint rollup_is_a_colour check (rollup_state_code in ('gray', 'green', 'yellow', 'red')),
    constraint open_count_is_not_negative check (open_count >= 0)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- Items of a Map step under way: each item is an instance of the map's body, in unit numbers of its own.
create table stepwell.map_item (
    tenant_id int not null,
    unit_id bigint not null,
    item_no int not null,
    item jsonb not null,
    constraint map_item_pkey primary key (tenant_id, unit_id, item_no)
);
create index maps_by_run on stepwell.map_item (tenant_id, unit_id) where item_no = 0;

create table stepwell.job_detail (
    tenant_id int not null,
    job_id bigint not null,
    payload jsonb,
    idempotency_key text,
    source_ref text,
    target_ref text,
    payload_ref text,
    trace_id text,
    correlation_id text,
    created_at timestamptz not null,
    created_by text not null,
    constraint job_detail_pkey primary key (tenant_id, job_id)
);
create unique index job_key_is_unique
    on stepwell.job_detail (tenant_id, idempotency_key) where idempotency_key is not null;

-- What can be claimed now: inserted when ready, deleted when claimed. Rank is minus the priority.
create table stepwell.job_ready (
    tenant_id int not null,
    class_id int not null,
    rank smallint not null,
    unit_id bigint not null,
    is_retry boolean not null,
    constraint job_ready_pkey primary key (tenant_id, class_id, rank, unit_id)
) with (fillfactor = 100, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);

-- A limit on how many units of one key may be claimable or running at once, and the line behind it.
create table stepwell.concurrency_slot (
    tenant_id int not null,
    slot_key text not null,
    max_count int not null,
    used_count int not null default 0,
    constraint concurrency_slot_pkey primary key (tenant_id, slot_key),
    constraint max_count_is_positive check (max_count >= 1),
    constraint used_count_is_not_negative check (used_count >= 0)
) with (fillfactor = 50);

create table stepwell.job_line (
    tenant_id int not null,
    slot_key text not null,
    rank smallint not null,
    unit_id bigint not null,
    constraint job_line_pkey primary key (tenant_id, slot_key, rank, unit_id)
);

create table stepwell.worker_session (
    session_id bigint generated always as identity,
    worker_name text not null,
    class_ids int[] not null,
    slot_count int not null,
    lease_seconds int not null,
    started_at timestamptz not null,
    last_tick_at timestamptz not null,
    expires_at timestamptz not null,
    closed_at timestamptz,
    is_idle boolean not null default false,
    info jsonb not null default '{}',
    constraint worker_session_pkey primary key (session_id),
    constraint lease_seconds_is_bounded check (lease_seconds between 1 and 86400),
    constraint slot_count_is_bounded check (slot_count between 1 and 10000)
) with (fillfactor = 50);
create index sessions_open on stepwell.worker_session (session_id) where closed_at is null;

-- Which units a session holds, one row per claim: read only when a session dies.
create table stepwell.worker_lease (
    session_id bigint not null,
    batch_id bigint generated always as identity,
    tenant_ids int[] not null,
    unit_ids bigint[] not null,
    constraint worker_lease_pkey primary key (session_id, batch_id)
);

create table stepwell.unit_output (
    tenant_id int not null,
    unit_id bigint not null,
    lease_no int not null,
    output jsonb not null,
    created_at timestamptz not null,
    constraint unit_output_pkey primary key (tenant_id, unit_id, lease_no)
);

-- One row per attempt that did not succeed: the failure history of a unit.
create table stepwell.unit_failure (
    tenant_id int not null,
    unit_id bigint not null,
    lease_no int not null,
    failure_class text not null,
    classification text not null,
    error jsonb not null,
    attempt_count smallint not null,
    failed_at timestamptz not null,
    next_eligible_at timestamptz,
    constraint unit_failure_pkey primary key (tenant_id, unit_id, lease_no, failed_at)
);

create table stepwell.job_dead_letter (
    tenant_id int not null,
    unit_id bigint not null,
    died_at timestamptz not null,
    failure_class text not null,
    error jsonb not null,
    attempt_count smallint not null,
    resolved_at timestamptz,
    resolution text,
    constraint job_dead_letter_pkey primary key (tenant_id, unit_id, died_at)
);
create index dead_letters_open on stepwell.job_dead_letter (tenant_id, died_at) where resolved_at is null;

create table stepwell.unit_checkpoint (
    tenant_id int not null,
    unit_id bigint not null,
    checkpoint_name text not null,
    checkpoint_value jsonb not null,
    lease_no int not null,
    saved_at timestamptz not null,
    constraint unit_checkpoint_pkey primary key (tenant_id, unit_id, checkpoint_name)
);

-- Why a unit runs again: told to its handler at the next claim.
create table stepwell.unit_wake (
    tenant_id int not null,
    unit_id bigint not null,
    task_type text not null,
    event_type text,
    payload jsonb,
    woken_at timestamptz not null,
    constraint unit_wake_pkey primary key (tenant_id, unit_id),
    constraint task_type_is_known check (task_type in ('RESUMED', 'WAITING_TIMEOUT', 'SLEPT'))
);

create table stepwell.event_wait (
    tenant_id int not null,
    unit_id bigint not null,
    stream_id bigint not null,
    event_type text not null,
    since_at timestamptz not null,
    constraint event_wait_pkey primary key (tenant_id, unit_id)
);
create index waits_by_event on stepwell.event_wait (tenant_id, stream_id, event_type, unit_id);

-- Events from outside, each accepted once. An event without a taker is kept until one waits for it.
create table stepwell.event_inbox (
    tenant_id int not null,
    event_key text not null,
    stream_id bigint not null,
    event_type text not null,
    payload jsonb not null,
    received_at timestamptz not null,
    taken_by bigint,
    constraint event_inbox_pkey primary key (tenant_id, event_key)
);
create index inbox_untaken
    on stepwell.event_inbox (tenant_id, stream_id, event_type, received_at) where taken_by is null;

create table stepwell.timer (
    tenant_id int not null,
    unit_id bigint not null,
    timer_kind text not null,
    due_at timestamptz not null,
    constraint timer_pkey primary key (tenant_id, unit_id, timer_kind),
    constraint timer_kind_is_known check (timer_kind in ('start', 'retry', 'wait_timeout', 'sleep', 'deadline',
        'block_severity', 'approval_expiry', 'escalation'))
);
create index timers_by_due on stepwell.timer (due_at);

create table stepwell.workflow_schedule (
    tenant_id int not null,
    schedule_name text not null,
    workflow_id int not null,
    cron text not null,
    time_zone text not null default 'UTC',
    input jsonb not null default '{}',
    misfire text not null default 'latest',
    backfill_limit int not null default 100,
    is_paused boolean not null default false,
    next_at timestamptz,
    last_at timestamptz,
    created_at timestamptz not null,
    created_by text not null,
    constraint workflow_schedule_pkey primary key (tenant_id, schedule_name),
    constraint schedule_workflow_exists
        foreign key (tenant_id, workflow_id) references stepwell.workflow_registry,
    constraint misfire_rule_is_known check (misfire in ('skip', 'latest', 'all')),
    constraint backfill_is_bounded check (backfill_limit between 1 and 10000)
);
create index schedules_by_due on stepwell.workflow_schedule (next_at) where not is_paused;

create table stepwell.transition_idempotency (
    tenant_id int not null,
    unit_id bigint not null,
    to_state text not null,
    idempotency_key text not null,
    verdict jsonb not null,
    decided_at timestamptz not null,
    constraint transition_idempotency_pkey primary key (tenant_id, unit_id, to_state, idempotency_key)
);
create index idempotency_by_age on stepwell.transition_idempotency (decided_at);

create table stepwell.event_validation_audit (
    tenant_id int not null,
    audit_id bigint generated always as identity,
    event_type text not null,
    unit_id bigint,
    payload jsonb,
    problems text[] not null,
    rejected_at timestamptz not null,
    constraint event_validation_audit_pkey primary key (tenant_id, audit_id)
);

-- What happened: append-only, the source of history, projections, audit and relay.
-- Readers order by (tx, event_id) and stop below the oldest transaction in flight: a late commit is never skipped.
create sequence stepwell.event_seq as bigint cache 1;
create table stepwell.event_log (
    tenant_id int not null,
    event_id bigint not null default nextval('stepwell.event_seq'),
    tx xid8 not null default pg_current_xact_id(),
    at timestamptz not null,
    stream_id bigint not null,
    unit_id bigint not null,
    request_id int,
    event_type text not null,
    from_state text,
    to_state text,
    actor_class text not null,
    actor text,
    audit_ref text,
    trace_id text,
    correlation_id text,
    payload jsonb
) partition by range (at);
create index events_by_position on stepwell.event_log (tenant_id, tx, event_id);
create index events_by_stream on stepwell.event_log (tenant_id, stream_id, event_id);

create table stepwell.event_reader (
    tenant_id int not null,
    reader_name text not null,
    last_tx xid8 not null default '0',
    last_event_id bigint not null default 0,
    moved_at timestamptz not null default clock_timestamp(),
    constraint event_reader_pkey primary key (tenant_id, reader_name)
);

-- One row of what a claim (or a report that claims) hands to a worker.
create type stepwell.job_lease as (
    row_kind text,
    tenant_id int,
    unit_id bigint,
    lease_no int,
    batch_id bigint,
    operation_name text,
    attempt int,
    max_attempts int,
    timeout_seconds real,
    step_id text,
    input jsonb,
    bound_input jsonb,
    wake jsonb,
    checkpoints jsonb,
    trace_id text,
    correlation_id text,
    deadline_at timestamptz
);
