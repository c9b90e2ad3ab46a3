-- Purpose: steps that were called off because these units failed wait again: those that can still be reached, which
--   excludes whatever also depends on another step that died or was cancelled for itself.
-- Locks: the caller holds the run.
-- Idempotency: steps in another state than cancelled are passed over.
-- Raises: SW004 when the registry refuses.
create or replace function stepwell._dependents_reinstate(
    p_tenant_id int, p_unit_ids bigint[], p_actor text, p_evidence jsonb
) returns int
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_stream_id constant bigint := p_unit_ids[1] >> 20;
    v_unit_ids bigint[];
begin
    with recursive aborted as materialized (
        select x.unit_id from (
            select distinct on (e.unit_id) e.unit_id, e.event_type
            from stepwell.event_log as e
            where e.tenant_id = p_tenant_id and e.stream_id = v_stream_id and e.to_state = 'cancelled'
            order by e.unit_id, e.event_id desc
        ) as x
        where x.event_type = 'step.aborted'
    ), down as (
        select u.unit_id, u.version_id, u.def_no from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id = any (p_unit_ids) and u.scope = 'step'
        union
        -- Items that a failed map gave up: they hang on the map, and on no edge.
        select u.unit_id, u.version_id, u.def_no
        from aborted as a
        inner join stepwell.work_unit as u on u.tenant_id = p_tenant_id and u.unit_id = a.unit_id
        where u.parent_id = any (p_unit_ids) and u.scope = 'step' and u.state_code = 'cancelled'
        union
        select s.unit_id, s.version_id, s.def_no
        from down as d
        inner join stepwell.workflow_step_relations as r
            on r.tenant_id = p_tenant_id and r.version_id = d.version_id and r.from_no = d.def_no
        inner join stepwell.work_unit as s on s.tenant_id = p_tenant_id and s.unit_id = d.unit_id + r.to_no - d.def_no
        inner join aborted as a on s.unit_id = a.unit_id
        where s.state_code = 'cancelled'
    ), lost as (
        select d.unit_id, d.version_id, d.def_no
        from down as d
        inner join stepwell.workflow_step_relations as r
            on r.tenant_id = p_tenant_id and r.version_id = d.version_id and r.to_no = d.def_no
        inner join stepwell.work_unit as b on b.tenant_id = p_tenant_id and b.unit_id = d.unit_id + r.from_no - d.def_no
        where not d.unit_id = any (p_unit_ids) and b.state_code in ('cancelled', 'cannot_complete')
            and not exists (select from down as x where x.unit_id = b.unit_id)
        union
        select n.unit_id, n.version_id, n.def_no
        from lost as l
        inner join stepwell.workflow_step_relations as r
            on r.tenant_id = p_tenant_id and r.version_id = l.version_id and r.from_no = l.def_no
        inner join down as n on n.unit_id = l.unit_id + r.to_no - l.def_no
    )
    select array_agg(d.unit_id order by d.unit_id) into v_unit_ids
    from down as d
    where not d.unit_id = any (p_unit_ids) and not exists (select from lost as l where l.unit_id = d.unit_id);
    if v_unit_ids is not null then
        perform stepwell._must_apply(array_fill(p_tenant_id, array[cardinality(v_unit_ids)]), v_unit_ids, 'not_started',
            'reviewer', 'event', case when p_evidence ? 'replay_request_id' then 'replay_approved' else 'reopen_approved' end,
            p_actor, array_fill(p_evidence, array[cardinality(v_unit_ids)]),
            array_fill(p_evidence, array[cardinality(v_unit_ids)]));
        perform stepwell._pending_recount(p_tenant_id, v_unit_ids);
        perform stepwell._maps_forget(p_tenant_id, v_unit_ids);
    end if;
    perform stepwell._decisions_recount(p_tenant_id, p_unit_ids || v_unit_ids);
    return coalesce(cardinality(v_unit_ids), 0);
end
$$;
