-- Purpose: which of these reports hold their lease, and which steps they release: joins that still wait are counted down,
--   those with nothing left to wait for are handed back.
-- Locks: the caller holds the runs; join steps are updated.
-- Idempotency: none; called once per accepted batch.
-- Raises: nothing.
create or replace function stepwell._successors_find(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[]
) returns table (
    held_ids bigint[], has_contract boolean, tenant_ids int[], unit_ids bigint[], released_counts int[], to_states text[],
    has_engine_steps boolean
)
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    return query
    with held as materialized (
        select u.tenant_id, u.unit_id, u.version_id, u.def_no, u.has_contract
        from unnest(p_tenant_ids, p_unit_ids, p_lease_nos) as q (tenant_id, unit_id, lease_no)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where u.lease_session_id = p_session_id and u.lease_no = q.lease_no and u.state_code in ('in_progress', 'overdue')
    ), released as (
        select h.tenant_id, h.unit_id + r.to_no - h.def_no as unit_id, count(*)::int as released_count
        from held as h
        inner join stepwell.workflow_step_relations as r
            on h.tenant_id = r.tenant_id and h.version_id = r.version_id and h.def_no = r.from_no
        group by 1, 2
    ), waiting as materialized (
        select d.tenant_id, d.unit_id, d.released_count, s.ctid as row_id, s.pending_count, s.class_id
        from released as d
        inner join stepwell.work_unit as s on d.tenant_id = s.tenant_id and d.unit_id = s.unit_id
        where s.state_code = 'not_started'
    ), joins as (
        update stepwell.work_unit as s set pending_count = s.pending_count - w.released_count
        from waiting as w
        where w.pending_count > w.released_count and s.ctid = w.row_id
            and not exists (select from held as h where h.has_contract)
    ), free as (
        select
            array_agg(w.tenant_id order by w.unit_id) as tenant_ids, array_agg(w.unit_id order by w.unit_id) as unit_ids,
            array_agg(w.released_count order by w.unit_id) as released_counts, array_agg('ready'::text) as to_states,
            bool_or(w.class_id is null) as has_engine_steps
        from waiting as w
        where w.pending_count = w.released_count
    )
    select (select array_agg(h.unit_id) from held as h), (select bool_or(h.has_contract) from held as h),
        f.tenant_ids, f.unit_ids, f.released_counts, f.to_states, f.has_engine_steps
    from free as f;
end
$$;
