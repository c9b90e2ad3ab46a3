-- Purpose: the values of a run as the texts that are hashed: its input, every output, every failure, and what receipts
--   and approvals carry. An evidence bundle shows their size, names and salted hash, the texts only when asked.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: nothing.
create or replace function stepwell._evidence_values(p_tenant_id int, p_run_id bigint) returns jsonb
language sql stable
set search_path = stepwell, pg_temp
as $$
    with unit as (
        select (p_run_id << 20) as first_id, ((p_run_id + 1) << 20) - 1 as last_id
    ), value (kind, label, unit_id, attempt, at, text) as (
        select 'input', 'input:' || r.run_id, r.run_id << 20, null::int, r.created_at, r.input::text
        from stepwell.run_detail as r
        where r.tenant_id = p_tenant_id and r.run_id = p_run_id
        union all
        select 'output', 'output:' || o.unit_id || ':' || o.lease_no, o.unit_id, o.lease_no, o.created_at, o.output::text
        from stepwell.unit_output as o
        inner join unit on o.unit_id between unit.first_id and unit.last_id
        where o.tenant_id = p_tenant_id
        union all
        select 'failure', 'failure:' || f.unit_id || ':' || f.lease_no || ':' || extract(epoch from f.failed_at), f.unit_id,
            f.lease_no, f.failed_at, f.error::text
        from stepwell.unit_failure as f
        inner join unit on f.unit_id between unit.first_id and unit.last_id
        where f.tenant_id = p_tenant_id
        union all
        select 'receipt', 'receipt:' || a.receipt_id || ':' || m.name, a.unit_id, a.lease_no, a.intended_at, m.content::text
        from stepwell.action_receipt as a
        cross join lateral (values ('request', a.request_metadata), ('response', a.response_metadata),
            ('prior', a.prior), ('reversal', a.reversal)) as m (name, content)
        where a.tenant_id = p_tenant_id and a.run_id = p_run_id and m.content is not null
        union all
        select 'approval', 'approval:' || a.approval_id || ':about', a.subject_unit_id, null, a.requested_at, a.about::text
        from stepwell.approval_detail as a
        inner join unit on a.subject_unit_id between unit.first_id and unit.last_id
        where a.tenant_id = p_tenant_id and a.about is not null
    )
    select coalesce(jsonb_agg(to_jsonb(v) order by v.kind, v.unit_id, v.at, v.label), '[]') from value as v
$$;
