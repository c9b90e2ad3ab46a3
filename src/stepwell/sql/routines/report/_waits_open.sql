-- Purpose: Wait nodes park for their event, with their time-out; an event that came early ends them at once.
-- Locks: the caller holds the runs.
-- Idempotency: called once per node.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._waits_open(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
    v_wait record;
begin
    perform stepwell._must_apply(p_tenant_ids, p_unit_ids, 'waiting', 'mow_orchestrator', 'condition_resolved', null,
        'engine', null, array(
            select jsonb_build_object('waiting_facet', 'waiting_external', 'event_type', d.config ->> 'event')
            from unnest(p_tenant_ids, p_unit_ids) with ordinality as q (tenant_id, unit_id, ord)
            inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
            inner join stepwell.workflow_step_def as d
                on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
            order by q.ord));
    for v_wait in
        select u.tenant_id, u.unit_id, d.config ->> 'event' as event_type, d.timeout_seconds
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
        inner join stepwell.workflow_step_def as d
            on u.tenant_id = d.tenant_id and u.version_id = d.version_id and u.def_no = d.step_no
        order by u.unit_id
    loop
        if v_wait.timeout_seconds is not null then
            insert into stepwell.timer (tenant_id, unit_id, timer_kind, due_at)
            values (v_wait.tenant_id, v_wait.unit_id, 'wait_timeout', v_now + make_interval(secs => v_wait.timeout_seconds));
        end if;
        insert into stepwell.event_wait (tenant_id, unit_id, stream_id, event_type, since_at)
        values (v_wait.tenant_id, v_wait.unit_id, v_wait.unit_id >> 20, v_wait.event_type, v_now);
        perform stepwell._waits_match(v_wait.tenant_id, v_wait.unit_id >> 20, v_wait.event_type);
    end loop;
end
$$;
