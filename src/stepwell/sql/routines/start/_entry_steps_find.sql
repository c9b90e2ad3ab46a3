-- Purpose: the steps of new runs that wait for nothing. Those a session may take at once come first, as many as
--   hand_on_count says: of its classes, without a slot to wait for, and only while the queue holds nothing for it.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._entry_steps_find(
    p_tenant_id int, p_version_id int, p_run_ids bigint[], p_slot_key text, p_class_ids int[], p_hand_on_limit int,
    out tenant_ids int[], out unit_ids bigint[], out has_engine_steps boolean, out has_slots boolean, out hand_on_count int
)
language plpgsql stable
set search_path = stepwell, pg_temp
as $$
declare
    v_may_hand_on boolean := false;
begin
    if p_hand_on_limit > 0 then
        v_may_hand_on := (stepwell._queue_look(array[p_tenant_id], p_class_ids, p_hand_on_limit)).is_dry;
    end if;
    select
        array_agg(p_tenant_id), array_agg(e.unit_id order by e.can_go_on desc, e.rank, e.unit_id),
        bool_or(e.is_of_engine), bool_or(e.has_slot), least(count(*) filter (where e.can_go_on), p_hand_on_limit)
    into tenant_ids, unit_ids, has_engine_steps, has_slots, hand_on_count
    from (
        select
            (r.run_id << 20) | d.step_no as unit_id, d.step_kind <> 'operation' as is_of_engine, s.has_slot, g.can_go_on,
            case when g.can_go_on then -d.priority end as rank
        from unnest(p_run_ids) as r (run_id)
        cross join stepwell.workflow_step_def as d
        left join stepwell.operation as o on d.tenant_id = o.tenant_id and d.operation_id = o.operation_id
        cross join lateral (select d.group_no is not null or p_slot_key is not null as has_slot) as s
        cross join lateral (
            select v_may_hand_on and not s.has_slot and coalesce(o.class_id = any (p_class_ids), false) as can_go_on) as g
        where d.tenant_id = p_tenant_id and d.version_id = p_version_id and d.scope_no = 0 and d.pending_count = 0
    ) as e;
end
$$;
