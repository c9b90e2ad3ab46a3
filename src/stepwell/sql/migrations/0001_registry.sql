-- The registry: state machines, transitions, event types and vocabularies as rows.
-- Nothing in Python or in the UI decides about states; it reads what is declared here.

create table stepwell.dot_config (
    config_key text not null,
    config_value jsonb not null,
    description text not null,
    updated_at timestamptz not null default clock_timestamp(),
    constraint dot_config_pkey primary key (config_key),
    constraint config_key_is_namespaced check (config_key ~ '^[a-z][a-z0-9_]*(\.[a-zA-Z0-9_]+)+$')
);

create table stepwell.i18n_text (
    text_key text not null,
    lang text not null,
    text_value text not null,
    constraint i18n_text_pkey primary key (text_key, lang),
    constraint lang_is_vi_or_en check (lang in ('vi', 'en')),
    constraint text_is_not_empty check (text_value <> '')
);

create table stepwell.state_machine_def (
    state_machine_id text not null,
    scope text not null,
    version text not null,
    active boolean not null default false,
    description text not null,
    created_at timestamptz not null default clock_timestamp(),
    constraint state_machine_def_pkey primary key (state_machine_id),
    constraint scope_is_known check (scope in ('step', 'task', 'workflow_run', 'job', 'approval', 'proposal')),
    constraint version_is_semver check (version ~ '^[0-9]+\.[0-9]+\.[0-9]+$')
);
create unique index one_active_version_per_scope on stepwell.state_machine_def (scope) where active;

create table stepwell.state_def (
    state_machine_id text not null,
    state_code text not null,
    semantic_class text not null,
    is_terminal boolean not null,
    is_initial boolean not null default false,
    ordinal int not null,
    ui_color_token text not null,
    ui_icon_token text not null,
    ui_icon_glyph text not null,
    ui_label_i18n_key text not null,
    ui_short_message_key text not null,
    is_derived boolean not null default false,
    floor_equivalent text,
    justification text,
    constraint state_def_pkey primary key (state_machine_id, state_code),
    constraint state_def_machine_exists foreign key (state_machine_id) references stepwell.state_machine_def,
    constraint semantic_class_is_known check (semantic_class in ('idle', 'active', 'wait', 'red', 'terminal')),
    constraint derived_state_has_floor_equivalent_and_reason
        check (is_derived = (floor_equivalent is not null) and is_derived = (justification is not null)),
    constraint floor_equivalent_exists
        foreign key (state_machine_id, floor_equivalent) references stepwell.state_def,
    constraint ordinal_is_unique unique (state_machine_id, ordinal)
);

create table stepwell.event_type_registry (
    event_type text not null,
    description text not null,
    is_registered boolean not null default true,
    registered_at timestamptz not null default clock_timestamp(),
    constraint event_type_registry_pkey primary key (event_type),
    constraint event_type_is_dotted check (event_type ~ '^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$')
);

-- One row per payload field: the contract of an event type, checked set-based when an event is appended.
create table stepwell.event_field_def (
    event_type text not null,
    field_name text not null,
    json_type text not null,
    is_required boolean not null,
    allowed_values text[],
    description text not null,
    constraint event_field_def_pkey primary key (event_type, field_name),
    constraint event_field_def_type_exists foreign key (event_type) references stepwell.event_type_registry,
    constraint json_type_is_known check (json_type in ('string', 'number', 'boolean', 'object', 'array')),
    constraint allowed_values_are_for_strings check (allowed_values is null or json_type = 'string')
);

-- Whitelist of guard predicates: a transition may name no other function.
create table stepwell.guard_predicate (
    predicate_name text not null,
    description text not null,
    problem_text text not null,
    is_builtin boolean not null default true,
    constraint guard_predicate_pkey primary key (predicate_name),
    constraint predicate_name_is_plain check (predicate_name ~ '^[a-z][a-z0-9_]*$')
);

create table stepwell.transition_def (
    state_machine_id text not null,
    from_state text not null,
    to_state text not null,
    actor_class text not null,
    transition_code text not null,
    trigger_kind text not null,
    trigger_ref text,
    guard_kind text not null default 'none',
    guard_ref text,
    emitted_event_type text,
    audit_required boolean not null default false,
    rollback_to text,
    proposed boolean not null default false,
    is_extension boolean not null default false,
    reason text,
    constraint transition_def_pkey primary key (state_machine_id, from_state, to_state, actor_class),
    constraint from_state_exists foreign key (state_machine_id, from_state) references stepwell.state_def,
    constraint to_state_exists foreign key (state_machine_id, to_state) references stepwell.state_def,
    constraint rollback_state_exists foreign key (state_machine_id, rollback_to) references stepwell.state_def,
    constraint emitted_event_type_exists foreign key (emitted_event_type) references stepwell.event_type_registry,
    constraint actor_class_is_known check (actor_class in ('system', 'pic_human', 'task_pic_human', 'reviewer',
        'executor_worker', 'mow_orchestrator', 'escalation_handler')),
    constraint trigger_kind_is_known check (trigger_kind in ('event', 'rpc', 'timer', 'condition_resolved')),
    constraint guard_kind_is_known check (guard_kind in ('none', 'config', 'predicate_fn')),
    constraint guard_has_ref_when_it_has_a_kind check ((guard_kind = 'none') = (guard_ref is null)),
    constraint extension_has_a_reason check (not is_extension or reason is not null)
);

create table stepwell.state_facet_def (
    state_machine_id text not null,
    state_code text not null,
    facet_code text not null,
    ui_icon_token text not null,
    ui_icon_glyph text not null,
    ui_label_i18n_key text not null,
    primary_ordinal int not null,
    constraint state_facet_def_pkey primary key (state_machine_id, state_code, facet_code),
    constraint facet_state_exists foreign key (state_machine_id, state_code) references stepwell.state_def,
    constraint facet_ordinal_is_unique unique (state_machine_id, state_code, primary_ordinal)
);

create table stepwell.rollup_policy_def (
    state_machine_id text not null,
    policy_code text not null,
    policy_config_jsonb jsonb not null,
    active boolean not null default true,
    description text not null,
    constraint rollup_policy_def_pkey primary key (state_machine_id, policy_code),
    constraint rollup_machine_exists foreign key (state_machine_id) references stepwell.state_machine_def
);

-- Read-only vocabularies of the other documents, mapped mechanically from the floor.
create table stepwell.state_dialect (
    dialect text not null,
    scope text not null,
    state_code text not null,
    qualifier text not null default '',
    dialect_code text not null,
    note text,
    constraint state_dialect_pkey primary key (dialect, scope, state_code, qualifier),
    constraint dialect_is_known check (dialect in ('linear', 'runtime', 'node', 'job'))
);

create table stepwell.failure_class_registry (
    failure_class text not null,
    classification text not null,
    description text not null,
    exception_names text[] not null default '{}',
    constraint failure_class_registry_pkey primary key (failure_class),
    constraint classification_is_known check (classification in ('transient', 'permanent'))
);

-- The registry as the transition core reads it: one row answers everything about one edge.
-- Refreshed whenever a registry row changes; `fn_registry_check` proves it is current.
create materialized view stepwell.transition_rule as
select
    t.state_machine_id,
    t.from_state,
    t.to_state,
    t.actor_class,
    m.scope,
    m.scope || '.' || t.transition_code as transition_id,
    t.trigger_kind,
    t.trigger_ref,
    t.guard_kind,
    t.guard_ref,
    t.audit_required,
    t.proposed,
    e.event_type,
    coalesce(e.is_registered, t.emitted_event_type is null) as event_is_registered,
    exists (select from stepwell.event_field_def as f where f.event_type = e.event_type) as event_has_contract,
    exists (select from stepwell.event_field_def as f where f.event_type = e.event_type and f.is_required)
        as event_requires_payload,
    s_from.semantic_class as from_class,
    s_to.semantic_class as to_class,
    s_from.is_terminal as from_terminal,
    s_to.is_terminal as to_terminal,
    -- Settled: nothing more happens to it by itself. `cannot_complete` can be reopened, but nobody waits for it.
    s_from.is_terminal or s_from.state_code = 'cannot_complete' as from_settled,
    s_to.is_terminal or s_to.state_code = 'cannot_complete' as to_settled
from stepwell.transition_def as t
inner join stepwell.state_machine_def as m on t.state_machine_id = m.state_machine_id
inner join stepwell.state_def as s_from
    on t.state_machine_id = s_from.state_machine_id and t.from_state = s_from.state_code
inner join stepwell.state_def as s_to
    on t.state_machine_id = s_to.state_machine_id and t.to_state = s_to.state_code
left join stepwell.event_type_registry as e on t.emitted_event_type = e.event_type;
-- The roll-up policy as the core reads it: the colour of the highest-ranked class that has a step.
create materialized view stepwell.rollup_rule as
select
    c.semantic_class,
    c.colour,
    c.rank
from stepwell.rollup_policy_def as p
inner join stepwell.state_machine_def as m on p.state_machine_id = m.state_machine_id and m.active
cross join lateral jsonb_to_recordset(p.policy_config_jsonb -> 'classes')
    as c (semantic_class text, colour text, rank int)
where p.active and p.policy_code = 'red_overrides_yellow_overrides_green';
create unique index rollup_rule_pkey on stepwell.rollup_rule (semantic_class);

create unique index transition_rule_pkey
    on stepwell.transition_rule (state_machine_id, from_state, to_state, actor_class);
