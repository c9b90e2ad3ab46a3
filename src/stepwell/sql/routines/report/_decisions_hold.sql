-- Purpose: of these steps, the decisions that must wait: something before them has not ended, behind a step that was
--   cancelled. What they read and catch then depends on no order. Their runs are marked to look again at each change.
-- Locks: the caller holds the runs.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell._decisions_hold(p_tenant_ids int[], p_unit_ids bigint[]) returns bigint[]
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_asked record;
    v_held record;
begin
    select array_agg(u.tenant_id) as tenant_ids, array_agg(u.unit_id) as unit_ids
    into v_asked
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    inner join stepwell.workflow_step_def as d
        on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
    where d.step_kind = 'decision';
    if v_asked.unit_ids is null then
        return '{}';
    end if;
    select array_agg(distinct b.tenant_id) as tenant_ids, array_agg(distinct b.waiting_id) as unit_ids
    into v_held
    from stepwell._steps_behind(v_asked.tenant_ids, v_asked.unit_ids) as b;
    if v_held.unit_ids is not null then
        update stepwell.run_progress as p set needs_attention = true
        where p.tenant_id = any (v_held.tenant_ids) and p.run_id in (select h >> 20 from unnest(v_held.unit_ids) as h);
    end if;
    return coalesce(v_held.unit_ids, '{}');
end
$$;
