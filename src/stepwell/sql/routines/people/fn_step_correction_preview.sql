-- Purpose: what reopening a step for correction touches. Around it: maps and sub-workflow steps that have ended and open with
--   it, in its run and in the runs above. After it and after those: every step that has begun or could begin and depends on
--   one of them, directly or not; what it would wait for, and whether it could be opened again too, if it has completed.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing; no rows when nothing is touched.
create or replace function stepwell.fn_step_correction_preview(p_tenant_id int, p_unit_id bigint)
returns table (
    relation text, run_id bigint, step_run_id bigint, step_id text, step_kind text, state_code text, can_reopen boolean,
    waits_for bigint[]
)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive around as (
        select a.unit_id from stepwell._correction_around(p_tenant_id, p_unit_id) as a
        where a.scope = 'step' and a.state_code in ('completed', 'cannot_complete')
    ), down as (
        select u.unit_id, u.version_id, u.def_no, u.state_code, null::bigint as cause, false as is_open from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.scope = 'step'
            and (u.unit_id = p_unit_id or u.unit_id in (select a.unit_id from around as a))
        union
        -- A step that cannot be opened again hands on what it depends on.
        select s.unit_id, s.version_id, s.def_no, s.state_code, case when c.cause is null
            or k.step_kind in ('human', 'operation') then c.unit_id else c.cause end, s.state_code <> 'completed'
        from down as c
        inner join stepwell.workflow_step_def as k
            on k.tenant_id = p_tenant_id and c.version_id = k.version_id and c.def_no = k.step_no
        inner join stepwell.workflow_step_relations as r
            on r.tenant_id = p_tenant_id and c.version_id = r.version_id and c.def_no = r.from_no
        inner join stepwell.work_unit as s on s.tenant_id = p_tenant_id and s.unit_id = c.unit_id + r.to_no - c.def_no
        where not c.is_open and s.state_code in ('completed', 'ready', 'in_progress', 'waiting', 'blocked', 'overdue')
    )
    select case when a.unit_id is null then 'after' else 'around' end, d.unit_id >> 20, d.unit_id,
        k.step_id || coalesce('[' || u.item_no || ']', ''), k.step_kind, d.state_code,
        a.unit_id is not null or (k.step_kind in ('human', 'operation') and not d.is_open),
        case when a.unit_id is null then array_agg(distinct d.cause order by d.cause) else '{}' end
    from down as d
    inner join stepwell.workflow_step_def as k
        on k.tenant_id = p_tenant_id and d.version_id = k.version_id and d.def_no = k.step_no
    inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and d.unit_id = u.unit_id
    left join around as a on d.unit_id = a.unit_id
    where d.cause is not null or a.unit_id is not null
    group by d.unit_id, a.unit_id, u.item_no, k.step_id, k.step_kind, d.state_code, d.is_open
    order by d.unit_id >> 20 desc, d.unit_id
$$;
