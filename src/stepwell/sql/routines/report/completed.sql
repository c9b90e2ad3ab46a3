-- Reports of units that completed. Most reports take this path, so it has as few statements as possible. Callers hold
-- the locks of the runs.

-- Completes units whose lease is valid. In one statement their state changes, their successors become ready, and the
-- first successors get a direct lease to the same session. Outputs are stored, slots are freed. A unit whose output
-- breaks its contract fails for good instead. Returns the units whose report was accepted, the direct leases, the runs
-- to settle, whether the queue has nothing for this session (is_dry), and whether something may be left for other
-- workers (leaves_more). A report without a valid lease changes nothing.
-- Raises: SW004 when the registry refuses; 40001 when another transaction changed a unit meanwhile (try again).
create or replace function stepwell._report_completed(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_bodies text[], p_now timestamptz,
    p_executor_class_ids int[], p_direct_limit int, p_handler_ids int[] default null,
    out taken_ids bigint[], out direct_ids bigint[], out due_tenant_ids int[], out due_ids bigint[], out is_dry boolean,
    out leaves_more boolean, out has_failures boolean
)
language plpgsql volatile
as $$
declare
    v_next record;
    v_done record;
begin
    v_next := stepwell._successors_release(p_session_id, p_tenant_ids, p_unit_ids, p_lease_nos, p_executor_class_ids, p_direct_limit,
        p_handler_ids);
    -- What a contract, a slot or the engine itself set off may have ended any of the runs, or queued more.
    due_tenant_ids := p_tenant_ids;
    due_ids := p_unit_ids;
    is_dry := false;
    leaves_more := true;
    if v_next.has_contract then
        has_failures := true;
        taken_ids := stepwell._report_contracts(p_session_id, p_tenant_ids, p_unit_ids, p_lease_nos, p_bodies, p_now);
        return;
    end if;
    if v_next.held_ids is null then
        due_tenant_ids := null;
        due_ids := null;
        leaves_more := false;
        return;
    end if;
    v_done := stepwell._transition_apply(v_next.completions || v_next.releases,
        row('executor_worker', 'rpc', 'step_complete', null, p_session_id, p_now, cardinality(v_next.completions) + 1,
            v_next.direct_count, p_session_id)::stepwell.transition_cause);
    if v_done.applied_count <> cardinality(v_next.completions) + coalesce(cardinality(v_next.releases), 0) then
        raise exception using errcode = '40001', message = 'a unit was changed by another transaction while it was reported; try again';
    end if;
    if array_remove(p_bodies, null) <> '{}' then
        insert into stepwell.unit_output (tenant_id, unit_id, lease_no, output, created_at)
        select q.tenant_id, q.unit_id, q.lease_no, q.body::jsonb, p_now
        from unnest(p_tenant_ids, p_unit_ids, p_lease_nos, p_bodies) as q (tenant_id, unit_id, lease_no, body)
        where q.body is not null and q.unit_id = any (v_next.held_ids);
    end if;
    if v_done.slot_ids is not null then
        perform stepwell._slots_pass(v_done.slot_tenant_ids, v_done.slot_ids);
    end if;
    if v_next.has_engine_steps then
        -- A correction is open only in a run that is due.
        if v_done.due_ids is not null and array_position(p_bodies, null) is not null then
            perform stepwell._outputs_empty(p_tenant_ids, p_unit_ids);
        end if;
        perform stepwell._engine_steps(array_agg(r.tenant_id), array_agg(r.unit_id)) from unnest(v_next.releases) as r;
    end if;
    taken_ids := v_next.held_ids;
    direct_ids := v_done.direct_ids;
    if v_done.slot_ids is null and not coalesce(v_next.has_engine_steps, false) then
        due_tenant_ids := v_done.due_tenant_ids;
        due_ids := v_done.due_ids;
        is_dry := coalesce(v_next.queue_is_empty, false) and due_ids is null
            and coalesce(cardinality(direct_ids), 0) = v_next.direct_count;
        -- Under a tenant's cap each end makes room, maybe for what only other workers can take.
        leaves_more := due_ids is not null or coalesce(v_next.has_foreign_steps, false) or coalesce(v_next.is_capped, true);
    end if;
end
$$;

-- _report_completed for a batch in which a step has an output contract or a postcondition: the contracts are checked
-- first, then the successors of those that hold are released; the others fail for good.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._report_contracts(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_bodies text[], p_now timestamptz
) returns bigint[]
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_done record;
begin
    v_done := stepwell._transition_apply(
        array(select row(q.tenant_id, q.unit_id, 'completed', null, jsonb_build_object('output', q.body::jsonb), null, null, q.lease_no)
                ::stepwell.transition_request
            from unnest(p_tenant_ids, p_unit_ids, p_lease_nos, p_bodies) as q (tenant_id, unit_id, lease_no, body)
            order by q.unit_id),
        row('executor_worker', 'rpc', 'step_complete', null, p_session_id, p_now, null, 0, null)::stepwell.transition_cause);
    insert into stepwell.unit_output (tenant_id, unit_id, lease_no, output, created_at)
    select q.tenant_id, q.unit_id, q.lease_no, q.body::jsonb, p_now
    from unnest(p_tenant_ids, p_unit_ids, p_lease_nos, p_bodies) as q (tenant_id, unit_id, lease_no, body)
    where q.body is not null and q.unit_id = any (v_done.applied_ids);
    if v_done.applied_ids is not null then
        if v_done.due_ids is not null then
            perform stepwell._outputs_empty(p_tenant_ids, p_unit_ids);
        end if;
        perform stepwell._advance(array_agg(q.tenant_id), array_agg(q.unit_id))
        from unnest(p_tenant_ids, p_unit_ids) as q (tenant_id, unit_id) where q.unit_id = any (v_done.applied_ids);
    end if;
    if v_done.slot_ids is not null then
        perform stepwell._slots_free(v_done.slot_tenant_ids, v_done.slot_ids);
    end if;
    return coalesce(v_done.applied_ids, '{}') || stepwell._report_broken(
        p_session_id, p_tenant_ids, p_unit_ids, p_lease_nos, v_done.applied_ids);
end
$$;

-- Completed reports with a valid lease that the registry refused: the output breaks the contract of the step, so the
-- unit fails for good. Returns those units.
create or replace function stepwell._report_broken(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_taken_ids bigint[]
) returns bigint[]
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_broken record;
begin
    select array_agg(u.tenant_id order by u.unit_id) as tenant_ids, array_agg(u.unit_id order by u.unit_id) as unit_ids,
        array_agg('failed'::text) as outcomes, array_agg(u.lease_no order by u.unit_id) as lease_nos,
        array_agg('{"failure_class": "output_contract", "error": {"type": "OutputContract", "message":
            "the output breaks the contract or the postcondition of the step"}}'::text) as bodies
    into v_broken
    from unnest(p_tenant_ids, p_unit_ids, p_lease_nos) as q (tenant_id, unit_id, lease_no)
    inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    where u.lease_session_id = p_session_id and u.lease_no = q.lease_no and u.state_code in ('in_progress', 'overdue')
        and not q.unit_id = any (coalesce(p_taken_ids, '{}'));
    if v_broken.unit_ids is null then
        return '{}'::bigint[];
    end if;
    return stepwell._report_others(p_session_id, v_broken.tenant_ids, v_broken.unit_ids, v_broken.lease_nos,
        v_broken.outcomes, v_broken.bodies);
end
$$;
