-- Names of principals: one name however it is written, and none that looks like another. The routines fill both columns
-- for the principals of earlier releases when the migration ends (_names_settle).

alter table stepwell.principal
    add column name_key text,
    add column name_skeleton text,
    drop constraint engine_and_operators_have_no_tenant,
    add constraint engine_and_operators_have_no_tenant check (
        case when tenant_id = 0 then kind in ('service', 'operator', 'engine') else kind not in ('operator', 'engine') end);
comment on column stepwell.principal.name_key is 'The name as it is compared; null: an earlier release stored a name that is not accepted any more.';
comment on column stepwell.principal.name_skeleton is 'What the name looks like.';
create unique index a_name_exists_once on stepwell.principal (tenant_id, name_key);
create unique index no_name_looks_like_another on stepwell.principal (tenant_id, name_skeleton);

-- Programs that connect as the owner of the schema, and act for every tenant.
insert into stepwell.principal (tenant_id, kind, principal_name, created_at)
select 0, 'service', s.name, clock_timestamp()
from unnest(array['client', 'api', 'slack']) as s (name);
