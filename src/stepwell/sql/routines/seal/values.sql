-- The values of units that stand beside the log: the input of a run, the payload of a job, outputs, failures, and what
-- people saw. They never change once written. The seal puts their hashes into the leaf of an event of their unit.

-- The values of units, as the texts that are hashed. One index lookup for each unit and table: offset 0 forbids a plan
-- that reads whole tables.
create or replace function stepwell._audit_value_texts(p_tenant_id int, p_unit_ids bigint[])
returns table (unit_id bigint, label text, at timestamptz, content text, facts json)
language sql stable
set search_path = stepwell, pg_temp
as $$
    with unit as materialized (
        select q.unit_id, stepwell._run_of(q.unit_id) as run_id from unnest(p_unit_ids) as q (unit_id)
    ), value (unit_id, label, at, content, facts) as (
        select u.unit_id, 'output:' || u.unit_id || ':' || o.lease_no, o.created_at, o.output::text, '[]'::json
        from unit as u
        cross join lateral (select x.lease_no, x.output, x.created_at from stepwell.unit_output as x
            where x.tenant_id = p_tenant_id and x.unit_id = u.unit_id offset 0) as o
        union all
        select u.unit_id, 'failure:' || u.unit_id || ':' || f.lease_no || ':' || extract(epoch from f.failed_at),
            f.failed_at, f.error::text, json_build_array(f.failure_class, f.classification, f.attempt_count,
                to_char(f.next_eligible_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
        from unit as u
        cross join lateral (select x.* from stepwell.unit_failure as x
            where x.tenant_id = p_tenant_id and x.unit_id = u.unit_id offset 0) as f
        union all
        select u.unit_id, 'shown:' || u.unit_id || ':' || i.binding_no, i.bound_at, i.inputs::text, '[]'::json
        from unit as u
        cross join lateral (select x.* from stepwell.step_input as x
            where x.tenant_id = p_tenant_id and x.unit_id = u.unit_id offset 0) as i
        union all
        select u.unit_id, 'input:' || u.run_id, r.created_at, r.input::text, json_build_array(r.workflow_name, r.version_no,
            r.graph_hash, r.trigger_type, r.trigger_ref, r.trace_id, r.correlation_id, r.started_by, r.parent_unit_id, r.depth)
        from unit as u
        cross join lateral (select x.*, w.workflow_name, v.version_no, v.graph_hash from stepwell.run_detail as x
            inner join stepwell.workflow_registry as w on x.tenant_id = w.tenant_id and x.workflow_id = w.workflow_id
            inner join stepwell.workflow_version as v on x.tenant_id = v.tenant_id and x.version_id = v.version_id
            where x.tenant_id = p_tenant_id and x.run_id = u.run_id offset 0) as r
        where u.unit_id = stepwell._run_unit(u.run_id)
        union all
        select u.unit_id, 'payload:' || u.unit_id, j.created_at, coalesce(j.payload::text, ''), json_build_array(
            j.idempotency_key, j.source_ref, j.target_ref, j.payload_ref, j.trace_id, j.correlation_id, j.created_by)
        from unit as u
        cross join lateral (select x.* from stepwell.job_detail as x
            where x.tenant_id = p_tenant_id and x.job_id = u.unit_id offset 0) as j
        where u.unit_id = stepwell._run_unit(u.run_id)
    )
    select v.unit_id, v.label, v.at, v.content, v.facts from value as v
$$;

-- The hashes of the values of units, 32 bytes each, ordered by label; no row for a unit without values. This is the only
-- place in the database that writes the canonical form of a value. The value is in it as a size and a salted hash: so a
-- bundle can prove it without showing it. docs/audit.md has the bytes.
-- Locks: none.
create or replace function stepwell._audit_values(p_tenant_id int, p_salt bytea, p_unit_ids bigint[])
returns table (unit_id bigint, value_hashes bytea)
language sql stable
set search_path = stepwell, pg_temp
as $$
    select v.unit_id, string_agg(sha256('\x00'::bytea || convert_to(json_build_array('stepwell.value.1', v.label, v.unit_id,
        to_char(v.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), octet_length(v.content),
        encode(sha256('\x02'::bytea || sha256('\x03'::bytea || p_salt || convert_to(v.label, 'UTF8'))
            || convert_to(v.content, 'UTF8')), 'hex'), v.facts)::text, 'UTF8')), ''::bytea order by v.label collate "C")
    from stepwell._audit_value_texts(p_tenant_id, p_unit_ids) as v
    group by v.unit_id
$$;
