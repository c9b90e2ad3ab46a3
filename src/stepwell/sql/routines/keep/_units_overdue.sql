-- Purpose: units past their deadline: one in progress becomes overdue; any other gets its first mark and its event, which
--   governance counts. A blocked one turns red.
-- Locks: the caller holds the runs.
-- Idempotency: the first mark stays.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._units_overdue(p_tenant_ids int[], p_unit_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_late record;
begin
    for v_late in
        update stepwell.work_unit as u set overdue_first_at = u.deadline_at
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
        where u.tenant_id = q.tenant_id and u.unit_id = q.unit_id and u.overdue_first_at is null
            and u.state_code in ('not_started', 'ready', 'waiting', 'blocked', 'failed')
        returning u.tenant_id, u.unit_id, u.scope, u.state_code, u.deadline_at
    loop
        perform stepwell._event_append(v_late.tenant_id, v_late.unit_id, v_late.scope || '.deadline_missed', 'engine',
            jsonb_build_object('deadline_at', v_late.deadline_at));
        if v_late.state_code = 'blocked' then
            perform stepwell._blocks_weigh(v_late.tenant_id, v_late.unit_id >> 20);
        end if;
    end loop;
    select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids,
        array_agg(jsonb_build_object('deadline_at', u.deadline_at) order by u.unit_id) as payloads
    into v_late
    from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.state_code = 'in_progress';
    perform stepwell._must_apply(v_late.tenant_ids, v_late.unit_ids, 'overdue', 'system', 'timer', 'deadline_passed',
        'engine', null, v_late.payloads);
    perform stepwell._rollups_lend(p_tenant_ids, array(select q >> 20 from unnest(p_unit_ids) as q));
end
$$;
