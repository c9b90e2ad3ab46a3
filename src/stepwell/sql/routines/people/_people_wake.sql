-- Purpose: ends the waiting of units that are in the hands of people: they go on with them (T3r).
-- Locks: the caller holds the runs.
-- Idempotency: a unit that no longer waits is passed over.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._people_wake(
    p_tenant_ids int[], p_unit_ids bigint[], p_task_type text, p_refs text[]
) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_woken record;
begin
    select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids,
        array_agg(jsonb_build_object('resolution_ref', coalesce(q.ref, p_task_type)) order by u.unit_id) as evidence
    into v_woken
    from unnest(p_tenant_ids, p_unit_ids, p_refs) as q (tenant_id, unit_id, ref)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.pic_id is not null and u.state_code = 'waiting';
    if v_woken.unit_ids is null then
        return;
    end if;
    perform stepwell._must_apply(v_woken.tenant_ids, v_woken.unit_ids, 'in_progress', 'system', 'event', 'facet_resolved',
        'engine', v_woken.evidence);
    perform stepwell._people_timers(t.tenant_id, v_woken.unit_ids)
    from (select distinct x.tenant_id from unnest(v_woken.tenant_ids) as x (tenant_id)) as t;
end
$$;
