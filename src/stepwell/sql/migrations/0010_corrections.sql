-- Corrections: an ended step is opened again without losing how it ended; and approvals as far as that needs them.

alter table stepwell.approval_detail add column request_key text;
create unique index approval_is_requested_once
    on stepwell.approval_detail (tenant_id, request_key) where request_key is not null;

-- How a step had ended: who, when, with what; written before it is opened again.
create table stepwell.step_run_prior_audit (
    tenant_id int not null,
    prior_audit_id bigint generated always as identity,
    unit_id bigint not null,
    closing_state text not null,
    closed_at timestamptz not null,
    closed_by text,
    actor_class text not null,
    audit_ref text,
    event_id bigint not null,
    output jsonb,
    written_at timestamptz not null,
    constraint step_run_prior_audit_pkey primary key (tenant_id, unit_id, prior_audit_id),
    constraint closing_state_is_an_end check (closing_state in ('completed', 'cannot_complete'))
);

create table stepwell.step_run_output_snapshot (
    tenant_id int not null,
    snapshot_id bigint generated always as identity,
    unit_id bigint not null,
    lease_no int not null,
    output jsonb not null,
    taken_at timestamptz not null,
    constraint step_run_output_snapshot_pkey primary key (tenant_id, unit_id, snapshot_id)
);

-- One row per reopening; it refers to the ending before and, once it has ended again, tells how.
create table stepwell.step_run_correction_cycle (
    tenant_id int not null,
    unit_id bigint not null,
    cycle_no int not null,
    root_unit_id bigint not null,
    approval_id bigint not null,
    correction_reason text not null,
    prior_audit_id bigint not null,
    snapshot_id bigint,
    downstream_choice text not null,
    waits_for bigint[] not null default '{}',
    reopened_by text not null,
    reopened_at timestamptz not null,
    closed_state text,
    closed_at timestamptz,
    constraint step_run_correction_cycle_pkey primary key (tenant_id, unit_id, cycle_no),
    constraint an_approval_reopens_a_step_once unique (tenant_id, unit_id, approval_id),
    constraint corrected_ending_is_on_record
        foreign key (tenant_id, unit_id, prior_audit_id) references stepwell.step_run_prior_audit,
    constraint downstream_choice_is_known check (downstream_choice in ('leave', 'reopen'))
);
create index cycles_open on stepwell.step_run_correction_cycle (tenant_id, unit_id) where closed_at is null;

-- Runs inside steps, found from the step: their colour is the step's.
create index subruns_by_parent on stepwell.work_unit (tenant_id, parent_id)
    where scope = 'workflow_run' and parent_id is not null;

-- What was called off waits again in two cases: the failed step is replayed, or it is opened for correction.
insert into stepwell.guard_predicate (predicate_name, description, problem_text) values
('reinstatement_approved', 'The failed unit it waited for is replayed or opened for correction, with an approval',
    'neither a replay nor a correction that was approved brings this unit back');
update stepwell.transition_def set guard_ref = 'reinstatement_approved', trigger_ref = null,
    reason = 'What was called off because of a failure waits again when the failed unit is replayed or corrected'
where transition_code = 'Taq';
update stepwell.event_field_def set is_required = false
where event_type in ('step.reinstated', 'task.reinstated') and field_name = 'replay_request_id';
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description)
select u.scope || '.reinstated', 'prior_audit_id', 'number', false, 'The record of the ending that is corrected'
from (values ('step'), ('task')) as u (scope);
update stepwell.event_type_registry
set description = replace(description, 'that is replayed', 'that is replayed or corrected')
where event_type in ('step.reinstated', 'task.reinstated');

refresh materialized view stepwell.transition_rule;
