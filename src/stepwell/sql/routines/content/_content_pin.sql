-- Purpose: pins the content of a workflow's steps for new runs: the versions that are current now. Later versions do not
--   change running work. A step whose content does not exist shows none.
-- Locks: none beyond the new rows.
-- Idempotency: the first pin stays.
-- Raises: nothing.
create or replace function stepwell._content_pin(p_tenant_id int, p_version_id int, p_run_ids bigint[]) returns void
language sql volatile
set search_path = stepwell, pg_temp
as $$
    insert into stepwell.step_content_pin (tenant_id, run_id, step_no, iu_id, version_no, pinned_at)
    select p_tenant_id, r.run_id, d.step_no, c.iu_id, c.version_no, stepwell.now()
    from unnest(p_run_ids) as r (run_id)
    cross join stepwell.workflow_step_def as d
    inner join stepwell.information_unit as u on u.tenant_id = d.tenant_id and u.iu_code = d.config ->> 'content'
    cross join lateral (
        select v.iu_id, v.version_no from stepwell.information_unit_version as v
        where v.tenant_id = u.tenant_id and v.iu_id = u.iu_id
        order by v.version_no desc limit 1
    ) as c
    where d.tenant_id = p_tenant_id and d.version_id = p_version_id and d.config ? 'content'
    on conflict do nothing
$$;
