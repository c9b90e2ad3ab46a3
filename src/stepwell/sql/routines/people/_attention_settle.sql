-- Purpose: looks again at what depends on the other steps of a run: how severe its blocks are. Takes the mark off a run that
--   has nothing of the kind left.
-- Locks: the caller holds the run.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell._attention_settle(p_tenant_id int, p_run_id bigint) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
begin
    perform stepwell._blocks_weigh(p_tenant_id, p_run_id);
    update stepwell.run_progress as p set needs_attention = false
    where p.tenant_id = p_tenant_id and p.run_id = p_run_id and not exists (
        select from stepwell.work_unit as u
        where u.tenant_id = p_tenant_id and u.unit_id between (p_run_id << 20) + 1 and ((p_run_id + 1) << 20) - 1
            and u.state_code = 'blocked');
end
$$;
