-- Purpose: binds the contents of an evidence bundle to the log: an event of the run carries their digest. The same
--   contents are bound once; who asks again is told the event of the first time.
-- Locks: the row of the bundle.
-- Idempotency: by contents.
-- Raises: SW001 for a digest that is none; SW002 when there is no such run; SW007 for another tenant.
create or replace function stepwell.fn_evidence_seal(
    p_tenant_id int, p_run_id bigint, p_digest text, p_with_payloads boolean, p_actor text
) returns table (event_tx bigint, event_id bigint, is_new boolean)
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
#variable_conflict use_column
declare
    v_is_new boolean;
    v_event_id bigint;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    if p_digest is null or p_digest !~ '^[0-9a-f]{64}$' then
        raise exception using errcode = 'SW001', column = 'digest', message = 'digest: 64 hexadecimal digits are required';
    end if;
    if not exists (select from stepwell.run_detail as r where r.tenant_id = p_tenant_id and r.run_id = p_run_id) then
        raise exception using errcode = 'SW002', message = format('run %s does not exist', p_run_id);
    end if;
    insert into stepwell.evidence_bundle as b
        (tenant_id, run_id, contents_digest, with_payloads, requested_by, requested_at, event_tx, event_id)
    values (p_tenant_id, p_run_id, p_digest, p_with_payloads, p_actor, stepwell.now(), pg_current_xact_id(), 0)
    on conflict (tenant_id, run_id, contents_digest) do nothing;
    v_is_new := found;
    if v_is_new then
        perform stepwell._event_append(p_tenant_id, p_run_id << 20, 'evidence.sealed', p_actor,
            jsonb_build_object('digest', p_digest, 'with_payloads', p_with_payloads));
        select max(e.event_id) into v_event_id
        from stepwell.event_log as e
        where e.tenant_id = p_tenant_id and e.stream_id = p_run_id and e.event_type = 'evidence.sealed'
            and e.tx = pg_current_xact_id();
        update stepwell.evidence_bundle as b set event_id = v_event_id
        where b.tenant_id = p_tenant_id and b.run_id = p_run_id and b.contents_digest = p_digest;
    end if;
    return query
    select b.event_tx::text::bigint, b.event_id, v_is_new
    from stepwell.evidence_bundle as b
    where b.tenant_id = p_tenant_id and b.run_id = p_run_id and b.contents_digest = p_digest;
end
$$;
