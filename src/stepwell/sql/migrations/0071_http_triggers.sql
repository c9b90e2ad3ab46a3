-- Triggers over HTTP: another system starts a run or sends an event with a signed request.

create table stepwell.http_trigger (
    tenant_id int not null,
    trigger_name text not null,
    address text not null,
    secret bytea not null,
    token_id bigint not null,
    workflow_name text not null,
    event_type text,
    ref_path text,
    key_path text,
    input_path text,
    created_at timestamptz not null,
    created_by text not null,
    constraint http_trigger_pkey primary key (tenant_id, trigger_name),
    constraint trigger_address_is_unique unique (address),
    constraint trigger_tenant_exists foreign key (tenant_id) references stepwell.tenant,
    constraint trigger_name_has_a_form check (trigger_name ~ '^[a-z0-9][a-z0-9._-]{0,99}$'),
    constraint an_event_needs_the_key_of_its_run check ((event_type is null) = (key_path is null))
);
comment on table stepwell.http_trigger is 'Signed requests that start a run of a workflow, or send an event to one. The secret signs them; the token says who acts.';

insert into stepwell.dot_config (config_key, config_value, description) values
('limits.triggers', '1000', 'Most triggers over HTTP of one tenant'),
('limits.trigger_age_seconds', '300', 'A signed request is accepted so long after it was signed');

insert into stepwell.event_type_registry (event_type, description) values
('trigger.created', 'A trigger over HTTP was made, or made again'),
('trigger.deleted', 'A trigger over HTTP was deleted');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('trigger.created', 'name', 'string', true, 'The name of the trigger'),
('trigger.created', 'workflow', 'string', true, 'The workflow that it starts, or whose runs get the event'),
('trigger.created', 'acts_as', 'string', true, 'Who acts when it fires'),
('trigger.created', 'event_type', 'string', false, 'The event that it sends'),
('trigger.deleted', 'name', 'string', true, 'The name of the trigger');
