-- Purpose: removes settled receipts past their retention; their keys are forgotten with them. One that another refers to
--   waits for it.
-- Locks: their rows.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell._retention_receipts(p_now timestamptz, p_limit int) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.receipt_days'));
    v_gone record;
begin
    with gone as (
        delete from stepwell.action_receipt as x
        where x.ctid = any (array(
            select r.ctid from stepwell.action_receipt as r
            inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.receipt_id = u.unit_id
            where r.settled_at < v_cutoff and u.state_code in ('confirmed', 'void', 'reversed')
                and not exists (select from stepwell.action_receipt as o
                    where o.tenant_id = r.tenant_id and o.reverses_receipt_id = r.receipt_id)
                and not exists (select from stepwell.run_detail as d
                    where d.tenant_id = r.tenant_id and d.run_id = r.run_id)
                and not exists (select from stepwell.job_detail as j
                    where j.tenant_id = r.tenant_id and j.job_id = r.unit_id)
            limit p_limit))
        returning x.tenant_id, x.receipt_id
    )
    select array_agg(g.tenant_id) as tenant_ids, array_agg(g.receipt_id >> 20) as stream_ids into v_gone from gone as g;
    if v_gone.stream_ids is null then
        return 0;
    end if;
    perform stepwell._streams_delete(v_gone.tenant_ids, v_gone.stream_ids);
    return cardinality(v_gone.stream_ids);
end
$$;
