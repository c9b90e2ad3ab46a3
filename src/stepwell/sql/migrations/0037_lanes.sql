-- The queue in lanes: what has the same executor class, tenant, workspace, rank and operation. A claim looks at lanes, not at
-- rows, and a worker claims only the lanes that it serves.

-- What a worker must have to carry out an operation. The same name is one handler for all tenants.
create table stepwell.handler (
    handler_id int generated always as identity,
    operation_name text not null,
    code_version text not null default '',
    constraint handler_pkey primary key (handler_id),
    constraint handler_is_unique unique (operation_name, code_version)
);
comment on table stepwell.handler is 'What a worker must have to carry out an operation: its name, and its code version where one is declared. Sessions say which handlers they have.';
comment on column stepwell.handler.code_version is 'Empty: every version of the code will do.';

insert into stepwell.handler (operation_name)
select distinct o.operation_name from stepwell.operation as o order by o.operation_name;

alter table stepwell.operation add column handler_id int;
update stepwell.operation as o set handler_id = h.handler_id
from stepwell.handler as h
where h.operation_name = o.operation_name;
alter table stepwell.operation
    alter column handler_id set not null,
    add constraint operation_handler_exists foreign key (handler_id) references stepwell.handler (handler_id);
comment on column stepwell.operation.handler_id is 'The handler that a worker must have to claim jobs of this operation; a trigger finds it by name.';

-- The handlers of a session take the place of the operations that it was given and did not have.
alter table stepwell.worker_session drop column unserved_ids;
alter table stepwell.worker_session add column handler_ids int[];
comment on column stepwell.worker_session.handler_ids is 'The handlers that this worker has; null when it did not say, then it is given everything of its executor classes.';

alter table stepwell.job_ready add column workspace_id int not null default 0;
alter table stepwell.job_ready add column operation_id int;
update stepwell.job_ready as r set operation_id = u.operation_id
from stepwell.work_unit as u
where r.tenant_id = u.tenant_id and r.unit_id = u.unit_id;
alter table stepwell.job_ready alter column operation_id set not null;
alter table stepwell.job_ready drop constraint job_ready_pkey;
alter table stepwell.job_ready add constraint job_ready_pkey
    primary key (executor_class_id, tenant_id, workspace_id, rank, operation_id, unit_id);
comment on column stepwell.job_ready.workspace_id is 'The part of the tenant that takes turns with the other parts; 0 while a tenant has only one.';
comment on column stepwell.job_ready.operation_id is 'The operation that a worker must serve to claim this unit.';

alter type stepwell.unit_change add attribute operation_id int;

-- Where tenants take turns: how often they did, and, where more have work than one claim can look at, who is next.
create sequence stepwell.claim_turn_seq;
create unlogged sequence stepwell.claim_window_seq minvalue 0 start 0;
create index tenant_weight_idx on stepwell.tenant (weight);

create type stepwell.tenant_turn as (tenant_id int, workspace_id int, weight double precision, max_concurrency int);
comment on type stepwell.tenant_turn is 'A workspace of a tenant that has something in the queue, and what its tenant is given.';

create type stepwell.ready_lane as (executor_class_id int, rank int, operation_id int, unit_id bigint);
comment on type stepwell.ready_lane is 'A lane of the queue within a tenant and workspace, and the first unit in it.';
