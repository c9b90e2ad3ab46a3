-- Many dead letters are replayed by one plan: proposed with its reach, approved once, carried out in stages (a canary first),
-- and stopped by itself when a failure comes back.

create table stepwell.dlq_replay_plan (
    tenant_id int not null,
    plan_id bigint not null,
    approval_id bigint not null,
    plan_state text not null,
    letter_filter jsonb not null,
    letter_count int not null,
    stages int[] not null,
    stage_no smallint not null default 0,
    reach jsonb not null,
    requested_by text not null,
    reason text,
    requested_at timestamptz not null,
    stage_at timestamptz,
    ended_at timestamptz,
    ended_because text,
    constraint dlq_replay_plan_pkey primary key (tenant_id, plan_id),
    constraint plan_approval_exists foreign key (tenant_id, approval_id) references stepwell.approval_detail,
    constraint plan_state_is_known check (plan_state in ('submitted', 'running', 'stopped', 'completed', 'rejected')),
    constraint stages_are_few check (cardinality(stages) between 0 and 5),
    constraint an_ended_plan_has_its_time check ((plan_state in ('stopped', 'completed', 'rejected')) = (ended_at is not null))
);
comment on table stepwell.dlq_replay_plan is 'Replays of many dead letters: stages has the sizes of the first stages, the rest is the last one.';
comment on column stepwell.dlq_replay_plan.plan_id is 'The number of its proposal.';
create index plans_by_approval on stepwell.dlq_replay_plan (tenant_id, approval_id);
create index plans_running on stepwell.dlq_replay_plan (tenant_id, plan_id) where plan_state = 'running';

alter table stepwell.dlq_replay_request add column plan_id bigint;
alter table stepwell.dlq_replay_request add column stage_no smallint;
create index replays_by_plan on stepwell.dlq_replay_request (tenant_id, plan_id, stage_no, replay_request_id)
where plan_id is not null;

insert into stepwell.event_type_registry (event_type, description) values
('dlq_replay.stage_started', 'A stage of a plan to replay dead letters began'),
('dlq_replay.plan_stopped', 'A plan to replay dead letters ended before its last stage'),
('dlq_replay.plan_completed', 'Every dead letter of a plan was replayed');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('dlq_replay.stage_started', 'stage', 'number', true, 'The number of the stage'),
('dlq_replay.stage_started', 'count', 'number', true, 'How many dead letters it has'),
('dlq_replay.plan_stopped', 'reason', 'string', true, 'What stopped it, in words'),
('dlq_replay.plan_stopped', 'left_count', 'number', true, 'How many dead letters were not replayed'),
('dlq_replay.plan_completed', 'count', 'number', true, 'How many dead letters were replayed');

insert into stepwell.dot_config (config_key, config_value, description) values
('replay.two_person_count', '50', 'A plan that replays more dead letters than this needs the agreement of two people'),
('replay.stage_sizes', '[1, 10]', 'The sizes of the first stages of a plan to replay dead letters; the rest is the last stage'),
('limits.replay_letters', '10000', 'Most dead letters of one plan'),
('limits.replay_judged', '200', 'Most actions that a rehearsal lets the policy judge');
