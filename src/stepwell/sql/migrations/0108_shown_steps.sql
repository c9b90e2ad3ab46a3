-- Steps that only some roles see, and contents whose bodies only some roles read.

create table stepwell.workflow_step_permission (
    tenant_id int not null,
    workflow_id int not null,
    step_id text not null,
    role_name text not null,
    constraint workflow_step_permission_pkey primary key (tenant_id, workflow_id, step_id, role_name),
    constraint permitted_workflow_exists foreign key (tenant_id, workflow_id) references stepwell.workflow_registry
);
comment on table stepwell.workflow_step_permission is 'Who sees a step of a workflow, in all its versions: one of these roles. A step without rows is shown to everybody.';

create table stepwell.information_unit_permission (
    tenant_id int not null,
    iu_id bigint not null,
    role_name text not null,
    constraint information_unit_permission_pkey primary key (tenant_id, iu_id, role_name),
    constraint permitted_content_exists foreign key (tenant_id, iu_id) references stepwell.information_unit
);
comment on table stepwell.information_unit_permission is 'Who reads the body of a content: one of these roles. A content without rows is read by everybody.';

-- The title was read out of the graph; whoever sees a part of the graph sees the title.
alter table stepwell.workflow_version add column title text generated always as (graph ->> 'title') stored;
comment on column stepwell.workflow_version.title is 'What people call the workflow.';

insert into stepwell.verb (verb, description) values
('step.read_all', 'See every step and read every content, whatever roles they are for');
insert into stepwell.permission (tenant_id, role_name, verb) values (0, 'admin', 'step.read_all');

insert into stepwell.dot_config (config_key, config_value, description) values
('limits.step_roles', '50', 'A step is shown to so many roles at most, and a content is read by so many');

insert into stepwell.event_type_registry (event_type, description) values
('permission.changed', 'Who sees a step, or reads a content, was changed');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('permission.changed', 'kind', 'string', true, 'step or content'),
('permission.changed', 'name', 'string', true, 'The workflow, or the content'),
('permission.changed', 'step', 'string', false, 'The step'),
('permission.changed', 'roles', 'array', true, 'The roles after the change; none: everybody');

insert into stepwell.i18n_text (text_key, lang, text_value) values
('why.hidden', 'en', '{name} goes on with a step that your roles do not show.'),
('why.hidden', 'vi', '{name} đang ở một bước mà vai trò của bạn không được xem.');
insert into stepwell.why_cause (cause, action, is_of_run, command) values ('hidden', null, false, null);
