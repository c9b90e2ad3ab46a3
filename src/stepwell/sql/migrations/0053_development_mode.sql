-- Development mode: one row, written once, when Stepwell itself creates an embedded database. Everywhere else, and after
-- the mode was left, cancelling a run and replaying dead work require the approval of a person.

create table stepwell.development_mode (
    only_one boolean not null default true,
    tenant_id int not null,
    principal_id bigint not null,
    entered_at timestamptz not null,
    left_at timestamptz,
    left_by text,
    constraint development_mode_pkey primary key (only_one),
    constraint development_mode_has_one_row check (only_one),
    constraint development_person_exists foreign key (tenant_id, principal_id) references stepwell.principal,
    constraint who_left_the_mode_is_named check ((left_at is null) = (left_by is null))
);
comment on table stepwell.development_mode is 'In development mode this person acts where nobody is bound. No row, or left_at is set: the strict rules hold.';

update stepwell.dot_config set config_value = 'true',
    description = 'True: cancelling a run requires a granted approval; in development mode the engine grants it. False: the right to cancel is enough'
where config_key = 'approval.required.workflow_cancel';
update stepwell.dot_config set config_value = 'true',
    description = 'True: queueing dead work again requires a granted approval; in development mode the engine grants it. False: the request is granted at once'
where config_key = 'approval.required.replay';

insert into stepwell.event_type_registry (event_type, description) values
('development.entered', 'Stepwell created this database in development mode'),
('development.left', 'Development mode ended; it cannot be entered again'),
('approval.waived', 'The engine granted an action that requires an approval, because the database is in development mode');
insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('development.entered', 'person', 'string', true, 'Who acts where nobody is bound'),
('development.left', 'person', 'string', true, 'Who acted where nobody was bound'),
('approval.waived', 'action', 'string', true, 'The action that requires an approval elsewhere'),
('approval.waived', 'because', 'string', true, 'Why the engine granted it');
