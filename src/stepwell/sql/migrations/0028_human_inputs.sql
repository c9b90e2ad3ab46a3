-- What a person was shown: the inputs of a human step, bound when it opens and stored as they were then.

-- One row per binding: a step that is opened again, to be corrected, is shown what holds then, and the first row stays.
create table stepwell.step_input (
    tenant_id int not null,
    unit_id bigint not null,
    binding_no smallint not null,
    inputs jsonb not null,
    bound_at timestamptz not null,
    constraint step_input_pkey primary key (tenant_id, unit_id, binding_no),
    constraint inputs_are_an_object check (jsonb_typeof(inputs) = 'object')
);
comment on table stepwell.step_input is 'Inputs of human steps as people were shown them; the highest binding_no is the present one.';

alter table stepwell.timer drop constraint timer_kind_is_known;
alter table stepwell.timer add constraint timer_kind_is_known check (timer_kind in ('start', 'retry', 'wait_timeout', 'sleep',
    'deadline', 'block_severity', 'approval_expiry', 'escalation', 'inputs'));

-- Steps that are open now were opened without their inputs: the keeper binds them at once.
insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
select u.tenant_id, u.unit_id, 'inputs', clock_timestamp()
from stepwell.work_unit as u
inner join stepwell.workflow_step_def as d
    on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
where u.scope = 'step' and d.step_kind = 'human' and (d.inputs is not null or u.item_no is not null)
    and u.state_code in ('ready', 'in_progress', 'waiting', 'blocked', 'overdue');
