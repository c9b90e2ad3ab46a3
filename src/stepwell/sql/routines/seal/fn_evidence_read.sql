-- Purpose: everything of a run that goes into its evidence bundle, but for its events: on one snapshot, times in UTC.
-- Locks: none.
-- Idempotency: reads only.
-- Raises: SW002 when there is no such run.
create or replace function stepwell.fn_evidence_read(p_tenant_id int, p_run_id bigint) returns jsonb
language plpgsql stable
set search_path = stepwell, pg_temp
set timezone = 'UTC'
as $$
declare
    v_run constant jsonb := stepwell._evidence_run(p_tenant_id, p_run_id);
begin
    if v_run is null then
        raise exception using errcode = 'SW002', message = format('run %s does not exist', p_run_id);
    end if;
    return jsonb_build_object(
        'run', v_run, 'steps', stepwell._evidence_steps(p_tenant_id, p_run_id),
        'values', stepwell._evidence_values(p_tenant_id, p_run_id),
        'approvals', stepwell._evidence_approvals(p_tenant_id, p_run_id),
        'decisions', stepwell._evidence_decisions(p_tenant_id, p_run_id),
        'receipts', stepwell._evidence_receipts(p_tenant_id, p_run_id));
end
$$;
