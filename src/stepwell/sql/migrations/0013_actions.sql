-- Governed actions: rule sets that judge them, the verdicts, the receipts of what was done, and approvals as far as
-- actions and changes of policy need them.

-- Who is asked, who acts, what it is about, as reviewers see it.
alter table stepwell.approval_detail add column acting text;
alter table stepwell.approval_detail add column approvers text[];
alter table stepwell.approval_detail add column approver_role text;
alter table stepwell.approval_detail add column about jsonb;
alter table stepwell.approval_detail add constraint approvers_are_bounded
    check (approvers is null or cardinality(approvers) between 1 and 50);

-- A rule set never changes; another one takes its place. Its state is its proposal's.
create table stepwell.policy_set (
    tenant_id int not null,
    policy_set_id bigint generated always as identity,
    version_no int not null,
    rules jsonb not null,
    rules_hash text not null,
    source text,
    base_policy_set_id bigint,
    diff jsonb not null,
    proposal_id bigint not null,
    approval_id bigint not null,
    proposed_by text not null,
    proposed_at timestamptz not null,
    reason text,
    constraint policy_set_pkey primary key (tenant_id, policy_set_id),
    constraint policy_version_is_unique unique (tenant_id, version_no),
    constraint policy_is_proposed_once unique (tenant_id, proposal_id),
    constraint policy_base_exists foreign key (tenant_id, base_policy_set_id) references stepwell.policy_set
);

create table stepwell.policy_active (
    tenant_id int not null,
    policy_set_id bigint not null,
    activated_at timestamptz not null,
    activated_by text not null,
    constraint policy_active_pkey primary key (tenant_id),
    constraint active_policy_exists foreign key (tenant_id, policy_set_id) references stepwell.policy_set
);

-- One row per judgement; nothing of the action but what names it.
create table stepwell.policy_decision (
    tenant_id int not null,
    unit_id bigint not null,
    decision_id bigint generated always as identity,
    lease_no int not null,
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
    two_person boolean not null default false,
    approval_id bigint,
    decided_at timestamptz not null,
    constraint policy_decision_pkey primary key (tenant_id, unit_id, decision_id),
    constraint policy_effect_is_known check (effect in ('allow', 'deny', 'needs_approval')),
    constraint policy_tier_is_known check (tier in ('low', 'med', 'high')),
    constraint approval_is_asked_with_a_tier check (effect <> 'needs_approval' or tier is not null)
);

-- What was attempted, what happened, how it is undone; its state is the unit's (scope receipt).
create table stepwell.action_receipt (
    tenant_id int not null,
    receipt_id bigint not null,
    unit_id bigint not null,
    run_id bigint not null,
    step_id text,
    lease_no int not null,
    intent_token text,
    try_count int not null default 1,
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
    decision_id bigint not null,
    approval_id bigint,
    requested_by text not null,
    acting text not null,
    reverses_receipt_id bigint,
    reversed_by_receipt_id bigint,
    settled_by text,
    intended_at timestamptz not null,
    settled_at timestamptz,
    constraint action_receipt_pkey primary key (tenant_id, receipt_id),
    constraint effect_key_is_unique unique (tenant_id, idempotency_key),
    constraint reversed_receipt_exists
        foreign key (tenant_id, reverses_receipt_id) references stepwell.action_receipt,
    constraint tries_are_counted check (try_count >= 1),
    constraint cost_is_not_negative check (cost_micros >= 0 and input_tokens >= 0 and output_tokens >= 0)
);
create index receipts_by_unit on stepwell.action_receipt (tenant_id, unit_id, receipt_id);
create index receipts_by_run on stepwell.action_receipt (tenant_id, run_id, receipt_id);
create index receipts_by_reversed
    on stepwell.action_receipt (tenant_id, reverses_receipt_id) where reverses_receipt_id is not null;

-- How many writes a run has made or is making: the row that parallel steps meet at.
create table stepwell.run_write_count (
    tenant_id int not null,
    unit_id bigint not null,
    write_count int not null,
    constraint run_write_count_pkey primary key (tenant_id, unit_id),
    constraint write_count_is_not_negative check (write_count >= 0)
);

alter table stepwell.tenant add column if not exists max_writes_per_run int;
alter table stepwell.workflow_registry add column if not exists max_writes_per_run int;

insert into stepwell.dot_config (config_key, config_value, description) values
('approval.expiry_seconds.med', '259200', 'So long an approval of tier med may be decided'),
('approval.expiry_seconds.high', '86400', 'So long an approval of tier high may be decided'),
('approval.role.low', 'null', 'The role that decides approvals of tier low where a rule names none; null: anybody'),
('approval.role.med', 'null', 'The role that decides approvals of tier med where a rule names none; null: anybody'),
('approval.role.high', 'null', 'The role that decides approvals of tier high where a rule names none; null: anybody'),
('approval.quorum.policy', '1', 'How many must agree to a change of policy: 1 or 2'),
('policy.timeout_ms', '5000', 'A judgement that takes longer is a refusal'),
('limits.policy_rules', '200', 'Most rules of one policy'),
('limits.action_bytes', '262144', 'Largest action a policy judges, with the input of its run'),
('limits.writes_per_run', '1000', 'Most writes of one run where neither workflow nor tenant says otherwise'),
('retention.receipt_days', '400', 'So long a settled receipt is kept, and its key remembered'),
('redaction.key_pattern',
    '"(password|passwd|secret|token|api[_-]?key|authorization|credentials?|private[_-]?key|cookie)$"',
    'A value under such a name is kept as [redacted] in receipts and approvals, unless it is a reference');

-- Two installations that act on the same system must not take each other's keys for their own.
insert into stepwell.dot_config (config_key, config_value, description)
select 'installation.id', to_jsonb(left(replace(gen_random_uuid()::text, '-', ''), 12)),
    'Begins every idempotency key that is derived; must survive a restore and must not be copied to another installation';

insert into stepwell.failure_class_registry (failure_class, classification, description, exception_names) values
('effect_refused', 'permanent', 'The other system refused the action and did nothing', '{EffectRefused}'),
('effect_unavailable', 'transient', 'The other system could not be reached; nothing was done', '{EffectUnavailable}'),
('effect_unknown', 'transient', 'The answer of the other system was lost; the next attempt finds out', '{EffectUnknown}'),
('effect_in_flight', 'transient', 'The same action is being done by somebody else now', '{EffectInFlight}'),
('action_conflict', 'permanent', 'The idempotency key belongs to another action', '{ActionConflict}'),
('approval_cancelled', 'permanent', 'The question to the reviewers was taken back', '{ApprovalCancelled}');

alter table stepwell.state_machine_def drop constraint scope_is_known;
alter table stepwell.state_machine_def add constraint scope_is_known
    check (scope in ('step', 'task', 'workflow_run', 'job', 'approval', 'proposal', 'receipt'));
insert into stepwell.state_machine_def (state_machine_id, scope, version, active, description) values
('receipt.1', 'receipt', '1.0.0', true, 'An effect in another system: meant, known to have happened, or in doubt');
insert into stepwell.state_def (
    state_machine_id, state_code, semantic_class, is_terminal, is_initial, ordinal,
    ui_color_token, ui_icon_token, ui_icon_glyph, ui_label_i18n_key, ui_short_message_key
)
select
    'receipt.1', s.state_code, s.semantic_class, s.state_code = 'reversed', s.ordinal = 1, s.ordinal,
    'ui.traffic_light.' || s.colour, 'icon.' || s.icon, s.glyph,
    'receipt.' || s.state_code || '.label', 'receipt.' || s.state_code || '.short'
from (values
    (1, 'intended', 'active', 'green_pale', 'play_outline', '▶'),
    (2, 'confirmed', 'active', 'green_deep', 'check_filled', '✓'),
    (3, 'unconfirmed', 'wait', 'yellow_dark', 'warn_filled', '⚠'),
    (4, 'void', 'idle', 'gray', 'circle_hollow', '○'),
    (5, 'reversed', 'idle', 'gray', 'skip_outline', '↷')
) as s (ordinal, state_code, semantic_class, colour, icon, glyph);

insert into stepwell.i18n_text (text_key, lang, text_value)
select t.text_key, l.lang, case l.lang when 'vi' then t.vi else t.en end
from (values
    ('receipt.intended.label', 'Sắp thực hiện', 'Intended'),
    ('receipt.intended.short', 'Đã ghi nhận trước khi thực hiện', 'Written down before it is done'),
    ('receipt.confirmed.label', 'Đã xác nhận', 'Confirmed'),
    ('receipt.confirmed.short', 'Đã thực hiện và được xác nhận', 'Done, and known to be'),
    ('receipt.unconfirmed.label', 'Chưa xác nhận', 'Unconfirmed'),
    ('receipt.unconfirmed.short', 'Không rõ đã thực hiện hay chưa', 'May or may not have been done'),
    ('receipt.void.label', 'Không thực hiện', 'Void'),
    ('receipt.void.short', 'Chắc chắn chưa được thực hiện', 'Surely not done'),
    ('receipt.reversed.label', 'Đã hoàn tác', 'Reversed'),
    ('receipt.reversed.short', 'Đã thực hiện rồi hoàn tác', 'Done, and undone since'),
    ('why.receipt', '{name}: {state}; lần thử tiếp theo hoặc một người sẽ làm rõ việc đã xảy ra chưa.',
        '{name} is {state}; the next attempt or a person finds out whether it happened.')
) as t (text_key, vi, en)
cross join (values ('vi'), ('en')) as l (lang);

insert into stepwell.event_type_registry (event_type, description) values
('action.judged', 'Policy judged a proposed action'),
('action.performed', 'An action was performed, or found to have been'),
('action.unconfirmed', 'Nobody knows whether an action happened'),
('policy.activated', 'Another rule set judges from now on'),
('receipt.intended', 'An effect is about to be made'),
('receipt.confirmed', 'The effect happened'),
('receipt.unconfirmed', 'The effect may or may not have happened'),
('receipt.voided', 'The effect surely did not happen'),
('receipt.reversed', 'The effect was undone by another');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, allowed_values, description) values
('action.judged', 'effect', 'string', true, '{allow,deny,needs_approval}', 'The verdict'),
('action.judged', 'reason_code', 'string', true, null, 'Why, in one word'),
('action.judged', 'reason', 'string', true, null, 'Why, in words'),
('action.judged', 'connector', 'string', true, null, 'Which kind of other system'),
('action.judged', 'operation', 'string', true, null, 'What is done there'),
('action.judged', 'target', 'string', true, null, 'To what'),
('action.judged', 'idempotency_key', 'string', true, null, 'By which it happens once'),
('action.judged', 'action_hash', 'string', true, null, 'Digest of connector, operation, target and fields'),
('action.judged', 'policy_version', 'number', false, null, 'The rule set that judged'),
('action.judged', 'rule', 'string', false, null, 'The rule that matched'),
('action.judged', 'approval_id', 'number', false, null, 'The approval asked for, or given'),
('action.performed', 'receipt_id', 'number', true, null, 'The receipt'),
('action.performed', 'idempotency_key', 'string', true, null, 'By which it happened once'),
('action.performed', 'external_id', 'string', false, null, 'What the other system calls it'),
('action.unconfirmed', 'receipt_id', 'number', true, null, 'The receipt'),
('action.unconfirmed', 'idempotency_key', 'string', true, null, 'By which it happens once'),
('policy.activated', 'version_no', 'number', true, null, 'The rule set in force'),
('policy.activated', 'rules_hash', 'string', true, null, 'Digest of its rules'),
('policy.activated', 'approval_id', 'number', false, null, 'The approval that allowed it; none for the first set'),
('receipt.voided', 'reason', 'string', false, null, 'How that is known'),
('receipt.unconfirmed', 'reason', 'string', false, null, 'Why nobody knows'),
('receipt.reversed', 'reversed_by_receipt_id', 'number', true, null, 'The receipt of what undid it');

insert into stepwell.guard_predicate (predicate_name, description, problem_text) values
('first_policy', 'No rule set has ever been in force here', 'a rule set is in force; a change of it needs an approval');

insert into stepwell.transition_def (
    state_machine_id, from_state, to_state, actor_class, transition_code, trigger_kind, trigger_ref,
    guard_kind, guard_ref, emitted_event_type, audit_required, is_extension, reason
)
select
    t.state_machine_id, f.from_state, t.to_state, t.actor_class, t.transition_code, t.trigger_kind, t.trigger_ref,
    case when t.guard is null then 'none' else 'predicate_fn' end, t.guard, t.event_type, t.audit_required,
    t.reason is not null, t.reason
from (values
    ('receipt.1', 'E1', '{void}'::text[], 'intended', 'executor_worker', 'rpc', 'action_propose', null,
        'receipt.intended', true, null),
    ('receipt.1', 'E2', '{intended,unconfirmed}', 'confirmed', 'executor_worker', 'rpc', 'action_settle', null,
        'receipt.confirmed', true, null),
    ('receipt.1', 'E2p', '{unconfirmed}', 'confirmed', 'reviewer', 'rpc', 'receipt_settle', null,
        'receipt.confirmed', true, null),
    ('receipt.1', 'E3', '{intended}', 'unconfirmed', 'executor_worker', 'rpc', 'action_settle', null,
        'receipt.unconfirmed', true, null),
    ('receipt.1', 'E3s', '{intended}', 'unconfirmed', 'system', 'event', 'lease_lost', null,
        'receipt.unconfirmed', false, null),
    ('receipt.1', 'E4', '{intended,unconfirmed}', 'void', 'executor_worker', 'rpc', 'action_settle', null,
        'receipt.voided', true, null),
    ('receipt.1', 'E4p', '{unconfirmed}', 'void', 'reviewer', 'rpc', 'receipt_settle', null,
        'receipt.voided', true, null),
    ('receipt.1', 'E5', '{confirmed}', 'reversed', 'system', 'event', 'reversal_confirmed', null,
        'receipt.reversed', true, null),
    ('proposal.1', 'P6f', '{review}', 'merged', 'system', 'rpc', 'policy_activate', 'first_policy',
        'proposal.merged', true,
        'The first rule set of an empty installation is put in force by its operator: nobody could be asked yet')
) as t (state_machine_id, transition_code, from_states, to_state, actor_class, trigger_kind, trigger_ref, guard,
        event_type, audit_required, reason)
cross join lateral unnest(t.from_states) as f (from_state);

refresh materialized view stepwell.transition_rule;
