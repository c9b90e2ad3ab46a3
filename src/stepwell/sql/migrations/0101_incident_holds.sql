-- Incident holds: work of an operation, a connector, a workflow, a tenant or a person stands still until it is released, by
-- shares. What it stops waits beside the queue, and its clocks stop.

create table stepwell.incident_hold (
    tenant_id int not null,
    hold_id bigint not null,
    scope_kind text not null,
    scope_value text not null,
    workflow_id int,
    principal_id bigint,
    reason text not null,
    share smallint not null default 0,
    reach jsonb not null,
    opened_at timestamptz not null,
    opened_by text not null,
    opened_event_id bigint not null,
    graded_at timestamptz,
    graded_by text,
    released_at timestamptz,
    released_by text,
    released_event_id bigint,
    released_seen_tx xid8,
    ended_at timestamptz,
    outcome jsonb,
    constraint incident_hold_pkey primary key (tenant_id, hold_id),
    constraint scope_is_known check (scope_kind in ('operation', 'connector', 'workflow', 'tenant', 'person')),
    constraint share_is_a_grade check (share in (0, 10, 50, 100)),
    constraint it_is_released_by_an_event check ((released_at is null) = (released_event_id is null)
        and (released_at is null) = (released_by is null) and (released_at is null) = (share < 100)),
    constraint an_ended_hold_was_released check (ended_at is null or released_at is not null)
);
comment on table stepwell.incident_hold is 'Holds: open while released_at is null. Each is opened and released only by an event of the same transaction.';
comment on column stepwell.incident_hold.hold_id is 'A number of runs: the events of a hold are a stream of their own in the log.';
comment on column stepwell.incident_hold.share is 'So many of a hundred runs go on again, chosen by a stable hash of their number.';
comment on column stepwell.incident_hold.reach is 'What it stopped when it was opened, counted.';
comment on column stepwell.incident_hold.released_seen_tx is 'The keeper saw the release in this transaction: it ends when no transaction is left that began before.';
comment on column stepwell.incident_hold.ended_at is 'When everything that it stopped was back in the queue and every clock went on.';
create unique index holds_open_once on stepwell.incident_hold (tenant_id, scope_kind, scope_value) where released_at is null;
create index holds_not_ended on stepwell.incident_hold (tenant_id, hold_id) where ended_at is null;

create table stepwell.incident_hold_operation (
    tenant_id int not null,
    hold_id bigint not null,
    operation_id int not null,
    constraint incident_hold_operation_pkey primary key (tenant_id, hold_id, operation_id)
);
comment on table stepwell.incident_hold_operation is
'The operations that a hold stops: the one it names, or those that have acted through the connector that it names.';

create table stepwell.job_held (
    tenant_id int not null,
    unit_id bigint not null,
    hold_id bigint not null,
    is_retry boolean not null,
    has_slot boolean not null,
    held_at timestamptz not null,
    constraint job_held_pkey primary key (tenant_id, unit_id)
);
comment on table stepwell.job_held is 'Units that a claim would lease, but that a hold stops: they wait here instead of in the queue.';
comment on column stepwell.job_held.has_slot is 'It keeps the slot of its concurrency key until the keeper frees it.';
create index held_by_hold on stepwell.job_held (tenant_id, hold_id);

create table stepwell.incident_hold_clock (
    tenant_id int not null,
    unit_id bigint not null,
    clock_no bigint generated always as identity,
    hold_id bigint not null,
    stopped_at timestamptz not null,
    deadline_at timestamptz,
    timers jsonb not null,
    stopped_event_id bigint not null,
    moved_at timestamptz,
    held_for interval,
    moved_event_id bigint,
    constraint incident_hold_clock_pkey primary key (tenant_id, unit_id, clock_no),
    constraint a_moved_clock_has_its_event check ((moved_at is null) = (moved_event_id is null) and (moved_at is null) = (held_for is null))
);
comment on table stepwell.incident_hold_clock is
'Clocks that a hold stopped: the deadline and the timers a unit had, and by how much they were moved when it went on.';
create unique index clocks_stopped on stepwell.incident_hold_clock (tenant_id, unit_id) where moved_at is null;
create index clocks_by_hold on stepwell.incident_hold_clock (tenant_id, hold_id);

create table stepwell.incident_hold_evidence (
    tenant_id int not null,
    hold_id bigint not null,
    content text not null,
    content_sha256 text not null,
    made_at timestamptz not null,
    constraint incident_hold_evidence_pkey primary key (tenant_id, hold_id)
);
comment on table stepwell.incident_hold_evidence is 'The evidence file of a hold that has ended, as it was made.';

alter table stepwell.tenant add column has_hold boolean not null default false;
comment on column stepwell.tenant.has_hold is 'A hold of this tenant has not ended. A claim reads this row in any case; so it pays nothing while there is no hold.';
alter type stepwell.tenant_turn add attribute has_hold boolean;

insert into stepwell.event_type_registry (event_type, description) values
('hold.opened', 'An incident hold was opened: matching work stands still'),
('hold.graded', 'A share of what a hold stops goes on'),
('hold.released', 'A hold was released: everything goes on'),
('hold.ended', 'Everything that a hold stopped goes on, and every clock was moved'),
('hold.evidence_made', 'The evidence file of a hold was made'),
('clock.stopped', 'A hold stopped the deadline and the clocks of a unit'),
('clock.moved', 'The clocks of a unit go on, moved by the time it was held');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('hold.opened', 'kind', 'string', true, 'operation, connector, workflow, tenant or person'),
('hold.opened', 'value', 'string', true, 'The name of what is held'),
('hold.opened', 'reason', 'string', true, 'Why, in words'),
('hold.opened', 'reach', 'object', true, 'What it stops now, counted'),
('hold.graded', 'share', 'number', true, 'So many of a hundred runs go on'),
('hold.graded', 'reason', 'string', true, 'Why, in words'),
('hold.released', 'reason', 'string', true, 'Why, in words'),
('hold.ended', 'held_seconds', 'number', true, 'From its opening to its release'),
('hold.ended', 'clocks', 'number', true, 'How many clocks it stopped'),
('hold.ended', 'denied', 'number', true, 'How many actions it denied'),
('hold.evidence_made', 'sha256', 'string', true, 'The SHA-256 of the file'),
('clock.stopped', 'hold_id', 'string', true, 'The number of the hold'),
('clock.stopped', 'deadline_at', 'string', false, 'The deadline that stands still'),
('clock.stopped', 'stopped_at', 'string', true, 'From when on no time counts'),
('clock.moved', 'hold_id', 'string', true, 'The number of the hold'),
('clock.moved', 'held_seconds', 'number', true, 'By how much every clock of the unit was moved'),
('clock.moved', 'deadline_from', 'string', false, 'The deadline before'),
('clock.moved', 'deadline_to', 'string', false, 'The deadline now');

insert into stepwell.verb (verb, description) values
('hold.open', 'Open incident holds: matching work stands still'),
('hold.release', 'Release incident holds, by shares');
insert into stepwell.permission (tenant_id, role_name, verb) values
(0, 'reviewer', 'hold.open'),
(0, 'operator', 'hold.open'),
(0, 'operator', 'hold.release'),
(0, 'admin', 'hold.open'),
(0, 'admin', 'hold.release');

insert into stepwell.dot_config (config_key, config_value, description) values
('limits.open_holds', '20', 'A tenant has so many holds at once that have not ended'),
('limits.hold_batch', '5000', 'So many units are stopped or go on in one transaction of a hold; the keeper does the rest'),
('limits.hold_reach', '10000', 'The reach of a hold is counted up to so many units'),
('limits.hold_operations', '1000', 'A hold of a connector stops so many operations at most'),
('limits.hold_evidence_rows', '1000', 'The evidence file of a hold has so many clocks and denials at most'),
('hold.retry_seconds', '30', 'A handler whose action a hold denied waits so long and tries again');
