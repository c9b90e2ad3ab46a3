-- What holds stopped goes on: clocks are moved, units enter the queue again, slots become free, a hold ends.

-- Does up to n units of each: clocks that may go on are moved, clocks that should stand still are stopped, units beside the queue
-- that no hold stops enter it again, and those that stay free the slots of their concurrency keys. Returns how many it did.
-- Locks: units in order; then rows beside the queue; then slots, as _slots_lock.
create or replace function stepwell._holds_carry(p_tenant_id int, p_limit int) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_count int := stepwell._clocks_move(p_tenant_id, p_limit) + stepwell._clocks_find(p_tenant_id, p_limit);
    v_back record := stepwell._held_take(p_tenant_id, p_limit);
    v_slot_ids bigint[];
begin
    insert into stepwell.job_ready (tenant_id, workspace_id, executor_class_id, rank, operation_id, unit_id, is_retry)
    select u.tenant_id, stepwell._workspace_of(u.tenant_id, u.unit_id), u.executor_class_id, -u.priority, u.operation_id, u.unit_id,
        u.state_code = 'failed'
    from unnest(v_back.free_ids) as q (unit_id)
    inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and q.unit_id = u.unit_id
    on conflict do nothing;
    with kept as (
        update stepwell.job_held as j set has_slot = false
        where j.tenant_id = p_tenant_id and j.unit_id in (
            select x.unit_id from stepwell.job_held as x where x.tenant_id = p_tenant_id and x.has_slot
            order by x.unit_id limit p_limit for update skip locked)
        returning j.unit_id
    )
    select array_agg(k.unit_id) into v_slot_ids from kept as k;
    v_slot_ids := v_slot_ids || v_back.dropped_ids;
    if v_slot_ids is not null then
        perform stepwell._slots_free(array_fill(p_tenant_id, array[cardinality(v_slot_ids)]), v_slot_ids);
    end if;
    if v_back.lined_ids is not null then
        perform stepwell._units_queue(array_fill(p_tenant_id, array[cardinality(v_back.lined_ids)]), v_back.lined_ids);
    end if;
    return v_count + coalesce(cardinality(v_back.free_ids), 0) + coalesce(cardinality(v_back.lined_ids), 0) + coalesce(cardinality(v_slot_ids), 0);
end
$$;

-- Ends the released holds of a tenant of which nothing is left: not before every transaction that may not have seen the release has
-- ended, because a claim among them could still put a unit beside the queue. Returns how many it ended.
-- Locks: the holds; then the tenant.
create or replace function stepwell._holds_end(p_tenant_id int) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_hold stepwell.incident_hold;
    v_outcome jsonb;
    v_count int := 0;
begin
    update stepwell.incident_hold as h set released_seen_tx = pg_current_xact_id()
    where h.tenant_id = p_tenant_id and h.released_at is not null and h.ended_at is null and h.released_seen_tx is null;
    for v_hold in
        select h.* from stepwell.incident_hold as h
        where h.tenant_id = p_tenant_id and h.ended_at is null and h.released_seen_tx < pg_snapshot_xmin(pg_current_snapshot())
            and not exists (select from stepwell.job_held as j where j.tenant_id = h.tenant_id and j.hold_id = h.hold_id)
            and not exists (select from stepwell.incident_hold_clock as c
                where c.tenant_id = h.tenant_id and c.hold_id = h.hold_id and c.moved_at is null)
        order by h.hold_id
        for update
    loop
        v_outcome := jsonb_build_object(
            'held_seconds', round(extract(epoch from v_hold.released_at - v_hold.opened_at), 3),
            'clocks', (select count(*) from stepwell.incident_hold_clock as c where c.tenant_id = p_tenant_id and c.hold_id = v_hold.hold_id),
            'denied', stepwell._hold_denials(p_tenant_id, v_hold));
        perform stepwell._event_append(p_tenant_id, stepwell._run_unit(v_hold.hold_id), 'hold.ended', 'engine', v_outcome);
        update stepwell.incident_hold as h set ended_at = stepwell.now(), outcome = v_outcome
        where h.tenant_id = p_tenant_id and h.hold_id = v_hold.hold_id;
        v_count := v_count + 1;
    end loop;
    if not exists (select from stepwell.incident_hold as h where h.tenant_id = p_tenant_id and h.ended_at is null)
        -- While a hold is opened, its row is not seen here: then the mark stays until the next pass.
        and pg_try_advisory_xact_lock(stepwell._hold_lock_key(), p_tenant_id) then
        update stepwell.tenant as t set has_hold = false
        where t.tenant_id = p_tenant_id
            and not exists (select from stepwell.incident_hold as h where h.tenant_id = p_tenant_id and h.ended_at is null);
    end if;
    return v_count;
end
$$;

-- How many actions a hold denied, counted up to limits.hold_evidence_rows.
create or replace function stepwell._hold_denials(p_tenant_id int, p_hold stepwell.incident_hold) returns bigint
language sql stable
set search_path = stepwell, pg_temp
as $$
    select count(*) from (
        select from stepwell.policy_verdict as v
        where v.tenant_id = p_tenant_id and v.reason_code = 'held' and v.decided_at >= p_hold.opened_at
            and v.reason like 'hold ' || p_hold.hold_id || ' on %'
        limit stepwell._limit('limits.hold_evidence_rows')
    ) as x
$$;
