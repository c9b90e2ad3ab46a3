-- People and their work: who they are, what they are asked, by when, what stands in their way, and whom to tell.

create table stepwell.person (
    tenant_id int not null,
    person_id bigint generated always as identity,
    person_name text not null,
    display_name text,
    is_active boolean not null default true,
    created_at timestamptz not null,
    constraint person_pkey primary key (tenant_id, person_id),
    constraint person_name_is_unique unique (tenant_id, person_name),
    constraint person_name_has_a_length check (length(person_name) between 1 and 200)
);

create table stepwell.person_role (
    tenant_id int not null,
    person_id bigint not null,
    role_name text not null,
    constraint person_role_pkey primary key (tenant_id, person_id, role_name),
    constraint role_person_exists foreign key (tenant_id, person_id) references stepwell.person,
    constraint role_name_has_a_length check (length(role_name) between 1 and 200)
);
create index people_by_role on stepwell.person_role (tenant_id, role_name, person_id);

-- Working hours are local times of a time zone, so a change of the clocks keeps nine o'clock at nine o'clock.
create table stepwell.business_calendar (
    tenant_id int not null,
    calendar_name text not null,
    time_zone text not null,
    created_at timestamptz not null,
    constraint business_calendar_pkey primary key (tenant_id, calendar_name),
    constraint calendar_name_has_a_length check (length(calendar_name) between 1 and 200)
);

create table stepwell.calendar_hours (
    tenant_id int not null,
    calendar_name text not null,
    iso_weekday smallint not null,
    opens_at time not null,
    closes_at time not null,
    constraint calendar_hours_pkey primary key (tenant_id, calendar_name, iso_weekday, opens_at),
    constraint hours_calendar_exists foreign key (tenant_id, calendar_name) references stepwell.business_calendar,
    constraint weekday_is_iso check (iso_weekday between 1 and 7),
    constraint hours_have_a_length check (closes_at > opens_at)
);

create table stepwell.calendar_holiday (
    tenant_id int not null,
    calendar_name text not null,
    holiday date not null,
    label text not null,
    constraint calendar_holiday_pkey primary key (tenant_id, calendar_name, holiday),
    constraint holiday_calendar_exists foreign key (tenant_id, calendar_name) references stepwell.business_calendar
);

-- What a task inside a human step asks; its state is the unit's (scope task), its step the unit's parent.
create table stepwell.task_detail (
    tenant_id int not null,
    unit_id bigint not null,
    step_run_id bigint not null,
    task_no int not null,
    task_id text not null,
    title text,
    role text,
    assignee text,
    form jsonb,
    constraint task_detail_pkey primary key (tenant_id, unit_id),
    constraint task_id_is_unique unique (tenant_id, step_run_id, task_id)
);

-- The latest block of a unit; the log has the earlier ones.
create table stepwell.step_block (
    tenant_id int not null,
    unit_id bigint not null,
    block_reason text not null,
    detail text,
    blocked_by text not null,
    blocked_at timestamptz not null,
    escalated_at timestamptz,
    escalated_by text,
    constraint step_block_pkey primary key (tenant_id, unit_id)
);

-- After this time tell these people: one row per level of a unit's chain.
create table stepwell.step_escalation (
    tenant_id int not null,
    unit_id bigint not null,
    level smallint not null,
    tell text not null,
    due_at timestamptz not null,
    told_at timestamptz,
    constraint step_escalation_pkey primary key (tenant_id, unit_id, level),
    constraint escalation_level_is_bounded check (level between 1 and 20)
);

-- True while a run has a unit that must be looked at again whenever another one changes.
alter table stepwell.run_progress add column needs_attention boolean not null default false;

insert into stepwell.dot_config (config_key, config_value, description) values
('limits.tasks_per_step', '100', 'Most tasks inside one step'),
('limits.calendar_days', '3660', 'A deadline in working time lies at most so many days ahead');

insert into stepwell.event_type_registry (event_type, description)
select u.scope || '.escalation_raised', 'Somebody else was told that the ' || u.scope || ' is still open'
from (values ('step'), ('task')) as u (scope);
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description)
select u.scope || '.' || f.suffix, f.field_name, f.json_type, f.is_required, f.description
from (values ('step'), ('task')) as u (scope)
cross join (values
    ('escalation_raised', 'level', 'number', true, 'Which level of the chain, from 1'),
    ('escalation_raised', 'tell', 'string', true, 'The role or person that is told'),
    ('escalation_raised', 'reason', 'string', false, 'Why, in words'),
    ('pic_changed', 'pic', 'string', false, 'The name of the person now in charge; none when it was handed back'),
    ('pic_changed', 'reason', 'string', false, 'Why, in words'),
    ('deadline_changed', 'reason', 'string', false, 'Why, in words'),
    ('deadline_missed', 'deadline_at', 'string', false, 'The deadline that passed, RFC 3339'),
    ('block_escalated', 'reason', 'string', false, 'Why, in words')
) as f (suffix, field_name, json_type, is_required, description);

refresh materialized view stepwell.transition_rule;
