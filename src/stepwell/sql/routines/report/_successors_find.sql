-- Purpose: which of these reports hold their lease, and which steps they release: joins that still wait are counted down,
--   those with nothing left to wait for are handed back. The first of them may be handed on to the session that reports,
--   without the way through the queue: those of its classes that come before everything in the queue, as long as no other
--   tenant has something there and this one has no cap, up to p_hand_on_limit.
-- Locks: the caller holds the runs; join steps are updated.
-- Idempotency: none; called once per accepted batch.
-- Raises: nothing.
create or replace function stepwell._successors_find(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_class_ids int[], p_hand_on_limit int
) returns table (
    held_ids bigint[], has_contract boolean, tenant_ids int[], unit_ids bigint[], released_counts int[],
    hand_on_count int, has_engine_steps boolean, has_foreign_steps boolean, queue_is_empty boolean
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
        select d.tenant_id, d.unit_id, d.released_count, s.ctid as row_id, s.pending_count, s.class_id, s.slot_key,
            -s.priority as rank
        from released as d
        inner join stepwell.work_unit as s on d.tenant_id = s.tenant_id and d.unit_id = s.unit_id
        where s.state_code = 'not_started'
    ), joins as (
        update stepwell.work_unit as s set pending_count = s.pending_count - w.released_count
        from waiting as w
        where w.pending_count > w.released_count and s.ctid = w.row_id
            and not exists (select from held as h where h.has_contract)
    ), queue as materialized (
        select
            exists (select from stepwell.job_ready as r where r.tenant_id < p_tenant_ids[1])
            or exists (select from stepwell.job_ready as r where r.tenant_id > p_tenant_ids[1]) as has_others,
            f.rank, f.unit_id
        from stepwell.tenant as t
        left join lateral (
            select r.rank, r.unit_id
            from unnest(p_class_ids) as c (class_id)
            cross join lateral (
                select r.rank, r.unit_id from stepwell.job_ready as r
                where r.tenant_id = p_tenant_ids[1] and r.class_id = c.class_id
                order by r.rank, r.unit_id limit 1) as r
            order by r.rank, r.unit_id limit 1
        ) as f on true
        where t.tenant_id = p_tenant_ids[1] and t.max_concurrency is null
            and p_hand_on_limit > 0 and p_tenant_ids[1] = all (p_tenant_ids)
    ), free as materialized (
        select w.tenant_id, w.unit_id, w.released_count, w.class_id,
            row_number() over (order by w.can_go_on desc, w.rank, w.unit_id) as place,
            w.can_go_on
        from (
            select w.*, coalesce(w.slot_key is null and w.class_id = any (p_class_ids) and not q.has_others
                and (q.unit_id is null or (w.rank, w.unit_id) < (q.rank, q.unit_id)), false) as can_go_on
            from waiting as w
            left join queue as q on true
            where w.pending_count = w.released_count
        ) as w
    )
    select (select array_agg(h.unit_id) from held as h), (select bool_or(h.has_contract) from held as h),
        f.*, (select q.unit_id is null and not q.has_others from queue as q)
    from (
        select array_agg(f.tenant_id order by f.place) as tenant_ids, array_agg(f.unit_id order by f.place) as unit_ids,
            array_agg(f.released_count order by f.place) as released_counts,
            (count(*) filter (where f.can_go_on and f.place <= p_hand_on_limit))::int as hand_on_count,
            bool_or(f.class_id is null) as has_engine_steps,
            bool_or(not f.class_id = any (p_class_ids)) as has_foreign_steps
        from free as f
    ) as f;
end
$$;
