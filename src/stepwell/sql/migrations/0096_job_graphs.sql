-- Job graphs of document 001. A template is a published graph; what it emits is a run of that graph, so jobs share queue, lease,
-- retry, dead letter, advance and log with every other run. The generator emits graphs and never executes.

alter table stepwell.workflow_version add column is_template boolean not null default false;
comment on column stepwell.workflow_version.is_template is 'A graph of jobs: only fn_mot_graph_emit starts it, and a step of another template.';

create table stepwell.job_workflow_kind (
    workflow_kind text not null,
    description text not null,
    constraint job_workflow_kind_pkey primary key (workflow_kind),
    constraint workflow_kind_is_plain check (workflow_kind ~ '^[a-z][a-z0-9_]{0,62}$')
);
comment on table stepwell.job_workflow_kind is 'The kinds of job workflows that a template may have.';
insert into stepwell.job_workflow_kind (workflow_kind, description) values
('mot_template_v1', 'A graph of jobs from a template'),
('mark_cut_pipeline', 'Content is marked and cut'),
('customer_inbound', 'Something a customer sent is worked on');

create table stepwell.job_template (
    tenant_id int not null,
    template_id text not null,
    workflow_id int not null,
    workflow_kind text not null,
    description text not null,
    template jsonb not null,
    registered_at timestamptz not null,
    registered_by text not null,
    constraint job_template_pkey primary key (tenant_id, template_id),
    constraint template_workflow_exists foreign key (tenant_id, workflow_id) references stepwell.workflow_registry,
    constraint template_kind_exists foreign key (workflow_kind) references stepwell.job_workflow_kind,
    constraint template_id_is_plain check (template_id ~ '^[a-z][a-z0-9._-]{0,99}$')
);
comment on table stepwell.job_template is 'The templates of job graphs. Each is a workflow with the name MOT:<template_id>.';

create table stepwell.job_workflow_detail (
    tenant_id int not null,
    workflow_id bigint not null,
    template_id text not null,
    workflow_kind text not null,
    generator text not null,
    params_keys text[] not null,
    ref_params jsonb not null,
    status text not null default 'active',
    refreshed_at timestamptz,
    constraint job_workflow_detail_pkey primary key (tenant_id, workflow_id),
    constraint status_is_known check (status in ('active', 'succeeded', 'failed', 'partially_failed', 'cancelled')),
    constraint job_workflow_kind_exists foreign key (workflow_kind) references stepwell.job_workflow_kind,
    constraint the_generator_names_its_template check (generator = 'MOT:' || template_id)
);
comment on table stepwell.job_workflow_detail is 'What a run has beside run_detail because it is a job workflow; workflow_id is the number of the run.';
comment on column stepwell.job_workflow_detail.status is 'As of refreshed_at; the view job_workflow has the present one.';
comment on column stepwell.job_workflow_detail.ref_params is 'The params that the references of its jobs name.';
create index job_workflows_by_template on stepwell.job_workflow_detail (tenant_id, template_id, workflow_id);
create index job_workflows_active on stepwell.job_workflow_detail (tenant_id, refreshed_at nulls first, workflow_id) where status = 'active';

-- An event of this type enqueues a job of this operation, once for each event.
create table stepwell.event_route (
    tenant_id int not null,
    route_name text not null,
    event_type text not null,
    operation_id int not null,
    fields text[] not null,
    priority smallint not null default 0,
    last_tx xid8 not null,
    last_event_id bigint not null,
    since pg_snapshot not null,
    created_at timestamptz not null,
    created_by text not null,
    constraint event_route_pkey primary key (tenant_id, route_name),
    constraint route_operation_exists foreign key (tenant_id, operation_id) references stepwell.operation,
    constraint route_name_is_plain check (route_name ~ '^[a-z0-9][a-z0-9._-]{0,99}$'),
    constraint route_fields_are_bounded check (cardinality(fields) <= 20)
);
comment on table stepwell.event_route is 'An event of a handler, or a signal, of this type enqueues a job. The position is how far the route has read the log; what the snapshot had seen came before the route.';

-- The generator emits graphs; it neither is an executor nor opens a session.
alter table stepwell.executor_class drop constraint the_generator_never_executes;
alter table stepwell.executor_class add constraint the_generator_never_executes
check (class_name !~ '(^|[^a-z0-9])(mot|mother[^a-z0-9]*of[^a-z0-9]*task)([^a-z0-9]|$)');
alter table stepwell.worker_session add constraint the_generator_opens_no_session
check (worker_name !~* '^mot(:|$)') not valid;

insert into stepwell.event_type_registry (event_type, description) values
('route.changed', 'An event route was made, or changed'),
('route.deleted', 'An event route was deleted');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('route.changed', 'name', 'string', true, 'The name of the route'),
('route.changed', 'event_type', 'string', true, 'The type of the events that it routes'),
('route.changed', 'operation', 'string', true, 'The operation of the jobs that it enqueues'),
('route.changed', 'fields', 'array', true, 'The parts of the payload that the job gets'),
('route.deleted', 'name', 'string', true, 'The name of the route');

insert into stepwell.verb (verb, description) values
('graph.emit', 'Emit graphs of jobs from templates');
insert into stepwell.permission (tenant_id, role_name, verb) values
(0, 'MOT_template_generator', 'graph.emit');
-- The person of the development mode has every role.
insert into stepwell.principal_role (tenant_id, principal_id, role_name)
select d.tenant_id, d.principal_id, 'MOT_template_generator' from stepwell.development_mode as d where d.left_at is null
on conflict do nothing;

insert into stepwell.dot_config (config_key, config_value, description) values
('graph.forbidden_keys', '["attachment", "base64", "blob", "body", "bytes", "completion", "content", "document", "embedding", "html",'
    ' "markdown", "prompt", "raw", "text", "transcript", "vector"]',
    'Names of data: params and payloads that must be signals have none of them, at any depth'),
('graph.refresh_seconds', '60', 'A job workflow that is active is refreshed by a job after so many seconds'),
('limits.signal_bytes', '8192', 'Params of a job graph, and the payload of a job of a route, have so many bytes at most'),
('limits.signal_value_bytes', '1024', 'Each text in them has so many bytes at most'),
('limits.job_delay_seconds', '31622400', 'A job of a graph begins so many seconds after its emit at most'),
('limits.event_routes', '200', 'A tenant has so many event routes at most'),
('limits.route_depth', '16', 'So many jobs of routes follow each other at most, each from an event of the one before');

insert into stepwell.i18n_text (text_key, lang, text_value)
select t.text_key, l.lang, case l.lang when 'vi' then t.vi else t.en end
from (values
    ('problem.category.event_route', 'Định tuyến sự kiện thất bại', 'Failed event route'),
    ('problem.remedy.event_route', 'Đọc lý do, sửa tuyến hoặc nơi phát sự kiện; các sự kiện sau vẫn được xử lý.',
        'Read the reason and mend the route, or what emits the event; later events are routed all the same.')
) as t (text_key, vi, en)
cross join (values ('vi'), ('en')) as l (lang);
insert into stepwell.governance_category (category_code, severity, ui_label_i18n_key, remedy_i18n_key) values
('event_route', 'yellow', 'problem.category.event_route', 'problem.remedy.event_route');
