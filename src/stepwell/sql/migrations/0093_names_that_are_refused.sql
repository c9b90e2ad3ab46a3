-- A name that an earlier release accepted and this one does not can be changed; what began under it is remembered.
alter table stepwell.principal add column former_keys text[] not null default '{}';
comment on column stepwell.principal.former_keys is 'The names that this principal had before, as names are compared.';
create index principals_with_former_names on stepwell.principal (tenant_id) where former_keys <> '{}';

insert into stepwell.event_field_def (event_type, field_name, json_type, is_required, description) values
('principal.changed', 'reason', 'string', false, 'Why the engine made it inactive'),
('principal.changed', 'former_name', 'string', false, 'The name that it had before; it was not accepted any more');
