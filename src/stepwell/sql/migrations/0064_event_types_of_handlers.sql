-- The event types that handlers of a tenant may emit; those of the engine are in event_type_registry.
create table stepwell.handler_event_type (
    tenant_id int not null,
    event_type text not null,
    description text not null,
    payload_schema jsonb,
    registered_at timestamptz not null,
    registered_by text not null,
    constraint handler_event_type_pkey primary key (tenant_id, event_type)
);
-- A database of an earlier release goes on: what its handlers have emitted is registered, without a schema.
insert into stepwell.handler_event_type (tenant_id, event_type, description, registered_at, registered_by)
select distinct on (e.tenant_id, e.payload ->> 'type') e.tenant_id, e.payload ->> 'type', 'Emitted before types had to be registered',
    e.at, e.actor
from stepwell.event_log as e
where e.event_type = 'event.emitted' and length(e.payload ->> 'type') between 1 and 200
order by e.tenant_id, e.payload ->> 'type', e.at;

-- Rejects of the same kind within an hour are one row.
alter table stepwell.event_validation_audit add column reject_count int not null default 1;
insert into stepwell.dot_config (config_key, config_value, description) values
('limits.event_rejects_per_hour', '1000', 'Most different rejected events that a tenant may leave behind in an hour'),
('limits.event_types_per_tenant', '10000', 'Most event types that a tenant may register for its handlers');
