-- Purpose: what reopening a step for correction touches: every completed step that depends on it, directly or not, and
--   whether that one could be opened again too.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; no rows when nothing completed depends on it.
create or replace function stepwell.fn_step_correction_preview(p_tenant_id int, p_unit_id bigint)
returns table (step_run_id bigint, step_id text, step_kind text, can_reopen boolean, waits_for bigint[])
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive down as (
        select u.unit_id, u.version_id, u.def_no, null::bigint as cause from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = p_unit_id and u.scope = 'step'
        union
        -- A step that cannot be opened again hands on what it depends on.
        select s.unit_id, s.version_id, s.def_no, case when c.cause is null or k.step_kind in ('human', 'operation')
            then c.unit_id else c.cause end
        from down as c
        inner join stepwell.workflow_step_def as k
            on k.tenant_id = p_tenant_id and c.version_id = k.version_id and c.def_no = k.step_no
        inner join stepwell.workflow_step_relations as r
            on r.tenant_id = p_tenant_id and c.version_id = r.version_id and c.def_no = r.from_no
        inner join stepwell.work_unit as s on s.tenant_id = p_tenant_id and s.unit_id = c.unit_id + r.to_no - c.def_no
        where s.state_code = 'completed'
    )
    select d.unit_id, k.step_id, k.step_kind, k.step_kind in ('human', 'operation'),
        array_agg(distinct d.cause order by d.cause)
    from down as d
    inner join stepwell.workflow_step_def as k
        on k.tenant_id = p_tenant_id and d.version_id = k.version_id and d.def_no = k.step_no
    where d.cause is not null
    group by d.unit_id, k.step_id, k.step_kind
    order by d.unit_id
$$;
