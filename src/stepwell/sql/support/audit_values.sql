-- The values of units beside the log, raw: the verifier computes their hashes itself and trusts no function of the
-- database. Its subjects and labels are those of routines/seal/values.sql.
with unit as materialized (
    select unnest(%(unit_ids)s::bigint[]) as unit_id
), value (unit_id, label, at, content, facts) as (
    select o.unit_id, 'output:' || o.unit_id || ':' || o.lease_no, o.created_at, o.output::text, '[]'::json
    from stepwell.unit_output as o
    where o.tenant_id = %(tenant_id)s and o.unit_id = any (%(unit_ids)s)
    union all
    select f.unit_id, 'failure:' || f.unit_id || ':' || f.lease_no || ':' || extract(epoch from f.failed_at), f.failed_at,
        f.error::text, json_build_array(f.failure_class, f.classification, f.attempt_count,
            -- to_char gives nothing for a time without end, as for no time.
            coalesce(to_char(f.next_eligible_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), f.next_eligible_at::text))
    from stepwell.unit_failure as f
    where f.tenant_id = %(tenant_id)s and f.unit_id = any (%(unit_ids)s)
    union all
    select i.unit_id, 'shown:' || i.unit_id || ':' || i.binding_no, i.bound_at, i.inputs::text, '[]'::json
    from stepwell.step_input as i
    where i.tenant_id = %(tenant_id)s and i.unit_id = any (%(unit_ids)s)
    union all
    select u.unit_id, 'input:' || r.run_id, r.created_at, p.input::text, json_build_array(w.workflow_name, v.version_no,
        v.graph_hash, r.trigger_type, r.trigger_ref, r.trace_id, r.correlation_id, r.started_by, r.parent_unit_id, r.depth)
    from unit as u
    inner join stepwell.run_detail as r on r.tenant_id = %(tenant_id)s and r.run_id = u.unit_id >> 20
    left join stepwell.v_run_payload as p on r.tenant_id = p.tenant_id and r.run_id = p.run_id
    inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
    inner join stepwell.workflow_version as v on r.tenant_id = v.tenant_id and r.version_id = v.version_id
    where u.unit_id & 1048575 = 0
    union all
    select j.job_id, 'payload:' || j.job_id, j.created_at, coalesce(p.payload::text, ''), json_build_array(
        j.idempotency_key, j.source_ref, j.target_ref, j.payload_ref, j.trace_id, j.correlation_id, j.created_by)
    from stepwell.job_detail as j
    left join stepwell.v_job_payload as p on j.tenant_id = p.tenant_id and j.job_id = p.job_id
    where j.tenant_id = %(tenant_id)s and j.job_id = any (%(unit_ids)s)
)
select v.label, v.unit_id, to_char(v.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), v.content, v.facts
from value as v
order by v.unit_id, v.label collate "C"
