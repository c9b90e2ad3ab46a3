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
    p_class_ids int[], p_hand_on_limit int,
    out taken_ids bigint[], out handed_ids bigint[], out due_tenant_ids int[], out due_ids bigint[], out is_dry boolean,
    out leaves_more boolean
)
language plpgsql volatile
as $$
declare
    v_count constant int := cardinality(p_unit_ids);
    v_next record;
    v_done record;
begin
    v_next := stepwell._successors_find(p_session_id, p_tenant_ids, p_unit_ids, p_lease_nos, p_class_ids, p_hand_on_limit);
    -- A contract, a slot or a step of the engine may have ended any of the runs, or queued more.
    due_tenant_ids := p_tenant_ids;
    due_ids := p_unit_ids;
    is_dry := false;
    leaves_more := true;
    if v_next.has_contract then
        taken_ids := stepwell._report_contracts(p_session_id, p_tenant_ids, p_unit_ids, p_lease_nos, p_bodies, p_now);
        return;
    end if;
    v_done := stepwell._transition_apply(
        p_tenant_ids || v_next.tenant_ids, p_unit_ids || v_next.unit_ids,
        array_fill('completed'::text, array[v_count])
        || array_fill('ready'::text, array[coalesce(cardinality(v_next.unit_ids), 0)]),
        'executor_worker', 'rpc', 'step_complete',
        p_released_counts => array_fill(0, array[v_count]) || v_next.released_counts,
        p_session_id => p_session_id, p_lease_nos => p_lease_nos, p_engine_from => v_count + 1, p_now => p_now,
        p_hand_on_count => v_next.hand_on_count, p_hand_on_session_id => p_session_id);
    if v_done.applied_count <> coalesce(cardinality(v_next.held_ids), 0) + coalesce(cardinality(v_next.unit_ids), 0) then
        raise exception using errcode = '40001', message = 'a unit was changed by another transaction while it was reported';
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
        perform stepwell._engine_steps(v_next.tenant_ids, v_next.unit_ids);
    end if;
    taken_ids := v_next.held_ids;
    handed_ids := v_done.handed_ids;
    if v_done.slot_ids is null and not coalesce(v_next.has_engine_steps, false) then
        due_tenant_ids := v_done.due_tenant_ids;
        due_ids := v_done.due_ids;
        is_dry := coalesce(v_next.queue_is_empty, false) and due_ids is null
            and coalesce(cardinality(handed_ids), 0) = v_next.hand_on_count;
        -- Under a tenant's cap each end makes room, maybe for what only other workers can take.
        leaves_more := due_ids is not null or coalesce(v_next.has_foreign_steps, false) or coalesce(v_next.is_capped, true);
    end if;
end
$$;

-- Which of these reports have a valid lease, and which steps they release: a step with other open predecessors is
-- counted down, a step without is returned. The first ones may get a direct lease, up to p_hand_on_limit: those of the
-- session's classes that come before everything in the queue, when _queue_look allows it.
create or replace function stepwell._successors_find(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_class_ids int[], p_hand_on_limit int,
    out held_ids bigint[], out has_contract boolean, out tenant_ids int[], out unit_ids bigint[], out released_counts int[],
    out hand_on_count int, out has_engine_steps boolean, out has_foreign_steps boolean, out queue_is_empty boolean,
    out is_capped boolean
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
    select h.*, n.*, v_queue.is_dry, v_queue.is_capped
    into held_ids, has_contract, tenant_ids, unit_ids, released_counts, hand_on_count, has_engine_steps, has_foreign_steps,
        v_join_tenant_ids, v_join_ids, v_join_counts, queue_is_empty, is_capped
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
        p_tenant_ids, p_unit_ids, array_fill('completed'::text, array[cardinality(p_unit_ids)]), 'executor_worker',
        'rpc', 'step_complete', p_session_id => p_session_id, p_lease_nos => p_lease_nos, p_now => p_now,
        p_evidence => array(select jsonb_build_object('output', x.body::jsonb)
            from unnest(p_bodies) with ordinality as x (body, ord) order by x.ord));
    insert into stepwell.unit_output (tenant_id, unit_id, lease_no, output, created_at)
    select q.tenant_id, q.unit_id, q.lease_no, q.body::jsonb, p_now
    from unnest(p_tenant_ids, p_unit_ids, p_lease_nos, p_bodies) as q (tenant_id, unit_id, lease_no, body)
    where q.body is not null and q.unit_id = any (v_done.applied_ids);
    if v_done.applied_ids is not null then
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
            "the result breaks the contract or the postcondition of the step"}}'::text) as bodies
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
