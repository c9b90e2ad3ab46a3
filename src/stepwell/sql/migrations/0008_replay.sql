-- Approvals and the replay of dead letters: a dead unit runs again only with a request and its approval.

-- One row per question put to reviewers; its state is the unit's (scope approval).
create table stepwell.approval_detail (
    tenant_id int not null,
    approval_id bigint not null,
    action text not null,
    subject_unit_id bigint not null,
    tier smallint not null default 1,
    quorum smallint not null default 1,
    requested_by text not null,
    reason text,
    requested_at timestamptz not null,
    expires_at timestamptz,
    decided_at timestamptz,
    decided_by text,
    constraint approval_detail_pkey primary key (tenant_id, approval_id),
    constraint approval_action_is_plain check (action ~ '^[a-z][a-z0-9_.]{0,99}$'),
    constraint tier_is_bounded check (tier between 1 and 9),
    constraint quorum_is_bounded check (quorum between 1 and 9)
);
create index approvals_open on stepwell.approval_detail (tenant_id, approval_id) where decided_at is null;
create index approvals_by_subject on stepwell.approval_detail (tenant_id, subject_unit_id);

create table stepwell.approval_vote (
    tenant_id int not null,
    approval_id bigint not null,
    voter text not null,
    decision text not null,
    reason text,
    voted_at timestamptz not null,
    constraint approval_vote_pkey primary key (tenant_id, approval_id, voter),
    constraint voted_approval_exists foreign key (tenant_id, approval_id) references stepwell.approval_detail,
    constraint decision_is_known check (decision in ('approve', 'reject'))
);

create table stepwell.dlq_replay_request (
    tenant_id int not null,
    replay_request_id bigint generated always as identity,
    unit_id bigint not null,
    approval_id bigint not null,
    proposal_state text not null,
    idempotency_key text not null,
    requested_by text not null,
    reason text,
    requested_at timestamptz not null,
    scheduled_at timestamptz,
    outcome_at timestamptz,
    outcome_jsonb jsonb,
    constraint dlq_replay_request_pkey primary key (tenant_id, replay_request_id),
    constraint replay_approval_exists foreign key (tenant_id, approval_id) references stepwell.approval_detail,
    constraint replay_is_requested_once unique (tenant_id, idempotency_key),
    constraint replay_state_is_known
        check (proposal_state in ('submitted', 'scheduled', 'completed', 'failed', 'rejected'))
);
create index replays_by_unit on stepwell.dlq_replay_request (tenant_id, unit_id);
create index replays_open on stepwell.dlq_replay_request (tenant_id, replay_request_id)
    where proposal_state = 'scheduled';
create index replays_by_approval on stepwell.dlq_replay_request (tenant_id, approval_id);

insert into stepwell.dot_config (config_key, config_value, description) values
('approval.required.replay', 'false',
    'True: queueing dead work again needs a granted approval. False: the request is granted as it is made'),
('retention.replay_request_days', '400', 'So long a settled replay request and its approval are kept'),
('limits.retention_batch', '1000', 'Most runs or jobs removed by one sweep; the next sweep goes on'),
('limits.events_page', '5000', 'Most events of one read of the log');

insert into stepwell.event_type_registry (event_type, description)
select u.scope || '.reinstated', 'The ' || u.scope || ' was called off because something before it failed; that is replayed'
from (values ('step'), ('task')) as u (scope);
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description)
select u.scope || '.reinstated', f.field_name, 'number', true, f.description
from (values ('step'), ('task')) as u (scope)
cross join (values
    ('replay_request_id', 'The request whose replay brings it back'),
    ('approval_id', 'The approval that allows it')
) as f (field_name, description);

insert into stepwell.transition_def (
    state_machine_id, from_state, to_state, actor_class, transition_code, trigger_kind, trigger_ref,
    guard_kind, guard_ref, emitted_event_type, audit_required, is_extension, reason
)
select
    m.state_machine_id, 'cancelled', 'not_started', 'reviewer', 'Taq', 'event', 'replay_approved', 'predicate_fn',
    'replay_approved', m.scope || '.reinstated', true, true,
    'What was called off because of a failure waits again when the failed unit is replayed'
from stepwell.state_machine_def as m
where m.scope in ('step', 'task');

-- The sentences of fn_why_not_running.
insert into stepwell.i18n_text (text_key, lang, text_value)
select
    'why.' || t.code,
    l.lang,
    case l.lang when 'vi' then t.vi else t.en end
from (values
    ('ended', '{name} has ended: {state}.', '{name} đã kết thúc: {state}.'),
    ('leased', '{name} is being done by worker {worker}, whose lease holds until {until}.',
        '{name} đang được worker {worker} thực hiện, giữ quyền đến {until}.'),
    ('in_hand', '{name} is being done by {person}.', '{name} đang được {person} thực hiện.'),
    ('paused', '{name} does not go on because run {run} is paused; a reviewer can resume it.',
        '{name} không tiếp tục vì quy trình {run} đang tạm dừng; người duyệt có thể cho chạy lại.'),
    ('dependency', '{name} waits for {count} steps before it: {steps}.',
        '{name} chờ {count} bước phía trước: {steps}.'),
    ('branch', '{name} belongs to a branch that {decision} has not chosen yet.',
        '{name} thuộc nhánh mà {decision} chưa quyết định.'),
    ('schedule', '{name} starts at {at}, not before.', '{name} chỉ bắt đầu lúc {at}.'),
    ('retry', '{name} failed; attempt {attempt} of {max_attempts} starts at {at}.',
        '{name} đã thất bại; lần thử {attempt}/{max_attempts} bắt đầu lúc {at}.'),
    ('human', '{name} waits for a person (role: {role}).', '{name} chờ một người thực hiện (vai trò: {role}).'),
    ('concurrency', '{name} stands in line for {key}, at place {place}; at most {limit} run at once.',
        '{name} đang xếp hàng cho {key}, vị trí {place}; tối đa {limit} việc chạy cùng lúc.'),
    ('no_worker', '{name} can run, but no live worker serves class {class}.',
        '{name} có thể chạy, nhưng không có worker nào phục vụ lớp {class}.'),
    ('queued', '{name} can run and is at place {place} of the queue of class {class}.',
        '{name} có thể chạy và đang ở vị trí {place} trong hàng đợi của lớp {class}.'),
    ('approval', '{name} waits for the decision of the reviewers.', '{name} chờ quyết định của người duyệt.'),
    ('event', '{name} waits for the event {event_type}, until {until}.',
        '{name} chờ sự kiện {event_type}, đến {until}.'),
    ('subworkflow', '{name} waits for its sub-workflow: {runs}.', '{name} chờ quy trình con: {runs}.'),
    ('items', '{name} waits for {count} of its items.', '{name} chờ {count} mục của nó.'),
    ('blocked', '{name} is blocked: {reason}.', '{name} bị chặn: {reason}.'),
    ('unexplained', '{name} is {state}, and nothing is left that could move it; this is a fault of the engine.',
        '{name} đang ở trạng thái {state} và không còn gì có thể đưa nó tiếp tục; đây là lỗi của hệ thống.')
) as t (code, en, vi)
cross join (values ('vi'), ('en')) as l (lang);

refresh materialized view stepwell.transition_rule;
