-- Purpose: remembers how far an anchor has been told, or why it could not be.
-- Locks: the row of the anchor.
-- Idempotency: an earlier block changes nothing.
-- Raises: SW007 for another tenant.
create or replace function stepwell.fn_anchor_record(p_tenant_id int, p_anchor text, p_block_no bigint, p_error text)
returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_now constant timestamptz := stepwell.now();
begin
    perform stepwell._tenant_bound(p_tenant_id);
    insert into stepwell.audit_anchor as a (tenant_id, anchor, last_block_no, anchored_at, failed_at, last_error)
    values (p_tenant_id, p_anchor, coalesce(p_block_no, 0), case when p_error is null then v_now end,
        case when p_error is not null then v_now end, left(p_error, 1000))
    on conflict (tenant_id, anchor) do update set
        last_block_no = greatest(a.last_block_no, excluded.last_block_no),
        anchored_at = coalesce(excluded.anchored_at, a.anchored_at),
        failed_at = excluded.failed_at, last_error = excluded.last_error;
end
$$;
