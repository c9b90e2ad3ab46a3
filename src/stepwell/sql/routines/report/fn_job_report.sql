-- Purpose: takes back the outcomes of a batch and, when the worker has free slots, leases the next units in the same
--   call: fence, transition, advance the graph, count, append events, claim; one round trip, one commit.
--   Outcomes: completed, failed, retry, dead, waiting, sleep, released. Bodies are JSON texts: the output of a
--   completed unit, the particulars of the others.
-- Locks: the session (shared), the runs in order, then units.
-- Idempotency: a report is accepted once, while its lease (session, lease_no, expiry) holds; a late or repeated one
--   changes nothing and comes back as a row of kind `refused`.
-- Raises: SW001 for an unknown outcome or arrays of unequal length.
create or replace function stepwell.fn_job_report(
    p_session_id bigint, p_tenant_ids int[], p_unit_ids bigint[], p_lease_nos int[], p_outcomes text[],
    p_bodies text[], p_claim_limit int default 0
) returns setof stepwell.job_lease
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set random_page_cost = 0.01
as $$
declare
    v_alive boolean;
    v_held record;
begin
    -- Shared with other reports of this session; recovery takes it exclusively, so neither overtakes the other.
    select s.closed_at is null and s.expires_at >= stepwell.now() into v_alive
    from stepwell.worker_session as s
    where s.session_id = p_session_id
    for share;
    perform stepwell._runs_lock(p_tenant_ids, p_unit_ids);
    with held as (
        select
            q.*, coalesce(v_alive and u.lease_session_id = p_session_id and u.lease_no = q.lease_no
                and u.state_code in ('in_progress', 'overdue'), false) as ok,
            u.has_contract, u.slot_key
        from unnest(p_tenant_ids, p_unit_ids, p_lease_nos, p_outcomes, p_bodies)
            as q (tenant_id, unit_id, lease_no, outcome, body)
        left join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id
    )
    select
        array_agg(h.tenant_id order by h.unit_id) filter (where h.ok and h.outcome = 'completed') as done_tenant_ids,
        array_agg(h.unit_id order by h.unit_id) filter (where h.ok and h.outcome = 'completed') as done_ids,
        array_agg(h.lease_no order by h.unit_id) filter (where h.ok and h.outcome = 'completed') as done_lease_nos,
        array_agg(h.body order by h.unit_id) filter (where h.ok and h.outcome = 'completed') as done_bodies,
        bool_or(h.has_contract) as has_contract,
        array_agg(h.tenant_id order by h.unit_id) filter (where h.ok and h.outcome <> 'completed') as other_tenant_ids,
        array_agg(h.unit_id order by h.unit_id) filter (where h.ok and h.outcome <> 'completed') as other_ids,
        array_agg(h.lease_no order by h.unit_id) filter (where h.ok and h.outcome <> 'completed') as other_lease_nos,
        array_agg(h.outcome order by h.unit_id) filter (where h.ok and h.outcome <> 'completed') as other_outcomes,
        array_agg(h.body order by h.unit_id) filter (where h.ok and h.outcome <> 'completed') as other_bodies,
        array_agg(h.tenant_id) filter (where h.ok and h.slot_key is not null) as slot_tenant_ids,
        array_agg(h.unit_id) filter (where h.ok and h.slot_key is not null) as slot_ids,
        count(*) filter (where not h.ok) as refused_count
    into v_held
    from held as h;
    if v_held.refused_count > 0 then
        return query
        select 'refused'::text, q.tenant_id, q.unit_id, q.lease_no, null::bigint, null, null::int, null::int, null::real, null,
            null::jsonb, null::jsonb, null::jsonb, null::jsonb, null, null, null::timestamptz
        from unnest(p_tenant_ids, p_unit_ids, p_lease_nos) as q (tenant_id, unit_id, lease_no)
        where not (q.unit_id = any (coalesce(v_held.done_ids, '{}')) or q.unit_id = any (coalesce(v_held.other_ids, '{}')));
    end if;
    if v_held.done_ids is not null then
        perform stepwell._report_completed(p_session_id, v_held.done_tenant_ids, v_held.done_ids,
            v_held.done_lease_nos, v_held.done_bodies, v_held.has_contract);
    end if;
    if v_held.other_ids is not null then
        perform stepwell._report_others(p_session_id, v_held.other_tenant_ids, v_held.other_ids,
            v_held.other_lease_nos, v_held.other_outcomes, v_held.other_bodies);
    end if;
    if v_held.slot_ids is not null then
        perform stepwell._slots_free(v_held.slot_tenant_ids, v_held.slot_ids);
    end if;
    perform stepwell._runs_settle(v_held.done_tenant_ids || v_held.other_tenant_ids, v_held.done_ids || v_held.other_ids);
    if v_alive and p_claim_limit > 0 then
        return query select c.* from stepwell.fn_job_claim(p_session_id, p_claim_limit) as c;
    end if;
end
$$;
