-- The values of units that stand beside the log: the input of a run, the payload of a job, outputs, failures, and what
-- people saw. They never change once written. The seal puts their hashes into the leaf of an event of their unit.

-- A time as a text that is hashed. This function and the next one have no setting of their own, so that Postgres writes
-- them into the statement that uses them.
create or replace function stepwell._utc_text(p_at timestamptz) returns text
language sql stable parallel safe
as $$ select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') $$;

-- A text as JSON, with what must be escaped in it; null is JSON's null. json_build_array writes the same, and looks up the
-- type of each value for every row.
create or replace function stepwell._json_text(p_text text) returns text
language sql stable parallel safe
as $$ select coalesce(to_json(p_text)::text, 'null') $$;

-- The values of units, as the texts that are hashed. Each table is read once, by its key and in the order of the units;
-- no plan may read a whole table, however small it was when it was last analyzed.
create or replace function stepwell._audit_value_texts(p_tenant_id int, p_unit_ids bigint[])
returns table (unit_id bigint, label text, at timestamptz, content text, facts text)
language sql stable
set search_path = stepwell, pg_temp
set enable_seqscan = off
as $$
    select o.unit_id, 'output:' || o.unit_id || ':' || o.lease_no, o.created_at, o.output::text, '[]'
    from stepwell.unit_output as o
    where o.tenant_id = p_tenant_id and o.unit_id = any (p_unit_ids)
    union all
    select f.unit_id, 'failure:' || f.unit_id || ':' || f.lease_no || ':' || extract(epoch from f.failed_at),
        f.failed_at, f.error::text, json_build_array(f.failure_class, f.classification, f.attempt_count,
            stepwell._utc_text(f.next_eligible_at))::text
    from stepwell.unit_failure as f
    where f.tenant_id = p_tenant_id and f.unit_id = any (p_unit_ids)
    union all
    select i.unit_id, 'shown:' || i.unit_id || ':' || i.binding_no, i.bound_at, i.inputs::text, '[]'
    from stepwell.step_input as i
    where i.tenant_id = p_tenant_id and i.unit_id = any (p_unit_ids)
    union all
    select stepwell._run_unit(r.run_id), 'input:' || r.run_id, r.created_at, r.input::text, json_build_array(w.workflow_name,
        v.version_no, v.graph_hash, r.trigger_type, r.trigger_ref, r.trace_id, r.correlation_id, r.started_by,
        r.parent_unit_id, r.depth)::text
    from stepwell.run_detail as r
    inner join stepwell.workflow_registry as w on r.tenant_id = w.tenant_id and r.workflow_id = w.workflow_id
    inner join stepwell.workflow_version as v on r.tenant_id = v.tenant_id and r.version_id = v.version_id
    where r.tenant_id = p_tenant_id and r.run_id = any (array(
        select stepwell._run_of(q.unit_id) from unnest(p_unit_ids) as q (unit_id)
        where q.unit_id = stepwell._run_unit(stepwell._run_of(q.unit_id))))
    union all
    select j.job_id, 'payload:' || j.job_id, j.created_at, coalesce(j.payload::text, ''),
        '[' || stepwell._json_text(j.idempotency_key) || ', ' || stepwell._json_text(j.source_ref) || ', '
        || stepwell._json_text(j.target_ref) || ', ' || stepwell._json_text(j.payload_ref) || ', '
        || stepwell._json_text(j.trace_id) || ', ' || stepwell._json_text(j.correlation_id) || ', '
        || stepwell._json_text(j.created_by) || ']'
    from stepwell.job_detail as j
    where j.tenant_id = p_tenant_id and j.job_id = any (p_unit_ids)
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
    select v.unit_id, string_agg(sha256('\x00'::bytea || convert_to('["stepwell.value.1", "' || v.label || '", ' || v.unit_id
        || ', "' || stepwell._utc_text(v.at) || '", ' || octet_length(v.content) || ', "'
        || encode(sha256('\x02'::bytea || sha256('\x03'::bytea || p_salt || convert_to(v.label, 'UTF8'))
            || convert_to(v.content, 'UTF8')), 'hex') || '", ' || v.facts || ']', 'UTF8')),
        ''::bytea order by v.label collate "C")
    from stepwell._audit_value_texts(p_tenant_id, p_unit_ids) as v
    group by v.unit_id
$$;
