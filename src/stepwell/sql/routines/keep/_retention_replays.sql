-- Purpose: removes settled replay requests and decided approvals past their retention.
-- Locks: their rows.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell._retention_replays(p_now timestamptz, p_limit int) returns bigint
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_cutoff constant timestamptz := p_now - make_interval(days => stepwell._limit('retention.replay_request_days'));
    v_tenant_ids int[];
    v_ids bigint[];
begin
    select array_agg(x.tenant_id), array_agg(x.approval_id)
    into v_tenant_ids, v_ids
    from (
        select a.tenant_id, a.approval_id
        from stepwell.approval_detail as a
        where a.decided_at < v_cutoff
        order by a.tenant_id, a.approval_id
        limit p_limit
        for update skip locked
    ) as x;
    if v_ids is null then
        return 0;
    end if;
    delete from stepwell.dlq_replay_request as r using unnest(v_tenant_ids, v_ids) as q (tenant_id, approval_id)
    where r.tenant_id = q.tenant_id and r.approval_id = q.approval_id;
    delete from stepwell.approval_vote as v using unnest(v_tenant_ids, v_ids) as q (tenant_id, approval_id)
    where v.tenant_id = q.tenant_id and v.approval_id = q.approval_id;
    delete from stepwell.approval_detail as a using unnest(v_tenant_ids, v_ids) as q (tenant_id, approval_id)
    where a.tenant_id = q.tenant_id and a.approval_id = q.approval_id;
    perform stepwell._streams_delete(v_tenant_ids, array(select i >> 20 from unnest(v_ids) as i));
    return cardinality(v_ids);
end
$$;
