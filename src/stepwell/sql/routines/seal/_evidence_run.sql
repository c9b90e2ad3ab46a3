-- Purpose: what an evidence bundle says of a run itself, without its input.
-- Locks: none.
-- Idempotency: reads only; NULL when there is no such run.
-- Raises: nothing.
create or replace function stepwell._evidence_run(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    select to_jsonb(x) from (
        select r.run_id, t.tenant_code as tenant, w.workflow_name as workflow, v.version_no, v.graph_hash,
            u.state_code, p.rollup_state_code as rollup, r.trigger_type, r.trigger_ref, r.started_by, r.trace_id,
            r.correlation_id, r.created_at, r.finished_at, r.parent_unit_id >> 20 as parent_run_id,
            array(select c.run_id from stepwell.run_detail as c
                where c.tenant_id = r.tenant_id and c.parent_unit_id between r.run_id << 20 and ((r.run_id + 1) << 20) - 1
                order by c.run_id) as child_run_ids
        from stepwell.run_detail as r
        inner join stepwell.tenant as t on r.tenant_id = t.tenant_id
        inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
        inner join stepwell.workflow_version as v on r.tenant_id = v.tenant_id and r.version_id = v.version_id
        inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and u.unit_id = r.run_id << 20
        inner join stepwell.run_progress as p on r.tenant_id = p.tenant_id and r.run_id = p.run_id
        where r.tenant_id = p_tenant_id and r.run_id = p_run_id
    ) as x
$$;
