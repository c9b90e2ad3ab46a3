-- Purpose: remembers the bytes of an evidence bundle by their SHA-256, and where they were stored last.
-- Locks: the row of the bundle.
-- Idempotency: yes; other bytes for the same contents are refused.
-- Raises: SW002 when its contents were never sealed; SW003 when other bytes are on record; SW007 for another tenant.
create or replace function stepwell.fn_evidence_record(
    p_tenant_id int, p_run_id bigint, p_digest text, p_sha256 text, p_size_bytes bigint, p_url text
) returns void
language plpgsql volatile security definer
set search_path = stepwell, pg_temp
as $$
declare
    v_sha256 text;
begin
    perform stepwell._tenant_bound(p_tenant_id);
    select b.bundle_sha256 into v_sha256
    from stepwell.evidence_bundle as b
    where b.tenant_id = p_tenant_id and b.run_id = p_run_id and b.contents_digest = p_digest
    for update;
    if not found then
        raise exception using errcode = 'SW002', message = format('run %s has no bundle with these contents', p_run_id);
    end if;
    if v_sha256 <> p_sha256 then
        raise exception using errcode = 'SW003',
            message = format('the bundle of run %s was recorded as %s, and is %s now', p_run_id, v_sha256, p_sha256),
            hint = 'run stepwell audit verify: the log or its seal may have been changed';
    end if;
    update stepwell.evidence_bundle as b set
        bundle_sha256 = p_sha256, size_bytes = p_size_bytes, stored_at = stepwell.now(), stored_url = left(p_url, 2000)
    where b.tenant_id = p_tenant_id and b.run_id = p_run_id and b.contents_digest = p_digest;
end
$$;
