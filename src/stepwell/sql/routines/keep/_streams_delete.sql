-- Purpose: removes the units of whole streams (runs or free-standing jobs) and everything that hangs on them.
-- Locks: the caller holds the streams.
-- Idempotency: yes.
-- Raises: nothing.
create or replace function stepwell._streams_delete(p_tenant_ids int[], p_stream_ids bigint[]) returns void
language plpgsql volatile
set search_path = stepwell, pg_temp
as $$
declare
    v_table text;
begin
    -- Each of these keys begins with (tenant_id, unit_id): a range of the key is deleted per stream.
    foreach v_table in array array['unit_output', 'unit_failure', 'unit_checkpoint', 'unit_wake', 'event_wait',
        'timer', 'map_item', 'transition_idempotency', 'task_detail', 'step_block', 'step_escalation',
        'step_run_correction_cycle', 'step_run_prior_audit', 'step_run_output_snapshot', 'policy_decision',
        'run_write_count', 'tenant_lease', 'work_unit'] loop
        execute format(
            'delete from stepwell.%I as x using unnest($1, $2) as q (tenant_id, stream_id)
             where x.tenant_id = q.tenant_id
                and x.unit_id between q.stream_id << 20 and ((q.stream_id + 1) << 20) - 1', v_table)
        using p_tenant_ids, p_stream_ids;
    end loop;
end
$$;
