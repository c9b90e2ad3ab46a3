-- Purpose: what steps still wait for: the open steps right before them, and those behind predecessors that were cancelled.
--   A step that ran, or a decision that was made, has nothing open behind it.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._steps_behind(p_tenant_ids int[], p_unit_ids bigint[])
returns table (tenant_id int, waiting_id bigint, unit_id bigint)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with recursive behind as (
        select u.tenant_id, u.unit_id as waiting_id, u.unit_id, u.version_id, u.def_no, true as is_passed
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        union
        select s.tenant_id, b.waiting_id, s.unit_id, s.version_id, s.def_no, s.state_code = 'cancelled'
        from behind as b
        inner join stepwell.workflow_step_relations as r
            on b.tenant_id = r.tenant_id and b.version_id = r.version_id and b.def_no = r.to_no
        inner join stepwell.work_unit as s
            on s.tenant_id = b.tenant_id and s.unit_id = b.unit_id + r.from_no - b.def_no
        where b.is_passed and s.state_code not in ('completed', 'skipped', 'cannot_complete')
    )
    select b.tenant_id, b.waiting_id, b.unit_id from behind as b where not b.is_passed
$$;
