-- Purpose: may this action go ahead as far as approvals are concerned? Either the configuration asks for none, or
--   the approval named in the evidence has been granted.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._approval_holds(
    p_tenant_id int, p_evidence jsonb, p_action text, p_run_id bigint default null
) returns boolean
language sql stable
set search_path = stepwell, pg_temp
as $$
    select coalesce(
        (select c.config_value = 'false' from stepwell.dot_config as c
            where c.config_key = 'approval.required.' || p_action), false)
        or exists (select from stepwell.work_unit as a
            where a.tenant_id = p_tenant_id and a.unit_id = (p_evidence ->> 'approval_id')::bigint
                and a.scope = 'approval' and a.state_code = 'approved'
                -- An approval of something else, or of another run where one is named, allows nothing here.
                and not exists (select from stepwell.approval_detail as d
                    where d.tenant_id = a.tenant_id and d.approval_id = a.unit_id
                        and (d.action <> p_action or d.subject_unit_id >> 20 <> p_run_id)))
$$;
