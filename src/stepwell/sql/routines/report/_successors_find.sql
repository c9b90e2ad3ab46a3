-- Purpose: which of these reports hold their lease, and which steps they release: joins that still wait are counted down,
--   those with nothing left to wait for are handed back. The first of them may be handed on to the session that reports,
--   without the way through the queue: those of its classes that come before everything in the queue, as long as no other
--   tenant has something there and this one has no cap, up to p_hand_on_limit.
-- Locks: the caller holds the runs; join steps are updated.
-- Idempotency: none; called once per accepted batch.
-- Raises: nothing.
create or replace function stepwell._successors_find(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_class_ids int[], p_hand_on_limit int,
    out held_ids bigint[], out has_contract boolean, out tenant_ids int[], out unit_ids bigint[], out released_counts int[],
    out hand_on_count int, out has_engine_steps boolean, out has_foreign_steps boolean, out queue_is_empty boolean
)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    v_join_tenant_ids int[];
    v_join_ids bigint[];
    v_join_counts int[];
    v_queue constant record := stepwell._queue_look(p_tenant_ids, p_class_ids, p_hand_on_limit);
begin
    with held as materialized (
        select u.tenant_id, u.unit_id, u.version_id, u.def_no, u.has_contract
        from (
            select unnest(p_tenant_ids) as tenant_id, unnest(p_unit_ids) as unit_id, unnest(p_lease_nos) as lease_no
        ) as q
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        where u.lease_session_id = p_session_id and u.lease_no = q.lease_no and u.state_code in ('in_progress', 'overdue')
    ), released as (
        select h.tenant_id, h.unit_id + r.to_no - h.def_no as unit_id, count(*)::int as released_count
        from held as h
        inner join stepwell.workflow_step_relations as r
            on h.tenant_id = r.tenant_id and h.version_id = r.version_id and h.def_no = r.from_no
        group by 1, 2
    ), waiting as (
        select d.*, s.class_id, -s.priority as rank, s.pending_count = d.released_count as is_free,
            coalesce(s.pending_count = d.released_count and s.slot_key is null and s.class_id = any (p_class_ids)
                and v_queue.may_hand_on
                and (v_queue.unit_id is null or (-s.priority, s.unit_id) < (v_queue.rank, v_queue.unit_id)), false) as can_go_on
        from released as d
        inner join stepwell.work_unit as s on d.tenant_id = s.tenant_id and d.unit_id = s.unit_id
        where s.state_code = 'not_started'
    )
    select h.*, n.*, v_queue.is_dry
    into held_ids, has_contract, tenant_ids, unit_ids, released_counts, hand_on_count, has_engine_steps, has_foreign_steps,
        v_join_tenant_ids, v_join_ids, v_join_counts, queue_is_empty
    from (select array_agg(h.unit_id), bool_or(h.has_contract) from held as h) as h
    cross join (
        select array_agg(w.tenant_id) filter (where w.is_free),
            array_agg(w.unit_id) filter (where w.is_free),
            array_agg(w.released_count) filter (where w.is_free),
            least(count(*) filter (where w.can_go_on), p_hand_on_limit)::int,
            bool_or(w.is_free and w.class_id is null), bool_or(w.is_free and not w.class_id = any (p_class_ids)),
            array_agg(w.tenant_id) filter (where not w.is_free), array_agg(w.unit_id) filter (where not w.is_free),
            array_agg(w.released_count) filter (where not w.is_free)
        from (select w.* from waiting as w order by w.can_go_on desc, w.rank, w.unit_id) as w
    ) as n;
    if v_join_ids is not null and not has_contract then
        update stepwell.work_unit as s set pending_count = s.pending_count - j.released_count
        from unnest(v_join_tenant_ids, v_join_ids, v_join_counts) as j (tenant_id, unit_id, released_count)
        where s.tenant_id = j.tenant_id and s.unit_id = j.unit_id;
    end if;
end
$$;
