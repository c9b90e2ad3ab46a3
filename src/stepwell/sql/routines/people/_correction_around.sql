-- Purpose: what lies around a step, from the inside out: the maps it is an item of, its run, the step a sub-workflow's run
--   belongs to, and so on to the outermost run. What has ended of it is opened with the step.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._correction_around(p_tenant_id int, p_unit_id bigint)
returns table (place int, unit_id bigint, scope text, state_code text)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive around as (
        select 0 as place, u.unit_id, u.scope, u.state_code, u.parent_id from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id
        union all
        select a.place + 1, u.unit_id, u.scope, u.state_code, u.parent_id
        from around as a
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = coalesce(a.parent_id,
            case a.scope when 'step' then (a.unit_id >> 20) << 20 end)
        where a.place < 1000
    )
    select a.place, a.unit_id, a.scope, a.state_code from around as a where a.place > 0 order by a.place
$$;
